// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/system.hpp"

namespace invar {

/// One step of a System as an ordinary differential equation in a flat space (Runge-Kutta-Munthe-Kaas). The unknown is
///   y = (u, v, aux),   y' = (dexp^-1_u v, a, aux'),   y(0) = (0, v0, aux0),
/// with u the tangent at the start of the step: q = q0 moved by u. In y any Runge-Kutta method may add and scale.
/// Law: the state of y(0) is the state that `start` was given, attitudes normalised.
class Chart {
 public:
  /// Sizes everything for states like x.
  void reset(const State& x);

  /// Puts the origin of the chart at x, time t.
  void start(double t, const State& x);
  const State& start() const { return start_; }
  /// y(0).
  const VecX& origin() const { return origin_; }

  /// dy/dt at (t, y), and at the origin, where the state is the start itself and u' = v.
  Verdict slope(System& system, double t, const VecX& y, VecX& dydt);
  Verdict slope_at_start(System& system, double t, VecX& dydt);

  /// Whether x is, bit by bit, the state at which slope was last taken, and the velocity (tangent of q) found there.
  bool last_at(const State& x) const { return x.q == stage_.q && x.v == stage_.v && x.aux == stage_.aux; }
  const VecX& last_velocity() const { return rate_.v; }

  /// The state that y stands for, `elapsed` after the start. Joint angles are expected where their rates at the start would bring
  /// them.
  void state(const System& system, double elapsed, const VecX& y, State& x) const;

  /// Ends a step: x becomes the state of y, settled. x is the start again when y is not finite or settle fails.
  Verdict finish(System& system, double elapsed, const VecX& y, State& x) const;

  /// The parts of a vector like y.
  Eigen::Index tangents() const { return start_.v.size(); }
  auto u(const VecX& y) const { return y.head(tangents()); }
  auto v(const VecX& y) const { return y.segment(tangents(), tangents()); }
  auto aux(const VecX& y) const { return y.tail(start_.aux.size()); }

 private:
  void expect_turns(double elapsed, State& x) const;

  double t0_ = 0;  // s; time at the origin
  State start_;
  State stage_;  // where slope evaluates
  Rate rate_;
  VecX origin_;     // 2 nv + aux
  VecX u_, u_dot_;  // nv
};

}  // namespace invar
