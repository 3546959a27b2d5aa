// SPDX-License-Identifier: Apache-2.0
// Does the graph solver ask the heap for anything once its rank is decided?
#include <gtest/gtest.h>

#include "alloc/count_heap.hpp"
#include "invar/mech/fronts.hpp"
#include "support/block_graphs.hpp"

namespace invar::testing {
namespace {

using namespace invar::graphs;

long calls_of_factor_and_solve(const Graph& g) {
  const KktProblem p = g.problem();
  Random random(3);
  const VecX f = random_entries(random, 6 * p.structure.bodies());
  const VecX gamma = dense_jacobian(p) * random_entries(random, 6 * p.structure.bodies());
  VecX x(f.size()), F(gamma.size());
  FrontSolver solver(p.structure);
  EXPECT_TRUE(solver.decide(p).ok());
  const HeapCount heap;
  EXPECT_TRUE(solver.factor(p).ok());
  EXPECT_TRUE(solver.solve(p, f, gamma, x, F).ok());
  return heap.calls();
}

TEST(GraphSolver, LeavesTheHeapAloneOnEveryKindOfGraph) {
  for (const Graph& g : {chain(50), binary_tree(63), ladder(20), net(20), net(6, Kind::Revolute), crystal(6), door(), bricard()})
    EXPECT_EQ(calls_of_factor_and_solve(g), 0) << g.bodies.size() << " bodies";
}

TEST(GraphSolver, LeavesTheHeapAloneWithBorderRowsAndMasslessBodies) {
  EXPECT_EQ(calls_of_factor_and_solve(parallelogram(1e-7)), 0);
  Graph g = chain(5);
  g.bodies[2].mass = 0;
  g.bodies[2].inertia.setZero();
  g.bodies[4].inertia.setZero();
  EXPECT_EQ(calls_of_factor_and_solve(g), 0);
}

}  // namespace
}  // namespace invar::testing
