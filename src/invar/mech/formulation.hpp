// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

#include "invar/base/status.hpp"
#include "invar/mech/bodies.hpp"
#include "invar/mech/state.hpp"
#include "invar/mech/tendons.hpp"

namespace invar {

/// What the equations of motion say about the reaction of one joint. A share is the part of a component that self-stress may
/// take: 0 the component is determined by the motion, 1 nothing determines it; a direction in which the joint holds nothing has
/// share 0. The share of the force along a unit vector e is eᵀ force e, with e along F of the file: along its axes the shares
/// are the diagonal. The same for the moment about the joint point.
struct JointVerdict {
  Mat3 force = Mat3::Zero();
  Mat3 moment = Mat3::Zero();
  bool determined = true;
  std::vector<int> together_with;  ///< joints that trade self-stress with this one
};

/// Everything that one evaluation of the dynamics can tell. Joint wrenches act on the parent at the joint point (origin of
/// M), World components: docs/papers.md A1. `reactions` is the constraint part; `efforts` what springs, dampers and motors add on
/// the freedoms.
struct Evaluation {
  Bodies bodies;
  Accelerations accelerations;         ///< per body
  std::vector<Wrench> reactions;       ///< per joint
  std::vector<JointVerdict> verdicts;  ///< per joint: what of its reaction follows from the motion alone
  VecX q, v, vdot;                     ///< joint coordinates, rates and their derivatives, stacked as in the model
  VecX efforts;                        ///< total effort on every joint freedom: commanded + passive
  VecX couplings;                      ///< effort transmitted by every coupling
  std::vector<Pull> tendons;           ///< length, rate and tension of every tendon
};

/// How many rows hold, and how freely the mechanism moves, at the state solved last. Rank is geometry: masses do not enter.
struct Mobility {
  int rows = 0;                ///< constraint rows of joints and couplings
  int rank = 0;                ///< independent ones
  int freedoms = 0;            ///< 6 bodies - rank
  double sigma = 1;            ///< smallest singular value of the rows kept, estimated (pure number); below 1e-3 nearly singular
  double sine = 1;             ///< of the angle between the weakest row and the others at the last solve; 0 where rank falls
  int joint = -1;              ///< where the last doubt arose, or the weakest row
  long changes = 0;            ///< how often the rank changed since the start
  long charts = 0;             ///< how often other independent coordinates were taken
  bool near_singular = false;  ///< the last solve met a row that nearly depends on the others
};

/// How a step goes through a singular configuration of some loops: within a band, where the weak rows are replaced; or with all
/// rows, because their part is too large for the equations of a band, because no branch was found, or because nobody saw the
/// configuration ahead of the step.
enum class Through { Band, TooLarge, NoBranch, NotSeen };

/// A gap over which a step is led: loops miss a singular configuration by so little that nodes close on both sides of it.
struct LedOver {
  double gap = 0;  ///< in parts of their length; 0: none
  int joint = -1;  ///< one that closes them
};

/// One view of a Model: owns the coordinates and the solver, knows nothing of time, files or control.
/// Functions that return a Verdict change their outputs only in part when it is not Ok.
class Formulation {
 public:
  explicit Formulation(const Model& model) : model_(model), serial_(next_serial()) {}
  virtual ~Formulation() = default;
  Formulation(const Formulation&) = delete;
  Formulation& operator=(const Formulation&) = delete;

  const Model& model() const { return model_; }
  /// A number that no other formulation of this program has, or had: who keeps things sized for one can tell.
  unsigned long serial() const { return serial_; }

  /// A state from Bodies (taken as they are: see make_consistent), and back. `set` begins a motion: it sizes and fills the
  /// whole state and prepares the solver there, so that the steps that follow need no heap. `turns` says on which turn the
  /// joint angles are (see wound_at); without it they start within half a turn.
  virtual void set(const Bodies& bodies, State& x, const VecX& turns) = 0;
  void set(const Bodies& bodies, State& x) { set(bodies, x, VecX()); }
  virtual void bodies(const State& x, Bodies& out) const = 0;

  /// dv/dt under a load; also power of the efforts and of dissipation, W. rate.v = x.v in every formulation so far.
  virtual Verdict rate(const State& x, const Load& load, Rate& rate) = 0;

  /// The same with everything that can be known, reactions of least norm included. Not for the step loop of stages.
  virtual Verdict evaluate(const State& x, const Load& load, Evaluation& out) = 0;

  /// to.q = from.q moved by the tangent u (Lie-group update), and the u' that belongs to a velocity v there: u' = dexp^-1_u v.
  virtual void retract(const State& from, const VecX& u, State& to) const = 0;
  virtual void pull(const VecX& u, const VecX& v, VecX& u_dot) const = 0;

  /// How many rows hold at the state seen last, and how often that number changed.
  virtual const Mobility& mobility() const {
    static const Mobility free;
    return free;
  }

  /// Takes over a model that was edited in place (see LiveModel): afterwards everything is to the bit as in a formulation freshly
  /// built from it, and the next call must be `set`. False where the change reaches the structure of this view, or the view does
  /// not follow edits: then a new formulation is needed. No heap.
  [[nodiscard]] virtual bool adopt(const Change& change) { return (void)change, false; }

  /// Before a step of about h from the settled state x: the equations of the step are chosen, which stay the same all through it
  /// (near a singular configuration others hold than elsewhere: see Passage). Returns how long it may be, h at most; h where the
  /// step is `whole`, of fixed length. And a number that changes whenever the equations do.
  virtual double prepare_step(const State& x, double h, bool whole) { return (void)x, (void)whole, h; }
  virtual long equations() const { return 0; }

  /// Names of the coordinates that describe the motion at present, where that is a choice ("a, b"); otherwise empty.
  virtual std::string chosen_coordinates() const { return {}; }

  /// Ends a step: counts turns from where the state expects its angles and, if the formulation was told so, moves the state back
  /// onto its constraints.
  virtual Verdict settle(State& x) = 0;

  /// How the step that was prepared last goes through a singular configuration of a group of Loops.
  virtual Through through(std::size_t group) const { return (void)group, Through::NotSeen; }
  /// And the widest gap that it is led over.
  virtual LedOver led_over() const { return {}; }

 protected:
  /// Whoever keeps things for this formulation must make them anew.
  void renew() { serial_ = next_serial(); }

 private:
  static unsigned long next_serial() {
    static std::atomic<unsigned long> last{0};
    return ++last;
  }

  const Model& model_;
  unsigned long serial_;
};

}  // namespace invar
