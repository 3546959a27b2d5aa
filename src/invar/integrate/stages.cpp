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

namespace invar {
namespace {

constexpr int kMaxIterations = 30;
constexpr double kSlow = 1e-9;       // lengths of the model per step
constexpr double kLeftOver = 1e-12;  // of speeds over lengths
// Relative to the speed of the last node: where Newton is near, and what rounding leaves of an increment; and where the next
// increment is not worth its price, because it adds to every step in the same sense.
constexpr double kNear = 1e-8, kRounding = 4e-16, kSettled = 2e-17, kStalled = 1e-13;

std::vector<VecX> zeros(int count, int size) { return std::vector<VecX>(static_cast<std::size_t>(count), VecX::Zero(size)); }

}  // namespace

Stages::Stages(const Natural& natural, const StageOptions& options)
    : natural_(natural),
      c_(natural.coordinates()),
      options_(options),
      s_(options.stages),
      basis_(s_),
      rule_(gauss_rule(options.quadrature)),
      a_(s_, s_),
      share_(s_, options.quadrature),
      reach_(options.quadrature, s_),
      newton_(c_, options.stabilised ? 2 * s_ : s_, options.stabilised ? 2 * s_ : s_),
      chooser_(c_, 1, 1),
      y_(zeros(s_, c_.size())),
      w_(y_),
      mu_(zeros(s_, c_.rows())),
      gamma_(mu_),
      x_(y_),
      v_(y_),
      z_(y_),
      force_(y_),
      given_(VecX::Zero(s_)),
      lost_(given_),
      last_z_(y_),
      last_y_(y_),
      last_mu_(mu_),
      last_gamma_(mu_),
      rc_(VecX::Zero(newton_.copies() * c_.size())),
      rr_(VecX::Zero(newton_.multipliers() * c_.rows())),
      point_(VecX::Zero(c_.size())),
      mass_v_(point_),
      product_(point_),
      row_product_(VecX::Zero(c_.rows())),
      left_over_(row_product_),
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
  for (std::size_t i = 0; i < y_.size(); ++i) {
    last_z_[i] = z_[i];
    last_y_[i] = y_[i];
    last_mu_[i] = mu_[i];
    last_gamma_[i] = gamma_[i];
  }
  last_h_ = h_;
  known_ = true;
  jumped_ = false;
}

// The polynomials of the step before, continued, or repeated.
void Stages::predict(double h, const State& x) {
  const double r = known_ ? h / last_h_ : 0;
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double begin = jumped_ ? 0 : 1, tau = begin + r * basis_.rule().point[k];
    w_[k].setZero();
    mu_[k].setZero();
    gamma_[k].setZero();
    y_[k] = x.v;
    if (!known_) continue;
    for (int j = 0; j < s_; ++j) {
      const auto n = static_cast<std::size_t>(j);
      const double value = basis_.basis(j, tau);
      w_[k] += (basis_.integral(j, tau) - basis_.integral(j, begin)) * last_z_[n];
      mu_[k] += r * value * last_mu_[n];
      if (options_.stabilised) gamma_[k] += value * last_gamma_[n];
    }
    y_[k] += w_[k];
    // A row that is left out now carries nothing, whatever it carried before.
    for (int q = 0; q < c_.rows(); ++q)
      if (!newton_.active(q)) mu_[k][q] = gamma_[k][q] = 0;
  }
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
    c_.apply_rows(x_[k], y_[k], row_product_);
    rc_.segment(i * n, n) = product_;
    rr_.segment(i * rows, rows) = -row_product_;
  }
}

void Stages::residual_stabilised() {
  const int n = c_.size(), rows = c_.rows();
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    // Dynamics, second half of the equations.
    c_.apply_mass(z_[k], mass_v_);
    product_ = h_ * force_[k] - mass_v_;
    c_.add_transposed(x_[k], mu_[k], 1, product_);
    c_.add_transposed(v_[k], gamma_[k], -h_, product_, true);
    rc_.segment((s_ + i) * n, n) = product_;
    // x' against v, first half.
    point_ = v_[k] - y_[k];
    c_.apply_mass(point_, product_);
    c_.add_transposed(x_[k], gamma_[k], 1, product_);
    rc_.segment(i * n, n) = product_;
    // Rows on positions, then on velocities.
    c_.apply_rows(x_[k], y_[k], row_product_);
    rr_.segment(i * rows, rows) = -row_product_;
    c_.apply_rows(x_[k], z_[k], row_product_);
    for (int r = 0; r < rows; ++r) {
      const NaturalForm& form = c_.row(r);
      const double second = c_.linear(form.u, v_[k]).dot(c_.linear(form.w, y_[k]) - c_.linear(form.minus, y_[k])) +
                            c_.linear(form.u, y_[k]).dot(c_.linear(form.w, v_[k]) - c_.linear(form.minus, v_[k]));
      rr_[(s_ + i) * rows + r] = -row_product_[r] - h_ * second - left_over_[r];
    }
  }
}

void Stages::assemble(const State& x) {
  newton_.clear();
  const int bodies = static_cast<int>(c_.model().bodies().size());
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    for (int j = 0; j < s_; ++j) {
      for (int b = 0; b < bodies; ++b) newton_.add(i, b, j, b, inverse_(i, j), natural_.mass(b));
      newton_.add_curvature(i, j, -h_ * a_(i, j), mu_[k]);
      for (int r = 0; r < c_.rows(); ++r) newton_.add_row(i, r, j, h_ * a_(i, j), y_[k], true);
    }
    for (int r = 0; r < c_.rows(); ++r) {
      newton_.add_row(i, r, i, 1, x_[k]);
      newton_.add_force(i, r, i, -1, x_[k]);
    }
  }
  assemble_slopes(x);
}

void Stages::assemble_stabilised() {
  newton_.clear();
  const int bodies = static_cast<int>(c_.model().bodies().size()), rows = c_.rows();
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    for (int b = 0; b < bodies; ++b) {
      newton_.add(i, b, i, b, 1, natural_.mass(b));
      newton_.add(i, b, s_ + i, b, -1, natural_.mass(b));
      for (int j = 0; j < s_; ++j) newton_.add(s_ + i, b, s_ + j, b, inverse_(i, j), natural_.mass(b));
    }
    newton_.add_curvature(s_ + i, s_ + i, h_, gamma_[k]);
    for (int j = 0; j < s_; ++j) {
      newton_.add_curvature(i, j, -h_ * a_(i, j), gamma_[k]);
      newton_.add_curvature(s_ + i, j, -h_ * a_(i, j), mu_[k]);
    }
    for (int r = 0; r < rows; ++r) {
      newton_.add_force(i, r, i, -1, x_[k]);
      newton_.add_force(s_ + i, r, s_ + i, -1, x_[k]);
      newton_.add_force(s_ + i, r, i, h_, v_[k], true);
      newton_.add_row(i, r, i, 1, x_[k]);
      newton_.add_row(s_ + i, r, i, h_, v_[k], true);
      newton_.add_row(s_ + i, r, s_ + i, h_, y_[k], true);
      for (int j = 0; j < s_; ++j) {
        newton_.add_row(i, r, j, h_ * a_(i, j), y_[k], true);
        newton_.add_row(s_ + i, r, j, h_ * a_(i, j), z_[k], true);
        newton_.add_row(s_ + i, r, s_ + j, inverse_(i, j), x_[k]);
      }
    }
  }
}

// Springs and dampers at the stages stand for those at the quadrature points.
void Stages::assemble_slopes(const State& x) {
  const NaturalForces& forces = natural_.forces();
  if (!forces.elastic() && !forces.dissipative()) return;
  const int dynamics = options_.stabilised ? s_ : 0;
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    for (int j = 0; j < s_; ++j)
      forces.add_slopes(x_[k], y_[k], x.wound, h_ * h_ * a_(i, j), i == j ? h_ : 0, dynamics + i, j, newton_);
  }
}

double Stages::speed(const VecX& v) const {
  const int n = c_.per_body(), d = c_.dimension();
  double largest = 0;
  for (int b = 0; b < static_cast<int>(bodies_.size()); ++b) {
    const double here = v.segment(n * b, d).norm() + c_.model().length() * v.segment(n * b + d, n - d).norm();
    if (!(here <= largest)) largest = here;  // NaN comes through
  }
  return largest;
}

// Adds the increments; returns the largest one of velocities.
double Stages::update() {
  const int n = c_.size(), rows = c_.rows();
  double largest = 0;
  const auto take = [&](int copy, VecX& to) {
    point_ = rc_.segment(copy * n, n);
    to += point_;
    const double size = speed(point_);
    if (!(size <= largest)) largest = size;
  };
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (options_.stabilised) {
      take(i, y_[k]);
      take(s_ + i, w_[k]);
      gamma_[k] += rr_.segment(i * rows, rows);
      mu_[k] += rr_.segment((s_ + i) * rows, rows);
    } else {
      take(i, w_[k]);
      mu_[k] += rr_.segment(i * rows, rows);
    }
  }
  return largest;
}

// Names the body whose equations are farthest from being met.
Verdict Stages::failed(Status status) const {
  Verdict verdict{status, -1, -1, 0};
  const int n = c_.per_body(), first = options_.stabilised ? s_ * c_.size() : 0;
  for (int i = 0; i < s_; ++i)
    for (int b = 0; b < static_cast<int>(bodies_.size()); ++b) {
      const double here = rc_.segment(first + i * c_.size() + n * b, n).norm();
      if (verdict.body >= 0 && here <= verdict.value) continue;
      const int node = newton_.tree().node_of_body[static_cast<std::size_t>(b)];
      verdict.body = b, verdict.joint = newton_.tree().nodes[static_cast<std::size_t>(node)].joint, verdict.value = here;
    }
  return verdict;
}

Verdict Stages::solve(System& system, double t, double h, const State& x, const VecX& carry_x, const VecX& carry_v) {
  h_ = h;
  iterations_ = 0;
  if (newton_.closure_rows() > 0) {
    chooser_.choose(x.q);
    newton_.use(chooser_);
  }
  predict(h, x);
  // What rounding left of G v at the node is taken back by this step; anything larger belongs to the state.
  left_over_.setZero();
  if (options_.stabilised) {
    c_.apply_rows(x.q, x.v, left_over_);
    if (!(left_over_.lpNorm<Eigen::Infinity>() <= kLeftOver * speed(x.v) / c_.model().length())) left_over_.setZero();
  }
  // A speed that moves nothing by more than a rounding within the step is no scale.
  double scale = std::max(speed(x.v), kSlow * c_.model().length() / std::abs(h)), last = 0;
  if (known_) scale = std::max(scale, speed(last_z_[0]));
  const NaturalForces& forces = natural_.forces();
  const bool exact = !forces.elastic() && !forces.dissipative() && !system.acts();
  double last_ratio = 0;
  while (iterations_ < kMaxIterations) {
    place_stages(x, carry_x, carry_v);
    evaluate_forces(system, t, x, carry_x);
    options_.stabilised ? residual_stabilised() : residual();
    if (options_.stabilised) {
      assemble_stabilised();
      assemble_slopes(x);
    } else {
      assemble(x);
    }
    if (const Verdict verdict = newton_.factor(); !verdict.ok()) return verdict;
    newton_.solve(rc_, rr_);
    const double size = update();
    ++iterations_;
    if (!std::isfinite(size)) return failed(Status::NotFinite);
    if (!known_ && iterations_ == 1) scale = std::max(scale, size);  // from rest: what the forces make of one step
    // Near: the next increment would be smaller in the ratio of the last ones. One ratio is not enough where slopes are left out
    // of the matrix: friction may make it small by chance.
    if (size <= kRounding * scale) break;
    if (iterations_ > 1) {
      const double ratio = size / last, next = size * (exact ? ratio : std::max(ratio, last_ratio));
      last_ratio = ratio;
      if (size <= kNear * scale && (next <= kSettled * scale || (size > 0.7 * last && size <= kStalled * scale))) break;
      if (size > 2 * last && size > 1e-3 * scale) return failed(Status::NotConverged);
    }
    last = size;
    if (iterations_ == kMaxIterations) return failed(Status::NotConverged);
  }
  // What the last increment changed: work and z of the solution itself.
  place_stages(x, carry_x, carry_v);
  evaluate_forces(system, t, x, carry_x);
  return {};
}

}  // namespace invar
