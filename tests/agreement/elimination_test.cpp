// SPDX-License-Identifier: Apache-2.0
//
// The product's solvers against the dense judge: accelerations, all reactions and coupling efforts of single evaluations. The
// bound is derived at expect_agreement.
#include <gtest/gtest.h>

#include "support/agreement.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

/// Mechanisms of one sort with seeds from `first`; `vary` changes the options from case to case.
template <class Vary>
void expect_agreement_on(std::uint64_t first, int usual, const Vary& vary) {
  for (int i = 0; i < cases(usual); ++i) {
    MechanismOptions o;
    vary(i, o);
    const std::uint64_t at = seed(first) + static_cast<std::uint64_t>(i);
    const Sample s = random_sample(at, o);
    expect_agreement(s.mechanism.spec, s.model, s.bodies, s.load,
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

TEST(Elimination, EqualsTheDenseSystemOnTreesOfTwoHundredBodies) {
  expect_agreement_on(10000, 1, [](int, MechanismOptions& o) { o.bodies = 200, o.reach = 0.3; });
}

TEST(Elimination, EqualsTheDenseSystemOnLoopsOfEightyBodies) {
  expect_agreement_on(11000, 2, [](int i, MechanismOptions& o) {
    o.bodies = 80, o.loops = 8, o.redundant = 4 * (i % 2), o.reach = 0.3, o.floating = i % 4 == 1;
  });
}

TEST(Elimination, EqualsTheDenseSystemOnLoopsOfTwoHundredBodies) {
  expect_agreement_on(12000, 1, [](int, MechanismOptions& o) { o.bodies = 200, o.loops = 12, o.reach = 0.3; });
}

TEST(Elimination, EqualsTheDenseSystemOnRedundantLoopsOfTwoHundredBodies) {
  expect_agreement_on(13000, 1, [](int i, MechanismOptions& o) {
    o.bodies = 200, o.loops = 10, o.redundant = 8, o.reach = 0.3, o.floating = i % 2 == 1;
  });
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
  expect_agreement(spec, model, bodies, random_load(random, model), what);
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
