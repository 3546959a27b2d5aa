// SPDX-License-Identifier: Apache-2.0
// y minimises |F − J y|²; its normal equations are singular where the mechanism moves, so each pass adds ε |y − y_before|² D with
// D = diag(Jᵀ J): r = F − J y, (Jᵀ J + ε D) δ = Jᵀ r, y += δ. What is left along a singular value σ of unit columns shrinks by
// ε/(σ² + ε) in each pass. Weak directions need several: the residual says when, a fixed number of passes does not.
// Jᵀ J + ε D is the matrix J̃ J̃ᵀ + c of the fronts for J̃ = Jᵀ: rows are the unknowns of bodies, bodies the joints between them.
#include "invar/mech/least_norm.hpp"

#include <cmath>
#include <limits>

#include "invar/base/index.hpp"

namespace invar {
namespace {

constexpr double kEpsilon = 1e-12;
constexpr double kRoundOff = 1e-16;  // of |J| |F|
constexpr int kPasses = 40;

KktStructure dual_of(const KktStructure& s) {
  std::vector<std::vector<int>> blocks(size(s.bodies()));
  for (int j = 0; j < s.blocks(); ++j)
    for (int t = s.block(j).first_touch; t < s.block(j).first_touch + s.block(j).touches; ++t)
      blocks[size(s.body(t))].push_back(j);
  KktStructure dual(s.blocks());
  for (const std::vector<int>& touched : blocks) dual.add(6, touched);
  return dual;
}

}  // namespace

LeastNorm::LeastNorm(const KktStructure& structure)
    : structure_(structure),
      dual_(dual_of(structure)),
      factor_(dual_),
      touch_(size(structure.touches())),
      transposed_(size(structure.touches()), Mat6::Zero()),
      unit_(size(structure.blocks()), Mat6::Identity()),
      epsilon_(VecX::Zero(6 * structure.bodies())),
      rest_(VecX::Zero(structure.rows())),
      y_(epsilon_),
      step_(epsilon_),
      right_(epsilon_) {
  // Touches of a body in the order of the blocks, as they were added.
  std::vector<int> next(size(structure.bodies()));
  for (int i = 0; i < structure.bodies(); ++i) next[size(i)] = dual_.block(i).first_touch;
  for (int t = 0; t < structure.touches(); ++t) touch_[size(next[size(structure.body(t))]++)] = t;
}

void LeastNorm::project(const KktProblem& problem, VecX& F) {
  epsilon_.setZero();
  for (std::size_t t = 0; t < touch_.size(); ++t) transposed_[t] = problem.jacobian[size(touch_[t])].transpose();
  // Rows with compliance take no part.
  for (std::size_t t = 0; t < touch_.size(); ++t) {
    const KktBlock& rows = structure_.block(dual_.body(static_cast<int>(t)));
    for (int r = 0; r < rows.rows; ++r)
      if (problem.compliance[rows.first_row + r] > 0) transposed_[t].col(r).setZero();
  }
  for (int i = 0; i < structure_.bodies(); ++i) {
    const KktBlock& block = dual_.block(i);
    for (int t = block.first_touch; t < block.first_touch + block.touches; ++t)
      epsilon_.segment<6>(6 * i) += transposed_[size(t)].rowwise().squaredNorm();
  }
  const double largest = epsilon_.size() > 0 ? epsilon_.maxCoeff() : 0.0;
  passes_ = 0, residual_ = 0;
  if (!(largest > 0)) return;
  for (double& e : epsilon_) e = kEpsilon * (e > 0 ? e : largest);
  factor_.take(transposed_, unit_, epsilon_);
  if (factor_.eliminate() >= 0) {
    residual_ = std::numeric_limits<double>::infinity();
    return;
  }

  // Jᵀ r over the rows without compliance, each unknown measured by its own column.
  const auto left_over = [&] {
    rest_ = F;
    for (int j = 0; j < dual_.blocks(); ++j) {
      const KktBlock& block = dual_.block(j);
      for (int t = block.first_touch; t < block.first_touch + block.touches; ++t) {
        const KktBlock& rows = structure_.block(dual_.body(t));
        const Vec6 pull = transposed_[size(t)].transpose() * y_.segment<6>(6 * j);
        for (int r = 0; r < rows.rows; ++r) rest_[rows.first_row + r] -= pull[r];
      }
    }
    double worst = 0;
    for (int i = 0; i < dual_.blocks(); ++i) {
      const KktBlock& block = dual_.block(i);
      Vec6 sum = Vec6::Zero();
      for (int t = block.first_touch; t < block.first_touch + block.touches; ++t) {
        const KktBlock& rows = structure_.block(dual_.body(t));
        for (int r = 0; r < rows.rows; ++r) sum += transposed_[size(t)].col(r) * rest_[rows.first_row + r];
      }
      right_.segment<6>(6 * i) = sum;
      for (int k = 0; k < 6; ++k) worst = std::max(worst, std::abs(sum[k]) * std::sqrt(kEpsilon / epsilon_[6 * i + k]));
    }
    return worst;
  };
  y_.setZero();
  const double scale = F.norm();
  residual_ = left_over();
  for (passes_ = 0; passes_ < kPasses && residual_ > kRoundOff * scale;) {
    factor_.solve(right_, step_);
    y_ += step_;
    ++passes_;
    const double before = residual_;
    residual_ = left_over();
    if (residual_ <= 0.5 * before) continue;
    if (residual_ > before) y_ -= step_, residual_ = left_over();
    break;
  }
  if (scale > 0) residual_ /= scale;

  // F_min = J y where rows are constraints.
  for (int j = 0; j < structure_.blocks(); ++j) {
    const KktBlock& block = structure_.block(j);
    for (int r = block.first_row; r < block.first_row + block.rows; ++r)
      if (!(problem.compliance[r] > 0)) F[r] -= rest_[r];
  }
}

}  // namespace invar
