// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/rank.hpp"

#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <numeric>

#include "invar/mech/fronts.hpp"
#include "invar/mech/kkt_assembly.hpp"

namespace invar {

RankOfModel rank_of(const Model& model, const Bodies& bodies) {
  RankOfModel out;
  const Scales scales = scales_of(model);
  for (const Piece& piece : pieces_by_part(model, scales)) {
    KktAssembly assembly(model, scales, piece);
    assembly.fill(bodies, KktInput{});
    FrontSolver solver(assembly.problem().structure);
    solver.decide(assembly.problem());  // motions without inertia do not matter here
    const RankDecision& decision = solver.decision();
    const auto joint_of = [&](int row) {
      const int block = assembly.problem().structure.block_of_row(row);
      const int coupling = assembly.coupling_of_block(block);
      return coupling >= 0 ? model.couplings()[coupling].joint : assembly.joint_of_block(block);
    };
    for (const int row : decision.border) out.nearly.push_back(joint_of(row));
    for (const int row : decision.redundant) out.dependent.push_back(joint_of(row));
    out.rows += decision.rank + static_cast<int>(decision.redundant.size());
    out.rank += decision.rank;
    out.rank_of_part.push_back(decision.rank);
    if (decision.rank > 0) out.sigma = std::min(out.sigma, decision.sigma);
  }
  out.freedoms = 6 * static_cast<int>(bodies.size()) - out.rank;
  return out;
}

RankOfRows rank_of(const MatX& rows, const RankTolerance& tolerance) {
  RankOfRows out;
  out.order.resize(static_cast<std::size_t>(rows.rows()));
  std::iota(out.order.begin(), out.order.end(), 0);
  if (rows.size() == 0) return out;
  MatX unit = rows.transpose();
  for (int r = 0; r < unit.cols(); ++r)
    if (const double norm = unit.col(r).norm(); norm > 0) unit.col(r) /= norm;
  const Eigen::ColPivHouseholderQR<MatX> qr(unit);
  const auto diagonal = qr.matrixQR().diagonal();
  while (out.rank < diagonal.size() && std::abs(diagonal[out.rank]) > tolerance.singular) ++out.rank;
  for (int r = 0; r < unit.cols(); ++r) out.order[static_cast<std::size_t>(r)] = qr.colsPermutation().indices()[r];
  if (out.rank == 0) return out;
  MatX kept(unit.rows(), out.rank);
  for (int k = 0; k < out.rank; ++k) kept.col(k) = unit.col(out.order[static_cast<std::size_t>(k)]);
  out.sigma = Eigen::JacobiSVD<MatX>(kept).singularValues()[out.rank - 1];
  return out;
}

}  // namespace invar
