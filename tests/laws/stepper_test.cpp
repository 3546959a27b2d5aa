// SPDX-License-Identifier: Apache-2.0
//
// What steppers keep, step by step, on drawn mechanisms. Bounds: numbers of a step are rounded at u = 1.1e-16 of energies
// (largest of kinetic and potential, S), and a step adds up a few dozen of them: 2e-14 S. The worst of some hundred cases
// was 1.5e-15 S. Constraint rows are pure numbers of order one.
#include <gtest/gtest.h>

#include "invar/control/disturbance.hpp"
#include "invar/integrate/petrov_galerkin.hpp"
#include "invar/integrate/rattle.hpp"
#include "invar/mech/energy.hpp"
#include "support/campaign.hpp"
#include "support/natural_samples.hpp"

namespace invar::testing {
namespace {

constexpr double kEnergy = 2e-14, kRows = 2e-14, kRates = 1e-11;

/// What the steps of one motion did, relative to the largest energy where it is one.
struct Kept {
  Verdict verdict;
  double energy = 0;    // largest change of H - work + dissipated within one step
  double rows = 0;      // largest |g|
  double rates = 0;     // largest |G v|
  double momentum = 0;  // largest change of linear and angular momentum within one step, of the Bodies
  double dissipated_least = 0;
};

Kept watch(const Model& model, const Bodies& bodies, Integrator& method, double h, int steps,
           const std::vector<const Environment*>& acting = {}) {
  Natural natural(model);
  System system(natural);
  for (const Environment* e : acting) system.add(*e);
  State x;
  natural.set(bodies, x);
  method.reset(system, x, h);
  const NaturalCoordinates& c = natural.coordinates();
  VecX r(c.rows());
  Bodies now;
  Kept kept;
  double size = 0.5 * c.twice_kinetic(x.v) + model.mean_mass(), before = natural.hamiltonian(x), lost = 0;
  Momentum last = momentum(model, bodies);
  for (int k = 0; k < steps; ++k) {
    double done = 0;
    kept.verdict = method.step(system, k * h, h, x, done);
    if (!kept.verdict.ok()) return kept;
    size = std::max({size, 0.5 * c.twice_kinetic(x.v), std::abs(natural.hamiltonian(x)), std::abs(x.aux[kWork])});
    const double balance = natural.hamiltonian(x) - x.aux[kWork] + x.aux[kDissipated];
    kept.energy = std::max(kept.energy, std::abs(balance - before) / size);
    before = balance;
    kept.dissipated_least = std::min(kept.dissipated_least, x.aux[kDissipated] - lost);
    lost = x.aux[kDissipated];
    c.residual(x.q, r);
    kept.rows = std::max(kept.rows, r.lpNorm<Eigen::Infinity>());
    c.apply_rows(x.q, x.v, r);
    kept.rates = std::max(kept.rates, r.lpNorm<Eigen::Infinity>());
    natural.bodies(x, now);
    const Momentum p = momentum(model, now);
    kept.momentum = std::max({kept.momentum, (p.linear - last.linear).norm(), (p.angular - last.angular).norm()});
    last = p;
  }
  return kept;
}

std::string where(std::uint64_t at, const Sample& s) { return "seed " + std::to_string(at) + ": " + describe(s.mechanism.spec); }

TEST(DiscreteGradient, KeepsEnergyAndConstraintsWithSpringsStopsAndTendons) {
  for (int k = 0; k < cases(30); ++k) {
    const std::uint64_t at = seed(5000) + static_cast<std::uint64_t>(k);
    const MechanismOptions options{
        .bodies = 2 + k % 5, .loops = k % 4 == 3 ? 1 : 0, .floating = k % 5 == 0, .mass_ratio = 10, .kinds = {}};
    const Sample s = natural_sample(at, options, k % 3, true);
    PetrovGalerkin method({.degree = 0, .discrete = true, .stabilised = k % 2 == 1});
    const Kept kept = watch(s.model, s.bodies, method, 0.01, 40);
    ASSERT_TRUE(kept.verdict.ok()) << name(kept.verdict.status) << " " << where(at, s);
    EXPECT_LT(kept.energy, kEnergy) << where(at, s);
    EXPECT_LT(kept.rows, kRows) << where(at, s);
    EXPECT_GE(kept.dissipated_least, -1e-15) << where(at, s);
    if (k % 2 == 1) {
      EXPECT_LT(kept.rates, kRates) << where(at, s);
    }
  }
}

TEST(PetrovGalerkin, OfAnyDegreeKeepsEnergyAndConstraintsWithoutSprings) {
  for (int k = 0; k < cases(24); ++k) {
    const std::uint64_t at = seed(5300) + static_cast<std::uint64_t>(k);
    const MechanismOptions options{
        .bodies = 1 + k % 4, .loops = k % 3 == 2 ? 1 : 0, .mass_ratio = 10, .passive = false, .kinds = {}};
    const Sample s = natural_sample(at, options, 0);
    PetrovGalerkin method({.degree = k % 4, .stabilised = k % 8 >= 4});
    const Kept kept = watch(s.model, s.bodies, method, 0.01, 15);
    ASSERT_TRUE(kept.verdict.ok()) << name(kept.verdict.status) << " " << where(at, s);
    EXPECT_LT(kept.energy, kEnergy) << where(at, s);
    EXPECT_LT(kept.rows, kRows) << where(at, s);
  }
}

TEST(PetrovGalerkin, KeepsEnergyInTheRedundantLoopsOfThePlaneSeenInSpace) {
  for (int degree = 0; degree <= 3; ++degree) {
    const Sample s = natural_sample(
        seed(5350), {.bodies = 5, .loops = 1, .mass_ratio = 10, .passive = false, .locked = false, .planar = true, .kinds = {}},
        0);
    Natural natural(s.model, {.flat = false});
    System system(natural);
    State x;
    natural.set(s.bodies, x);
    PetrovGalerkin method({.degree = degree});
    method.reset(system, x, 0.02);
    double H = natural.hamiltonian(x), size = std::abs(H) + natural.coordinates().twice_kinetic(x.v);
    for (int k = 0; k < 20; ++k) {
      double done = 0;
      ASSERT_TRUE(method.step(system, 0.02 * k, 0.02, x, done).ok());
      EXPECT_NEAR(natural.hamiltonian(x), H, kEnergy * size) << "degree " << degree;
      H = natural.hamiltonian(x);
    }
  }
}

// Nothing is held and nothing pulls from outside: both momenta of the Bodies stay. They are read from projected velocities, so
// that the plain scheme has them in its own velocities only; here bodies have rigid ones (stabilised).
TEST(FloatingMechanism, KeepsItsMomentaUnderDiscreteGradientAndMidpoint) {
  for (int k = 0; k < cases(12); ++k) {
    const std::uint64_t at = seed(5400) + static_cast<std::uint64_t>(k);
    Random random(at);
    Mechanism m = random_mechanism(
        random, {.bodies = 2 + k % 4,
                 .floating = true,
                 .mass_ratio = 10,
                 .passive = false,
                 .locked = false,
                 .kinds = {JointKind::Revolute, JointKind::Spherical, JointKind::Prismatic, JointKind::Universal}});
    m.spec.gravity.setZero();
    add_tendons(random, m.spec, 2, 20);
    for (TendonSpec& tendon : m.spec.tendons)
      for (PointSpec& point : tendon.points)
        if (point.body == "world") point.body = m.spec.bodies[0].name;
    std::erase_if(m.spec.tendons, [](const TendonSpec& t) {
      return std::all_of(t.points.begin(), t.points.end(), [&](const PointSpec& p) { return p.body == t.points[0].body; });
    });
    const Model model = build(m.spec);
    Bodies bodies = at_rest(model, m.X_WB);
    draw_velocities(random, model, bodies);
    double size = 0;
    for (std::size_t b = 0; b < bodies.size(); ++b)
      size += model.bodies()[b].inertia.mass * (bodies[b].v_WC.norm() + model.length() * bodies[b].w_WB.norm()) *
              (1 + bodies[b].p_WC.norm());
    for (const bool discrete : {true, false}) {
      PetrovGalerkin method({.degree = 0, .quadrature = 1, .discrete = discrete, .stabilised = true});
      const Kept kept = watch(model, bodies, method, 0.01, 40);
      ASSERT_TRUE(kept.verdict.ok()) << describe(m.spec);
      EXPECT_LT(kept.momentum, 1e-13 * (1 + size)) << "discrete " << discrete << ", seed " << at << ": " << describe(m.spec);
    }
  }
}

TEST(PowerBalance, HoldsInEveryStepWithInputsAndDamping) {
  for (int k = 0; k < cases(16); ++k) {
    const std::uint64_t at = seed(5500) + static_cast<std::uint64_t>(k);
    const MechanismOptions options{.bodies = 2 + k % 4, .loops = k % 4 == 3 ? 1 : 0, .mass_ratio = 10, .kinds = {}};
    const Sample s = natural_sample(at, options, 1 + k % 2, true);
    DisturbanceSpec push;
    push.body = s.model.bodies()[0].name;
    push.axes = k % 2 == 0 ? Axes::World : Axes::Local;
    push.force = Vec3(1, -2, 0.5);
    push.moment = Vec3(0.2, 0.1, -0.3);
    push.signal = Sinusoid{1.0, 3.0, 0.1, 0};
    const Disturbance disturbance = *Disturbance::build(s.model, push);
    std::vector<std::unique_ptr<Environment>> motors;
    for (const Joint& joint : s.model.joints())
      for (int f = 0; f < joint.nv; ++f)
        motors.push_back(std::make_unique<EffortSignal>(*EffortSignal::build(s.model, {joint.name, f, Constant{0.7}})));
    std::vector<const Environment*> acting = {&disturbance};
    for (const auto& motor : motors) acting.push_back(motor.get());
    PetrovGalerkin method({.degree = 0, .discrete = true, .stabilised = k % 2 == 0});
    const Kept kept = watch(s.model, s.bodies, method, 0.005, 30, acting);
    ASSERT_TRUE(kept.verdict.ok()) << name(kept.verdict.status) << " " << where(at, s);
    EXPECT_LT(kept.energy, 1e-14) << where(at, s);
    EXPECT_LT(kept.rows, kRows) << where(at, s);
    EXPECT_GE(kept.dissipated_least, -1e-15) << where(at, s);
  }
}

// The scheme as printed keeps g but not G v at the nodes; the stabilised one keeps both. Constraint velocities are O(h²): far
// above rounding at this step, so that the first half could fail.
TEST(PrintedScheme, KeepsPositionsButNotVelocitiesOnTheConstraints) {
  const Sample s = planar_chain(seed(5600), 3, true, 1);
  PetrovGalerkin plain({.degree = 0, .discrete = true}), stabilised({.degree = 0, .discrete = true, .stabilised = true});
  const Kept printed = watch(s.model, s.bodies, plain, 0.02, 50), cured = watch(s.model, s.bodies, stabilised, 0.02, 50);
  ASSERT_TRUE(printed.verdict.ok() && cured.verdict.ok());
  EXPECT_LT(printed.rows, kRows);
  EXPECT_GT(printed.rates, 1e-6);
  EXPECT_LT(cured.rows, kRows);
  EXPECT_LT(cured.rates, 1e-13);
}

TEST(Rattle, KeepsPositionsAndVelocitiesOnTheConstraints) {
  for (int k = 0; k < cases(12); ++k) {
    const std::uint64_t at = seed(5700) + static_cast<std::uint64_t>(k);
    const Sample s =
        natural_sample(at, {.bodies = 2 + k % 4, .loops = k % 3 == 2 ? 1 : 0, .mass_ratio = 10, .kinds = {}}, k % 2, true);
    Rattle method;
    const Kept kept = watch(s.model, s.bodies, method, 0.001, 40);
    ASSERT_TRUE(kept.verdict.ok()) << name(kept.verdict.status) << " " << where(at, s);
    EXPECT_LT(kept.rows, kRows) << where(at, s);
    EXPECT_LT(kept.rates, kRates) << where(at, s);
  }
}

// Energy and what dampers took are off by O(h²) together: a quarter at half the step. Dampers take most of the energy here, so
// that a wrong account would stay as it is.
TEST(Rattle, AccountsForItsDampersToSecondOrder) {
  Sample s = planar_chain(seed(5750), 3, true, 0);
  for (JointSpec& joint : s.mechanism.spec.joints) joint.damping = {2.0};
  const Model model = build(s.mechanism.spec);
  const auto off = [&](int steps) {
    Natural natural(model);
    System system(natural);
    State x;
    natural.set(s.bodies, x);
    const double H = natural.hamiltonian(x), h = 0.25 / steps;
    Rattle method;
    method.reset(system, x, h);
    double done = 0;
    for (int k = 0; k < steps; ++k) EXPECT_TRUE(method.step(system, k * h, h, x, done).ok());
    EXPECT_GT(x.aux[kDissipated], 0.1);
    return std::abs(natural.hamiltonian(x) - H + x.aux[kDissipated]);
  };
  EXPECT_NEAR(off(500) / off(1000), 4, 0.5);
}

// Symmetric methods undo a step by a step of the opposite length: nothing but rounding is left, grown by the mechanism's own
// sensitivity over a step.
TEST(SymmetricSteppers, GoBackTheWayTheyCame) {
  const Sample s = natural_sample(seed(5800), {.bodies = 4, .mass_ratio = 10, .passive = false, .kinds = {}}, 1, true);
  const auto there_and_back = [&](Integrator& method) {
    Natural natural(s.model);
    System system(natural);
    State x, start;
    natural.set(s.bodies, x);
    start = x;
    method.reset(system, x, 0.01);
    double done = 0;
    for (int k = 0; k < 10; ++k) EXPECT_TRUE(method.step(system, 0, 0.01, x, done).ok());
    EXPECT_GT((x.q - start.q).norm(), 1e-2);
    for (int k = 0; k < 10; ++k) EXPECT_TRUE(method.step(system, 0, -0.01, x, done).ok());
    return (x.q - start.q).norm() + (x.v - start.v).norm() / start.v.norm();
  };
  PetrovGalerkin discrete({.discrete = true}), cubic({.degree = 2}), stabilised({.degree = 1, .stabilised = true});
  Rattle rattle;
  for (Integrator* method : {static_cast<Integrator*>(&discrete), static_cast<Integrator*>(&cubic),
                             static_cast<Integrator*>(&stabilised), static_cast<Integrator*>(&rattle)})
    EXPECT_LT(there_and_back(*method), 1e-11) << method->name() << " of order " << method->order();
}

TEST(PetrovGalerkin, DividesAStepThatIsTooLongAndFailsByNameWhereThatDoesNotHelp) {
  const Sample s = planar_chain(seed(5900), 3, true, 0);
  Bodies fast = s.bodies;
  Natural natural(s.model);
  System system(natural);
  State x;
  natural.set(fast, x);
  const State start = x;
  const double H = natural.hamiltonian(x);
  PetrovGalerkin method({.discrete = true});
  double done = 0;
  // Some steps of 0.8 s can be solved whole, longer ones cannot.
  Verdict verdict;
  for (double h = 0.8; h < 60; h *= 2) {
    x = start;
    method.reset(system, x, h);
    verdict = method.step(system, 0, h, x, done);
    if (!verdict.ok() || method.report().substeps > 1) break;
  }
  if (verdict.ok()) {
    EXPECT_GT(method.report().substeps, 1);
    EXPECT_NEAR(natural.hamiltonian(x) + x.aux[kDissipated], H, 1e-11 * (1 + std::abs(H)));
  }
  State before = x;
  const Verdict hopeless = method.step(system, 0, 1e4, x, done);
  EXPECT_FALSE(hopeless.ok());
  EXPECT_GE(hopeless.body, 0);
  EXPECT_EQ(done, 0);
  EXPECT_EQ(x.q, before.q);
}

TEST(PetrovGalerkin, InterpolatesBetweenItsNodes) {
  const Sample s = planar_chain(seed(5950), 3, true, 2);
  Natural natural(s.model);
  System system(natural);
  State x, start, at;
  natural.set(s.bodies, x);
  PetrovGalerkin method({.degree = 1});
  method.reset(system, x, 0.01);
  start = x;
  double done = 0;
  ASSERT_TRUE(method.step(system, 0, 0.01, x, done).ok());
  method.interpolate(system, 0, at);
  EXPECT_EQ(at.q, start.q);
  method.interpolate(system, 1, at);
  EXPECT_LT((at.q - x.q).norm() + (at.v - x.v).norm() + (at.aux - x.aux).norm(), 1e-13 * (x.q.norm() + x.v.norm()));
  // The derivative of positions is near v inside: x' = v at the Gauss points and of one degree less between them.
  State a, b;
  method.interpolate(system, 0.5 + 1e-5, a), method.interpolate(system, 0.5 - 1e-5, b), method.interpolate(system, 0.5, at);
  EXPECT_LT(((a.q - b.q) / 2e-7 - at.v).norm(), 1e-2 * at.v.norm());
}

}  // namespace
}  // namespace invar::testing
