// SPDX-License-Identifier: Apache-2.0
// From elimination steps to fronts. A step with pivot rows e and update rows u fills a trapezoid of e(e+1)/2 + e u numbers.
// Merging a step into its parent stores e (n_parent − u) zeros more and saves an update matrix and index work, which pays for
// small steps: up to 12 % zeros always, up to 30 % while the merged front has at most 15 pivots.
// Update matrices wait on two stacks, by parity of depth: when a front is reached its children lie on top of one stack and
// its own update goes to the other, so nothing is ever copied.
#include <algorithm>
#include <numeric>

#include "invar/mech/front_tree.hpp"

namespace invar {
namespace {

constexpr double kZerosAlways = 0.12;
constexpr double kZerosSmall = 0.30;
constexpr int kSmallPivots = 15;

int padded(int n) { return (n + 7) / 8 * 8; }

struct Merged {
  std::vector<int> pivots;  // blocks
  std::vector<int> updates;
  int parent = -1;
  int e = 0, u = 0;
  double zeros = 0;
  bool gone = false;
};

int count_rows(const KktStructure& s, const std::vector<int>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), 0, [&](int sum, int j) { return sum + s.block(j).rows; });
}

std::vector<Merged> merge(const KktStructure& s, std::vector<EliminationStep> steps) {
  std::vector<Merged> fronts(steps.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    Merged& m = fronts[k];
    m.e = count_rows(s, steps[k].pivots);
    m.u = count_rows(s, steps[k].updates);
    m.pivots = std::move(steps[k].pivots);
    m.updates = std::move(steps[k].updates);
    m.parent = steps[k].parent;
  }
  // Children come before parents, so a front has taken in its own children when it is offered to its parent.
  for (Merged& child : fronts) {
    if (child.parent < 0) continue;
    Merged& parent = fronts[static_cast<std::size_t>(child.parent)];
    const double e = child.e + parent.e;
    const double zeros = child.zeros + parent.zeros + double(child.e) * (parent.e + parent.u - child.u);
    const double share = zeros / (0.5 * e * (e + 1) + e * parent.u);
    if (share > kZerosAlways && (share > kZerosSmall || e > kSmallPivots)) continue;
    parent.pivots.insert(parent.pivots.begin(), child.pivots.begin(), child.pivots.end());
    parent.e += child.e;
    parent.zeros = zeros;
    child.gone = true;
  }
  for (Merged& m : fronts)
    while (m.parent >= 0 && fronts[static_cast<std::size_t>(m.parent)].gone)
      m.parent = fronts[static_cast<std::size_t>(m.parent)].parent;
  return fronts;
}

// Postorder; the child that needs most memory beyond its own update goes first.
class Postorder {
 public:
  explicit Postorder(const std::vector<Merged>& fronts) : fronts_(fronts), children_(fronts.size()), peak_(fronts.size()) {
    for (std::size_t k = 0; k < fronts.size(); ++k)
      if (!fronts[k].gone && fronts[k].parent >= 0)
        children_[static_cast<std::size_t>(fronts[k].parent)].push_back(static_cast<int>(k));
    for (std::size_t k = 0; k < fronts.size(); ++k)
      if (!fronts[k].gone) sort_children(k);
    for (std::size_t k = 0; k < fronts.size(); ++k)
      if (!fronts[k].gone && fronts[k].parent < 0) visit(static_cast<int>(k));
  }
  std::vector<int> order;

 private:
  double update_size(int k) const {
    const double u = fronts_[static_cast<std::size_t>(k)].u;
    return u * u;
  }
  void sort_children(std::size_t k) {
    auto& list = children_[k];
    const auto excess = [&](int c) { return peak_[static_cast<std::size_t>(c)] - update_size(c); };
    std::sort(list.begin(), list.end(), [&](int a, int b) { return excess(a) != excess(b) ? excess(a) > excess(b) : a < b; });
    double waiting = 0;
    for (int c : list) {
      peak_[k] = std::max(peak_[k], waiting + peak_[static_cast<std::size_t>(c)]);
      waiting += update_size(c);
    }
    peak_[k] = std::max(peak_[k], waiting + update_size(static_cast<int>(k)));
  }
  // Without recursion: chains make trees as deep as they are long.
  void visit(int root) {
    std::vector<std::pair<int, std::size_t>> path{{root, 0}};
    while (!path.empty()) {
      auto& [k, next] = path.back();
      const auto& list = children_[static_cast<std::size_t>(k)];
      if (next < list.size()) {
        path.emplace_back(list[next++], 0);
      } else {
        order.push_back(k);
        path.pop_back();
      }
    }
  }
  const std::vector<Merged>& fronts_;
  std::vector<std::vector<int>> children_;
  std::vector<double> peak_;
};

// Fronts in postorder, parents numbered anew.
std::vector<FrontPiece> in_postorder(std::vector<Merged> merged) {
  const std::vector<int> order = Postorder(merged).order;
  std::vector<int> index(merged.size(), -1);
  for (std::size_t k = 0; k < order.size(); ++k) index[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
  std::vector<FrontPiece> pieces;
  for (int k : order) {
    Merged& m = merged[static_cast<std::size_t>(k)];
    pieces.push_back({std::move(m.pivots), std::move(m.updates), m.parent < 0 ? -1 : index[static_cast<std::size_t>(m.parent)]});
  }
  return pieces;
}

class Builder {
 public:
  Builder(const KktStructure& s, int first_idle, FrontTree& tree)
      : s_(s), first_idle_(first_idle), tree_(tree), touches_of_body_(static_cast<std::size_t>(s.bodies())) {
    block_of_touch_.resize(static_cast<std::size_t>(s.touches()));
    for (int j = 0; j < s.blocks(); ++j)
      for (int t = s.block(j).first_touch; t < s.block(j).first_touch + s.block(j).touches; ++t) {
        block_of_touch_[static_cast<std::size_t>(t)] = j;
        if (s.block(j).rows > 0) touches_of_body_[static_cast<std::size_t>(s.body(t))].push_back(t);
      }
  }

  void build() {
    number();
    for (std::size_t k = 0; k < tree_.fronts.size(); ++k) list_updates(tree_.pieces[k], tree_.fronts[k]);
    link_children();
    local_.assign(tree_.row_at.size(), -1);
    for (Front& front : tree_.fronts) list_runs(front);
    for (std::size_t k = 0; k < tree_.fronts.size(); ++k) list_products(tree_.pieces[k], tree_.fronts[k]);
    lay_out_stacks();
  }

 private:
  int position(int block) const { return tree_.position_of_block[static_cast<std::size_t>(block)]; }

  void number() {
    tree_.position_of_block.assign(static_cast<std::size_t>(s_.blocks()), -1);
    for (const FrontPiece& piece : tree_.pieces) {
      const int e = count_rows(s_, piece.pivots), u = count_rows(s_, piece.updates);
      Front front;
      front.first_pivot = static_cast<int>(tree_.row_at.size());
      front.pivots = e;
      for (int j : piece.pivots) front.idle += j >= first_idle_ ? s_.block(j).rows : 0;
      front.rows = e + u;
      front.parent = piece.parent;
      front.stride = padded(front.rows);
      front.update_stride = padded(u);
      front.panel = tree_.panel_size;
      const std::size_t panel = static_cast<std::size_t>(front.stride) * static_cast<std::size_t>(e);
      tree_.panel_size += panel;
      tree_.largest_panel = std::max(tree_.largest_panel, panel);
      tree_.largest_front = std::max(tree_.largest_front, front.rows);
      tree_.operations += e * (e * e / 6.0 + 0.5 * e * u + 0.5 * double(u) * u);
      for (int j : piece.pivots) {
        tree_.position_of_block[static_cast<std::size_t>(j)] = static_cast<int>(tree_.row_at.size());
        for (int i = 0; i < s_.block(j).rows; ++i) tree_.row_at.push_back(s_.block(j).first_row + i);
      }
      tree_.front_at.insert(tree_.front_at.end(), static_cast<std::size_t>(e), static_cast<int>(tree_.fronts.size()));
      tree_.fronts.push_back(front);
    }
  }

  void list_updates(const FrontPiece& piece, Front& front) {
    std::vector<int> blocks = piece.updates;
    std::sort(blocks.begin(), blocks.end(), [&](int a, int b) { return position(a) < position(b); });
    front.first_update = static_cast<int>(tree_.update_positions.size());
    for (int j : blocks)
      for (int i = 0; i < s_.block(j).rows; ++i) tree_.update_positions.push_back(position(j) + i);
  }

  void link_children() {
    std::vector<std::vector<int>> children(tree_.fronts.size());
    for (std::size_t k = 0; k < tree_.fronts.size(); ++k) {
      Front& front = tree_.fronts[k];
      if (front.parent >= 0) children[static_cast<std::size_t>(front.parent)].push_back(static_cast<int>(k));
      front.first_child = static_cast<int>(tree_.children.size());
      front.children = static_cast<int>(children[k].size());
      front.first_descendant = static_cast<int>(k);
      for (int c : children[k])
        front.first_descendant = std::min(front.first_descendant, tree_.fronts[static_cast<std::size_t>(c)].first_descendant);
      tree_.children.insert(tree_.children.end(), children[k].begin(), children[k].end());
    }
  }

  void set_local(const Front& front) {
    for (int i = 0; i < front.pivots; ++i) local_[static_cast<std::size_t>(front.first_pivot + i)] = i;
    for (int i = 0; i < front.updates(); ++i)
      local_[static_cast<std::size_t>(tree_.update_positions[static_cast<std::size_t>(front.first_update + i)])] =
          front.pivots + i;
  }

  void list_runs(Front& front) {
    front.first_run = static_cast<int>(tree_.runs.size());
    if (front.parent < 0) return;
    set_local(tree_.fronts[static_cast<std::size_t>(front.parent)]);
    for (int i = 0; i < front.updates(); ++i) {
      const int target =
          local_[static_cast<std::size_t>(tree_.update_positions[static_cast<std::size_t>(front.first_update + i)])];
      // A run also ends where pivots of the parent end, so that a column of a run goes to one place.
      const bool boundary = target == tree_.fronts[static_cast<std::size_t>(front.parent)].pivots;
      if (front.runs > 0 && !boundary && tree_.runs.back().target + tree_.runs.back().length == target) {
        ++tree_.runs.back().length;
      } else {
        tree_.runs.push_back({i, target, 1});
        ++front.runs;
      }
    }
  }

  // Idle directions meet rows only: what they have of their own stands on the diagonal.
  void list_products(const FrontPiece& piece, Front& front) {
    set_local(front);
    front.first_product = static_cast<int>(tree_.products.size());
    for (int j : piece.pivots)
      for (int t = s_.block(j).first_touch; t < s_.block(j).first_touch + s_.block(j).touches; ++t)
        for (int other : touches_of_body_[static_cast<std::size_t>(s_.body(t))]) {
          const int k = block_of_touch_[static_cast<std::size_t>(other)];
          if (position(k) < position(j) || (k >= first_idle_ && j >= first_idle_)) continue;
          const std::size_t row = static_cast<std::size_t>(local_[static_cast<std::size_t>(position(k))]);
          const std::size_t column = static_cast<std::size_t>(position(j) - front.first_pivot);
          tree_.products.push_back(
              {other, t, s_.block(j).rows, front.panel + row + column * static_cast<std::size_t>(front.stride)});
        }
    front.products = static_cast<int>(tree_.products.size()) - front.first_product;
  }

  // Replays the factorization: the update of a front goes on top of its stack when its children have left the other one.
  void lay_out_stacks() {
    for (std::size_t k = tree_.fronts.size(); k-- > 0;) {
      Front& front = tree_.fronts[k];
      front.parity = front.parent < 0 ? 0 : 1 - tree_.fronts[static_cast<std::size_t>(front.parent)].parity;
    }
    std::size_t top[2] = {0, 0};
    for (Front& front : tree_.fronts) {
      for (int c = front.first_child + front.children; c-- > front.first_child;) {
        const Front& child = tree_.fronts[static_cast<std::size_t>(tree_.children[static_cast<std::size_t>(c)])];
        if (child.updates() > 0) top[child.parity] = std::min(top[child.parity], child.update);
      }
      front.update = top[front.parity];
      top[front.parity] += static_cast<std::size_t>(front.update_stride) * static_cast<std::size_t>(front.updates());
      tree_.stack_size[front.parity] = std::max(tree_.stack_size[front.parity], top[front.parity]);
    }
  }

  const KktStructure& s_;
  int first_idle_;
  FrontTree& tree_;
  std::vector<std::vector<int>> touches_of_body_;
  std::vector<int> block_of_touch_, local_;
};

}  // namespace

FrontTree::FrontTree(const KktStructure& structure)
    : FrontTree(structure, in_postorder(merge(structure, minimum_degree(structure))), structure.blocks()) {}

FrontTree::FrontTree(const KktStructure& structure, std::vector<FrontPiece> blocks, int first_idle) : pieces(std::move(blocks)) {
  Builder(structure, first_idle, *this).build();
}

}  // namespace invar
