// SPDX-License-Identifier: Apache-2.0
// Rank, self-stress, least-norm reactions, verdicts and contradictions. The judge is a dense QR with column
// pivoting: its pivots bracket the singular values within a small factor.
#include "invar/mech/redundancy.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <algorithm>
#include <limits>

#include "invar/mech/least_norm.hpp"
#include "support/block_graphs.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

using namespace invar::graphs;

struct Judge {
  int rank = 0;
  double smallest_kept = 0, largest_dropped = 0;
  MatX P;  // onto the orthogonal complement of the range of J
  explicit Judge(const KktProblem& p) {
    const Eigen::ColPivHouseholderQR<MatX> qr(dense_jacobian(p));
    const VecX s = qr.matrixQR().diagonal().cwiseAbs();
    while (rank < s.size() && s[rank] > 1e-10) ++rank;
    smallest_kept = rank > 0 ? s[rank - 1] : 0;
    largest_dropped = rank < s.size() ? s[rank] : 0;
    const MatX q = qr.householderQ() * MatX::Identity(p.structure.rows(), rank);
    P = MatX::Identity(p.structure.rows(), p.structure.rows()) - q * q.transpose();
  }
};

Redundancy analysed(const Graph& g) {
  const KktProblem p = g.problem();
  FrontSolver solver(p.structure);
  return analyse(p, solver);
}

// Masses over six decades must not enter. Graphs whose singular values leave no gap at the tolerance have no rank to speak of
// and are left out; they are rare, which is checked too.
TEST(RandomGraphs, HaveTheRankOfTheirJacobian) {
  Random random(seed(31));
  int blurred = 0;
  const int total = cases(400);
  for (int k = 0; k < total; ++k) {
    const KktProblem p = random_graph(random, 3 + random.below(20), 6).problem();
    const Judge judge(p);
    if (judge.largest_dropped > 1e-12 || judge.smallest_kept < 1e-8) {
      ++blurred;
      continue;
    }
    FrontSolver solver(p.structure);
    ASSERT_TRUE(solver.decide(p).ok());
    EXPECT_EQ(solver.decision().rank, judge.rank) << "graph " << k;
    // Every column of N is a self-stress: forces add up to nothing on every body, relative to their own size.
    const MatX N(solver.self_stresses());
    const MatX left = dense_jacobian(p).transpose() * N;
    for (Eigen::Index c = 0; c < N.cols(); ++c) EXPECT_LE(left.col(c).norm(), 1e-10 * N.col(c).norm()) << "graph " << k;
  }
  EXPECT_LE(blurred, total / 20);
}

TEST(RandomGraphs, ShareSelfStressAsTheProjectorSays) {
  Random random(seed(32));
  for (int k = 0; k < cases(60); ++k) {
    const Graph g = random_graph(random, 2 + random.below(8), 2);
    const KktProblem p = g.problem();
    const Judge judge(p);
    if (judge.largest_dropped > 1e-12 || judge.smallest_kept < 1e-4) continue;
    const Redundancy ours = analysed(g);
    // The projector moves by u / (gap of singular values).
    const double tolerance = 1e-13 / judge.smallest_kept;
    EXPECT_LE((ours.share - judge.P.diagonal()).cwiseAbs().maxCoeff(), tolerance) << "graph " << k;
    const VecX y = random_entries(random, p.structure.rows());
    EXPECT_LE((ours.project(y) - judge.P * y).norm(), tolerance * y.norm()) << "graph " << k;
    for (int i = 0; i < p.structure.blocks(); ++i)
      for (int j = 0; j < p.structure.blocks(); ++j) {
        const KktBlock &a = p.structure.block(i), &b = p.structure.block(j);
        const double trade = judge.P.block(a.first_row, b.first_row, a.rows, b.rows).norm();
        if (trade > 1e-8) {
          EXPECT_EQ(ours.group_of_block[static_cast<std::size_t>(i)], ours.group_of_block[static_cast<std::size_t>(j)]);
        }
      }
  }
}

struct Case {
  const char* name;
  Graph graph;
  int rows, rank;
};

TEST(KnownMechanisms, HaveTheRanksCountedByHand) {
  const Case list[] = {{"door", door(), 10, 5},
                       {"four-bar", four_bar(), 20, 17},
                       {"four-bar with a ball", four_bar(Kind::Ball), 18, 17},
                       {"Bricard", bricard(), 30, 29},
                       {"three parallel cranks", parallelogram(0.8, true), 30, 23},
                       {"three parallel cranks, flat", parallelogram(0, true), 30, 22},
                       {"table on balls", table(Kind::Ball), 12, 6},
                       {"table on supports", table(Kind::Support), 4, 3}};
  for (const Case& c : list) {
    const Redundancy r = analysed(c.graph);
    const KktProblem p = c.graph.problem();
    EXPECT_EQ(p.structure.rows(), c.rows) << c.name;
    EXPECT_EQ(r.rank, c.rank) << c.name;
    EXPECT_EQ(r.self_stresses, c.rows - c.rank) << c.name;
    EXPECT_EQ(r.mobility, 6 * p.structure.bodies() - c.rank) << c.name;
    EXPECT_LE((r.share - Judge(p).P.diagonal()).cwiseAbs().maxCoeff(), 1e-13) << c.name;
    EXPECT_EQ(r.groups.size(), 1u) << c.name;
  }
}

// Loops: a planar four-bar leaves in-plane forces determined and nothing else; the rows of a revolute about z are v along
// two in-plane directions and z, then ω about two in-plane directions.
TEST(FourBar, DeterminesItsForcesInThePlaneOnly) {
  const Graph g = four_bar();
  const Redundancy r = analysed(g);
  for (std::size_t j = 0; j < 4; ++j)
    for (int i = 0; i < 5; ++i) {
      const bool in_plane = g.joints[j].rows.row(i).head<3>().norm() > 0.5 && std::abs(g.joints[j].rows(i, 2)) < 0.5;
      EXPECT_EQ(r.indeterminate(static_cast<int>(5 * j) + i), !in_plane) << "joint " << j << " row " << i;
    }
}

// Without masses, where motions without inertia are refused, and with them: the self-stresses are the same.
TEST(RandomGraphs, ShareSelfStressWhetherTheyHaveInertiaOrNone) {
  int refused = 0;
  for (int k = 0; k < cases(60); ++k) {
    Random random(seed(34), static_cast<std::uint64_t>(k));
    Graph g = random_graph(random, 2 + random.below(8), 2);
    const Redundancy massive = analysed(g);
    for (Graph::Body& body : g.bodies)
      if (random.chance(0.7)) body.mass = 0, body.inertia.setZero();
    if (std::none_of(g.bodies.begin(), g.bodies.end(), [](const Graph::Body& b) { return b.mass > 0; })) g.bodies[0].mass = 1;
    const Redundancy idle = analysed(g);
    refused += idle.verdict.status == Status::NoInertia;
    EXPECT_EQ(idle.rank, massive.rank) << "graph " << k;
    EXPECT_EQ(idle.self_stresses, massive.self_stresses) << "graph " << k;
    EXPECT_LE((idle.share - massive.share).lpNorm<Eigen::Infinity>(), 1e-12) << "graph " << k;
    EXPECT_EQ(idle.group_of_block, massive.group_of_block) << "graph " << k;
    const VecX y = random_entries(random, static_cast<int>(idle.share.size()));
    EXPECT_LE((idle.least_norm(y) - massive.least_norm(y)).norm(), 1e-11 * y.norm()) << "graph " << k;
  }
  EXPECT_GE(4 * refused, cases(60));
}

// A projection that has no factor says so.
TEST(LeastNorm, OfRowsThatAreNotFiniteClaimsNothing) {
  for (int k = 0; k < cases(20); ++k) {
    Random random(seed(35), static_cast<std::uint64_t>(k));
    KktProblem p = random_graph(random, 2 + random.below(8), 2).problem();
    LeastNorm least(p.structure);
    VecX F = random_entries(random, p.structure.rows());
    p.jacobian[static_cast<std::size_t>(random.below(p.structure.touches()))](0, random.below(6)) =
        k % 2 == 0 ? 1e200 : std::numeric_limits<double>::quiet_NaN();
    least.project(p, F);
    EXPECT_FALSE(least.residual() <= 1e-6) << "graph " << k << ": " << least.residual();
  }
}

TEST(TableOnSupports, SharesOneStressEqually) {
  const Redundancy r = analysed(table(Kind::Support));
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(r.share[k], 0.25, 1e-14);
}

// Each cell of a net of parallel hinges carries three stresses across its plane; in the plane 2 rows per joint act on 3 k²
// freedoms, of which 3 remain.
TEST(NetsOfParallelHinges, HaveThreeStressesPerCellAndTheCountOfThePlane) {
  for (int k : {3, 6, 10}) {
    const int in_plane = std::max(0, 4 * k * (k - 1) - 3 * k * k + 3);
    EXPECT_EQ(analysed(net(k, Kind::Revolute)).self_stresses, 3 * (k - 1) * (k - 1) + in_plane) << k;
  }
}

// A cubic crystal of balls hung on one ball is rigid up to the turn about it: rank 6 n³ − 3.
TEST(CrystalsOfBalls, AreRigid) {
  for (int n : {3, 5}) {
    const Redundancy r = analysed(crystal(n, Kind::Ball));
    EXPECT_EQ(r.rank, 6 * n * n * n - 3) << n;
    EXPECT_EQ(r.self_stresses, 9 * n * n * (n - 1) + 3 - r.rank) << n;
  }
}

// Many stresses take the sparse way: P must be a projector of trace s onto stresses that leave every body in equilibrium.
TEST(ManySelfStresses, AreProjectedExactly) {
  const KktProblem p = net(20, Kind::Revolute).problem();
  FrontSolver solver(p.structure);
  const Redundancy r = analyse(p, solver);
  EXPECT_EQ(r.self_stresses, 1406);
  EXPECT_NEAR(r.share.sum(), 1406, 1e-9);
  Random random(33);
  const VecX y = random_entries(random, p.structure.rows());
  const VecX once = r.project(y);
  EXPECT_LE((r.project(once) - once).norm(), 1e-12 * once.norm());
  VecX wrench = VecX::Zero(6 * p.structure.bodies());
  add_transpose_times(p.structure, p.jacobian, once, wrench);
  EXPECT_LE(wrench.norm(), 1e-11 * once.norm());
  EXPECT_NEAR(once.dot(y - once), 0, 1e-11 * y.squaredNorm());
  EXPECT_NEAR(r.projector(5, 5).trace(), r.share.segment(p.structure.block(5).first_row, 5).sum(), 1e-10);
}

/// The same mechanism in other units of length and mass, turned and moved by 100 m.
Graph seen_from_elsewhere(Graph g, double length, double mass, Random& random) {
  const Quat turn = Quat(random.normal(), random.normal(), random.normal(), random.normal()).normalized();
  const Vec3 shift = random_vector(random, 100);
  const Mat3 R = turn.toRotationMatrix();
  for (auto& b : g.bodies) {
    b.centre = length * (R * b.centre + shift);
    b.mass *= mass;
    b.inertia = (mass * length * length * R * b.inertia * R.transpose()).eval();
  }
  for (auto& j : g.joints) {
    j.point = length * (R * j.point + shift);
    j.rows.leftCols<3>() = (j.rows.leftCols<3>() * R.transpose()).eval();
    j.rows.rightCols<3>() = (j.rows.rightCols<3>() * R.transpose()).eval();
  }
  return g;
}

// A shift by 100 m costs two digits of the lever arms: 100 u, amplified by less than 100 on these mechanisms.
TEST(Shares, DoNotDependOnUnitsOrWorld) {
  Random random(34);
  for (const Graph& g : {door(), four_bar(), bricard(), parallelogram(0.8, true), table(Kind::Ball), net(5, Kind::Revolute)}) {
    const Redundancy here = analysed(g);
    const Redundancy there = analysed(seen_from_elsewhere(g, 1000, 1e-3, random));
    EXPECT_EQ(there.rank, here.rank);
    EXPECT_LE((there.share - here.share).cwiseAbs().maxCoeff(), 1e-12);
  }
}

TEST(TwoDoors, AreTwoGroupsAndAPendulumIsNone) {
  Graph g = door();
  g.body(Vec3(5, 0, 0));
  g.body(Vec3(8, 0, 0));
  g.joint(Kind::Revolute, kGround, 1, Vec3(4, 0, 1));
  g.joint(Kind::Revolute, kGround, 2, Vec3(7, 0, 0));
  g.joint(Kind::Revolute, kGround, 1, Vec3(4, 0, -1));
  const Redundancy r = analysed(g);
  EXPECT_EQ(r.groups, (std::vector<std::vector<int>>{{0, 1}, {2, 4}}));
  EXPECT_EQ(r.group_of_block[3], -1);
  for (int i = 15; i < 20; ++i) EXPECT_FALSE(r.indeterminate(i));
}

// Hinge 2 driven upwards: no motion of the leaf follows, and least squares splits the blame evenly along the axis.
TEST(DoorDrivenApart, IsContradictoryAlongItsAxis) {
  const Graph g = door();
  const Redundancy r = analysed(g);
  VecX gamma = VecX::Zero(10);
  gamma.segment<5>(5) = 0.5 * g.joints[1].rows.col(2);
  const Redundancy::Misfit misfit = r.misfit(gamma);
  EXPECT_NEAR(misfit.size, 0.5 / std::sqrt(2.0), 1e-14);
  EXPECT_LE((misfit.rows.segment<5>(0) + 0.25 * g.joints[0].rows.col(2)).norm(), 1e-14);
  EXPECT_LE((misfit.rows.segment<5>(5) - 0.25 * g.joints[1].rows.col(2)).norm(), 1e-14);
  EXPECT_NEAR(misfit.blocks[0], 0.25, 1e-14);

  // What both hinges ask for together is no contradiction: a rate about the common axis, or any motion of the leaf.
  Random random(35);
  const VecX motion = random_entries(random, 6);
  EXPECT_LE(r.misfit(dense_jacobian(g.problem()) * motion).size, 1e-14);
}

// Flat parallelogram, crank rates w1 and w2, coupler rate (w2 − w1)/2: along the cranks the loop closes in second order iff
// w2² − w1² − (w2 − w1)²/2 = 0, the branches w2 = w1 and w2 = −3 w1. The self-stress along the cranks has four entries 1/2.
TEST(FlatParallelogram, RefusesVelocitiesOffItsBranches) {
  const Graph g = parallelogram(0);
  const Redundancy r = analysed(g);
  const double w1 = 2;
  const auto misfit = [&](double w2) {
    const double rate[3] = {(w2 - w1) / 2, w1, w2};  // coupler, cranks
    VecX gamma(20);
    for (std::size_t j = 0; j < 4; ++j) {
      const auto& joint = g.joints[j];
      Vec3 a = Vec3::Zero();
      if (joint.a != kGround) a += rate[joint.a] * rate[joint.a] * (joint.point - g.centre(joint.a));
      if (joint.b != kGround) a -= rate[joint.b] * rate[joint.b] * (joint.point - g.centre(joint.b));
      gamma.segment<5>(static_cast<int>(5 * j)) = -joint.rows.leftCols<3>() * a;
    }
    return r.misfit(gamma).size;
  };
  EXPECT_LE(misfit(w1), 1e-14);
  EXPECT_LE(misfit(-3 * w1), 1e-13);
  EXPECT_NEAR(misfit(w1 / 2), 1.75, 1e-13);
  EXPECT_NEAR(misfit(-w1), 4.0, 1e-13);
}

// Redundancy that lives on exact dimensions disappears when they are off by a thousandth; that of a table on balls does not.
TEST(ExactDimensions, ArePaidForInRank) {
  Random random(36);
  const auto off = [&](Graph g) {
    for (auto& j : g.joints) {
      j.point += random_vector(random, 1e-3);
      const Vec3 tilt = random_vector(random, 1e-3);
      const Mat3 R = Eigen::AngleAxisd(tilt.norm(), tilt.normalized()).toRotationMatrix();
      j.rows.leftCols<3>() = (j.rows.leftCols<3>() * R.transpose()).eval();
      j.rows.rightCols<3>() = (j.rows.rightCols<3>() * R.transpose()).eval();
    }
    return analysed(g).rank;
  };
  EXPECT_EQ(off(door()), 6);
  EXPECT_EQ(off(four_bar()), 18);
  EXPECT_EQ(off(bricard()), 30);
  EXPECT_EQ(off(parallelogram(0.8, true)), 24);
  EXPECT_EQ(off(table(Kind::Support)), 4);
  EXPECT_EQ(off(table(Kind::Ball)), 6);
}

}  // namespace
}  // namespace invar::testing
