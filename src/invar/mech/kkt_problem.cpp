// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/kkt_problem.hpp"

#include <cmath>

#include "invar/base/check.hpp"

namespace invar {

int KktStructure::add(int rows, std::span<const int> bodies) {
  INVAR_CHECK(rows >= 0 && rows <= kMaxRows, "a block has 0 to 6 rows");
  for (std::size_t a = 0; a < bodies.size(); ++a) {
    INVAR_CHECK(bodies[a] >= 0 && bodies[a] < bodies_, "a block touches bodies of the problem");
    for (std::size_t b = 0; b < a; ++b) INVAR_CHECK(bodies[a] != bodies[b], "a block touches a body once");
  }
  const int index = blocks();
  blocks_.push_back({rows_, rows, touches(), static_cast<int>(bodies.size())});
  body_of_touch_.insert(body_of_touch_.end(), bodies.begin(), bodies.end());
  block_of_row_.insert(block_of_row_.end(), static_cast<std::size_t>(rows), index);
  rows_ += rows;
  return index;
}

void add_jacobian_times(const KktStructure& s, const std::vector<Mat6>& jacobian, const VecX& x, VecX& y) {
  for (int j = 0; j < s.blocks(); ++j) {
    const KktBlock& block = s.block(j);
    Vec6 sum = Vec6::Zero();
    for (int t = block.first_touch; t < block.first_touch + block.touches; ++t)
      sum.noalias() += jacobian[static_cast<std::size_t>(t)] * x.segment<6>(6 * s.body(t));
    for (int i = 0; i < block.rows; ++i) y[block.first_row + i] += sum[i];
  }
}

void add_transpose_times(const KktStructure& s, const std::vector<Mat6>& jacobian, const VecX& F, VecX& y) {
  for (int j = 0; j < s.blocks(); ++j) {
    const KktBlock& block = s.block(j);
    Vec6 force = Vec6::Zero();
    for (int i = 0; i < block.rows; ++i) force[i] = F[block.first_row + i];
    for (int t = block.first_touch; t < block.first_touch + block.touches; ++t)
      y.segment<6>(6 * s.body(t)).noalias() += jacobian[static_cast<std::size_t>(t)].transpose() * force;
  }
}

VecX row_lengths(const KktProblem& p) {
  VecX out = VecX::Zero(p.structure.rows());
  for (int j = 0; j < p.structure.blocks(); ++j)
    for (int t = 0; t < p.structure.block(j).touches; ++t)
      for (int i = 0; i < p.structure.block(j).rows; ++i)
        out[p.structure.block(j).first_row + i] += p.jac(j, t).row(i).squaredNorm();
  for (double& length : out) length = length > 0 ? std::sqrt(length) : 1.0;
  return out;
}

void kkt_residual(const KktProblem& p, const VecX& f, const VecX& gamma, const VecX& x, const VecX& F, VecX& rf, VecX& rg) {
  // Both residuals with the sign turned at the end, so that one pass over the joints serves each product.
  for (int i = 0; i < p.structure.bodies(); ++i)
    rf.segment<6>(6 * i).noalias() = p.mass[static_cast<std::size_t>(i)] * x.segment<6>(6 * i) - f.segment<6>(6 * i);
  add_transpose_times(p.structure, p.jacobian, F, rf);
  rf = -rf;
  rg = -gamma - p.compliance.cwiseProduct(F);
  add_jacobian_times(p.structure, p.jacobian, x, rg);
  rg = -rg;
}

}  // namespace invar
