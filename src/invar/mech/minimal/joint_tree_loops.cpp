// SPDX-License-Identifier: Apache-2.0
// Which freedoms depend, and how they follow.
#include <algorithm>
#include <numeric>

#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {
namespace {

// Pivots of scaled rows below this, or below this share of the largest, say nothing new: rows of a slider beside a slider are
// rounding alone.
constexpr double kDependent = 1e-9;
constexpr double kNearly = 0.1;  // pivots above this share of the largest are as good, if they keep loops apart

// Complete pivoting on Φ (columns scaled), first on the freedoms that nobody wants to keep, among equals on those of few loops.
struct Pivots {
  std::vector<int> rows, columns;

  Pivots(MatX a, const std::vector<bool>& wanted, const std::vector<int>& loops) {
    std::vector<bool> row_taken(static_cast<std::size_t>(a.rows()), false), taken(static_cast<std::size_t>(a.cols()), false);
    const double largest = a.size() > 0 ? std::max(1.0, a.cwiseAbs().maxCoeff()) : 0.0;
    const auto each = [&](bool wants, auto&& f) {
      for (int k = 0; k < a.cols(); ++k) {
        if (taken[static_cast<std::size_t>(k)] || wanted[static_cast<std::size_t>(k)] != wants) continue;
        for (int r = 0; r < a.rows(); ++r)
          if (!row_taken[static_cast<std::size_t>(r)]) f(r, k, std::abs(a(r, k)));
      }
    };
    for (const bool wants : {false, true})
      for (;;) {
        double most = 0;
        each(wants, [&](int, int, double x) { most = std::max(most, x); });
        if (!(most > kDependent * largest)) break;
        int p = -1, c = -1;
        each(wants, [&](int r, int k, double x) {
          if (x < kNearly * most) return;
          const int now = loops[static_cast<std::size_t>(k)], best = c < 0 ? 0 : loops[static_cast<std::size_t>(c)];
          if (c < 0 || now < best || (now == best && x > std::abs(a(p, c)))) p = r, c = k;
        });
        row_taken[static_cast<std::size_t>(p)] = taken[static_cast<std::size_t>(c)] = true;
        rows.push_back(p);
        columns.push_back(c);
        for (int r = 0; r < a.rows(); ++r)
          if (!row_taken[static_cast<std::size_t>(r)]) a.row(r) -= (a(r, c) / a(p, c)) * a.row(p).eval();
      }
    std::sort(rows.begin(), rows.end());
    std::sort(columns.begin(), columns.end());
  }
};

}  // namespace

std::vector<LoopBlock::Row> JointTree::all_rows() const {
  std::vector<LoopBlock::Row> out;
  for (const int j : tree_.closures)
    for (int r = 0; r < model_.joints()[static_cast<std::size_t>(j)].rows(); ++r) out.push_back({j, r});
  for (int c = 0; c < static_cast<int>(model_.couplings().size()); ++c) out.push_back({c, -1});
  return out;
}

Verdict JointTree::choose(const VecX& q, const VecX& told) {
  const std::vector<LoopBlock::Row> rows = all_rows();
  Bodies bodies;
  place(q, VecX::Zero(nv_), bodies);
  const VecX wound = told.size() > 0 ? told : VecX::Zero(model_.nv());
  LoopBlock all(*this, rows, {});
  all.look(*this, bodies, wound, q);
  MatX phi(rows.size(), nv_);
  for (int k = 0; k < nv_; ++k) {
    const ScrewAxis s = screw(k);
    for (std::size_t r = 0; r < rows.size(); ++r) phi(static_cast<Eigen::Index>(r), k) = all.entry(r, k, s) / size_of(k);
  }
  std::vector<int> loops(static_cast<std::size_t>(nv_), 0);
  for (const int j : tree_.closures) {
    const std::vector<int> sides = sides_of_joint(j);
    for (std::size_t k = 0; k < sides.size(); ++k) loops[k] += sides[k] != 0;
  }
  const Pivots pivots(std::move(phi), wanted_, loops);
  dependent_ = pivots.columns;
  independent_.clear();
  for (int k = 0; k < nv_; ++k)
    if (!std::binary_search(dependent_.begin(), dependent_.end(), k)) independent_.push_back(k);
  beyond_.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (const Node& n = nodes_[i];
        (n.inner >= 0 && std::binary_search(beyond_.begin(), beyond_.end(), static_cast<std::size_t>(n.inner))) ||
        std::any_of(dependent_.begin(), dependent_.end(), [&](int d) { return node_of_freedom(d) == i; }))
      beyond_.push_back(i);
  std::vector<LoopBlock::Row> kept;
  for (const int r : pivots.rows) kept.push_back(rows[static_cast<std::size_t>(r)]);
  group(kept);
  Verdict worst;
  for (LoopBlock& block : blocks_)
    if (const Verdict verdict = block.look(*this, bodies, wound, q); !verdict.ok()) worst = verdict;
  return worst;
}

// Rows that share a freedom which depends belong together.
void JointTree::group(const std::vector<LoopBlock::Row>& rows) {
  std::vector<std::size_t> owner(rows.size());
  std::iota(owner.begin(), owner.end(), std::size_t{0});
  const auto root = [&](std::size_t r) {
    while (owner[r] != r) r = owner[r];
    return r;
  };
  std::vector<std::vector<int>> touches;  // per row: dependent freedoms
  for (const LoopBlock::Row& row : rows) {
    touches.emplace_back();
    const LoopBlock alone(*this, {row}, {});
    for (const int k : alone.driving())
      if (std::binary_search(dependent_.begin(), dependent_.end(), k)) touches.back().push_back(k);
  }
  std::vector<std::size_t> first(static_cast<std::size_t>(nv_), rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (const int k : touches[r]) {
      std::size_t& f = first[static_cast<std::size_t>(k)];
      if (f == rows.size()) f = r;
      owner[std::max(root(f), root(r))] = std::min(root(f), root(r));
    }
  blocks_.clear();
  rides_.clear();
  for (std::size_t g = 0; g < rows.size(); ++g) {
    if (root(g) != g) continue;
    std::vector<LoopBlock::Row> own;
    std::vector<int> dependent;
    for (std::size_t r = g; r < rows.size(); ++r)
      if (root(r) == g) own.push_back(rows[r]);
    for (const int k : dependent_)
      if (root(first[static_cast<std::size_t>(k)]) == g) dependent.push_back(k);
    blocks_.emplace_back(*this, std::move(own), std::move(dependent));
    rides_.push_back(blocks_.back().rides_on(*this, dependent_));
  }
}

Verdict JointTree::complete(VecX& q, VecX& v, const VecX& wound, Bodies& bodies) const {
  bodies.resize(model_.bodies().size());
  if (blocks_.empty()) {
    kinematics_.place(q, v, bodies);
    return {};
  }
  kinematics_.poses(q, bodies);
  for (LoopBlock& block : blocks_)
    if (const Verdict verdict = block.close(*this, bodies, wound, q); !verdict.ok()) return verdict;
  kinematics_.poses(q, beyond_, bodies);
  kinematics_.velocities(v, bodies);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (rides_[b])
      if (const Verdict verdict = blocks_[b].look(*this, bodies, wound, q); !verdict.ok()) return verdict;
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
  for (LoopBlock& block : blocks_) {
    if (const Verdict verdict = block.look(*this, bodies, wound, q); !verdict.ok()) return verdict;
    for (std::size_t i = 0; i < independent_.size(); ++i) {
      if (!std::binary_search(block.driving().begin(), block.driving().end(), independent_[i])) continue;
      const VecX& column = block.motion(*this, independent_[i]);
      for (std::size_t d = 0; d < block.dependent().size(); ++d)
        E(block.dependent()[d], static_cast<Eigen::Index>(i)) = column[static_cast<Eigen::Index>(d)];
    }
  }
  return {};
}

double JointTree::gain() const {
  double most = 0;
  for (LoopBlock& block : blocks_)
    for (const int k : block.driving()) {
      const VecX& column = block.motion(*this, k);
      for (std::size_t d = 0; d < block.dependent().size(); ++d)
        most = std::max(most, std::abs(column[static_cast<Eigen::Index>(d)]) * size_of(block.dependent()[d]) / size_of(k));
    }
  return most;
}

bool JointTree::as_wanted() const {
  return std::all_of(independent_.begin(), independent_.end(), [&](int i) { return wanted_[static_cast<std::size_t>(i)]; });
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

void JointTree::orientations(std::vector<int>& signs) const {
  signs.resize(blocks_.size());
  for (std::size_t b = 0; b < blocks_.size(); ++b) signs[b] = blocks_[b].orientation();
}

int JointTree::turned_over(const std::vector<int>& signs) const {
  for (std::size_t b = 0; b < std::min(blocks_.size(), signs.size()); ++b)
    if (blocks_[b].orientation() != signs[b]) return joint_of(blocks_[b].weakest_freedom());
  return -1;
}

}  // namespace invar
