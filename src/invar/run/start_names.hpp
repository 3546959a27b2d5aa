// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/meeting.hpp"
#include "invar/mech/travel.hpp"
#include "invar/run/start.hpp"

// For the sources of this room only.
namespace invar {

/// How far bodies are from what a start names: the largest difference over coordinates and rates, as AsNamed measures it.
double off_names(const Model& model, const Start& start, const Bodies& bodies, const VecX& wound);

/// Branches that meet in a configuration of one group of loops, and which of them are as a start names.
class NamedBranches {
 public:
  /// At coordinates q of the tree of `loops`, which keeps the freedoms `leaders` of the model.
  NamedBranches(Loops& loops, const std::vector<int>& leaders, std::size_t group, const VecX& q, const VecX& wound,
                const Start& start);

  /// Whether there is more than one, so that names have to choose.
  bool several() const { return meeting_ && (continuum_ > 1 || meeting_->branches.size() > 1); }
  /// How many are known. Of a continuum: those that have the ratios of the named rates, or examples where these do not choose.
  std::size_t size() const { return meeting_ ? meeting_->branches.size() : 0; }
  const Meeting& meeting() const { return *meeting_; }
  /// Whether rates of the tree belong to no motion through the configuration.
  bool without(const VecX& v) const;
  /// Whether a state has what is named of this group, but for the rates.
  bool contradicted(const VecX& q, const VecX& v) const;
  /// States that are as named in the joints of this group, next to the configuration or led away from it: coordinates and rates
  /// of the tree. One for each branch, where loops get there. By positions: rates are those that come nearest to the named ones.
  enum class By { All, Positions };
  struct Reached {
    std::size_t branch;
    VecX q, v;
  };
  std::vector<Reached> reached(By by = By::All);
  /// "2 branches of motion meet there", or a continuum of them.
  std::string count() const;
  /// What would choose: "with joint 'a' at 2: 'd' at 2; or 'd' at -0.667".
  std::string words() const;

 private:
  MatX ratios() const;
  bool named(int joint) const;
  bool along(std::size_t branch, By by, Reached& out);
  bool away(std::size_t branch, double side, By by, Reached& out);
  bool as_named(const VecX& q, const VecX& v, By by) const;
  void pace(const VecX& q, VecX& v) const;

  const Model& model_;
  const Start& start_;
  AsNamed measure_;
  Loops& loops_;
  std::vector<int> leaders_;
  std::size_t group_;
  VecX q_, wound_;
  std::vector<bool> joints_;   // of the group, per joint of the model
  std::vector<int> freedoms_;  // of the model: of the group, in the tree, that are named
  std::optional<Meeting> meeting_;
  int continuum_ = 0;  // how many rates choose one of a continuum; 0: there is none
};

/// The freedoms and rates of one group of loops, out of another state of the tree.
void take_group(const Loops& loops, std::size_t group, const VecX& q_from, const VecX& v_from, VecX& q, VecX& v);

/// What values of [initial] that somebody has rounded may be off by, rad or parts of the length.
inline constexpr double kRounded = 1e-3;
/// The start that names what [initial] names.
Start named_by_initial(const Model& model);
/// Loops closed as [initial] says. Joints that it does not name begin at zero; where loops do not close from there (links that
/// lie in one line resist every way out to first order), or close on another branch than the one that is named, joints of these
/// loops are tried elsewhere. Where names contradict each other, some are as named and the others follow.
Result<Bodies> assembled_initial(const Model& model, double tolerance);

/// On which turn every angle of a start is at given bodies. What tells most surely tells first where all of it together would
/// break a coupling: what the start names and the bodies have so; then what [initial] names, the nearest first. What gave way
/// follows its couplings.
VecX wound_of(const Model& model, const Start& start, const Bodies& bodies);
/// Refuses angles whose turns break a coupling.
Result<void> expect_couplings(const Model& model, const Bodies& bodies, const VecX& wound);

/// The start without the rates that it names.
Start without_rates(Start start);
/// Freedoms of the model that a start names, of joints with as many coordinates as freedoms.
std::vector<int> named_freedoms(const Model& model, const Start& start);
/// Joints that it names whose coordinates are attitudes (balls, free bodies).
std::vector<int> named_attitudes(const Model& model, const Start& start);
/// Its rates, NaN where a freedom is named without one.
VecX named_rates(const Model& model, const Start& start);

}  // namespace invar
