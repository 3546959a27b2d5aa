// SPDX-License-Identifier: Apache-2.0
// Do driven joints move as told, at the price that mechanics asks for?
#include "invar/control/drive.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>

#include "invar/integrate/rk4.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/dynamics.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/natural.hpp"
#include "support/campaign.hpp"
#include "support/march.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// With e the increment, a central difference is off by e² f'''/6 and 2 u |f|/e: 1e-9 for e = 1e-5 and numbers of order ten.
TEST(Signals, HaveTheDerivativesOfTheirValues) {
  const Signal signals[] = {Constant{2}, Sinusoid{0.7, 1.3, 0.4, -1}, Polynomial{{0.3, -1, 2, 0.5, -0.25}, 0.2}};
  for (const Signal& s : signals)
    for (const double t : {0.0, 0.37, 1.1}) {
      constexpr double e = 1e-5;
      EXPECT_NEAR(rate(s, t), (value(s, t + e) - value(s, t - e)) / (2 * e), 1e-7);
      EXPECT_NEAR(second_rate(s, t), (rate(s, t + e) - rate(s, t - e)) / (2 * e), 1e-6);
      EXPECT_TRUE(can_be_followed(s));
    }
  const Signal ramp = Ramp{1, 3, 0, 4}, table = Table{{0, 1, 3}, {0, 1, -1}};
  EXPECT_EQ(rate(ramp, Instant(1, 2)), 2);
  EXPECT_EQ(rate(ramp, Instant(1, 0.5)), 0);
  EXPECT_EQ(rate(table, 2), -1);
  for (const Signal& s : {ramp, table, Signal(Jump{}), Signal(Pulse{})}) EXPECT_FALSE(can_be_followed(s));
}

/// A drawn mechanism of joints with coordinates of their own, in motion.
Sample drawn(std::uint64_t at, int loops, int bodies) {
  MechanismOptions o{.bodies = bodies, .loops = loops, .mass_ratio = 5, .locked = false, .kinds = {}};
  o.kinds = {JointKind::Revolute, JointKind::Universal, JointKind::Cylindrical, JointKind::Prismatic};
  if (loops > 0) o.kinds.push_back(JointKind::Spherical);
  return random_sample(at, o);
}

/// A motion that begins with these values, and accelerates and swings from there.
Signal through(double q, double v, double a) { return Polynomial{{q, v, 0.5 * a}, 0}; }

TEST(Drive, AsksForTheEffortsOfInverseDynamicsWhereEverythingIsDriven) {
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = drawn(seed(9100) + static_cast<std::uint64_t>(k), 0, 2 + k % 4);
    Random random(seed(9200) + static_cast<std::uint64_t>(k));
    Minimal minimal(s.model);
    State x;
    minimal.set(s.bodies, x);
    Partition p;
    ASSERT_TRUE(partition_at(minimal.tree(), x.q, x.v, x.wound, s.load, p).ok());
    std::vector<DriveSpec> specs;
    VecX a(p.v.size());
    for (std::size_t i = 0; i < minimal.tree().independent().size(); ++i) {
      const int freedom = minimal.tree().independent()[i];
      const Joint& joint = s.model.joints()[static_cast<std::size_t>(minimal.tree().joint_of(freedom))];
      a[static_cast<Eigen::Index>(i)] = random.uniform(-3, 3);
      specs.push_back({joint.name, minimal.tree().freedom_of_model(freedom) - joint.v0,
                       through(x.q[minimal.tree().coordinate_of(freedom)], x.v[freedom], a[static_cast<Eigen::Index>(i)])});
    }
    const auto drive = Drive::build(s.model, specs);
    ASSERT_TRUE(drive) << drive.error().text();
    Load load = s.load;
    (*drive)->add(0.0, s.bodies, load);
    const VecX want = inverse_dynamics(p, a);
    // Forces of some 1e2 N, Γ with a condition of up to 1e4: 1e-9 of the largest effort.
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const int of_model = minimal.tree().freedom_of_model(minimal.tree().independent()[i]);
      EXPECT_NEAR(load.efforts[of_model] - s.load.efforts[of_model], want[static_cast<Eigen::Index>(i)],
                  1e-9 * (1 + want.lpNorm<Eigen::Infinity>()))
          << describe(s.mechanism.spec);
    }
    // So does the mixed problem; and driven like this the others move as they do, without an effort.
    std::vector<int> all, some;
    for (int i = 0; i < static_cast<int>(a.size()); ++i) {
      all.push_back(i);
      if (i % 2 == 0) some.push_back(i);
    }
    EXPECT_LE((driven(p, all, a).efforts - want).lpNorm<Eigen::Infinity>(), 1e-12 * (1 + want.lpNorm<Eigen::Infinity>()));
    VecX told(static_cast<Eigen::Index>(some.size()));
    for (std::size_t i = 0; i < some.size(); ++i) told[static_cast<Eigen::Index>(i)] = a[some[i]];
    const DrivenMotion mixed = driven(p, some, told);
    VecX missing = inverse_dynamics(p, mixed.vdot);
    for (std::size_t i = 0; i < some.size(); ++i) {
      EXPECT_EQ(mixed.vdot[some[i]], told[static_cast<Eigen::Index>(i)]);
      missing[some[i]] -= mixed.efforts[static_cast<Eigen::Index>(i)];
    }
    EXPECT_LE(missing.lpNorm<Eigen::Infinity>(), 1e-9 * (1 + want.lpNorm<Eigen::Infinity>()));
  }
}

double energy_of(const Model& model, const Bodies& bodies, const VecX& wound) {
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  unwind(model, wound, q);
  return energy(model, bodies, q, v).total();
}

// One joint of a drawn mechanism follows a parabola from where it is. rk4 with 0.5 ms and rates up to some 50 /s: (ω h)^4/120
// of the motion per unit of time, 4e-9; the same for the energy balance. Springs beyond half a turn are not met in 0.2 s.
TEST(Drive, MovesItsJointAsToldAndItsWorkClosesTheBalanceInEveryFormulation) {
  int compared = 0, ended = 0;
  for (int k = 0; k < cases(12); ++k) {
    const Sample s = drawn(seed(9300) + static_cast<std::uint64_t>(k), k % 2, k % 2 == 1 ? 5 : 3);
    // The printed law of ball springs has no energy that a balance could close.
    const auto printed = [](const Joint& joint) { return joint.has_spring && joint.spring_law == SpringLaw::EulerPrinted; };
    if (std::any_of(s.model.joints().begin(), s.model.joints().end(), printed)) continue;
    Minimal chosen(s.model);
    State x;
    chosen.set(s.bodies, x);
    if (chosen.tree().independent().empty()) continue;
    const int freedom = chosen.tree().independent()[0], of_model = chosen.tree().freedom_of_model(freedom);
    const Joint& joint = s.model.joints()[static_cast<std::size_t>(chosen.tree().joint_of(freedom))];
    if (joint.nq != joint.nv) continue;
    const Signal signal = through(x.q[chosen.tree().coordinate_of(freedom)], x.v[freedom], 2.0);
    const auto drive = Drive::build(s.model, {{joint.name, of_model - joint.v0, signal}});
    ASSERT_TRUE(drive);
    std::vector<std::unique_ptr<Formulation>> all;
    all.push_back(std::make_unique<Augmented>(s.model));
    all.push_back(std::make_unique<Minimal>(s.model));
    if (natural_objection(s.model).empty()) all.push_back(std::make_unique<Natural>(s.model));
    Bodies first;
    for (const auto& formulation : all) {
      System system(*formulation);
      system.add(**drive);
      formulation->set(s.bodies, x);
      Rk4 rk4;
      const double before = energy_of(s.model, s.bodies, x.wound);
      if (!march(s.mechanism.spec, system, rk4, 0, 0.2, 5e-4, x).verdict.ok()) {
        ++ended;
        continue;
      }
      ++compared;
      Bodies bodies;
      formulation->bodies(x, bodies);
      VecX q, v;
      joint_coordinates(s.model, bodies, q, v);
      unwind(s.model, x.wound, q);
      const std::string what = std::to_string(k) + " " + describe(s.mechanism.spec);
      EXPECT_NEAR(q[joint.q0 + of_model - joint.v0], value(signal, 0.2), 1e-7) << what;
      EXPECT_NEAR(v[of_model], rate(signal, 0.2), 1e-6) << what;
      const double after = energy_of(s.model, bodies, x.wound), scale = std::abs(x.aux[kWork]) + x.aux[kDissipated] + 10;
      EXPECT_NEAR(after - before, x.aux[kWork] - x.aux[kDissipated], 1e-5 * scale) << what;
      if (first.empty()) first = bodies;
      for (std::size_t b = 0; b < bodies.size(); ++b) EXPECT_LE((bodies[b].p_WC - first[b].p_WC).norm(), 1e-5) << what;
    }
  }
  EXPECT_GE(3 * compared, cases(12));
  EXPECT_LE(4 * ended, compared) << ended << " ended early";
}

// Over a whole turn the four-bar returns to its energy, so the drive has done no work; halfway it has.
TEST(Drive, TurnsACrankAtAConstantRate) {
  const Moving m = shipped("four_bar");
  for (int formulations = 0; formulations < 3; ++formulations) {
    std::unique_ptr<Formulation> f;
    if (formulations == 0) f = std::make_unique<Augmented>(m.model);
    if (formulations == 1) f = std::make_unique<Minimal>(m.model);
    if (formulations == 2) f = std::make_unique<Natural>(m.model);
    JointTree tree(m.model, {0});
    VecX q, v;
    const VecX none = VecX::Zero(m.model.nv());
    tree.measure(m.start, none, q, v);
    ASSERT_TRUE(tree.choose(q).ok());
    Bodies start;
    const double crank = q[0], rate = 2 * std::numbers::pi;
    v.setZero();
    v[0] = rate;
    ASSERT_TRUE(tree.complete(q, v, none, start).ok());
    const auto drive = Drive::build(m.model, {{"j1", 0, Polynomial{{crank, rate}, 0}}});
    ASSERT_TRUE(drive);
    EXPECT_EQ((*drive)->objection(0.0, start), "");
    System system(*f);
    system.add(**drive);
    State x;
    f->set(start, x);
    Rk4 rk4;
    double most = 0;
    const March march_end =
        march(m.spec, system, rk4, 0, 3, 1e-3, x, [&](double, double) { most = std::max(most, x.aux[kWork]); });
    ASSERT_TRUE(march_end.verdict.ok());
    // (w h)^4/120 = 1e-11 per radian of the crank, a thousand times that where the linkage is fast.
    EXPECT_NEAR(x.wound[0], crank + 3 * rate, 1e-7);
    EXPECT_NEAR(x.aux[kWork], 0, 1e-6);
    EXPECT_GT(most, 1);
  }
}

TEST(Drive, RefusesWhatCannotBeDriven) {
  const Moving m = shipped("four_bar");
  const auto refused = [&](const std::vector<DriveSpec>& specs, const char* word) {
    const auto built = Drive::build(m.model, specs);
    ASSERT_FALSE(built.has_value()) << word;
    EXPECT_NE(built.error().what.find(word), std::string::npos) << built.error().what;
  };
  refused({{"j", 0, Constant{0}}}, "no joint 'j'");
  refused({{"j1", 1, Constant{0}}}, "no freedom 1");
  refused({{"closure", 0, Constant{0}}}, "attitude");
  refused({{"j1", 0, Ramp{0, 1, 0, 1}}}, "follow");
  refused({{"j1", 0, Constant{0}}, {"j1", 0, Constant{0}}}, "twice");
  refused({{"j1", 0, Constant{0}, -1}}, "correction");
  // The linkage has one freedom: two of its joints cannot both be told.
  const auto both = Drive::build(m.model, {{"j1", 0, Constant{0}}, {"j2", 0, Constant{0}}});
  ASSERT_TRUE(both);
  EXPECT_NE((*both)->objection(0.0, m.start).find("cannot be driven"), std::string::npos);
  // Told all the same, nothing becomes infinite.
  Load load(m.model);
  (*both)->add(0.0, m.start, load);
  EXPECT_TRUE(load.efforts.allFinite());
}

/// Two rods of unequal mass on hinges about y, their far end on a ball in the ground: a truss; without the ball a double
/// pendulum. And a slide that carries one more body.
ModelSpec truss(double mass, double length, bool closed) {
  ModelSpec spec;
  const double tilt = 0.863, reach = 2 * length * std::cos(tilt);
  const auto add = [&](const char* body_name, double m, const JointSpec& joint) {
    BodySpec body;
    body.name = body_name, body.inertia = solid_box(m, {length, 0.04 * length, 0.04 * length});
    body.inertia.p_BC = Vec3(0.5 * length, 0, 0);
    spec.bodies.push_back(body);
    spec.joints.push_back(joint);
  };
  JointSpec a, b, c, d;
  a.name = "a", a.kind = JointKind::Revolute, a.axis = Vec3::UnitY(), a.child = "one";
  b = a, b.name = "b", b.parent = "one", b.child = "two", b.at_parent.p = Vec3(length, 0, 0);
  d.name = "d", d.kind = JointKind::Prismatic, d.axis = Vec3::UnitX(), d.child = "sled";
  c.name = "c", c.kind = JointKind::Spherical, c.child = "two", c.at_child.p = Vec3(length, 0, 0), c.at_parent.p.x() = reach;
  add("one", mass, a), add("two", 3 * mass, b), add("sled", mass, d);
  if (closed) spec.joints.push_back(c);
  spec.initial = {{"a", {-tilt}}, {"b", {2 * tilt}}};
  return spec;
}

// Whatever the units are in which a mechanism is near one: a held joint answers with rounding, which no effort may be made of.
TEST(Drive, OfAJointThatIsHeldIsRefusedAndPushesWithNothing) {
  for (const double mass : {1e-6, 1.0, 1e6})
    for (const double length : {1e-3, 1.0, 1e3}) {
      const std::string what = std::to_string(mass) + " kg, " + std::to_string(length) + " m";
      for (const bool closed : {true, false}) {
        const Model model = build(truss(mass, length, closed));
        const Bodies bodies = place(model, JointState::initial(model));
        const auto drive = Drive::build(model, {{"a", 0, Sinusoid{0.3, 1, 0, -0.863}}, {"d", 0, Polynomial{{0, 0, 1}, 0}}});
        ASSERT_TRUE(drive);
        const std::string why = (*drive)->objection(0.0, bodies);
        EXPECT_EQ(why.empty(), !closed) << what << ": " << why;
        Load load(model);
        (*drive)->add(0.0, bodies, load);
        const Joint &hinge = model.joints()[0], &slide = model.joints()[2];
        if (closed) {
          EXPECT_NE(why.find("joint 'a' cannot be driven: no effort"), std::string::npos) << why;
          EXPECT_EQ(load.efforts[hinge.v0], 0) << what;
        } else {
          EXPECT_GT(std::abs(load.efforts[hinge.v0]), 0) << what;
        }
        // m q'' beside a drive that cannot act as beside one that can; gravity is across.
        EXPECT_NEAR(load.efforts[slide.v0], 2 * mass, 1e-9 * mass) << what;
      }
    }
}

}  // namespace
}  // namespace invar::testing
