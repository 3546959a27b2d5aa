// SPDX-License-Identifier: Apache-2.0
// Bodies without inertia in some or all directions: solved exactly where joints hold them, refused by name where nothing does.
#include <gtest/gtest.h>

#include <Eigen/LU>

#include "invar/mech/redundancy.hpp"
#include "support/block_graphs.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

using namespace invar::graphs;

void make_massless(Graph& g, int body) {
  g.bodies[static_cast<std::size_t>(body)].mass = 0;
  g.bodies[static_cast<std::size_t>(body)].inertia.setZero();
}

// Full-pivot LU of the KKT matrix is the judge: regular as long as M is definite on ker J and the rows are independent.
void expect_like_dense(const Graph& g, std::uint64_t stream, double tolerance) {
  Random random(seed(21), stream);
  const KktProblem p = g.problem();
  const VecX f = random_entries(random, 6 * p.structure.bodies()), gamma = random_entries(random, p.structure.rows());
  FrontSolver solver(p.structure);
  ASSERT_TRUE(solver.factor(p).ok());
  VecX x(f.size()), F(gamma.size()), rhs(f.size() + gamma.size());
  ASSERT_TRUE(solver.solve(p, f, gamma, x, F).ok());
  rhs << f, gamma;
  const Eigen::FullPivLU<MatX> lu(dense_kkt(p));
  ASSERT_TRUE(lu.isInvertible());
  const VecX judge = lu.solve(rhs);
  EXPECT_LE((x - judge.head(f.size())).norm(), tolerance * judge.norm());
  EXPECT_LE((F - judge.tail(gamma.size())).norm(), tolerance * judge.norm());
  EXPECT_LE(solver.residual(), 1e-13);
}

TEST(MasslessLink, BetweenRevolutesIsTheLimitOfALightOne) {
  Graph g = chain(5);
  make_massless(g, 2);
  const KktProblem p = g.problem();
  Random random(22);
  VecX f = random_entries(random, 30);
  const VecX gamma = random_entries(random, 25);
  f.segment<6>(12).setZero();
  FrontSolver solver(p.structure);
  ASSERT_TRUE(solver.factor(p).ok());
  VecX x(30), F(25);
  ASSERT_TRUE(solver.solve(p, f, gamma, x, F).ok());
  // Error of the order of the mass ratio: it must shrink with it, by ten each time within a factor of two.
  double before = 0;
  for (double light : {1e-4, 1e-5, 1e-6}) {
    KktProblem q = p;
    q.mass[2] = light * Mat6::Identity();
    FrontSolver other(q.structure);
    ASSERT_TRUE(other.factor(q).ok());
    VecX y(30), G(25);
    ASSERT_TRUE(other.solve(q, f, gamma, y, G).ok());
    const double error = (y - x).norm() / x.norm();
    EXPECT_LE(error, 100 * light);
    if (before > 0) {
      EXPECT_NEAR(before / error, 10, 5);
    }
    before = error;
  }
}

TEST(MasslessLinks, AreSolvedLikeTheDenseKktMatrix) {
  Graph one = chain(5);
  make_massless(one, 2);
  expect_like_dense(one, 1, 1e-11);
  Graph tip = chain(4);
  tip.joints.push_back({3, kGround, tip.centre(3) + Vec3(0.3, 0.2, 0.1), rows_of(Kind::Ball, Vec3::UnitZ()), 0});
  make_massless(tip, 3);
  expect_like_dense(tip, 2, 1e-11);
}

TEST(MasslessClusters, InALadderAreSolvedLikeTheDenseKktMatrix) {
  // Two neighbours without mass, held by a hinge each on their outer sides and a ball between them and to ground.
  Random random(23);
  Graph g;
  for (int i = 0; i < 5; ++i) g.body(random_vector(random, 2));
  g.joint(Kind::Revolute, kGround, 0, random_vector(random), random_vector(random));
  g.joint(Kind::Universal, 0, 1, random_vector(random), random_vector(random));
  g.joint(Kind::Universal, 1, 2, random_vector(random), random_vector(random));
  g.joint(Kind::Universal, 2, 3, random_vector(random), random_vector(random));
  g.joint(Kind::Ball, 2, 4, random_vector(random));
  g.joint(Kind::Line, 1, 4, random_vector(random), random_vector(random));
  make_massless(g, 1);
  make_massless(g, 2);
  expect_like_dense(g, 3, 1e-11);
}

TEST(PointMasses, AndIdealRodsKeepTheInertiaTheyHave) {
  Graph g = chain(4);
  g.bodies[1].inertia.setZero();
  expect_like_dense(g, 4, 1e-11);
  const Vec3 u = Vec3(1, 2, 2) / 3;
  Graph rod = chain(4);
  rod.bodies[2].inertia = Mat3::Identity() - u * u.transpose();
  expect_like_dense(rod, 5, 1e-11);
}

TEST(Armature, GivesInertiaToAMasslessRotor) {
  // A massless wheel on a hinge: idle about the axis, unless the hinge has an armature.
  Graph g;
  g.body(Vec3(0, 0, 0));
  g.body(Vec3(1, 0, 0));
  g.joint(Kind::Revolute, kGround, 0, Vec3(-1, 0, 0), Vec3::UnitY());
  g.joint(Kind::Revolute, 0, 1, Vec3(1, 0, 0), Vec3::UnitX());
  make_massless(g, 1);
  FrontSolver refused(g.problem().structure);
  const Verdict verdict = refused.decide(g.problem());
  EXPECT_EQ(verdict.status, Status::NoInertia);
  EXPECT_EQ(verdict.body, 1);
  g.joints.push_back({0, 1, Vec3(1, 0, 0), rows_of(Kind::Axle, Vec3::UnitX()), 0.2});
  expect_like_dense(g, 6, 1e-12);
}

TEST(MasslessRod, BetweenTwoBallsIsRefusedNamingItsSpin) {
  Graph g;
  const Vec3 left(-1, 0.5, 0), right(1, 1.5, 0.4);
  g.body(Vec3(-2, 0, 0));
  g.body(0.5 * (left + right));
  g.body(Vec3(2, 1, 0));
  g.joint(Kind::Revolute, kGround, 0, Vec3(-3, 0, 0), Vec3::UnitZ());
  g.joint(Kind::Ball, 0, 1, left);
  g.joint(Kind::Ball, 1, 2, right);
  make_massless(g, 1);
  const KktProblem p = g.problem();
  FrontSolver solver(p.structure);
  const Verdict verdict = solver.decide(p);
  ASSERT_EQ(verdict.status, Status::NoInertia);
  EXPECT_EQ(verdict.body, 1);
  const Vec3 axis = (right - left).normalized();
  EXPECT_LE(solver.idle_direction().head<3>().norm(), 1e-12);
  EXPECT_NEAR(std::abs(solver.idle_direction().tail<3>().dot(axis)), 1.0, 1e-12);

  // With the spin held at one end it is a distance constraint: 7 rows, 6 unknowns.
  g.joints[1].rows = rows_of(Kind::Universal, axis);
  expect_like_dense(g, 7, 1e-11);
}

TEST(FloatingMasslessBody, IsRefusedByName) {
  Graph g = door();
  g.body(Vec3(5, 5, 5));
  make_massless(g, 1);
  FrontSolver solver(g.problem().structure);
  const Verdict verdict = solver.decide(g.problem());
  EXPECT_EQ(verdict.status, Status::NoInertia);
  EXPECT_EQ(verdict.body, 1);
}

// A massless coupler changes no geometry: rank, self-stresses and shares are those of the massive mechanism.
TEST(SelfStress, DoesNotDependOnMassesEvenWithoutAny) {
  Graph g = four_bar();
  const KktProblem massive = g.problem();
  FrontSolver solver(massive.structure);
  const Redundancy judge = analyse(massive, solver);
  make_massless(g, 1);
  const KktProblem p = g.problem();
  FrontSolver other(p.structure);
  const Redundancy ours = analyse(p, other);
  ASSERT_TRUE(ours.verdict.ok());
  EXPECT_EQ(ours.rank, judge.rank);
  EXPECT_EQ(ours.self_stresses, 3);
  EXPECT_LE((ours.share - judge.share).norm(), 1e-12);
  EXPECT_EQ(ours.groups, judge.groups);
}

}  // namespace
}  // namespace invar::testing
