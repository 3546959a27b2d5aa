// SPDX-License-Identifier: Apache-2.0
// Do error-controlled methods step over cables that get taut, stops that are touched and friction that turns round as if the
// motion were smooth? Against piecewise closed forms, and against themselves with smaller tolerances on drawn mechanisms.
#include "invar/integrate/switching.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "invar/integrate/dopri5.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/switches.hpp"
#include "invar/run/method.hpp"
#include "support/campaign.hpp"
#include "support/march.hpp"
#include "support/random_mechanism.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

IntegratorOptions tolerance(double value) {
  IntegratorOptions o;
  o.dopri5.relative_tolerance = o.dopri5.position_tolerance = o.dopri5.velocity_tolerance = o.dopri5.auxiliary_tolerance = value;
  return o;
}

// A mass that falls along a rail; x is measured downwards from where its cable is just taut.
struct Fall {
  double mass, g, stiffness, damping, x0, v0;
};

ModelSpec rail(double mass, double g) {
  ModelSpec spec;
  spec.gravity = Vec3(0, 0, -g);
  BodySpec body;
  body.name = "mass";
  body.inertia = solid_sphere(mass, 0.1);
  spec.bodies.push_back(body);
  JointSpec joint;
  joint.name = "rail", joint.kind = JointKind::Prismatic, joint.child = "mass", joint.axis = -Vec3::UnitZ();
  spec.joints.push_back(joint);
  return spec;
}

// x and v a time t after (x0, v0), in flight or on the cable: x'' = g, or y'' + 2 d y' + w² y = 0 with y = x - m g/k.
std::pair<double, double> at(const Fall& f, bool pulls, double x0, double v0, double t) {
  if (!pulls) return {x0 + v0 * t + 0.5 * f.g * t * t, v0 + f.g * t};
  const double rest = f.mass * f.g / f.stiffness, d = 0.5 * f.damping / f.mass;
  const double w = std::sqrt(f.stiffness / f.mass - d * d), y0 = x0 - rest;
  const double a = y0, b = (v0 + d * y0) / w, e = std::exp(-d * t), c = std::cos(w * t), s = std::sin(w * t);
  return {rest + e * (a * c + b * s), e * (-d * (a * c + b * s) + w * (b * c - a * s))};
}

// Piece by piece up to t: the end of a piece is bracketed on a fine grid and bisected to the last digit.
std::pair<double, double> closed_form(const Fall& f, double t, int* pieces = nullptr) {
  const auto pulls_at = [&](double x, double v) { return x > 0 && f.stiffness * x + f.damping * v > 0; };
  double x = f.x0, v = f.v0, begun = 0;
  bool pulls = pulls_at(x, v);
  const double grid = 1e-3 * std::sqrt(f.mass / f.stiffness);
  for (double s = grid;; s += grid) {
    const auto [xs, vs] = at(f, pulls, x, v, std::min(s, t - begun));
    if (pulls_at(xs, vs) == pulls) {
      if (s >= t - begun) return {xs, vs};
      continue;
    }
    double low = s - grid, high = std::min(s, t - begun);
    for (int k = 0; k < 60; ++k) {
      const double middle = 0.5 * (low + high);
      const auto [xm, vm] = at(f, pulls, x, v, middle);
      (pulls_at(xm, vm) == pulls ? low : high) = middle;
    }
    std::tie(x, v) = at(f, pulls, x, v, high);
    begun += high, pulls = !pulls, s = 0;
    if (pieces) ++*pieces;
  }
}

struct End {
  double x = 0, v = 0;
  long steps = 0, switches = 0, unheld = 0;
  Verdict verdict;
};

// The coordinate and rate of the first joint after t seconds.
End ride(const ModelSpec& spec, const Model& model, const std::string& formulation, const std::string& integrator, double tol,
         double v0, double t, double q0 = 0) {
  Method method;
  method.formulation = formulation;
  const auto view = make_formulation(model, method);
  System system(*view);
  State x;
  JointState joints = JointState::initial(model);
  joints.q[0] = q0, joints.v[0] = v0;
  Bodies bodies = place(model, joints);
  view->set(bodies, x);
  const auto made = std::move(*make_integrator(integrator, tolerance(tol)));
  End end;
  const March m = march(spec, system, *made, 0, t, t, x);
  end.verdict = m.verdict, end.steps = m.steps;
  const auto& switching = static_cast<const Switching&>(*made);
  end.switches = switching.switches(), end.unheld = switching.unheld();
  view->bodies(x, bodies);
  VecX q = VecX::Zero(model.nq()), v = VecX::Zero(model.nv());
  joint_coordinates(model, bodies, q, v);
  end.x = q[0], end.v = v[0];
  return end;
}

// Drawn masses on drawn damped cables, several times taut and slack within 3 s, in all formulations by both methods. What a step
// may leave is its tolerance in position and, over the time that is left, in velocity (3 s, speeds below 10 m/s by which
// velocities are relative), and getting taut does not amplify: damped cables contract. Steps add up.
TEST(Switching, FollowsTheClosedFormOfACableThatGetsTautAndSlack) {
  Random random(seed(31));
  for (int draw = 0; draw < cases(6); ++draw) {
    Fall f;
    f.mass = std::exp(random.uniform(-2, 2)), f.g = random.uniform(3, 15);
    const double w = random.uniform(8, 40);
    f.stiffness = f.mass * w * w, f.damping = 2 * random.uniform(0.02, 0.3) * w * f.mass;
    f.x0 = -random.uniform(0.1, 1), f.v0 = random.uniform(-1, 1);
    ModelSpec spec = rail(f.mass, f.g);
    TendonSpec cable;
    cable.name = "cable", cable.tension_only = true, cable.stiffness = f.stiffness, cable.damping = f.damping;
    cable.length = 1 - f.x0;
    cable.points = {{"world", "", Vec3(0, 0, 1)}, {"mass", "", Vec3::Zero()}};
    spec.tendons.push_back(cable);
    const Model model = build(spec);
    int pieces = 0;
    const auto [x, v] = closed_form(f, 3, &pieces);
    ASSERT_GE(pieces, 1);
    for (const char* formulation : {"augmented", "minimal", "natural"})
      for (const char* method : {"dopri5", "radau"})
        for (const double tol : {1e-6, 1e-9, 1e-12}) {
          const End end = ride(spec, model, formulation, method, tol, f.v0, 3);
          ASSERT_TRUE(end.verdict.ok()) << formulation << " " << method << " " << tol << " " << name(end.verdict.status);
          const double bound = static_cast<double>(end.steps) * tol * (1 + 10 * 3) + 1e-13 * static_cast<double>(end.steps);
          EXPECT_NEAR(end.x + f.x0, x, bound) << draw << " " << formulation << " " << method << " " << tol;
          EXPECT_NEAR(end.v, v, bound * w) << draw << " " << formulation << " " << method << " " << tol;
          EXPECT_GE(end.switches, pieces) << formulation << " " << method << " " << tol;
          EXPECT_EQ(end.unheld, 0) << formulation << " " << method << " " << tol;
        }
  }
}

// A mass that is thrown up touches the stop at the top of its rail for a moment: half a period of k/m, a hundredth of the step
// that a parabola lets the method take, and at whose end the mass would be below the stop again. x(t) is a parabola, a half swing
// about g/w² beyond the stop, and the same parabola back.
TEST(Switching, SeesAContactThatBeginsAndEndsWithinOneStep) {
  Random random(seed(32));
  for (int draw = 0; draw < cases(10); ++draw) {
    const double g = random.uniform(5, 15), up = random.uniform(2, 4), w = random.uniform(300, 1500),
                 mass = random.uniform(0.2, 5);
    const double limit = random.uniform(0.5, 0.95) * up * up / (2 * g);
    ModelSpec spec = rail(mass, g);
    spec.joints[0].limits.lower = {-limit}, spec.joints[0].limits.stiffness = mass * w * w;
    const Model model = build(spec);
    // Upwards is negative. It meets the stop at t1 with the speed v1, stays until its speed is v1 downwards, and falls.
    const double v1 = std::sqrt(up * up - 2 * g * limit), t1 = (up - v1) / g;
    const double in = 2 * std::atan2(v1 * w, g) / w, fall = 2.5 * v1 / g + 0.2,
                 t = t1 + in + fall;  // 2 v1/g beyond, without a stop
    const double x = -limit + v1 * fall + 0.5 * g * fall * fall, v = v1 + g * fall;
    for (const char* formulation : {"augmented", "minimal", "natural"})
      for (const char* method : {"dopri5", "radau"})
        for (const double tol : {1e-4, 1e-8, 1e-12}) {
          const End end = ride(spec, model, formulation, method, tol, -up, t);
          ASSERT_TRUE(end.verdict.ok()) << formulation << " " << method << " " << tol << " " << name(end.verdict.status);
          const double bound = static_cast<double>(end.steps) * tol * (1 + 6) + 1e-12;
          EXPECT_NEAR(end.x, x, bound) << draw << " " << formulation << " " << method << " " << tol;
          EXPECT_NEAR(end.v, v, bound * (1 + v)) << draw << " " << formulation << " " << method << " " << tol;
        }
  }
}

// A drawn tree whose joints rub and have stops close by, held by cables that are nearly taut.
Sample cabled(std::uint64_t draw) {
  MechanismOptions options;
  options.bodies = 4, options.mass_ratio = 5, options.loops = static_cast<int>(draw % 2), options.locked = false;
  Sample s = random_sample(draw, options);
  Random random(draw, 1);
  for (int k = 0; k < 2; ++k) {
    const auto b = static_cast<std::size_t>(random.below(static_cast<int>(s.model.bodies().size())));
    const Vec3 from = random_vector(random, 1.0), to = s.bodies[b].X_WB(s.model.bodies()[b]).p;
    const double length = (to - from).norm();
    TendonSpec cable;
    cable.name = "cable" + std::to_string(k), cable.tension_only = true;
    cable.stiffness = 200 * s.model.mean_mass(), cable.damping = 4 * s.model.mean_mass();
    cable.length = length * random.uniform(0.95, 1.05);
    cable.points = {{"world", "", from}, {s.model.bodies()[b].name, "", Vec3::Zero()}};
    s.mechanism.spec.tendons.push_back(cable);
  }
  s.model = build(s.mechanism.spec);
  return s;
}

struct Arrival {
  Bodies bodies;
  long steps = 0, switches = 0, unheld = 0;
  bool ok = false;
};

Arrival arrive(const Sample& s, const char* method, double tol) {
  Augmented view(s.model);
  System system(view);
  State x;
  view.set(s.bodies, x);
  const auto made = std::move(*make_integrator(method, tolerance(tol)));
  const March m = march(s.mechanism.spec, system, *made, 0, 0.3, 0.3, x);
  const auto& switching = static_cast<const Switching&>(*made);
  Arrival out{Bodies(s.bodies.size()), m.steps, switching.switches(), switching.unheld(), m.verdict.ok()};
  view.bodies(x, out.bodies);
  return out;
}

double distance(const Bodies& a, const Bodies& b) {
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    largest = std::max({largest, (a[k].p_WC - b[k].p_WC).norm(), log_so3(a[k].q_WB.conjugate() * b[k].q_WB).norm()});
  return largest;
}

// Errors follow the tolerance: a ten-thousandth of it leaves a three-hundredth of the error at least, down to what 1e-12 leaves
// (steps times tolerance, which neighbouring motions carry on for 0.3 s with rates below 30/s).
TEST(Switching, ErrorsFollowTheToleranceOnDrawnMechanismsWithCablesStopsAndFriction) {
  long switches = 0, steps = 0;
  int judged = 0;
  for (int draw = 0; draw < cases(12); ++draw) {
    const Sample s = cabled(seed(900) + static_cast<std::uint64_t>(draw));
    const Arrival best = arrive(s, "dopri5", 1e-12);
    ASSERT_TRUE(best.ok) << draw;
    switches += best.switches, steps += best.steps;
    for (const char* method : {"dopri5", "radau"}) {
      const Arrival coarse = arrive(s, method, 1e-6), fine = arrive(s, method, 1e-10);
      ASSERT_TRUE(coarse.ok && fine.ok) << method << " " << draw;
      const double floor = 1e-12 * static_cast<double>(best.steps) * 1e4;
      EXPECT_LT(distance(fine.bodies, best.bodies), distance(coarse.bodies, best.bodies) / 300 + floor) << method << " " << draw;
      EXPECT_LT(distance(coarse.bodies, best.bodies), 1e-6 * static_cast<double>(coarse.steps) * 1e2) << method << " " << draw;
      ++judged;
    }
  }
  EXPECT_GT(switches, judged) << "drawn mechanisms are to switch";
  EXPECT_LT(switches, steps / 2) << "switches are rare among steps";
}

// Margins are in units of the part that a law belongs to: a neighbour that is not connected changes no bit of them, and neither
// does the unit of length change them by more than rounding.
TEST(Margins, AreThoseOfTheirConnectedPartInAnyUnit) {
  int laws = 0;
  for (int k = 0; k < cases(40); ++k) {
    Random random(seed(98900) + static_cast<std::uint64_t>(k));
    const double by = std::pow(10.0, random.uniform(-5, 5));
    const double mass = random.uniform(0.5, 2), stretch = random.uniform(-0.2, 0.5), rate = random.uniform(-2, 2);
    const auto made = [&](double length, bool neighbour) {
      ModelSpec spec = rail(mass, 9.81 * length);
      spec.bodies[0].inertia.I_C *= length * length;
      spec.joints[0].at_child.p = Vec3(0.3 * length, 0, 0), spec.joints[0].at_parent.p = Vec3(0.3 * length, 0, 0);
      spec.joints[0].limits.stiffness = 100, spec.joints[0].limits.damping = k % 2 == 0 ? 0 : 0.4 / length;
      spec.joints[0].limits.upper = {0.3 * length}, spec.joints[0].limits.lower = {-10 * length};
      TendonSpec cable;
      cable.name = "cable", cable.tension_only = true, cable.stiffness = k % 5 == 4 ? 0 : 50, cable.damping = k % 3 == 0 ? 0 : 7;
      if (cable.stiffness + cable.damping == 0) cable.damping = 3;
      cable.length = length;
      cable.points = {{"world", "", Vec3(0, 0, length)}, {"mass", "", Vec3::Zero()}};
      spec.tendons = {cable};
      if (neighbour) {
        BodySpec other;
        other.name = "other", other.inertia = solid_sphere(1, 1);
        spec.bodies.push_back(other);
        JointSpec joint;
        joint.name = "far", joint.kind = JointKind::Revolute, joint.child = "other", joint.at_child.p = Vec3(1e6, 0, 0);
        spec.joints.push_back(joint);
      }
      return build(spec);
    };
    const auto margins = [&](const Model& model, double length) {
      Switches switches(model);
      Bodies bodies(model.bodies().size());
      bodies[0].p_WC = Vec3(0, 0, -stretch * length), bodies[0].v_WC = Vec3(0, 0, -rate * length);
      if (bodies.size() > 1) bodies[1].p_WC = Vec3(-1e6, 0, 0);
      const VecX wound = VecX::Zero(model.nv());
      switches.hold(bodies, wound);
      VecX out;
      switches.margins(bodies, wound, out);
      return out;
    };
    const VecX alone = margins(made(1, false), 1), beside = margins(made(1, true), 1), other = margins(made(by, false), by);
    ASSERT_GE(alone.size(), 2);
    laws += static_cast<int>(alone.size());
    for (Eigen::Index i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(beside[i], alone[i]) << "case " << k << ", law " << i;
      EXPECT_NEAR(other[i], alone[i], 1e-9 * std::abs(alone[i]) + 1) << "case " << k << ", law " << i << ", " << by;
    }
  }
  EXPECT_GE(laws, 2 * cases(40));
}

}  // namespace
}  // namespace invar::testing
