// SPDX-License-Identifier: Apache-2.0
//
// With K = ∂r/∂q and z = Lᵀ q, Γ = L Lᵀ (modes.cpp): r̂ = L⁻¹ r, K̂ = L⁻¹ K L⁻ᵀ. The step is Newton's, z = -K̂⁻¹ r̂, where the
// symmetric part of K̂ is positive; elsewhere its eigenvalues are taken positive, which makes it a step of descent of the energy.
// A step pays if the energy falls, ΔV ≈ ½ (r(0) + r(1))·step < 0, without ever asking for V. It is found when what is missing is
// what a rounding of the coordinates would make: |r̂| <= tolerance (|K̂| |unit displacements| + |weight|).
#include "invar/mech/minimal/equilibrium.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "invar/model/joint/kinds.hpp"

namespace invar {
namespace {

constexpr double kLongest = 0.3;  // of a step: rad, m at the model's length
constexpr int kHalvings = 40, kPolish = 5;

// Everything about one state at rest.
struct Place {
  Balance balance;
  VecX missing;  // r̂
  MatX K;        // K̂
  Eigen::LLT<MatX> factor;
  double bound = 0;
};

class Search {
 public:
  Search(Minimal& minimal, const Load& load, const EquilibriumOptions& options)
      : minimal_(minimal), tree_(minimal.tree()), load_(load), options_(options) {}

  Verdict look(const State& x, Place& at) const {
    const auto n = static_cast<Eigen::Index>(tree_.independent().size());
    if (const Verdict s = balance_at(tree_, x.q, x.v, x.wound, load_, VecX::Zero(n), at.balance); !s.ok()) return s;
    at.factor.compute(at.balance.Gamma);
    if (n > 0 && at.factor.info() != Eigen::Success) return {Status::NoInertia};
    at.missing = at.factor.matrixL().solve(at.balance.missing);
    const MatX left = at.factor.matrixL().solve(at.balance.by_q);
    at.K = at.factor.matrixL().solve(left.transpose()).transpose();
    double unit = 0, mass = 0;
    for (Eigen::Index i = 0; i < n; ++i) unit += at.balance.Gamma(i, i) * size(i) * size(i);
    for (const Body& body : tree_.model().bodies()) mass += body.inertia.mass;
    at.bound = options_.tolerance * (at.K.norm() * std::sqrt(unit) + std::sqrt(mass) * tree_.model().gravity().norm());
    return {};
  }

  // The step of Newton or of descent, on all freedoms of the tree, not too long.
  VecX step(const Place& at) const {
    const Eigen::SelfAdjointEigenSolver<MatX> eigen(0.5 * (at.K + at.K.transpose()));
    const VecX& values = eigen.eigenvalues();
    const double least = std::max(1e-9 * values.cwiseAbs().maxCoeff(), 1e-12);
    VecX z;
    if (values[0] >= least) {
      z = -at.K.partialPivLu().solve(at.missing);
    } else {
      const VecX along = eigen.eigenvectors().transpose() * at.missing;
      z = -(eigen.eigenvectors() * along.cwiseQuotient(values.cwiseAbs().cwiseMax(least)));
    }
    VecX u = at.balance.E * at.factor.matrixU().solve(z);
    double longest = 0;
    for (const JointTree::Node& node : tree_.nodes())
      for (int k = 0; k < node.nv; ++k)
        longest = std::max(longest, std::abs(u[node.v0 + k]) / (turns(node.kind, k) ? 1.0 : tree_.model().length()));
    if (longest > kLongest) u *= kLongest / longest;
    return u;
  }

  // x moved by u, closures met and turns counted.
  Verdict move(const State& from, const VecX& u, State& to) const {
    to = from;
    minimal_.retract(from, u, to);
    return minimal_.settle(to);
  }

  VecX independent(const VecX& u) const {
    VecX out(static_cast<Eigen::Index>(tree_.independent().size()));
    for (Eigen::Index i = 0; i < out.size(); ++i) out[i] = u[tree_.independent()[static_cast<std::size_t>(i)]];
    return out;
  }

 private:
  // One unit of an independent freedom: rad, or the model's length.
  double size(Eigen::Index i) const {
    const int freedom = tree_.independent()[static_cast<std::size_t>(i)];
    for (const JointTree::Node& n : tree_.nodes())
      if (freedom >= n.v0 && freedom < n.v0 + n.nv) return turns(n.kind, freedom - n.v0) ? 1.0 : tree_.model().length();
    return 1;
  }

  Minimal& minimal_;
  const JointTree& tree_;
  const Load& load_;
  const EquilibriumOptions& options_;
};

// The freedom that accelerates most, with its share of the metric.
void tell_missing(const JointTree& tree, const Place& at, Equilibrium& out) {
  Eigen::Index worst = 0;
  const VecX share = at.balance.missing.cwiseAbs().cwiseQuotient(at.balance.Gamma.diagonal().cwiseSqrt());
  share.maxCoeff(&worst);
  out.freedom = tree.freedom_name(tree.independent()[static_cast<std::size_t>(worst)]);
  out.force = -at.balance.missing[worst];
}

}  // namespace

Stability stability_of(const Modes& modes) {
  Stability out = Stability::Stable;
  for (const Mode& mode : modes.modes) {
    if (modes.is_zero(mode)) {
      out = Stability::Neutral;
    } else if (mode.value.real() > 1e-9 * modes.largest) {
      return Stability::Unstable;
    }
  }
  return out;
}

Verdict find_equilibrium(Minimal& minimal, const Load& load, const EquilibriumOptions& options, State& x, Equilibrium& out) {
  const Search search(minimal, load, options);
  out = {};
  x.v.setZero();
  if (const Verdict s = minimal.settle(x); !s.ok()) return s;
  Place here, there;
  if (const Verdict s = search.look(x, here); !s.ok()) return s;
  State next;
  for (; out.iterations < options.iterations; ++out.iterations) {
    if (here.missing.size() == 0 || here.missing.norm() <= here.bound) {
      out.found = true;
      break;
    }
    VecX u = search.step(here);
    bool pays = false;
    for (int k = 0; k < kHalvings && !pays; ++k, u *= 0.5) {
      // Freedoms that are chosen anew on the way say nothing about work along u: measured with the old ones.
      const VecX along = search.independent(u), before = here.balance.missing;
      const auto freedoms = minimal.tree().independent();
      if (!search.move(x, u, next).ok() || !search.look(next, there).ok()) continue;
      const bool same = freedoms == minimal.tree().independent();
      const double fall = same ? 0.5 * along.dot(before + there.balance.missing) : 0.0;
      pays = same ? fall <= 1e-4 * along.dot(before) : there.missing.norm() <= here.missing.norm();
      // Close to the end the fall is rounding: there the residual tells.
      pays = pays || there.missing.norm() <= 0.5 * here.missing.norm();
    }
    if (!pays) break;
    std::swap(x, next);
    std::swap(here, there);
  }
  if (!out.found) {
    tell_missing(minimal.tree(), here, out);
    return {};
  }
  // The bound knows the stiffest direction: Newton goes on while it gains, for the softest one.
  for (int k = 0; k < kPolish && here.missing.size() > 0; ++k) {
    if (!search.move(x, search.step(here), next).ok() || !search.look(next, there).ok()) break;
    if (!(there.missing.norm() <= 0.5 * here.missing.norm())) break;
    std::swap(x, next);
    std::swap(here, there);
  }
  Linear linear;
  if (const Verdict s = linearize(minimal.tree(), x.q, x.v, x.wound, load, linear); !s.ok()) return s;
  out.vdot = linear.vdot;
  out.modes = modes_of(minimal.tree(), linear);
  out.stability = stability_of(out.modes);
  return {};
}

}  // namespace invar
