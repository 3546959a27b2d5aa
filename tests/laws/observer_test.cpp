// SPDX-License-Identifier: Apache-2.0
//
// What a run says of itself beyond the laws of motion: the energy of velocities that leave the constraints, and the method's own.
#include <gtest/gtest.h>

#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/run/observers.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

Sample closed_sample(std::uint64_t seed) {
  MechanismOptions options;
  options.bodies = 4, options.loops = static_cast<int>(seed % 2), options.mass_ratio = 10, options.passive = false;
  return random_sample(seed, options);
}

Observation seen_at(const Model& model, const Bodies& bodies, const StepReport& report = {}) {
  Augmented formulation(model);
  State x;
  formulation.set(bodies, x);
  Observation out;
  Observer(model).observe(0, formulation, x, out, report);
  return out;
}

double kinetic_of_difference(const Model& model, Bodies a, const Bodies& b) {
  for (std::size_t k = 0; k < a.size(); ++k) a[k].v_WC -= b[k].v_WC, a[k].w_WB -= b[k].w_WB;
  return seen_at(model, a).energy.kinetic;
}

// P v is the admissible velocity nearest to v in the inertia metric, so |v|² = |P v|² + |v - P v|², and no other one is nearer.
TEST(PhysicalEnergy, IsThatOfTheNearestVelocitiesThatTheJointsAllow) {
  for (int k = 0; k < cases(20); ++k) {
    SCOPED_TRACE(k);
    Sample s = closed_sample(seed(640) + static_cast<std::uint64_t>(k));
    Random random(seed(5) + static_cast<std::uint64_t>(k), 71);
    const Observation allowed = seen_at(s.model, s.bodies);
    EXPECT_NEAR(allowed.physical, allowed.energy.total(), 1e-12 * (1 + allowed.energy.kinetic));

    Bodies off = s.bodies;
    for (BodyState& b : off) b.v_WC += random_vector(random, 0.3), b.w_WB += random_vector(random, 0.3);
    const Observation seen = seen_at(s.model, off);
    const double taken = seen.energy.total() - seen.physical, round_off = 1e-10 * (1 + seen.energy.kinetic);
    EXPECT_GT(taken, round_off);
    for (int i = 0; i < 10; ++i) {
      Bodies other = s.bodies;
      draw_velocities(random, s.model, other, 0.5, 1.0);
      EXPECT_LE(taken, kinetic_of_difference(s.model, off, other) + round_off);
    }
    const auto projected = make_consistent(s.model, off);
    ASSERT_TRUE(projected);
    EXPECT_NEAR(seen_at(s.model, *projected).energy.total(), seen.physical, round_off);
    EXPECT_NEAR(kinetic_of_difference(s.model, off, *projected), taken, round_off);
  }
}

TEST(Hamiltonian, IsTheMethodsOwnWhereItNamesOneAndTheEnergyOtherwise) {
  const Sample s = closed_sample(641);
  const Observation plain = seen_at(s.model, s.bodies);
  EXPECT_EQ(plain.hamiltonian, plain.energy.total());
  StepReport report;
  report.iterations = 4, report.substeps = 2, report.hamiltonian = plain.energy.total() + 0.25;
  const Observation named = seen_at(s.model, s.bodies, report);
  EXPECT_NEAR(named.hamiltonian_balance, 0.25, 1e-14 * (1 + std::abs(plain.energy.total())));
  EXPECT_EQ(named.iterations, 4);
  EXPECT_EQ(named.substeps, 2);
}

}  // namespace
}  // namespace invar::testing
