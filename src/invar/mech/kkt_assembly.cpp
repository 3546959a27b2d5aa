// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/kkt_assembly.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/kinematics.hpp"

namespace invar {

KktAssembly::KktAssembly(const Model& model)
    : KktAssembly(model, std::make_unique<Scales>(scales_of(model)), nullptr, whole_piece(model)) {}

KktAssembly::KktAssembly(const Model& model, const Scales& scales, Piece piece)
    : KktAssembly(model, nullptr, &scales, std::move(piece)) {}

std::vector<int> KktAssembly::touched(const Joint& joint) const {
  if (joint.parent == kWorld) return {index_[joint.child]};
  return {index_[joint.parent], index_[joint.child]};
}

// The structure has to exist before the problem: one walk over the piece lists the blocks.
KktAssembly::KktAssembly(const Model& model, std::unique_ptr<Scales> own, const Scales* scales, Piece piece)
    : model_(model), own_(std::move(own)), scales_(scales ? *scales : *own_), piece_(std::move(piece)), problem_([&] {
        index_.assign(model.bodies().size(), -1);
        for (int i = 0; i < static_cast<int>(piece_.bodies.size()); ++i) index_[piece_.bodies[i]] = i;
        KktStructure structure(static_cast<int>(piece_.bodies.size()));
        block_of_joint_.assign(model.joints().size(), -1);
        block_of_coupling_.assign(model.couplings().size(), -1);
        for (const int j : piece_.joints) {
          const Joint& joint = model.joints()[j];
          if (joint.rows() == 0) continue;
          block_of_joint_[j] = structure.add(joint.rows(), touched(joint));
          sources_.push_back({.joint = j});
        }
        for (const int j : piece_.joints)
          for (int k = 0; k < model.joints()[j].nv; ++k)
            if (model.joints()[j].passive[k].armature > 0) {
              structure.add(1, touched(model.joints()[j]));
              sources_.push_back({.joint = j, .freedom = k});
            }
        for (const int c : piece_.couplings) {
          std::vector<int> bodies = touched(model.joints()[model.couplings()[c].joint]);
          for (const int b : touched(model.joints()[model.couplings()[c].of]))
            if (std::find(bodies.begin(), bodies.end(), b) == bodies.end()) bodies.push_back(b);
          block_of_coupling_[c] = structure.add(1, bodies);
          sources_.push_back({.coupling = c});
        }
        return structure;
      }()) {
  f_ = VecX::Zero(6 * problem_.structure.bodies());
  gamma_ = VecX::Zero(problem_.structure.rows());
  problem_.turn.assign(piece_.bodies.size(), Mat3::Identity());
  direction_.assign(problem_.structure.rows(), Vec6::Zero());
  norm_.assign(problem_.structure.rows(), 1);
  at_.resize(model.joints().size());
}

void KktAssembly::fill(const Bodies& bodies, const KktInput& input) {
  for (const int j : piece_.joints) joint_at(model_, j, bodies, input.dynamics, at_[j]);
  fill_bodies(bodies, input);
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
  for (int i = 0; i < static_cast<int>(piece_.bodies.size()); ++i) {
    const int b = piece_.bodies[i];
    const double l = scales_.body_length[b], m0 = scales_.mass_at(b);
    const Inertia& inertia = model_.bodies()[b].inertia;
    const Mat3 R = problem_.turn[i] = bodies[b].q_WB.toRotationMatrix();
    const Mat3 I = R * inertia.I_C * R.transpose();
    Mat6& M = problem_.mass[i];
    M.setZero();
    M.topLeftCorner<3, 3>().diagonal().setConstant(inertia.mass / m0);
    M.bottomRightCorner<3, 3>() = I / (m0 * l * l);
    Wrench w = input.port ? (*input.port)[b] : Wrench{};
    if (input.dynamics) {
      w.force += inertia.mass * model_.gravity();
      w.moment -= bodies[b].w_WB.cross(I * bodies[b].w_WB);
    }
    f_.segment<3>(6 * i) = w.force / m0;
    f_.segment<3>(6 * i + 3) = w.moment / (m0 * l);
  }
  if (!input.efforts) return;
  for (const int j : piece_.joints) {
    const Joint& joint = model_.joints()[j];
    if (joint.nv == 0) continue;
    const Wrench w = effort_wrench(at_[j], input.efforts->segment(joint.v0, joint.nv));
    const auto add = [&](int b, const Vec3& arm, double side) {
      if (b == kWorld) return;
      const double l = scales_.body_length[b], m0 = scales_.mass_at(b);
      const Wrench at_com = w.about(arm);
      f_.segment<3>(6 * index_[b]) += side / m0 * at_com.force;
      f_.segment<3>(6 * index_[b] + 3) += side / (m0 * l) * at_com.moment;
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
  const Vec3 c_w = row.head<3>(), c_v = row.tail<3>();
  const auto add = [&](int b, const Vec3& arm, double side) {
    if (b == kWorld) return;
    const double l = scales_.body_length[b];
    for (int t = 0; t < shape.touches; ++t) {
      if (problem_.structure.body(shape.first_touch + t) != index_[b]) continue;
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

// The rows of add_row, with what they share computed once. A joint touches its parent, unless that is the World, and its child.
void KktAssembly::fill_joint(int block, const Bodies& bodies, const KktInput& input) {
  const int j = sources_[block].joint;
  const JointAt& at = at_[j];
  const Joint& joint = model_.joints()[j];
  const KktBlock& shape = problem_.structure.block(block);
  const bool carried = joint.parent != kWorld;
  Mat6& on_child = problem_.jac(block, shape.touches - 1);
  const double per_child = 1 / scales_.body_length[joint.child];
  const double per_parent = carried ? 1 / scales_.body_length[joint.parent] : 0;
  Vec6 wanted = at.bias;
  if (input.bias) wanted.head<3>() += (*input.bias)[j].angular, wanted.tail<3>() += (*input.bias)[j].linear;
  if (input.dynamics) {
    const auto centripetal = [&](int b, const Vec3& arm) -> Vec3 { return bodies[b].w_WB.cross(bodies[b].w_WB.cross(arm)); };
    wanted.tail<3>() -= centripetal(joint.child, at.arm_child);
    if (carried) wanted.tail<3>() += centripetal(joint.parent, at.arm_parent);
  }
  for (int k = 0; k < at.C.rows(); ++k) {
    Vec6& row = direction_[shape.first_row + k];
    row = at.C.row(k).transpose();
    row /= row_size(row, length_at(j));
    gamma_[shape.first_row + k] = row.dot(wanted);
    const Vec3 c_w = row.head<3>(), c_v = row.tail<3>();
    on_child.row(k) << c_v.transpose(), per_child * (c_w + at.arm_child.cross(c_v)).transpose();
    if (carried) problem_.jac(block, 0).row(k) << -c_v.transpose(), -per_parent * (c_w + at.arm_parent.cross(c_v)).transpose();
  }
}

void KktAssembly::clear_row(int block) {
  const KktBlock& shape = problem_.structure.block(block);
  for (int t = 0; t < shape.touches; ++t) problem_.jac(block, t).setZero();
}

void KktAssembly::fill_rotor(int block, const Bodies& bodies, bool rates) {
  clear_row(block);
  const Source& source = sources_[block];
  const JointAt& at = at_[source.joint];
  const int row = problem_.structure.block(block).first_row;
  const Vec6 dual = at.dual.col(source.freedom);
  const double armature = model_.joints()[source.joint].passive[source.freedom].armature;
  norm_[row] = row_size(dual, length_at(source.joint));
  problem_.compliance[row] = mass_at(source.joint) / (armature * norm_[row] * norm_[row]);
  direction_[row] = dual / norm_[row];
  gamma_[row] = direction_[row].dot(at.bias);
  add_row(block, 0, model_.joints()[source.joint], at, bodies, direction_[row], rates);
}

// q_driven'' - p'(q) q'' = p''(q) q'²
void KktAssembly::fill_coupling(int block, const Bodies& bodies, const KktInput& input) {
  clear_row(block);
  const int c = sources_[block].coupling;
  const Coupling& coupling = model_.couplings()[c];
  const JointAt& driven = at_[coupling.joint];
  const JointAt& of = at_[coupling.of];
  const double v = input.dynamics ? of.v[coupling.of_freedom] : 0;
  const Driven p = driven_by(coupling, input.coupling_q ? (*input.coupling_q)[c] : of.q[coupling.of_freedom]);
  const int row = problem_.structure.block(block).first_row;
  const Vec6 a = driven.dual.col(coupling.freedom), b = -p.slope * of.dual.col(coupling.of_freedom);
  // Measured by the effort on the driven freedom: a moment over the length, or a force.
  norm_[row] = row_size(a, length_at(coupling.joint));
  gamma_[row] =
      (p.curvature * v * v + a.dot(driven.bias) + b.dot(of.bias) + (input.coupling_bias ? (*input.coupling_bias)[c] : 0.0)) /
      norm_[row];
  add_row(block, 0, model_.joints()[coupling.joint], driven, bodies, a / norm_[row], input.dynamics);
  add_row(block, 0, model_.joints()[coupling.of], of, bodies, b / norm_[row], input.dynamics);
}

void KktAssembly::accelerations(const VecX& x, Accelerations& out) const {
  for (int i = 0; i < static_cast<int>(piece_.bodies.size()); ++i) {
    const int b = piece_.bodies[i];
    out[b].a_WC = x.segment<3>(6 * i);
    out[b].alpha_WB = x.segment<3>(6 * i + 3) / scales_.body_length[b];
  }
}

void KktAssembly::reactions(const VecX& F, std::vector<Wrench>& out) const {
  for (const int j : piece_.joints) {
    out[j] = Wrench{};
    if (block_of_joint_[j] < 0) continue;
    const KktBlock& block = problem_.structure.block(block_of_joint_[j]);
    for (int row = block.first_row; row < block.first_row + block.rows; ++row) {
      out[j].moment += mass_at(j) * F[row] * direction_[row].head<3>();
      out[j].force += mass_at(j) * F[row] * direction_[row].tail<3>();
    }
  }
}

double KktAssembly::coupling_effort(const VecX& F, int coupling) const {
  const int row = problem_.structure.block(block_of_coupling_[coupling]).first_row;
  return -mass_at(model_.couplings()[coupling].joint) * F[row] / norm_[row];
}

VecX KktAssembly::motion(const Accelerations& accelerations) const {
  VecX x(6 * problem_.structure.bodies());
  for (int i = 0; i < static_cast<int>(piece_.bodies.size()); ++i) {
    const int b = piece_.bodies[i];
    x.segment<6>(6 * i) << accelerations[b].a_WC, scales_.body_length[b] * accelerations[b].alpha_WB;
  }
  return x;
}

// Directions are orthonormal in the metric |f|² + |m|²/l², so a component is an inner product in it. A rotor's multiplier is
// its inertia force: J x - c F = gamma.
VecX KktAssembly::multipliers(const VecX& x, const std::vector<Wrench>& reactions, const VecX& couplings) const {
  VecX F = -gamma_;
  add_jacobian_times(problem_.structure, problem_.jacobian, x, F);
  for (int block = 0; block < static_cast<int>(sources_.size()); ++block) {
    const Source& source = sources_[block];
    const KktBlock& shape = problem_.structure.block(block);
    for (int row = shape.first_row; row < shape.first_row + shape.rows; ++row) {
      if (source.coupling >= 0)
        F[row] = -couplings[source.coupling] * norm_[row] / mass_at(model_.couplings()[source.coupling].joint);
      else if (source.freedom >= 0)
        F[row] /= problem_.compliance[row];
      else
        F[row] =
            (direction_[row].head<3>().dot(reactions[source.joint].moment) / (length_at(source.joint) * length_at(source.joint)) +
             direction_[row].tail<3>().dot(reactions[source.joint].force)) /
            mass_at(source.joint);
    }
  }
  return F;
}

}  // namespace invar
