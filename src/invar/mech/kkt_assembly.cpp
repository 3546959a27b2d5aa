// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/kkt_assembly.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/kinematics.hpp"

namespace invar {
namespace {

std::vector<int> moving_bodies(const Joint& joint) {
  return joint.parent == kWorld ? std::vector<int>{joint.child} : std::vector<int>{joint.parent, joint.child};
}

}  // namespace

// The structure has to exist before the problem: one walk over the model lists the blocks.
KktAssembly::KktAssembly(const Model& model)
    : model_(model), problem_([&] {
        KktStructure structure(static_cast<int>(model.bodies().size()));
        block_of_joint_.assign(model.joints().size(), -1);
        for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
          const Joint& joint = model.joints()[j];
          if (joint.rows() == 0) continue;
          block_of_joint_[j] = structure.add(joint.rows(), moving_bodies(joint));
          sources_.push_back({.joint = j});
        }
        for (int j = 0; j < static_cast<int>(model.joints().size()); ++j)
          for (int k = 0; k < model.joints()[j].nv; ++k)
            if (model.joints()[j].passive[k].armature > 0) {
              structure.add(1, moving_bodies(model.joints()[j]));
              sources_.push_back({.joint = j, .freedom = k});
            }
        for (int c = 0; c < static_cast<int>(model.couplings().size()); ++c) {
          std::vector<int> bodies = moving_bodies(model.joints()[model.couplings()[c].joint]);
          for (const int b : moving_bodies(model.joints()[model.couplings()[c].of]))
            if (std::find(bodies.begin(), bodies.end(), b) == bodies.end()) bodies.push_back(b);
          block_of_coupling_.push_back(structure.add(1, bodies));
          sources_.push_back({.coupling = c});
        }
        return structure;
      }()) {
  f_ = VecX::Zero(6 * problem_.structure.bodies());
  gamma_ = VecX::Zero(problem_.structure.rows());
  direction_.assign(problem_.structure.rows(), Vec6::Zero());
  norm_.assign(problem_.structure.rows(), 1);
  at_.resize(model.joints().size());
}

void KktAssembly::fill(const Bodies& bodies, const KktInput& input) {
  for (int j = 0; j < static_cast<int>(at_.size()); ++j) joint_at(model_, j, bodies, input.dynamics, at_[j]);
  fill_bodies(bodies, input);
  for (Mat6& m : problem_.jacobian) m.setZero();
  gamma_.setZero();
  for (int block = 0; block < static_cast<int>(sources_.size()); ++block) {
    const Source& source = sources_[block];
    if (source.coupling >= 0)
      fill_coupling(block, bodies, input);
    else if (source.freedom >= 0)
      fill_rotor(block, bodies, input.dynamics);
    else
      fill_joint(block, bodies, input);
  }
}

// Masses, and the forces that act on the bodies: gravity, gyroscopic, port, efforts through the joints' dual wrenches.
void KktAssembly::fill_bodies(const Bodies& bodies, const KktInput& input) {
  const double l = model_.length(), m0 = model_.mean_mass();
  for (int b = 0; b < static_cast<int>(bodies.size()); ++b) {
    const Inertia& inertia = model_.bodies()[b].inertia;
    const Mat3 R = bodies[b].q_WB.toRotationMatrix();
    const Mat3 I = R * inertia.I_C * R.transpose();
    Mat6& M = problem_.mass[b];
    M.setZero();
    M.topLeftCorner<3, 3>().diagonal().setConstant(inertia.mass / m0);
    M.bottomRightCorner<3, 3>() = I / (m0 * l * l);
    Wrench w = input.port ? (*input.port)[b] : Wrench{};
    if (input.dynamics) {
      w.force += inertia.mass * model_.gravity();
      w.moment -= bodies[b].w_WB.cross(I * bodies[b].w_WB);
    }
    f_.segment<3>(6 * b) = w.force / m0;
    f_.segment<3>(6 * b + 3) = w.moment / (m0 * l);
  }
  if (!input.efforts) return;
  for (int j = 0; j < static_cast<int>(at_.size()); ++j) {
    const Joint& joint = model_.joints()[j];
    if (joint.nv == 0) continue;
    const Wrench w = effort_wrench(at_[j], input.efforts->segment(joint.v0, joint.nv));
    const auto add = [&](int b, const Vec3& arm, double side) {
      if (b == kWorld) return;
      const Wrench at_com = w.about(arm);
      f_.segment<3>(6 * b) += side / m0 * at_com.force;
      f_.segment<3>(6 * b + 3) += side / (m0 * l) * at_com.moment;
    };
    add(joint.child, at_[j].arm_child, 1);
    add(joint.parent, at_[j].arm_parent, -1);
  }
}

// Adds the row  c_w·(alpha_child - alpha_parent) + c_v·(a_child - a_parent at the joint point)  to row k of a block, and
// the centripetal parts of those accelerations to its right side.
void KktAssembly::add_row(int block, int k, const Joint& joint, const JointAt& at, const Bodies& bodies, const Vec6& row,
                          bool rates) {
  const KktBlock& shape = problem_.structure.block(block);
  const double l = model_.length();
  const Vec3 c_w = row.head<3>(), c_v = row.tail<3>();
  const auto add = [&](int b, const Vec3& arm, double side) {
    if (b == kWorld) return;
    for (int t = 0; t < shape.touches; ++t) {
      if (problem_.structure.body(shape.first_touch + t) != b) continue;
      auto line = problem_.jac(block, t).row(k);
      line.head<3>() += side * c_v.transpose();
      line.tail<3>() += side / l * (c_w + arm.cross(c_v)).transpose();
    }
    if (!rates) return;
    const Vec3& w = bodies[b].w_WB;
    gamma_[shape.first_row + k] -= side * c_v.dot(w.cross(w.cross(arm)));
  };
  add(joint.child, at.arm_child, 1);
  add(joint.parent, at.arm_parent, -1);
}

void KktAssembly::fill_joint(int block, const Bodies& bodies, const KktInput& input) {
  const int j = sources_[block].joint;
  const JointAt& at = at_[j];
  Vec6 wanted = at.bias;
  if (input.bias) wanted.head<3>() += (*input.bias)[j].angular, wanted.tail<3>() += (*input.bias)[j].linear;
  const int first = problem_.structure.block(block).first_row;
  for (int k = 0; k < at.C.rows(); ++k) {
    Vec6 row = at.C.row(k).transpose();
    row /= row_size(row, model_.length());
    gamma_[first + k] = row.dot(wanted);
    direction_[first + k] = row;
    add_row(block, k, model_.joints()[j], at, bodies, row, input.dynamics);
  }
}

void KktAssembly::fill_rotor(int block, const Bodies& bodies, bool rates) {
  const Source& source = sources_[block];
  const JointAt& at = at_[source.joint];
  const int row = problem_.structure.block(block).first_row;
  const Vec6 dual = at.dual.col(source.freedom);
  const double armature = model_.joints()[source.joint].passive[source.freedom].armature;
  norm_[row] = row_size(dual, model_.length());
  problem_.compliance[row] = model_.mean_mass() / (armature * norm_[row] * norm_[row]);
  direction_[row] = dual / norm_[row];
  gamma_[row] = direction_[row].dot(at.bias);
  add_row(block, 0, model_.joints()[source.joint], at, bodies, direction_[row], rates);
}

// q_driven'' - p'(q) q'' = p''(q) q'²
void KktAssembly::fill_coupling(int block, const Bodies& bodies, const KktInput& input) {
  const int c = sources_[block].coupling;
  const Coupling& coupling = model_.couplings()[c];
  const JointAt& driven = at_[coupling.joint];
  const JointAt& of = at_[coupling.of];
  const double v = input.dynamics ? of.v[coupling.of_freedom] : 0;
  const Driven p = driven_by(coupling, input.coupling_q ? (*input.coupling_q)[c] : of.q[coupling.of_freedom]);
  const int row = problem_.structure.block(block).first_row;
  const Vec6 a = driven.dual.col(coupling.freedom), b = -p.slope * of.dual.col(coupling.of_freedom);
  // Measured by the effort on the driven freedom: a moment over the length, or a force.
  norm_[row] = row_size(a, model_.length());
  gamma_[row] =
      (p.curvature * v * v + a.dot(driven.bias) + b.dot(of.bias) + (input.coupling_bias ? (*input.coupling_bias)[c] : 0.0)) /
      norm_[row];
  add_row(block, 0, model_.joints()[coupling.joint], driven, bodies, a / norm_[row], input.dynamics);
  add_row(block, 0, model_.joints()[coupling.of], of, bodies, b / norm_[row], input.dynamics);
}

void KktAssembly::accelerations(const VecX& x, Accelerations& out) const {
  for (int b = 0; b < static_cast<int>(out.size()); ++b) {
    out[b].a_WC = x.segment<3>(6 * b);
    out[b].alpha_WB = x.segment<3>(6 * b + 3) / model_.length();
  }
}

void KktAssembly::reactions(const VecX& F, std::vector<Wrench>& out) const {
  for (Wrench& w : out) w = Wrench{};
  for (int j = 0; j < static_cast<int>(out.size()); ++j) {
    if (block_of_joint_[j] < 0) continue;
    const KktBlock& block = problem_.structure.block(block_of_joint_[j]);
    for (int row = block.first_row; row < block.first_row + block.rows; ++row) {
      out[j].moment += model_.mean_mass() * F[row] * direction_[row].head<3>();
      out[j].force += model_.mean_mass() * F[row] * direction_[row].tail<3>();
    }
  }
}

double KktAssembly::coupling_effort(const VecX& F, int coupling) const {
  const int row = problem_.structure.block(block_of_coupling_[coupling]).first_row;
  return -model_.mean_mass() * F[row] / norm_[row];
}

VecX KktAssembly::motion(const Accelerations& accelerations) const {
  VecX x(6 * problem_.structure.bodies());
  for (int b = 0; b < static_cast<int>(accelerations.size()); ++b)
    x.segment<6>(6 * b) << accelerations[b].a_WC, model_.length() * accelerations[b].alpha_WB;
  return x;
}

// Directions are orthonormal in the metric |f|² + |m|²/l², so a component is an inner product in it. A rotor's multiplier is
// its inertia force: J x - c F = gamma.
VecX KktAssembly::multipliers(const VecX& x, const std::vector<Wrench>& reactions, const VecX& couplings) const {
  VecX F = -gamma_;
  add_jacobian_times(problem_.structure, problem_.jacobian, x, F);
  const double l2 = model_.length() * model_.length();
  for (int block = 0; block < static_cast<int>(sources_.size()); ++block) {
    const Source& source = sources_[block];
    const KktBlock& shape = problem_.structure.block(block);
    for (int row = shape.first_row; row < shape.first_row + shape.rows; ++row) {
      if (source.coupling >= 0)
        F[row] = -couplings[source.coupling] * norm_[row] / model_.mean_mass();
      else if (source.freedom >= 0)
        F[row] /= problem_.compliance[row];
      else
        F[row] = (direction_[row].head<3>().dot(reactions[source.joint].moment) / l2 +
                  direction_[row].tail<3>().dot(reactions[source.joint].force)) /
                 model_.mean_mass();
    }
  }
  return F;
}

}  // namespace invar
