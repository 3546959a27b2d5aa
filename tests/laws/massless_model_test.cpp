// SPDX-License-Identifier: Apache-2.0
//
// Models with bodies that have neither mass nor inertia. The law: they work as long as M is positive definite on the motions
// that the joints allow, and otherwise end in NoInertia, naming a body that moves for nothing.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/spanning_tree.hpp"
#include "invar/mech/tree_solver.hpp"
#include "support/agreement.hpp"
#include "support/campaign.hpp"
#include "support/newton_euler.hpp"

namespace invar::testing {
namespace {

/// World, a massless slider, and a block of 2 kg on it; both joints of one kind.
ModelSpec cross_slide(JointKind kind, const Vec3& first, const Vec3& second) {
  ModelSpec spec;
  spec.gravity = Vec3(0, 0, -10);
  spec.bodies.push_back({"slider", Inertia{}, {}, {}});
  spec.bodies.push_back({"block", solid_box(2, {0.1, 0.2, 0.3}), {}, {}});
  JointSpec lower, upper;
  lower.name = "lower", upper.name = "upper";
  lower.kind = upper.kind = kind;
  lower.axis = first, upper.axis = second;
  lower.child = upper.parent = "slider", upper.child = "block";
  spec.joints = {lower, upper};
  return spec;
}

Verdict evaluate(const ModelSpec& spec, const Model& model, const Load& load, Evaluation& e) {
  Augmented dynamics(model);
  State x;
  dynamics.set(Bodies(model.bodies().size()), x);
  const Verdict verdict = dynamics.evaluate(x, load, e);
  if (verdict.ok()) expect_newton_euler(spec, e, load);
  return verdict;
}

TEST(MasslessSlider, BetweenCrossedSlidesCarriesTheBlockFreelyInThePlane) {
  const ModelSpec spec = cross_slide(JointKind::Prismatic, Vec3::UnitX(), Vec3::UnitY());
  const Model model = build(spec);
  Load load(model);
  load.port[1].force = Vec3(3, -4, 5);
  Evaluation e;
  ASSERT_TRUE(evaluate(spec, model, load, e).ok());
  EXPECT_LT((e.accelerations[1].a_WC - Vec3(1.5, -2, 0)).norm(), 1e-14);
  EXPECT_LT((e.accelerations[0].a_WC - Vec3(1.5, 0, 0)).norm(), 1e-14);
  // Nothing stays in the slider: both joints carry the weight less the lift. The pushes move the block, whichever joint guides.
  EXPECT_LT((e.reactions[0].force - Vec3(0, 0, -15)).norm(), 1e-13);
  EXPECT_LT((e.reactions[1].force - Vec3(0, 0, -15)).norm(), 1e-13);
}

TEST(MasslessSlider, BetweenParallelSlidesIsRefusedByName) {
  for (const JointKind kind : {JointKind::Prismatic, JointKind::Cylindrical}) {
    const ModelSpec spec = cross_slide(kind, Vec3::UnitX(), Vec3::UnitX());
    const Model model = build(spec);
    Evaluation e;
    const Verdict verdict = evaluate(spec, model, Load(model), e);
    EXPECT_EQ(verdict.status, Status::NoInertia) << name(kind);
    EXPECT_EQ(verdict.body, 0) << name(kind);
    const auto start = make_consistent(model, Bodies(2));
    ASSERT_FALSE(start.has_value()) << name(kind);
    EXPECT_NE(start.error().what.find("'slider'"), std::string::npos) << start.error().what;
  }
}

TEST(MasslessSlider, OnAPlaneIsRefusedAndBetweenPlanesToo) {
  const ModelSpec spec = cross_slide(JointKind::Planar, Vec3::UnitZ(), Vec3::UnitX());
  const Model model = build(spec);
  Evaluation e;
  const Verdict verdict = evaluate(spec, model, Load(model), e);
  EXPECT_EQ(verdict.status, Status::NoInertia);
  EXPECT_EQ(verdict.body, 0);
}

// T = ½ a q1'² + ½ m (q1' + q2')²: the push moves the block, and the rotor's slide has no reason to move.
TEST(MasslessSlider, BetweenParallelSlidesMovesByTheRotorOfOneOfThem) {
  ModelSpec spec = cross_slide(JointKind::Prismatic, Vec3::UnitX(), Vec3::UnitX());
  spec.joints[0].armature = {0.5};
  const Model model = build(spec);
  Load load(model);
  load.port[1].force = Vec3(3, 0, 0);
  load.efforts[0] = 2;  // on the lower slide: a q1'' = 2 - (what the block feels, 0)
  Evaluation e;
  ASSERT_TRUE(evaluate(spec, model, load, e).ok());
  EXPECT_LT((e.accelerations[1].a_WC - Vec3(1.5, 0, 0)).norm(), 1e-14);
  EXPECT_LT((e.accelerations[0].a_WC - Vec3(4, 0, 0)).norm(), 1e-14);
}

/// The smallest over the largest eigenvalue of M on ker J, both in pure numbers (v, l w).
double definiteness(const Sample& s) {
  DenseKkt k = assemble(s.model, s.bodies, s.load.port, s.load.efforts);
  const Eigen::Index n = k.M.rows() / 2;
  k.J.rightCols(n) /= s.model.length();
  k.M.rightCols(n) /= s.model.length();
  k.M.bottomRows(n) /= s.model.length();
  if (k.J.rows() == 0) k.J = MatX::Zero(1, 2 * n);
  const Eigen::JacobiSVD<MatX> svd(k.J, Eigen::ComputeFullV);
  Eigen::Index rank = 0;
  while (rank < svd.singularValues().size() && svd.singularValues()[rank] > 1e-9) ++rank;
  if (rank == 2 * n) return 1;
  const MatX N = svd.matrixV().rightCols(2 * n - rank);
  const VecX e = Eigen::SelfAdjointEigenSolver<MatX>(N.transpose() * k.M * N, Eigen::EigenvaluesOnly).eigenvalues();
  return e[0] / k.M.diagonal().maxCoeff();
}

// Zero is known to some 1e-16; mechanisms in between are left out and must be rare.
TEST(MasslessBodies, WorkExactlyWhereInertiaIsDefiniteOnWhatMoves) {
  int definite = 0, idle = 0, unclear = 0;
  for (int i = 0; i < cases(120); ++i) {
    MechanismOptions o;
    o.bodies = 3 + i % 6, o.loops = i % 3, o.mass_ratio = 10, o.passive = i % 2 == 1, o.floating = i % 5 == 4;
    o.kinds = {JointKind::Prismatic, JointKind::Revolute,    JointKind::Universal, JointKind::Prismatic,
               JointKind::Screw,     JointKind::Cylindrical, JointKind::Fixed,     JointKind::Planar};
    const std::uint64_t at = seed(14000) + static_cast<std::uint64_t>(i);
    Sample s = random_sample(at, o);
    Random random(at, 1);
    for (BodySpec& b : s.mechanism.spec.bodies)
      if (random.chance(0.3)) b.inertia.mass = 0, b.inertia.I_C.setZero();
    s.model = build(s.mechanism.spec);
    const std::string what = "seed " + std::to_string(at) + ": " + describe(s.mechanism.spec);
    const double ratio = definiteness(s);
    if (ratio > 1e-8) {
      ++definite;
      expect_agreement(s.mechanism.spec, s.model, s.bodies, s.load, what);
    } else if (ratio < 1e-14) {
      ++idle;
      Augmented dynamics(s.model);
      State x;
      dynamics.set(s.bodies, x);
      Evaluation e;
      const Verdict verdict = dynamics.evaluate(x, s.load, e);
      EXPECT_EQ(verdict.status, Status::NoInertia) << name(verdict.status) << " " << what;
      EXPECT_GE(verdict.body, 0) << what;
    } else {
      ++unclear;
    }
  }
  EXPECT_GE(std::min(definite, idle), cases(120) / 12);
  EXPECT_LE(unclear, cases(120) / 20);
}

// Elimination from the leaves passes directions without inertia on as it does all others: trees cost what they cost with regular
// bodies, one elimination, and the fronts are not asked.
TEST(TreesOfIdleBodies, AreSolvedByOneEliminationWhereverInertiaIsDefinite) {
  int definite = 0, idle = 0;
  for (int i = 0; i < cases(120); ++i) {
    MechanismOptions o;
    o.bodies = 3 + i % 8, o.mass_ratio = 10, o.passive = false;
    const std::uint64_t at = seed(15000) + static_cast<std::uint64_t>(i);
    Sample s = random_sample(at, o);
    Random random(at, 1);
    for (BodySpec& b : s.mechanism.spec.bodies) {
      if (random.chance(0.3)) b.inertia.I_C.setZero(), ++idle;  // a point
      if (random.chance(0.3)) b.inertia = Inertia{}, ++idle;
    }
    s.model = build(s.mechanism.spec);
    if (!(definiteness(s) > 1e-8)) continue;
    ++definite;
    const Scales scales = scales_of(s.model);
    TreeSolver tree(s.model, scales, whole_piece(s.model), spanning_tree(s.model));
    Accelerations accelerations(s.model.bodies().size());
    std::vector<Wrench> reactions(s.model.joints().size());
    const Verdict verdict =
        tree.solve(s.bodies, KktInput{.port = &s.load.port, .efforts = &s.load.efforts}, accelerations, reactions);
    EXPECT_TRUE(verdict.ok()) << name(verdict.status) << " seed " << at << ": " << describe(s.mechanism.spec);
  }
  EXPECT_GE(definite, cases(120) / 6);
  EXPECT_GE(idle, cases(120));
}

}  // namespace
}  // namespace invar::testing
