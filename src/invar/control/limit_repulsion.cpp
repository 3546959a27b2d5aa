// SPDX-License-Identifier: Apache-2.0
#include "invar/control/limit_repulsion.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace invar {

std::string flaw(const LimitedFreedom& f, const Model& model) {
  const Joint& joint = model.joints()[static_cast<std::size_t>(f.joint)];
  if (!joint.winds(f.freedom)) return {};
  const bool low = std::isfinite(f.lower), high = std::isfinite(f.upper);
  if (low && high && f.upper - f.lower > 2 * std::numbers::pi)
    return "limits of '" + freedom_name(joint, f.freedom) + "' are more than a turn apart, and turns are not counted";
  const double one = low ? f.lower : f.upper;
  if (low != high && std::abs(one) >= std::numbers::pi)
    return "the limit of '" + freedom_name(joint, f.freedom) + "' is beyond half a turn, and turns are not counted";
  return {};
}

std::vector<LimitedFreedom> limited_freedoms(const Model& model) {
  std::vector<LimitedFreedom> out;
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    for (int k = 0; k < joint.nv && joint.nq == joint.nv; ++k) {
      const Passive& p = joint.passive[static_cast<std::size_t>(k)];
      if (p.has_stops()) out.push_back({j, k, p.lower, p.upper});
    }
  }
  return out;
}

LimitRepulsion::LimitRepulsion(const Model& model, std::vector<LimitedFreedom> freedoms, double strength, double width)
    : freedoms_(std::move(freedoms)),
      strength_(strength),
      width_(width),
      efforts_(VecX::Zero(model.nv())),
      rates_(VecX::Zero(model.nv())) {}

std::vector<std::string> LimitRepulsion::names(const Model& model) const {
  std::vector<std::string> out;
  for (const LimitedFreedom& f : freedoms_)
    out.push_back(freedom_name(model.joints()[static_cast<std::size_t>(f.joint)], f.freedom));
  return out;
}

double LimitRepulsion::coordinate(const ConstrainedInverse& at, const LimitedFreedom& f) const {
  const double q = at.joint(f.joint).q[f.freedom];
  if (!at.model().joints()[static_cast<std::size_t>(f.joint)].winds(f.freedom)) return q;
  const bool low = std::isfinite(f.lower), high = std::isfinite(f.upper);
  const double near = low && high ? 0.5 * (f.lower + f.upper) : 0.0;
  return near + std::remainder(q - near, 2 * std::numbers::pi);
}

// exp(-infinity) is zero: a limit that is none adds nothing.
double LimitRepulsion::energy(const ConstrainedInverse& at) const {
  double sum = 0;
  for (const LimitedFreedom& f : freedoms_) {
    const double q = coordinate(at, f);
    sum += strength_ * (std::exp(-(q - f.lower) / width_) + std::exp(-(f.upper - q) / width_));
  }
  return sum;
}

void LimitRepulsion::add_gradient(const ConstrainedInverse& at, Port& gradient, Port& rate) {
  if (empty()) return;
  efforts_.setZero(), rates_.setZero();
  for (const LimitedFreedom& f : freedoms_) {
    const double q = coordinate(at, f);
    const double below = strength_ * std::exp(-(q - f.lower) / width_), above = strength_ * std::exp(-(f.upper - q) / width_);
    const Eigen::Index k = at.model().joints()[static_cast<std::size_t>(f.joint)].v0 + f.freedom;
    efforts_[k] += (above - below) / width_;
    rates_[k] += (above + below) / (width_ * width_) * at.joint(f.joint).v[f.freedom];
  }
  at.add_efforts(efforts_, gradient);
  at.add_effort_rates(efforts_, rates_, rate);
}

LimitRepulsion::Excess LimitRepulsion::excess(const ConstrainedInverse& at) const {
  Excess worst{-std::numeric_limits<double>::infinity(), 0, -1};
  for (std::size_t i = 0; i < freedoms_.size(); ++i) {
    const double q = coordinate(at, freedoms_[i]), below = freedoms_[i].lower - q, above = q - freedoms_[i].upper;
    const double amount = std::max(below, above), limit = below > above ? freedoms_[i].lower : freedoms_[i].upper;
    if (!std::isnan(worst.amount) && !(amount <= worst.amount))
      worst = {amount, std::abs(q) + std::abs(limit), static_cast<int>(i)};
  }
  return worst;
}

}  // namespace invar
