// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "support/agreement.hpp"

namespace invar::testing {

/// A mechanism, its state and its load, described in another way, and how results are brought back to the first one.
struct Redescribed {
  ModelSpec spec;
  Bodies bodies;
  Load load;
  double seconds = 1;  ///< how many units of time of the new description one second is
  std::function<Answer(const Answer&)> answer_back;
  std::function<Bodies(const Bodies&)> bodies_back;
};

/// Seen from another World: what is fixed in it moves (frames of joints, gravity, bodies, wrenches).
Redescribed in_another_world(const Sample& s, Random& random);

/// With bodies and joints listed in another order.
Redescribed in_another_order(const Sample& s, Random& random);

/// How many new units one old unit is.
struct Units {
  double length, mass, time;
  double velocity() const { return length / time; }
  double acceleration() const { return length / time / time; }
  double force() const { return mass * acceleration(); }
  double moment() const { return force() * length; }
};

/// A joint has one number for the stiffness of all its stops and one for the smoothing of friction: kinds that mix angles with
/// lengths must have neither stops nor friction.
Redescribed in_other_units(const Sample& s, const Units& u);

/// The largest difference of a position, velocity, angular velocity or attitude.
double apart(const Bodies& a, const Bodies& b);

/// A state changed by 1e-15 of itself: what becomes of it says how much of a difference rounding explains.
Bodies nudged(Random& random, const Bodies& bodies);

}  // namespace invar::testing
