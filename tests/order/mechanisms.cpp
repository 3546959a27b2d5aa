// SPDX-License-Identifier: Apache-2.0
// Do the methods keep their orders on mechanisms, where attitudes, rates and reactions hang together?
#include <gtest/gtest.h>

#include "invar/mech/augmented.hpp"
#include "support/fixed_step.hpp"
#include "support/march.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// State after a quarter of a second. No projection: the equations alone, and joints that open with the error of the method, by
// less than the thousandth at which runs are told.
VecX after(const Sample& s, const char* name, int steps) {
  Augmented dynamics(s.model, {.project = false});
  System system(dynamics);
  State x;
  dynamics.set(s.bodies, x);
  const double h = 0.25 / steps;
  EXPECT_TRUE(march({s.mechanism.spec, 1e-3}, system, *fixed_step(name, h), 0, 0.25, h, x).verdict.ok());
  VecX all(x.q.size() + x.v.size());
  all << x.q, x.v;
  return all;
}

// Differences of runs with h and h/2 are C h^p (1 - 2^-p) (1 + c h + ...): the slope extrapolated over two halvings is p up to
// O(h²). Methods of lower order would be off by one at least, a wrong chart (order 2) by two or more.
TEST(RandomMechanisms, MoveWithTheFullOrderOfEveryMethod) {
  const struct {
    const char* name;
    double order;
    int coarsest;
  } methods[] = {{"rk4", 4, 25}, {"semi_implicit_euler", 1, 160}, {"dopri5", 5, 12}, {"radau", 5, 4}};
  for (std::uint64_t i = 0; i < 4; ++i) {
    MechanismOptions o;
    o.bodies = 3, o.floating = i % 2 == 1, o.mass_ratio = 3, o.passive = false, o.locked = false;
    o.kinds = {JointKind::Spherical, JointKind::Universal, JointKind::Cylindrical, JointKind::Revolute};
    const Sample s = random_sample(1500 + i, o);
    for (const auto& m : methods) {
      VecX run[4];
      for (int k = 0; k < 4; ++k) run[k] = after(s, m.name, m.coarsest << k);
      const double e1 = (run[0] - run[1]).norm(), e2 = (run[1] - run[2]).norm(), e4 = (run[2] - run[3]).norm();
      const double s1 = std::log2(e1 / e2), s2 = std::log2(e2 / e4);
      EXPECT_NEAR(2 * s2 - s1, m.order, 0.3) << m.name << ": slopes " << s1 << ", " << s2 << "; " << describe(s.mechanism.spec);
    }
  }
}

}  // namespace
}  // namespace invar::testing
