// SPDX-License-Identifier: Apache-2.0
//
// Freedoms that a file names as independent ones, driven to where they turn back (the rocker of a four-bar, the slider of a
// slider-crank): there they no longer tell the two ways to go on apart. The motion knows nothing of that. It goes on in other
// freedoms, with its energy, and the run says so; or the run ends. Judges: energy, and the same motion with no freedom named, in
// unreduced coordinates.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "invar/base/random.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/outcome.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

BodySpec link(Random& random, const char* name, double length) {
  BodySpec body;
  body.name = name, body.inertia = solid_box(random.uniform(0.5, 3), {length, 0.05, 0.05});
  body.inertia.p_BC = {random.uniform(0.3, 0.7) * length, 0, 0};
  return body;
}

JointSpec joint(const char* name, JointKind kind, const char* parent, const char* child, double on_parent, double on_child) {
  JointSpec out;
  out.name = name, out.kind = kind, out.parent = parent, out.child = child;
  out.at_parent.p = {on_parent, 0, 0}, out.at_child.p = {on_child, 0, 0};
  out.axis = kind == JointKind::Prismatic ? Vec3(Vec3::UnitX()) : Vec3(-Vec3::UnitY());
  return out;
}

/// A four-bar in the x-z plane; crank-rockers (shortest plus longest below the other two, by a tenth) and, `rocks`, loops in
/// which nothing turns fully (above, by a tenth).
ModelSpec drawn_four_bar(Random& random, bool rocks) {
  double l[4], at = 0, x = 0, z = 0, d = 0, corner = 2;
  const auto closes = [&] {
    at = random.uniform(0.6, 2.2);
    x = l[3] - l[0] * std::cos(at), z = -l[0] * std::sin(at), d = std::hypot(x, z);
    corner = (d * d + l[1] * l[1] - l[2] * l[2]) / (2 * d * l[1]);
    return std::abs(corner) < 0.9;
  };
  const auto right_sort = [&] {
    for (double& length : l) length = random.uniform(0.4, 1.2);
    if (!rocks) std::swap(l[0], *std::min_element(l, l + 4));
    const double half = 0.5 * (l[0] + l[1] + l[2] + l[3]), ends = *std::min_element(l, l + 4) + *std::max_element(l, l + 4);
    return (rocks ? ends - half : half - ends) > 0.1 * half;
  };
  while (!right_sort() || !closes()) continue;
  ModelSpec spec;
  spec.bodies = {link(random, "crank", l[0]), link(random, "coupler", l[1]), link(random, "rocker", l[2])};
  spec.joints = {joint("a", JointKind::Revolute, "world", "crank", 0, 0),
                 joint("b", JointKind::Revolute, "crank", "coupler", l[0], 0),
                 joint("c", JointKind::Revolute, "coupler", "rocker", l[1], l[2]),
                 joint("d", JointKind::Revolute, "world", "rocker", l[3], 0)};
  const double coupler = std::atan2(z, x) + std::acos(corner);
  const double rocker = std::atan2(l[1] * std::sin(coupler) - z, l[1] * std::cos(coupler) - x);
  spec.initial = {{"a", {at}}, {"b", {coupler - at}}, {"c", {rocker - coupler}}, {"d", {rocker}}};
  return spec;
}

/// A slider-crank, rod half as long again as the crank or more, the slider's line beside the pivot.
ModelSpec drawn_slider_crank(Random& random) {
  const double a = random.uniform(0.3, 0.8), b = random.uniform(1.5, 3) * a, beside = random.uniform(-0.2, 0.2) * a;
  const double at = random.uniform(0.6, 2.2);
  ModelSpec spec;
  spec.bodies = {link(random, "crank", a), link(random, "rod", b), link(random, "slider", 0.1)};
  spec.joints = {joint("a", JointKind::Revolute, "world", "crank", 0, 0), joint("b", JointKind::Revolute, "crank", "rod", a, 0),
                 joint("c", JointKind::Revolute, "rod", "slider", b, 0),
                 joint("s", JointKind::Prismatic, "world", "slider", 0, 0)};
  spec.joints[3].at_parent.p = {0, 0, beside};
  const double rod = std::asin((beside - a * std::sin(at)) / b);
  spec.initial = {{"a", {at}}, {"b", {rod - at}}, {"c", {-rod}}, {"s", {a * std::cos(at) + b * std::cos(rod)}}};
  return spec;
}

Scenario scenario_of(const ModelSpec& spec, double rate, const char* formulation, const char* integrator, double h, double end) {
  Scenario s;
  set_model(s, spec);
  s.start = Start(*s.model);
  s.start.named.assign(spec.joints.size(), false);
  s.start.named[0] = true;
  s.start.joints.v[0] = rate;
  s.method.formulation = formulation, s.method.integrator = integrator, s.method.step = h;
  ErrorControl& o = s.method.options.dopri5;
  o.relative_tolerance = o.position_tolerance = o.velocity_tolerance = o.auxiliary_tolerance = 1e-9;
  s.end_time = end;
  return s;
}

/// Every joint named in turn, and none.
template <class F>
void for_every_name(const ModelSpec& spec, F&& f) {
  for (std::size_t named = 0; named <= spec.joints.size(); ++named) {
    ModelSpec described = spec;
    if (named < spec.joints.size()) described.joints[named].independent = true;
    f(described, named < spec.joints.size() ? spec.joints[named].name : std::string("none"));
  }
}

double largest_rate(const Memory& memory, const ModelSpec& spec) {
  double w = 0;
  for (const JointSpec& j : spec.joints)
    for (std::size_t k = 0; k < memory.size() && j.kind == JointKind::Revolute; ++k)
      w = std::max(w, std::abs(memory.at("joints/" + j.name + "/v", k)[0]));
  return w;
}

ModelSpec drawn(int k, Random& random) { return k % 3 == 2 ? drawn_slider_crank(random) : drawn_four_bar(random, k % 3 == 1); }

// rk4 with 1 ms. Where a freedom moves ten times as fast as the one that describes it, errors are those of ten times the rate:
// (10 w h)⁵/120 of the energies in the few steps there, (w h)⁵/60 in all others. One freedom: energy is the motion but for its
// direction, and one that went back the way it came would be elsewhere by a rad; 0.01 leaves room for the time by which errors of
// energy shift it.
TEST(NamedFreedoms, AreGivenUpWhereTheyEndAndEnergyIsKept) {
  const double h = 1e-3, end = 1;
  int given_up = 0;
  for (int k = 0; k < cases(6); ++k) {
    Random random(seed(9500) + static_cast<std::uint64_t>(k));
    const ModelSpec spec = drawn(k, random);
    const double rate = random.uniform(-6, 6);
    Memory truth;
    const Outcome unreduced = outcome_of(scenario_of(spec, rate, "augmented", "rk4", h, end), &truth);
    ASSERT_EQ(unreduced.end, Outcome::End::Finished) << unreduced.words << " seed " << 9500 + k;
    const double w = largest_rate(truth, spec), kinetic = metric(unreduced, "kinetic_max");
    if (metric(unreduced, "singular_passages") > 0) continue;
    for_every_name(spec, [&](const ModelSpec& described, const std::string& name) {
      const std::string what = fmt::format("seed {}, named {}", 9500 + k, name);
      Memory memory;
      const Outcome out = outcome_of(scenario_of(described, rate, "minimal", "rk4", h, end), &memory);
      ASSERT_EQ(out.end, Outcome::End::Finished) << what << ": " << out.words;
      EXPECT_LT(metric(out, "energy_drift"),
                (end / h * std::pow(w * h, 5) / 60 + 20 * std::pow(10 * w * h, 5) / 120) * kinetic + 1e-9)
          << what;
      for (const JointSpec& j : spec.joints)
        EXPECT_NEAR(std::remainder(memory.last("joints/" + j.name + "/q")[0] - truth.last("joints/" + j.name + "/q")[0],
                                   2 * std::numbers::pi),
                    0, 0.01)
            << what << ", joint " << j.name;
      for (const std::string& note : out.notes)
        if (name != "none" && has(note, "independent coordinates are now")) {
          ++given_up;
          break;
        }
    });
  }
  EXPECT_GT(given_up, cases(6) / 2);
}

// Every step may be off by the tolerance, in parts of the rates: twice that of the energies.
TEST(NamedFreedoms, AreGivenUpUnderErrorControl) {
  for (int k = 0; k < cases(6); ++k) {
    Random random(seed(9600) + static_cast<std::uint64_t>(k));
    const ModelSpec spec = drawn(k, random);
    const double rate = random.uniform(-6, 6);
    for_every_name(spec, [&](const ModelSpec& described, const std::string& name) {
      const std::string what = fmt::format("seed {}, named {}", 9600 + k, name);
      const Outcome out = outcome_of(scenario_of(described, rate, "minimal", "dopri5", 0, 1));
      ASSERT_EQ(out.end, Outcome::End::Finished) << what << ": " << out.words;
      EXPECT_LT(metric(out, "energy_drift"), 2 * metric(out, "steps") * 1e-9 * (metric(out, "kinetic_max") + 1)) << what;
    });
  }
}

// Whatever the step: energy is kept, or the run does not say that all is well. Steps up to a turn and more; "kept" is what such a
// step can: within a tenth of the energies. (Steps that are too long make all methods inaccurate: then the power balance says
// so.)
TEST(NamedFreedoms, NeverLoseEnergySilentlyWithLongSteps) {
  int finished = 0;
  for (int k = 0; k < cases(12); ++k) {
    Random random(seed(9700) + static_cast<std::uint64_t>(k));
    const ModelSpec spec = drawn(k, random);
    const double rate = random.uniform(-12, 12), h = std::pow(10.0, -random.uniform(1, 2.5));
    for_every_name(spec, [&](const ModelSpec& described, const std::string& name) {
      const Outcome out = outcome_of(scenario_of(described, rate, "minimal", "rk4", h, 1));
      if (out.end != Outcome::End::Finished || !out.unresolved.empty()) return;
      ++finished;
      EXPECT_LT(metric(out, "energy_drift"), 0.1 * metric(out, "kinetic_max"))
          << "seed " << 9700 + k << ", named " << name << ", h " << h;
    });
  }
  EXPECT_GT(finished, cases(12));
}

// Beyond the reach of a freedom nothing closes: the nearest that all rows come to closed is not closed. A hinge holds five rows,
// of which a plane loop needs two.
TEST(NamedFreedoms, BeyondTheirReachNothingIsCalledClosed) {
  int closed = 0, open = 0;
  for (int k = 0; k < cases(40); ++k) {
    Random random(seed(9800) + static_cast<std::uint64_t>(k));
    ModelSpec spec = drawn(k, random);
    spec.joints[static_cast<std::size_t>(random.below(4))].independent = true;
    const Model model = build(spec);
    Minimal minimal(model);
    State x;
    minimal.set(place(model, JointState::initial(model)), x);
    const int free = minimal.tree().independent().front();
    VecX q = x.q, v = x.v;
    Bodies bodies;
    for (int i = 0; i < 200; ++i) {
      q[minimal.tree().coordinate_of(free)] += 0.02;
      VecX moved = q;
      if (!minimal.tree().complete(moved, v, x.wound, bodies).ok()) {
        ++open;
        break;
      }
      ++closed;
      EXPECT_LT(constraint_error(model, bodies, VecX::Zero(model.nv())).position, 1e-7) << "seed " << 9800 + k << ", " << i;
      q = moved;
    }
  }
  EXPECT_GT(closed, cases(40));
  EXPECT_GT(open, cases(40) / 4);
}

}  // namespace
}  // namespace invar::testing
