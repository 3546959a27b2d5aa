// SPDX-License-Identifier: Apache-2.0
//
// Solves that are told that the bodies are those of the solve before keep its factors; nothing else may be kept.
#include <gtest/gtest.h>

#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/system.hpp"
#include "support/agreement.hpp"
#include "support/campaign.hpp"
#include "support/march.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

/// A right side; what it does not have is not given. A bias comes without dynamics, which would call one that is drawn
/// contradictory where rows are redundant.
struct RightSide {
  Load load;
  std::vector<Twist> bias;
  VecX coupling_bias;
  bool dynamics, pushes, drives, biased;

  RightSide(Random& random, const Model& model, int sort)
      : load(random_load(random, model)),
        dynamics(sort < 2 && random.chance(0.5)),
        pushes(sort != 1),
        drives(sort != 0),
        biased(sort > 1) {
    for (std::size_t j = 0; j < model.joints().size(); ++j)
      bias.push_back({random_vector(random, 3 / model.length()), random_vector(random, 3)});
    coupling_bias = VecX::Zero(static_cast<Eigen::Index>(model.couplings().size()));
    for (double& c : coupling_bias) c = 3 * random.normal();
  }
  KktInput input(bool again) const {
    return {.dynamics = dynamics,
            .settled = true,
            .again = again,
            .port = pushes ? &load.port : nullptr,
            .efforts = drives ? &load.efforts : nullptr,
            .bias = biased ? &bias : nullptr,
            .coupling_bias = biased ? &coupling_bias : nullptr};
  }
};

/// The answer of one solve, empty where it is refused.
Answer answer(const Model& model, Unreduced& solver, const Bodies& bodies, const KktInput& input) {
  Answer out{Accelerations(model.bodies().size()), std::vector<Wrench>(model.joints().size()),
             VecX::Zero(static_cast<Eigen::Index>(model.couplings().size()))};
  if (!solver.solve(bodies, input, out.accelerations, out.reactions).ok()) return {};
  for (Eigen::Index c = 0; c < out.couplings.size(); ++c) out.couplings[c] = solver.coupling_effort(static_cast<int>(c));
  return out;
}

/// Right sides of all sorts one after the other at these bodies, by a solver that keeps and one that does not; how many were
/// compared.
int compare(Random& random, const Model& model, Unreduced& keeps, Unreduced& forgets, const Bodies& bodies, double bound,
            const std::string& what) {
  int compared = 0;
  bool again = false;
  for (int i = 0; i < 8; ++i) {
    const RightSide right(random, model, random.below(4));
    KktInput input = right.input(again);
    input.reactions = random.chance(0.7);
    const Answer a = answer(model, keeps, bodies, input), b = answer(model, forgets, bodies, right.input(false));
    again = !a.accelerations.empty();
    EXPECT_EQ(again, !b.accelerations.empty()) << what;
    if (!again || b.accelerations.empty()) continue;
    const Differences d = differences(model, right.load, a, b);
    EXPECT_LT(d.acceleration, bound) << i << ": " << what;
    EXPECT_LT(input.reactions ? d.reaction : 0.0, bound) << i << ": " << what;
    EXPECT_LT(d.coupling, bound) << i << ": " << what;
    ++compared;
  }
  return compared;
}

// Both have the same factors, which the elimination finds to u cond(K) with loops and couplings (see expect_agreement): more
// than that is not rounding.
double bound_at(const Model& model, const Bodies& bodies) {
  const Judgement j = judge(model, bodies, Load(model));
  const bool tree = model.couplings().empty() && model.joints().size() <= model.bodies().size();
  return tree ? 1e-12 : std::max(1e-12, 8 * 1.1e-16 * j.condition);
}

TEST(SolveAgain, EqualsAFreshSolveOfEveryRightSide) {
  int compared = 0, looped = 0;
  for (int k = 0; k < cases(80); ++k) {
    MechanismOptions options;
    options.bodies = 2 + k % 6;
    options.loops = k % 3 == 2 ? 1 + k % 2 : 0;
    options.couplings = k % 4 == 1 ? 1 + k % 2 : 0;
    options.floating = k % 5 == 3;
    options.mass_ratio = 30;
    const Sample s = random_sample(seed(430) + static_cast<std::uint64_t>(k), options);
    const std::string what = describe(s.mechanism.spec);
    Random random(431, static_cast<std::uint64_t>(k));
    Unreduced keeps(s.model), forgets(s.model);
    const int here = compare(random, s.model, keeps, forgets, s.bodies, bound_at(s.model, s.bodies), what);
    compared += here;
    if (options.loops > 0) looped += here;

    // And at another state.
    Augmented formulation(s.model);
    System system(formulation);
    State x;
    formulation.set(s.bodies, x);
    const auto integrator = std::move(*make_integrator("rk4"));
    if (!march(s.mechanism.spec, system, *integrator, 0, 0.02, 0.002, x).verdict.ok()) continue;
    Bodies bodies;
    formulation.bodies(x, bodies);
    compared += compare(random, s.model, keeps, forgets, bodies, bound_at(s.model, bodies), what);
  }
  EXPECT_GT(compared, cases(80) * 16 * 8 / 10);
  EXPECT_GT(looped, 0);
}

// Cranks at 1e-3 rad: the elimination over the tree would lose 1e-10 and more (its pivots are squared sines), so the fronts have
// taken over; they keep what the angle itself lets be known, u/1e-3, and their factors are the ones to keep.
TEST(SolveAgain, StaysWithTheSolverThatWasSoundThere) {
  const Model model = *Model::build(*read_model_file(source_path("models/parallelogram.toml")));
  Random random(432, 0);
  Unreduced keeps(model), forgets(model);
  for (const double theta : {0.3, 1e-3, 0.4}) {
    JointState joints = JointState::initial(model);
    joints.q << -theta, theta, theta, -theta;
    EXPECT_EQ(compare(random, model, keeps, forgets, place(model, joints), 1e-12, "parallelogram"), 8);
  }
}

}  // namespace
}  // namespace invar::testing
