// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "invar/mech/branch.hpp"

namespace invar {

/// Leads loops from a closed, regular configuration to where some freedoms are as wanted. They stay closed on the way, so that
/// the branch is kept; through singular configurations, where Newton's method over all rows would lose it, along nodes astride
/// them (Branch). All leading freedoms of a group of loops go at one pace; those of its independent freedoms that nobody wants
/// anywhere stay. For starts: allocates.
class Travel {
 public:
  /// `leaders`: freedoms of the model, with coordinates of their own. Of those that depend on each other, some lead.
  /// `attitudes`: joints of the model whose coordinates are none of freedoms (balls, free bodies): outside of loops they are put
  /// where they are wanted; in loops they lead with their rates only.
  Travel(const Model& model, const std::vector<int>& leaders, const Bodies& from, const VecX& wound,
         const std::vector<int>& attitudes = {});

  /// A group of loops that stays where it is, with the rates that it has.
  void keep(std::size_t group);
  /// To the coordinates q and rates v (stacked as in the model; only those that lead count; NaN: a rate that follows from the
  /// others), in all groups of loops or in one of them. False where loops do not let the freedoms that lead get there; a group
  /// that does not stays where it is, whatever others do. Groups in which nothing leads, because loops hold all of it, stay at
  /// rest.
  bool go(const VecX& q, const VecX& v, int group = -1);
  /// Where it arrived, after go.
  const Bodies& bodies() const { return bodies_; }
  /// Coordinates of the tree there.
  const VecX& q() const { return q_; }
  /// Per group: the singular configuration next to which it arrived, coordinates of the tree.
  const std::vector<std::optional<VecX>>& beside() const { return beside_; }

 private:
  enum class Way { Clear, Arrived, Passed };
  struct Lead {
    int freedom;
    double by;
  };
  bool choose(const VecX& q);
  bool closed(std::size_t group);
  void put(std::size_t group, const VecX& q, const VecX& v);
  bool go_in_group(std::size_t group, const std::vector<Lead>& leads);
  bool tangent(const std::vector<Lead>& leads, VecX& ahead);
  Way through_band(std::size_t group, const std::vector<Lead>& leads, const Lead& first, double done, const VecX& ahead,
                   double leg, double& s);
  double arrival(const Branch& branch, Eigen::Index freedom, double aim, double behind) const;
  bool rates_along(const Branch& branch, const VecX& du);
  bool rates_of(std::size_t group);

  Loops loops_;
  JointTree tree_;
  void turn(const VecX& q, const std::vector<bool>& in_group);

  std::vector<bool> leader_;  // per freedom of the tree
  std::vector<bool> paced_;   // the same: its rate leads
  std::vector<int> attitudes_;
  VecX wound_;
  VecX q_, v_;              // of the tree
  VecX before_;             // rates at the beginning
  std::vector<bool> kept_;  // per group
  VecX wanted_;             // rates of the tree; NaN: not named
  VecX named_rates_;        // the same of the model
  VecX at_, rates_;         // of the tree, while one group is on its way
  int regular_ = 0;         // rank of the group that is on its way
  bool sound_ = false;      // freedoms could be chosen
  Bodies bodies_;
  std::vector<std::optional<VecX>> beside_;
};

}  // namespace invar
