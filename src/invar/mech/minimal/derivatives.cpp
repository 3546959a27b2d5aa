// SPDX-License-Identifier: Apache-2.0
//
// With R(q, v, a) what the inverse recursion says is missing on the freedoms of the tree and Φ the rows, for any multipliers λ
//   r = Eᵀ R = Eᵀ (R - Φᵀ λ),   because Φ E = 0.
// Choosing λ so that R - Φᵀ λ vanishes on the dependent freedoms, where alone E changes, gives
//   dr = Eᵀ d(R - Φᵀ λ)   with λ held:
// E itself is never differentiated. Rates and accelerations of what depends follow from the rows, differentiated with them:
//   Φ dv = -dΦ v,   Φ da = -d(Φ a + Φ̇ v) at da = 0,   each solved for the dependent freedoms.
// Finally Γ dv̇ = -dr at the accelerations for which r = 0.
#include "invar/mech/minimal/derivatives.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <optional>

#include "invar/base/check.hpp"
#include "invar/mech/minimal/inverse_recursion.hpp"

namespace invar {
namespace {

constexpr int kLanes = 8;
using Number = Dual<kLanes>;
using Numbers = InverseRecursion<Number>::Vector;

// A vector that changes along the columns from `first` on of `directions`.
Numbers seeded(const VecX& value, const MatX& directions, Eigen::Index first) {
  Numbers out(value.size());
  const Eigen::Index lanes = std::min<Eigen::Index>(kLanes, directions.cols() - first);
  for (Eigen::Index i = 0; i < value.size(); ++i) {
    out[i] = Number(value[i]);
    for (Eigen::Index k = 0; k < lanes; ++k) out[i].d[k] = directions(i, first + k);
  }
  return out;
}

// Derivatives, one column per lane.
MatX partials(const Numbers& x) {
  MatX out(x.size(), kLanes);
  for (Eigen::Index i = 0; i < x.size(); ++i) out.row(i) = x[i].d.matrix().transpose();
  return out;
}

class Worker {
 public:
  Worker(const JointTree& tree, const VecX& wound, const Load& load, Balance& out)
      : tree_(tree), wound_(wound), load_(load), out_(out), zero_(VecX::Zero(tree.nv())) {}

  Verdict begin(const VecX& q, const VecX& v) {
    out_.q = q, out_.v = v;
    Bodies bodies;
    if (const Verdict s = tree_.complete(out_.q, out_.v, wound_, bodies); !s.ok()) return s;
    if (const Verdict s = tree_.motions(bodies, wound_, out_.E); !s.ok()) return s;
    plain_.emplace(tree_, out_.q, wound_, load_);
    dual_.emplace(tree_, out_.q, wound_, load_);
    const MatX none = MatX::Zero(tree_.nv(), tree_.nv());

    // Rows per freedom, and rates of all joints per independent one.
    phi_ = MatX::Zero(tree_.rows(), tree_.nv());
    for (Eigen::Index k = 0; tree_.rows() > 0 && k < tree_.nv(); k += kLanes) {
      dual_->move(seeded(zero_, none, k), seeded(zero_, MatX::Identity(tree_.nv(), tree_.nv()), k), seeded(zero_, none, k));
      const Eigen::Index lanes = std::min<Eigen::Index>(kLanes, tree_.nv() - k);
      phi_.middleCols(k, lanes) = partials(dual_->rows()).leftCols(lanes);
    }
    if (!tree_.dependent().empty()) {
      MatX dependent(phi_.rows(), static_cast<Eigen::Index>(tree_.dependent().size()));
      for (std::size_t k = 0; k < tree_.dependent().size(); ++k)
        dependent.col(static_cast<Eigen::Index>(k)) = phi_.col(tree_.dependent()[k]);
      rows_.compute(dependent);
    }
    out_.joint_rates = MatX::Zero(tree_.model().nv(), n());
    out_.Gamma = MatX::Zero(n(), n());
    const VecX free = VecX::Zero(tree_.rows());
    for (Eigen::Index k = 0; k < n(); k += kLanes) {
      const Eigen::Index lanes = std::min<Eigen::Index>(kLanes, n() - k);
      const MatX still = MatX::Zero(tree_.nv(), n());
      dual_->move(seeded(zero_, still, k), seeded(out_.v, out_.E, k), seeded(zero_, still, k));
      out_.joint_rates.middleCols(k, lanes) = partials(dual_->rates()).leftCols(lanes);
      dual_->move(seeded(zero_, still, k), seeded(out_.v, still, k), seeded(zero_, out_.E, k));
      Numbers R;
      dual_->balance(free, R);
      out_.Gamma.middleCols(k, lanes) = out_.E.transpose() * partials(R).leftCols(lanes);
    }
    return {};
  }

  // r for accelerations of the independent freedoms; fixes accelerations and multipliers for differentiate().
  void accelerate(const VecX& a) {
    a_ = zero_;
    for (Eigen::Index i = 0; i < n(); ++i) a_[tree_.independent()[static_cast<std::size_t>(i)]] = a[i];
    plain_->move(zero_, out_.v, a_);
    put_dependent(plain_->rows_rate(), a_);
    plain_->move(zero_, out_.v, a_);
    multipliers_ = VecX::Zero(tree_.rows());
    VecX R;
    plain_->balance(multipliers_, R);
    if (!tree_.dependent().empty()) {
      VecX on(static_cast<Eigen::Index>(tree_.dependent().size()));
      for (Eigen::Index k = 0; k < on.size(); ++k) on[k] = R[tree_.dependent()[static_cast<std::size_t>(k)]];
      const auto upper = rows_.matrixQR().topRows(on.size()).template triangularView<Eigen::Upper>();
      multipliers_.head(on.size()) = upper.transpose().solve(on);
      multipliers_ = rows_.householderQ() * multipliers_;
    }
    out_.missing = out_.E.transpose() * R;
  }

  void differentiate() {
    // Directions: coordinates, then rates.
    MatX U = MatX::Zero(tree_.nv(), 2 * n()), V = U;
    U.leftCols(n()) = out_.E;
    for (Eigen::Index i = 0; i < n(); ++i) V(tree_.independent()[static_cast<std::size_t>(i)], n() + i) = 1;
    MatX A = MatX::Zero(tree_.nv(), 2 * n()), dr(n(), 2 * n());
    for (Eigen::Index k = 0; k < 2 * n(); k += kLanes) {
      const Eigen::Index lanes = std::min<Eigen::Index>(kLanes, 2 * n() - k);
      const Numbers u = seeded(zero_, U, k);
      if (!tree_.dependent().empty()) {
        dual_->move(u, seeded(out_.v, V, k), seeded(a_, A, k));
        put_dependent(partials(dual_->rows()).leftCols(lanes), V, k);
        dual_->move(u, seeded(out_.v, V, k), seeded(a_, A, k));
        put_dependent(partials(dual_->rows_rate()).leftCols(lanes), A, k);
      }
      dual_->move(u, seeded(out_.v, V, k), seeded(a_, A, k));
      Numbers R;
      dual_->balance(multipliers_, R);
      dr.middleCols(k, lanes) = out_.E.transpose() * partials(R).leftCols(lanes);
    }
    out_.by_q = dr.leftCols(n());
    out_.by_v = dr.rightCols(n());
  }

  Eigen::Index n() const { return out_.E.cols(); }

 private:
  // What the dependent freedoms need so that the rows vanish.
  void put_dependent(const MatX& violation, MatX& to, Eigen::Index first) const {
    const MatX solved = rows_.solve(-violation);
    for (std::size_t k = 0; k < tree_.dependent().size(); ++k)
      to.row(tree_.dependent()[k]).segment(first, violation.cols()) = solved.row(static_cast<Eigen::Index>(k));
  }
  void put_dependent(const VecX& violation, VecX& to) const {
    if (tree_.dependent().empty()) return;
    const VecX solved = rows_.solve(-violation);
    for (std::size_t k = 0; k < tree_.dependent().size(); ++k) to[tree_.dependent()[k]] = solved[static_cast<Eigen::Index>(k)];
  }

  const JointTree& tree_;
  const VecX& wound_;
  const Load& load_;
  Balance& out_;
  VecX zero_, a_, multipliers_;
  MatX phi_;
  Eigen::HouseholderQR<MatX> rows_;  // of Φ_d: redundant rows agree
  std::optional<InverseRecursion<double>> plain_;
  std::optional<InverseRecursion<Number>> dual_;
};

}  // namespace

Verdict balance_at(const JointTree& tree, const VecX& q, const VecX& v, const VecX& wound, const Load& load, const VecX& a,
                   Balance& out) {
  Worker worker(tree, wound, load, out);
  if (const Verdict s = worker.begin(q, v); !s.ok()) return s;
  INVAR_CHECK(a.size() == worker.n(), "one acceleration per independent freedom");
  worker.accelerate(a);
  worker.differentiate();
  return {};
}

Verdict derivatives_at(const JointTree& tree, const VecX& q, const VecX& v, const VecX& wound, const Load& load,
                       Derivatives& out) {
  Balance& b = out.balance;
  Worker worker(tree, wound, load, b);
  if (const Verdict s = worker.begin(q, v); !s.ok()) return s;
  out.coordinates.clear();
  for (const int i : tree.independent()) out.coordinates.push_back(tree.freedom_name(i));
  const Eigen::Index n = worker.n();

  // Units out of it: a pivot of Γ with ones on its diagonal is a pure number.
  const VecX scale = b.Gamma.diagonal().cwiseMax(0).cwiseSqrt();
  for (Eigen::Index i = 0; i < n; ++i)
    if (!(scale[i] > 0)) return {Status::NoInertia, -1, tree.joint_of(tree.independent()[static_cast<std::size_t>(i)]), scale[i]};
  const VecX inverse = scale.cwiseInverse();
  const Eigen::LLT<MatX> unit(inverse.asDiagonal() * b.Gamma * inverse.asDiagonal());
  if (n > 0 && unit.info() != Eigen::Success) return {Status::NoInertia};
  // A right side without columns (no joint has an effort) is its own solution.
  const auto solve = [&](const MatX& right) {
    return right.size() == 0 ? right : MatX(inverse.asDiagonal() * unit.solve(inverse.asDiagonal() * right));
  };
  worker.accelerate(VecX::Zero(n));
  out.vdot = n > 0 ? VecX(-solve(b.missing)) : VecX();
  worker.accelerate(out.vdot);
  worker.differentiate();
  if (n == 0) return out.by_q = out.by_v = out.by_force = MatX(0, 0), out.by_effort = MatX(0, tree.model().nv()), Verdict{};
  out.by_q = -solve(b.by_q);
  out.by_v = -solve(b.by_v);
  out.by_effort = solve(b.joint_rates.transpose());
  out.by_force = solve(MatX::Identity(n, n));
  return {};
}

}  // namespace invar
