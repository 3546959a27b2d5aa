// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/natural_elimination.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "invar/mech/independent_rows.hpp"

namespace invar {
namespace {

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

}  // namespace

NaturalElimination::NaturalElimination(const NaturalCoordinates& c, int copies, int multipliers)
    : coordinates_(c),
      preferred_(joints_of_massless_bodies(c.model())),
      spanning_(spanning_tree(c.model(), preferred_)),
      copies_(copies),
      multipliers_(multipliers),
      looped_(looped_parts(c, spanning_)),
      units_(c.model().bodies().size()),
      weight_(static_cast<std::size_t>(c.rows()), 1.0),
      loans_(loans()),
      lent_(loans_.empty() ? 0 : loans_.back().first + loans_.back().count(c.dimension())),
      directions_(MatX::Zero(c.per_body(), lent_)),
      rows_of_node_(rows_of_nodes(c, spanning_)),
      place_(static_cast<std::size_t>(c.rows()), Place{-1, 0}),
      active_(static_cast<std::size_t>(closure_rows_of(c, spanning_)), 1),
      tree_(inner_nodes(spanning_), sizes(c, rows_of_node_, copies, multipliers), copies * c.per_body(),
            multipliers * closure_rows_of(c, spanning_) + copies * lent_),
      right_(VecX::Zero(tree_.total())),
      scratch_(VecX::Zero(c.per_body())),
      block_(MatX::Zero(c.per_body(), c.per_body())),
      size_(VecX::Zero(closure_rows())),
      inverse_size_(size_) {
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
  measure();
}

// Directors of a body are of the size of its length over that of its part; a row is as large as the largest of what it ties.
void NaturalElimination::measure() {
  const Scales& scales = coordinates_.scales();
  for (std::size_t b = 0; b < units_.size(); ++b) {
    const Scales::Part& part = scales.parts[static_cast<std::size_t>(scales.part_of_body[b])];
    const double length = power_of_two(part.length);
    units_[b] = {length, length / scales.body_length[b], part.mass * length * length};
  }
  for (int r = 0; r < coordinates_.rows(); ++r) {
    const NaturalForm& form = coordinates_.row(r);
    double largest = 1e-300;
    bool length = false;  // in lengths of the part
    for (const NaturalVector* a : {&form.u, &form.w, &form.minus}) {
      if (a->body == kWorld) continue;
      length = length || a->position != 0;
      largest = std::max(largest, unit(a->body, coordinates_.dimension()));
    }
    weight_[static_cast<std::size_t>(r)] = length ? 1 : 1 / largest;
  }
}

// What a body borrows along: what has little inertia, in a part with closures.
NaturalElimination::Loan NaturalElimination::loan_of(int body) const {
  const auto b = static_cast<std::size_t>(body);
  const Scales& scales = coordinates_.scales();
  Loan loan;
  loan.body = body;
  if (!looped_[static_cast<std::size_t>(scales.part_of_body[b])]) return loan;
  const Inertia& inertia = coordinates_.model().bodies()[b].inertia;
  const double mass = scales.mass_at(body), little = kLentInertia * mass * scales.body_length[b] * scales.body_length[b];
  loan.moves = inertia.mass < kLentInertia * mass;
  const auto add = [&](const Vec3& axis) { loan.axes[static_cast<std::size_t>(loan.turns++)] = axis; };
  if (coordinates_.plane()) {
    const Vec3& n = coordinates_.plane()->bodies[b].n_B;
    if (n.dot(inertia.I_C * n) < little) add(n);
  } else {
    const Eigen::SelfAdjointEigenSolver<Mat3> eigen(inertia.I_C);
    for (int k = 0; k < 3; ++k)
      if (eigen.eigenvalues()[k] < little) add(eigen.eigenvectors().col(k));
  }
  return loan;
}

std::vector<NaturalElimination::Loan> NaturalElimination::loans() const {
  std::vector<Loan> out;
  int first = 0;
  for (int b = 0; b < static_cast<int>(coordinates_.model().bodies().size()); ++b) {
    Loan loan = loan_of(b);
    if (loan.count(coordinates_.dimension()) == 0) continue;
    loan.first = first;
    first += loan.count(coordinates_.dimension());
    out.push_back(loan);
  }
  return out;
}

// Links without mass decide which joints the tree prefers, masses which bodies floating parts hang on.
bool NaturalElimination::refresh() {
  const Model& model = coordinates_.model();
  for (std::size_t j = 0; j < preferred_.size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (preferred_[j] != (is_massless(model, joint.parent) || is_massless(model, joint.child))) return false;
  }
  if (!still_spans(spanning_, model)) return false;
  // Who borrows may have changed with masses; the axes of those who do turn with their inertia.
  int lent = 0;
  for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b) lent += loan_of(b).count(coordinates_.dimension());
  if (lent != lent_) return false;
  for (Loan& loan : loans_) {
    Loan now = loan_of(loan.body);
    if (now.moves != loan.moves || now.turns != loan.turns) return false;
    now.first = loan.first;
    loan = now;
  }
  measure();
  std::fill(active_.begin(), active_.end(), 1);
  chosen_ = {};
  return true;
}

double NaturalElimination::inertia_of_row(int r) const {
  const NaturalForm& form = coordinates_.row(r);
  for (const NaturalVector* a : {&form.u, &form.w, &form.minus})
    if (a->body != kWorld) return units_[static_cast<std::size_t>(a->body)].inertia;
  return 1;
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
    for (int i = 0; i < n; ++i)
      (*target)(e* n + i, u * n + j) +=
          factor * unit(a, i) * unit(b, j) / units_[static_cast<std::size_t>(a)].inertia * block(i, j);
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
    const double weight = weight_[static_cast<std::size_t>(r)];
    for (int i = 0; i < coordinates_.per_body(); ++i) scratch_[i] *= weight * unit(b, i);
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

// Inertia on loan, and the unknowns that take it back.
void NaturalElimination::lend() {
  const int n = coordinates_.per_body();
  for (const Loan& loan : loans_) {
    const int node = node_of(loan.body);
    for (int k = loan.first; k < loan.first + loan.count(coordinates_.dimension()); ++k) {
      const auto Z = directions_.col(k);
      for (int copy = 0; copy < copies_; ++copy) {
        const int at = multipliers_ * closure_rows() + copy * lent_ + k;
        for (int i = 0; i < n; ++i) {
          for (int j = 0; j < n; ++j) tree_.own(node)(copy * n + i, copy * n + j) += Z[i] * Z[j];
          tree_.border_columns(node)(copy * n + i, at) -= Z[i];
          tree_.border_rows(node)(at, copy * n + i) += Z[i];
        }
        tree_.corner()(at, at) -= 1;
      }
    }
  }
}

Verdict NaturalElimination::factor() {
  if (!chosen_.ok()) return chosen_;
  lend();
  if (const int node = tree_.eliminate(kNaturalPivot); node >= 0) return lacking(node);
  drop_inactive();
  if (!tree_.finish(0)) return {Status::Singular, -1, spanning_.closures.empty() ? -1 : spanning_.closures[0], 0};
  return {};
}

// The rigid motions of borrowers along what they borrow, in scaled numbers of length one; x need only be near.
void NaturalElimination::turn_loans(const VecX& x) {
  const int d = coordinates_.dimension(), n = coordinates_.per_body();
  directions_.setZero();
  for (const Loan& loan : loans_) {
    int k = loan.first;
    for (int i = 0; loan.moves && i < d; ++i) directions_(i, k++) = 1;
    for (int t = 0; t < loan.turns; ++t) {
      const Vec3& axis = loan.axes[static_cast<std::size_t>(t)];
      auto Z = directions_.col(k++);
      const double* own = x.data() + n * loan.body + d;
      if (coordinates_.plane()) {
        Z[2] = -own[1], Z[3] = own[0];
      } else {
        const Mat3 D = coordinates_.directors(loan.body, x);
        const Vec3 a = D * axis;
        for (int i = 0; i < 3; ++i) Z.segment<3>(3 + 3 * i) = a.cross(Vec3(D.col(i)));
      }
      Z.normalize();
    }
  }
}

// With unit masses the corner holds the products of the closure rows after what the tree's rows span was taken from them: its
// diagonal begins with the squared distance of each row from that span. Elimination with the largest part of its row first stops
// where the rest is what rounding left.
Verdict NaturalElimination::choose(const VecX& x, int freedoms) {
  const int n = closure_rows();
  chosen_ = {};
  if (n == 0) return chosen_;
  turn_loans(x);
  clear();
  for (int node = 0; node < tree_.nodes(); ++node)
    for (int i = 0; i < coordinates_.per_body(); ++i) tree_.own(node)(i, i) = 1;
  for (int r = 0; r < coordinates_.rows(); ++r) add_row(0, r, 0, 1, x), add_force(0, r, 0, -1, x);
  for (int k = 0; k < n; ++k) {
    size_[k] = 0;
    for (int node = 0; node < tree_.nodes(); ++node) size_[k] += tree_.border_rows(node).row(k).squaredNorm();
  }
  // Without the tree nothing is known: the rows stay as they were, and nobody computes with them.
  if (const int node = tree_.eliminate(kNaturalPivot); node >= 0 || !tree_.corner().allFinite()) {
    chosen_ = {x.allFinite() ? Status::Singular : Status::NotFinite};
    if (node < 0) return chosen_;
    const TreeNode& at = spanning_.nodes[static_cast<std::size_t>(node)];
    chosen_.body = at.body, chosen_.joint = at.joint;
    return chosen_;
  }
  std::fill(active_.begin(), active_.end(), 0);
  MatX& S = tree_.corner();
  inverse_size_ = size_.cwiseInverse();
  // Freedoms that are more than coordinates without rows are rows that depend on others.
  const int dependent = freedoms - (coordinates_.size() - coordinates_.rows());
  independent_rows(
      n, [&](int r, int c) -> double& { return S(c, r); }, size_, inverse_size_, active_, freedoms < 0 ? 0 : n - dependent);
  return chosen_;
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
        right_[tree_.first(node) + copy * n + i] =
            coordinates[copy * size + body * n + i] * unit(body, i) / units_[static_cast<std::size_t>(body)].inertia;
  }
  for (int copy = 0; copy < multipliers_; ++copy)
    for (int r = 0; r < count; ++r) right_[place_of(r, copy)] = rows[copy * count + r] * weight_[static_cast<std::size_t>(r)];
  right_.tail(copies_ * lent_).setZero();
  // Rows that were left out ask for nothing; done after the tree because their right side must not see it.
  tree_.solve(right_, [&](double* z) {
    for (int copy = 0; copy < multipliers_; ++copy)
      for (int r = 0; r < closure_rows(); ++r)
        if (!active_[static_cast<std::size_t>(r)]) z[copy * closure_rows() + r] = 0;
  });
  for (int node = 0; node < tree_.nodes(); ++node) {
    const int body = spanning_.nodes[static_cast<std::size_t>(node)].body;
    for (int copy = 0; copy < copies_; ++copy)
      for (int i = 0; i < n; ++i)
        coordinates[copy * size + body * n + i] = right_[tree_.first(node) + copy * n + i] * unit(body, i);
  }
  for (int copy = 0; copy < multipliers_; ++copy)
    for (int r = 0; r < count; ++r)
      rows[copy * count + r] = right_[place_of(r, copy)] * weight_[static_cast<std::size_t>(r)] * inertia_of_row(r);
}

}  // namespace invar
