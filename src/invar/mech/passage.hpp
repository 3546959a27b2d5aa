// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <list>
#include <memory>
#include <optional>

#include "invar/mech/formulation.hpp"
#include "invar/mech/passage_part.hpp"

namespace invar {

class Unreduced;

/// Takes a motion through singular configurations of its loops. Within a band around one the weak rows, which vanish there, are
/// replaced by the complement of the tangent as it is known from regular configurations on both sides (Branch, PassagePart);
/// velocities are settled on the same rows, positions on the strong ones alone: what is missing of the weak ones is closed behind
/// the band. The equations change between steps only. Connected parts none of whose loops pass are left to their own solvers.
/// For groups of up to 160 freedoms, in parts of up to 480. Outside bands an ordinary step costs a comparison. It allocates where
/// a band is entered: once for a loop of one freedom, at every step of the band where there are more.
class Passage final : public KktSolver {
 public:
  /// `others`: solves the parts that do not pass.
  Passage(const Model& model, Unreduced& others);

  /// Begins a motion; in a band where it begins in, or next to, a singular configuration.
  void begin(const Bodies& bodies, const VecX& wound);

  /// Before a step of about h from settled bodies: enters, keeps or leaves a band. Returns how long the step may be so as to end
  /// no later than where the next band begins, or this one ends; h itself where steps are `whole`.
  double prepare(const Bodies& bodies, const VecX& wound, double h, bool whole);

  bool active() const { return !active_.empty(); }
  /// A joint of loops that are held as they stand (-1: couplings only); nothing where none are.
  std::optional<int> standing() const;
  /// Loops may stand in, or beside, a singular configuration in which nothing moves: they are held there. What velocities they
  /// have all the same (their rows do not show it) is taken by an impulse, the least in the inertia metric. For Level::Velocity.
  Verdict stop_what_stands(Bodies& bodies);
  /// Whether no step was prepared yet.
  bool begins() const { return begun_; }
  /// Whether bands hold at these bodies: those of a step all through it, those in which a motion begins where it begins.
  bool holds_at(const Bodies& bodies) const;
  /// Whether loops of a piece of the solver's are in a band.
  bool passes(int piece) const;
  /// Whether a singular configuration lay ahead, or behind, when rows were looked at last; not one that only seemed to, because
  /// no branch leads through it.
  bool watching() const;
  /// Changes whenever the equations do.
  long version() const { return version_; }
  /// How the present step goes through a singular configuration of a group.
  Through through(std::size_t group) const;
  LedOver led_over() const;

  using Level = PassagePart::Level;
  void set_level(Level level) { level_ = level; }

  /// In a band, everything at bodies.
  Verdict solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                std::vector<Wrench>& reactions) override;
  double coupling_effort(int coupling) const override;
  /// What the reactions of the last solve miss of the balance, in parts of its terms, the largest of the parts in bands: in a
  /// singular configuration itself none need exist.
  double unbalanced() const;
  /// Measures how far connected parts are open, by the rows that hold in bands (rad, or parts of their lengths). A part is closed
  /// where it is within the tolerance and the last correction did not halve what it was off by; it is not corrected any more. Ok
  /// where all are; NotConverged with the largest gap of those that are not.
  Verdict close_parts(const Bodies& bodies, const VecX& wound, double tolerance, bool first);
  /// Around a correction: closed parts stay as they are, to the bit (a turn by zero rounds, too).
  void keep_closed(const Bodies& bodies) { kept_ = bodies; }
  void restore_closed(Bodies& bodies) const;

 private:
  struct Seen {
    VecX q, v;  // of the tree
  };
  /// Memory of one group that is looked at.
  struct Watched {
    LoopWork work;
    LoopRank here;
    VecX t;
    double budget = 0;     // how far its bodies may move without meeting a singular configuration
    double sine = 1;       // of the weakest row of its part, before the last step
    bool near = true;      // has to be looked at
    bool failing = false;  // a band was wanted for the present step, and could not be built
    bool rests = false;    // begins at rest in a band
  };
  void learn_rank(std::size_t group);
  Branch* passing(std::size_t group);
  bool closed(int body) const;
  void hold_what_stands(const VecX& wound);
  void begin_in_bands(const VecX& initial, const VecX& wound);
  bool head_from(const VecX& initial, std::size_t group, const VecX& wound, VecX& t);
  void forget_begun_bands();
  bool leave(const Seen& at);
  void renew_rows(const Seen& at, const VecX& wound);
  double look(const Bodies& bodies, const Seen& at, const VecX& wound, double h, bool whole);
  double approach(std::size_t group, const Seen& at, const VecX& wound, double h, bool whole);
  void enter(std::size_t group, const Seen& at, const VecX& wound, const VecX& t, double centre, int directions, double half);
  void choose_rows(int piece);
  std::vector<int> best_rows(std::size_t group, const MatX& J) const;
  bool follows(const Branch& branch, const Seen& at);

  const Model& model_;
  Unreduced& others_;
  Loops loops_;
  Scales scales_;
  std::vector<Piece> pieces_;  // as the solver has them
  std::vector<int> piece_of_group_, freedoms_of_piece_;
  std::vector<std::unique_ptr<PassagePart>> parts_;  // per piece; made where it passes first
  struct Closing {
    double last = 0, gap = 0;
    int joint = -1;
    bool closed = false;
  };
  std::vector<Closing> closing_;                 // per connected part
  std::vector<int> regular_;                     // per group: its rank
  std::vector<std::optional<Watched>> watched_;  // per group; none: too large
  std::list<Branch> active_;
  std::vector<std::vector<int>> kept_rows_;  // per group: those that serve beside bands of its part
  std::vector<char> in_standing_part_;       // per body: in a part with loops that stand
  Accelerations impulse_;                    // per body: change of velocities
  std::vector<Wrench> unused_;               // per joint
  VecX coupling_q_;                          // per coupling: driving coordinate
  std::vector<int> dropped_;                 // per joint: rows that do not hold in bands, as bits
  std::vector<bool> dropped_couplings_;      // per coupling
  long version_ = 0;
  Level level_ = Level::Acceleration;
  VecX wound_;
  Bodies before_, kept_;
  bool watching_ = false, begun_ = false;
  Seen seen_;       // before the step
  VecX u_, du_;     // of a group
  VecX q_, rates_;  // of all joints
};

}  // namespace invar
