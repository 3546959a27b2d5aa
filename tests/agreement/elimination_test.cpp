// SPDX-License-Identifier: Apache-2.0
//
// The product's solvers against the dense judge: accelerations, all reactions and coupling efforts of single evaluations.
//
// Tolerance: 1e-12 of the largest acceleration (reaction) of the mechanism. Both sides round their inputs in different places,
// and two exact solutions of inputs that differ by a rounding u differ by u cond(K); with loops and couplings, which may come
// near a singular configuration, the bound is 8 u cond(K) where that is more (K scaled as in the judge). The worst of some
// thousand random cases were 1e-13 on trees and 6.4 u cond(K) with loops.
#include <gtest/gtest.h>

#include "invar/mech/augmented.hpp"
#include "support/campaign.hpp"
#include "support/dense_kkt.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

constexpr double kUnit = 1.1e-16;

struct Errors {
  double acceleration = 0, reaction = 0, coupling = 0;
};

Errors compare(const Model& model, const Evaluation& e, const Judgement& j, const Load& load) {
  const double l = model.length();
  Errors worst;
  double a_size = model.gravity().norm(), f_size = 0, c_size = 0;
  for (std::size_t b = 0; b < e.bodies.size(); ++b) {
    const BodyAcceleration &x = e.accelerations[b], &y = j.accelerations[b];
    a_size = std::max(a_size, y.a_WC.norm() + l * y.alpha_WB.norm());
    worst.acceleration = std::max(worst.acceleration, (x.a_WC - y.a_WC).norm() + l * (x.alpha_WB - y.alpha_WB).norm());
    f_size = std::max(f_size, load.port[b].force.norm() + load.port[b].moment.norm() / l);
  }
  for (std::size_t k = 0; k < e.reactions.size(); ++k) {
    const Wrench &x = e.reactions[k], &y = j.reactions[k];
    f_size = std::max(f_size, y.force.norm() + y.moment.norm() / l);
    worst.reaction = std::max(worst.reaction, (x.force - y.force).norm() + (x.moment - y.moment).norm() / l);
  }
  for (Eigen::Index c = 0; c < j.couplings.size(); ++c) {
    c_size = std::max(c_size, std::abs(j.couplings[c]));
    worst.coupling = std::max(worst.coupling, std::abs(e.couplings[c] - j.couplings[c]));
  }
  return {worst.acceleration / a_size, worst.reaction / f_size, worst.coupling / std::max(c_size, f_size * l)};
}

void expect_agreement(const Model& model, const Bodies& bodies, const Load& load, const std::string& what) {
  Augmented product(model);
  State x;
  product.set(bodies, x);
  Evaluation e;
  const Verdict verdict = product.evaluate(x, load, e);
  ASSERT_TRUE(verdict.ok()) << name(verdict.status) << " body " << verdict.body << " joint " << verdict.joint << " value "
                            << verdict.value << "\n  " << what;
  const Judgement j = judge(model, bodies, load);
  ASSERT_LT(j.residual, 1e-14) << "the judge failed\n  " << what;
  const bool tree = j.rank == j.multipliers.size() && model.couplings().empty() && model.joints().size() <= model.bodies().size();
  const double bound = tree ? 1e-12 : std::max(1e-12, 8 * kUnit * j.condition);
  const Errors errors = compare(model, e, j, load);
  EXPECT_LT(errors.acceleration, bound) << "condition " << j.condition << ", rank " << j.rank << "\n  " << what;
  EXPECT_LT(errors.reaction, bound) << "condition " << j.condition << ", rank " << j.rank << "\n  " << what;
  EXPECT_LT(errors.coupling, bound) << "condition " << j.condition << ", rank " << j.rank << "\n  " << what;
}

/// Mechanisms of one sort with seeds from `first`; `vary` changes the options from case to case.
template <class Vary>
void expect_agreement_on(std::uint64_t first, int usual, const Vary& vary) {
  for (int i = 0; i < cases(usual); ++i) {
    MechanismOptions o;
    vary(i, o);
    const std::uint64_t at = seed(first) + static_cast<std::uint64_t>(i);
    const Sample s = random_sample(at, o);
    expect_agreement(s.model, s.bodies, s.load,
                     "case " + std::to_string(i) + ", seed " + std::to_string(at) + ": " + describe(s.mechanism.spec));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Elimination, EqualsTheDenseSystemOnTrees) {
  expect_agreement_on(1000, 40, [](int i, MechanismOptions& o) { o.bodies = 2 + i % 19; });
}

TEST(Elimination, EqualsTheDenseSystemOnFloatingTrees) {
  expect_agreement_on(2000, 40, [](int i, MechanismOptions& o) { o.bodies = 2 + i % 19, o.floating = true; });
}

TEST(Elimination, EqualsTheDenseSystemForEveryKindAlone) {
  for (int kind = 0; kind < kJointKinds; ++kind)
    expect_agreement_on(3000 + 100 * static_cast<std::uint64_t>(kind), 4, [&](int i, MechanismOptions& o) {
      o.bodies = 3 + 2 * (i % 4), o.kinds = {static_cast<JointKind>(kind)}, o.mass_ratio = 10;
    });
}

TEST(Elimination, EqualsTheDenseSystemOnLoops) {
  expect_agreement_on(4000, 40, [](int i, MechanismOptions& o) {
    o.bodies = 3 + i % 12, o.loops = 1 + i % 4, o.floating = i % 3 == 0;
    o.kinds = {JointKind::Revolute, JointKind::Universal, JointKind::Spherical, JointKind::Cylindrical,
               JointKind::Planar,   JointKind::Free,      JointKind::Screw,     JointKind::Prismatic};
  });
}

TEST(Elimination, GivesReactionsOfLeastNormWhereJointsAreDoubled) {
  expect_agreement_on(5000, 40,
                      [](int i, MechanismOptions& o) { o.bodies = 2 + i % 9, o.loops = i % 3, o.redundant = 1 + i % 3; });
}

TEST(Elimination, GivesReactionsOfLeastNormInPlanarLoops) {
  expect_agreement_on(6000, 30, [](int i, MechanismOptions& o) {
    o.bodies = 3 + i % 9, o.loops = 1 + i % 3, o.planar = true, o.locked = false, o.floating = i % 4 == 0, o.mass_ratio = 10;
  });
}

TEST(Elimination, EqualsTheDenseSystemWithCouplings) {
  expect_agreement_on(7000, 40,
                      [](int i, MechanismOptions& o) { o.bodies = 3 + i % 9, o.couplings = 1 + i % 3, o.locked = false; });
}

TEST(Elimination, EqualsTheDenseSystemWithMasslessLinks) {
  expect_agreement_on(8000, 40, [](int i, MechanismOptions& o) {
    o.bodies = 4 + i % 12, o.massless = true, o.mass_ratio = 10, o.loops = i % 4 == 3 ? 1 : 0;
    o.kinds = {JointKind::Revolute, JointKind::Revolute,  JointKind::Universal,
               JointKind::Screw,    JointKind::Spherical, JointKind::Fixed};
  });
}

TEST(Elimination, EqualsTheDenseSystemOnNetsOfManyLoops) {
  expect_agreement_on(9000, 6, [](int i, MechanismOptions& o) {
    o.bodies = 12 + i % 6, o.loops = 12, o.mass_ratio = 10, o.locked = false;
    o.kinds = {JointKind::Spherical, JointKind::Planar, JointKind::Cylindrical, JointKind::Universal};
  });
}

TEST(Elimination, EqualsTheDenseSystemOnTwoHundredBodies) {
  MechanismOptions o;
  o.bodies = 200, o.mass_ratio = 1e3, o.reach = 0.3;
  const Sample s = random_sample(seed(10000), o);
  expect_agreement(s.model, s.bodies, s.load, "seed 10000");
}

/// A hinge whose frames lie at p with z along `axis`, World; both bodies have their frames on World.
JointSpec hinge_at(const std::string& name, const std::string& parent, const std::string& child, const Vec3& p,
                   const Vec3& axis) {
  JointSpec j;
  j.name = name, j.kind = JointKind::Revolute, j.parent = parent, j.child = child, j.axis = axis;
  j.at_parent.p = j.at_child.p = p;
  return j;
}

Inertia box_at(const Vec3& centre, const Vec3& size, double mass) {
  Inertia i = solid_box(mass, size);
  i.p_BC = centre;
  return i;
}

void expect_agreement_moving(const ModelSpec& spec, std::uint64_t seed, const std::string& what) {
  Random random(seed);
  const Model model = build(spec);
  Bodies bodies = at_rest(model, std::vector<Pose>(spec.bodies.size()));
  draw_velocities(random, model, bodies);
  expect_agreement(model, bodies, random_load(random, model), what);
}

TEST(Elimination, EqualsTheDenseSystemOnADoorWithTwoHinges) {
  ModelSpec spec;
  spec.bodies.push_back({"door", box_at({0.4, 0, 1}, {0.8, 0.04, 2}, 20), {}, {}});
  spec.joints = {hinge_at("low", "world", "door", {0, 0, 0.3}, Vec3::UnitZ()),
                 hinge_at("high", "world", "door", {0, 0, 1.7}, Vec3::UnitZ())};
  const Model model = build(spec);
  const Judgement j = judge(model, at_rest(model, {Pose{}}), Load(model));
  EXPECT_EQ(j.rank, 5);
  expect_agreement_moving(spec, 21, "door");
}

TEST(Elimination, EqualsTheDenseSystemWithAMasslessPlateHeldTwiceByOneLink) {
  // Two hinges across each other hold the plate on the arm: six of their ten rows fix it, four are redundant and ask nothing of
  // the arm.
  ModelSpec spec;
  spec.bodies.push_back({"arm", box_at({0.5, 0, 0}, {1, 0.1, 0.2}, 2), {}, {}});
  spec.bodies.push_back({"plate", Inertia{}, {}, {}});
  spec.joints = {hinge_at("shoulder", "world", "arm", {0, 0, 0}, Vec3::UnitY()),
                 hinge_at("one", "arm", "plate", {0.8, 0.2, 0.1}, Vec3::UnitZ()),
                 hinge_at("other", "arm", "plate", {1.0, -0.1, 0.3}, Vec3::UnitX())};
  const Model model = build(spec);
  EXPECT_EQ(judge(model, at_rest(model, std::vector<Pose>(2)), Load(model)).rank, 11);
  expect_agreement_moving(spec, 23, "plate");
}

TEST(Elimination, EqualsTheDenseSystemOnBricardsCube) {
  // Six unit links along edges of a cube; each hinge is perpendicular to both of its edges. 30 rows of rank 29.
  const Vec3 at[] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {0, 1, 1}, {0, 0, 1}};
  ModelSpec spec;
  const auto link = [](int i) { return i == 0 ? std::string("world") : "link" + std::to_string(i); };
  for (int i = 1; i < 6; ++i) {
    const Vec3 a = at[i], b = at[(i + 1) % 6];
    spec.bodies.push_back({link(i), box_at(0.5 * (a + b), (b - a).cwiseAbs() + Vec3::Constant(0.1), 1.0), {}, {}});
  }
  for (int i = 0; i < 6; ++i) {
    const Vec3 before = at[i] - at[(i + 5) % 6], after = at[(i + 1) % 6] - at[i];
    const int inner = std::min(i, (i + 5) % 6), outer = std::max(i, (i + 5) % 6);
    spec.joints.push_back(hinge_at("hinge" + std::to_string(i), link(inner), link(outer), at[i], before.cross(after)));
  }
  const Model model = build(spec);
  const Judgement j = judge(model, at_rest(model, std::vector<Pose>(5)), Load(model));
  EXPECT_EQ(j.rank, 29);
  expect_agreement_moving(spec, 22, "Bricard");
}

}  // namespace
}  // namespace invar::testing
