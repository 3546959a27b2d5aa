// SPDX-License-Identifier: Apache-2.0
//
// A in the directions of unit forces along the principal axes of every body and moments of size ℓ about them (ℓ the model's
// length), so that entries are of one unit, 1/kg, and a direction without inertia is one of them. Cholesky with the largest
// remaining diagonal entry as pivot ends after as many columns as there are freedoms: what is left is round-off.
#include "invar/learn/motion_factor.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

namespace invar {
namespace {

// A pivot that has fallen this far is round-off of the solves (condition of closures times 1e-16), not a freedom.
constexpr double kRankless = 1e-11;

}  // namespace

MotionFactor::MotionFactor(const Model& model)
    : inverse_(model),
      answered_(6 * model.bodies().size(), 1),
      R_(model.bodies().size()),
      A_(6 * model.bodies().size(), 6 * model.bodies().size()),
      L_(A_),
      left_(A_.rows()),
      Bt_(A_),
      port_(model.bodies().size()),
      moved_(model.bodies().size()) {
  for (const Body& b : model.bodies()) {
    const bool round = b.inertia.I_C.isDiagonal(1e-14);
    axes_.push_back(round ? Mat3(Mat3::Identity()) : Eigen::SelfAdjointEigenSolver<Mat3>(b.inertia.I_C).eigenvectors());
  }
}

Verdict MotionFactor::at(const Bodies& bodies) {
  for (std::size_t b = 0; b < bodies.size(); ++b) R_[b] = bodies[b].q_WB.toRotationMatrix() * axes_[b];
  return inverse_.at(bodies);
}

Verdict MotionFactor::factor() {
  const auto n = static_cast<Eigen::Index>(port_.size());
  const double length = model().length();
  without_ = 0;
  for (Eigen::Index k = 0; k < 6 * n; ++k) {
    const auto b = static_cast<std::size_t>(k / 6);
    const Eigen::Index axis = k % 3;
    const bool turns = k % 6 > 2;
    if (turns)
      port_[b].moment = length * R_[b].col(axis);
    else
      port_[b].force = R_[b].col(axis);
    const Verdict verdict = inverse_.apply(&port_, nullptr, moved_);
    port_[b] = Wrench{};
    answered_[static_cast<std::size_t>(k)] = verdict.ok();
    if (!verdict.ok()) {
      if (verdict.status != Status::NoInertia) return verdict;
      A_.col(k).setZero(), ++without_;
      continue;
    }
    for (Eigen::Index c = 0; c < n; ++c) {
      const auto i = static_cast<std::size_t>(c);
      A_.col(k).segment<3>(6 * c) = R_[i].transpose() * moved_[i].a_WC;
      A_.col(k).segment<3>(6 * c + 3) = length * (R_[i].transpose() * moved_[i].alpha_WB);
    }
  }
  // Columns that were answered have rows in the others' place too.
  for (Eigen::Index k = 0; k < 6 * n; ++k)
    if (!answered_[static_cast<std::size_t>(k)]) A_.row(k).setZero();
  left_ = A_.diagonal();
  const double largest = left_.maxCoeff();
  const int freedoms = without_ > 0 ? static_cast<int>(6 * n) : inverse_.freedoms();
  for (rows_ = 0; rows_ < freedoms; ++rows_) {
    Eigen::Index p = 0;
    if (!(left_.maxCoeff(&p) > kRankless * largest)) break;
    auto column = L_.col(rows_);
    column.noalias() = A_.col(p) - L_.leftCols(rows_) * L_.row(p).head(rows_).transpose();
    column /= std::sqrt(left_[p]);
    left_ -= column.cwiseAbs2();
    left_[p] = 0;
  }
  for (Eigen::Index c = 0; c < n; ++c) {
    const auto i = static_cast<std::size_t>(c);
    // Row by row: products of fixed size take no memory.
    for (Eigen::Index r = 0; r < rows_; ++r) {
      Bt_.block<1, 3>(r, 6 * c) = (R_[i] * L_.block<3, 1>(6 * c, r)).transpose();
      Bt_.block<1, 3>(r, 6 * c + 3) = (R_[i] * L_.block<3, 1>(6 * c + 3, r)).transpose() / length;
    }
  }
  if (!Bt().allFinite()) return {Status::NotFinite, -1, -1, 0};
  return {};
}

int MotionFactor::unanswered(const Port& load) const {
  for (std::size_t b = 0; b < load.size(); ++b)
    for (std::size_t k = 0; k < 6; ++k) {
      if (answered_[6 * b + k]) continue;
      const Vec3& part = k < 3 ? load[b].force : load[b].moment;
      if (std::abs(R_[b].col(static_cast<Eigen::Index>(k % 3)).dot(part)) > 1e-9 * part.norm()) return static_cast<int>(b);
    }
  return -1;
}

void left_over(ConstrainedInverse& inverse, const Accelerations& accelerations, const Port& known, const VecX& efforts, Port& d) {
  for (Wrench& w : d) w = Wrench{};
  inverse.add_own_forces(false, d);
  if (efforts.size() > 0) inverse.add_efforts(efforts, d);
  for (std::size_t b = 0; b < d.size(); ++b) {
    const Body& body = inverse.model().bodies()[b];
    const BodyState& at = inverse.bodies()[b];
    const BodyAcceleration& a = accelerations[b];
    d[b] =
        Wrench{spun(body, at, a.alpha_WB) + at.w_WB.cross(spun(body, at, at.w_WB)), body.inertia.mass * a.a_WC} - d[b] - known[b];
  }
}

Verdict allowed(ConstrainedInverse& inverse, const Accelerations& measured, Port& workspace, Accelerations& out) {
  for (std::size_t b = 0; b < measured.size(); ++b) {
    const Body& body = inverse.model().bodies()[b];
    const BodyState& at = inverse.bodies()[b];
    workspace[b] = {spun(body, at, measured[b].alpha_WB), body.inertia.mass * measured[b].a_WC};
    out[b] = {at.v_WC, at.w_WB};  // the motion as a field
  }
  // `follow` reads the field before it writes.
  return inverse.follow(out, workspace, nullptr, out);
}

}  // namespace invar
