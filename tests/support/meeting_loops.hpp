// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "invar/base/random.hpp"
#include "support/random_mechanism.hpp"

// Loops of four members, of any size and attitude, at configurations where branches of motion meet that are known in closed form.
namespace invar::testing {

/// One branch where several meet: rates of the named joints on it.
using Rates = std::map<std::string, double>;

/// A loop, where it is singular, and its branches there.
struct Meeting4 {
  ModelSpec spec;                    ///< [initial] on the first branch, away from the singular configuration
  std::map<std::string, double> at;  ///< all joints in the singular configuration
  std::vector<Rates> branches;       ///< per unit of time; the first is that of [initial]
};

/// Bodies "1", "2", "3" of a loop in a plane of any attitude; lengths in m.
ModelSpec links(Random& random, double scale, const std::array<double, 3>& lengths);

/// A hinge between these bodies.
void join(ModelSpec& spec, const char* name, const char* parent, const char* child, const Pose& on_parent, double on_child);

/// A place on the x axis.
Pose along(double x);

/// The ground of the loop anywhere.
void turn_ground(Random& random, double scale, ModelSpec& spec);

/// Opposite sides equal: cranks turn alike, or against each other.
Meeting4 meeting_parallelogram(Random& random, double scale);
/// Neighbouring sides equal: coupler and rocker turn together, or the kite opens.
Meeting4 meeting_kite(Random& random, double scale);
/// Crank and rod equal: with the slider over the pivot both turn together, or it goes on.
Meeting4 meeting_slider_crank(Random& random, double scale);
/// The three in turn.
Meeting4 drawn_meeting(Random& random, int i, double scale);

}  // namespace invar::testing
