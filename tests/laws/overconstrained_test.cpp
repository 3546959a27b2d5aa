// SPDX-License-Identifier: Apache-2.0
//
// Minimal coordinates of mechanisms with more rows than rank: whatever joint is cut and whatever joint is independent, they go
// round, their loops stay closed to round-off, and their motion is that of the unreduced equations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/run/start.hpp"
#include "support/agreement.hpp"
#include "support/campaign.hpp"
#include "support/linkages.hpp"
#include "support/march.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

/// Joints named in `rates` move so at the start, the others as loops ask.
Start thrown(const Model& model, const std::map<std::string, double>& rates) {
  Start start(model);
  start.named.assign(model.joints().size(), false);
  for (std::size_t j = 0; j < model.joints().size(); ++j)
    if (const auto it = rates.find(model.joints()[j].name); it != rates.end())
      start.named[j] = true, start.joints.v[model.joints()[j].v0] = it->second;
  return start;
}

double angle(const Model& model, const Bodies& bodies, const std::string& name) {
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  return q[model.joints()[static_cast<std::size_t>(*model.find_joint(name))].q0];
}

double gap_of(const Model& model, const Bodies& bodies) {
  return constraint_error(model, bodies, VecX::Zero(model.nv())).position;
}

double distance(const Model& model, const Bodies& a, const Bodies& b) {
  double most = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    most = std::max(most, (a[k].p_WC - b[k].p_WC).norm());
    most = std::max(most, model.length() * a[k].q_WB.angularDistance(b[k].q_WB));
  }
  return most;
}

/// Where a formulation is after a time, by rk4.
template <class F>
Bodies after(const ModelSpec& spec, const Model& model, const Bodies& start, double end, double h, const std::string& what,
             F&& look) {
  Minimal minimal(model);
  System system(minimal);
  State x;
  minimal.set(start, x);
  Bodies bodies = start;
  const auto rk4 = std::move(*make_integrator("rk4"));
  const March m = march(spec, system, *rk4, 0, end, h, x, [&](double, double) {
    minimal.bodies(x, bodies);
    look(minimal, bodies);
  });
  EXPECT_TRUE(m.verdict.ok()) << what << ": " << name(m.verdict.status) << " at t = " << m.t << ", independent "
                              << minimal.chosen_coordinates();
  return bodies;
}

Bodies unreduced_after(const ModelSpec& spec, const Model& model, const Bodies& start, double end, double h) {
  Augmented augmented(model);
  System system(augmented);
  State x;
  augmented.set(start, x);
  const auto rk4 = std::move(*make_integrator("rk4"));
  const March m = march(spec, system, *rk4, 0, end, h, x);
  EXPECT_TRUE(m.verdict.ok()) << name(m.verdict.status);
  Bodies out;
  augmented.bodies(x, out);
  return out;
}

/// All ways to say which joint is cut and which is independent (-1: none is named).
template <class F>
void for_all_descriptions(const ModelSpec& spec, F&& f) {
  for (int cut = 0; cut < static_cast<int>(spec.joints.size()); ++cut)
    for (int independent = -1; independent < static_cast<int>(spec.joints.size()); ++independent) {
      if (cut == independent) continue;
      ModelSpec described = spec;
      described.joints[static_cast<std::size_t>(cut)].cut = true;
      if (independent >= 0) described.joints[static_cast<std::size_t>(independent)].independent = true;
      f(described, fmt::format("cut {}, independent {}", spec.joints[static_cast<std::size_t>(cut)].name,
                               independent < 0 ? "any" : spec.joints[static_cast<std::size_t>(independent)].name));
    }
}

// 100 turns at about 3 rad/s. The judge is Bennett's formula; closed loops hold to round-off, 1e-13 m with a condition of 10 and
// a few dozen roundings. tan(j1/2) tan(j2/2) loses up to 1/sin of either angle, below 1e3 but for a few samples: those are left
// out.
TEST(Overconstrained, BennettGoesRoundWithEveryCutAndEveryIndependentJoint) {
  Bennett bennett;
  bennett.alpha = std::numbers::pi / 6;
  ModelSpec spec = bennett.spec();
  spec.gravity.setZero();
  for_all_descriptions(spec, [&](const ModelSpec& described, const std::string& what) {
    const Model model = build(described);
    const auto start = bodies_at(model, thrown(model, {{"j1", 4.0}}));
    ASSERT_TRUE(start) << start.error().text();
    double turned = 0, before = bennett.start, gap = 0, worst = 0, mobility = 0;
    after(described, model, *start, 210, 0.02, what, [&](const Minimal& minimal, const Bodies& bodies) {
      const double now = angle(model, bodies, "j1"), other = angle(model, bodies, "j2");
      turned += std::remainder(now - before, 2 * std::numbers::pi);
      before = now;
      gap = std::max(gap, gap_of(model, bodies));
      mobility = std::max(mobility, static_cast<double>(minimal.tree().independent().size()));
      if (std::abs(std::sin(now)) > 1e-2 && std::abs(std::sin(other)) > 1e-2)
        worst = std::max(worst, std::abs(std::tan(0.5 * now) * std::tan(0.5 * other) / bennett.k() - 1));
    });
    EXPECT_GT(turned, 200 * std::numbers::pi) << what;
    EXPECT_EQ(mobility, 1) << what;
    EXPECT_LT(gap, 5e-13) << what;
    EXPECT_LT(worst, 1e-10) << what;
  });
}

double energy_of(const Model& model, const Bodies& bodies) {
  double sum = 0;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const Inertia& inertia = model.bodies()[b].inertia;
    const Vec3 w = bodies[b].q_WB.conjugate() * bodies[b].w_WB;
    sum += 0.5 * (inertia.mass * bodies[b].v_WC.squaredNorm() + w.dot(inertia.I_C * w)) -
           inertia.mass * model.gravity().dot(bodies[b].p_WC);
  }
  return sum;
}

// One freedom: closed loops, Bennett's formula and energy together are the motion. rk4 with 2 ms; angular rates stay below 20
// rad/s, so that 500 steps make (w h)⁵/120 · 500 = 4e-7 of the energies, some 50 J, at worst.
TEST(Overconstrained, DrawnBennettsKeepTheirEnergyAndTheFormula) {
  for (int k = 0; k < cases(12); ++k) {
    Random random(seed(9100) + static_cast<std::uint64_t>(k));
    const Bennett bennett = random_bennett(random);
    ModelSpec spec = bennett.spec();
    const auto joints = static_cast<int>(spec.joints.size());
    const int cut = random.below(joints), independent = random.below(joints);
    spec.joints[static_cast<std::size_t>(cut)].cut = true;
    if (independent != cut) spec.joints[static_cast<std::size_t>(independent)].independent = true;
    const Model model = build(spec);
    const std::string what = fmt::format("a {}, b {}, alpha {}, start {}, cut {}, independent {}", bennett.a, bennett.b,
                                         bennett.alpha, bennett.start, cut, independent);
    const auto start = bodies_at(model, thrown(model, {{"j1", random.uniform(-5, 5)}}));
    ASSERT_TRUE(start) << start.error().text() << what;
    const double energy = energy_of(model, *start);
    double gap = 0, drift = 0, worst = 0;
    after(spec, model, *start, 1, 2e-3, what, [&](const Minimal& minimal, const Bodies& bodies) {
      gap = std::max(gap, gap_of(model, bodies));
      drift = std::max(drift, std::abs(energy_of(model, bodies) - energy));
      const double one = angle(model, bodies, "j1"), two = angle(model, bodies, "j2");
      if (std::abs(std::sin(one)) > 1e-2 && std::abs(std::sin(two)) > 1e-2)
        worst = std::max(worst, std::abs(std::tan(0.5 * one) * std::tan(0.5 * two) / bennett.k() - 1));
      EXPECT_EQ(minimal.tree().independent().size(), 1u) << what;
      EXPECT_EQ(minimal.mobility().freedoms, 1) << what;
    });
    EXPECT_LT(gap, 1e-13 * (1 + bennett.b)) << what;
    EXPECT_LT(drift, 2e-5) << what;
    EXPECT_LT(worst, 1e-10) << what;
  }
}

// 100 strokes of nearly two seconds: energy within rk4's error, the platform on its line to round-off.
TEST(Overconstrained, SarrusGoesUpAndDownWithEveryCut) {
  const ModelSpec spec = sarrus(0.8, 40);
  const auto joints = static_cast<int>(spec.joints.size());
  for_all_descriptions(spec, [&](const ModelSpec& described, const std::string& what) {
    int cut = 0, independent = -1;
    for (int j = 0; j < joints; ++j) {
      if (described.joints[static_cast<std::size_t>(j)].cut) cut = j;
      if (described.joints[static_cast<std::size_t>(j)].independent) independent = j;
    }
    if (independent >= 0 && independent != (cut + 2) % joints) return;  // two of six ways for every cut
    const Model model = build(described);
    const auto start = bodies_at(model, thrown(model, {{"foot1", 1.0}}));
    ASSERT_TRUE(start) << start.error().text();
    const auto platform = static_cast<std::size_t>(*model.find_body("platform"));
    double off = 0, gap = 0, before = 0, lowest = 2, highest = 0;
    int strokes = 0;
    after(described, model, *start, 190, 0.02, what, [&](const Minimal&, const Bodies& bodies) {
      const BodyState& s = bodies[platform];
      off = std::max({off, std::abs(s.p_WC.x()), std::abs(s.p_WC.y())});
      gap = std::max(gap, gap_of(model, bodies));
      strokes += s.v_WC.z() > 0 && before <= 0;
      before = s.v_WC.z();
      lowest = std::min(lowest, s.p_WC.z()), highest = std::max(highest, s.p_WC.z());
    });
    EXPECT_GE(strokes, 100) << what;
    EXPECT_GT(highest - lowest, 0.2) << what;
    EXPECT_LT(std::max(off, gap), 1e-13) << what;
  });
}

/// Times that a coordinate passes a value upwards: of a linkage with one freedom and no load, the turns of its motion.
class Turns {
 public:
  explicit Turns(double value) : value_(value) {}
  void see(double q) {
    const double off = std::remainder(q - value_, 2 * std::numbers::pi);
    count_ += off >= 0 && last_ < 0 && off - last_ < 1;
    last_ = off;
  }
  int count() const { return count_; }

 private:
  double value_, last_ = 1;
  int count_ = 0;
};

// Bricard's rectangular linkage, thrown without weight: its motion is a closed curve, which it runs through again and again, with
// the same energy. Six hinges, 30 rows of rank 29; steps of 20 ms at about 2 rad/s.
TEST(Overconstrained, BricardGoesRoundAHundredTimes) {
  auto spec = read_model_file(source_path("tests/reference/cases/a04_bricard.toml"));
  ASSERT_TRUE(spec) << spec.error().text();
  spec->gravity.setZero();
  for (JointSpec& joint : spec->joints) joint.cut = joint.independent = false;
  for (int cut = 0; cut < static_cast<int>(spec->joints.size()); cut += 2) {
    ModelSpec described = *spec;
    described.joints[static_cast<std::size_t>(cut)].cut = true;
    const Model model = build(described);
    const auto start = bodies_at(model, thrown(model, {{"j0", 2.0}}));
    ASSERT_TRUE(start) << start.error().text();
    const double energy = energy_of(model, *start);
    Turns turns(angle(model, *start, "j0") + 0.1);
    double gap = 0, drift = 0;
    after(described, model, *start, 600, 0.02, fmt::format("cut {}", cut), [&](const Minimal& minimal, const Bodies& bodies) {
      turns.see(angle(model, bodies, "j0"));
      gap = std::max(gap, gap_of(model, bodies));
      drift = std::max(drift, std::abs(energy_of(model, bodies) - energy));
      EXPECT_EQ(minimal.mobility().freedoms, 1);
    });
    EXPECT_GE(turns.count(), 100) << cut;
    EXPECT_LT(gap, 1e-12) << cut;
    EXPECT_LT(drift, 0.02 * energy) << cut;  // (w h)⁵/60 = 2e-9 of it in each of 30000 steps, and more where joints turn faster
  }
}

// Bodies that are hinged twice about one line, a pendulum and the crank of a crank-rocker: five rows, of which none is needed.
TEST(Overconstrained, BodiesOnTwoHingesInLineGoRoundAHundredTimes) {
  for (int k = 0; k < cases(6); ++k) {
    Random random(seed(9300) + static_cast<std::uint64_t>(k));
    const double l[4] = {0.4, 1.1, 0.9, 1.0};  // crank-rocker: 0.4 + 1.1 < 0.9 + 1.0
    ModelSpec spec;
    const char* names[3] = {"crank", "coupler", "rocker"};
    for (std::size_t i = 0; i < 3; ++i) {
      BodySpec body;
      body.name = names[i], body.inertia = solid_box(random.uniform(0.5, 2), {l[i], 0.05, 0.05});
      body.inertia.p_BC = {random.uniform(0.3, 0.7) * l[i], 0, 0};
      spec.bodies.push_back(body);
    }
    const auto hinge = [&](const std::string& name, const char* parent, const char* child, double on_parent, double on_child,
                           double aside) {
      JointSpec joint;
      joint.name = name, joint.kind = JointKind::Revolute, joint.parent = parent, joint.child = child;
      joint.at_parent.p = {on_parent, aside, 0}, joint.at_child.p = {on_child, aside, 0}, joint.axis = -Vec3::UnitY();
      spec.joints.push_back(joint);
    };
    const double at = 1.2, x = l[3] - l[0] * std::cos(at), z = -l[0] * std::sin(at), d = std::hypot(x, z);
    const double coupler = std::atan2(z, x) + std::acos((d * d + l[1] * l[1] - l[2] * l[2]) / (2 * d * l[1]));
    const double rocker = std::atan2(l[1] * std::sin(coupler) - z, l[1] * std::cos(coupler) - x);
    hinge("a", "world", "crank", 0, 0, 0);
    hinge("again", "world", "crank", 0, 0, random.uniform(0.1, 0.5));
    spec.initial = {{"a", {at}}, {"again", {at}}};
    const bool loop = k % 2 == 1;
    if (loop) {
      hinge("b", "crank", "coupler", l[0], 0, 0);
      hinge("b_again", "crank", "coupler", l[0], 0, random.uniform(-0.5, -0.1));
      hinge("c", "coupler", "rocker", l[1], l[2], 0);
      hinge("d", "world", "rocker", l[3], 0, 0);
      for (const char* name : {"b", "b_again"}) spec.initial[name] = {coupler - at};
      spec.initial["c"] = {rocker - coupler}, spec.initial["d"] = {rocker};
    } else {
      spec.bodies.resize(1);
    }
    const int joints = static_cast<int>(spec.joints.size()), cut = random.below(joints);
    spec.joints[static_cast<std::size_t>(cut)].cut = true;
    const Model model = build(spec);
    const auto start = bodies_at(model, thrown(model, {{"a", 4.0}}));
    const std::string what = fmt::format("case {}, cut {}", k, spec.joints[static_cast<std::size_t>(cut)].name);
    ASSERT_TRUE(start) << start.error().text() << " " << what;
    const double energy = energy_of(model, *start);
    Turns turns(at + 0.5);
    double gap = 0, drift = 0;
    after(spec, model, *start, 200, 0.01, what, [&](const Minimal&, const Bodies& bodies) {
      turns.see(angle(model, bodies, "a"));
      gap = std::max(gap, gap_of(model, bodies));
      drift = std::max(drift, std::abs(energy_of(model, bodies) - energy));
    });
    EXPECT_GE(turns.count(), 100) << what;
    EXPECT_LT(gap, 1e-12) << what;
    if (drift < 0.01 * energy) continue;
    // Light cranks pass quickly what heavy rockers turn back from: then the order of the method judges, and half the step has to
    // keep what the whole one did not.
    double finer = 0;
    after(spec, model, *start, 200, 0.005, what,
          [&](const Minimal&, const Bodies& bodies) { finer = std::max(finer, std::abs(energy_of(model, bodies) - energy)); });
    EXPECT_LT(finer, std::min(drift / 12, 0.01 * energy)) << what << ", " << drift / energy << " of the energy lost";
  }
}

/// The smallest singular value of all rows that count (unit rows, angles times the length).
double strength(const Model& model, const Bodies& bodies) { return judge(model, bodies, Load(model)).smallest_kept; }

// Hinges with parallel axes anywhere in space, some of them twice: 3 redundant rows per loop and 5 per double joint. Left out are
// motions that come near a singular configuration of all rows (then minimal may end, and errors are amplified), told by a dense
// decomposition, those in which a joint that was named as independent comes to where it turns back, and those faster than the
// step resolves: 30 rad/s. rk4 with 1 ms then makes (w h)⁵/120 · 400 steps = 8e-8 times
// the reach of the chain, times 1/0.03 for the loops.
TEST(Overconstrained, DrawnPlanarLoopsWithDoubleJointsMoveAsTheUnreducedEquationsSay) {
  int seen = 0, left_out = 0;
  for (int k = 0; k < cases(40); ++k) {
    MechanismOptions options{.bodies = 4 + k % 3, .kinds = {}};
    options.loops = 1 + k % 2, options.redundant = k % 3, options.planar = true, options.passive = options.locked = false;
    options.mass_ratio = 10, options.floating = k % 7 == 6;
    const std::uint64_t at = seed(9200) + static_cast<std::uint64_t>(k);
    Random random(at);
    Mechanism drawn = random_mechanism(random, options);
    for (JointSpec& joint : drawn.spec.joints)
      joint.cut = random.uniform(0, 1) < 0.3, joint.independent = !joint.cut && random.uniform(0, 1) < 0.2;
    const Model model = build(drawn.spec);
    Bodies start = at_rest(model, drawn.X_WB);
    draw_velocities(random, model, start, 0.5, 1.0);
    const std::string what = "seed " + std::to_string(at) + ": " + describe(drawn.spec);
    const int freedoms = 6 * static_cast<int>(start.size()) - judge(model, start, Load(model)).rank;
    double gap = 0, weakest = strength(model, start), fast = 0, named = 1;
    bool ended = false;
    Minimal minimal(model);
    System system(minimal);
    State x;
    minimal.set(start, x);
    EXPECT_EQ(static_cast<int>(minimal.tree().independent().size()), freedoms) << what;
    Bodies bodies = start;
    const auto rk4 = std::move(*make_integrator("rk4"));
    int step = 0;
    const March m = march(drawn.spec, system, *rk4, 0, 0.4, 1e-3, x, [&](double, double) {
      minimal.bodies(x, bodies);
      gap = std::max(gap, gap_of(model, bodies));
      for (const BodyState& s : bodies) fast = std::max(fast, s.w_WB.norm());
      if (minimal.tree().as_wanted()) named = std::min(named, minimal.tree().condition());
      if (++step % 20 == 0) weakest = std::min(weakest, strength(model, bodies));
    });
    weakest = std::min(weakest, strength(model, bodies));
    ended = !m.verdict.ok();
    if (weakest < 0.03 || fast > 30 || named < 0.1) {
      ++left_out;
      continue;
    }
    ++seen;
    EXPECT_FALSE(ended) << what << ": " << name(m.verdict.status) << " at " << m.t << ", weakest " << weakest;
    if (ended) continue;
    EXPECT_LT(gap, 1e-12 * (1 + model.length())) << what;
    EXPECT_LT(distance(model, bodies, unreduced_after(drawn.spec, model, start, 0.4, 1e-3)), 1e-5)
        << what << " weakest " << weakest;
  }
  EXPECT_GT(2 * seen, left_out);
}

}  // namespace
}  // namespace invar::testing
