// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/meeting.hpp"
#include "invar/mech/travel.hpp"
#include "invar/run/start.hpp"

// For the sources of this room only.
namespace invar {

/// How far bodies are from what a start names: the largest |is - named| / (1 + |named|) over coordinates and rates.
double off_names(const Model& model, const Start& start, const Bodies& bodies, const VecX& wound);

/// Branches that meet in a configuration of one group of loops, and which of them are as a start names.
class NamedBranches {
 public:
  /// At coordinates q of the tree of `loops`, which keeps the freedoms `leaders` of the model.
  NamedBranches(Loops& loops, const std::vector<int>& leaders, std::size_t group, const VecX& q, const VecX& wound,
                const Start& start);

  /// How many there are; where fewer than two, nothing is to be chosen.
  std::size_t size() const { return meeting_ ? meeting_->branches.size() : 0; }
  const Meeting& meeting() const { return *meeting_; }
  /// States that are as named in the joints of this group, next to the configuration or led away from it: coordinates and rates
  /// of the tree. One for each branch, where loops get there.
  struct Reached {
    std::size_t branch;
    VecX q, v;
  };
  std::vector<Reached> reached();
  /// "with joint 'a' at 2: 'd' at 2, or at -0.667".
  std::string words() const;

 private:
  bool named(int joint) const;
  bool along(std::size_t branch, Reached& out);
  bool away(std::size_t branch, double side, Reached& out);
  bool as_named(const VecX& q, const VecX& v) const;
  bool pace(const VecX& q, VecX& v) const;

  const Model& model_;
  const Start& start_;
  Loops& loops_;
  std::vector<int> leaders_;
  std::size_t group_;
  VecX q_, wound_;
  std::vector<bool> joints_;   // of the group, per joint of the model
  std::vector<int> freedoms_;  // of the model: of the group, in the tree, that are named
  std::optional<Meeting> meeting_;
};

/// Freedoms of the model that a start names, of joints with as many coordinates as freedoms.
std::vector<int> named_freedoms(const Model& model, const Start& start);
/// Its rates, NaN where a joint is named without one.
VecX named_rates(const Model& model, const Start& start);

}  // namespace invar
