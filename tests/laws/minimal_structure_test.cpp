// SPDX-License-Identifier: Apache-2.0
//
// The structure of minimal coordinates: which freedoms depend does not depend on units, loops that follow from each other are
// closed one after the other, and what is known body by body is known without matrices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "invar/integrate/make.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/minimal/inertia_shares.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/minimal/partition.hpp"
#include "support/campaign.hpp"
#include "support/dense_kkt.hpp"
#include "support/linkages.hpp"
#include "support/march.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// The same mechanism with other units of length and mass; gravity with the length, so that times stay.
ModelSpec scaled(ModelSpec spec, double length, double mass) {
  spec.gravity *= length;
  for (BodySpec& body : spec.bodies) {
    body.inertia.mass *= mass, body.inertia.p_BC *= length;
    body.inertia.I_C *= mass * length * length;
  }
  for (JointSpec& joint : spec.joints) {
    joint.at_parent.p *= length, joint.at_child.p *= length, joint.pitch *= length;
    // Slides of locked joints.
    const int angles = joint.kind == JointKind::Prismatic ? 0 : (joint.kind == JointKind::Cylindrical ? 1 : -1);
    if (joint.kind == JointKind::Planar)
      for (std::size_t k = 0; k < std::min<std::size_t>(2, joint.locked_at.size()); ++k) joint.locked_at[k] *= length;
    else if (angles == 0 && !joint.locked_at.empty())
      joint.locked_at[0] *= length;
  }
  return spec;
}

Bodies scaled(Bodies bodies, double length) {
  for (BodyState& s : bodies) s.p_WC *= length, s.v_WC *= length;
  return bodies;
}

// Rounding differs, nothing else: 100 steps of 1 ms leave some 1e-14 times the condition of the solves, which may be 1e5.
TEST(MinimalScales, ChooseTheSameFreedomsAndMoveTheSame) {
  int moved = 0;
  for (int k = 0; k < cases(20); ++k) {
    MechanismOptions options{.bodies = 4 + k % 4, .kinds = {}};
    options.loops = 1 + k % 2, options.planar = k % 4 == 1, options.redundant = k % 4 == 1 ? 1 : 0;
    options.passive = options.locked = false;
    options.mass_ratio = 10;
    const std::uint64_t at = seed(9300) + static_cast<std::uint64_t>(k);
    Random random(at);
    const Mechanism drawn = random_mechanism(random, options);
    const Model model = build(drawn.spec);
    Bodies start = at_rest(model, drawn.X_WB);
    draw_velocities(random, model, start);
    const std::string what = "seed " + std::to_string(at) + ": " + describe(drawn.spec);
    const auto end_of = [&](double length, double mass, std::string& chosen, bool& ok) {
      const ModelSpec larger = scaled(drawn.spec, length, mass);
      const Model other = build(larger);
      Minimal minimal(other);
      System system(minimal);
      State x;
      minimal.set(scaled(start, length), x);
      chosen = minimal.chosen_coordinates();
      const auto rk4 = std::move(*make_integrator("rk4"));
      ok = march(larger, system, *rk4, 0, 0.1, 1e-3, x).verdict.ok();
      Bodies bodies;
      minimal.bodies(x, bodies);
      return scaled(bodies, 1 / length);
    };
    std::string first;
    bool fine = false;
    const Bodies truth = end_of(1, 1, first, fine);
    for (const auto& [length, mass] : {std::pair{1e-3, 1.0}, {1e4, 1.0}, {1.0, 1e-6}, {1.0, 1e6}, {1e4, 1e-6}}) {
      std::string chosen;
      bool ok = false;
      const Bodies mine = end_of(length, mass, chosen, ok);
      EXPECT_EQ(chosen, first) << what << ", lengths times " << length << ", masses times " << mass;
      EXPECT_EQ(ok, fine) << what << ", lengths times " << length << ", masses times " << mass;
      if (!ok || !fine) continue;
      ++moved;
      for (std::size_t b = 0; b < mine.size(); ++b)
        EXPECT_LT((mine[b].p_WC - truth[b].p_WC).norm(), 1e-8 * (1 + truth[b].p_WC.norm()))
            << what << ", lengths times " << length << ", masses times " << mass;
    }
  }
  EXPECT_GT(moved, 2 * cases(20));
}

// A window follows from the one before it, whichever rod drives: two freedoms at a time, however many there are.
TEST(MinimalGroups, WindowsFollowFromEachOther) {
  for (const char* driving : {"", "a0", "a3", "b2", "a6"}) {
    ModelSpec spec = windows(6, 8e-4);
    for (JointSpec& joint : spec.joints) joint.independent = joint.name == driving;
    const Model model = build(spec);
    Minimal minimal(model);
    Bodies bodies = place(model, JointState::initial(model));
    State x;
    minimal.set(bodies, x);
    EXPECT_EQ(minimal.tree().independent().size(), 1u) << driving;
    EXPECT_EQ(minimal.tree().largest_group(), 2) << driving;
    EXPECT_TRUE(!*driving || minimal.chosen_coordinates() == driving) << minimal.chosen_coordinates();
  }
}

// Parallel rods: n + 1 of them turn, n bars go along. With I the inertia on the angle and S the moment of weights per sine,
// I = (n + 1)/3 + n and S = ((n + 1)/2 + n) g for unit rods. The freedoms that depend start away from where they belong.
TEST(MinimalGroups, WindowsMoveLikeOneRod) {
  for (const int n : {1, 2, 5, 12}) {
    for (const char* driving : {"", "a0", "a1", "b0"}) {
      ModelSpec spec = windows(n, 8e-4);
      const double angle = 0.7;
      for (JointSpec& joint : spec.joints) {
        joint.independent = joint.name == driving;
        spec.initial[joint.name] = {joint.name[0] == 'b' ? -angle : angle};
      }
      const Model model = build(spec);
      Minimal minimal(model);
      State x;
      minimal.set(place(model, JointState::initial(model)), x);
      const JointTree& tree = minimal.tree();
      const int free = tree.independent().front();
      // A bar turns back on its rod.
      const double sign = tree.freedom_name(free)[0] == 'b' ? -1 : 1, speed = 1.3;
      for (const int d : tree.dependent()) x.q[tree.coordinate_of(d)] += 0.01 * std::sin(d), x.v[d] = 5;
      x.v[free] = sign * speed;
      Rate rate;
      ASSERT_TRUE(minimal.rate(x, Load(model), rate).ok()) << n << driving;
      const double expected = ((n + 1) / 2.0 + n) * 9.81 * std::sin(angle) / ((n + 1) / 3.0 + n);
      for (int k = 0; k < tree.nv(); ++k) {
        const double side = tree.freedom_name(k)[0] == 'b' ? -1 : 1;
        EXPECT_NEAR(rate.v[k], side * speed, 1e-12) << n << driving << " " << tree.freedom_name(k);
        EXPECT_NEAR(rate.a[k], side * expected, 1e-10) << n << driving << " " << tree.freedom_name(k);
      }
    }
  }
}

/// A small mechanism carried by a body of a large one, joint points and centres of mass in proportion.
ModelSpec carried(const ModelSpec& large, const ModelSpec& small, double size) {
  ModelSpec out = large;
  const std::string carrier = large.bodies.back().name;
  for (BodySpec body : scaled(small, size, 1).bodies) body.name = "small " + body.name, out.bodies.push_back(body);
  for (JointSpec joint : scaled(small, size, 1).joints) {
    joint.name = "small " + joint.name;
    for (std::string* body : {&joint.parent, &joint.child}) *body = *body == "world" ? carrier : "small " + *body;
    out.joints.push_back(joint);
  }
  for (const auto& [name, q] : small.initial) out.initial["small " + name] = q;
  return out;
}

// Two four-bars, windows of one: 1 + 1 freedoms, whatever their sizes. Placed where no rod is along another. And drawn
// mechanisms of all kinds: the tree by itself decides as the dense decomposition of all equations does, at any size.
TEST(MinimalScales, RankIsThatOfAllEquations) {
  ModelSpec window = windows(1, 8e-4);
  for (JointSpec& joint : window.joints) window.initial[joint.name] = {joint.name[0] == 'b' ? -0.7 : 0.7};
  for (const double size : {1.0, 1e-4, 1e-7, 1e6}) {
    const Model model = build(carried(window, window, size));
    JointTree tree(model);
    VecX q, v;
    tree.measure(place(model, JointState::initial(model)), VecX::Zero(model.nv()), q, v);
    EXPECT_TRUE(tree.choose(q).ok()) << size;
    EXPECT_EQ(tree.independent().size(), 2u) << size;
  }
  int same = 0;
  for (int k = 0; k < cases(60); ++k) {
    MechanismOptions options{.bodies = 3 + k % 5, .kinds = {}};
    options.loops = 1 + k % 3, options.planar = k % 3 == 1, options.redundant = k % 2, options.passive = options.locked = false;
    const std::uint64_t at = seed(9500) + static_cast<std::uint64_t>(k);
    Random random(at);
    const Mechanism drawn = random_mechanism(random, options);
    const Model model = build(drawn.spec);
    const Bodies bodies = at_rest(model, drawn.X_WB);
    const Judgement truth = judge(model, bodies, Load(model));
    if (truth.smallest_kept < 1e-4) continue;  // nearly singular
    ++same;
    for (const double size : {1.0, 1e-3, 1e4}) {
      const Model other = build(scaled(drawn.spec, size, 1));
      JointTree tree(other);
      VecX q, v;
      tree.measure(scaled(bodies, size), VecX::Zero(other.nv()), q, v);
      tree.choose(q);
      EXPECT_EQ(static_cast<int>(tree.independent().size()), 6 * static_cast<int>(bodies.size()) - truth.rank)
          << "seed " << at << ", size " << size << ": " << describe(drawn.spec);
    }
  }
  EXPECT_GT(2 * same, cases(60));
}

TEST(InertiaShares, AreTheDiagonalsOfThePartition) {
  int seen = 0;
  for (int k = 0; k < cases(60); ++k) {
    MechanismOptions options{.bodies = 2 + k % 7, .kinds = {}};
    options.loops = k % 3, options.couplings = k % 4 == 3 ? 2 : 0, options.planar = k % 5 == 1;
    options.floating = k % 5 == 4;
    const std::uint64_t at = seed(9400) + static_cast<std::uint64_t>(k);
    Sample sample = random_sample(at, options);
    Minimal minimal(sample.model);
    State x;
    minimal.set(sample.bodies, x);
    Partition p;
    InertiaShares shares, some;
    const JointTree& tree = minimal.tree();
    const auto n = static_cast<Eigen::Index>(tree.independent().size());
    // A configuration may be singular: then both say so.
    const bool fine = partition_at(tree, x.q, x.v, x.wound, sample.load, p).ok();
    ASSERT_EQ(inertia_shares(tree, x.q, x.wound, n, true, shares).ok(), fine);
    if (!fine || n == 0 || tree.condition() < 1e-4) continue;
    ++seen;
    // Both are sums of squares of velocities that follow from the loops: 64 u over the condition, twice.
    const double bound = 1.4e-14 / tree.condition();
    const auto expect = [&](double mine, double theirs, double size) {
      EXPECT_NEAR(mine, theirs, bound * size) << "seed " << at << ": " << describe(sample.mechanism.spec);
    };
    for (Eigen::Index i = 0; i < n; ++i) {
      const double size = p.Gamma(i, i);
      for (std::size_t b = 0; b < p.Gamma_parts.size(); ++b)
        expect(shares.bodies(static_cast<Eigen::Index>(b), i), p.Gamma_parts[b](i, i), size);
      expect(shares.rotors[i], p.rotors(i, i), size);
      expect(shares.all[i], p.Gamma(i, i), size);
    }
    EXPECT_EQ(shares.coordinates, p.coordinates);
    ASSERT_TRUE(inertia_shares(tree, x.q, x.wound, 1, false, some).ok());
    EXPECT_EQ(some.bodies.rows(), 0);
    EXPECT_EQ(some.all[0], shares.all[0]);
  }
  EXPECT_GT(4 * seen, cases(60));
}

}  // namespace
}  // namespace invar::testing
