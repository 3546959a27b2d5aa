// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "invar/mech/bodies.hpp"

namespace invar::bench {

/// Binds the calling thread to one core; the last one for a negative number. Returns the core, or -1 where that is forbidden.
int pin(int core);

/// Prints what went wrong; the exit code that goes with it.
int complain(const Error& error);

/// Something to be timed: does its work `count` times on a state.
using Contestant = std::function<void(int state, int count)>;

/// Nanoseconds per call: median over all states and repetitions. Contestants take turns at every state, in batches of about
/// 50 µs, so that whatever disturbs the machine disturbs all of them.
std::vector<double> time_side_by_side(const std::vector<Contestant>& contestants, int states, int repetitions);

/// Largest difference over the bodies, relative to the largest value; linear and angular parts each on their own scale.
double difference(const Accelerations& a, const Accelerations& b);
double difference(const std::vector<Wrench>& a, const std::vector<Wrench>& b);

/// What Newton's and Euler's equations of every body leave over with these accelerations and joint reactions, relative to the
/// largest force and moment in them. `efforts` on every freedom, passive ones included; no other load.
double imbalance(const Model& model, const Bodies& bodies, const VecX& efforts, const Accelerations& accelerations,
                 const std::vector<Wrench>& reactions);

}  // namespace invar::bench
