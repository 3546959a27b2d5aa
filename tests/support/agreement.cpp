// SPDX-License-Identifier: Apache-2.0
#include "support/agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "invar/base/largest.hpp"
#include "invar/mech/augmented.hpp"
#include "support/newton_euler.hpp"

namespace invar::testing {

namespace {

constexpr double kUnit = 1.1e-16;

void expect_within(double bound, const Differences& d, const Judgement& j, const std::string& what) {
  // Written so that NaN fails.
  EXPECT_LT(d.acceleration, bound) << "condition " << j.condition << ", rank " << j.rank << "\n  " << what;
  EXPECT_LT(d.reaction, bound) << "condition " << j.condition << ", rank " << j.rank << "\n  " << what;
  EXPECT_LT(d.coupling, bound) << "condition " << j.condition << ", rank " << j.rank << "\n  " << what;
}

}  // namespace

Differences differences(const Model& model, const Load& load, const Answer& a, const Answer& b) {
  const double l = model.length();
  Differences worst;
  double a_size = model.gravity().norm(), f_size = 0, c_size = 0;
  for (std::size_t k = 0; k < b.accelerations.size(); ++k) {
    const BodyAcceleration &x = a.accelerations[k], &y = b.accelerations[k];
    keep_largest(a_size, y.a_WC.norm() + l * y.alpha_WB.norm());
    keep_largest(worst.acceleration, (x.a_WC - y.a_WC).norm() + l * (x.alpha_WB - y.alpha_WB).norm());
    const double pushed = load.port[k].force.norm() + load.port[k].moment.norm() / l;
    keep_largest(f_size, pushed);
    keep_largest(a_size, pushed / model.mean_mass());
    keep_largest(f_size, model.bodies()[k].inertia.mass * model.gravity().norm());
  }
  for (std::size_t k = 0; k < b.reactions.size(); ++k) {
    const Wrench &x = a.reactions[k], &y = b.reactions[k];
    keep_largest(f_size, y.force.norm() + y.moment.norm() / l);
    keep_largest(worst.reaction, (x.force - y.force).norm() + (x.moment - y.moment).norm() / l);
  }
  for (Eigen::Index c = 0; c < b.couplings.size(); ++c) {
    keep_largest(c_size, std::abs(b.couplings[c]));
    keep_largest(worst.coupling, std::abs(a.couplings[c] - b.couplings[c]));
  }
  keep_largest(c_size, f_size * l);
  // Nothing acts and nothing moves: then nothing may differ either, and the differences count as they are.
  const auto over = [](double error, double size) { return size > 0 ? error / size : error; };
  return {over(worst.acceleration, a_size), over(worst.reaction, f_size), over(worst.coupling, c_size)};
}

Answer evaluated(const ModelSpec& spec, const Model& model, const Bodies& bodies, const Load& load, const std::string& what) {
  Augmented product(model);
  State x;
  product.set(bodies, x);
  Evaluation e;
  const Verdict v = product.evaluate(x, load, e);
  EXPECT_TRUE(v.ok()) << name(v.status) << " body " << v.body << " joint " << v.joint << " value " << v.value << "\n  " << what;
  if (!v.ok()) return {};
  expect_newton_euler(spec, e, load, what);
  return {e.accelerations, e.reactions, e.couplings};
}

Answer solved(const ModelSpec& spec, const Model& model, const Bodies& bodies, const Load& load, const std::string& what) {
  Augmented product(model);
  Answer out{Accelerations(model.bodies().size()), std::vector<Wrench>(model.joints().size()),
             VecX::Zero(static_cast<Eigen::Index>(model.couplings().size()))};
  const Verdict v = product.solve(bodies, load, out.accelerations, out.reactions);
  EXPECT_TRUE(v.ok()) << name(v.status) << " body " << v.body << " joint " << v.joint << " value " << v.value << "\n  " << what;
  if (!v.ok()) return {};
  for (Eigen::Index c = 0; c < out.couplings.size(); ++c)
    out.couplings[c] = product.solver().coupling_effort(static_cast<int>(c));
  // One choice of many reactions, where some are redundant, but a choice that balances.
  State x;
  Evaluation e;
  product.set(bodies, x);
  if (!product.evaluate(x, load, e).ok()) return out;
  e.accelerations = out.accelerations, e.reactions = out.reactions, e.couplings = out.couplings, e.vdot.resize(0);
  expect_newton_euler(spec, e, load, "bare solve: " + what);
  return out;
}

void expect_agreement(const ModelSpec& spec, const Model& model, const Bodies& bodies, const Load& load,
                      const std::string& what) {
  const Answer whole = evaluated(spec, model, bodies, load, what), bare = solved(spec, model, bodies, load, what);
  if (whole.accelerations.empty() || bare.accelerations.empty()) return;
  const Judgement j = judge(model, bodies, load);
  ASSERT_LT(j.residual, 1e-14) << "the judge failed\n  " << what;
  const Answer truth{j.accelerations, j.reactions, j.couplings};
  const bool redundant = j.rank < j.multipliers.size();
  const bool tree = !redundant && model.couplings().empty() && model.joints().size() <= model.bodies().size();
  const double bound = tree ? 1e-12 : std::max(1e-12, 8 * kUnit * j.condition);
  expect_within(bound, differences(model, load, whole, truth), j, what);
  Differences d = differences(model, load, bare, truth);
  if (redundant) d.reaction = d.coupling = 0;
  expect_within(bound, d, j, "bare solve: " + what);
}

}  // namespace invar::testing
