// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"
#include "invar/mech/scales.hpp"

namespace invar {

/// Where the laws of passive parts change their branch, as functions of Model and Bodies:
///   cable     slack | pulls | stretched without tension     stretch, and stiffness stretch + damping rate, change sign
///   stop      free | pushes | deep without force            depth, and 1 + damping rate, change sign
///   friction  slides back | sticks | slides ahead           beyond 20 friction velocities, where tanh is 1 to all digits
/// Each branch is smooth and goes on smoothly beyond its end. A method that controls its error holds all laws on their branches
/// over a step, so that it meets nothing but smooth functions, and ends the step where one of them ends
/// (integrate/switching.hpp). Law: as long as no branch is left, what is held adds nothing to what acts. No heap after
/// construction.
class Switches {
 public:
  explicit Switches(const Model& model);

  std::size_t size() const { return laws_.size(); }
  bool held() const { return held_; }

  /// Every law on the branch that these bodies have (`wound`: see State), until it is released or turned. Units of margins are
  /// those of the model and the rates at this instant.
  void hold(const Bodies& bodies, const VecX& wound);
  void release() { held_ = false; }
  /// Laws whose margin (of `margins`) is below `limit` go over to the branch that begins where theirs ends.
  void turn(const Bodies& bodies, const VecX& wound, const VecX& margins, double limit);

  /// How far each law is inside its held branch, in units of what round-off may blur (64 eps of the size of the connected part
  /// for positions): 0 at its end, negative beyond.
  void margins(const Bodies& bodies, const VecX& wound, VecX& out) const;

  /// Adds what the held branches do and the laws themselves, which look at the state, do not. Returns the power of what was
  /// added, which is no work from outside, and the loss that held branches have beyond that of the laws.
  struct Power {
    double added = 0, lost = 0;  ///< W
  };
  Power add(const Bodies& bodies, const VecX& wound, Load& load) const;

 private:
  enum class Kind { Cable, Upper, Lower, Friction };
  struct Law {
    Kind kind;
    int index, freedom;    // of a tendon, or of a joint and its freedom
    double unit = 1;       // m, rad, or friction velocities: one unit of margin
    double push_unit = 1;  // the same for what has the sign of the force
    int branch = 0;        // cables, stops: 0 not reached, 1 with force, 2 reached and without; friction: -1, 0, 1
  };
  /// What a law looks at: stretch or depth and its rate, or the rate of a freedom; and what has the sign of its force.
  struct Seen {
    double x = 0, rate = 0, push = 0;
  };

  void add_stops_and_friction(int joint);
  void measure_units(const Bodies* bodies);
  double size_of(const Law& law) const;
  double rate_of(const Law& law, const Bodies& bodies) const;
  Seen look(const Law& law, const Bodies& bodies, const VecX& wound) const;
  int next_branch(const Law& law, const Seen& seen) const;
  Power add_cable(const Law& law, const Seen& seen, const Bodies& bodies, Load& load) const;
  Power add_stop(const Law& law, const Seen& seen, Load& load) const;
  Power add_friction(const Law& law, const Seen& seen, Load& load) const;
  int branch_at(const Law& law, const Seen& seen) const;
  double margin(const Law& law, const Seen& seen) const;
  const Passive& passive(const Law& law) const;

  const Model& model_;
  Scales scales_;
  std::vector<Law> laws_;
  bool held_ = false;
  mutable VecX q_, v_;  // of one joint at a time, in the stacked vectors of the model
};

}  // namespace invar
