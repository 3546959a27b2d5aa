// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "invar/mech/formulation.hpp"
#include "invar/mech/projection.hpp"
#include "invar/mech/unreduced.hpp"

namespace invar {

class Passage;

struct AugmentedOptions {
  bool project = true;         ///< settle() moves every step's end back onto position and velocity constraints
  double baumgarte_alpha = 0;  ///< 1/s; with beta: J a = gamma - 2 alpha J v - beta² residual
  double baumgarte_beta = 0;   ///< 1/s
  bool verdicts = true;        ///< evaluate() says which reactions follow from the motion; that takes a basis of self-stresses
};

/// Paper A: every body with its six velocities, every joint a constraint, A (19): accelerations and all joint reactions.
/// State: q = (p_WC, quaternion scalar first) and v = (v_WC, w_B) per body; w_B is the angular velocity in body components.
/// Any components would be exact; these leave a fifth of the truncation error in joint gaps and an eighth in angular momentum
/// (paper A's open loop, rk4), because a spinning body's own rates change slowly.
/// Law: momenta change only by loads; joints do no work; the equations are the same in every World frame.
class Augmented final : public Formulation {
 public:
  explicit Augmented(const Model& model, const AugmentedOptions& options = {});
  ~Augmented() override;

  using Formulation::set;
  void set(const Bodies& bodies, State& x, const VecX& turns) override;
  void bodies(const State& x, Bodies& out) const override;
  Verdict rate(const State& x, const Load& load, Rate& rate) override;
  Verdict evaluate(const State& x, const Load& load, Evaluation& out) override;
  void retract(const State& from, const VecX& u, State& to) const override;
  void pull(const VecX& u, const VecX& v, VecX& u_dot) const override;
  Verdict settle(State& x) override;
  double prepare_step(const State& x, double h, bool whole) override;
  long equations() const override;
  Through through(std::size_t group) const override;
  LedOver led_over() const override;
  [[nodiscard]] bool adopt(const Change& change) override;

  /// The bare solve from Bodies: accelerations and reactions under a load (passive joints included; angles taken within half
  /// a turn). The outputs must have one entry per body and per joint. No heap.
  Verdict solve(const Bodies& bodies, const Load& load, Accelerations& accelerations, std::vector<Wrench>& reactions);

  /// The same with turns counted, and what dampers and friction took in the last solve, W. Reactions may be left as they are
  /// where nobody asks for them.
  Verdict solve(const Bodies& bodies, const Load& load, const VecX& wound, Accelerations& accelerations,
                std::vector<Wrench>& reactions, bool wants_reactions = true);
  double dissipation() const { return dissipation_; }

  /// The parts of evaluate and settle that know no coordinates, for formulations that have others: everything at out.bodies, and
  /// Bodies moved onto position and velocity constraints from nearby.
  Verdict evaluate_bodies(const VecX& wound, const Load& load, Evaluation& out);
  Verdict project(Bodies& bodies, const VecX& wound);
  double prepare_step(const Bodies& bodies, const VecX& wound, double h, bool whole);
  /// Whether the present step passes a singular configuration: only then solve knows the equations there. And whether they hold
  /// at these bodies (a motion may begin in a band, and go on by a method that knows none).
  bool passes() const;
  bool passes_at(const Bodies& bodies) const;
  /// What the last evaluation in a band misses of the balance of forces, in parts of its terms: in a singular configuration
  /// itself there need be no reactions that cause the motion.
  double unbalanced() const;
  /// A joint of loops that leave no motion and are held as they stand (-1: couplings only); nothing where none are.
  std::optional<int> standing() const;
  /// Whether it nears one, or leaves it.
  bool approaches() const;

  /// Rank, freedoms and how often they changed.
  const Mobility& mobility() const override;
  Unreduced& solver() { return solver_; }
  Projection& projection() { return projection_; }

 private:
  Verdict accelerate(const Bodies& bodies, const Load& load, const VecX* wound, bool reactions = true);
  Verdict solve_into(const Bodies& bodies, const Load& load, const VecX* wound, Accelerations& accelerations,
                     std::vector<Wrench>& reactions, bool wants_reactions);
  Verdict project_in_band(Bodies& bodies, const VecX& wound);
  void least_norm(Evaluation& out, bool in_band);
  bool exactly_balanced(Evaluation& out);

  AugmentedOptions options_;
  std::vector<int> measured_;  // joints whose coordinates every call needs: passive parts, couplings
  Unreduced solver_;
  Projection projection_;
  std::unique_ptr<Passage> passage_;     // where there are loops, once a motion has begun
  std::unique_ptr<Projection> in_band_;  // with its rows
  std::vector<bool> passed_;             // per piece of the solver: in a band before the step
  int counted_rank_ = -1;                // of all pieces, before the step; -1: as the solver has it
  mutable Mobility mobility_;
  Bodies bodies_;                  // of the state being worked on
  Accelerations accelerations_;    // per body
  std::vector<Wrench> reactions_;  // per joint
  VecX q_, v_, efforts_;           // joint coordinates, rates; commanded plus passive efforts
  Port port_;                      // per body: the load and what tendons add
  VecX coupling_q_;                // per coupling: driving coordinate
  KktInput input_;                 // of the last solve
  double dissipation_ = 0;         // W
};

}  // namespace invar
