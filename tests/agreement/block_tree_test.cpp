// SPDX-License-Identifier: Apache-2.0
//
// Elimination over a tree of blocks against a dense solve of the same matrix. Entries are of order one and diagonals a little
// larger, so conditions stay below 1e4: 1e-11 of the largest unknown.
#include "invar/mech/block_tree.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "invar/base/random.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

void fill(Random& random, Eigen::Ref<MatX> block) {
  for (Eigen::Index j = 0; j < block.cols(); ++j)
    for (Eigen::Index i = 0; i < block.rows(); ++i) block(i, j) = random.uniform(-1, 1);
}

struct Drawn {
  BlockTree tree;
  MatX dense;
};

Drawn drawn(std::uint64_t at) {
  Random random(at);
  const int nodes = 1 + random.below(8), shared = 1 + random.below(4), border = random.below(4);
  std::vector<int> inner, size;
  for (int k = 0; k < nodes; ++k) {
    inner.push_back(random.below(k + 1) - 1);
    size.push_back(shared + random.below(4));
  }
  Drawn out{BlockTree(inner, size, shared, border), {}};
  BlockTree& tree = out.tree;
  out.dense = MatX::Zero(tree.total(), tree.total());
  for (int k = 0; k < nodes; ++k) {
    const int at_k = tree.first(k), n = tree.size(k), b = tree.first_border();
    fill(random, tree.own(k));
    tree.own(k).diagonal().array() += 3;
    fill(random, tree.border_columns(k));
    fill(random, tree.border_rows(k));
    out.dense.block(at_k, at_k, n, n) = tree.own(k);
    out.dense.block(at_k, b, n, border) = tree.border_columns(k);
    out.dense.block(b, at_k, border, n) = tree.border_rows(k);
    if (inner[static_cast<std::size_t>(k)] < 0) continue;
    const int in = tree.first(inner[static_cast<std::size_t>(k)]);
    fill(random, tree.by_inner(k));
    fill(random, tree.on_inner(k));
    out.dense.block(at_k, in, n, shared) = tree.by_inner(k);
    out.dense.block(in, at_k, shared, n) = tree.on_inner(k);
  }
  return out;
}

TEST(BlockTree, SolvesWhatTheDenseMatrixSolves) {
  for (int k = 0; k < cases(100); ++k) {
    const std::uint64_t at = seed(6100) + static_cast<std::uint64_t>(k);
    Drawn d = drawn(at);
    Random random(at + 7);
    VecX r(d.tree.total());
    for (double& e : r) e = random.normal();
    const Eigen::FullPivLU<MatX> lu(d.dense);
    if (!lu.isInvertible() || lu.rcond() < 1e-4)
      continue;  // a border wider than its nodes; no estimate is one of a singular matrix
    const VecX expected = lu.solve(r);
    ASSERT_EQ(d.tree.eliminate(1e-14), -1) << "seed " << at;
    ASSERT_TRUE(d.tree.finish(1e-14));
    d.tree.solve(r);
    EXPECT_LT((r - expected).lpNorm<Eigen::Infinity>(), 1e-11 * (1 + expected.lpNorm<Eigen::Infinity>())) << "seed " << at;
  }
}

TEST(BlockTree, NamesTheNodeThatHasNoPivot) {
  BlockTree tree({-1, 0, 0}, {2, 2, 2}, 1, 0);
  for (int k = 0; k < 3; ++k) tree.own(k).setIdentity();
  tree.own(1)(1, 1) = 0;
  EXPECT_EQ(tree.eliminate(1e-14), 1);
}

}  // namespace
}  // namespace invar::testing
