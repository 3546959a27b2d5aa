// SPDX-License-Identifier: Apache-2.0
//
// Products with the constrained inverse and their derivatives, on drawn trees and loops with every kind of joint and couplings.
#include "invar/mech/constrained_inverse.hpp"

#include <gtest/gtest.h>

#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/system.hpp"
#include "support/campaign.hpp"
#include "support/march.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// No rotors, which have no place in M; no massless links, on which a wrench has no finite answer of its own.
Sample drawn(std::uint64_t seed, int k) {
  MechanismOptions options;
  options.bodies = 2 + k % 5;
  options.loops = k % 3 == 2 ? 1 : 0;
  options.couplings = k % 4 == 1 ? 1 : 0;
  options.floating = k % 5 == 3;
  options.passive = false;
  options.mass_ratio = 30;
  return random_sample(seed, options);
}

double work(const Port& port, const Accelerations& x) {
  double sum = 0;
  for (std::size_t b = 0; b < port.size(); ++b) sum += port[b].force.dot(x[b].a_WC) + port[b].moment.dot(x[b].alpha_WB);
  return sum;
}

// The largest number of a field; loads of this test would give free bodies a few m/s², so what is far below is round-off.
double size(const Accelerations& x, double length) {
  double largest = 1;
  for (const BodyAcceleration& a : x) largest = std::max({largest, a.a_WC.norm(), length * a.alpha_WB.norm()});
  return largest;
}

TEST(ConstrainedInverse, GivesAllowedMotionsIsSymmetricAndTakesMotionsBack) {
  int judged = 0;
  for (int k = 0; k < cases(60); ++k) {
    const Sample s = drawn(seed(410) + static_cast<std::uint64_t>(k), k);
    ConstrainedInverse A(s.model);
    ASSERT_TRUE(A.at(s.bodies).ok());
    Random random(411, static_cast<std::uint64_t>(k));
    const Load f = random_load(random, s.model), g = random_load(random, s.model);
    Field u(s.model), w(s.model), back(s.model);
    if (!A.apply(&f.port, nullptr, u).ok() || !A.apply(&g.port, nullptr, w).ok()) continue;
    ++judged;
    const double length = s.model.length(), scale = size(u.x, length) + size(w.x, length);
    int joint = -1;
    // Round-off times the condition of closures, which draws keep below 1e4.
    EXPECT_LT(A.violation(w.x, joint), 1e-11 * scale) << describe(s.mechanism.spec);
    const double there = work(f.port, w.x), back_again = work(g.port, u.x);
    EXPECT_NEAR(there, back_again, 1e-10 * (1 + std::max(work(f.port, u.x), work(g.port, w.x)))) << describe(s.mechanism.spec);
    Port momenta(s.bodies.size());
    for (std::size_t b = 0; b < momenta.size(); ++b) {
      const Inertia& i = s.model.bodies()[b].inertia;
      const Quat& q = s.bodies[b].q_WB;
      momenta[b] = {q * (i.I_C * (q.conjugate() * w.x[b].alpha_WB)), i.mass * w.x[b].a_WC};
    }
    ASSERT_TRUE(A.apply(&momenta, nullptr, back).ok());
    for (std::size_t b = 0; b < momenta.size(); ++b) {
      EXPECT_LT((back.x[b].a_WC - w.x[b].a_WC).norm(), 1e-9 * size(w.x, length)) << describe(s.mechanism.spec);
      EXPECT_LT(length * (back.x[b].alpha_WB - w.x[b].alpha_WB).norm(), 1e-9 * size(w.x, length));
    }
  }
  EXPECT_GT(judged, cases(60) * 8 / 10);
}

// Five instants h apart along a free motion. The difference formula has the error h⁴ |w⁽⁵⁾|/30; rates of the drawn motions are of
// the order of 10 /s, so that leaves (10 h)⁴ 10 = 6e-8 of |w| per second, and rounding 1e-15 · 1e4 / h = 2e-8.
TEST(ConstrainedInverse, DerivativesAreThoseAlongTheMotion) {
  constexpr double h = 5e-4;
  int judged = 0;
  for (int k = 0; k < cases(60); ++k) {
    const Sample s = drawn(seed(420) + static_cast<std::uint64_t>(k), k);
    Random random(421, static_cast<std::uint64_t>(k));
    const Load f = random_load(random, s.model);
    Augmented formulation(s.model);
    System system(formulation);
    State x;
    formulation.set(s.bodies, x);
    const auto integrator = std::move(*make_integrator("rk4"));
    ConstrainedInverse A(s.model);
    std::vector<Field> w(5, Field(s.model));
    Accelerations dot(s.bodies.size());
    std::vector<VecX> rates(5, VecX::Zero(s.model.nv()));
    VecX rates_dot = VecX::Zero(s.model.nv());
    bool fine = true;
    for (int i = 0; i < 5 && fine; ++i) {
      if (i > 0) fine = march(s.mechanism.spec, system, *integrator, (i - 1) * h, i * h, h / 4, x).verdict.ok();
      Bodies bodies;
      formulation.bodies(x, bodies);
      fine = fine && A.at(bodies).ok() && A.apply(&f.port, nullptr, w[static_cast<std::size_t>(i)]).ok();
      A.rates(w[static_cast<std::size_t>(i)].x, rates[static_cast<std::size_t>(i)]);
      if (i == 2) {
        fine = fine && A.derivative(w[2], Port(bodies.size()), dot).ok();
        A.accelerations(w[2].x, dot, rates_dot);
      }
    }
    if (!fine) continue;
    ++judged;
    const auto difference = [](const auto& a, const auto& b, const auto& c, const auto& d) {
      return ((a - d) - 8 * (b - c)) / (12 * h);
    };
    const double length = s.model.length(), scale = 10 * size(w[2].x, length) + size(dot, length);
    for (std::size_t b = 0; b < s.bodies.size(); ++b) {
      const Vec3 linear = difference(w[0].x[b].a_WC, w[1].x[b].a_WC, w[3].x[b].a_WC, w[4].x[b].a_WC);
      const Vec3 angular = difference(w[0].x[b].alpha_WB, w[1].x[b].alpha_WB, w[3].x[b].alpha_WB, w[4].x[b].alpha_WB);
      EXPECT_LE((linear - dot[b].a_WC).norm(), 1e-7 * scale) << k << ": " << describe(s.mechanism.spec);
      EXPECT_LE(length * (angular - dot[b].alpha_WB).norm(), 1e-7 * scale) << k << ": " << describe(s.mechanism.spec);
    }
    const VecX change = difference(rates[0], rates[1], rates[3], rates[4]);
    for (int i = 0; i < change.size(); ++i)
      EXPECT_NEAR(change[i], rates_dot[i], 1e-7 * (scale / std::min(1.0, length) + 10 * rates[2].cwiseAbs().maxCoeff()))
          << k << ": " << describe(s.mechanism.spec);
  }
  EXPECT_GT(judged, cases(60) * 8 / 10);
}

}  // namespace
}  // namespace invar::testing
