// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/fronts.hpp"
#include "invar/mech/kkt_assembly.hpp"

namespace invar {

/// The unreduced equations solved over the joint graph in fronts: many loops, massless bodies, ideal rods. Which rows count is
/// decided at the first state and again whenever a pivot tells that the rank may have changed.
class GraphSolver final : public KktSolver {
 public:
  explicit GraphSolver(const Model& model);

  Verdict solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                std::vector<Wrench>& reactions) override;
  double coupling_effort(int coupling) const override { return assembly_.coupling_effort(F_, coupling); }

  const FrontSolver& fronts() const { return fronts_; }

 private:
  Verdict named(Verdict verdict) const;
  Verdict check_rows_left_out();

  double length_;
  KktAssembly assembly_;
  FrontSolver fronts_;
  VecX x_, F_;  // 6 bodies, rows
  VecX rest_;   // rows
};

}  // namespace invar
