// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/natural_elimination.hpp"

#include <algorithm>
#include <cmath>

namespace invar {
namespace {

// A pivot below this part of its column is what rounding left of nothing.
constexpr double kNoPivot = 1e-14;
// A closure row depends on others when the square of its own part is below this part of the square of the row: sines below 1e-5.
constexpr double kDependent = 1e-10;

std::vector<int> inner_nodes(const SpanningTree& tree) {
  std::vector<int> inner;
  for (const TreeNode& node : tree.nodes) inner.push_back(node.inner);
  return inner;
}

std::vector<int> rows_of_nodes(const NaturalCoordinates& c, const SpanningTree& tree) {
  std::vector<int> rows;
  for (const TreeNode& node : tree.nodes) rows.push_back(c.internal_rows() + (node.joint < 0 ? 0 : c.joint_rows(node.joint)));
  return rows;
}

std::vector<int> sizes(const NaturalCoordinates& c, const std::vector<int>& rows, int copies, int multipliers) {
  std::vector<int> out;
  for (const int r : rows) out.push_back(copies * c.per_body() + multipliers * r);
  return out;
}

int closure_rows_of(const NaturalCoordinates& c, const SpanningTree& tree) {
  int sum = 0;
  for (const int j : tree.closures) sum += c.joint_rows(j);
  return sum;
}

}  // namespace

NaturalElimination::NaturalElimination(const NaturalCoordinates& c, int copies, int multipliers)
    : coordinates_(c),
      preferred_(joints_of_massless_bodies(c.model())),
      spanning_(spanning_tree(c.model(), preferred_)),
      copies_(copies),
      multipliers_(multipliers),
      length_(c.model().length()),
      inertia_(c.model().mean_mass() * length_ * length_),
      rows_of_node_(rows_of_nodes(c, spanning_)),
      place_(static_cast<std::size_t>(c.rows()), Place{-1, 0}),
      active_(static_cast<std::size_t>(closure_rows_of(c, spanning_)), 1),
      tree_(inner_nodes(spanning_), sizes(c, rows_of_node_, copies, multipliers), copies * c.per_body(),
            multipliers * closure_rows_of(c, spanning_)),
      right_(VecX::Zero(tree_.total())),
      scratch_(VecX::Zero(c.per_body())),
      block_(MatX::Zero(c.per_body(), c.per_body())),
      size_(VecX::Zero(closure_rows())) {
  for (int n = 0; n < static_cast<int>(spanning_.nodes.size()); ++n) {
    const TreeNode& node = spanning_.nodes[static_cast<std::size_t>(n)];
    for (int k = 0; k < c.internal_rows(); ++k) place_[static_cast<std::size_t>(c.first_internal_row(node.body) + k)] = {n, k};
    if (node.joint < 0) continue;
    for (int k = 0; k < c.joint_rows(node.joint); ++k)
      place_[static_cast<std::size_t>(c.first_joint_row(node.joint) + k)] = {n, c.internal_rows() + k};
  }
  int border = 0;
  for (const int j : spanning_.closures)
    for (int k = 0; k < c.joint_rows(j); ++k) place_[static_cast<std::size_t>(c.first_joint_row(j) + k)] = {-1, border++};
}

// Links without mass decide which joints the tree prefers, masses which bodies floating parts hang on.
bool NaturalElimination::refresh() {
  const Model& model = coordinates_.model();
  for (std::size_t j = 0; j < preferred_.size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (preferred_[j] != (is_massless(model, joint.parent) || is_massless(model, joint.child))) return false;
  }
  if (!still_spans(spanning_, model)) return false;
  length_ = model.length();
  inertia_ = model.mean_mass() * length_ * length_;
  std::fill(active_.begin(), active_.end(), 1);
  return true;
}

int NaturalElimination::row_at(const Place& place, int copy) const {
  if (place.node < 0) return copy * closure_rows() + place.index;
  return copies_ * coordinates_.per_body() + copy * rows_of_node_[static_cast<std::size_t>(place.node)] + place.index;
}

bool NaturalElimination::neighbours(int a, int b) const {
  return a == b || tree_.inner(node_of(a)) == node_of(b) || tree_.inner(node_of(b)) == node_of(a);
}

bool NaturalElimination::active(int r) const {
  const Place& place = place_[static_cast<std::size_t>(r)];
  return place.node >= 0 || active_[static_cast<std::size_t>(place.index)];
}

void NaturalElimination::add(int e, int a, int u, int b, double factor, const MatX& block) {
  const int n = coordinates_.per_body(), na = node_of(a), nb = node_of(b);
  MatX* target = nullptr;
  if (na == nb)
    target = &tree_.own(na);
  else if (tree_.inner(na) == nb)
    target = &tree_.by_inner(na);
  else if (tree_.inner(nb) == na)
    target = &tree_.on_inner(nb);
  if (!target) return;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) (*target)(e* n + i, u * n + j) += factor * unit(i) * unit(j) / inertia_ * block(i, j);
}

// Calls put(body, gradient) for every body that row r touches, the gradient in scaled units.
template <class F>
void NaturalElimination::gather(int r, const VecX& x, bool linear_part, F&& put) {
  const NaturalForm& form = coordinates_.row(r);
  const int bodies[3] = {form.u.body, form.w.body, form.minus.body};
  for (int k = 0; k < 3; ++k) {
    const int b = bodies[k];
    const bool seen = (k > 0 && b == bodies[0]) || (k > 1 && b == bodies[1]);
    if (b == kWorld || seen) continue;
    scratch_.setZero();
    coordinates_.add_gradient(form, x, b, 1, scratch_.data(), linear_part);
    for (int i = 0; i < coordinates_.dimension(); ++i) scratch_[i] *= length_;
    put(b);
  }
}

void NaturalElimination::add_row(int e, int r, int u, double factor, const VecX& x, bool linear_part) {
  const Place& place = place_[static_cast<std::size_t>(r)];
  const int n = coordinates_.per_body(), at = row_at(place, e);
  gather(r, x, linear_part, [&](int b) {
    const int node = node_of(b);
    MatX& target = place.node < 0 ? tree_.border_rows(node) : (place.node == node ? tree_.own(node) : tree_.by_inner(place.node));
    for (int i = 0; i < n; ++i) target(at, u * n + i) += factor * scratch_[i];
  });
}

void NaturalElimination::add_force(int e, int r, int u, double factor, const VecX& x, bool linear_part) {
  const Place& place = place_[static_cast<std::size_t>(r)];
  const int n = coordinates_.per_body(), at = row_at(place, u);
  gather(r, x, linear_part, [&](int b) {
    const int node = node_of(b);
    MatX& target =
        place.node < 0 ? tree_.border_columns(node) : (place.node == node ? tree_.own(node) : tree_.on_inner(place.node));
    for (int i = 0; i < n; ++i) target(e * n + i, at) += factor * scratch_[i];
  });
}

void NaturalElimination::add_curvature(int e, int u, double factor, const VecX& mu) {
  for (int r = 0; r < coordinates_.rows(); ++r) {
    const NaturalForm& form = coordinates_.row(r);
    const int a = form.u.body;
    if (a == kWorld || mu[r] == 0) continue;
    int others[3] = {a, form.w.body, form.minus.body};
    for (int k = 0; k < 3; ++k) {
      const int b = others[k];
      if (b == kWorld || (k > 0 && b == a) || (k > 1 && b == others[1])) continue;
      block_.setZero();
      coordinates_.add_curvature(form, a, b, mu[r], block_);
      add(e, a, u, b, factor, block_);
      if (a == b) continue;
      block_.transposeInPlace();
      add(e, b, u, a, factor, block_);
    }
  }
}

Verdict NaturalElimination::lacking(int node) const {
  const TreeNode& n = spanning_.nodes[static_cast<std::size_t>(node)];
  return {Status::NoInertia, n.body, n.joint, 0};
}

// Rows that depend on others become z = 0.
void NaturalElimination::drop_inactive() {
  for (int r = 0; r < closure_rows(); ++r) {
    if (active_[static_cast<std::size_t>(r)]) continue;
    for (int copy = 0; copy < multipliers_; ++copy) {
      const int at = copy * closure_rows() + r;
      tree_.corner().row(at).setZero();
      tree_.corner().col(at).setZero();
      tree_.corner()(at, at) = 1;
    }
  }
}

Verdict NaturalElimination::factor() {
  if (const int node = tree_.eliminate(kNoPivot); node >= 0) return lacking(node);
  drop_inactive();
  if (!tree_.finish(0)) return {Status::Singular, -1, spanning_.closures.empty() ? -1 : spanning_.closures[0], 0};
  return {};
}

// With unit masses the corner holds the products of the closure rows after what the tree's rows span was taken from them: its
// diagonal begins with the squared distance of each row from that span. Elimination with the largest part of its row first stops
// where the rest is what rounding left.
void NaturalElimination::choose(const VecX& x) {
  const int n = closure_rows();
  if (n == 0) return;
  clear();
  for (int node = 0; node < tree_.nodes(); ++node)
    for (int i = 0; i < coordinates_.per_body(); ++i) tree_.own(node)(i, i) = 1;
  for (int r = 0; r < coordinates_.rows(); ++r) add_row(0, r, 0, 1, x), add_force(0, r, 0, -1, x);
  for (int k = 0; k < n; ++k) {
    size_[k] = 0;
    for (int node = 0; node < tree_.nodes(); ++node) size_[k] += tree_.border_rows(node).row(k).squaredNorm();
  }
  std::fill(active_.begin(), active_.end(), 0);
  if (tree_.eliminate(kNoPivot) >= 0) return;
  MatX& S = tree_.corner();
  const auto part = [&](int k) { return active_[static_cast<std::size_t>(k)] ? -1.0 : std::abs(S(k, k)) / size_[k]; };
  for (int step = 0; step < n; ++step) {
    int pivot = 0;
    for (int k = 1; k < n; ++k)
      if (part(k) > part(pivot)) pivot = k;
    if (!(part(pivot) > kDependent)) break;
    active_[static_cast<std::size_t>(pivot)] = 1;
    const double inverse = 1 / S(pivot, pivot);
    for (int j = 0; j < n; ++j) {
      if (active_[static_cast<std::size_t>(j)]) continue;
      const double f = S(pivot, j) * inverse;
      for (int i = 0; i < n; ++i)
        if (!active_[static_cast<std::size_t>(i)]) S(i, j) -= f * S(i, pivot);
    }
  }
}

void NaturalElimination::solve(VecX& coordinates, VecX& rows) {
  const int n = coordinates_.per_body(), size = coordinates_.size(), count = coordinates_.rows();
  const auto place_of = [&](int r, int copy) {
    const Place& place = place_[static_cast<std::size_t>(r)];
    return row_at(place, copy) + (place.node < 0 ? tree_.first_border() : tree_.first(place.node));
  };
  for (int node = 0; node < tree_.nodes(); ++node) {
    const int body = spanning_.nodes[static_cast<std::size_t>(node)].body;
    for (int copy = 0; copy < copies_; ++copy)
      for (int i = 0; i < n; ++i)
        right_[tree_.first(node) + copy * n + i] = coordinates[copy * size + body * n + i] * unit(i) / inertia_;
  }
  for (int copy = 0; copy < multipliers_; ++copy)
    for (int r = 0; r < count; ++r) right_[place_of(r, copy)] = rows[copy * count + r];
  // Rows that were left out ask for nothing; done after the tree because their right side must not see it.
  tree_.solve(right_, [&](double* z) {
    for (int copy = 0; copy < multipliers_; ++copy)
      for (int r = 0; r < closure_rows(); ++r)
        if (!active_[static_cast<std::size_t>(r)]) z[copy * closure_rows() + r] = 0;
  });
  for (int node = 0; node < tree_.nodes(); ++node) {
    const int body = spanning_.nodes[static_cast<std::size_t>(node)].body;
    for (int copy = 0; copy < copies_; ++copy)
      for (int i = 0; i < n; ++i) coordinates[copy * size + body * n + i] = right_[tree_.first(node) + copy * n + i] * unit(i);
  }
  for (int copy = 0; copy < multipliers_; ++copy)
    for (int r = 0; r < count; ++r) rows[copy * count + r] = right_[place_of(r, copy)] * inertia_;
}

}  // namespace invar
