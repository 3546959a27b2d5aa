// SPDX-License-Identifier: Apache-2.0
// Directions without inertia: ideal rods, point masses, massless links. The judge is the dense KKT matrix; a refusal must name a
// motion that nothing resists; and the price must be that of regular bodies, counted in operations.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "invar/mech/least_norm.hpp"
#include "invar/mech/redundancy.hpp"
#include "support/block_graphs.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

using namespace invar::graphs;
using Long = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

enum class Sort { Regular, Rod, NearRod, Point, Massless };

void make(Graph::Body& body, Sort sort, Random& random) {
  const Vec3 u = random_vector(random).normalized();
  switch (sort) {
    case Sort::Regular: break;
    case Sort::Rod: body.inertia = body.mass * (Mat3::Identity() - u * u.transpose()); break;
    case Sort::NearRod: {
      const double thin = std::pow(10.0, random.uniform(-13, -7));
      body.inertia = body.mass * (Mat3::Identity() - (1 - thin) * u * u.transpose());
      break;
    }
    case Sort::Point: body.inertia.setZero(); break;
    case Sort::Massless: body.mass = 0, body.inertia.setZero(); break;
  }
}

/// A random graph, some of it in a plane, in which about half of the bodies lack inertia somewhere.
Graph idle_graph(Random& random, int bodies, double decades) {
  Graph g = random_graph(random, bodies, decades);
  if (random.chance(0.3))
    for (Graph::Joint& j : g.joints) {
      j.point.z() = 0;
      if (j.rows.rows() == 5) j.rows = rows_of(Kind::Revolute, Vec3::UnitZ());
    }
  const Sort sorts[] = {Sort::Regular, Sort::Regular, Sort::Regular, Sort::Rod, Sort::NearRod, Sort::Point, Sort::Massless};
  for (Graph::Body& body : g.bodies) make(body, sorts[random.below(7)], random);
  return g;
}

/// Smallest eigenvalue of M on ker J over the largest entry of M, and the rank of J, both dense.
double definiteness(const KktProblem& p, int& rank, double& gap) {
  MatX J = dense_jacobian(p);
  for (int r = 0; r < J.rows(); ++r)
    if (J.row(r).norm() > 0) J.row(r) /= J.row(r).norm();
  const Eigen::BDCSVD<MatX> svd(J, Eigen::ComputeFullV);
  const VecX s = svd.singularValues();
  rank = 0;
  while (rank < s.size() && s[rank] > 1e-9) ++rank;
  gap = rank > 0 ? s[rank - 1] : 1;
  if (rank < s.size() && s[rank] > 1e-13) gap = 0;
  if (rank == J.cols()) return 1;
  const MatX N = svd.matrixV().rightCols(J.cols() - rank), M = dense_mass(p);
  return Eigen::SelfAdjointEigenSolver<MatX>(N.transpose() * M * N, Eigen::EigenvaluesOnly).eigenvalues()[0] / M.maxCoeff();
}

// Errors of both answers grow with the condition of the KKT matrix, here seen from its pivots: 1e-13 allows 500 roundings (see
// RandomGraphs in fronts_test.cpp). The judge is computed in long double and adds nothing to that.
TEST(IdleBodies, MoveAndReactLikeTheDenseMatrixOrAreRefusedWithAMotion) {
  int solved = 0, refused = 0, unclear = 0;
  for (int k = 0; k < cases(240); ++k) {
    Random random(seed(91000), static_cast<std::uint64_t>(k));
    const int bodies = k % 12 == 11 ? 16 : 3 + random.below(8);
    const KktProblem p = idle_graph(random, bodies, k % 5 == 4 ? 6.0 : 1.0).problem();
    int rank = 0;
    double gap = 0;
    const double ratio = definiteness(p, rank, gap);
    if (gap < 1e-6 || (ratio > 1e-15 && ratio < 1e-7)) {
      ++unclear;
      continue;
    }
    FrontSolver solver(p.structure);
    const Verdict verdict = solver.decide(p);
    EXPECT_EQ(solver.decision().rank, rank) << "graph " << k;
    if (ratio <= 1e-15) {
      ++refused;
      ASSERT_EQ(verdict.status, Status::NoInertia) << "graph " << k << ": " << name(verdict.status);
      const VecX x = solver.idle_motion();
      EXPECT_NEAR(x.segment<6>(6 * verdict.body).norm(), 1, 1e-12) << "graph " << k;
      EXPECT_LE((dense_jacobian(p) * x).lpNorm<Eigen::Infinity>(), 1e-9 * x.norm()) << "graph " << k;
      EXPECT_LE((dense_mass(p) * x).lpNorm<Eigen::Infinity>(), 1e-9 * dense_mass(p).maxCoeff()) << "graph " << k;
      continue;
    }
    ++solved;
    ASSERT_TRUE(verdict.ok()) << "graph " << k << ": " << name(verdict.status) << ", definite by " << ratio;
    const VecX f = random_entries(random, 6 * p.structure.bodies());
    const VecX gamma = dense_jacobian(p) * random_entries(random, 6 * p.structure.bodies());
    VecX x(f.size()), F(gamma.size());
    ASSERT_TRUE(solver.factor(p).ok()) << "graph " << k;
    ASSERT_TRUE(solver.solve(p, f, gamma, x, F).ok()) << "graph " << k << " residual " << solver.residual();
    LeastNorm least(p.structure);
    VecX F_min = F;
    least.project(p, F_min);

    const Long K = dense_kkt(p).cast<long double>();
    Eigen::CompleteOrthogonalDecomposition<Long> judge;
    judge.setThreshold(1e-13L);
    judge.compute(K);
    LongVector rhs(K.rows());
    rhs << f.cast<long double>(), gamma.cast<long double>();
    const VecX y = judge.solve(rhs).cast<double>();
    const auto condition =
        static_cast<double>(judge.maxPivot() / std::abs(judge.matrixQTZ()(judge.rank() - 1, judge.rank() - 1)));
    const VecX x_judge = y.head(f.size()), F_judge = y.tail(gamma.size());
    EXPECT_LE((x - x_judge).norm(), 1e-13 * condition * x_judge.norm()) << "graph " << k;
    EXPECT_LE((F_min - F_judge).norm(), 1e-13 * condition * (F_judge.norm() + F.norm())) << "graph " << k;
  }
  EXPECT_GE(solved, cases(240) / 4);
  EXPECT_GE(refused, cases(240) / 20);
  EXPECT_LE(unclear, cases(240) / 2);
}

/// Uniform rods of 1 m and 1 kg between nodes of a plane, hinged about z; `along` is what they have about their axes, times m l².
struct Rods {
  Graph g;
  double along = 0;
  std::vector<std::vector<std::pair<int, Vec3>>> at;  // per node: rods that end there

  int rod(const Vec3& a, const Vec3& b) {
    const Vec3 u = (b - a).normalized();
    const int i = g.body(0.5 * (a + b));
    g.bodies.back().inertia = (Mat3::Identity() - u * u.transpose()) / 12 + along * u * u.transpose();
    return i;
  }
  void hinge(int a, int b, const Vec3& point) { g.joint(Kind::Revolute, a, b, point); }
};

/// The ladder of IFToMM A02: windows + 1 uprights, hinged to the ground below, bars between their upper ends.
Graph windows(int n, double along) {
  Rods r;
  r.along = along;
  const Vec3 up(0.6, 0.8, 0);
  for (int k = 0; k <= n; ++k) {
    const Vec3 foot(k, 0, 0), head = foot + up;
    const int upright = r.rod(foot, head);
    r.hinge(kGround, upright, foot);
    if (k == 0) continue;
    const int bar = r.rod(head - Vec3(1, 0, 0), head);
    r.hinge(k == 1 ? 0 : upright - 2, bar, head - Vec3(1, 0, 0));
    r.hinge(bar, upright, head);
  }
  return r.g;
}

/// k x k windows of rods; at a node all rods are hinged to the first one.
Graph net_of_rods(int k, double along) {
  Rods r;
  r.along = along;
  Random random(3);
  std::vector<std::vector<Vec3>> node(static_cast<std::size_t>(k + 1), std::vector<Vec3>(static_cast<std::size_t>(k + 1)));
  std::vector<std::vector<int>> first(static_cast<std::size_t>(k + 1), std::vector<int>(static_cast<std::size_t>(k + 1), -1));
  for (int y = 0; y <= k; ++y)
    for (int x = 0; x <= k; ++x)
      node[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] =
          Vec3(x + random.uniform(-0.2, 0.2), y + random.uniform(-0.2, 0.2), 0);
  const auto place = [&](int x, int y) -> const Vec3& { return node[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)]; };
  const auto meet = [&](int x, int y, int rod) {
    int& one = first[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)];
    if (one < 0)
      one = rod;
    else
      r.hinge(one, rod, place(x, y));
  };
  for (int y = 0; y <= k; ++y)
    for (int x = 0; x <= k; ++x) {
      if (x < k) {
        const int rod = r.rod(place(x, y), place(x + 1, y));
        meet(x, y, rod), meet(x + 1, y, rod);
      }
      if (y < k) {
        const int rod = r.rod(place(x, y), place(x, y + 1));
        meet(x, y, rod), meet(x, y + 1, rod);
      }
    }
  r.hinge(kGround, 0, place(0, 0));
  return r.g;
}

double operations(const Graph& g, int idle) {
  const KktProblem p = g.problem();
  FrontSolver solver(p.structure);
  const Verdict verdict = solver.decide(p);
  EXPECT_TRUE(verdict.ok()) << name(verdict.status) << " with " << g.bodies.size() << " bodies";
  EXPECT_EQ(solver.idle_directions(), idle);
  return solver.operations();
}

double operations_of_least_norm(const Graph& g) { return LeastNorm(g.problem().structure).operations(); }

TEST(IdealRods, CostLikeRegularOnesAndGrowLikeTheirNumber) {
  const double ten = operations(windows(10, 0), 21), forty = operations(windows(40, 0), 81),
               many = operations(windows(160, 0), 321);
  EXPECT_LE(forty, 5 * ten);
  EXPECT_LE(many, 20 * ten);
  EXPECT_LE(forty, 1.3 * 1.15 * operations(windows(40, 0.01), 0));  // time follows operations, index work is the same
  EXPECT_LE(operations_of_least_norm(windows(40, 0)), 5 * operations_of_least_norm(windows(10, 0)));
}

// The largest front of a net has the rows of its diameter: four times as many windows take eight times as many multiply-adds, and
// five to six times as long, because small fronts cost more than their share (bench/rods).
TEST(NetsOfIdealRods, GrowLikeNetsOfRegularOnes) {
  const double eight = operations(net_of_rods(8, 0), 144), sixteen = operations(net_of_rods(16, 0), 544);
  EXPECT_LE(sixteen, 8 * eight);
  EXPECT_LE(sixteen, 1.4 * operations(net_of_rods(16, 0.01), 0));
}

/// All rods of one sort, or those that are chosen.
template <class Chosen>
Graph with(Graph g, Sort sort, const Chosen& chosen) {
  Random random(seed(93000));
  for (std::size_t i = 0; i < g.bodies.size(); ++i)
    if (chosen(i)) make(g.bodies[i], sort, random);
  return g;
}

// Rows, their products and substitutions cost what they cost with regular bodies, and are half of the time there: in a row of 40
// windows 51 thousand multiply-adds took 96 us, 115 thousand (point masses) 160. Twice the time is so about three times the
// operations; 2.7 is a tenth more than the dearest, massless bars, ask for.
TEST(MasslessLinksAndPointMasses, CostAtMostTwiceWhatRegularBodiesDoInFronts) {
  const Graph ladder = windows(40, 0.01), net = net_of_rods(8, 0.01);
  const auto all = [](std::size_t) { return true; };
  const auto bars = [](std::size_t i) { return i > 0 && i % 2 == 0; };  // after the first upright, upright and bar by turns
  EXPECT_LE(operations(with(ladder, Sort::Massless, bars), 240), 2.7 * operations(ladder, 0));
  EXPECT_LE(operations(with(ladder, Sort::Point, all), 243), 2.7 * operations(ladder, 0));
  EXPECT_LE(operations(with(net, Sort::Point, all), 432), 2.7 * operations(net, 0));
  int judged = 0;
  for (int k = 0; k < cases(60); ++k) {
    Random random(seed(94000), static_cast<std::uint64_t>(k));
    Graph drawn = windows(10 + random.below(20), 0.01), idle = drawn;
    for (Graph::Body& body : idle.bodies)
      if (random.chance(0.3)) make(body, random.chance(0.5) ? Sort::Point : Sort::Massless, random);
    const KktProblem p = idle.problem();
    FrontSolver solver(p.structure);
    if (!solver.decide(p).ok()) continue;
    ++judged;
    EXPECT_LE(solver.operations(), 2.7 * operations(drawn, 0)) << "draw " << k;
  }
  EXPECT_GE(judged, cases(60) / 2);
}

/// A slider-crank in a plane, crank and rod massless, at theta from its dead centre; slider on the x axis.
Graph slider_crank(double theta, double crank, double rod) {
  Graph g;
  const Vec3 pin(crank * std::cos(theta), crank * std::sin(theta), 0);
  const Vec3 slider(pin.x() + std::sqrt(rod * rod - pin.y() * pin.y()), 0, 0);
  g.body(0.5 * pin), g.body(0.5 * (pin + slider)), g.body(slider);
  for (std::size_t i : {0u, 1u}) g.bodies[i].mass = 0, g.bodies[i].inertia.setZero();
  g.joint(Kind::Revolute, kGround, 0, Vec3::Zero());
  g.joint(Kind::Revolute, 0, 1, pin);
  g.joint(Kind::Revolute, 1, 2, slider);
  g.joint(Kind::Prismatic, kGround, 2, slider, Vec3::UnitX());
  return g;
}

// The same wherever the rows and directions were decided: what was strong there may be weak here.
TEST(MasslessSliderCrank, IsExactOrRefusedWhereverItWasDecided) {
  int exact = 0;
  for (int k = 0; k < cases(40); ++k) {
    Random random(seed(92000), static_cast<std::uint64_t>(k));
    const double crank = random.uniform(0.3, 1), rod = crank * random.uniform(1.2, 4), first = random.uniform(0.05, 1);
    KktProblem p = slider_crank(first, crank, rod).problem();
    FrontSolver solver(p.structure);
    ASSERT_TRUE(solver.factor(p).ok());
    for (int i = 0; i < 17; ++i) {
      const double theta = std::pow(10.0, -1 - 0.5 * i);
      const KktProblem q = slider_crank(theta, crank, rod).problem();
      VecX f = VecX::Zero(18), gamma = VecX::Zero(q.structure.rows()), x(18), F(gamma.size());
      f[12] = 2;
      if (!solver.factor(q).ok() || !solver.solve(q, f, gamma, x, F).ok()) continue;
      ++exact;
      EXPECT_NEAR(x[12], 2 / q.mass[2](0, 0), 1e-6) << "case " << k << ", decided at " << first << ", now at " << theta;
    }
  }
  EXPECT_GE(exact, 5 * cases(40));
}

// Only the slider has mass, so at rest a push along its guide accelerates it by f/m wherever the crank stands, short of the dead
// centre itself. A solution is taken with |residual| <= 1e-8 of the sine that holds the crank (>= 1e-14): x is then good to 1e-6.
TEST(MasslessSliderCrank, IsExactOrRefusedNextToItsDeadCentre) {
  int exact = 0;
  for (double theta : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 0.0}) {
    const KktProblem p = slider_crank(theta, 1, 2.5).problem();
    FrontSolver solver(p.structure);
    VecX f = VecX::Zero(18), gamma = VecX::Zero(p.structure.rows()), x(18), F(gamma.size());
    f[12] = 2;
    Verdict verdict = solver.factor(p);
    if (verdict.ok()) verdict = solver.solve(p, f, gamma, x, F);
    EXPECT_EQ(solver.decision().rank, 17) << theta;
    if (theta == 0) {
      EXPECT_EQ(verdict.status, Status::NoInertia);
      EXPECT_NE(verdict.body, 2);
    }
    if (!verdict.ok()) continue;
    ++exact;
    EXPECT_NEAR(x[12], 2 / p.mass[2](0, 0), 1e-6) << theta;
  }
  EXPECT_GE(exact, 6);
}

}  // namespace
}  // namespace invar::testing
