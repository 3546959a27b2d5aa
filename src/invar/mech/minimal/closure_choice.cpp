// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/minimal/closure_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace invar {
namespace {

constexpr double kDependent = 1e-9;      // of the size of row and column: smaller pivots say nothing new
constexpr double kNoiseOfRanks = 1e-13;  // and these are noise even where the rank asks for one more
constexpr double kNearly = 0.1;          // pivots above this share of the largest are as good, if they keep loops apart
constexpr int kSweeps = 4;               // of scaling; rows of unlike loops differ by powers of ten, not by factors

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class Elimination {
 public:
  Elimination(std::vector<ClosureRow>&& rows, const std::vector<bool>& wanted, const std::vector<int>& loops)
      : rows_(std::move(rows)), wanted_(wanted), loops_(loops), row_taken_(rows_.size(), false), taken_(wanted.size(), false) {
    scale();
  }

  /// Pivots among wanted or other columns until none above `least` is left, or enough are taken.
  void take(bool wants, double least, int enough) {
    while (enough < 0 || static_cast<int>(choice.columns.size()) < enough) {
      const double most = largest(wants, least);
      if (!(most > 0)) return;
      int p = -1, c = -1;
      best(wants, least, kNearly * most, p, c);
      eliminate(p, c);
    }
  }

  ClosureChoice choice;

 private:
  // The largest size in every row and column becomes 1, nearly.
  void scale() {
    row_scale_.assign(rows_.size(), 1.0);
    column_scale_.assign(wanted_.size(), 1.0);
    std::vector<double> most(wanted_.size());
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      std::fill(most.begin(), most.end(), 0.0);
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        double row = 0;
        for (const ClosureEntry& e : rows_[r]) row = std::max(row, e.size * column_scale_[at(e.column)]);
        if (row > 0) row_scale_[r] = 1 / row;
        for (const ClosureEntry& e : rows_[r]) most[at(e.column)] = std::max(most[at(e.column)], e.size * row_scale_[r]);
      }
      for (std::size_t k = 0; k < most.size(); ++k)
        if (most[k] > 0) column_scale_[k] = 1 / most[k];
    }
  }

  // Entries that may become pivots.
  template <class F>
  void each(bool wants, double least, F&& f) const {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (row_taken_[r]) continue;
      for (const ClosureEntry& e : rows_[r]) {
        if (taken_[at(e.column)] || wanted_[at(e.column)] != wants) continue;
        const double x = std::abs(e.value);
        if (x * row_scale_[r] * column_scale_[at(e.column)] > least) f(static_cast<int>(r), e.column, x);
      }
    }
  }

  double largest(bool wants, double least) const {
    double most = 0;
    each(wants, least, [&](int, int, double x) { most = std::max(most, x); });
    return most;
  }

  // Few loops, then large, then in the order of columns and rows.
  void best(bool wants, double least, double enough, int& p, int& c) const {
    double value = 0;
    each(wants, least, [&](int r, int k, double x) {
      if (x < enough) return;
      const int now = loops_[at(k)], then = c < 0 ? 0 : loops_[at(c)];
      const bool before = k < c || (k == c && r < p);
      if (c < 0 || now < then || (now == then && (x > value || (x == value && before)))) p = r, c = k, value = x;
    });
  }

  void eliminate(int p, int c) {
    row_taken_[at(p)] = taken_[at(c)] = true;
    choice.rows.push_back(p);
    choice.columns.push_back(c);
    const double pivot = find(rows_[at(p)], c)->value;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (row_taken_[r]) continue;
      const auto e = find(rows_[r], c);
      if (e != rows_[r].end() && e->column == c && e->value != 0) subtract(rows_[r], e->value / pivot, rows_[at(p)]);
    }
  }

  static ClosureRow::const_iterator find(const ClosureRow& row, int column) {
    return std::lower_bound(row.begin(), row.end(), column, [](const ClosureEntry& e, int k) { return e.column < k; });
  }

  // Columns that are taken no longer matter.
  void subtract(ClosureRow& row, double factor, const ClosureRow& by) {
    merged_.clear();
    auto a = row.begin();
    const auto keep = [&](const ClosureEntry& e) {
      if (!taken_[at(e.column)]) merged_.push_back(e);
    };
    for (const ClosureEntry& b : by) {
      for (; a != row.end() && a->column < b.column; ++a) keep(*a);
      const bool both = a != row.end() && a->column == b.column;
      keep({b.column, (both ? a->value : 0.0) - factor * b.value, 0});
      if (both) ++a;
    }
    for (; a != row.end(); ++a) keep(*a);
    row.swap(merged_);
  }

  std::vector<ClosureRow> rows_;
  const std::vector<bool>& wanted_;
  const std::vector<int>& loops_;
  std::vector<bool> row_taken_, taken_;
  std::vector<double> row_scale_, column_scale_;
  ClosureRow merged_;
};

/// A row for every column, among rows that can see it: one exists because the rows have full rank.
class Matching {
 public:
  Matching(const std::vector<std::vector<int>>& rows, std::size_t columns) : rows_(rows), row_of(columns, -1) {
    column_of.assign(rows.size(), -1);
    for (std::size_t r = 0; r < rows.size(); ++r) augment(static_cast<int>(r));
  }

 private:
  const std::vector<std::vector<int>>& rows_;

 public:
  std::vector<int> row_of, column_of;

 private:
  // A shortest alternating path from a row without a column to a column without a row.
  void augment(int start) {
    std::vector<int> queue{start}, from(row_of.size(), -1);  // per column: the row that reached it
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const int c : rows_[at(queue[i])]) {
        if (from[at(c)] >= 0) continue;
        from[at(c)] = queue[i];
        if (row_of[at(c)] >= 0) {
          queue.push_back(row_of[at(c)]);
          continue;
        }
        for (int column = c; column >= 0;) {
          const int row = from[at(column)], next = column_of[at(row)];
          row_of[at(column)] = row, column_of[at(row)] = column;
          column = next;
        }
        return;
      }
  }
};

/// Strongly connected components of rows, those that others need first (Tarjan, without recursion).
std::vector<std::vector<int>> components(const std::vector<std::vector<int>>& needs) {
  struct Frame {
    int node;
    std::size_t next;
  };
  const std::size_t n = needs.size();
  std::vector<int> index(n, -1), low(n, 0), stack;
  std::vector<bool> on_stack(n, false);
  std::vector<std::vector<int>> out;
  std::vector<Frame> frames;
  int count = 0;
  const auto enter = [&](int v) {
    index[at(v)] = low[at(v)] = count++;
    stack.push_back(v);
    on_stack[at(v)] = true;
    frames.push_back({v, 0});
  };
  for (int root = 0; root < static_cast<int>(n); ++root) {
    if (index[at(root)] >= 0) continue;
    enter(root);
    while (!frames.empty()) {
      const int v = frames.back().node;
      if (frames.back().next < needs[at(v)].size()) {
        const int w = needs[at(v)][frames.back().next++];
        if (index[at(w)] < 0)
          enter(w);
        else if (on_stack[at(w)])
          low[at(v)] = std::min(low[at(v)], index[at(w)]);
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) low[at(frames.back().node)] = std::min(low[at(frames.back().node)], low[at(v)]);
      if (low[at(v)] != index[at(v)]) continue;
      out.emplace_back();
      for (int w = -1; w != v;) {
        w = stack.back();
        stack.pop_back();
        on_stack[at(w)] = false;
        out.back().push_back(w);
      }
    }
  }
  return out;
}

}  // namespace

ClosureChoice choose_closures(std::vector<ClosureRow> rows, const std::vector<bool>& wanted, const std::vector<int>& loops,
                              int rank) {
  Elimination elimination(std::move(rows), wanted, loops);
  for (const double least : {kDependent, kNoiseOfRanks}) {
    if (least == kNoiseOfRanks && rank < 0) break;
    for (const bool wants : {false, true}) elimination.take(wants, least, rank);
  }
  ClosureChoice out = std::move(elimination.choice);
  std::sort(out.rows.begin(), out.rows.end());
  std::sort(out.columns.begin(), out.columns.end());
  return out;
}

std::vector<ClosureGroup> order_closures(const std::vector<std::vector<int>>& touches, const ClosureChoice& choice) {
  const auto place = [&](int column) {  // among those that depend; -1: independent
    const auto it = std::lower_bound(choice.columns.begin(), choice.columns.end(), column);
    return it == choice.columns.end() || *it != column ? -1 : static_cast<int>(it - choice.columns.begin());
  };
  const auto seen = [&](int row) {
    std::vector<int> out;
    for (const int column : touches[at(row)])
      if (const int c = place(column); c >= 0) out.push_back(c);
    return out;
  };
  std::vector<std::vector<int>> kept;
  for (const int row : choice.rows) kept.push_back(seen(row));
  const Matching matching(kept, choice.columns.size());
  std::vector<std::vector<int>> needs(kept.size());
  for (std::size_t r = 0; r < kept.size(); ++r)
    for (const int c : kept[r])
      if (const int other = matching.row_of[at(c)]; other >= 0 && other != static_cast<int>(r)) needs[r].push_back(other);
  std::vector<ClosureGroup> out;
  std::vector<int> group_of(choice.columns.size(), -1);
  for (std::vector<int>& rows : components(needs)) {
    std::sort(rows.begin(), rows.end());
    ClosureGroup group;
    for (const int r : rows) {
      group.kept.push_back(choice.rows[at(r)]);
      const int c = matching.column_of[at(r)];
      group.columns.push_back(choice.columns[at(c)]);
      group_of[at(c)] = static_cast<int>(out.size());
    }
    std::sort(group.columns.begin(), group.columns.end());
    out.push_back(std::move(group));
  }
  for (int row = 0; row < static_cast<int>(touches.size()); ++row) {
    if (std::binary_search(choice.rows.begin(), choice.rows.end(), row)) continue;
    int last = -1;
    for (const int c : seen(row)) last = std::max(last, group_of[at(c)]);
    if (last >= 0) out[at(last)].others.push_back(row);
  }
  return out;
}

}  // namespace invar
