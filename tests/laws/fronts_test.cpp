// SPDX-License-Identifier: Apache-2.0
// Does the graph solver solve the equations, whatever the graph? The judges are dense factorizations.
#include "invar/mech/fronts.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <numeric>

#include "invar/mech/redundancy.hpp"
#include "support/block_graphs.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

using namespace invar::graphs;

struct Solution {
  VecX x, F;
  double residual = 0;
};

Solution solve(FrontSolver& solver, const KktProblem& p, const VecX& f, const VecX& gamma) {
  Solution out{VecX::Zero(f.size()), VecX::Zero(gamma.size()), 0};
  const Verdict factored = solver.factor(p);
  EXPECT_TRUE(factored.ok()) << name(factored.status) << " at block " << factored.joint;
  const Verdict solved = solver.solve(p, f, gamma, out.x, out.F);
  EXPECT_TRUE(solved.ok()) << name(solved.status) << " residual " << solved.value;
  out.residual = solver.residual();
  return out;
}

/// Right sides that do not contradict each other: gamma = J a for some motion a.
struct Sides {
  VecX f, gamma;
  Sides(Random& random, const KktProblem& p)
      : f(random_entries(random, 6 * p.structure.bodies())),
        gamma(dense_jacobian(p) * random_entries(random, 6 * p.structure.bodies())) {}
};

/// Least-squares solution of least norm of the whole KKT matrix, and its condition number as the pivots show it.
Solution pseudo_inverse(const KktProblem& p, const Sides& sides, double& condition) {
  const MatX k = dense_kkt(p);
  Eigen::CompleteOrthogonalDecomposition<MatX> judge;
  judge.setThreshold(1e-12);
  judge.compute(k);
  condition = judge.maxPivot() / std::abs(judge.matrixQTZ()(judge.rank() - 1, judge.rank() - 1));
  VecX rhs(k.rows());
  rhs << sides.f, sides.gamma;
  const VecX y = judge.solve(rhs);
  return {y.head(sides.f.size()), y.tail(sides.gamma.size()), 0};
}

// Both solutions carry an error of the order u * condition; pivots show the condition within a factor of some ten, so 500 u.
TEST(RandomGraphs, MoveAndReactLikeThePseudoInverseOfTheKktMatrix) {
  Random random(seed(11));
  for (int k = 0; k < cases(60); ++k) {
    const KktProblem p = random_graph(random, 2 + random.below(9), 1.5).problem();
    const Sides sides(random, p);
    FrontSolver solver(p.structure);
    const Redundancy redundancy = analyse(p, solver);
    const Solution ours = solve(solver, p, sides.f, sides.gamma);
    double condition = 0;
    const Solution judge = pseudo_inverse(p, sides, condition);
    const double tolerance = 1e-13 * condition;
    EXPECT_LE((ours.x - judge.x).norm(), tolerance * judge.x.norm()) << "graph " << k;
    EXPECT_LE((redundancy.least_norm(ours.F) - judge.F).norm(), tolerance * (judge.F.norm() + ours.F.norm())) << "graph " << k;
    EXPECT_LE(ours.residual, 1e-13) << "graph " << k;
  }
}

TEST(Nets, HaveRoundOffResidualsWithMassesOverSixDecades) {
  for (double decades : {0.0, 3.0, 6.0}) {
    Random random(5);
    Graph g = net(12);
    for (auto& body : g.bodies) {
      body.mass = std::pow(10.0, random.uniform(-0.5, 0.5) * decades);
      body.inertia = random_inertia(random, body.mass);
    }
    const KktProblem p = g.problem();
    const Sides sides(random, p);
    FrontSolver solver(p.structure);
    EXPECT_LE(solve(solver, p, sides.f, sides.gamma).residual, 1e-13) << decades << " decades";
  }
}

// Fronts of more than 96 pivots, packed updates, children of different sizes: residuals judge them without a dense matrix.
TEST(LargeGraphs, HaveRoundOffResiduals) {
  Random random(6);
  for (const Graph& g : {chain(400), binary_tree(255), ladder(100), net(24), crystal(6), crystal(5, Kind::Ball)}) {
    const KktProblem p = g.problem();
    const Sides sides(random, p);
    FrontSolver solver(p.structure);
    EXPECT_LE(solve(solver, p, sides.f, sides.gamma).residual, 1e-13) << g.bodies.size() << " bodies";
  }
}

/// The same mechanism with bodies and joints renumbered, joints also turned end for end.
Graph shuffled(const Graph& g, Random& random, std::vector<int>& body_to, std::vector<int>& joint_from) {
  const auto permutation = [&](std::size_t n) {
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = n; i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
    return order;
  };
  body_to = permutation(g.bodies.size());
  joint_from = permutation(g.joints.size());
  Graph out = g;
  for (std::size_t i = 0; i < g.bodies.size(); ++i) out.bodies[static_cast<std::size_t>(body_to[i])] = g.bodies[i];
  const auto moved = [&](int i) { return i == kGround ? kGround : body_to[static_cast<std::size_t>(i)]; };
  for (std::size_t j = 0; j < g.joints.size(); ++j) {
    out.joints[j] = g.joints[static_cast<std::size_t>(joint_from[j])];
    out.joints[j].a = moved(out.joints[j].a);
    out.joints[j].b = moved(out.joints[j].b);
  }
  return out;
}

// Masses 1 and joints of unit size: the condition stays below 1e3 on these mechanisms, 1e-12 is ten times u * condition * 1e2.
TEST(Mechanisms, DoNotFeelTheOrderOfTheirParts) {
  Random random(7);
  for (const Graph& g :
       {door(), four_bar(), bricard(), parallelogram(0.7, true), table(Kind::Ball), net(4, Kind::Revolute), ladder(4)}) {
    const KktProblem p = g.problem();
    const Sides sides(random, p);
    FrontSolver solver(p.structure);
    const Redundancy redundancy = analyse(p, solver);
    const Solution one = solve(solver, p, sides.f, sides.gamma);
    const VecX F = redundancy.least_norm(one.F);

    std::vector<int> body_to, joint_from;
    const KktProblem q = shuffled(g, random, body_to, joint_from).problem();
    VecX f(sides.f.size()), gamma(sides.gamma.size());
    for (int i = 0; i < p.structure.bodies(); ++i)
      f.segment<6>(6 * body_to[static_cast<std::size_t>(i)]) = sides.f.segment<6>(6 * i);
    const auto from = [&](int j) -> const KktBlock& { return p.structure.block(joint_from[static_cast<std::size_t>(j)]); };
    for (int j = 0; j < q.structure.blocks(); ++j)
      gamma.segment(q.structure.block(j).first_row, from(j).rows) = sides.gamma.segment(from(j).first_row, from(j).rows);
    FrontSolver other(q.structure);
    const Redundancy again = analyse(q, other);
    const Solution two = solve(other, q, f, gamma);
    const VecX F2 = again.least_norm(two.F);
    for (int i = 0; i < p.structure.bodies(); ++i)
      EXPECT_LE((two.x.segment<6>(6 * body_to[static_cast<std::size_t>(i)]) - one.x.segment<6>(6 * i)).norm(),
                1e-12 * one.x.norm());
    for (int j = 0; j < q.structure.blocks(); ++j)
      EXPECT_LE((F2.segment(q.structure.block(j).first_row, from(j).rows) - F.segment(from(j).first_row, from(j).rows)).norm(),
                1e-12 * F.norm());
  }
}

// An armature is the inertia of a rotor: the same motion as an extra body geared 1:1 to the relative turn about the axis.
TEST(Armature, IsARotorOnTheFreedomOfItsJoint) {
  Random random(8);
  Graph g = four_bar();
  g.joints.push_back({0, 1, g.joints[1].point, rows_of(Kind::Axle, Vec3::UnitZ()), 0.3});
  const KktProblem p = g.problem();
  const Sides sides(random, p);
  VecX gamma = sides.gamma;
  gamma[gamma.size() - 1] = 0;
  FrontSolver solver(p.structure);
  const Solution ours = solve(solver, p, sides.f, gamma);
  EXPECT_EQ(solver.decision().rank, 17);
  EXPECT_EQ(solver.mobility(), 1);

  const int rotor = 3;
  KktStructure s(4);
  for (int j = 0; j < 4; ++j) {
    std::vector<int> touched;
    for (int t = 0; t < p.structure.block(j).touches; ++t)
      touched.push_back(p.structure.body(p.structure.block(j).first_touch + t));
    s.add(p.structure.block(j).rows, touched);
  }
  s.add(1, {0, 1, rotor});
  KktProblem explicit_rotor(s);
  std::copy(p.mass.begin(), p.mass.end(), explicit_rotor.mass.begin());
  std::copy(p.jacobian.begin(), p.jacobian.end(), explicit_rotor.jacobian.begin());
  explicit_rotor.mass[rotor] *= 1.0 / p.compliance[p.compliance.size() - 1];
  explicit_rotor.jac(4, 2)(0, 0) = 1.0;
  VecX f = VecX::Zero(24);
  f.head(18) = sides.f;
  FrontSolver other(s);
  const Solution judge = solve(other, explicit_rotor, f, gamma);
  EXPECT_LE((ours.x - judge.x.head(18)).norm(), 1e-12 * ours.x.norm());
  EXPECT_NEAR(ours.F[ours.F.size() - 1], judge.F[judge.F.size() - 1], 1e-12 * ours.F.norm());
}

// Refinement must reach round-off where the unrefined solve has lost half of its digits to a light link.
TEST(LightLinks, CostNoAccuracyDownToMassRatiosOfTenBillion) {
  Random random(9);
  for (double light : {1e-3, 1e-6, 1e-8, 1e-10}) {
    Graph g = chain(4);
    g.bodies[2].mass = light;
    g.bodies[2].inertia *= light;
    const KktProblem p = g.problem();
    const Sides sides(random, p);
    FrontSolver solver(p.structure);
    const Solution ours = solve(solver, p, sides.f, sides.gamma);
    VecX rhs(sides.f.size() + sides.gamma.size());
    rhs << sides.f, sides.gamma;
    const VecX judge = dense_kkt(p).fullPivLu().solve(rhs);
    EXPECT_LE((ours.x - judge.head(sides.f.size())).norm(), 1e-11 * judge.norm()) << light;
    EXPECT_LE(ours.residual, 1e-13) << light;
  }
}

/// Gravity along −y and a moment on the coupler, cranks turning at rate w in the parallel branch (coupler without turn).
struct Swing {
  KktProblem p;
  VecX f, gamma;
  Swing(double theta, double w) : p(parallelogram(theta).problem()), f(VecX::Zero(18)), gamma(VecX::Zero(20)) {
    const Graph g = parallelogram(theta);
    const double l = g.length();
    for (int i = 0; i < 3; ++i) f[6 * i + 1] = -9.81;
    f[5] = 7.0 / l;
    // Joints in order ground-crank, crank-coupler: only the cranks turn, the rows of revolutes are (v; ω perpendicular).
    for (int j = 0; j < 4; ++j) {
      const auto& joint = g.joints[static_cast<std::size_t>(j)];
      Vec3 centripetal = Vec3::Zero();
      if (joint.a > 0) centripetal += w * w * (joint.point - g.centre(joint.a));
      if (joint.b > 0) centripetal -= w * w * (joint.point - g.centre(joint.b));
      gamma.segment(5 * j, 5) = -(joint.rows.leftCols<3>() * centripetal);
    }
  }
};

// Parallel cranks of length 1 and mass 1 with a coupler of mass 1: θ'' (2/3 + 1) = −g cos θ (1/2 + 1/2 + 1). The angular
// acceleration of a crank is x[6i+5]/ℓ. The data are rounded, and the answer feels that as u/σ with σ = 0.7 θ: 1e-15/θ allows
// for a few such terms; 1e-8 is the promise down to θ = 1e-9, where the weak row must be the only one to feel it.
TEST(Parallelogram, AcceleratesSmoothlyDownToAlmostFlat) {
  const double l = parallelogram(1).length();
  for (double w : {0.0, 1.0})
    for (double theta : {1e-2, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9}) {
      const Swing swing(theta, w);
      FrontSolver solver(swing.p.structure);
      ASSERT_TRUE(solver.decide(swing.p).ok());
      EXPECT_EQ(solver.decision().rank, 17) << theta;
      EXPECT_NEAR(solver.decision().sigma / theta, 0.7, 0.35) << theta;
      const Solution ours = solve(solver, swing.p, swing.f, swing.gamma);
      const double exact = -9.81 * 1.2 * std::cos(theta);
      const double tolerance = std::min(1e-8, 1e-12 + 1e-15 / theta);
      EXPECT_NEAR(ours.x[11] / l, exact, tolerance) << "theta " << theta << " rate " << w;
      EXPECT_NEAR(ours.x[17] / l, exact, tolerance) << "theta " << theta << " rate " << w;
    }
}

TEST(Parallelogram, GainsAFreedomWhenItLiesFlat) {
  const Swing swing(0, 0);
  FrontSolver solver(swing.p.structure);
  ASSERT_TRUE(solver.decide(swing.p).ok());
  EXPECT_EQ(solver.decision().rank, 16);
  EXPECT_EQ(solver.mobility(), 2);
  EXPECT_LE(solve(solver, swing.p, swing.f, swing.gamma).residual, 1e-13);
}

// The decision is made at 0.5 rad; on the way to flat the solver must ask for a new one before it loses the weak row, and on
// the way out again.
TEST(Parallelogram, RaisesDoubtBeforeItsRankIsLost) {
  FrontSolver solver(parallelogram(0.5).problem().structure);
  ASSERT_TRUE(solver.decide(Swing(0.5, 0).p).ok());
  int asked = 0;
  const double l = parallelogram(1).length();
  const auto visit = [&](double theta) {
    const Swing swing(theta, 0);
    ASSERT_TRUE(solver.factor(swing.p).ok()) << theta;
    if (solver.rank_in_doubt()) {
      ++asked;
      ASSERT_TRUE(solver.decide(swing.p).ok());
    }
    const Solution ours = solve(solver, swing.p, swing.f, swing.gamma);
    EXPECT_NEAR(ours.x[11] / l, -9.81 * 1.2 * std::cos(theta), 1e-8) << theta;
  };
  for (double theta = 0.5; theta > 1e-7; theta *= 0.5) visit(theta);
  EXPECT_GE(asked, 1);
  EXPECT_EQ(solver.decision().border.size(), 1u);
  const int before = asked;
  for (double theta = 1e-7; theta < 0.5; theta *= 2) visit(theta);
  EXPECT_GE(asked, before + 1);
  EXPECT_TRUE(solver.decision().border.empty());
}

TEST(Numbers, ThatAreNotFiniteEndInAVerdict) {
  KktProblem p = four_bar().problem();
  FrontSolver solver(p.structure);
  ASSERT_TRUE(solver.factor(p).ok());
  VecX f = VecX::Zero(18), gamma = VecX::Zero(20), x(18), F(20);
  f[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(solver.solve(p, f, gamma, x, F).status, Status::NotFinite);
  p.jac(1, 0)(0, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(solver.factor(p).ok());
}

}  // namespace
}  // namespace invar::testing
