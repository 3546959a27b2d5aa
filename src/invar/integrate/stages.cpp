// SPDX-License-Identifier: Apache-2.0
//
// With m + 1 = s Gauss points for the terms with G, testing with polynomials of degree m is the same as asking for the equations
// at the points c_i, the elastic gradient replaced by its projection on polynomials of degree m (ℓ_i Lagrange's basis, b_i
// weights):
//   plain       M z_i - G(x_i)ᵀ μ_i = h f_i,        G(x_i) v_i = 0,       z_i = h v'_i = Σ_j (A^-1)_ij (v_j - v0),  x' = v
//   stabilised  M z_i - G(x_i)ᵀ μ_i + h G₀(v_i)ᵀ γ_i = h f_i,    M (y_i - v_i) - G(x_i)ᵀ γ_i = 0,
//               G(x_i) y_i = 0,    h G₀(v_i) y_i + G(x_i) z_i = 0,        x' = y
//   x_i = x0 + h Σ_j A_ij y_j,     f_i = f_load(x_i, y_i) - Σ_q ω_q ℓ_i(τ_q)/b_i ∇V(x(τ_q))
// with A_ij the integral of ℓ_j to c_i (Gauss's Runge-Kutta matrix) and G₀ the linear part of G. Power: Σ_i h b_i y_i·(row i)
// gives
//   Δ(½ vᵀMv) = Σ_i h b_i y_i·f_i   because Σ_i b_i v_iᵀM z_i is the exact integral, and rows and their multipliers cancel.
// Unknowns are v - v0, μ = h λ and γ: to first order the matrix does not depend on h.
//
// The matrix. G is linear in x: d(G(x)ᵀμ)/dx = Σ μ_r Q_r = Q(μ), d(G(x) v)/dx = G₀(v).
#include "invar/integrate/stages.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <utility>

namespace invar {
namespace {

std::vector<VecX> zeros(int count, int size) { return std::vector<VecX>(static_cast<std::size_t>(count), VecX::Zero(size)); }

}  // namespace

Stages::Stages(const Natural& natural, const StageOptions& options)
    : natural_(natural),
      c_(natural.coordinates()),
      options_(options),
      s_(options.stages),
      dynamics_(options.stabilised ? s_ : 0),
      basis_(s_),
      rule_(gauss_rule(options.quadrature)),
      a_(s_, s_),
      share_(s_, options.quadrature),
      reach_(options.quadrature, s_),
      newton_(c_, dynamics_ + s_, dynamics_ + s_),
      chooser_(c_, 1, 1),
      y_(zeros(s_, c_.size())),
      w_(y_),
      mu_(zeros(s_, c_.rows())),
      gamma_(mu_),
      before_(y_),
      x_(y_),
      v_(y_),
      z_(y_),
      force_(y_),
      given_(VecX::Zero(s_)),
      lost_(given_),
      sizes_(c_),
      rc_(VecX::Zero(newton_.copies() * c_.size())),
      rr_(VecX::Zero(newton_.multipliers() * c_.rows())),
      point_(VecX::Zero(c_.size())),
      mass_v_(point_),
      product_(point_),
      row_product_(VecX::Zero(c_.rows())),
      left_over_(row_product_),
      gap_(row_product_),
      terms_(point_),
      bodies_(c_.model().bodies().size()) {
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    for (int j = 0; j < s_; ++j) a_(i, j) = basis_.integral(j, basis_.rule().point[k]);
    for (int q = 0; q < rule_.size; ++q) {
      const auto n = static_cast<std::size_t>(q);
      share_(i, q) = rule_.weight[n] * basis_.basis(i, rule_.point[n]) / basis_.rule().weight[k];
      reach_(q, i) = basis_.integral(i, rule_.point[n]);
    }
  }
  inverse_ = a_.inverse();
  past_.fill({z_, mu_, gamma_});
  kept_ = {y_, w_, mu_, gamma_};
  step_c_ = rc_, step_r_ = rr_;
}

double Stages::integral(const VecX& power, double theta) const {
  double sum = 0;
  for (int j = 0; j < s_; ++j) sum += basis_.integral(j, theta) * power[j];
  return h_ * sum;
}

void Stages::add_position(double theta, VecX& x) const {
  for (int j = 0; j < s_; ++j) x += (h_ * basis_.integral(j, theta)) * y_[static_cast<std::size_t>(j)];
}

void Stages::add_velocity(double theta, VecX& v) const {
  for (int j = 0; j < s_; ++j) v += basis_.integral(j, theta) * z_[static_cast<std::size_t>(j)];
}

void Stages::keep() {
  if (jumped_ || h_ != last_h_) known_ = 0;
  latest_ = (latest_ + 1) % kPast;
  Past& now = past_[static_cast<std::size_t>(latest_)];
  for (std::size_t i = 0; i < y_.size(); ++i) now.z[i] = z_[i], now.mu[i] = mu_[i], now.gamma[i] = gamma_[i];
  last_h_ = h_;
  known_ = std::min(known_ + 1, kPast);
  jumped_ = false;
}

// From the steps before: their polynomials, continued or repeated, or the differences of many of them.
void Stages::predict(double h, const State& x) {
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    z_[k].setZero();
    w_[k].setZero();
    mu_[k].setZero();
    gamma_[k].setZero();
  }
  if (known_ >= kFewest && !jumped_ && h == last_h_)
    predict_from_many();
  else if (known_ > 0)
    predict_from_one(h / last_h_);
  for (std::size_t k = 0; k < y_.size(); ++k) y_[k] = x.v + w_[k];
}

void Stages::predict_from_one(double r) {
  const Past& last = past_[static_cast<std::size_t>(latest_)];
  const double begin = jumped_ ? 0 : 1;
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double tau = begin + r * basis_.rule().point[k];
    for (int j = 0; j < s_; ++j) {
      const auto n = static_cast<std::size_t>(j);
      const double value = basis_.basis(j, tau);
      w_[k] += (basis_.integral(j, tau) - basis_.integral(j, begin)) * last.z[n];
      mu_[k] += r * value * last.mu[n];
      if (options_.stabilised) gamma_[k] += value * last.gamma[n];
    }
  }
}

// With S the shift to the step before, (1 - S)^n (1 + S) makes nothing of polynomials of degree n - 1 and of what alternates from
// step to step, as velocities across the constraints do.
void Stages::predict_from_many() {
  static constexpr double kFactors[kPast - kFewest + 1][kPast] = {{2, 0, -2, 1}, {3, -2, -2, 3, -1}, {4, -5, 0, 5, -4, 1}};
  for (int n = 0; n < known_; ++n) {
    const double factor = kFactors[known_ - kFewest][n];
    const Past& past = past_[static_cast<std::size_t>((latest_ + kPast - n) % kPast)];
    if (factor == 0) continue;
    for (std::size_t k = 0; k < z_.size(); ++k) {
      z_[k] += factor * past.z[k];
      mu_[k] += factor * past.mu[k];
      if (options_.stabilised) gamma_[k] += factor * past.gamma[k];
    }
  }
  for (int i = 0; i < s_; ++i)
    for (int j = 0; j < s_; ++j) w_[static_cast<std::size_t>(i)] += a_(i, j) * z_[static_cast<std::size_t>(j)];
}

void Stages::place_stages(const State& x, const VecX& carry_x, const VecX& carry_v) {
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    v_[k] = x.v + (carry_v + w_[k]);
    if (!options_.stabilised) y_[k] = v_[k];
    z_[k].setZero();
    for (int j = 0; j < s_; ++j) z_[k] += inverse_(i, j) * w_[static_cast<std::size_t>(j)];
  }
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    point_ = carry_x;
    for (int j = 0; j < s_; ++j) point_ += (h_ * a_(i, j)) * y_[static_cast<std::size_t>(j)];
    x_[k] = x.q + point_;
  }
}

// Forces at the stages; elastic ones at the quadrature points, or between the ends.
void Stages::evaluate_forces(System& system, double t, const State& x, const VecX& carry_x) {
  const NaturalForces& forces = natural_.forces();
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    force_[k].setZero();
    forces.add_gravity(1, force_[k]);
    lost_[i] = forces.add_dissipation(x_[k], y_[k], x.wound, 1, force_[k]);
    given_[i] = 0;
    if (!system.acts()) continue;
    c_.load(x_[k], y_[k], bodies_);
    const Load& load = system.load(t + h_ * basis_.rule().point[k], bodies_);
    given_[i] = forces.add_load(load, x_[k], y_[k], 1, force_[k]).total();
  }
  if (!forces.elastic()) return;
  if (options_.discrete) {
    point_ = carry_x + h_ * y_[0];
    point_ += x.q;
    forces.add_discrete(x.q, point_, x_[0], x.wound, 1, force_[0]);
    return;
  }
  for (int q = 0; q < rule_.size; ++q) {
    point_ = carry_x;
    for (int j = 0; j < s_; ++j) point_ += (h_ * reach_(q, j)) * y_[static_cast<std::size_t>(j)];
    point_ += x.q;
    product_.setZero();
    forces.add_elastic(point_, x.wound, 1, product_);
    for (int i = 0; i < s_; ++i) force_[static_cast<std::size_t>(i)] += share_(i, q) * product_;
  }
}

// Right sides of Newton's equations: minus the residuals.
void Stages::residual() {
  const int n = c_.size(), rows = c_.rows();
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    c_.apply_mass(z_[k], mass_v_);
    product_ = h_ * force_[k] - mass_v_;
    c_.add_transposed(x_[k], mu_[k], 1, product_);
    if (options_.stabilised) c_.add_transposed(v_[k], gamma_[k], -h_, product_, true);
    rc_.segment((dynamics_ + i) * n, n) = product_;
    c_.apply_rows(x_[k], y_[k], row_product_);
    rr_.segment(i * rows, rows) = -row_product_ - gap_;
    if (options_.stabilised) residual_of_velocities(i);
  }
}

// x' against v, and the rows on velocities.
void Stages::residual_of_velocities(int i) {
  const auto k = static_cast<std::size_t>(i);
  const int n = c_.size(), rows = c_.rows();
  point_ = v_[k] - y_[k];
  c_.apply_mass(point_, product_);
  c_.add_transposed(x_[k], gamma_[k], 1, product_);
  rc_.segment(i * n, n) = product_;
  c_.apply_rows(x_[k], z_[k], row_product_);
  for (int r = 0; r < rows; ++r) {
    const NaturalForm& form = c_.row(r);
    const double second = c_.linear(form.u, v_[k]).dot(c_.linear(form.w, y_[k]) - c_.linear(form.minus, y_[k])) +
                          c_.linear(form.u, y_[k]).dot(c_.linear(form.w, v_[k]) - c_.linear(form.minus, v_[k]));
    rr_[(s_ + i) * rows + r] = -row_product_[r] - h_ * second - left_over_[r];
  }
}

// The sizes of what row by row a residual gets from multipliers.
void Stages::add_terms(const VecX& x, const VecX& mu, double factor, bool linear_part) {
  const int n = c_.per_body();
  std::array<double, 12> gradient;
  for (int r = 0; r < c_.rows(); ++r) {
    const NaturalForm& form = c_.row(r);
    const int bodies[3] = {form.u.body, form.w.body, form.minus.body};
    for (int k = 0; k < 3; ++k) {
      const int b = bodies[k];
      if (b == kWorld || (k > 0 && b == bodies[0]) || (k > 1 && b == bodies[1])) continue;
      gradient.fill(0);
      c_.add_gradient(form, x, b, factor * mu[r], gradient.data(), linear_part);
      for (int i = 0; i < n; ++i) terms_[n * b + i] += std::abs(gradient[static_cast<std::size_t>(i)]);
    }
  }
}

// Of every body, its position and its directions by themselves.
bool Stages::below_terms(const VecX& left, Eigen::Index first) const {
  constexpr double kRoundings = 32 * 1.1e-16;
  const int n = c_.per_body(), d = c_.dimension();
  for (Eigen::Index at = 0; at < c_.size(); at += n)
    for (const auto& [from, count] : {std::pair{0, d}, {d, n - d}})
      if (!(left.segment(first + at + from, count).lpNorm<Eigen::Infinity>() <=
            kRoundings * terms_.segment(at + from, count).lpNorm<Eigen::Infinity>()))
        return false;
  return true;
}

// Whether the residuals computed last are what rounding leaves of their terms: nothing solves the equations any better.
bool Stages::only_rounding() {
  constexpr double kRoundings = 32 * 1.1e-16;
  const int n = c_.size(), rows = c_.rows();
  const auto terms_of_row = [&](const NaturalForm& form, const VecX& x, const VecX& v) {
    return c_.value(form.u, x).norm() * (c_.linear(form.w, v).norm() + c_.linear(form.minus, v).norm()) +
           c_.linear(form.u, v).norm() * (c_.value(form.w, x).norm() + c_.value(form.minus, x).norm());
  };
  // What moves nothing by more than a rounding within the step (set_scales), in lengths of the part.
  const auto speed = [&](int r) { return sizes_.scale(sizes_.part_of_row(r)) / sizes_.length(sizes_.part_of_row(r)); };
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    c_.apply_mass(z_[k], mass_v_);
    terms_ = mass_v_.cwiseAbs() + std::abs(h_) * force_[k].cwiseAbs();
    add_terms(x_[k], mu_[k], 1, false);
    if (options_.stabilised) add_terms(v_[k], gamma_[k], h_, true);
    if (!below_terms(rc_, (dynamics_ + i) * n)) return false;
    for (int r = 0; r < rows; ++r)
      if (newton_.active(r) &&
          !(std::abs(rr_[i * rows + r]) <= kRoundings * (terms_of_row(c_.row(r), x_[k], y_[k]) + speed(r) + std::abs(gap_[r]))))
        return false;
    if (!options_.stabilised) continue;
    c_.apply_mass(v_[k], mass_v_);
    c_.apply_mass(y_[k], product_);
    terms_ = mass_v_.cwiseAbs() + product_.cwiseAbs();
    add_terms(x_[k], gamma_[k], 1, false);
    if (!below_terms(rc_, i * n)) return false;
    for (int r = 0; r < rows; ++r)
      if (newton_.active(r) &&
          !(std::abs(rr_[(s_ + i) * rows + r]) <=
            kRoundings * (terms_of_row(c_.row(r), x_[k], z_[k]) + std::abs(h_) * terms_of_row(c_.row(r), v_[k], y_[k]) +
                          speed(r) + std::abs(left_over_[r]))))
        return false;
  }
  return true;
}

void Stages::assemble(const State& x) {
  newton_.clear();
  const int bodies = static_cast<int>(c_.model().bodies().size());
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    for (int j = 0; j < s_; ++j) {
      for (int b = 0; b < bodies; ++b) newton_.add(dynamics_ + i, b, dynamics_ + j, b, inverse_(i, j), natural_.mass(b));
      newton_.add_curvature(dynamics_ + i, j, -h_ * a_(i, j), mu_[k]);
      for (int r = 0; r < c_.rows(); ++r) newton_.add_row(i, r, j, h_ * a_(i, j), y_[k], true);
    }
    for (int r = 0; r < c_.rows(); ++r) {
      newton_.add_row(i, r, i, 1, x_[k]);
      newton_.add_force(dynamics_ + i, r, dynamics_ + i, -1, x_[k]);
    }
    if (options_.stabilised) assemble_velocities(i);
  }
  assemble_slopes(x);
}

void Stages::assemble_velocities(int i) {
  const auto k = static_cast<std::size_t>(i);
  for (int b = 0; b < static_cast<int>(c_.model().bodies().size()); ++b) {
    newton_.add(i, b, i, b, 1, natural_.mass(b));
    newton_.add(i, b, s_ + i, b, -1, natural_.mass(b));
  }
  newton_.add_curvature(s_ + i, s_ + i, h_, gamma_[k]);
  for (int j = 0; j < s_; ++j) newton_.add_curvature(i, j, -h_ * a_(i, j), gamma_[k]);
  for (int r = 0; r < c_.rows(); ++r) {
    newton_.add_force(i, r, i, -1, x_[k]);
    newton_.add_force(s_ + i, r, i, h_, v_[k], true);
    newton_.add_row(s_ + i, r, i, h_, v_[k], true);
    newton_.add_row(s_ + i, r, s_ + i, h_, y_[k], true);
    for (int j = 0; j < s_; ++j) {
      newton_.add_row(s_ + i, r, j, h_ * a_(i, j), z_[k], true);
      newton_.add_row(s_ + i, r, s_ + j, inverse_(i, j), x_[k]);
    }
  }
}

// Springs and dampers at the stages stand for those at the quadrature points.
void Stages::assemble_slopes(const State& x) {
  const NaturalForces& forces = natural_.forces();
  if (!forces.elastic() && !forces.dissipative()) return;
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    for (int j = 0; j < s_; ++j)
      forces.add_slopes(x_[k], y_[k], x.wound, h_ * h_ * a_(i, j), i == j ? h_ : 0, dynamics_ + i, j, newton_,
                        iterated_ ? &before_[k] : nullptr);
  }
}

}  // namespace invar
