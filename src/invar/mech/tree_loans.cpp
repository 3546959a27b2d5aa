// SPDX-License-Identifier: Apache-2.0
// In the elimination from leaves to roots a joint passes on every direction that it holds, so bodies without inertia cost nothing
// there. Only a freedom s with delta = sᵀ I_A s = 0 is special, and that alone is no error: a closure may hold it. It gets a loan
// d, and its acceleration z is one more unknown that takes the loan back. I_A is semidefinite, so I_A s = 0 and z stays where it
// is:
//     q'' = (effort - s·p - w·y)/d + z,      effort - s·p - w·y = 0
// for the multipliers y of the rows that drive it by w. With Lambda = L D Lᵀ (the loans' w wᵀ/d in it) and A the columns w,
//     Lambda y - A z = r,   -Aᵀ y = -d e      so with Y = L⁻¹ A      (Yᵀ D⁻¹ Y) z = d e - Yᵀ D⁻¹ L⁻¹ r.
// Yᵀ D⁻¹ Y <= d: a pivot over d is a squared sine. Without a pivot the fronts judge, by the motion.
#include <algorithm>
#include <cmath>

#include "invar/mech/tree_store.hpp"

namespace invar {

using kernel::Hang;
using Column = kernel::Column<V>;

namespace {

constexpr double kRoundOff = 0.04;  // of the floor that a pivot must exceed: less is zero for sure
constexpr double kNoPivot = 1e-11;  // of the loan

}  // namespace

// Loans are found out at the first state that needs them and kept: each one is a new start.
Verdict TreeSolver::eliminate_with_loans(const Bodies& bodies, const KktInput& input, const Port* port) {
  for (;;) {
    kinematics(bodies, input, port);
    if (rows_ > 0) start_columns(bodies, input);
    const Verdict verdict = eliminate(input);
    if (verdict.status != Status::NoInertia || doubtful_freedom_ < 0) return verdict;
    const Store& s = *store_;
    const kernel::Link<V>& link = s.links[doubtful_slot_];
    const bool angular = link.hang == Hang::Revolute || s.freedoms[link.freedom + doubtful_freedom_].is_angular;
    const double length = scales_.length_at(link.body), moment = s.moments[doubtful_slot_], mass = s.masses[doubtful_slot_];
    const double size = angular ? (moment > 0 ? moment : s.total_mass * length * length) : (mass > 0 ? mass : s.total_mass);
    const double floor = angular ? link.floor : link.mass_floor;
    if (!(returned_ ? take_back(verdict.value, floor) : lend(verdict.value, floor, size))) return verdict;
  }
}

bool TreeSolver::lend(double pivot, double floor, double size) {
  Store& s = *store_;
  if (static_cast<int>(s.loans.size()) >= rows_ || !(pivot <= kRoundOff * floor)) return false;
  s.loans.push_back({doubtful_slot_, doubtful_freedom_, size});
  const kernel::Link<V>& link = s.links[doubtful_slot_];
  (link.hang == Hang::Revolute ? s.loan_of_slot[doubtful_slot_] : s.loan_of_freedom[link.freedom + doubtful_freedom_]) = size;
  return true;
}

// A freedom has inertia here that had none: without its loan it is an ordinary one.
bool TreeSolver::take_back(double pivot, double floor) {
  Store& s = *store_;
  if (!(pivot > floor)) return false;
  const auto gone = [&](const TreeLoan& loan) { return loan.slot == doubtful_slot_ && loan.freedom == doubtful_freedom_; };
  s.loans.erase(std::remove_if(s.loans.begin(), s.loans.end(), gone), s.loans.end());
  const kernel::Link<V>& link = s.links[doubtful_slot_];
  (link.hang == Hang::Revolute ? s.loan_of_slot[doubtful_slot_] : s.loan_of_freedom[link.freedom + doubtful_freedom_]) = 0;
  return true;
}

void TreeSolver::drop_loans() {
  Store& s = *store_;
  s.loans.clear();
  std::fill(s.loan_of_slot.begin(), s.loan_of_slot.end(), 0.0);
  std::fill(s.loan_of_freedom.begin(), s.loan_of_freedom.end(), 0.0);
}

// Y, all rows in the order of elimination, and the Cholesky factor of Yᵀ D⁻¹ Y over those that were kept.
Verdict TreeSolver::factor_loans() {
  Store& s = *store_;
  const int n = static_cast<int>(s.loans.size());
  s.loan_columns.assign(static_cast<std::size_t>(rows_) * n, 0);
  s.loan_factor.assign(static_cast<std::size_t>(n) * n, 0);
  s.loan_motion.assign(n, 0);
  const auto row = [&](int i) { return s.lambda.data() + static_cast<std::ptrdiff_t>(i) * rows_; };
  std::vector<double>& by_row = s.pivot_column;
  for (int z = 0; z < n; ++z) {
    const TreeLoan& loan = s.loans[z];
    const kernel::Link<V>& link = s.links[loan.slot];
    double* y = s.loan_columns.data() + static_cast<std::ptrdiff_t>(z) * rows_;
    std::fill(by_row.begin(), by_row.end(), 0.0);
    for (const Column* p = s.columns.data() + link.column; p < s.columns.data() + link.column + link.columns; ++p)
      by_row[p->id] = p->w[loan.freedom];
    for (int i = 0; i < rows_; ++i) {
      y[i] = by_row[s.order[i]];
      for (int k = 0; k < std::min(i, rank_); ++k) y[i] -= row(i)[k] * y[k];
    }
  }
  for (int a = 0; a < n; ++a) {
    double* target = s.loan_factor.data() + static_cast<std::ptrdiff_t>(a) * n;
    const double* y = s.loan_columns.data() + static_cast<std::ptrdiff_t>(a) * rows_;
    for (int b = 0; b <= a; ++b) {
      const double* other = s.loan_columns.data() + static_cast<std::ptrdiff_t>(b) * rows_;
      const double* before = s.loan_factor.data() + static_cast<std::ptrdiff_t>(b) * n;
      double sum = 0;
      for (int k = 0; k < rank_; ++k) sum += y[k] * row(k)[k] * other[k];
      for (int k = 0; k < b; ++k) sum -= target[k] * before[k];
      if (b < a) {
        target[b] = sum / before[b];
        continue;
      }
      const double ratio = sum / s.loans[a].size;
      if (!(ratio > kNoPivot)) return {Status::Singular, s.links[s.loans[a].slot].body, s.links[s.loans[a].slot].joint, ratio};
      if (ratio < weakest_kept_) weakest_kept_ = ratio;
      target[a] = std::sqrt(sum);
    }
  }
  return {};
}

// z, and what it takes from the reduced right side of the rows. The freedoms still hold e without multipliers.
void TreeSolver::find_loan_motion() {
  Store& s = *store_;
  const int n = static_cast<int>(s.loans.size());
  const auto factor = [&](int a, int b) { return s.loan_factor[static_cast<std::size_t>(a) * n + b]; };
  for (int a = 0; a < n; ++a) {
    const TreeLoan& loan = s.loans[a];
    const kernel::Link<V>& link = s.links[loan.slot];
    const double e = link.hang == Hang::Revolute ? s.work[loan.slot].e : s.freedoms[link.freedom + loan.freedom].e;
    const double* y = s.loan_columns.data() + static_cast<std::ptrdiff_t>(a) * rows_;
    double sum = loan.size * e;
    for (int k = 0; k < rank_; ++k) sum -= y[k] * s.lambda[static_cast<std::size_t>(k) * (rows_ + 1)] * s.reduced[k];
    for (int b = 0; b < a; ++b) sum -= factor(a, b) * s.loan_motion[b];
    s.loan_motion[a] = sum / factor(a, a);
  }
  for (int a = n; a-- > 0;) {
    for (int b = a + 1; b < n; ++b) s.loan_motion[a] -= factor(b, a) * s.loan_motion[b];
    s.loan_motion[a] /= factor(a, a);
  }
  for (int a = 0; a < n; ++a) {
    const double* y = s.loan_columns.data() + static_cast<std::ptrdiff_t>(a) * rows_;
    for (int k = 0; k < rows_; ++k) s.reduced[k] += y[k] * s.loan_motion[a];
  }
}

void TreeSolver::apply_loan_motion() {
  Store& s = *store_;
  for (std::size_t a = 0; a < s.loans.size(); ++a) {
    const TreeLoan& loan = s.loans[a];
    const kernel::Link<V>& link = s.links[loan.slot];
    (link.hang == Hang::Revolute ? s.work[loan.slot].e : s.freedoms[link.freedom + loan.freedom].e) += s.loan_motion[a];
  }
}

}  // namespace invar
