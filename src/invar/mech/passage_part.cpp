// SPDX-License-Identifier: Apache-2.0
//
// Rows of the tree's joints hold for a = T v' + τ whatever v' is: T carries rates of freedoms outwards, τ what rates and gaps ask
// for by themselves. With the rows B v' = b that are left (of closed loops and couplings, and Ĝ), a rotor of inertia 1/c on the
// row j counted as a mass,
//   v' = p + Z z,   B p = b,   B Z = 0,   (Zᵀ Tᵀ M T Z) z = Zᵀ Tᵀ (f - M (T p + τ)).
// Reactions follow from what a leaves over: Jᵀ F = f - M a, of least norm.
#include "invar/mech/passage_part.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <cmath>

#include "invar/base/index.hpp"
#include "invar/mech/dense.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {
namespace {

constexpr double kGone = 1e-13;       // of the strongest row: what is weaker is rounding
constexpr double kDependent = 1e-10;  // sine between a kept row and the others below which they do not hold what they should
constexpr double kMissed = 1e-8;      // of the terms of an equation: what an answer may miss it by
constexpr double kLeast = 1e-15;      // of the largest pivot: motions with less inertia have none

}  // namespace

struct PassagePart::Reduction {
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

PassagePart::PassagePart(const Model& model, const Loops& loops, const Scales& scales, const Piece& piece)
    : model_(model),
      loops_(loops),
      assembly_(model, scales, piece),
      length_(scales.length_at(piece.bodies.front())),
      first_row_of_joint_(model.joints().size(), -1),
      row_of_coupling_(model.couplings().size(), -1),
      place_of_body_(model.bodies().size(), -1),
      column_(size(loops.tree().nv()), -1),
      at_(model.joints().size()),
      F_(VecX::Zero(assembly_.problem().structure.rows())),
      q_(VecX::Zero(loops.tree().nq())),
      v_(VecX::Zero(loops.tree().nv())) {
  const KktStructure& structure = assembly_.problem().structure;
  for (int block = structure.blocks(); block-- > 0;) {  // rotors come after the rows of their joints
    if (assembly_.joint_of_block(block) >= 0)
      first_row_of_joint_[size(assembly_.joint_of_block(block))] = structure.block(block).first_row;
    if (assembly_.coupling_of_block(block) >= 0)
      row_of_coupling_[size(assembly_.coupling_of_block(block))] = structure.block(block).first_row;
  }
  for (std::size_t i = 0; i < piece.bodies.size(); ++i) place_of_body_[size(piece.bodies[i])] = static_cast<int>(i);
  int columns = 0;
  const std::vector<JointNode>& nodes = loops.tree().nodes();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (place_of_body_[size(nodes[n].body)] < 0) continue;
    nodes_.push_back(n);
    for (int k = 0; k < nodes[n].nv; ++k) column_[size(nodes[n].v0 + k)] = columns++;
  }
  T_ = MatX::Zero(6 * static_cast<Eigen::Index>(piece.bodies.size()), columns);
  tau_ = x_ = VecX::Zero(T_.rows());
}

PassagePart::~PassagePart() = default;

void PassagePart::choose(const std::vector<const Branch*>& branches, const std::vector<Loops::Row>& kept) {
  branches_ = branches;
  kept_.clear();
  for (const Loops::Row& row : kept)
    kept_.push_back(row.joint >= 0 ? first_row_of_joint_[size(row.joint)] + row.which : row_of_coupling_[size(row.coupling)]);
  auto rows = static_cast<Eigen::Index>(kept_.size()), of_positions = rows;
  const Eigen::Index bodies = T_.rows() / 6;
  for (const Branch* branch : branches_) {
    rows += branch->directions;
    if (branch->stands) of_positions += branch->directions;
    border_u_ = border_du_ = border_v_ = branch->t;
    G_ = dG_ = MatX::Zero(branch->t.size(), branch->directions);
  }
  positions_ = std::make_unique<Reduction>(bodies, T_.cols(), of_positions);
  full_ = std::make_unique<Reduction>(bodies, T_.cols(), rows);
}

// T, τ and the coordinates of the tree as the bodies have them.
void PassagePart::walk(const Bodies& bodies, const KktInput& input) {
  const double l = length_;
  const JointTree& tree = loops_.tree();
  T_.setZero();
  tau_.setZero();
  const auto centripetal_part = [&](int b, const Vec3& arm) {
    const Vec3 w = b == kWorld || !input.dynamics ? Vec3(Vec3::Zero()) : bodies[size(b)].w_WB;
    return Vec3(w.cross(w.cross(arm)));
  };
  for (const std::size_t node : nodes_) {
    const JointNode& n = tree.nodes()[node];
    const Eigen::Index row = 6 * place_of_body_[size(n.body)], column = n.nv > 0 ? column_[size(n.v0)] : 0;
    if (n.joint < 0) {
      const BodyState& s = bodies[size(n.body)];
      q_.segment<7>(n.q0) << s.p_WC, s.q_WB.w(), s.q_WB.x(), s.q_WB.y(), s.q_WB.z();
      v_.segment<6>(n.v0) << s.v_WC, s.w_WB;
      T_.block<3, 3>(row, column).setIdentity();
      T_.block<3, 3>(row + 3, column + 3) = l * Mat3::Identity();
      continue;
    }
    const JointAt& at = at_[size(n.joint)];
    for (int k = 0; k < n.nq; ++k) q_[n.q0 + k] = at.q[k];
    for (int k = 0; k < n.nv; ++k) v_[n.v0 + k] = at.v[k];
    const double sign = n.reversed ? -1 : 1;
    const Vec3 &arm_in = n.reversed ? at.arm_child : at.arm_parent, &arm_out = n.reversed ? at.arm_parent : at.arm_child;
    const int inner = n.inner < 0 ? kWorld : tree.nodes()[size(n.inner)].body;
    // Angular parts are carried along over l, so arms are too.
    const auto across = [&](const Vec3& arm) { return Mat3(hat(arm) / l); };
    if (inner != kWorld) {
      const Eigen::Index from = 6 * place_of_body_[size(inner)];
      T_.middleRows(row, 6) = T_.middleRows(from, 6);
      T_.middleRows(row, 3).noalias() -= across(arm_in).lazyProduct(T_.middleRows(from + 3, 3));
      tau_.segment<6>(row) = tau_.segment<6>(from);
      tau_.segment<3>(row) -= across(arm_in) * tau_.segment<3>(from + 3);
      tau_.segment<3>(row) += centripetal_part(inner, arm_in);
    }
    for (int k = 0; k < n.nv; ++k) {
      T_.block<3, 1>(row, column + k) += sign * at.S.col(k).tail<3>();
      T_.block<3, 1>(row + 3, column + k) += sign * l * at.S.col(k).head<3>();
    }
    Vec6 bias = input.dynamics ? at.bias : Vec6(Vec6::Zero());
    if (input.bias) bias.head<3>() += (*input.bias)[size(n.joint)].angular, bias.tail<3>() += (*input.bias)[size(n.joint)].linear;
    tau_.segment<3>(row) += sign * bias.tail<3>();
    tau_.segment<3>(row + 3) += sign * l * bias.head<3>();
    T_.middleRows(row, 3).noalias() += across(arm_out).lazyProduct(T_.middleRows(row + 3, 3));
    tau_.segment<3>(row) += across(arm_out) * tau_.segment<3>(row + 3) - centripetal_part(n.body, arm_out);
  }
  // The assembly measures every body's rotation by a length of its own.
  for (int b = 0; b < static_cast<int>(T_.rows()) / 6; ++b) {
    const double ratio = assembly_.body_length(b) / l;
    T_.middleRows(6 * b + 3, 3) *= ratio;
    tau_.segment<3>(6 * b + 3) *= ratio;
  }
}

// A row of the assembly on the freedoms of the tree, and what τ leaves of its right side.
void PassagePart::constrain(Level level, Reduction& to) {
  const KktProblem& problem = assembly_.problem();
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
  for (const Branch* branch : branches_) {
    if (level == Level::Position && !branch->stands) continue;
    add_border(*branch, level, column, to);
    column += branch->directions;
  }
}

void PassagePart::add_border(const Branch& branch, Level level, Eigen::Index first, Reduction& to) {
  const Loops::Group& g = loops_.groups()[branch.group];
  loops_.difference(branch.group, branch.q0, q_, border_u_);
  loops_.rate_of_difference(branch.group, border_u_, v_, border_du_);
  loops_.rates(branch.group, v_, border_v_);
  branch.complement(branch.t.dot(border_u_), G_, dG_);
  for (int d = 0; d < branch.directions; ++d) {
    for (std::size_t i = 0; i < g.freedoms.size(); ++i)
      to.B(column_[size(g.freedoms[i])], first + d) = G_(static_cast<Eigen::Index>(i), d) * g.scale[static_cast<Eigen::Index>(i)];
    to.b[first + d] = level == Level::Position   ? -G_.col(d).dot(border_u_)
                      : level == Level::Velocity ? -G_.col(d).dot(border_v_)
                                                 : -branch.t.dot(border_du_) * dG_.col(d).dot(border_v_);
  }
}

// v' and with it x_ = T v' + τ.
Verdict PassagePart::reduce(Reduction& r) {
  const KktProblem& problem = assembly_.problem();
  const Eigen::Index rows = r.B.cols(), n = T_.cols();
  for (Eigen::Index c = 0; c < rows; ++c) {
    const double norm = r.B.col(c).norm();
    if (!(norm > 0)) return {Status::Singular, -1, -1, norm};
    r.B.col(c) /= norm;
    r.b[c] /= norm;
  }
  r.qr.compute(r.B);
  if (rows > 0)
    if (const double sine = r.qr.matrixQR().diagonal().head(rows).cwiseAbs().minCoeff(); !(sine > kDependent))
      return {Status::Singular, -1, -1, sine};
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
    if (r.ldlt.info() != Eigen::Success || !r.ldlt.isPositive() ||
        !(r.ldlt.vectorD().minCoeff() > kLeast * r.ldlt.vectorD().maxCoeff()))
      return without_inertia(r);
    r.z = r.ldlt.solve(r.force);
    r.line = -r.force;
    r.line.noalias() += r.H * r.z;
    const double terms = r.H.norm() * r.z.norm() + r.force.norm();
    if (!(r.line.norm() <= kMissed * terms)) return {Status::NotConverged, -1, -1, r.line.norm() / terms};
    x_.noalias() += r.TZ * r.z;
  }
  return x_.allFinite() ? Verdict{} : Verdict{Status::NotFinite};
}

// The body that moves most along the direction of the least inertia. Rare: allocates.
Verdict PassagePart::without_inertia(const Reduction& r) const {
  if (!r.H.allFinite()) return {Status::NotFinite};
  const Svd svd = full_svd(r.H);
  const VecX motion = r.TZ * svd.right.rightCols(1);
  Eigen::Index most = 0;
  for (Eigen::Index i = 0; i < motion.size() / 6; ++i)
    if (motion.segment<6>(6 * i).norm() > motion.segment<6>(6 * most).norm()) most = i;
  return {Status::NoInertia, assembly_.body(static_cast<int>(most)), -1, svd.values[svd.values.size() - 1] / svd.values[0]};
}

// Multipliers of least norm; a rotor's is its inertia force.
void PassagePart::react(std::vector<Wrench>& reactions) {
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
  double terms = assembly_.force().norm();
  for (int i = 0; i < s.bodies(); ++i) terms += (problem.mass[size(i)] * x_.segment<6>(6 * i)).norm();
  unbalanced_ = terms > 0 ? (Jt * F - rest).norm() / terms : 0;
  for (std::size_t c = 0; c < rows.size(); ++c) F_[rows[c]] = F[static_cast<Eigen::Index>(c)];
  assembly_.reactions(F_, reactions);
}

Verdict PassagePart::solve(const Bodies& bodies, const KktInput& input, Level level, Accelerations& accelerations,
                           std::vector<Wrench>& reactions) {
  for (const int j : piece().joints) joint_at(model_, j, bodies, true, at_[size(j)]);
  assembly_.fill(bodies, input);
  walk(bodies, input);
  Reduction& r = level == Level::Position ? *positions_ : *full_;
  constrain(level, r);
  if (const Verdict verdict = reduce(r); !verdict.ok()) return verdict;
  assembly_.accelerations(x_, accelerations);
  if (input.reactions && level == Level::Acceleration) react(reactions);
  return {};
}

}  // namespace invar
