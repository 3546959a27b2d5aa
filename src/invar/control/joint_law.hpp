// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Eigen/Eigenvalues>

#include "invar/control/control_law.hpp"
#include "invar/control/integral.hpp"
#include "invar/control/known_load.hpp"
#include "invar/control/momentum_observer.hpp"
#include "invar/mech/constrained_inverse.hpp"

namespace invar {

/// A freedom of a joint that shall follow a path, and its gains.
struct JointAim {
  int joint = 0, freedom = 0;
  Path path;
  double rate = 1;                                        ///< Λ, 1/s
  double gain = 30;                                       ///< K: effort per unit of s
  double robust = 0;                                      ///< κ, N m or N; zero: no boundary layer
  double layer = 1e-4;                                    ///< ε, units of s
  double stiffness = 100;                                 ///< of e: PD and computed torque (there per unit of inertia)
  double damping = 20;                                    ///< of ė
  double integral = 0;                                    ///< effort per unit of z = ∫ s dt; computed torque: per unit of inertia
  double most = std::numeric_limits<double>::infinity();  ///< of the effort that z gives
};

struct JointLawSpec {
  enum class Kind {
    SlotineLi,       ///< Γ q̈_r + C q̇_r - Q_e - K s - κ sat(s/ε): the law that B (21)-(24) prove
    Robust,          ///< B (18) as printed, with h = C q̇: V̇ gains ½ sᵀ Γ̇ s (docs/papers.md B2)
    ComputedTorque,  ///< Γ (q̈_d - D ė - P e) + h - Q_e
    PdGravity,       ///< -P e - D ė and what holds the mechanism at rest
  };
  Kind kind = Kind::SlotineLi;
  std::vector<JointAim> aims;  ///< as many as the nominal mechanism has freedoms, independent of each other
  bool model = true;           ///< false: feedback alone, without Γ, h and Q_e
  /// κ of K_d = K + κ Γ, 1/s, in the place of K (sliding laws) or of the damping (PD): every freedom has the same rate, and with
  /// it alone V of the sliding laws falls like exp(-2 κ t). Computed torque has its gains per unit of inertia anyway.
  double rate = 0;
  double observer = 0;        ///< k_o, 1/s: of a momentum observer, whose r is taken off the efforts; 0: none
  RemainderBound bound = {};  ///< what is known of the loop's remainder before it runs
  KnownLoadSpec known = {};   ///< beside the model
};

/// Laws in the independent freedoms q of any mechanism, closed chains included: paper B's, and two to compare with.
///   e = q - q_d,   s = ė + Λ e,   q̇_r = q̇_d - Λ e                                            B (14)-(17)
/// Γ, C and Q_e are never assembled from Jacobians: with unit efforts on the freedoms the constrained inverse answers with the
/// columns of 𝒥 Γ⁻¹, and one more solve gives what the freedoms do by themselves, a_0, at the motion ν and a reference ν_r:
///   Γ q̈_r + C q̇_r - Q_e = Γ (q̈_r - a_0(ν, ν_r)),     Γ q̈_r + h - Q_e = Γ (q̈_r - a_0(ν, ν)).
/// Certificate (joint_certificate.cpp): a V for every law, V̇ against what it promises with the d that acted, found from the
/// plant's accelerations; κ > |d|, or no d where the law has no κ; all but for round-off of the forces at play.
/// With integral action Q gets -K_i z and V gets ½ zᵀ K_i z; V̇ stays as it is, and a constant d is rejected. With a momentum
/// observer Q gets -𝒥ᵀ r, and V̇ has d - 𝒥ᵀ r in the place of d. What neither knows of is in the loop's remainder.
/// Where a load is known beside the model, Q_e has it and all friction at the velocities of the reference (q̇_r, or q̇_d for the
/// two to compare with), and d is what acts beyond both at ν. Angles are compared modulo a turn.
class JointLaw final : public ControlLaw {
 public:
  /// The model must outlive the law.
  JointLaw(const Model& model, JointLawSpec spec);

  /// Aims that do not describe the motion: too few, too many, dependent.
  std::string objection(Instant at, const Bodies& bodies) override;

  Verdict command(Instant at, const Bodies& bodies, Load& out) override;
  void settle(Instant at, const Bodies& bodies) override;
  bool observes() const override { return observer_.on(); }
  void acted(const Load& first, const Load& last) override { observer_.acted(first, last); }
  const Remainder* remainder() const override { return &remainder_; }
  std::vector<std::string> notes() const override { return known_load_.notes(); }
  void witness(const Witness& seen) override;
  void conclude() override;
  void remember(Recall& memory) override { integral_.remember(memory), observer_.remember(memory), known_load_.remember(memory); }

  /// Γ⁻¹ in the freedoms of the aims, at the motion seen last.
  const MatX& mobility() const { return mobility_; }

 private:
  Verdict look(Instant at, const Bodies& bodies);
  Verdict inertia();
  void weigh(const VecX& x);
  void field_of(const VecX& rates, Accelerations& w);
  void known(bool at_rest);
  void know_at_reference(Instant at);
  void know_at_motion(Instant at);
  void watch(Instant at);
  Verdict free_acceleration(const Accelerations& w, bool forces, VecX& a);
  Verdict law(Instant at);
  Verdict observe(Instant at);
  double saturated(std::size_t i) const;
  void state_readings();
  void state_clauses();

  bool is_sliding() const { return spec_.kind == JointLawSpec::Kind::SlotineLi || spec_.kind == JointLawSpec::Kind::Robust; }
  bool is_robust() const { return robust_law_; }
  /// V, V̇, what was promised of it; the power that its terms add up to; largest |s|/ε; what boundary layers may add; |s|_Γ or
  /// its like, and |e|_A of the remainder; what loads at the velocities of the reference add to V̇, and what
  /// damping takes of it.
  struct Fall {
    double V = std::numeric_limits<double>::quiet_NaN(), rate = V, promised = V, power = V, outside = V, within = V, speed = V,
           remainder = V, helped = V, taken = V;
  };
  double weighed_size(const VecX& accelerations);
  void look_at_observer();
  void weigh_port(const Port& port);
  void weigh_help();
  void look_at_known(const Witness& seen, const Fall& fall);
  Fall sliding_fall();
  Fall linear_fall();
  Fall resting_fall();
  void weigh_forces(const Witness& seen);
  double rate_at_play(std::size_t i, double rate) const;

  const Model& model_;
  JointLawSpec spec_;
  ConstrainedInverse inverse_;
  std::vector<Accelerations> Y_;  // 𝒥 Γ⁻¹, column by column
  Accelerations w_, x_, nu_;      // a field; what follows it; the motion
  Port known_, port_;             // what acts by itself; right side of a solve
  MatX mobility_;                 // Γ⁻¹
  Eigen::LLT<MatX> factor_;       // of Γ⁻¹
  Eigen::SelfAdjointEigenSolver<MatX> eigen_;
  VecX unit_, all_;  // per freedom of the model
  VecX wanted_, e_, e_dot_, s_, v_, v_d_, v_r_, a_d_, a_r_, a_0_, Q_, d_, largest_d_, weighed_;
  VecX vdot_, free_, at_play_, pushed_;  // of the plant; accelerations at hand; forces at play; what they could make
  MatX gamma_;                           // Γ
  Integral integral_;
  VecX z_;
  MomentumObserver observer_;
  Remainder remainder_;
  Port own_, no_port_;  // what acts by itself; nothing
  VecX Q_r_, efforts_;  // what the observer takes off; efforts without it, on all freedoms of the model
  VecX pulled_;         // accelerations that errors ask for
  KnownPart known_load_;
  Accelerations reference_;  // velocities at which it is taken
  Port taken_;               // what acts by itself, as the command has it
  VecX helps_;               // of what acts by itself, beyond what the command has; per freedom
  double observed_most_ = 0;
  bool integrates_ = false, robust_law_ = false;  // any K_i; any κ
  std::size_t V_, V_dot_, promised_, layer_ = 0, remains_, found_ = 0, missed_ = 0, learned_ = 0, leverage_ = 0, in_use_ = 0;
  std::size_t wanted_at_;  // of the first freedom, the others follow
  int defined_, exact_, falls_ = -1, robust_ = -1, still_ = -1, bounded_ = -1, resolved_ = -1;
  double least_ = std::numeric_limits<double>::infinity(), most_ = 0;  // eigenvalues of Γ seen
};

}  // namespace invar
