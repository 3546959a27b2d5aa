// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "invar/mech/augmented.hpp"
#include "invar/mech/singular.hpp"
#include "invar/run/leg.hpp"
#include "invar/run/notes.hpp"

// For the sources of this room only.
namespace invar {

/// Looks at a motion after every step and says what somebody should know: singular configurations that were crossed, with the
/// rank and mobility counted there, and whether reactions grow without bound towards them, other coordinates and where they end,
/// slack tendons, stops that are reached. What happens again and again is counted (Notes).
class Watch {
 public:
  /// Begins, or goes on with another leg after an edit, at the state that its observer saw last.
  void enter(const Leg& leg, double t, const State& x);
  /// After a step. Status::JointStop, with joint and coordinate, where a joint is beyond a stop and was not, or began there.
  Verdict step(Leg& leg, double t, const State& x);
  void say(std::string sentence) { notes_.say(std::move(sentence)); }

  /// What was said.
  std::vector<std::string> notes() const { return notes_.sentences(); }

  /// Where the motion left its branch first, in words; empty: nowhere.
  const std::string& left_branch() const { return left_; }

  /// Loops that leave no motion and are held weakly, in words; empty: none.
  std::string held() const;

  const Mobility& mobility() const { return mobility_; }
  long passages() const { return passages_; }
  long rank_changes() const { return changes_before_ + mobility_.changes; }

 private:
  void look_at_begin(Leg& leg);
  void look_at_rank(Leg& leg, double t, const State& x);
  void look_at_reactions(Leg& leg, double t, const State& x, const Singularities::Crossing& crossing);
  void look_at_coordinates_end(const Leg& leg, double t);
  void look_at_state(Leg& leg, double t, const State& x, const Bodies& bodies, int joint);
  void look_at_tendons(const Leg& leg, double t);
  void look_at_coordinates(const Leg& leg, double t);
  /// A freedom with stops, as it was after the last step.
  struct Stop {
    int joint, freedom;
    double q = 0, v = 0;
    bool at = false;      // beyond one of them
    bool begins = false;  // the motion began there
  };
  void measure(const Leg& leg, const Stop& stop, const State& x, double& q, double& v);
  void begin_at(const Leg& leg, Stop& stop, double t, const State& x);
  Verdict look_at(const Leg& leg, Stop& stop, double t, double h, const State& x);

  Notes notes_;
  std::string left_;
  Mobility mobility_;  // after the last step
  std::optional<Singularities> singularities_;
  std::optional<Augmented> there_;  // stands in singular configurations
  struct {
    double t = 0;
    int rank = 0;
    Bodies bodies;
    VecX wound;
  } begins_;                 // the motion, or goes on after an edit
  State between_;            // inside a step
  double t_ = 0;             // s; after the last step
  long changes_before_ = 0;  // of rank, before the last edit
  long passages_ = 0;        // of singular configurations
  std::vector<bool> slack_;  // per tendon, after the last step
  std::vector<Stop> stops_;
  VecX q_, v_;  // of joints with stops
};

}  // namespace invar
