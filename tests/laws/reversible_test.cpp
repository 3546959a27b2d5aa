// SPDX-License-Identifier: Apache-2.0
//
// A step that is symmetric in its two ends runs backwards through the states that it came from, if its equations were solved.
// Stiff loads that depend on where bodies are make their solution slow: whoever stops early does not find the way back.
#include <gtest/gtest.h>

#include "invar/integrate/make.hpp"
#include "invar/mech/natural.hpp"
#include "invar/mech/system.hpp"
#include "support/march.hpp"
#include "support/moving_mechanisms.hpp"

namespace invar::testing {
namespace {

/// Pulls the centre of mass of every body back to where it began.
class Pull final : public Environment {
 public:
  Pull(const Model& model, Bodies home, double rate) : model_(model), home_(std::move(home)), rate2_(rate * rate) {}
  void add(Instant, const Bodies& bodies, Load& load) const override {
    for (std::size_t b = 0; b < bodies.size(); ++b)
      load.port[b].force -= model_.bodies()[b].inertia.mass * rate2_ * (bodies[b].p_WC - home_[b].p_WC);
  }

 private:
  const Model& model_;
  Bodies home_;
  double rate2_;
};

// The load is found by a contraction of (rate h/2)² = 0.25 per iteration; what is left is round-off, 1e-16 per step of either
// way, times the motion's own sensitivity over forty steps, below a thousand.
TEST(SymmetricSteps, FindTheWayBackUnderStiffLoads) {
  constexpr double h = 0.005;
  for (const Moving& m : {spring_chain(), free_chain(), heavy_top()}) {
    Natural formulation(m.model);
    System system(formulation);
    const Pull pull(m.model, m.start, 1.0 / h);
    system.add(pull);
    const auto integrator = std::move(*make_integrator("discrete_gradient"));
    State x;
    formulation.set(m.start, x);
    ASSERT_TRUE(march(m.spec, system, *integrator, 0, 20 * h, h, x).verdict.ok()) << m.name;
    Bodies bodies;
    formulation.bodies(x, bodies);
    for (BodyState& b : bodies) b.v_WC = -b.v_WC, b.w_WB = -b.w_WB;
    formulation.set(bodies, x);
    ASSERT_TRUE(march(m.spec, system, *integrator, 0, 20 * h, h, x).verdict.ok()) << m.name;
    formulation.bodies(x, bodies);
    double apart = 0;
    for (std::size_t b = 0; b < bodies.size(); ++b)
      apart = std::max({apart, (bodies[b].p_WC - m.start[b].p_WC).norm(), h * (bodies[b].v_WC + m.start[b].v_WC).norm()});
    EXPECT_LT(apart, 1e-12) << m.name;
  }
}

}  // namespace
}  // namespace invar::testing
