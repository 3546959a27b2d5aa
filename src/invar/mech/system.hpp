// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "invar/mech/environment.hpp"
#include "invar/mech/formulation.hpp"

namespace invar {

class Switches;

/// A formulation together with what acts on it: the right-hand side that integrators see.
class System {
 public:
  explicit System(Formulation& formulation);
  ~System();

  void add(const Environment& environment) { environments_.push_back(&environment); }

  /// Whether anything acts at all.
  bool acts() const { return !environments_.empty(); }

  const Formulation& formulation() const { return formulation_; }
  const Model& model() const { return formulation_.model(); }

  /// The run loop calls enter(t0, t1) before stepping over [t0, t1], within which everything that acts is smooth: t1 is at
  /// most next_event(t0). From then on edges are seen from inside that segment (see Instant), until the next enter.
  /// enter(t, t) sees t from the right; before any call every time is seen from the right.
  void enter(double t0, double t1) { inside_ = t0 + 0.5 * (t1 - t0); }
  Instant instant(double t, double span = 0) const { return Instant(t, std::isnan(inside_) ? t : inside_, span); }

  /// Before a step, see Formulation.
  double prepare_step(const State& x, double h, bool whole) { return formulation_.prepare_step(x, h, whole); }
  long equations() const { return formulation_.equations(); }

  /// Time derivative of x at t, work and dissipation included.
  Verdict rate(double t, const State& x, Rate& rate);
  /// Everything at t, x: for recorders.
  Verdict evaluate(double t, const State& x, Evaluation& out);
  /// What acts at t on these bodies, for methods that bring their own equations. They account for its work themselves.
  /// Over a step of length `span` with its middle at t, on the mean motion (over_step.hpp); 0: at the instant t.
  const Load& load(double t, const Bodies& bodies, double span = 0);
  /// The load at t, x as last computed by rate or evaluate.
  const Load& load() const { return load_; }
  /// Whether a wrench acted from outside in any rate computed since forget_loads(): in any stage of the steps between.
  bool loaded() const { return loaded_; }
  void forget_loads() { loaded_ = false; }

  void retract(const State& from, const VecX& u, State& to) const { formulation_.retract(from, u, to); }
  void pull(const VecX& u, const VecX& v, VecX& u_dot) const { formulation_.pull(u, v, u_dot); }
  Verdict settle(State& x) { return formulation_.settle(x); }

  /// Laws of passive parts that have branches. While they are held, `rate` computes with the held branches, whatever the state;
  /// `evaluate` and `load` never do.
  Switches& switches() { return *switches_; }
  const Switches& switches() const { return *switches_; }

  /// The first time after t at which something that acts is not smooth.
  double next_event(double t) const;

 private:
  void add_environments(Instant at, const Bodies& bodies);

  Formulation& formulation_;
  std::vector<const Environment*> environments_;
  std::unique_ptr<Switches> switches_;
  Bodies bodies_;
  Load load_;
  Port held_;  // the part of the load that comes from held branches
  bool loaded_ = false;
  double inside_ = std::numeric_limits<double>::quiet_NaN();  ///< s; middle of the segment entered last
};

}  // namespace invar
