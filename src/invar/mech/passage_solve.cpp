// SPDX-License-Identifier: Apache-2.0
//
// Rows of the tree's joints hold for a = T v' + τ whatever v' is: T carries rates of freedoms outwards, τ what rates and gaps ask
// for by themselves. With the rows B v' = b that are left (of closed loops and couplings, and Ĝ), a rotor of inertia 1/c on the
// row j counted as a mass,
//   v' = p + Z z,   B p = b,   B Z = 0,   (Zᵀ Tᵀ M T Z) z = Zᵀ Tᵀ (f - M (T p + τ)).
// Reactions follow from what a leaves over: Jᵀ F = f - M a, of least norm.
#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <cmath>

#include "invar/mech/dense.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/passage.hpp"

namespace invar {
namespace {

constexpr double kGone = 1e-13;  // of the strongest row: what is weaker is rounding

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
      T_.middleRows(row, 3).noalias() -= across(arm_in).lazyProduct(T_.middleRows(6 * inner + 3, 3));
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
    T_.middleRows(row, 3).noalias() += across(arm_out).lazyProduct(T_.middleRows(row + 3, 3));
    tau_.segment<3>(row) += across(arm_out) * tau_.segment<3>(row + 3) - centripetal_part(n.body, arm_out);
  }
  // The assembly measures every body's rotation by a length of its own.
  for (int b = 0; b < static_cast<int>(bodies.size()); ++b) {
    const double ratio = assembly_.body_length(b) / l;
    T_.middleRows(6 * b + 3, 3) *= ratio;
    tau_.segment<3>(6 * b + 3) *= ratio;
  }
}

struct Passage::Reduction {
  Reduction(Eigen::Index bodies, Eigen::Index n, Eigen::Index rows)
      : B(n, rows),
        b(rows),
        qr(n, rows),
        Q(n, n),
        workspace(n),
        rates(n),
        TZ(6 * bodies, n - rows),
        MTZ(6, n - rows),
        H(n - rows, n - rows),
        force(n - rows),
        line(n - rows),
        z(n - rows),
        ldlt(n - rows) {}

  MatX B;  // a column per constraint on v'
  VecX b;
  Eigen::HouseholderQR<MatX> qr;
  MatX Q;
  VecX workspace, rates;
  MatX TZ, MTZ, H;
  VecX force, line, z;
  Eigen::LDLT<MatX> ldlt;
};

void Passage::reserve_solves() {
  auto rows = static_cast<Eigen::Index>(kept_.size());
  const auto bodies = static_cast<Eigen::Index>(model_.bodies().size());
  positions_ = std::make_shared<Reduction>(bodies, T_.cols(), rows);
  for (const Branch& branch : active_) {
    rows += branch.directions;
    u_ = du_ = border_u_ = border_du_ = border_v_ = branch.t;
    G_ = dG_ = MatX::Zero(branch.t.size(), branch.directions);
  }
  full_ = std::make_shared<Reduction>(bodies, T_.cols(), rows);
}

Passage::Reduction& Passage::reduction() { return level_ == Level::Position ? *positions_ : *full_; }

// A row of the assembly on the freedoms of the tree, and what τ leaves of its right side.
void Passage::constrain(const KktInput&) {
  const KktProblem& problem = assembly_.problem();
  Reduction& to = reduction();
  to.B.setZero();
  Eigen::Index column = 0;
  for (const int row : kept_) {
    const int block = problem.structure.block_of_row(row);
    const KktBlock& shape = problem.structure.block(block);
    double side = assembly_.gamma()[row];
    for (int k = 0; k < shape.touches; ++k) {
      const Eigen::Index b = 6 * problem.structure.body(shape.first_touch + k);
      const Vec6 j = problem.jac(block, k).row(row - shape.first_row).transpose();
      to.B.col(column).noalias() += T_.middleRows(b, 6).transpose() * j;
      side -= j.dot(tau_.segment<6>(b));
    }
    to.b[column++] = side;
  }
  if (level_ == Level::Position) return;
  for (const Branch& branch : active_) {
    add_border(branch, column);
    column += branch.directions;
  }
}

void Passage::add_border(const Branch& branch, Eigen::Index first) {
  const Loops::Group& g = loops_.groups()[branch.group];
  Reduction& to = reduction();
  loops_.difference(branch.group, branch.q0, now_.q, border_u_);
  loops_.rate_of_difference(branch.group, border_u_, now_.v, border_du_);
  loops_.rates(branch.group, now_.v, border_v_);
  branch.complement(branch.t.dot(border_u_), G_, dG_);
  for (int d = 0; d < branch.directions; ++d) {
    for (std::size_t i = 0; i < g.freedoms.size(); ++i)
      to.B(g.freedoms[i], first + d) = G_(static_cast<Eigen::Index>(i), d) * g.scale[static_cast<Eigen::Index>(i)];
    to.b[first + d] =
        level_ == Level::Velocity ? -G_.col(d).dot(border_v_) : -branch.t.dot(border_du_) * dG_.col(d).dot(border_v_);
  }
}

// v' and with it x_ = T v' + τ.
Verdict Passage::reduce() {
  const KktProblem& problem = assembly_.problem();
  Reduction& r = reduction();
  const Eigen::Index rows = r.B.cols(), n = T_.cols();
  for (Eigen::Index c = 0; c < rows; ++c) {
    const double norm = r.B.col(c).norm();
    r.B.col(c) /= norm;
    r.b[c] /= norm;
  }
  r.qr.compute(r.B);
  r.qr.householderQ().evalTo(r.Q, r.workspace);
  r.qr.matrixQR().topRows(rows).transpose().triangularView<Eigen::Lower>().solveInPlace(r.b);
  r.rates.noalias() = r.Q.leftCols(rows) * r.b;
  const auto Z = r.Q.rightCols(n - rows);

  // Masses and rotors.
  x_ = tau_;
  x_.noalias() += T_ * r.rates;
  r.TZ.noalias() = T_ * Z;
  r.H.setZero();
  r.force.setZero();
  for (int i = 0; i < problem.structure.bodies(); ++i) {
    const auto part = r.TZ.middleRows(6 * i, 6);
    const Mat6& M = problem.mass[size(i)];
    const Vec6 left = assembly_.force().segment<6>(6 * i) - M * x_.segment<6>(6 * i);
    r.MTZ.noalias() = M * part;
    r.H.noalias() += part.transpose() * r.MTZ;
    r.force.noalias() += part.transpose() * left;
  }
  for (int block = 0; block < problem.structure.blocks(); ++block) {
    const KktBlock& shape = problem.structure.block(block);
    if (shape.rows != 1 || !(problem.compliance[shape.first_row] > 0)) continue;
    r.line.setZero();
    double rest = assembly_.gamma()[shape.first_row];
    for (int k = 0; k < shape.touches; ++k) {
      const Eigen::Index at = 6 * problem.structure.body(shape.first_touch + k);
      const Vec6 j = problem.jac(block, k).row(0).transpose();
      r.line.noalias() += r.TZ.middleRows(at, 6).transpose() * j;
      rest -= j.dot(x_.segment<6>(at));
    }
    const double inertia = 1 / problem.compliance[shape.first_row];
    r.force += r.line * (rest * inertia);
    for (Eigen::Index c = 0; c < r.H.cols(); ++c) r.H.col(c) += r.line * (r.line[c] * inertia);
  }
  if (Z.cols() > 0) {
    r.ldlt.compute(r.H);
    if (r.ldlt.info() != Eigen::Success || !r.ldlt.isPositive() || !(r.ldlt.vectorD().minCoeff() > 0))
      return {Status::NoInertia, 0};
    r.z = r.ldlt.solve(r.force);
    x_.noalias() += r.TZ * r.z;
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
