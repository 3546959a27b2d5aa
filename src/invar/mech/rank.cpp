// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/rank.hpp"

#include <algorithm>

#include "invar/mech/fronts.hpp"
#include "invar/mech/kkt_assembly.hpp"

namespace invar {

RankOfModel rank_of(const Model& model, const Bodies& bodies, const VecX* coupling_q) {
  RankOfModel out;
  const Scales scales = scales_of(model);
  for (const Piece& piece : pieces_by_part(model, scales)) {
    KktAssembly assembly(model, scales, piece);
    assembly.fill(bodies, KktInput{.coupling_q = coupling_q});
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

}  // namespace invar
