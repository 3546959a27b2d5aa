// SPDX-License-Identifier: Apache-2.0
// Laws that can never hold are refused where they stand; laws that can are not.
#include <gtest/gtest.h>

#include "invar/base/random.hpp"
#include "invar/io/scenario_file.hpp"
#include "support/campaign.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

Result<Scenario> with_laws(const std::string& must) {
  return parse_scenario(
      "model = 'models/four_bar.toml'\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[time]\nend = 1\n[must]\n" + must,
      source_path("s.toml"));
}

void expect_refused(const std::string& must, const std::string& words, const std::string& place = ":8:") {
  const auto read = with_laws(must);
  ASSERT_FALSE(read) << must;
  EXPECT_NE(read.error().what.find(words), std::string::npos) << must << read.error().text();
  EXPECT_NE(read.error().where.find("s.toml" + place), std::string::npos) << must << read.error().text();
}

TEST(LawBounds, ThatContradictEachOtherAreRefusedWithBothPlaces) {
  expect_refused("energy_gain = { above = 2, below = 1 }\n", "cannot be above 2 and below 1");
  expect_refused("energy_gain = { above = 1, below = 1 }\n", "cannot be above 1 and below 1");
  expect_refused("metric = [{ name = 'work', above = 3 },\n{ name = 'work', below = -1 }]\n", "s.toml:8:", ":9:");
  // The same metric under two names.
  expect_refused("joint_gap = { below = 1e-9 }\nmetric = { name = 'joint_gap', above = 1e-8 }\n", "cannot be above", ":9:");
  // What is above in a part is above in the whole.
  expect_refused("max_force = [{ below = 5 }, { joint = 'j1', from = 0.1, to = 0.2, above = 6 }]\n",
                 "cannot be above 6 and below 5");
  expect_refused("final = [{ body = 'crank', p = [0, 0, 0], within = 0.1 }, { body = 'crank', p = [1, 0, 0], within = 0.2 }]\n",
                 "two places");
}

TEST(LawBounds, ThatNoSizeCanMeetAreRefused) {
  expect_refused("energy_drift = { below = 0 }\n", "never below zero");
  expect_refused("max_force = { below = -1 }\n", "never below zero");
  expect_refused("metric = { name = 'joint_gap', below = 0 }\n", "never below zero");
  expect_refused("final = { body = 'crank', p = [0, 0, 0], within = 0 }\n", "must be positive");
}

TEST(LawBounds, ThatCanBeMetAreTaken) {
  for (const char* must :
       {"energy_gain = { above = -1, below = 1 }\n", "energy_gain = { below = -1 }\n", "metric = { name = 'work', below = 0 }\n",
        "max_force = [{ joint = 'j1', below = 5 }, { above = 6 }]\n",
        "max_force = [{ from = 0.1, to = 0.2, below = 5 }, { above = 6 }]\n",
        "energy_drift = [{ below = 1, relative_to = 'kinetic' }, { above = 2, relative_to = 'absolute' }]\n",
        "final = [{ body = 'crank', p = [0, 0, 0], within = 0.1 }, { body = 'crank', p = [0.2, 0, 0], within = 0.2 }]\n"}) {
    const auto read = with_laws(must);
    EXPECT_TRUE(read) << must << read.error().text();
  }
}

// Drawn bounds: two laws are refused together exactly where no value satisfies both. Values are tried on a grid that is finer
// than the bounds, which are multiples of 1/4.
TEST(LawBounds, AreRefusedTogetherWhereNoValueMeetsBoth) {
  Random random(seed(45));
  for (int n = 0; n < cases(400); ++n) {
    Law laws[2];
    for (Law& law : laws) {
      law.name = "energy_gain", law.scale = Scale::Kinetic;
      law.sense = random.below(2) == 0 ? Law::Sense::Below : Law::Sense::Above;
      law.bound = 0.25 * (random.below(17) - 8);
    }
    bool possible = false;
    for (double x = -4; x <= 4; x += 0.125) {
      bool both = true;
      for (const Law& law : laws) both = both && (law.sense == Law::Sense::Below ? x < law.bound : x > law.bound);
      possible = possible || both;
    }
    EXPECT_EQ(contradiction(laws[0], laws[1]).empty(), possible) << laws[0].bound << " " << laws[1].bound;
    EXPECT_EQ(contradiction(laws[0], laws[1]), contradiction(laws[1], laws[0]));
  }
}

}  // namespace
}  // namespace invar::testing
