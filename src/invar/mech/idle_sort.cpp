// SPDX-License-Identifier: Apache-2.0
// With W = 1 and unit directions the matrix of rows and idle directions is [J Jᵀ, −J Z; −Zᵀ Jᵀ, 0]. After rows A are eliminated
// the diagonal of a direction is −|P z|², P the projector onto the row space of A: minus a squared sine, and never positive. An
// idle direction behind enough rows has a pivot of known sign; the rest of the matrix only gains a positive term by it.
#include "invar/mech/idle_sort.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <numeric>

#include "invar/base/index.hpp"

namespace invar {
namespace {

constexpr double kTake = 0.02;    // squared sines from which a direction is taken at once
constexpr double kAtRoot = 1e-6;  // and at the last chance

class Placer {
 public:
  Placer(const FrontFactor& chosen, const KktProblem& problem, const Loans& loans)
      : chosen_(chosen), tree_(chosen.tree()), problem_(problem), s_(problem.structure), loans_(loans) {
    touches_of_body_.resize(size(s_.bodies()));
    block_of_touch_.resize(size(s_.touches()));
    for (int j = 0; j < s_.blocks(); ++j)
      for (int t = s_.block(j).first_touch; t < s_.block(j).first_touch + s_.block(j).touches; ++t) {
        touches_of_body_[size(s_.body(t))].push_back(t);
        block_of_touch_[size(t)] = j;
      }
    updates_.resize(tree_.fronts.size());
    list();
  }

  std::vector<IdlePlace> run() {
    local_.assign(size(s_.rows()) + out_.size(), -1);
    for (std::size_t f = 0; f < tree_.fronts.size(); ++f) visit(f);
    return std::move(out_);
  }

 private:
  struct Update {
    std::vector<int> ids;  // kept positions, then rows + direction
    MatX matrix;
  };

  int position(int row) const {
    const int block = s_.block_of_row(row);
    return tree_.position_of_block[size(block)] + row - s_.block(block).first_row;
  }
  bool kept(int at) const { return chosen_.kept(tree_.row_at[size(at)]); }

  // Every direction with the front of its first kept row.
  void list() {
    entering_.resize(tree_.fronts.size());
    for (std::size_t k = 0; k < loans_.bodies().size(); ++k) {
      const LentBody& lent = loans_.bodies()[k];
      int first = -1;
      for (int t : touches_of_body_[size(lent.body)]) {
        const KktBlock& block = s_.block(block_of_touch_[size(t)]);
        for (int r = block.first_row; r < block.first_row + block.rows; ++r)
          if (chosen_.kept(r) && (first < 0 || tree_.front_at[size(position(r))] < first))
            first = tree_.front_at[size(position(r))];
      }
      for (int d = 0; d < lent.idle; ++d) {
        if (first >= 0) entering_[size(first)].push_back(static_cast<int>(out_.size()));
        out_.push_back({static_cast<int>(k), d, first, -1, 0});
      }
    }
  }

  // Calls add(position, row of J on the body) for all kept rows on a body.
  template <class Add>
  void on_body(int body, const Add& add) const {
    for (int t : touches_of_body_[size(body)]) {
      const KktBlock& block = s_.block(block_of_touch_[size(t)]);
      for (int i = 0; i < block.rows; ++i)
        if (const int at = position(block.first_row + i); local_[size(at)] >= 0) add(at, problem_.jacobian[size(t)].row(i));
    }
  }

  void assemble(int rows, const std::vector<int>& ids, MatX& H) const {
    for (int l = 0; l < rows; ++l) {
      const int row = tree_.row_at[size(ids[size(l)])];
      const KktBlock& block = s_.block(s_.block_of_row(row));
      H(l, l) += problem_.compliance[row] > 0 ? 1.0 : 0.0;
      for (int t = block.first_touch; t < block.first_touch + block.touches; ++t) {
        const auto own = problem_.jacobian[size(t)].row(row - block.first_row);
        on_body(s_.body(t), [&](int at, const auto& other) {
          const int o = local_[size(at)];
          const double product = own.dot(other);
          H(o, l) += product;
          if (o >= rows) H(l, o) += product;
        });
      }
    }
  }

  void visit(std::size_t f) {
    const Front& front = tree_.fronts[f];
    // Who is here: kept rows of the front, directions, kept rows that come later.
    std::vector<int> ids, candidates = entering_[f];
    for (int i : chosen_.kept_pivots(f)) ids.push_back(front.first_pivot + i);
    const int rows = static_cast<int>(ids.size());
    for (int c = front.first_child; c < front.first_child + front.children; ++c)
      for (int id : updates_[size(tree_.children[size(c)])].ids)
        if (id >= s_.rows()) candidates.push_back(id - s_.rows());
    for (int z : candidates) ids.push_back(s_.rows() + z);
    for (int u = front.first_update; u < front.first_update + front.updates(); ++u)
      if (kept(tree_.update_positions[size(u)])) ids.push_back(tree_.update_positions[size(u)]);
    const int n = static_cast<int>(ids.size());
    for (int l = 0; l < n; ++l) local_[size(ids[size(l)])] = l;

    MatX H = MatX::Zero(n, n);
    assemble(rows, ids, H);
    for (int z : entering_[f]) {
      const LentBody& lent = loans_.bodies()[size(out_[size(z)].loan)];
      const int l = local_[size(s_.rows() + z)], d = out_[size(z)].direction;
      H(l, l) = -lent.own[d] / lent.loan;
      on_body(lent.body,
              [&](int at, const auto& row) { H(l, local_[size(at)]) = H(local_[size(at)], l) = -row.dot(lent.axes.col(d)); });
    }
    for (int c = front.first_child; c < front.first_child + front.children; ++c)
      add_child(updates_[size(tree_.children[size(c)])], H);

    if (rows > 0 && n > rows) {
      const Eigen::LLT<MatX> llt(H.topLeftCorner(rows, rows));
      const MatX X = llt.matrixL().solve(H.topRightCorner(rows, n - rows));
      H.bottomRightCorner(n - rows, n - rows).noalias() -= X.transpose() * X;
    }
    take(f, front.parent < 0 ? kAtRoot : kTake, rows, candidates, H);
    keep_update(f, rows, ids, H);
    for (int id : ids) local_[size(id)] = -1;
  }

  void add_child(Update& child, MatX& H) const {
    const int n = static_cast<int>(child.ids.size());
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b) H(local_[size(child.ids[size(a)])], local_[size(child.ids[size(b)])]) += child.matrix(a, b);
    child = {};
  }

  // The strongest first; each one taken changes the others.
  void take(std::size_t f, double least, int rows, const std::vector<int>& candidates, MatX& H) {
    const int n = static_cast<int>(H.rows());
    for (;;) {
      int best = -1;
      double pivot = least;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        const int l = rows + static_cast<int>(i);
        if (out_[size(candidates[i])].home < 0 && -H(l, l) > pivot) pivot = -H(l, l), best = static_cast<int>(i);
      }
      if (best < 0) return;
      IdlePlace& place = out_[size(candidates[size(best)])];
      place.home = static_cast<int>(f), place.pivot = pivot;
      const VecX column = H.col(rows + best);
      H.bottomRightCorner(n - rows, n - rows).noalias() += column.tail(n - rows) * column.tail(n - rows).transpose() / pivot;
    }
  }

  void keep_update(std::size_t f, int rows, const std::vector<int>& ids, const MatX& H) {
    if (tree_.fronts[f].parent < 0) return;
    std::vector<int> left;
    for (int l = rows; l < static_cast<int>(ids.size()); ++l)
      if (ids[size(l)] < s_.rows() || out_[size(ids[size(l)] - s_.rows())].home < 0) left.push_back(l);
    Update& update = updates_[f];
    update.matrix.resize(static_cast<int>(left.size()), static_cast<int>(left.size()));
    for (std::size_t a = 0; a < left.size(); ++a) {
      update.ids.push_back(ids[size(left[a])]);
      for (std::size_t b = 0; b < left.size(); ++b) update.matrix(static_cast<int>(a), static_cast<int>(b)) = H(left[a], left[b]);
    }
  }

  const FrontFactor& chosen_;
  const FrontTree& tree_;
  const KktProblem& problem_;
  const KktStructure& s_;
  const Loans& loans_;
  std::vector<std::vector<int>> touches_of_body_, entering_;
  std::vector<int> block_of_touch_, local_;
  std::vector<Update> updates_;
  std::vector<IdlePlace> out_;
};

}  // namespace

std::vector<IdlePlace> place_idle(const FrontFactor& chosen, const KktProblem& problem, const Loans& loans) {
  return Placer(chosen, problem, loans).run();
}

IdleStructure with_idle(const FrontTree& tree, const KktStructure& structure, const Loans& loans,
                        const std::vector<IdlePlace>& places, bool all) {
  IdleStructure out{structure, tree.pieces, {}};
  std::vector<IdlePlace> sorted;
  for (IdlePlace place : places) {
    if (place.home < 0 && all)
      for (place.home = place.entry; place.home >= 0 && tree.pieces[size(place.home)].parent >= 0;)
        place.home = tree.pieces[size(place.home)].parent;
    if (place.home >= 0) sorted.push_back(place);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const IdlePlace& a, const IdlePlace& b) { return a.home != b.home ? a.home < b.home : a.loan < b.loan; });
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end < sorted.size() && sorted[end].home == sorted[i].home && sorted[end].loan == sorted[i].loan) ++end;
    const int block = out.structure.add(static_cast<int>(end - i), {loans.bodies()[size(sorted[i].loan)].body});
    out.pieces[size(sorted[i].home)].pivots.push_back(block);
    for (int f = sorted[i].entry; f != sorted[i].home; f = tree.pieces[size(f)].parent)
      out.pieces[size(f)].updates.push_back(block);
    i = end;
  }
  out.places = std::move(sorted);
  return out;
}

}  // namespace invar
