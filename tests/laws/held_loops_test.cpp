// SPDX-License-Identifier: Apache-2.0
//
// A parallelogram one of whose joints is locked is a truss, and stands still. Locked where it lies flat, or within 1e-3 to 1e-12
// s of that, its three hinges left are in line, or hardly out of it: the rows see a motion there that loops do not have, or
// resist it by their sine σ only, and what solves with them moves the truss by rounding over σ², or falls with it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/flat_loops.hpp"
#include "support/outcome.hpp"

namespace invar::testing {
namespace {

constexpr const char* kHinges[] = {"a", "b", "d", "knee"};

struct Locked {
  Flat flat;
  std::string joint;
  double at = 0, beside = 0;  // s
};

Locked locked_beside_flat(Random& random, int base) {
  Locked out{flat_loop(random, base), kHinges[random.below(4)], 0, 0};
  const double power = random.uniform(3, 13);
  out.beside = power > 12 ? 0 : (random.uniform(0, 1) < 0.5 ? -1 : 1) * std::pow(10.0, -power);
  out.at = first_flat(out.flat.spec, "a", 0, 1e-3) + out.beside;
  return out;
}

Scenario locking(const Locked& l, const char* formulation, const char* integrator) {
  Scenario s = scenario_of(l.flat.spec, formulation, integrator, 1e-3, l.at + 0.25);
  s.spec = std::make_shared<const ModelSpec>(l.flat.spec);
  s.edits = {{l.at, {Lock{l.joint, {}}}}};
  return s;
}

/// The most that a hinge turned after the lock.
double turned_after(const Memory& memory, const Locked& l) {
  double most = 0;
  std::size_t first = 0;
  while (first < memory.size() && memory.time(first) < l.at - 1e-13) ++first;
  for (const char* hinge : kHinges)
    for (std::size_t k = first; k < memory.size() && hinge != l.joint; ++k) {
      const std::string path = std::string("joints/") + hinge + "/q";
      most = std::max(most, std::abs((memory.at(path, k) - memory.at(path, first))[0]));
    }
  return most;
}

/// Exactly flat no reactions balance what acts across: nothing is judged there.
Outcome computed(const Scenario& s, const Locked& l, Memory& memory) {
  if (std::abs(l.beside) > 1e-9) return outcome_of(s, &memory);
  RunOptions options;
  options.sink = &memory;
  const Result<Outcome> out = run(s, options);
  if (!out) ADD_FAILURE() << out.error().text();
  return out ? *out : Outcome{};
}

bool noted(const Outcome& out) {
  return std::any_of(out.notes.begin(), out.notes.end(),
                     [](const std::string& note) { return note.find("leave no motion") != std::string::npos; });
}

}  // namespace

// Angles are read from attitudes of some 1e-16, a few hundred times rounded on a body that swings: 1e-12. The energy of that
// swing is rk4's at 1 ms, the bar of passages; dopri5's is a hundred times its tolerance of 1e-8.
TEST(HeldLoops, StandStillInEveryFlow) {
  Random random(seed(8100));
  for (int i = 0; i < cases(9); ++i) {
    const Locked l = locked_beside_flat(random, i % 3);
    if (!std::isfinite(l.at)) continue;
    for (const char* formulation : {"augmented", "minimal", "natural"}) {
      Memory memory;
      const std::string what = fmt::format("{} {}, '{}' locked {:.1e} s beside", i, formulation, l.joint, l.beside);
      const Outcome out = computed(locking(l, formulation, i % 2 == 0 ? "rk4" : "dopri5"), l, memory);
      ASSERT_EQ(out.end, Outcome::End::Finished) << what << ": " << out.words;
      EXPECT_EQ(out.unresolved, "") << what;
      EXPECT_LT(turned_after(memory, l), 1e-12) << what;
      EXPECT_LT(metric(out, "energy_drift"), i % 2 == 0 ? 5e-8 : 1e-6) << what;
      EXPECT_TRUE(noted(out) || std::abs(l.beside) > 1e-5) << what;
    }
  }
}

// The same where a file says so.
TEST(HeldLoops, StandStillFromTheStart) {
  Random random(seed(8150));
  for (int i = 0; i < cases(6); ++i) {
    Locked l{flat_loop(random, i % 3), kHinges[random.below(4)], 0, 0};
    for (const char* hinge : kHinges) l.flat.spec.initial[hinge] = {0};
    for (JointSpec& joint : l.flat.spec.joints)
      if (joint.name == l.joint) joint.locked = true;
    for (const char* formulation : {"augmented", "minimal", "natural"}) {
      Memory memory;
      const std::string what = fmt::format("{} {}, '{}' locked", i, formulation, l.joint);
      const Outcome out = computed(scenario_of(l.flat.spec, formulation, "rk4", 1e-3, 0.3), l, memory);
      ASSERT_EQ(out.end, Outcome::End::Finished) << what << ": " << out.words;
      EXPECT_LT(turned_after(memory, l), 1e-12) << what;
      EXPECT_LT(metric(out, "energy_drift"), 5e-8) << what;
      EXPECT_TRUE(noted(out)) << what;
    }
  }
}

// Steppers solve with the rows as they are. Where that moves what cannot move, the run says so, and one that ends says what
// stands there; a hinge turns by no more than both of its bodies.
TEST(HeldLoops, AreToldWhereSteppersMoveThem) {
  Random random(seed(8200));
  int reached = 0, all = 0;
  for (int i = 0; i < cases(4); ++i) {
    const Locked l = locked_beside_flat(random, i % 3);
    if (!std::isfinite(l.at)) continue;
    for (const char* method : {"conserving", "discrete_gradient", "rattle", "petrov_galerkin", "midpoint"}) {
      Memory memory;
      RunOptions options;
      options.sink = &memory;
      const std::string what = fmt::format("{} {}, '{}' locked {:.1e} s beside", i, method, l.joint, l.beside);
      const Result<Outcome> out = run(locking(l, "natural", method), options);
      ASSERT_TRUE(out) << out.error().text();
      const bool locked = memory.size() > 0 && memory.time(memory.size() - 1) >= l.at;
      reached += locked, ++all;
      if (out->end == Outcome::End::Finished) {
        EXPECT_TRUE(turned_after(memory, l) < 2e-6 || out->unresolved.find("leave no motion") != std::string::npos)
            << what << ": " << turned_after(memory, l) << " " << out->unresolved;
      } else if (locked) {
        EXPECT_TRUE(out->words.find("leave no motion") != std::string::npos || std::abs(l.beside) > 1e-5) << what << out->words;
      }
    }
  }
  EXPECT_GE(2 * reached, all);
}

}  // namespace invar::testing
