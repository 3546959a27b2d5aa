// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "invar/control/controller.hpp"
#include "invar/control/impedance_law.hpp"
#include "invar/mech/natural.hpp"
#include "support/states.hpp"

namespace invar::testing {

enum class Sort { Space, Plane, Loops, Floating };

struct Drawn {
  Mechanism mechanism;
  Model model;
  Bodies bodies;
  std::string what;
};
/// Trees with every kind of joint, planar trees, loops, and parts that float; springs, dampers and tendons, no rotors. Nothing
/// where the steppers over the tree refuse what was drawn.
std::optional<Drawn> drawn(Sort sort, std::uint64_t at, bool lossy);

PosePath resting_at(const Vec3& p);
Vec3 point_of(const Model& model, const ImpedanceSpec& spec, const Bodies& bodies);
/// Some point of some body, with a target near it.
ImpedanceSpec drawn_spec(Random& random, const Model& model, const Bodies& bodies);
/// At work on the model itself, which must outlive it.
std::unique_ptr<Controller> controller_of(const Model& model, const ImpedanceSpec& spec);

/// V with what it is made of, at a node.
struct VNode {
  Bodies bodies;
  VecX q, v;
  Vec3 error = Vec3::Zero();
  double V = 0, at_play = 0, dissipated = 0;
};
VNode node_at(const Model& model, const ImpedanceSpec& spec, const Natural& natural, const State& x);

/// What became of V over many steps, by energies of nodes alone.
struct StepBalance {
  Verdict verdict;
  double gap = 0;  // largest over a step, relative to the energies at play
  double first = 0, last = 0, at_play = 0;
  bool fell = true;
  bool wound = false;  // an angle with a spring came near half a turn: they are compensated within it
  double clause = 0;   // what the certificate says
};
StepBalance balance(const ModelSpec& plant, const Model& model, const Bodies& bodies, ImpedanceSpec spec, const char* method,
                    double h, int steps);

}  // namespace invar::testing
