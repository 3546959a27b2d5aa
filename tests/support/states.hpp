// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/random_mechanism.hpp"

namespace invar::testing {

/// The model of a spec that must be good; a test that draws a bad one stops with the sentence of the library.
Model build(const ModelSpec& spec);

/// Bodies at rest with these body frames.
Bodies at_rest(const Model& model, const std::vector<Pose>& X_WB);

/// Draws velocities (about `linear` m/s and `angular` rad/s) and takes from them the least, in (v, l w), that the joints forbid.
void draw_velocities(Random& random, const Model& model, Bodies& bodies, double linear = 1.0, double angular = 2.0);

/// Wrenches on all bodies and efforts on all freedoms, of about these sizes times the mean mass (times the length).
Load random_load(Random& random, const Model& model, double size = 5.0);

/// Everything a test of one evaluation needs. The model lives as long as the sample.
struct Sample {
  Mechanism mechanism;
  Model model;
  Bodies bodies;
  Load load;
};
Sample random_sample(std::uint64_t seed, const MechanismOptions& options);

/// A mechanism in one line, for messages: bodies, joints by kind, couplings.
std::string describe(const ModelSpec& spec);

}  // namespace invar::testing
