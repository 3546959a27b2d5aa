// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/control_law.hpp"
#include "invar/control/integral.hpp"
#include "invar/control/known_load.hpp"
#include "invar/control/momentum_observer.hpp"
#include "invar/mech/constrained_inverse.hpp"

namespace invar {

/// Gains of A (24), (33): K_d = diag(linear 1, angular 1) + rate M, per body. Isotropic or fixed in the bodies, so that the
/// closed loop is the same in every World (docs/papers.md A14). With the rate alone V falls like exp(-2 rate t), light bodies
/// like heavy ones.
struct PortGains {
  double linear = 10;  ///< N s/m
  double angular = 1;  ///< N m s
  double rate = 0;     ///< 1/s
  /// K_i, isotropic: -K_i ∫ s dt against constant disturbances (docs/papers.md A15).
  double integral_linear = 0;   ///< N/m
  double integral_angular = 0;  ///< N m
  /// κ_i of K_i = κ_i M, 1/s², in their place: every direction the same. Turns are then summed in body axes, in which M rests.
  double integral_rate = 0;
  /// The most that the integral may push with on a body.
  double most_force = std::numeric_limits<double>::infinity();   ///< N
  double most_moment = std::numeric_limits<double>::infinity();  ///< N m

  double observer = 0;        ///< k_o, 1/s: of a momentum observer, whose r is taken off the command; 0: none
  RemainderBound bound = {};  ///< what is known of the loop's remainder before it runs
  KnownLoadSpec known = {};   ///< beside the model

  bool integrates() const { return integral_linear > 0 || integral_angular > 0 || integral_rate > 0; }
};

/// The laws of paper A: a reference velocity ν_r of all bodies, and a wrench on every body that makes ν follow it,
///   τ = M ν̇_r + C(ν) ν_r - F_known - K_d s,   s = ν - ν_r                                        A (33)
/// With V = ½ sᵀ M s, a disturbance d and the reactions F_J of the joints,
///   V̇ = -sᵀ K_d s + sᵀ d + (J ν_r)ᵀ F_J,
/// so that a reference with J ν_r = 0 gives V̇ = -sᵀ K_d s + sᵀ d exactly. With integral action τ gets -K_i z, ż = s in World
/// axes, V gets ½ zᵀ K_i z and V̇ stays as it is; for a d that is constant V - zᵀ d + const falls, so s goes to zero. With a
/// momentum observer τ gets -r, and V̇ = -sᵀ K_d s + sᵀ (d - r). What neither knows of is in the loop's remainder. F_known is
/// gravity and whatever the nominal joints and tendons do by themselves; spring angles are taken within half a turn of zero.
/// Where a load is known beside the model, F_known has it and all friction at ν_r, d is what acts beyond both at ν, and V̇ has
/// sᵀ (f(ν) - f(ν_r)) more.
class PortLaw : public ControlLaw {
 public:
  Verdict command(Instant at, const Bodies& bodies, Load& out) final;
  void witness(const Witness& seen) final;
  void conclude() final;
  std::string objection(Instant at, const Bodies& bodies) final;
  void settle(Instant at, const Bodies& bodies) final;
  bool observes() const final { return observer_.on() || known_.adapts(); }
  void acted(const Load& first, const Load& last) final;
  double next_event(double t) const final { return known_.next_look(t); }
  const Remainder* remainder() const final { return &remainder_; }
  std::vector<std::string> notes() const final { return known_.notes(); }
  void remember(Recall& memory) override;

  const Model& model() const { return model_; }

 protected:
  /// The model must outlive the law.
  PortLaw(const Model& model, const PortGains& gains);

  /// ν_r and ν̇_r for the motion that inverse_ was set to.
  virtual Verdict refer(Instant at, Accelerations& nu_r, Accelerations& nu_r_dot) = 0;
  /// Why what is asked for cannot be had at the motion of inverse_, or an empty string; after refer.
  virtual std::string cannot() const { return {}; }
  /// Between two steps: on which side of a turn it is.
  virtual void choose_sides(Instant at, const Bodies& bodies) = 0;
  /// Errors of what is followed, at the motion of inverse_; after refer.
  virtual void track(double t) = 0;

  ConstrainedInverse inverse_;
  bool proven_ = true;  // joints allow the reference, so that V falls

 private:
  Verdict law(Instant at, const Bodies& bodies);
  void add_known(Instant at, const Bodies& bodies);
  void know_at_motion(Instant at, const Bodies& bodies);
  const Port& acting() const { return known_.on() ? acts_ : own_; }
  double stored(const Bodies& bodies) const;
  void integrate(double t, const Bodies& bodies);
  Vec3 summed_turn(std::size_t b, const Bodies& bodies) const;
  Wrench integral_pull(std::size_t b, const Bodies& bodies) const;
  void watch(Instant at, const Bodies& bodies);
  Verdict adapt(Instant at, const Bodies& bodies);
  double size_of(const Port& port);
  void weigh_terms(const Witness& seen);
  void look_at_disturbance(double t);
  void look_at_remainder(double t, double kinetic);
  void look_at_known(const Witness& seen);

  const Model& model_;
  PortGains gains_;
  Accelerations nu_r_, nu_r_dot_, s_;
  Integral integral_;
  Accelerations z_;  // ∫ s at the motion of inverse_
  MomentumObserver observer_;
  Remainder remainder_;
  VecX no_efforts_;
  KnownPart known_;
  Port own_;              // what acts by itself, as the command has it
  Port acts_;             // where a load is known: the same at the velocities of the motion
  Port port_, observed_;  // the command; r in it
  Port disturbance_, rest_;
  Accelerations moved_;  // by the disturbance
  std::size_t V_, V_dot_, promised_, by_joints_, remains_, found_ = 0, missed_ = 0, learned_ = 0, leverage_ = 0, in_use_ = 0,
                                                           found_there_ = 0;
  bool told_ = false;  // what acted
  Load first_, last_;  // just after the settle before, just before this one
  int evaluated_, allowed_, exact_, falls_ = -1, bounded_ = -1, resolved_ = -1;
  double rate_ = 0;                               // 1/s; sᵀ K_d s >= 2 rate V
  double disturbance_most_ = 0;                   // the largest sqrt(dᵀ A d) seen, N/sqrt(kg)
  double observed_most_ = 0;                      // and of r
  double force_at_play_ = 0, speed_at_play_ = 0;  // N, m/s; sizes of the terms at the last look
};

}  // namespace invar
