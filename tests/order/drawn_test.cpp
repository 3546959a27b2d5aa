// SPDX-License-Identifier: Apache-2.0
//
// Whatever is drawn, the steppers over the tree converge to the unreduced formulation with dopri5 at 1e-13: with order 2, and
// composed with order 4. Errors of symmetric methods are e = c h^p (1 + O(w² h²)), w the frequencies of the mechanism, and how
// short a step has to be differs by a hundred between draws. So the step is halved until two slopes in a row are p within 0.1 for
// p = 2 (once w² h² < 0.1) and within 0.4 for p = 4, in positions and velocities, with errors that are small (1e-5, 1e-6); that
// has to come before errors are near those of the reference (1e-11). Another order passes by such slopes at most once. One draw
// in twenty may show it later: where leading terms cancel on the way, or the reference is worse than it says.
// Only what is smooth has an order: no stops, no tendons that go slack, no friction, which turns over in mm/s.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/mech/cayley/skeleton.hpp"
#include "support/campaign.hpp"
#include "support/convergence.hpp"
#include "support/natural_samples.hpp"

namespace invar::testing {
namespace {

constexpr double kTime = 0.25;  // s
constexpr int kMostSteps = 4096;

Moving smooth(Mechanism mechanism, const Bodies& start) {
  leave_out_what_is_refused(mechanism.spec);
  for (TendonSpec& tendon : mechanism.spec.tendons) tendon.tension_only = false;
  for (JointSpec& joint : mechanism.spec.joints) joint.limits = {}, joint.friction.clear();
  // Five times as heavy as drawn: springs and tendons are slow, and most draws want no shorter steps than 0.1 ms.
  for (BodySpec& body : mechanism.spec.bodies) body.inertia.mass *= 5, body.inertia.I_C *= 5;
  return {describe(mechanism.spec), mechanism.spec, build(mechanism.spec), start};
}
Moving smooth(const Sample& s) { return smooth(s.mechanism, s.bodies); }

/// With screws, rotors, couplings and links without mass, too.
Moving anything(std::uint64_t at, const MechanismOptions& options) {
  Random random(at);
  const Mechanism mechanism = random_mechanism(random, options);
  Bodies bodies = at_rest(build(mechanism.spec), mechanism.X_WB);
  draw_velocities(random, build(mechanism.spec), bodies);
  return smooth(mechanism, bodies);
}

/// Of these, loops of five bodies and more can move.
const std::vector<JointKind> kLoose = {JointKind::Revolute, JointKind::Spherical, JointKind::Universal, JointKind::Cylindrical};

enum class Shown { Yes, No, LeftOut };

/// Halves the step until the order shows.
Shown shows(const Moving& m, const Bodies& exact, const char* method, int order, std::string& slopes) {
  const StepperOptions options{.composition = order == 2 ? Composition::None : Composition::TripleJump};
  const double small = order == 2 ? 1e-5 : 1e-6, within = order == 2 ? 0.1 : 0.4;
  int in_a_row = 0;
  Stepped before = stepped(m, exact, method, options, kTime, 8);
  if (before.configuration < 1e-9 && before.velocity < 1e-9) return Shown::LeftOut;  // it cannot move
  for (int n = 16; n <= kMostSteps; n *= 2) {
    const Stepped now = stepped(m, exact, method, options, kTime, n);
    const double x = std::log2(before.configuration / now.configuration), v = std::log2(before.velocity / now.velocity);
    slopes += " " + std::to_string(x) + "," + std::to_string(v);
    in_a_row = std::abs(x - order) <= within && std::abs(v - order) <= within ? in_a_row + 1 : 0;
    const bool short_enough = now.configuration < small && now.velocity < 10 * small;
    if (in_a_row >= 2 && short_enough) return Shown::Yes;
    if (now.configuration < 1e-11) return Shown::No;
    if (n == kMostSteps && short_enough) return Shown::No;
    before = now;
  }
  return Shown::LeftOut;
}

/// `highest`: 2 where compositions are not asked for.
template <class Draw>
void expect_orders(int highest, Draw&& draw, const std::vector<const char*>& methods = {"conserving", "discrete_gradient"}) {
  int taken = 0, refused = 0, left_out = 0, late = 0;
  std::string which;
  for (int i = 0; i < cases(5); ++i) {
    const Moving m = draw(seed(7000) + static_cast<std::uint64_t>(i), 3 + i % 3);
    if (!cayley::why_not_conserving(m.model).empty()) {
      ++refused;
      continue;
    }
    const End exact = reference(m, kTime);
    for (const char* method : methods)
      for (int order = 2; order <= highest; order += 2) {
        std::string slopes;
        const Shown shown = exact.verdict.ok() ? shows(m, exact.bodies, method, order, slopes) : Shown::LeftOut;
        ++(shown == Shown::LeftOut ? left_out : taken);
        if (shown != Shown::No) continue;
        ++late;
        which += "\n" + m.name + " " + method + " order " + std::to_string(order) + ", slopes" + slopes;
      }
  }
  // Refused by name: screws that close a loop and the like. Left out: loops that cannot move, and bodies that their springs and
  // dampers make too fast for 0.1 ms or for the reference.
  EXPECT_LE(4 * refused, cases(5)) << refused << " refused";
  EXPECT_LE(4 * left_out, taken) << left_out << " left out";
  EXPECT_LE(20 * late, taken) << late << " of " << taken << which;
}

TEST(DrawnPins, MoveWithTheOrderOfTheStepper) {
  expect_orders(4, [](std::uint64_t at, int n) { return smooth(pin_tree(at, n, 0, 0)); });
}

TEST(DrawnPins, WithTendonsOverOneMoveWithTheOrderOfTheStepper) {
  expect_orders(4, [](std::uint64_t at, int n) { return smooth(pin_tree(at, n, 3, 0)); });
}

TEST(DrawnPins, WithTendonsOverSeveralMoveWithTheOrderOfTheStepper) {
  expect_orders(4, [](std::uint64_t at, int n) { return smooth(pin_tree(at, n, 1, 2)); });
}

TEST(DrawnChains, WithSprungHingesMoveWithTheOrderOfTheStepper) {
  expect_orders(4, [](std::uint64_t at, int n) { return smooth(planar_chain(at, n, true, 2)); });
}

TEST(DrawnLoops, InThePlaneMoveWithTheOrderOfTheStepper) {
  MechanismOptions options{.loops = 1, .mass_ratio = 10, .passive = false, .locked = false, .planar = true, .kinds = {}};
  expect_orders(4, [&](std::uint64_t at, int n) {
    options.bodies = n + 2;
    Sample s = natural_sample(at, options, 1, true);
    s.mechanism.spec.gravity.z() = 0;
    Moving m = smooth(s);
    EXPECT_EQ(Natural(m.model).coordinates().dimension(), 2);
    return m;
  });
}

TEST(DrawnLoops, InSpaceMoveWithTheOrderOfTheStepper) {
  MechanismOptions options{.loops = 1, .mass_ratio = 10, .passive = false, .locked = false, .kinds = kLoose};
  expect_orders(4, [&](std::uint64_t at, int n) {
    options.bodies = n + 2;
    return smooth(natural_sample(at, options, 1, true));
  });
}

TEST(DrawnTrees, InSpaceMoveWithTheOrderOfTheStepper) {
  MechanismOptions options{.mass_ratio = 10, .locked = false, .kinds = {}};
  expect_orders(4, [&](std::uint64_t at, int n) {
    options.bodies = n;
    return smooth(natural_sample(at, options, 2, true));
  });
}

TEST(DrawnTrees, ThatFloatMoveWithTheOrderOfTheStepper) {
  MechanismOptions options{.floating = true, .mass_ratio = 10, .locked = false, .kinds = {}};
  expect_orders(4, [&](std::uint64_t at, int n) {
    options.bodies = n;
    return smooth(natural_sample(at, options, 2, true));
  });
}

TEST(DrawnTrees, WithCouplingsMoveWithTheOrderOfTheStepper) {
  MechanismOptions options{.mass_ratio = 10, .passive = false, .couplings = 2, .locked = false, .kinds = {}};
  const auto draw = [&](std::uint64_t at, int n) {
    options.bodies = n + 1;
    return anything(at, options);
  };
  expect_orders(4, draw);
}

TEST(DrawnTrees, WithLinksWithoutMassMoveWithTheOrderOfTheStepper) {
  MechanismOptions options{.mass_ratio = 10, .massless = true, .passive = false, .locked = false, .kinds = {}};
  expect_orders(4, [&](std::uint64_t at, int n) {
    options.bodies = n + 2;
    return anything(at, options);
  });
}

}  // namespace
}  // namespace invar::testing
