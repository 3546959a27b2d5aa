// SPDX-License-Identifier: Apache-2.0
//
// Over a step: Δz = h ω u_m and u_m = u_0 + (Δx - Δz)/2, so u_m = (u_0 + Δx/2)/(1 + h ω/2) and u_1 = 2 u_m - u_0.
#include "invar/control/position_filter.hpp"

namespace invar {

PositionFilter::PositionFilter(double rate, std::vector<bool> winds)
    : rate_(rate), winds_(std::move(winds)), x_(VecX::Zero(static_cast<Eigen::Index>(winds_.size()))), u_(x_) {}

double PositionFilter::difference(Eigen::Index k, double to, double from) const {
  const double d = to - from;
  constexpr double turn = 2 * std::numbers::pi;
  return winds_[static_cast<std::size_t>(k)] ? d - turn * std::round(d / turn) : d;
}

void PositionFilter::at(double t, const VecX& x, VecX& u) const {
  if (!known_) return u.setZero(), void();
  const double way = rate_ * (t - t_), kept = std::exp(-way), share = way == 0 ? 1.0 : -std::expm1(-way) / way;
  for (Eigen::Index k = 0; k < u.size(); ++k) u[k] = share * difference(k, x[k], x_[k]) + kept * u_[k];
}

void PositionFilter::over(double t, double h, const VecX& x, const VecX& change, VecX& u) const {
  at(t, x, u);
  u = (u + 0.5 * change) / (1 + 0.5 * h * rate_);
}

void PositionFilter::settle(double t, const VecX& x, bool over) {
  for (Eigen::Index k = 0; known_ && k < u_.size(); ++k) {
    const double h = t - t_, change = difference(k, x[k], x_[k]);
    const double way = rate_ * h, share = way == 0 ? 1.0 : -std::expm1(-way) / way;
    u_[k] = over ? 2 * (u_[k] + 0.5 * change) / (1 + 0.5 * way) - u_[k] : share * change + std::exp(-way) * u_[k];
  }
  x_ = x;
  t_ = t;
  known_ = true;
}

}  // namespace invar
