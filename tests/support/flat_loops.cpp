// SPDX-License-Identifier: Apache-2.0
#include "support/flat_loops.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/system.hpp"
#include "invar/run/start.hpp"
#include "support/linkages.hpp"
#include "support/recorded.hpp"

namespace invar::testing {

Flat flat_loop(Random& random, int base) {
  Flat out;
  const double a = random.uniform(0.6, 1.2), d = random.uniform(1.3, 2.2) * a;
  const double lengths[3] = {a, d, a};
  const char* names[3] = {"crank", "coupler", "rocker"};
  out.theta = random.uniform(0.3, 0.9);
  if (base > 0) {
    BodySpec body;
    body.name = "base", body.inertia = solid_box(random.uniform(5, 20), {d, 0.3, 0.2});
    body.inertia.p_BC = {0.5 * d, 0, -0.4};
    out.spec.bodies.push_back(body);
    JointSpec sling;
    sling.name = "sling", sling.kind = JointKind::Revolute, sling.parent = "world", sling.child = "base";
    sling.at_child.p = {0.3 * d, 0, 0.2};
    sling.axis = base == 1 ? Vec3(-Vec3::UnitY()) : Vec3(Vec3::UnitX());
    out.spec.joints.push_back(sling);
    out.spec.initial["sling"] = {random.uniform(-0.4, 0.4)};
  }
  for (std::size_t i = 0; i < 3; ++i) {
    BodySpec body;
    body.name = names[i];
    const double m = random.uniform(0.5, 4);
    body.inertia = solid_box(m, {lengths[i], 0.05, 0.05});
    body.inertia.p_BC = {random.uniform(0.3, 0.7) * lengths[i], 0, 0};
    const double c = body.inertia.p_BC.x(), about = m * (lengths[i] * lengths[i] + 0.05 * 0.05) / 12 + m * c * c;
    out.A += i == 1 ? m * a * a : about;
    out.B += m * (i == 1 ? a : c);
    out.spec.bodies.push_back(body);
  }
  const auto hinge = [&](const char* name, const char* parent, const char* child, double on_parent, double on_child, double q) {
    JointSpec joint;
    joint.name = name, joint.kind = JointKind::Revolute, joint.parent = parent, joint.child = child;
    joint.at_parent.p = {on_parent, 0, 0}, joint.at_child.p = {on_child, 0, 0}, joint.axis = -Vec3::UnitY();
    joint.cut = joint.name == "knee";
    out.spec.joints.push_back(joint);
    out.spec.initial[name] = {q};
  };
  const char* ground = base > 0 ? "base" : "world";
  hinge("a", ground, "crank", 0, 0, out.theta);
  hinge("b", "crank", "coupler", a, 0, -out.theta);
  hinge("d", ground, "rocker", d, 0, out.theta);
  hinge("knee", "coupler", "rocker", d, a, out.theta);
  out.spec.gravity = {0, 0, -kG};
  return out;
}

ModelSpec unequal_windows(Random& random) {
  ModelSpec spec = windows(2, 8e-4);
  for (BodySpec& body : spec.bodies) {
    const Vec3 along = 2 * body.inertia.p_BC;
    const double m = random.uniform(0.5, 2);
    body.inertia = solid_box(m, Vec3(0.05, 0.05, 0.05) + along);
    body.inertia.p_BC = random.uniform(0.3, 0.7) * along;
  }
  const double lean = random.uniform(0.1, 0.9);
  for (const char* rod : {"a0", "a1", "a2"}) spec.initial[rod] = {-lean};
  for (const char* bar : {"b0", "b1"}) spec.initial[bar] = {lean};
  for (const char* end : {"c0", "c1"}) spec.initial[end] = {-lean};
  return spec;
}

Scenario scenario_of(const ModelSpec& spec, const char* formulation, const char* integrator, double step, double end) {
  Scenario s;
  set_model(s, spec);
  s.start = Start(*s.model);
  s.method.formulation = formulation, s.method.integrator = integrator, s.method.step = step;
  s.end_time = end;
  return s;
}

void with_tolerance(Scenario& s, double tolerance) {
  ErrorControl& o = s.method.options.dopri5;
  o.relative_tolerance = o.position_tolerance = o.velocity_tolerance = o.auxiliary_tolerance = tolerance;
}

double first_flat(const ModelSpec& spec, const std::string& joint, double flat, double h) {
  const Model model = build(spec);
  const int v0 = model.joints()[static_cast<std::size_t>(*model.find_joint(joint))].v0;
  Augmented augmented(model);
  System system(augmented);
  const Result<State> start = state_at(augmented, Start(model));
  if (!start) {
    ADD_FAILURE() << start.error().text();
    return std::numeric_limits<double>::quiet_NaN();
  }
  State x = *start;
  const auto rk4 = std::move(*make_integrator("rk4"));
  rk4->reset(system, x, h);
  for (int k = 0; k * h < 2; ++k) {
    const double q = x.wound[v0] - flat, rate = x.wound_rate[v0];
    double done = 0;
    if (!rk4->step(system, k * h, h, x, done).ok()) break;
    const double to = x.wound[v0] - flat, end_rate = x.wound_rate[v0];
    if (!(std::sin(q) * std::sin(to) <= 0) || std::abs(to - q) > 1) continue;
    const double aim = std::round(0.5 * (q + to) / std::numbers::pi) * std::numbers::pi;
    double low = 0, high = 1;
    const auto at = [&](double s) {
      return (1 + 2 * s) * (1 - s) * (1 - s) * q + s * (1 - s) * (1 - s) * h * rate + s * s * (3 - 2 * s) * to +
             s * s * (s - 1) * h * end_rate - aim;
    };
    for (int i = 0; i < 60; ++i) ((at(0.5 * (low + high)) > 0) == (at(0) > 0) ? low : high) = 0.5 * (low + high);
    return (k + low) * h;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace invar::testing
