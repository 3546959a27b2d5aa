// SPDX-License-Identifier: Apache-2.0
// Rows across the tree: each starts as a pair of unit wrenches (or efforts) at its ends, runs to the root as a column of the
// elimination, and meets the others in Lambda:  Lambda y = right + c - (bias acceleration of the row).
#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/mech/gaps.hpp"
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/rank.hpp"
#include "invar/mech/tree_store.hpp"

namespace invar {

using kernel::Hang;
using Link = kernel::Link<V>;
using Work = kernel::Work<V>;
using Column = kernel::Column<V>;

namespace {

// A row that was chosen is kept until another one is this much stronger, as squares of sines in the inertia metric.
constexpr double kFaithful = 1e4;

struct End {
  int slot;  // 0: ground
  V arm;     // O -> joint point
};

// Bias acceleration of the body-fixed point at the end of an arm, and of the body's rotation.
V point_bias(const Work& x, const V& arm) { return x.abar + cross(x.alphabar, arm) + cross(x.w, cross(x.w, arm)); }

// A row pushes the body at its end with (m, f) at the joint point, per unit multiplier: minus that in the bias wrench.
void push(Column& column, const V& arm, const V& m, const V& f) {
  column.f -= f;
  column.n -= m + cross(arm, f);
}

}  // namespace

void TreeSolver::start_columns(const Bodies& bodies, const KktInput& input) {
  Store& s = *store_;
  std::fill(s.lambda.begin(), s.lambda.end(), 0.0);
  std::fill(s.right.begin(), s.right.end(), 0.0);
  for (const RowStart& start : s.starts) {
    Column& column = s.columns[start.column];
    column.f = column.n = V{};
    for (int k = 0; k < 3; ++k) column.t[k] = 0;
  }
  for (int c = 0; c < static_cast<int>(s.closures.size()); ++c) {
    const Closure& closure = s.closures[c];
    switch (closure.sort) {
      case Closure::Sort::Joint:
        if (model_.joints()[closure.index].facts->is_point())
          start_ball_rows(c, input);
        else
          start_joint_rows(c, bodies, input);
        break;
      case Closure::Sort::Rotor:
        start_dual_row(closure.row, closure.index, closure.freedom, closure.unit, bodies, input.dynamics);
        s.lambda[static_cast<std::size_t>(closure.row) * (rows_ + 1)] +=
            closure.unit * closure.unit / model_.joints()[closure.index].passive[closure.freedom].armature;
        break;
      case Closure::Sort::Coupling: start_coupling_row(c, bodies, input); break;
    }
  }
  if (input.dynamics) return;
  for (RowStart& start : s.starts) start.f = s.columns[start.column].f, start.n = s.columns[start.column].n;
}

// A ball needs no axes: its rows are World's, its right side has no velocity product of its own. Where some row is redundant it
// matters which one is left out (stages of a step lie off the constraints), and that must not depend on World: then the rows are
// along the axes of F.
void TreeSolver::start_ball_rows(int c, const KktInput& input) {
  Store& s = *store_;
  const Closure& closure = s.closures[c];
  const bool redundant = wanted_rank_ != rows_;
  V axis[3] = {V::axis(0, 1), V::axis(1, 1), V::axis(2, 1)};
  for (int k = 0; k < 3; ++k) {
    if (redundant) axis[k] = s.work[closure.slot[0]].R * closure.axis[k];
    s.direction[closure.row + k].tail<3>() = unpack(axis[k]);
  }
  V relative{};
  for (const int end : {0, 1}) {
    const Work& x = s.work[closure.slot[end]];
    const V arm = x.R * closure.arm[end];
    const double side = end == 1 ? 1 : -1;
    relative += side * point_bias(x, arm);
    if (closure.slot[end] == 0) continue;
    Column* column = &s.columns[closure.column[end]];
    for (int k = 0; k < 3; ++k) push(column[k], arm, V{}, side * axis[k]);
  }
  if (input.bias) relative -= pack((*input.bias)[closure.index].linear);
  for (int k = 0; k < 3; ++k) s.right[closure.row + k] = -dot(axis[k], relative);
}

void TreeSolver::start_joint_rows(int c, const Bodies& bodies, const KktInput& input) {
  Store& s = *store_;
  const Closure& closure = s.closures[c];
  const Joint& joint = model_.joints()[closure.index];
  JointAt at;
  joint_at(model_, closure.index, bodies, input.dynamics, at);
  Vec6 wanted = at.bias;
  if (input.bias)
    wanted.head<3>() += (*input.bias)[closure.index].angular, wanted.tail<3>() += (*input.bias)[closure.index].linear;
  for (int k = 0; k < closure.rows; ++k) {
    Vec6 row = at.C.row(k).transpose();
    row /= row_size(row, scales_.length_at(joint.child));
    s.direction[closure.row + k] = row;
    s.right[closure.row + k] = row.dot(wanted);
    start_row(closure.row + k, joint, at, row, 1);
  }
}

// Both ends of a row along a direction (angular; linear) at a joint, and its bias acceleration.
void TreeSolver::start_row(int id, const Joint& joint, const JointAt& at, const Vec6& row, double factor) {
  Store& s = *store_;
  const V m = pack(factor * row.head<3>()), f = pack(factor * row.tail<3>());
  for (const bool at_child : {false, true}) {
    const int body = at_child ? joint.child : joint.parent;
    const int slot = body == kWorld ? 0 : s.slot_of_body[body];
    const Work& x = s.work[slot];
    const V arm = slot == 0 ? V{} : x.c + pack(at_child ? at.arm_child : at.arm_parent);
    const double bias = dot(f, point_bias(x, arm)) + dot(m, x.alphabar);
    s.right[id] -= at_child ? bias : -bias;
    if (slot == 0) continue;
    Column& column = s.columns[s.column_at(slot, id)];
    if (at_child)
      push(column, arm, m, f);
    else
      push(column, arm, -m, -f);
  }
}

// A row on the acceleration of one joint freedom: an effort on a tree joint, otherwise the dual wrench on both bodies.
void TreeSolver::start_dual_row(int id, int j, int freedom, double factor, const Bodies& bodies, bool rates) {
  Store& s = *store_;
  const Joint& joint = model_.joints()[j];
  for (const int body : {joint.child, joint.parent}) {
    if (body == kWorld) continue;
    const int slot = s.slot_of_body[body];
    if (s.links[slot].joint != j) continue;
    s.columns[s.column_at(slot, id)].t[freedom] += factor;
    return;
  }
  JointAt at;
  joint_at(model_, j, bodies, rates, at);
  s.right[id] += factor * at.dual.col(freedom).dot(at.bias);
  start_row(id, joint, at, at.dual.col(freedom), factor);
}

// q_driven'' - p'(q) q'' = p''(q) q'²
void TreeSolver::start_coupling_row(int c, const Bodies& bodies, const KktInput& input) {
  Store& s = *store_;
  const Closure& closure = s.closures[c];
  const Coupling& coupling = model_.couplings()[closure.index];
  JointAt of;
  joint_at(model_, coupling.of, bodies, input.dynamics, of);
  const double v = of.v[coupling.of_freedom];
  const Driven p = driven_by(coupling, input.coupling_q ? (*input.coupling_q)[closure.index] : of.q[coupling.of_freedom]);
  const double bias = input.coupling_bias ? (*input.coupling_bias)[closure.index] : 0.0;
  s.right[closure.row] += closure.unit * (p.curvature * v * v + bias);
  start_dual_row(closure.row, coupling.joint, coupling.freedom, closure.unit, bodies, input.dynamics);
  start_dual_row(closure.row, coupling.of, coupling.of_freedom, -closure.unit * p.slope, bodies, input.dynamics);
}

Verdict TreeSolver::solve_closures(const Bodies& bodies, const KktInput& input) {
  const Store& s = *store_;
  if (const Verdict verdict = factor_closures(input.settled && !input.dynamics); !verdict.ok()) return verdict;
  if (!s.loans.empty())
    if (const Verdict verdict = factor_loans(); !verdict.ok()) return verdict;
  reduce_right();
  if (!s.loans.empty()) find_loan_motion();
  // A row left out must agree with the others: what is left of its right side is an acceleration nobody can give. In a projection
  // the residual is the judge, not this.
  if (input.dynamics && rank_ < rows_) {
    double scale = model_.gravity().norm();
    for (const double right : s.right) scale = std::max(scale, std::abs(right));
    Contradiction contradiction(model_, scales_, piece_, bodies, input.coupling_q, scale);
    for (int k = rank_; k < rows_; ++k)
      if (contradiction.proven_by(std::abs(s.reduced[k])))
        return {Status::Contradictory, -1, joint_of_row(s.order[k]), s.reduced[k]};
  }
  find_multipliers();
  return {};
}

void TreeSolver::set_closure_rank(int rank) {
  if (rank != wanted_rank_) chosen_ = 0;
  wanted_rank_ = rank;
}

// The place of the next pivot from k on: the row chosen at the last settled state (tree_choice.cpp), unless it has become weak,
// or the largest pivot over its own diagonal; and how large that is.
int TreeSolver::next_pivot(int k, double& strongest) const {
  const Store& s = *store_;
  const auto ratio = [&](int i) { return s.lambda[static_cast<std::size_t>(i) * (rows_ + 1)] / s.diagonal[i]; };
  int best = k;
  strongest = ratio(k);
  for (int i = k + 1; i < rows_; ++i)
    if (const double r = ratio(i); r > (1 + kTie) * strongest) strongest = r, best = i;
  if (k >= chosen_) return best;
  const auto place = std::find(s.order.begin() + k, s.order.end(), s.chosen[k]);
  if (place == s.order.end()) return best;
  const int before = static_cast<int>(place - s.order.begin());
  return kFaithful * ratio(before) >= strongest ? before : best;
}

// L D Lᵀ of Lambda, where rows depend on each other over those that were chosen; rows beyond the rank carry nothing. L stands
// below the diagonal and 1/D on it, in the order of elimination: rows and columns are swapped along the way.
Verdict TreeSolver::factor_closures(bool settled) {
  Store& s = *store_;
  const int n = rows_;
  double* L = s.lambda.data();
  const auto row = [&](int i) { return L + static_cast<std::ptrdiff_t>(i) * n; };
  // All rows measure metres, and a push along one moves no more than everything there is: pivot · total mass is a squared sine
  // between the row and those of the tree, as pivot / diagonal is one between the row and other closures. A row that moves
  // nothing has the round-off of its columns as diagonal.
  const double least = kDependentInMasses / s.total_mass;
  for (int i = 0; i < n; ++i) {
    s.order[i] = i;
    s.diagonal[i] = row(i)[i] > least ? row(i)[i] : std::numeric_limits<double>::infinity();
  }
  weakest_kept_ = 1, strongest_left_ = 0, weakest_row_ = -1, rank_ = n;
  if (settled && wanted_rank_ >= 0 && wanted_rank_ != n) choose_rows();

  for (int k = 0; k < n; ++k) {
    // The next pivot; where all rows are known to be independent their own order will do.
    double strongest = row(k)[k] / s.diagonal[k];
    const int next = wanted_rank_ == n ? k : next_pivot(k, strongest);
    if (wanted_rank_ >= 0 ? k >= wanted_rank_ : strongest < kDependentInMasses) {
      strongest_left_ = strongest;
      rank_ = k;
      break;
    }
    if (next != k) swap_rows(k, next);
    const double pivot = row(k)[k], ratio = pivot / s.diagonal[k];
    if (!(pivot > 0)) return {Status::Singular, -1, joint_of_row(s.order[k]), pivot};
    if (const double weakness = std::min(ratio, pivot * s.total_mass); weakness < weakest_kept_)
      weakest_kept_ = weakness, weakest_row_ = s.order[k];

    // Column k of L; what remains loses its share, with the column kept in a row of its own.
    const double inverse = 1 / pivot;
    double* column = s.pivot_column.data();
    row(k)[k] = inverse;
    for (int i = k + 1; i < n; ++i) column[i] = row(i)[k];
    for (int i = k + 1; i < n; ++i) {
      double* target = row(i);
      const double l = target[k] = column[i] * inverse;
      for (int j = k + 1; j <= i; ++j) target[j] -= l * column[j];
    }
  }
  return {};
}

// L⁻¹ times the right side, in the order of elimination.
void TreeSolver::reduce_right() {
  Store& s = *store_;
  double* y = s.reduced.data();
  for (int i = 0; i < rows_; ++i) {
    const double* row = s.lambda.data() + static_cast<std::ptrdiff_t>(i) * rows_;
    y[i] = s.right[s.order[i]];
    for (int k = 0; k < std::min(i, rank_); ++k) y[i] -= row[k] * y[k];
  }
}

// Back substitution over the rows that were kept, then out of the order of elimination.
void TreeSolver::find_multipliers() {
  Store& s = *store_;
  double* y = s.reduced.data();
  const auto row = [&](int i) { return s.lambda.data() + static_cast<std::ptrdiff_t>(i) * rows_; };
  for (int k = rank_; k < rows_; ++k) y[k] = 0;
  for (int k = rank_ - 1; k >= 0; --k) {
    y[k] *= row(k)[k];
    for (int i = k + 1; i < rank_; ++i) y[k] -= row(i)[k] * y[i];
  }
  for (int k = 0; k < rows_; ++k) s.multiplier[s.order[k]] = y[k];
}

// Exchanges rows and columns a < b of the symmetric matrix of which the lower part is stored.
void TreeSolver::swap_rows(int a, int b) {
  Store& s = *store_;
  const auto at = [&](int i, int j) -> double& { return s.lambda[static_cast<std::size_t>(i) * rows_ + j]; };
  for (int j = 0; j < a; ++j) std::swap(at(a, j), at(b, j));
  for (int j = a + 1; j < b; ++j) std::swap(at(j, a), at(b, j));
  for (int j = b + 1; j < rows_; ++j) std::swap(at(j, a), at(j, b));
  std::swap(at(a, a), at(b, b));
  std::swap(s.diagonal[a], s.diagonal[b]);
  std::swap(s.order[a], s.order[b]);
}

int TreeSolver::joint_of_row(int row) const {
  for (const Closure& c : store_->closures)
    if (row >= c.row && row < c.row + c.rows)
      return c.sort == Closure::Sort::Coupling ? model_.couplings()[c.index].joint : c.index;
  return -1;
}

void TreeSolver::closure_reactions(std::vector<Wrench>& reactions) const {
  const Store& s = *store_;
  for (const Closure& closure : s.closures) {
    if (closure.sort != Closure::Sort::Joint) continue;
    Vec6 on_child = Vec6::Zero();
    for (int k = closure.row; k < closure.row + closure.rows; ++k) on_child += s.multiplier[k] * s.direction[k];
    reactions[closure.index] = {-on_child.head<3>(), -on_child.tail<3>()};
  }
}

}  // namespace invar
