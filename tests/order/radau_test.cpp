// SPDX-License-Identifier: Apache-2.0
// Is radau what it claims to be where rates differ by orders of magnitude: as good as dopri5, and not held up by what has died
// out?
#include "invar/integrate/radau.hpp"

#include <gtest/gtest.h>

#include <complex>

#include "invar/base/largest.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/natural.hpp"
#include "support/campaign.hpp"
#include "support/fixed_step.hpp"
#include "support/march.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

ErrorControl tolerance(double all) {
  return {.relative_tolerance = all, .position_tolerance = all, .velocity_tolerance = all, .auxiliary_tolerance = all};
}

/// A flywheel of unit inertia about its axis, with a spring and a damper at its hinge.
Model flywheel(double stiffness, double damping) {
  ModelSpec spec;
  BodySpec body;
  body.name = "wheel";
  body.inertia = {1.0, Vec3::Zero(), Vec3(0.6, 0.6, 1).asDiagonal()};
  spec.bodies.push_back(body);
  JointSpec hinge;
  hinge.name = "axle", hinge.kind = JointKind::Revolute, hinge.child = "wheel";
  hinge.spring.stiffness = {stiffness}, hinge.damping = {damping};
  spec.joints.push_back(hinge);
  return build(spec);
}

/// Padé's quotient of degrees 2 and 3, which is what Radau IIA makes of exp(z) in one step.
std::complex<double> stability(std::complex<double> z) {
  return (1.0 + 2.0 * z / 5.0 + z * z / 20.0) / (1.0 - 3.0 * z / 5.0 + 3.0 * z * z / 20.0 - z * z * z / 60.0);
}

// The wheel is linear: v' = -k q - c v has the eigenvalues λ, and one step takes an eigenvector by R(λh). Newton's remainder is
// 1e-12, rates are of order one; 1e-11 leaves room for sums over both eigenvectors. For |λh| = 2400 the transient is gone to
// 3/|λh| within one step of a thousand time constants, where R of an A-stable method alone could leave it ringing.
TEST(Radau, MultipliesAnEigenvectorByItsStabilityFunction) {
  const struct {
    double k, c, h;
  } cases[] = {{0, 1, 0.3}, {0, 2.4e4, 0.1}, {9, 0.5, 0.2}, {1e6, 10, 0.05}, {400, 1e3, 0.2}};
  for (const auto& [k, c, h] : cases)
    for (const bool minimal : {true, false}) {
      const Model model = flywheel(k, c);
      const auto formulation = minimal ? std::unique_ptr<Formulation>(std::make_unique<Minimal>(model))
                                       : std::unique_ptr<Formulation>(std::make_unique<Augmented>(model));
      System system(*formulation);
      State x;
      Bodies bodies(1);
      bodies[0].w_WB = Vec3(0, 0, 1);
      formulation->set(bodies, x);
      double done = 0;
      const auto radau = fixed_step("radau", h);
      radau->reset(system, x, h);
      ASSERT_TRUE(radau->step(system, 0, h, x, done).ok());
      ASSERT_EQ(done, h);
      formulation->bodies(x, bodies);

      // (q, v) = (0, 1) in eigenvectors (1, λ): v = Σ λ w R(λh) with w = ±1/(λ1 - λ2).
      const std::complex<double> root = std::sqrt(std::complex<double>(c * c - 4 * k)), l1 = (-c + root) / 2.0,
                                 l2 = (-c - root) / 2.0;
      const auto v = (l1 * stability(l1 * h) - l2 * stability(l2 * h)) / (l1 - l2);
      EXPECT_NEAR(bodies[0].w_WB.z(), v.real(), 1e-11) << k << " " << c << " " << minimal;
      if (k == 0 && c > 1e4) {
        EXPECT_LE(std::abs(bodies[0].w_WB.z()), 3.1 / (c * h));
      }
    }
}

// A rate of a tenth of the tolerance dies out within any step, so it can be off by no more than itself and no step need be
// shorter for it. Its slope is 2.4e5 times larger: an estimate that took slopes for errors would be 2e3 tolerances.
TEST(Radau, IsNotHeldUpByAStiffDeviationBelowItsTolerance) {
  const Model model = flywheel(0, 2.4e5);
  Minimal minimal(model);
  System system(minimal);
  State x;
  Bodies bodies(1);
  bodies[0].w_WB = Vec3(0, 0, 1e-7);
  minimal.set(bodies, x);
  ErrorControl control = tolerance(1e-6);
  control.h_first = 0.1;
  Radau radau(control);
  radau.reset(system, x, 0.1);
  double done = 0;
  ASSERT_TRUE(radau.step(system, 0, 0.1, x, done).ok());
  EXPECT_EQ(done, 0.1);
  EXPECT_EQ(radau.refused(), 0);
  EXPECT_LE(std::abs(x.v[0]), 3.01 / (2.4e5 * 0.1) * 1e-7);  // |R(z)| -> 3/|z|
}

/// Two links swinging; the damper of the second hinge stops what the links do against each other at the rate `rate`.
struct Elbow {
  ModelSpec spec;
  Model model;
  Bodies start;
  explicit Elbow(double rate, bool locked = false) : spec(make(rate, locked)), model(build(spec)) {
    start.resize(2);
    start[0].p_WC = Vec3(0, 0.5, 0), start[1].p_WC = Vec3(0, 1.5, 0);
    if (!locked) start[1].w_WB = Vec3(4, 0, 0), start[1].v_WC = Vec3(0, 0, 2);
  }

  static ModelSpec make(double rate, bool locked) {
    ModelSpec spec;
    for (const char* name : {"upper", "lower"}) {
      BodySpec body;
      body.name = name;
      body.inertia = solid_box(1, {0.05, 1, 0.05});
      spec.bodies.push_back(body);
    }
    JointSpec shoulder, elbow;
    shoulder.name = "shoulder", shoulder.kind = JointKind::Revolute, shoulder.child = "upper", shoulder.axis = Vec3::UnitX();
    shoulder.at_child.p = Vec3(0, -0.5, 0);
    elbow.name = "elbow", elbow.kind = JointKind::Revolute, elbow.parent = "upper", elbow.child = "lower";
    elbow.axis = Vec3::UnitX(), elbow.at_parent.p = Vec3(0, 0.5, 0), elbow.at_child.p = Vec3(0, -0.5, 0);
    elbow.locked = locked;
    // With the shoulder free, a unit moment at the straight elbow changes the rate between the links by g = tᵀ M⁻¹ t.
    const double I = spec.bodies[0].inertia.I_C(0, 0), a = I + 0.25, M11 = a + I + 2.25, M12 = I + 0.75, M22 = a;
    const double g = M11 / (M11 * M22 - M12 * M12);
    elbow.damping = {rate / g};
    spec.joints = {shoulder, elbow};
    return spec;
  }
};

struct Count {
  long steps = 0;
  double angle = 0;  ///< of the upper link, rad
  double rise = 0;   ///< J; largest gain of energy in one step
  long evaluations = 0, jacobians = 0;
};

double energy_of(const Model& model, const Bodies& bodies) {
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  return energy(model, bodies, q, v).total();
}

template <class Method>
Count swing(const Elbow& e, Method& method, double end) {
  Minimal minimal(e.model);
  System system(minimal);
  State x;
  minimal.set(e.start, x);
  Count count;
  Bodies bodies;
  double before = energy_of(e.model, e.start);
  const March m = march(e.spec, system, method, 0, end, end, x, [&](double, double) {
    minimal.bodies(x, bodies);
    const double now = energy_of(e.model, bodies);
    count.rise = std::max(count.rise, now - before);
    count.evaluations += method.report().evaluations;
    before = now;
  });
  EXPECT_TRUE(m.verdict.ok()) << name(m.verdict.status) << " at " << m.t;
  minimal.bodies(x, bodies);
  count.angle = log_so3(bodies[0].q_WB).x();
  count.steps = m.steps;
  return count;
}

// What remains once the elbow is at rest is the swing of one rigid link. Radau needs its steps, and those of the transient: h
// grows by up to fifty per step from the first to the last, with refusals some 20 steps. An explicit method is stable for h rate
// < 3.3 or so, the whole time.
TEST(Radau, TakesTheStepsOfTheSlowMotionWhateverTheRateOfADamper) {
  const ErrorControl control = tolerance(1e-6);
  Radau radau(control);
  const Count rigid = swing(Elbow(1, true), radau, 2);
  for (const double rate : {2.4e3, 2.4e4, 2.4e5, 2.4e6}) {
    const Elbow e(rate);
    const Count c = swing(e, radau, 2);
    EXPECT_LE(c.steps, 2 * rigid.steps + 40) << rate;
    EXPECT_LE(c.evaluations, 60 * c.steps) << rate;
    if (rate > 3e4) continue;
    Dopri5 dopri5(control);
    const Count explicit_steps = swing(e, dopri5, 2);
    EXPECT_GE(static_cast<double>(explicit_steps.steps), 2 * rate / 4) << rate;
    // Both within their tolerances: steps times 1e-6, dopri5 taking thousands with errors far below it.
    EXPECT_NEAR(c.angle, explicit_steps.angle, 1e-6 * static_cast<double>(c.steps)) << rate;
  }
}

// A damper takes energy. What a step of error 1e-8 may add is |∂E/∂y| times that: efforts below 20 N m on the angles, momenta
// below 30 on the rates.
TEST(Radau, NeverGainsEnergyFromADamper) {
  for (const double rate : {1.0, 100.0, 2.4e4, 2.4e6}) {
    Radau radau(tolerance(1e-8));
    const Count c = swing(Elbow(rate), radau, 2);
    EXPECT_LE(c.rise, 50 * 1e-8 * 10) << rate;
  }
}

/// Counts how often it is asked.
class Asked final : public Environment {
 public:
  void add(Instant, const Bodies&, Load&) const override { ++count; }
  mutable long count = 0;
};

TEST(Radau, CountsItsEvaluations) {
  const Elbow e(2.4e4);
  Minimal minimal(e.model);
  System system(minimal);
  const Asked asked;
  system.add(asked);
  State x;
  minimal.set(e.start, x);
  Radau radau(tolerance(1e-7));
  radau.reset(system, x, 1);
  long iterations = 0;
  for (int k = 0; k < 60; ++k) {
    const long before = asked.count;
    double done = 0;
    ASSERT_TRUE(radau.step(system, k, 1, x, done).ok());
    EXPECT_EQ(radau.report().evaluations, asked.count - before) << k;
    EXPECT_GE(radau.report().evaluations, 3 * radau.report().iterations);
    iterations += radau.report().iterations;
  }
  // A Jacobian serves many steps.
  EXPECT_LE(radau.jacobians(), 25);
  EXPECT_GE(iterations, 60);
}

/// The same mechanism in every formulation that takes it.
std::vector<std::unique_ptr<Formulation>> formulations(const Model& model) {
  std::vector<std::unique_ptr<Formulation>> out;
  out.push_back(std::make_unique<Augmented>(model));
  out.push_back(std::make_unique<Minimal>(model));
  if (natural_objection(model).empty()) out.push_back(std::make_unique<Natural>(model));
  return out;
}

// Errors of both are some ten to a hundred times the tolerance (docs/integrators.md), radau's less, because its estimate is of
// lower order than its result. With 1e-10 and 0.3 s of motion at some m/s they agree to 1e-7 or so of it.
TEST(Radau, AgreesWithDopri5OnDrawnMechanisms) {
  int compared = 0, ended = 0;
  for (int i = 0; i < cases(12); ++i) {
    MechanismOptions o{.bodies = 2 + i % 3, .mass_ratio = 5, .kinds = {}};
    o.floating = i % 4 == 3;
    if (i % 3 == 1) o.bodies = 5, o.loops = 1;
    if (i % 3 == 2) o.couplings = 1;
    const Sample s = random_sample(seed(8800) + static_cast<std::uint64_t>(i), o);
    for (const auto& formulation : formulations(s.model)) {
      Bodies end[2];
      bool ok = true;
      for (const bool implicit : {false, true}) {
        System system(*formulation);
        State x;
        formulation->set(s.bodies, x);
        IntegratorOptions options;
        options.dopri5 = tolerance(1e-10);
        const auto method = std::move(*make_integrator(implicit ? "radau" : "dopri5", options));
        ok = march(s.mechanism.spec, system, *method, 0, 0.3, 0.3, x).verdict.ok() && ok;
        formulation->bodies(x, end[implicit]);
      }
      ++(ok ? compared : ended);
      for (std::size_t b = 0; ok && b < end[0].size(); ++b) {
        const double speed = 1 + end[0][b].v_WC.norm() + end[0][b].w_WB.norm();
        EXPECT_LE((end[0][b].p_WC - end[1][b].p_WC).norm(), 1e-7 * speed) << i << describe(s.mechanism.spec);
        EXPECT_LE((end[0][b].v_WC - end[1][b].v_WC).norm(), 1e-6 * speed) << i << describe(s.mechanism.spec);
        EXPECT_LE((end[0][b].w_WB - end[1][b].w_WB).norm(), 1e-6 * speed) << i << describe(s.mechanism.spec);
      }
    }
  }
  EXPECT_LE(5 * ended, compared) << ended << " ended early";
}

}  // namespace
}  // namespace invar::testing
