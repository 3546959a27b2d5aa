// SPDX-License-Identifier: Apache-2.0
// With W = M⁻¹ the KKT problem is S F = b, S = J W Jᵀ + c, b = J W f − γ, x = W (f − Jᵀ F). Directions without inertia add
// unknowns z (massless.cpp); y = (F, z) then solves H y = (J W f − γ, −κ Zᵀ f), and x = W (f − Jᵀ F) + Z κ z. Over the kept rows
// and the idle directions this is one solve with the fronts. A border row adds a vector y with H y = 0 there: y_A + Σ y_k φ_k.
// The y_k are made orthonormal in H; with v = W Jᵀ n − Z κ z, φ = vᵀ f − nᵀ γ. Refinement repeats the solve on both residuals of
// the problem.
#include "invar/mech/fronts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/base/check.hpp"
#include "invar/base/index.hpp"

namespace invar {
namespace {

constexpr int kRefinements = 4;
constexpr double kRoundOff = 1e-15;
constexpr double kNotSolved = 1e-6;
constexpr double kNotSolvedIdle = 1e-8;  // of the sine of the weakest idle direction
constexpr double kSurelySolved = 1e-14;
constexpr double kWatch = 1e-2;  // how far a pivot ratio may move before it counts as a change
constexpr double kWorn = 1e-3;   // pivot ratios that are as good as any (see FrontFactor::choose)

}  // namespace

FrontSolver::FrontSolver(const KktStructure& structure)
    : structure_(structure),
      W_(size(structure.bodies()), Mat6::Identity()),
      counts_(size(structure.rows()), 1),
      row_length_(VecX::Ones(structure.rows())),
      rf_(VecX::Zero(6 * structure.bodies())),
      rg_(VecX::Zero(structure.rows())),
      dx_(VecX::Zero(6 * structure.bodies())),
      dF_(VecX::Zero(structure.rows())),
      u_(VecX::Zero(6 * structure.bodies())) {}

Verdict FrontSolver::decide(const KktProblem& problem, const KnownRank& known) {
  INVAR_CHECK(problem.structure.rows() == structure_.rows() && problem.structure.touches() == structure_.touches(),
              "a solver serves problems of its own structure");
  if (!rows_) rows_ = std::make_unique<FrontFactor>(structure_);
  // Nothing is decided on rows or masses that are not finite (their squares included): the next state is the first again.
  forgotten_ = true;
  if (const Verdict verdict = expect_finite(problem); !verdict.ok()) return verdict;
  forgotten_ = false;
  row_length_ = row_lengths(problem);
  const RowSort sort = sort_rows(*rows_, structure_, problem.jacobian, problem.compliance, tolerance_, known);
  publish(problem, sort);
  loans_.take(problem);
  if (const Verdict verdict = place_directions(problem); !verdict.ok()) {
    forgotten_ = true;
    return verdict;
  }
  border_.assign(sort.border.size(), {});
  for (std::size_t k = 0; k < border_.size(); ++k) {
    border_[k].row = sort.border[k];
    border_[k].y = VecX::Zero(unknowns());
    border_[k].g = border_[k].v = VecX::Zero(6 * structure_.bodies());
  }
  reference_.assign(size(unknowns()), 1.0);
  b_ = y_ = VecX::Zero(unknowns());
  fresh_ = true;
  weakened_ = strengthened_ = worn_ = false;
  return {};
}

Verdict FrontSolver::expect_finite(const KktProblem& problem) const {
  const VecX lengths = row_lengths(problem);
  for (int r = 0; r < lengths.size(); ++r)
    if (!std::isfinite(lengths[r] * lengths[r])) return {Status::NotFinite, -1, structure_.block_of_row(r), lengths[r]};
  for (int i = 0; i < structure_.bodies(); ++i)
    if (const double square = problem.mass[size(i)].squaredNorm(); !std::isfinite(square))
      return {Status::NotFinite, i, -1, square};
  return {};
}

void FrontSolver::publish(const KktProblem& problem, const RowSort& sort) {
  const int stresses = static_cast<int>(sort.redundant.size());
  decision_ = {};
  decision_.sigma = sort.sigma;
  decision_.rank = structure_.rows() - stresses - static_cast<int>((problem.compliance.array() > 0).count());
  decision_.border = sort.border;
  decision_.redundant = sort.redundant;
  std::fill(counts_.begin(), counts_.end(), 1);
  for (int r : sort.redundant) counts_[size(r)] = 0;
  std::vector<Eigen::Triplet<double>> entries;
  for (int k = 0; k < stresses; ++k) {
    const SparseRow& n = sort.stresses[size(k)];
    for (std::size_t i = 0; i < n.rows.size(); ++i) entries.emplace_back(n.rows[i], k, n.values[i]);
  }
  self_stresses_.resize(structure_.rows(), stresses);
  self_stresses_.setFromTriplets(entries.begin(), entries.end());
}

// Strong directions have a home in a front; the others are judged by the motion that they would allow, as a vector.
Verdict FrontSolver::place_directions(const KktProblem& problem) {
  weakest_idle_ = 1;
  places_.clear();
  idle_blocks_.clear();
  if (loans_.empty()) {
    idle_.reset();
    return {};
  }
  std::vector<IdlePlace> places = place_idle(*rows_, problem, loans_);
  rebuild(with_idle(rows_->tree(), structure_, loans_, places, false));
  for (const IdlePlace& place : places)
    if (place.home >= 0) weakest_idle_ = std::min(weakest_idle_, std::sqrt(place.pivot));
  if (std::all_of(places.begin(), places.end(), [](const IdlePlace& p) { return p.home >= 0; })) return {};
  if (const Verdict verdict = judge_weak(problem, places); !verdict.ok()) return verdict;
  rebuild(with_idle(rows_->tree(), structure_, loans_, places, true));
  return {};
}

void FrontSolver::rebuild(const IdleStructure& with) {
  places_ = with.places;
  idle_blocks_.clear();
  for (int j = structure_.blocks(); j < with.structure.blocks(); ++j)
    idle_blocks_.push_back(with.structure.block(j).first_row - structure_.rows());
  idle_ = std::make_unique<FrontFactor>(with.structure, FrontTree(with.structure, with.pieces, structure_.blocks()),
                                        structure_.blocks(), *rows_);
}

// Numbers of the core: inertia metric with loans, or W = 1 and unit directions.
void FrontSolver::take_core(const KktProblem& problem, bool neutral) {
  if (neutral)
    core().take_neutral(problem.jacobian, problem.compliance);
  else
    core().take(problem.jacobian, W_, problem.compliance);
  for (std::size_t k = 0; k < idle_blocks_.size(); ++k) {
    const std::size_t first = size(idle_blocks_[k]);
    const std::size_t end = k + 1 < idle_blocks_.size() ? size(idle_blocks_[k + 1]) : places_.size();
    const LentBody& lent = loans_.bodies()[size(places_[first].loan)];
    Mat6 row = Mat6::Zero(), column = Mat6::Zero();
    Vec6 diagonal = Vec6::Zero(), scale = Vec6::Ones();
    for (std::size_t i = first; i < end; ++i) {
      const int r = static_cast<int>(i - first), d = places_[i].direction;
      const double inertia = lent.own[d] + lent.loan, share = lent.share(d);
      column.row(r) = (neutral ? -1.0 : -share) * lent.axes.col(d).transpose();
      row.row(r) = neutral ? Vec6(column.row(r).transpose()).transpose() : Vec6(inertia * column.row(r).transpose()).transpose();
      diagonal[r] = neutral ? -lent.own[d] / lent.loan : -share * lent.own[d];
      scale[r] = neutral ? 1.0 : inertia;
    }
    core().take_idle(structure_.blocks() + static_cast<int>(k), row, column, diagonal, scale);
  }
}

// Who an unknown belongs to: the block of a row, the body of an idle direction.
int FrontSolver::block_of_unknown(int at) const { return at < structure_.rows() ? structure_.block_of_row(at) : -1; }
int FrontSolver::body_of_unknown(int at) const {
  return at < structure_.rows() ? -1 : loans_.bodies()[size(places_[size(at - structure_.rows())].loan)].body;
}

// x ± Z κ z, and y ± κ Zᵀ u on the idle directions.
void FrontSolver::add_idle_motion(const VecX& y, double sign, VecX& x) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const LentBody& lent = loans_.bodies()[size(places_[i].loan)];
    const int d = places_[i].direction;
    x.segment<6>(6 * lent.body) += (sign * lent.share(d) * y[structure_.rows() + static_cast<int>(i)]) * lent.axes.col(d);
  }
}

void FrontSolver::add_idle_forces(const VecX& u, double sign, VecX& y) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const LentBody& lent = loans_.bodies()[size(places_[i].loan)];
    const int d = places_[i].direction;
    y[structure_.rows() + static_cast<int>(i)] += sign * lent.share(d) * lent.axes.col(d).dot(u.segment<6>(6 * lent.body));
  }
}

// Weak directions one by one: with z = 1 the others follow from H y = 0, in the neutral metric J (Z z − g) = c F and Zᵀ g = −μ z
// with g = Jᵀ F. Then gᵀ Z z = |g|² + c |F|², and what resists the motion Z z is h = (g, √c F, √μ z): |h| over |Z z| is the sine
// between it and the motions that are free of rows and inertia. As a Schur number it would carry an error u, as a vector (u κ)².
Verdict FrontSolver::judge_weak(const KktProblem& problem, std::vector<IdlePlace>& places) {
  struct Candidate {
    VecX motion;  // 6 bodies
    VecX held;    // 6 bodies, rows, idle directions: h
  };
  const int n = unknowns(), wide = 6 * structure_.bodies(), rows = structure_.rows();
  take_core(problem, true);
  if (const int row = core().eliminate(); row >= 0)
    return {Status::Singular, body_of_unknown(row), block_of_unknown(row), core().ratio(row)};
  std::vector<Candidate> candidates;
  VecX y(n), correction(n), rest(n), g(wide);
  for (const IdlePlace& weak : places) {
    if (weak.home >= 0) continue;
    const LentBody& lent = loans_.bodies()[size(weak.loan)];
    Candidate c{VecX::Zero(wide), VecX::Zero(wide + rows + loans_.directions())};
    y.setZero();
    for (int pass = 0; pass < 4; ++pass) {
      c.motion.setZero();
      c.motion.segment<6>(6 * lent.body) = lent.axes.col(weak.direction);
      for (std::size_t i = 0; i < places_.size(); ++i) {
        const LentBody& other = loans_.bodies()[size(places_[i].loan)];
        c.motion.segment<6>(6 * other.body) += y[rows + static_cast<int>(i)] * other.axes.col(places_[i].direction);
      }
      g.setZero();
      add_transpose_times(structure_, problem.jacobian, y, g);
      if (pass == 3) break;
      const VecX free = c.motion - g;
      rest.setZero();
      for (int r = 0; r < rows; ++r) rest[r] = problem.compliance[r] > 0 ? -y[r] : 0.0;
      add_jacobian_times(structure_, problem.jacobian, free, rest);
      for (std::size_t i = 0; i < places_.size(); ++i) {
        const LentBody& other = loans_.bodies()[size(places_[i].loan)];
        const int d = places_[i].direction, at = rows + static_cast<int>(i);
        rest[at] = other.axes.col(d).dot(g.segment<6>(6 * other.body)) + other.own[d] / other.loan * y[at];
      }
      core().solve(rest, correction);
      y += correction;
    }
    c.held.head(wide) = g;
    for (int r = 0; r < rows; ++r) c.held[wide + r] = problem.compliance[r] > 0 ? y[r] : 0.0;
    int at = wide + rows;
    for (const LentBody& other : loans_.bodies())
      for (int d = 0; d < other.idle; ++d)
        c.held[at++] = std::sqrt(other.own[d] / other.loan) * other.axes.col(d).dot(c.motion.segment<6>(6 * other.body));
    const double length = c.motion.norm();
    c.motion /= length, c.held /= length;
    candidates.push_back(std::move(c));
  }
  // The strongest first; each takes its share from the others.
  std::vector<char> done(candidates.size(), 0);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    std::size_t best = 0;
    double most = -1;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (const double held = candidates[i].held.norm(); !done[i] && held > most) most = held, best = i;
    const Candidate& chosen = candidates[best];
    if (!(most > tolerance_.singular)) return no_inertia(chosen.motion);
    done[best] = 1;
    weakest_idle_ = std::min(weakest_idle_, most);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (done[i]) continue;
      const double share = chosen.held.dot(candidates[i].held) / (most * most);
      candidates[i].held -= share * chosen.held;
      candidates[i].motion -= share * chosen.motion;
      const double length = candidates[i].motion.norm();
      candidates[i].held /= length, candidates[i].motion /= length;
    }
  }
  return {};
}

// The body that moves most in the motion that nothing resists.
Verdict FrontSolver::no_inertia(const VecX& motion) {
  int body = 0;
  for (int i = 1; i < structure_.bodies(); ++i)
    if (motion.segment<6>(6 * i).norm() > motion.segment<6>(6 * body).norm() * (1 + 1e-9)) body = i;
  const double most = motion.segment<6>(6 * body).norm();
  idle_motion_ = motion / most;
  idle_direction_ = idle_motion_.segment<6>(6 * body);
  int block = -1;
  for (int j = structure_.blocks(); j-- > 0;)
    for (int t = structure_.block(j).first_touch; t < structure_.block(j).first_touch + structure_.block(j).touches; ++t)
      if (structure_.body(t) == body) block = j;
  return {Status::NoInertia, body, block, 0.0};
}

Verdict FrontSolver::take_masses(const KktProblem& problem) {
  loans_.turn(problem);
  return invert_masses(problem, loans_, W_);
}

Verdict FrontSolver::factor(const KktProblem& problem) {
  if (!rows_ || forgotten_)
    if (const Verdict verdict = decide(problem); !verdict.ok()) return verdict;
  if (const Verdict verdict = take_masses(problem); !verdict.ok()) return verdict;
  take_core(problem, false);
  if (const int row = core().eliminate(); row >= 0) {
    return {std::isnan(core().ratio(row)) ? Status::Singular : Status::NotFinite, body_of_unknown(row), block_of_unknown(row),
            core().ratio(row)};
  }
  watch_ratios();
  build_border(problem);
  return {};
}

// Masses enter these ratios, so they are compared with what they were when the decision was new, not with the threshold alone;
// while it is new nothing can have changed. How much an idle direction has weakened since is what its sine has lost.
void FrontSolver::watch_ratios() {
  weakened_ = strengthened_ = worn_ = false;
  double idle_left = 1;
  weakest_ = border_.empty() ? 1 : decision_.sigma * decision_.sigma;
  for (int r = 0; r < unknowns(); ++r) {
    double& reference = reference_[size(r)];
    const double ratio = core().ratio(r);
    const bool row = r < structure_.rows(), kept = !row || core().kept(r);
    if (fresh_) reference = kept ? ratio : std::max(ratio, 1e-10);
    if (row && kept) weakest_ = std::min(weakest_, ratio);
    if (!row) idle_left = std::min(idle_left, ratio / reference);
    if (fresh_) continue;
    const bool weaker = kept && ratio < tolerance_.weak && ratio < kWatch * reference;
    const bool stronger = !kept && ratio > tolerance_.weak && ratio * kWatch > reference;
    worn_ |= row && kept && ratio < kWorn && ratio < kWatch * reference && !decision_.redundant.empty();
    if ((weaker || stronger) && !rank_in_doubt()) doubtful_block_ = block_of_unknown(r), doubtful_body_ = body_of_unknown(r);
    weakened_ |= weaker;
    strengthened_ |= stronger;
  }
  idle_now_ = weakest_idle_ * std::sqrt(std::max(0.0, idle_left));
  fresh_ = false;
}

// out = H y; g = Jᵀ n and v = W g − Z κ z come along.
void FrontSolver::apply(const KktProblem& problem, const VecX& y, VecX& g, VecX& v, VecX& out) const {
  g.setZero();
  add_transpose_times(structure_, problem.jacobian, y, g);
  for (int i = 0; i < structure_.bodies(); ++i) v.segment<6>(6 * i).noalias() = W_[size(i)] * g.segment<6>(6 * i);
  add_idle_motion(y, -1, v);
  for (int r = 0; r < structure_.rows(); ++r) out[r] = problem.compliance[r] * y[r];
  add_jacobian_times(structure_, problem.jacobian, v, out);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const LentBody& lent = loans_.bodies()[size(places_[i].loan)];
    const int d = places_[i].direction, at = structure_.rows() + static_cast<int>(i);
    out[at] = -lent.share(d) * lent.own[d] * y[at];
  }
  add_idle_forces(g, -1, out);
}

void FrontSolver::build_border(const KktProblem& problem) {
  const auto compliant = [&](const VecX& a, const VecX& b) {
    double sum = 0;
    for (int r = 0; r < structure_.rows(); ++r) sum += problem.compliance[r] * a[r] * b[r];
    return sum;
  };
  for (std::size_t k = 0; k < border_.size(); ++k) {
    Border& border = border_[k];
    border.y.setZero();
    border.y[border.row] = 1;
    // Orthogonal to the kept rows, in the inertia metric; the second pass removes what rounding left.
    for (int pass = 0; pass < 2; ++pass) {
      apply(problem, border.y, border.g, border.v, b_);
      core().solve(b_, y_);
      border.y -= y_;
    }
    apply(problem, border.y, border.g, border.v, b_);
    for (std::size_t j = 0; j < k; ++j)
      for (int pass = 0; pass < 2; ++pass) {
        const double share = border_[j].g.dot(border.v) + compliant(border.y, border_[j].y);
        border.y -= share * border_[j].y;
        border.g -= share * border_[j].g;
        border.v -= share * border_[j].v;
      }
    // yᵀ H y: along idle directions Zᵀ g = −μ z, so gᵀ W g lacks what they have of their own.
    double square = compliant(border.y, border.y);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const LentBody& lent = loans_.bodies()[size(places_[i].loan)];
      const int d = places_[i].direction;
      const double z = border.y[structure_.rows() + static_cast<int>(i)];
      square += lent.share(d) * lent.own[d] * z * z;
    }
    for (int i = 0; i < structure_.bodies(); ++i)
      square += border.g.segment<6>(6 * i).dot(W_[size(i)] * border.g.segment<6>(6 * i));
    const double norm = std::sqrt(square);
    if (border.first_size == 0) border.first_size = norm;
    weakened_ |= !(norm > kWatch * border.first_size);
    border.y /= norm;
    border.g /= norm;
    border.v /= norm;
  }
}

void FrontSolver::solve_once(const KktProblem& problem, const VecX& f, const VecX& gamma, VecX& x, VecX& F) {
  for (int i = 0; i < structure_.bodies(); ++i) u_.segment<6>(6 * i).noalias() = W_[size(i)] * f.segment<6>(6 * i);
  b_.head(structure_.rows()) = -gamma;
  b_.tail(static_cast<int>(places_.size())).setZero();
  add_jacobian_times(structure_, problem.jacobian, u_, b_);
  add_idle_forces(f, -1, b_);
  core().solve(b_, y_);
  for (const Border& border : border_) y_ += (border.v.dot(f) - border.y.head(structure_.rows()).dot(gamma)) * border.y;
  F = y_.head(structure_.rows());
  u_.setZero();
  add_transpose_times(structure_, problem.jacobian, F, u_);
  u_ = f - u_;
  for (int i = 0; i < structure_.bodies(); ++i) x.segment<6>(6 * i).noalias() = W_[size(i)] * u_.segment<6>(6 * i);
  add_idle_motion(y_, 1, x);
}

// Largest residual relative to the largest term of its equation, rows as unit rows; rows decided redundant do not count.
double FrontSolver::measure(const KktProblem& problem, const VecX& f, const VecX& gamma, const VecX& x, const VecX& F) {
  kkt_residual(problem, f, gamma, x, F, rf_, rg_);
  const auto largest = [](const VecX& v) { return v.size() > 0 ? v.lpNorm<Eigen::Infinity>() : 0.0; };
  const double force = largest(f) + largest(F);
  double motion = largest(x) + largest(f), asked = 0;  // forces over the mean mass: a rigid mechanism has no other
  double worst_row = 0;
  for (int r = 0; r < structure_.rows(); ++r) {
    asked = std::max(asked, std::abs(gamma[r]) / row_length_[r]);
    if (counts_[size(r)]) worst_row = std::max(worst_row, std::abs(rg_[r]) / row_length_[r]);
  }
  motion += asked;
  const double on_bodies = largest(rf_);
  if (!std::isfinite(on_bodies + worst_row + rf_.sum() + rg_.sum())) return std::numeric_limits<double>::quiet_NaN();
  return std::max(force > 0 ? on_bodies / force : on_bodies, motion > 0 ? worst_row / motion : worst_row);
}

Verdict FrontSolver::solve(const KktProblem& problem, const VecX& f, const VecX& gamma, VecX& x, VecX& F, double enough) {
  solve_once(problem, f, gamma, x, F);
  residual_ = measure(problem, f, gamma, x, F);
  for (refinements_ = 0; refinements_ < kRefinements && residual_ > enough;) {
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
  if (residual_ <= (loans_.empty() ? kNotSolved : std::max(kSurelySolved, std::min(kNotSolved, kNotSolvedIdle * idle_now_))))
    return {};
  Eigen::Index worst = 0;
  if (rg_.size() > 0) rg_.cwiseAbs().maxCoeff(&worst);
  return {Status::NotConverged, -1, rg_.size() > 0 ? structure_.block_of_row(static_cast<int>(worst)) : -1, residual_};
}

}  // namespace invar
