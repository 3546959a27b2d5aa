// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/shifted_jacobian.hpp"

#include <algorithm>

namespace invar {
namespace {

// Increments of differences: half the digits of a number of ordinary size, so that curvature and rounding cost the same.
constexpr double kIncrement = 1e-7;

}  // namespace

void ChartJacobian::reset(const System& system, const Chart& chart) {
  const Eigen::Index n = chart.tangents(), size = chart.origin().size();
  for (MatX* m : {&A_u, &A_v, &G, &K1, &K0}) m->setZero(n, n);
  for (MatX* m : {&D_u, &D_v}) m->setZero(size - 2 * n, n);
  for (VecX* v : {&y_, &f_}) v->setZero(size);
  for (VecX* v : {&u_, &w_, &moved_}) v->setZero(n);
  length_ = std::min(1.0, system.model().length());
}

Verdict ChartJacobian::take(System& system, Chart& chart, double t, const VecX& slope) {
  const Eigen::Index n = tangents();
  const double d = kIncrement * length_;
  w_ = chart.v(chart.origin());
  const double dv = kIncrement * std::max(length_, w_.lpNorm<Eigen::Infinity>());
  for (Eigen::Index k = 0; k < 2 * n; ++k) {
    const double step = k < n ? d : dv;
    y_ = chart.origin();
    y_[k] += step;
    if (const Verdict s = chart.slope(system, t, y_, f_); !s.ok()) return s;
    f_ -= slope;
    f_ /= step;
    if (!f_.allFinite()) return {Status::NotFinite};
    (k < n ? A_u : A_v).col(k % n) = chart.v(f_);
    (k < n ? D_u : D_v).col(k % n) = chart.aux(f_);
  }

  // dexp⁻¹ depends on u through the chart alone; G is sparse, blocks of three.
  for (Eigen::Index k = 0; k < n; ++k) {
    u_.setZero();
    u_[k] = d;
    system.pull(u_, w_, moved_);
    G.col(k) = (moved_ - w_) / d;
  }
  K1 = A_v + G;
  K0 = -A_u;
  for (Eigen::Index j = 0; j < n; ++j)
    for (Eigen::Index k = 0; k < n; ++k)
      if (G(k, j) != 0) K0.col(j) += G(k, j) * A_v.col(k);
  return {};
}

}  // namespace invar
