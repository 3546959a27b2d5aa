// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/travel.hpp"

#include <algorithm>
#include <cmath>

namespace invar {
namespace {

constexpr double kHalf = 0.05;
constexpr double kWatched = 0.35;
constexpr double kSingular = 1e-6;

// x in [low, high] where the i-th component of the branch is `aim`; NaN where it does not get there.
double where(const Branch& branch, Eigen::Index i, double aim, double low, double high) {
  VecX u, du;
  const auto gap = [&](double x) {
    branch.position(x, u, du);
    return u[i] - aim;
  };
  const double at_low = gap(low);
  if (at_low * gap(high) > 0) return std::numeric_limits<double>::quiet_NaN();
  double x = 0.5 * (low + high);
  for (int k = 0; k < 200 && high > low; ++k) {
    const double g = gap(x);
    if (g == 0) return x;
    (g * at_low > 0 ? low : high) = x;
    const double newton = x - g / du[i];
    const double next = newton > low && newton < high ? newton : 0.5 * (low + high);
    if (next == x) return x;
    x = next;
  }
  return x;
}

}  // namespace

Travel::Travel(const Model& model, const std::vector<int>& independent, const Bodies& assembled, const VecX& wound)
    : loops_(model, independent), regular_(loops_.groups().size(), 0), wound_(wound) {
  loops_.measure_lengths(assembled);
  VecX q, v;
  loops_.tree().measure(assembled, wound, q, v);
  loops_.place(q, wound);
  for (std::size_t g = 0; g < regular_.size(); ++g) regular_[g] = rank_of(loops_, g, 0, kSingular).rank;
}

Travel::Way Travel::step(const VecX& ahead, double next, int named, double by, double rate, VecX& q, VecX& v) {
  for (std::size_t g = 0; g < regular_.size(); ++g) {
    const std::vector<int>& freedoms = loops_.groups()[g].freedoms;
    const auto found = std::find(freedoms.begin(), freedoms.end(), named);
    if (regular_[g] == 0 || found == freedoms.end()) continue;
    loops_.place(q, wound_);
    const LoopRank here = rank_of(loops_, g, regular_[g]);
    Branch branch;
    loops_.rates(g, ahead, branch.t);
    const double length = branch.t.norm();
    if (!(here.sigma < kWatched) || !(length > 0)) continue;
    branch.t /= length;
    const Ahead singular = look_ahead(loops_, g, here, regular_[g], q, wound_, branch.t, 0, kHalf);
    if (!singular.found || singular.x > next * length + 2 * kHalf) continue;

    branch.group = g, branch.rank = regular_[g], branch.directions = singular.directions;
    branch.q0 = q, branch.centre = singular.x, branch.half = kHalf;
    if (!branch.build(loops_, wound_)) continue;
    const auto i = static_cast<Eigen::Index>(found - freedoms.begin());
    const double unit = loops_.groups()[g].scale[i];
    const double behind = branch.centre + 1.6 * branch.half;
    double x = where(branch, i, by * unit, 0, behind);
    const bool arrived = !std::isnan(x);
    if (!arrived) x = behind;
    VecX u, du;
    branch.position(x, u, du);
    if (arrived && !(std::abs(du[i]) > 1e-6 * du.norm())) continue;  // the freedom does not tell where it is
    loops_.move(g, u, q);
    for (std::size_t k = 0; k < freedoms.size(); ++k)
      v[freedoms[k]] =
          du[static_cast<Eigen::Index>(k)] / loops_.groups()[g].scale[static_cast<Eigen::Index>(k)] * (rate * unit / du[i]);
    if (arrived) q[loops_.tree().coordinate_of(named)] += by - u[i] / unit;  // to the last digit
    return arrived ? Way::Arrived : Way::Passed;
  }
  return Way::Clear;
}

}  // namespace invar
