// SPDX-License-Identifier: Apache-2.0
// With W = M⁻¹ the KKT problem is S F = b, S = J W Jᵀ + c, b = J W f − γ, x = W (f − Jᵀ F). Over the kept rows A this is one
// solve with the fronts. A border row adds a vector n with S_A n = 0: F = F_A + Σ n φ. The n are made orthonormal in S, that
// is their g = Jᵀ n in W, so φ = gᵀ W f − nᵀ γ. Refinement repeats the solve on both residuals of the original problem.
#include "invar/mech/fronts.hpp"

#include <algorithm>
#include <cmath>

#include "invar/base/check.hpp"

namespace invar {
namespace {

constexpr int kRefinements = 4;
constexpr double kRoundOff = 1e-15;
constexpr double kNotSolved = 1e-6;
constexpr double kWatch = 1e-2;  // how far a pivot ratio may move before it counts as a change

std::size_t size(int n) { return static_cast<std::size_t>(n); }

}  // namespace

FrontSolver::FrontSolver(const KktStructure& structure)
    : structure_(structure),
      W_(size(structure.bodies()), Mat6::Identity()),
      Z_(size(structure.bodies()), Mat6::Zero()),
      counts_(size(structure.rows()), 1),
      rf_(VecX::Zero(6 * structure.bodies())),
      rg_(VecX::Zero(structure.rows())),
      dx_(VecX::Zero(6 * structure.bodies())),
      dF_(VecX::Zero(structure.rows())) {}

// A new core when the idle directions, or the rotors among their rows, are not those of the last one.
void FrontSolver::prepare(const KktProblem& problem) {
  std::vector<int> idle = idle_directions(problem);
  std::vector<char> rotor(size(structure_.rows()));
  for (int r = 0; r < structure_.rows(); ++r) rotor[size(r)] = problem.compliance[r] > 0;
  const bool condense = std::any_of(idle.begin(), idle.end(), [](int k) { return k > 0; });
  if (core_ && idle == idle_ && (!condense || rotor == rotor_)) return;
  idle_ = std::move(idle);
  rotor_ = std::move(rotor);
  condensation_ = condense ? std::make_unique<Condensation>(problem, idle_) : nullptr;
  core_ = std::make_unique<FrontFactor>(core_structure());
  const int rows = core_structure().rows(), columns = 6 * core_structure().bodies();
  reference_.assign(size(rows), 1.0);
  f_c_ = x_c_ = u_ = VecX::Zero(columns);
  gamma_c_ = F_c_ = b_ = VecX::Zero(rows);
}

Verdict FrontSolver::take_masses(const KktProblem& problem) {
  if (Verdict verdict = invert_masses(problem, idle_, W_, Z_); !verdict.ok()) return verdict;
  if (!condensation_) return {};
  const Verdict verdict = condensation_->refresh(problem, W_, Z_);
  if (!verdict.ok()) idle_direction_ = condensation_->direction();
  return verdict;
}

Verdict FrontSolver::decide(const KktProblem& problem) {
  INVAR_CHECK(problem.structure.rows() == structure_.rows() && problem.structure.touches() == structure_.touches(),
              "a solver serves problems of its own structure");
  prepare(problem);
  forgotten_ = false;
  if (const Verdict verdict = take_masses(problem); !verdict.ok()) return verdict;
  const RowSort sort = sort_rows(*core_, core_structure(), core_jacobian(problem), core_compliance(problem), tolerance_);
  border_ = sort.border;
  border_n_.assign(border_.size(), VecX::Zero(core_structure().rows()));
  border_g_.assign(border_.size(), VecX::Zero(6 * core_structure().bodies()));
  border_size_.assign(border_.size(), 0);
  publish(problem, sort);
  fresh_ = true;
  weakened_ = strengthened_ = false;
  return {};
}

// The decision in rows of the problem. Orthogonal factors of clusters keep number and norm of self-stresses.
void FrontSolver::publish(const KktProblem& problem, const RowSort& sort) {
  const int stresses = static_cast<int>(sort.redundant.size());
  const auto row = [&](int r) { return condensation_ ? condensation_->row(r) : r; };
  decision_ = {};
  decision_.sigma = sort.sigma;
  decision_.rank = structure_.rows() - stresses - static_cast<int>((problem.compliance.array() > 0).count());
  std::fill(counts_.begin(), counts_.end(), 1);
  for (int r : sort.border) decision_.border.push_back(row(r));
  for (int r : sort.redundant) {
    decision_.redundant.push_back(row(r));
    counts_[size(row(r))] = 0;
    if (!condensation_ || !condensation_->in_cluster(condensation_->block(r))) continue;
    for (int other = 0; other < structure_.rows(); ++other)
      if (condensation_->same_cluster(condensation_->block(r), structure_.block_of_row(other))) counts_[size(other)] = 0;
  }
  std::vector<Eigen::Triplet<double>> entries;
  VecX dense = VecX::Zero(core_structure().rows()), expanded = VecX::Zero(structure_.rows());
  for (int k = 0; k < stresses; ++k) {
    const SparseRow& n = sort.stresses[size(k)];
    if (!condensation_) {
      for (std::size_t i = 0; i < n.rows.size(); ++i) entries.emplace_back(n.rows[i], k, n.values[i]);
      continue;
    }
    for (std::size_t i = 0; i < n.rows.size(); ++i) dense[n.rows[i]] = n.values[i];
    condensation_->expand_stress(dense, expanded);
    for (int r : n.rows) dense[r] = 0;
    for (int r = 0; r < structure_.rows(); ++r)
      if (expanded[r] != 0) entries.emplace_back(r, k, expanded[r]);
  }
  self_stresses_.resize(structure_.rows(), stresses);
  self_stresses_.setFromTriplets(entries.begin(), entries.end());
}

Verdict FrontSolver::factor(const KktProblem& problem) {
  if (!core_ || forgotten_)
    if (const Verdict verdict = decide(problem); !verdict.ok()) return verdict;
  if (const Verdict verdict = take_masses(problem); !verdict.ok()) return verdict;
  core_->take(core_jacobian(problem), core_inverse_mass(), core_compliance(problem));
  if (const int row = core_->eliminate(); row >= 0) {
    const int block = condensation_ ? condensation_->block(row) : structure_.block_of_row(row);
    return {std::isnan(core_->ratio(row)) ? Status::Singular : Status::NotFinite, -1, block, core_->ratio(row)};
  }
  watch_ratios();
  build_border(problem);
  return {};
}

// Masses enter these ratios, so they are compared with what they were when the decision was new, not with the threshold alone.
void FrontSolver::watch_ratios() {
  weakened_ = strengthened_ = false;
  weakest_ = border_.empty() ? 1 : decision_.sigma * decision_.sigma;
  for (int r = 0; r < core_structure().rows(); ++r) {
    double& reference = reference_[size(r)];
    const double ratio = core_->ratio(r);
    if (fresh_) reference = std::max(ratio, 1e-10);
    if (core_->kept(r)) weakest_ = std::min(weakest_, ratio);
    const bool weaker = core_->kept(r) && ratio < tolerance_.weak && ratio < kWatch * reference;
    const bool stronger = !core_->kept(r) && ratio > tolerance_.weak && ratio * kWatch > reference;
    if ((weaker || stronger) && !rank_in_doubt())
      doubtful_block_ = condensation_ ? condensation_->block(r) : structure_.block_of_row(r);
    weakened_ |= weaker;
    strengthened_ |= stronger;
  }
  fresh_ = false;
}

void FrontSolver::build_border(const KktProblem& problem) {
  const std::vector<Mat6>& W = core_inverse_mass();
  const VecX& compliance = core_compliance(problem);
  const auto weigh = [&](const VecX& g) {
    for (int i = 0; i < core_structure().bodies(); ++i) u_.segment<6>(6 * i).noalias() = W[size(i)] * g.segment<6>(6 * i);
  };
  for (std::size_t k = 0; k < border_.size(); ++k) {
    VecX& n = border_n_[k];
    VecX& g = border_g_[k];
    n.setZero();
    n[border_[k]] = 1;
    // Orthogonal to the kept rows, in the inertia metric; the second pass removes what rounding left.
    for (int pass = 0; pass < 2; ++pass) {
      apply_joint_matrix(core_structure(), core_jacobian(problem), &W, compliance, n, u_, b_);
      core_->solve(b_, F_c_);
      n -= F_c_;
    }
    g.setZero();
    add_transpose_times(core_structure(), core_jacobian(problem), n, g);
    for (std::size_t j = 0; j < k; ++j)
      for (int pass = 0; pass < 2; ++pass) {
        weigh(g);
        const double share = border_g_[j].dot(u_) + (compliance.array() * n.array() * border_n_[j].array()).sum();
        n -= share * border_n_[j];
        g -= share * border_g_[j];
      }
    weigh(g);
    const double norm = std::sqrt(g.dot(u_) + (compliance.array() * n.array().square()).sum());
    if (border_size_[k] == 0) border_size_[k] = norm;
    weakened_ |= !(norm > kWatch * border_size_[k]);
    n /= norm;
    g /= norm;
  }
}

void FrontSolver::solve_core(const KktProblem& problem, const VecX& f, const VecX& gamma, VecX& x, VecX& F) {
  const KktStructure& s = core_structure();
  const std::vector<Mat6>& W = core_inverse_mass();
  const std::vector<Mat6>& jacobian = core_jacobian(problem);
  for (int i = 0; i < s.bodies(); ++i) u_.segment<6>(6 * i).noalias() = W[size(i)] * f.segment<6>(6 * i);
  b_ = -gamma;
  add_jacobian_times(s, jacobian, u_, b_);
  core_->solve(b_, F);
  for (std::size_t k = 0; k < border_.size(); ++k) F += (border_g_[k].dot(u_) - border_n_[k].dot(gamma)) * border_n_[k];
  u_.setZero();
  add_transpose_times(s, jacobian, F, u_);
  u_ = f - u_;
  for (int i = 0; i < s.bodies(); ++i) x.segment<6>(6 * i).noalias() = W[size(i)] * u_.segment<6>(6 * i);
}

void FrontSolver::solve_once(const KktProblem& problem, const VecX& f, const VecX& gamma, VecX& x, VecX& F) {
  if (!condensation_) return solve_core(problem, f, gamma, x, F);
  condensation_->condense(f, gamma, f_c_, gamma_c_);
  solve_core(problem, f_c_, gamma_c_, x_c_, F_c_);
  condensation_->expand(x_c_, F_c_, x, F);
}

// Largest residual relative to the largest term of its equation; rows decided redundant do not count.
double FrontSolver::measure(const KktProblem& problem, const VecX& f, const VecX& gamma, const VecX& x, const VecX& F) {
  kkt_residual(problem, f, gamma, x, F, rf_, rg_);
  const auto largest = [](const VecX& v) { return v.size() > 0 ? v.lpNorm<Eigen::Infinity>() : 0.0; };
  const double force = largest(f) + largest(F);
  const double motion = largest(gamma) + largest(x) + largest(f);  // forces over the mean mass: a rigid mechanism has no other
  double worst_row = 0;
  for (int r = 0; r < structure_.rows(); ++r)
    if (counts_[size(r)]) worst_row = std::max(worst_row, std::abs(rg_[r]));
  const double on_bodies = largest(rf_);
  if (!std::isfinite(on_bodies + worst_row + rf_.sum() + rg_.sum())) return std::numeric_limits<double>::quiet_NaN();
  return std::max(force > 0 ? on_bodies / force : on_bodies, motion > 0 ? worst_row / motion : worst_row);
}

Verdict FrontSolver::solve(const KktProblem& problem, const VecX& f, const VecX& gamma, VecX& x, VecX& F) {
  solve_once(problem, f, gamma, x, F);
  residual_ = measure(problem, f, gamma, x, F);
  for (refinements_ = 0; refinements_ < kRefinements && residual_ > 0;) {
    solve_once(problem, rf_, rg_, dx_, dF_);
    x += dx_;
    F += dF_;
    ++refinements_;
    const double before = residual_;
    residual_ = measure(problem, f, gamma, x, F);
    if (residual_ > before) {
      x -= dx_;
      F -= dF_;
      residual_ = before;
      break;
    }
    if (residual_ <= kRoundOff || residual_ > 0.5 * before) break;
  }
  if (std::isnan(residual_)) return {Status::NotFinite, -1, -1, residual_};
  if (residual_ <= kNotSolved) return {};
  Eigen::Index worst = 0;
  if (rg_.size() > 0) rg_.cwiseAbs().maxCoeff(&worst);
  return {Status::NotConverged, -1, rg_.size() > 0 ? structure_.block_of_row(static_cast<int>(worst)) : -1, residual_};
}

}  // namespace invar
