// SPDX-License-Identifier: Apache-2.0
// Which freedoms depend, and how they follow.
#include <algorithm>
#include <cmath>

#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {

std::vector<LoopBlock::Row> JointTree::all_rows() const {
  std::vector<LoopBlock::Row> out;
  for (const int j : tree_.closures)
    for (int r = 0; r < model_.joints()[static_cast<std::size_t>(j)].rows(); ++r) out.push_back({j, r});
  for (int c = 0; c < static_cast<int>(model_.couplings().size()); ++c) out.push_back({c, -1});
  return out;
}

// Φ_q where the bodies stand, row by row; every loop by itself, with its own length.
void JointTree::look_at_rows(const Bodies& bodies, const VecX& wound, const VecX& q, std::vector<ClosureRow>& entries,
                             std::vector<std::vector<int>>& touches) const {
  const std::vector<LoopBlock::Row> rows = all_rows();
  std::vector<double> size(static_cast<std::size_t>(nv_), 0.0);  // per freedom: the longest of its loops
  for (std::size_t r = 0; r < rows.size();) {
    std::vector<LoopBlock::Row> own;
    do own.push_back(rows[r++]);
    while (r < rows.size() && rows[r].which > 0 && rows[r].item == own.front().item);
    LoopBlock loop(*this, {}, own, {});
    loop.look(*this, bodies, wound, q);
    for (std::size_t i = 0; i < own.size(); ++i) {
      touches.push_back(loop.seen_by(i));
      ClosureRow row;
      for (const int k : touches.back()) {
        const ScrewAxis s = screw(k);
        row.push_back({k, loop.entry(i, k, s), loop.entry_size(i, k, s)});
        size[static_cast<std::size_t>(k)] = std::max(size[static_cast<std::size_t>(k)], loop.size_of(*this, k));
      }
      entries.push_back(std::move(row));
    }
  }
  for (ClosureRow& row : entries)
    for (ClosureEntry& e : row)
      e.value /= size[static_cast<std::size_t>(e.column)], e.size /= size[static_cast<std::size_t>(e.column)];
}

Verdict JointTree::choose(const VecX& q, const VecX& told, int dependent, bool as_named) {
  Bodies bodies;
  place(q, VecX::Zero(nv_), bodies);
  const VecX wound = told.size() > 0 ? told : VecX::Zero(model_.nv());
  std::vector<ClosureRow> entries;
  std::vector<std::vector<int>> touches;
  look_at_rows(bodies, wound, q, entries, touches);
  std::vector<int> loops(static_cast<std::size_t>(nv_), 0);
  for (const int j : tree_.closures)
    for (const LoopFreedom& f : loop_of_joint(j)) ++loops[static_cast<std::size_t>(f.freedom)];
  const ClosureChoice choice = choose_closures(
      std::move(entries), as_named ? wanted_ : std::vector<bool>(static_cast<std::size_t>(nv_), false), loops, dependent);
  dependent_ = choice.columns;
  independent_.clear();
  std::vector<bool> moves(nodes_.size(), false);
  for (int k = 0; k < nv_; ++k)
    if (std::binary_search(dependent_.begin(), dependent_.end(), k))
      moves[node_of_freedom(k)] = true;
    else
      independent_.push_back(k);
  beyond_.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].inner >= 0 && moves[static_cast<std::size_t>(nodes_[i].inner)]) moves[i] = true;
    if (moves[i]) beyond_.push_back(i);
  }
  arrange(all_rows(), order_closures(touches, choice));
  Verdict worst;
  for (LoopBlock& block : blocks_)
    if (const Verdict verdict = block.look(*this, bodies, wound, q); !verdict.ok()) worst = verdict;
  return worst.ok() ? anchor(q, wound) : worst;
}

void JointTree::arrange(const std::vector<LoopBlock::Row>& rows, const std::vector<ClosureGroup>& groups) {
  blocks_.clear();
  rides_.clear();
  const auto those = [&](const std::vector<int>& which) {
    std::vector<LoopBlock::Row> out;
    for (const int r : which) out.push_back(rows[static_cast<std::size_t>(r)]);
    return out;
  };
  for (const ClosureGroup& group : groups) {
    blocks_.emplace_back(*this, those(group.kept), those(group.others), group.columns);
    rides_.push_back(blocks_.back().rides_on(*this, dependent_));
  }
  find_sources();
}

// Through which freedoms the independent ones move every block.
void JointTree::find_sources() {
  struct Owner {
    int block = -1, row = -1;
  };
  std::vector<Owner> owner(static_cast<std::size_t>(nv_));
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    for (std::size_t d = 0; d < blocks_[b].dependent().size(); ++d)
      owner[static_cast<std::size_t>(blocks_[b].dependent()[d])] = {static_cast<int>(b), static_cast<int>(d)};
  sources_.assign(blocks_.size(), {});
  reach_.assign(blocks_.size(), {});
  motions_.resize(blocks_.size());
  chained_ = false;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const auto moved_by = [&](int k) {
      const Owner& o = owner[static_cast<std::size_t>(k)];
      return o.block < 0 ? std::vector<int>{k} : reach_[static_cast<std::size_t>(o.block)];
    };
    std::vector<int>& reach = reach_[b];
    for (const int k : blocks_[b].driving()) {
      const std::vector<int> by = moved_by(k);
      reach.insert(reach.end(), by.begin(), by.end());
    }
    std::sort(reach.begin(), reach.end());
    reach.erase(std::unique(reach.begin(), reach.end()), reach.end());
    for (const int k : blocks_[b].driving()) {
      const Owner& o = owner[static_cast<std::size_t>(k)];
      chained_ = chained_ || o.block >= 0;
      Source source{k, o.block, o.row, {}};
      for (const int i : moved_by(k))
        source.columns.push_back(static_cast<int>(std::lower_bound(reach.begin(), reach.end(), i) - reach.begin()));
      sources_[b].push_back(std::move(source));
    }
    motions_[b].resize(static_cast<Eigen::Index>(blocks_[b].dependent().size()), static_cast<Eigen::Index>(reach.size()));
  }
}

// Rows of E, block after block: what drives a block is an independent freedom, or follows from some.
void JointTree::spread() const {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    MatX& E = motions_[b];
    E.setZero();
    for (const Source& source : sources_[b]) {
      const auto column = blocks_[b].motion(*this, source.freedom).head(E.rows());
      for (std::size_t i = 0; i < source.columns.size(); ++i)
        E.col(source.columns[i]) +=
            (source.block < 0 ? 1.0
                              : motions_[static_cast<std::size_t>(source.block)](source.row, static_cast<Eigen::Index>(i))) *
            column;
    }
  }
}

// Loops that ride on others are closed after them; before that their nodes are placed anew, from where both ends of the loops
// have in common. Where that stands itself does not matter: nothing but the shape of the loops counts.
Verdict JointTree::complete(VecX& q, VecX& v, const VecX& wound, Bodies& bodies) const {
  bodies.resize(model_.bodies().size());
  if (blocks_.empty()) {
    kinematics_.place(q, v, bodies);
    return {};
  }
  kinematics_.poses(q, bodies);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (chained_ && b > 0) kinematics_.poses(q, blocks_[b].nodes(), bodies);
    if (const Verdict verdict = blocks_[b].close(*this, bodies, wound, q); !verdict.ok()) return verdict;
  }
  kinematics_.poses(q, beyond_, bodies);
  kinematics_.velocities(v, bodies);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (rides_[b])
      if (const Verdict verdict = blocks_[b].look(*this, bodies, wound, q); !verdict.ok()) return verdict;
    if (chained_ && b > 0) kinematics_.velocities(v, blocks_[b].nodes(), bodies);
    blocks_[b].rates(*this, bodies, v);
  }
  kinematics_.velocities(v, beyond_, bodies);
  return {};
}

Verdict JointTree::motions(const Bodies& bodies, const VecX& wound, MatX& E) const {
  E = MatX::Zero(nv_, static_cast<Eigen::Index>(independent_.size()));
  for (std::size_t i = 0; i < independent_.size(); ++i) E(independent_[i], static_cast<Eigen::Index>(i)) = 1;
  kinematics_.adopt(bodies);
  VecX q, v;
  measure(bodies, wound, q, v);
  for (LoopBlock& block : blocks_)
    if (const Verdict verdict = block.look(*this, bodies, wound, q); !verdict.ok()) return verdict;
  spread();
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    for (std::size_t i = 0; i < reach_[b].size(); ++i) {
      const auto column = std::lower_bound(independent_.begin(), independent_.end(), reach_[b][i]) - independent_.begin();
      for (std::size_t d = 0; d < blocks_[b].dependent().size(); ++d)
        E(blocks_[b].dependent()[d], column) = motions_[b](static_cast<Eigen::Index>(d), static_cast<Eigen::Index>(i));
    }
  return {};
}

// The correction of the rates is linear: from rest it makes what follows.
void JointTree::move_with(int independent, VecX& v, Bodies& bodies) const {
  v.setZero(nv_);
  v[independent] = 1;
  kinematics_.velocities(v, bodies);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (chained_ && b > 0) kinematics_.velocities(v, blocks_[b].nodes(), bodies);
    blocks_[b].rates(*this, bodies, v);
  }
  if (!blocks_.empty()) kinematics_.velocities(v, beyond_, bodies);
}

double JointTree::gain() const {
  spread();
  double most = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    for (std::size_t i = 0; i < reach_[b].size(); ++i) {
      const double driving = blocks_[b].size_of(*this, reach_[b][i]);
      for (std::size_t d = 0; d < blocks_[b].dependent().size(); ++d)
        most = std::max(most, std::abs(motions_[b](static_cast<Eigen::Index>(d), static_cast<Eigen::Index>(i))) *
                                  blocks_[b].size_of(*this, blocks_[b].dependent()[d]) / driving);
    }
  return most;
}

double JointTree::disagreement(const VecX& one, const VecX& other, double rest) const {
  double most = 0;
  for (const LoopBlock& block : blocks_) {
    double off = 0, speed = 0;
    const auto hear = [&](int f) {
      speed = std::max({speed, block.size_of(*this, f) * std::max(std::abs(one[f]), std::abs(other[f]))});
    };
    for (const int f : block.dependent()) {
      off = std::max(off, block.size_of(*this, f) * std::abs(one[f] - other[f]));
      hear(f);
    }
    for (const int f : block.driving()) hear(f);
    if (const double least = rest * block.length(); off > least) most = std::max(most, (off - least) / speed);
  }
  return most;
}

bool JointTree::as_wanted() const {
  return std::all_of(independent_.begin(), independent_.end(), [&](int i) { return wanted_[static_cast<std::size_t>(i)]; });
}

bool JointTree::any_wanted() const {
  return std::any_of(independent_.begin(), independent_.end(), [&](int i) { return wanted_[static_cast<std::size_t>(i)]; });
}

double JointTree::condition() const {
  double worst = 1;
  for (const LoopBlock& block : blocks_) worst = std::min(worst, block.condition());
  return worst;
}

int JointTree::weakest_joint() const {
  const auto weakest = std::min_element(blocks_.begin(), blocks_.end(),
                                        [](const LoopBlock& a, const LoopBlock& b) { return a.condition() < b.condition(); });
  return weakest == blocks_.end() || weakest->weakest_freedom() < 0 ? -1 : joint_of(weakest->weakest_freedom());
}

int JointTree::largest_group() const {
  int most = 0;
  for (const LoopBlock& block : blocks_) most = std::max(most, static_cast<int>(block.dependent().size()));
  return most;
}

Verdict JointTree::anchor(const VecX& q, const VecX& wound) {
  for (LoopBlock& block : blocks_)
    if (const Verdict verdict = block.anchor(*this, wound, q); !verdict.ok()) return verdict;
  return {};
}

int JointTree::turned_over() const {
  for (const LoopBlock& block : blocks_)
    if (block.turned_over()) return joint_of(block.weakest_freedom());
  return -1;
}

}  // namespace invar
