// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/recall.hpp"
#include "invar/mech/constrained_inverse.hpp"

namespace invar {

/// A generalised momentum observer in the metric of the mechanism. Beside the bodies it keeps a velocity ν̂ that joints allow and
/// that moves as the nominal model says under all that is known to act, drawn to the velocity ν that is seen:
///   M ν̂' + C(ν) ν̂ + Jᵀμ = F_known + τ + r,   J ν̂ = 0,   r = k_o M (ν - ν̂).
/// The momentum M (ν - ν̂) that is missing is all that an unknown load d can have left: with e = ν - ν̂
///   M e' + C(ν) e + Jᵀ(·) = d - r,     d/dt ½ |e|²_M = -k_o |e|²_M + eᵀ d,
/// so along the motion r follows what d moves, M A d, like a first-order filter of the rate k_o, and |r|_A never exceeds the
/// largest |d|_A so far. No accelerations are needed, and no coordinates: it is the same in every World, and loops are nothing
/// special. τ is what acts, not what was commanded: where commands are held, late or go through actuators, it must be told.
/// Laws: r = 0 for a perfect model but for its steps, which are of second order; stable for steps of any length.
/// No heap after the first look.
class MomentumObserver {
 public:
  /// `rate`: k_o, 1/s; 0: there is none. The model must outlive it.
  MomentumObserver(const Model& model, double rate);

  bool on() const { return rate_ > 0; }
  double rate() const { return rate_; }

  /// What acted of the commands since the last `take`: just after it, and just before the next one.
  void acted(const Load& first, const Load& last);

  /// e and r at the motion of `now`, at t. `known` is what acts by itself. Who tells nothing has commands that act as they are:
  /// `command` with `efforts` is the law's without the observer, and -r is added to it. Who tells what acted gets the r of the
  /// last `take`, turning with the bodies, until he tells more.
  Verdict look(double t, ConstrainedInverse& now, const Port& known, const Port& command, const VecX& efforts);
  /// Between two steps, after a look there: goes on from it.
  Verdict take(double t, ConstrainedInverse& now, const Port& known, const Port& command, const VecX& efforts);

  const Accelerations& error() const { return error_; }
  const Port& load() const { return load_; }
  /// Time since the last `take` times k_o: well below one where the observer resolves what it follows.
  double stride() const { return stride_; }

  void remember(Recall& memory);

 private:
  void weigh(const Bodies& bodies, const Accelerations& w, Port& out) const;
  Verdict project(ConstrainedInverse& at, Accelerations& w);
  Verdict accelerate(ConstrainedInverse& at, const Accelerations& w, const Port& port, const VecX& efforts, Accelerations& x);
  Verdict integrate(double h, ConstrainedInverse& now, const Port& known, const Port& command, const VecX& efforts);

  const Model& model_;
  double rate_;
  ConstrainedInverse was_;  // at the last `take`
  bool begun_ = false, told_ = false, more_ = false;
  double t_ = 0, stride_ = 0;
  Accelerations kept_, rate_then_;  // ν̂ and ν̂' then
  Port known_then_, load_then_;     // what acted by itself then; r
  Load first_, last_;               // told
  // Of the last look.
  Accelerations error_;
  Port load_;
  // Workspace.
  Accelerations field_, x_;
  Port port_;
};

}  // namespace invar
