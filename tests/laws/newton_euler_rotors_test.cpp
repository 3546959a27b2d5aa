// SPDX-License-Identifier: Apache-2.0
//
// The judge of reactions where it is easily blind: rotors on joints that close loops, drives of recorded runs.
#include <gtest/gtest.h>

#include "invar/control/drive.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/spanning_tree.hpp"
#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/newton_euler.hpp"
#include "support/places.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// Drawn loops with a rotor on every freedom of the joints that close them. The judge agrees with the equations, and with no
// others: a rotor that is a millionth heavier in its own copy of the file is found, where it moves.
TEST(NewtonEuler, WeighRotorsOfJointsThatCloseLoops) {
  int rotors = 0, noticed = 0;
  for (int k = 0; k < cases(40); ++k) {
    MechanismOptions options{.bodies = 5 + k % 4, .kinds = {}};
    options.loops = 1 + k % 2, options.planar = k % 3 == 0, options.passive = false, options.locked = false;
    options.mass_ratio = 10;
    if (!options.planar)
      options.kinds = {JointKind::Revolute, JointKind::Spherical, JointKind::Universal, JointKind::Cylindrical};
    Sample s = random_sample(seed(94000) + static_cast<std::uint64_t>(k), options);
    Random random(seed(95000) + static_cast<std::uint64_t>(k));
    std::vector<std::size_t> closing;
    for (const int j : spanning_tree(s.model).closures) {
      JointSpec& joint = s.mechanism.spec.joints[static_cast<std::size_t>(j)];
      const int freedoms = s.model.joints()[static_cast<std::size_t>(j)].nv;
      if (freedoms == 0 || joint.kind == JointKind::Free) continue;
      joint.armature.clear();
      for (int i = 0; i < freedoms; ++i) joint.armature.push_back(random.uniform(0.1, 1));
      closing.push_back(static_cast<std::size_t>(j));
    }
    if (closing.empty()) continue;
    s.model = build(s.mechanism.spec);
    Augmented dynamics(s.model);
    State x;
    dynamics.set(s.bodies, x);
    Evaluation e;
    if (!dynamics.evaluate(x, s.load, e).ok()) continue;
    expect_newton_euler(s.mechanism.spec, e, s.load, "case " + std::to_string(k) + ": " + describe(s.mechanism.spec));
    for (const std::size_t j : closing) {
      ModelSpec other = s.mechanism.spec;
      double push = 0;  // what the rotor's inertia does there, over all that acts
      for (double& a : other.joints[j].armature) a *= 1 + 1e-6;
      for (std::size_t i = 0; i < other.joints[j].armature.size(); ++i)
        push += std::abs(other.joints[j].armature[i] * e.vdot[s.model.joints()[j].v0 + static_cast<int>(i)]);
      if (push < 1) continue;  // N or N m beside loads of some hundred
      const Balance found = balance(other, e, s.load.port);
      ++rotors, noticed += found.force > 1 || found.moment > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(rotors, cases(40) / 8) << "17 of 40 on average, with a deviation of 4";
  EXPECT_EQ(noticed, rotors);
}

// A drive's effort is recorded, and balances: with it a millionth off, the recording is condemned.
TEST(RecordedSamples, AreInBalanceOnlyWithTheEffortsOfTheirDrives) {
  auto s = read_scenario_file(source_path("scenarios/four_bar_driven.toml"));
  ASSERT_TRUE(s) << s.error().text();
  s->end_time = 0.2, s->laws.clear(), s->sampling.steps = 10;
  s->sampling.what.accelerations = s->sampling.what.loads = true;
  Memory memory;
  RunOptions options;
  options.sink = &memory;
  ASSERT_TRUE(run(*s, options));
  ASSERT_GT(memory.size(), 15u);
  ASSERT_GT(std::abs(memory.at("joints/j1/effort", 3)[0]), 1e-3) << "the drive pays";
  for (const double factor : {1.0, 1 + 1e-6}) {
    Said said;
    std::vector<double> row;
    double worst = 0;
    for (std::size_t k = 0; k < memory.size(); ++k) {
      row = memory.row(k);
      const double* at = row.data();
      said.channels.clear();
      for (const Channel& c : memory.layout().channels) {
        if (c.path == "joints/j1/effort") row[static_cast<std::size_t>(at - row.data())] *= factor;
        said.channels[c.path] = {at, c.size, 0}, at += c.size;
      }
      const Sampled sample = sampled(*s->spec, said);
      const Balance found = balance(*s->spec, sample.e, sample.port);
      worst = std::max({worst, found.force, found.moment});
    }
    if (factor == 1)
      EXPECT_LE(worst, 1);
    else
      EXPECT_GT(worst, 1e3) << "1e-6 of the effort over 1e-12 of the sum of all forces";
  }
}

}  // namespace
}  // namespace invar::testing
