// SPDX-License-Identifier: Apache-2.0
//
// Rows of the tree's joints hold for a = T v' + τ whatever v' is: T carries rates of freedoms outwards, τ what rates and gaps ask
// for by themselves. With the rows B v' = b that are left (of closed loops and couplings, and Ĝ), a rotor of inertia 1/c on the
// row j counted as a mass,
//   v' = p + Z z,   B p = b,   B Z = 0,   (Zᵀ Tᵀ M T Z) z = Zᵀ Tᵀ (f - M (T p + τ)).
// Reactions follow from what a leaves over: Jᵀ F = f - M a, of least norm.
#include <Eigen/Cholesky>
#include <cmath>

#include "invar/mech/dense.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/passage.hpp"

namespace invar {
namespace {

constexpr double kGone = 1e-7;  // of the strongest row: what is weaker transmits nothing that could be computed

std::size_t size(int n) { return static_cast<std::size_t>(n); }

}  // namespace

// T, τ and the coordinates of the tree as the bodies have them.
void Passage::walk(const Bodies& bodies, const KktInput& input) {
  const double l = model_.length();
  const JointTree& tree = loops_.tree();
  T_.setZero();
  tau_.setZero();
  now_.q.resize(tree.nq());
  now_.v.resize(tree.nv());
  const auto centripetal_part = [&](int b, const Vec3& arm) {
    const Vec3 w = b == kWorld || !input.dynamics ? Vec3(Vec3::Zero()) : bodies[size(b)].w_WB;
    return Vec3(w.cross(w.cross(arm)));
  };
  for (const JointNode& n : tree.nodes()) {
    const Eigen::Index row = 6 * n.body;
    if (n.joint < 0) {
      const BodyState& s = bodies[size(n.body)];
      now_.q.segment<7>(n.q0) << s.p_WC, s.q_WB.w(), s.q_WB.x(), s.q_WB.y(), s.q_WB.z();
      now_.v.segment<6>(n.v0) << s.v_WC, s.w_WB;
      T_.block<3, 3>(row, n.v0).setIdentity();
      T_.block<3, 3>(row + 3, n.v0 + 3) = l * Mat3::Identity();
      continue;
    }
    const JointAt& at = at_[size(n.joint)];
    for (int k = 0; k < n.nq; ++k) now_.q[n.q0 + k] = at.q[k];
    for (int k = 0; k < n.nv; ++k) now_.v[n.v0 + k] = at.v[k];
    const double sign = n.reversed ? -1 : 1;
    const Vec3 &arm_in = n.reversed ? at.arm_child : at.arm_parent, &arm_out = n.reversed ? at.arm_parent : at.arm_child;
    const int inner = n.inner < 0 ? kWorld : tree.nodes()[size(n.inner)].body;
    // Angular parts are carried along over l, so arms are too.
    const auto across = [&](const Vec3& arm) { return Mat3(hat(arm) / l); };
    if (inner != kWorld) {
      T_.middleRows(row, 6) = T_.middleRows(6 * inner, 6);
      T_.middleRows(row, 3) -= across(arm_in) * T_.middleRows(6 * inner + 3, 3);
      tau_.segment<6>(row) = tau_.segment<6>(6 * inner);
      tau_.segment<3>(row) -= across(arm_in) * tau_.segment<3>(6 * inner + 3);
      tau_.segment<3>(row) += centripetal_part(inner, arm_in);
    }
    for (int k = 0; k < n.nv; ++k) {
      T_.block<3, 1>(row, n.v0 + k) += sign * at.S.col(k).tail<3>();
      T_.block<3, 1>(row + 3, n.v0 + k) += sign * l * at.S.col(k).head<3>();
    }
    Vec6 bias = input.dynamics ? at.bias : Vec6(Vec6::Zero());
    if (input.bias) bias.head<3>() += (*input.bias)[size(n.joint)].angular, bias.tail<3>() += (*input.bias)[size(n.joint)].linear;
    tau_.segment<3>(row) += sign * bias.tail<3>();
    tau_.segment<3>(row + 3) += sign * l * bias.head<3>();
    T_.middleRows(row, 3) += across(arm_out) * T_.middleRows(row + 3, 3);
    tau_.segment<3>(row) += across(arm_out) * tau_.segment<3>(row + 3) - centripetal_part(n.body, arm_out);
  }
}

// A row of the assembly on the freedoms of the tree, and what τ leaves of its right side.
void Passage::constrain(const KktInput&) {
  const KktProblem& problem = assembly_.problem();
  lines_.clear();
  sides_.clear();
  for (const int row : kept_) {
    const int block = problem.structure.block_of_row(row);
    const KktBlock& shape = problem.structure.block(block);
    VecX line = VecX::Zero(T_.cols());
    double side = assembly_.gamma()[row];
    for (int k = 0; k < shape.touches; ++k) {
      const Eigen::Index b = 6 * problem.structure.body(shape.first_touch + k);
      const auto j = problem.jac(block, k).row(row - shape.first_row);
      line += T_.middleRows(b, 6).transpose() * j.transpose();
      side -= j * tau_.segment<6>(b);
    }
    lines_.push_back(line);
    sides_.push_back(side);
  }
  if (level_ == Level::Position) return;
  for (const Branch& branch : active_) add_border(branch);
}

void Passage::add_border(const Branch& branch) {
  const Loops::Group& g = loops_.groups()[branch.group];
  VecX u, du, v;
  MatX G, dG;
  loops_.difference(branch.group, branch.q0, now_.q, u);
  loops_.rate_of_difference(branch.group, u, now_.v, du);
  loops_.rates(branch.group, now_.v, v);
  branch.complement(branch.t.dot(u), G, dG);
  for (int d = 0; d < branch.directions; ++d) {
    VecX line = VecX::Zero(T_.cols());
    for (std::size_t i = 0; i < g.freedoms.size(); ++i)
      line[g.freedoms[i]] = G(static_cast<Eigen::Index>(i), d) * g.scale[static_cast<Eigen::Index>(i)];
    lines_.push_back(line);
    sides_.push_back(level_ == Level::Velocity ? -G.col(d).dot(v) : -branch.t.dot(du) * dG.col(d).dot(v));
  }
}

// v' and with it x_ = T v' + τ.
Verdict Passage::reduce() {
  const KktProblem& problem = assembly_.problem();
  const auto rows = static_cast<Eigen::Index>(lines_.size()), n = T_.cols();
  MatX B(n, rows);
  VecX b(rows);
  for (Eigen::Index r = 0; r < rows; ++r) {
    const double norm = lines_[static_cast<std::size_t>(r)].norm();
    B.col(r) = lines_[static_cast<std::size_t>(r)] / norm;
    b[r] = sides_[static_cast<std::size_t>(r)] / norm;
  }
  MatX Q, R;
  orthogonal_factors(B, Q, R);
  const VecX rates = Q.leftCols(rows) * R.transpose().triangularView<Eigen::Lower>().solve(b);
  const MatX Z = Q.rightCols(n - rows);

  // Masses and rotors.
  x_ = T_ * rates + tau_;
  const MatX TZ = T_ * Z;
  MatX H = MatX::Zero(Z.cols(), Z.cols());
  VecX force = VecX::Zero(Z.cols());
  for (int i = 0; i < problem.structure.bodies(); ++i) {
    const auto part = TZ.middleRows(6 * i, 6);
    const Mat6& M = problem.mass[size(i)];
    H += part.transpose() * M * part;
    force += part.transpose() * (assembly_.force().segment<6>(6 * i) - M * x_.segment<6>(6 * i));
  }
  for (int block = 0; block < problem.structure.blocks(); ++block) {
    const KktBlock& shape = problem.structure.block(block);
    if (shape.rows != 1 || !(problem.compliance[shape.first_row] > 0)) continue;
    VecX line = VecX::Zero(Z.cols());
    double rest = assembly_.gamma()[shape.first_row];
    for (int k = 0; k < shape.touches; ++k) {
      const Eigen::Index at = 6 * problem.structure.body(shape.first_touch + k);
      line += TZ.middleRows(at, 6).transpose() * problem.jac(block, k).row(0).transpose();
      rest -= problem.jac(block, k).row(0) * x_.segment<6>(at);
    }
    H += line * line.transpose() / problem.compliance[shape.first_row];
    force += line * (rest / problem.compliance[shape.first_row]);
  }
  if (Z.cols() > 0) {
    const Eigen::LDLT<MatX> ldlt(H);
    if (ldlt.info() != Eigen::Success || !ldlt.isPositive() || !(ldlt.vectorD().minCoeff() > 0)) return {Status::NoInertia, 0};
    const VecX z = ldlt.solve(force);
    x_ += TZ * z;
  }
  return x_.allFinite() ? Verdict{} : Verdict{Status::NotFinite};
}

// Multipliers of least norm; a rotor's is its inertia force.
void Passage::react(std::vector<Wrench>& reactions) {
  const KktProblem& problem = assembly_.problem();
  const KktStructure& s = problem.structure;
  VecX rest = assembly_.force();
  for (int i = 0; i < s.bodies(); ++i) rest.segment<6>(6 * i) -= problem.mass[size(i)] * x_.segment<6>(6 * i);
  F_.setZero();
  VecX along = -assembly_.gamma();
  add_jacobian_times(s, problem.jacobian, x_, along);
  std::vector<int> rows;
  for (int r = 0; r < s.rows(); ++r)
    if (problem.compliance[r] > 0)
      F_[r] = along[r] / problem.compliance[r];
    else
      rows.push_back(r);
  VecX carried = VecX::Zero(rest.size());
  add_transpose_times(s, problem.jacobian, F_, carried);
  rest -= carried;
  MatX Jt = MatX::Zero(rest.size(), static_cast<Eigen::Index>(rows.size()));
  for (std::size_t c = 0; c < rows.size(); ++c) {
    const int block = s.block_of_row(rows[c]);
    const KktBlock& shape = s.block(block);
    for (int k = 0; k < shape.touches; ++k)
      Jt.block<6, 1>(6 * s.body(shape.first_touch + k), static_cast<Eigen::Index>(c)) +=
          problem.jac(block, k).row(rows[c] - shape.first_row).transpose();
  }
  const VecX F = least_norm_solution(Jt, rest, kGone);
  for (std::size_t c = 0; c < rows.size(); ++c) F_[rows[c]] = F[static_cast<Eigen::Index>(c)];
  assembly_.reactions(F_, reactions);
}

Verdict Passage::solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                       std::vector<Wrench>& reactions) {
  for (int j = 0; j < static_cast<int>(at_.size()); ++j) joint_at(model_, j, bodies, true, at_[size(j)]);
  assembly_.fill(bodies, input);
  walk(bodies, input);
  constrain(input);
  if (const Verdict verdict = reduce(); !verdict.ok()) return verdict;
  assembly_.accelerations(x_, accelerations);
  if (input.reactions && level_ == Level::Acceleration) react(reactions);
  return {};
}

}  // namespace invar
