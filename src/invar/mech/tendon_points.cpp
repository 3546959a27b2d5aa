// SPDX-License-Identifier: Apache-2.0
//
// Segments d_k = p_k+1 - p_k, lengths l_k, s = sum l_k, stretch = s - rest, V = V(stretch). Over a step from 0 to 1:
//   l_1 - l_0 = (d_1² - d_0²)/(l_0 + l_1) = u . (d_1 - d_0),   u = (d_0 + d_1)/(l_0 + l_1)
// so that with one tension T = (V_1 - V_0)/(s_1 - s_0) the forces T u_k on p_k, -T u_k on p_k+1 draw exactly V_1 - V_0. They
// lie along the mean segments, so they have no moment about anything when they act at the mean points. No length is divided by
// a change of length: for a linear spring T is the mean of both tensions. A tendon that can only pull has V = k/2 a²,
// a = max(0, stretch), and
//   T = k/2 (a_1² - a_0²)/(stretch_1 - stretch_0) = k/2 (a_0 + a_1) taut,   taut = (a_1 - a_0)/(stretch_1 - stretch_0)
// where `taut` is 1 or 0 unless the sign changes on the way, and then the divisor is not small against a.
// Derivatives by d_1: dl_1 = e_1 . dd_1 gives du = dd_1/(l_0 + l_1) - u e_1 . dd_1/(l_0 + l_1).
#include "invar/mech/tendon_points.hpp"

#include <algorithm>
#include <cmath>

#include "invar/base/check.hpp"

namespace invar {
namespace {

// The stretch that stores energy.
double taut_part(const Tendon& tendon, double stretch) { return tendon.tension_only ? std::max(0.0, stretch) : stretch; }

// The share of the way from one stretch to the other on which the tendon is taut, and its derivative by the later one.
struct Share {
  double value, slope;
};
Share taut_share(const Tendon& tendon, double from, double to) {
  if (!tendon.tension_only || (from > 0 && to > 0)) return {1, 0};
  if (!(from > 0) && !(to > 0)) return {0, 0};
  const double way = to - from;  // at least as large as the positive one of the two
  const double value = (std::max(0.0, to) - std::max(0.0, from)) / way;
  return {value, ((to > 0 ? 1.0 : 0.0) - value) / way};
}

}  // namespace

double elastic_energy(const Tendon& tendon, double stretch) {
  const double a = taut_part(tendon, stretch);
  return 0.5 * tendon.stiffness * a * a;
}

double elastic_tension(const Tendon& tendon, double stretch) { return tendon.stiffness * taut_part(tendon, stretch); }

double length_of(std::span<const Vec3> p) {
  double s = 0;
  for (std::size_t k = 1; k < p.size(); ++k) s += (p[k] - p[k - 1]).norm();
  return s;
}

Tension tension_at(const Tendon& tendon, std::span<const Vec3> p) {
  const double stretch = length_of(p) - tendon.rest;
  const double T = elastic_tension(tendon, stretch);
  return {T, T, tendon.tension_only && !(stretch > 0) ? 0.0 : tendon.stiffness, 0};
}

Tension tension_over(const Tendon& tendon, std::span<const Vec3> p0, std::span<const Vec3> p1, double h) {
  return tension_over(tendon, length_of(p0), length_of(p1), h);
}

Tension tension_over(const Tendon& tendon, double s0, double s1, double h) {
  const double from = s0 - tendon.rest, to = s1 - tendon.rest;
  const Share share = taut_share(tendon, from, to);
  const double sum = taut_part(tendon, from) + taut_part(tendon, to), change = to - from, per_rate = tendon.damping / h;
  const double moves = !tendon.tension_only || to > 0 ? 1.0 : 0.0;

  Tension T;
  T.elastic = 0.5 * tendon.stiffness * sum * share.value;
  T.value = T.elastic + per_rate * change * share.value;
  T.slope = 0.5 * tendon.stiffness * (moves * share.value + sum * share.slope) + per_rate * (share.value + change * share.slope);
  if (tendon.tension_only && T.value < 0) T.value = T.slope = 0;
  T.lost = (T.value - T.elastic) * change;
  return T;
}

void add_forces(double tension, std::span<const Vec3> p, std::span<Vec3> forces) { add_forces(tension, p, p, forces); }

void add_forces(double tension, std::span<const Vec3> p0, std::span<const Vec3> p1, std::span<Vec3> forces) {
  INVAR_CHECK(p0.size() == p1.size() && forces.size() == p0.size(), "one force and two positions per point");
  for (std::size_t k = 1; k < p0.size(); ++k) {
    const Vec3 f = tension * bend_over(0, p0[k] - p0[k - 1], p1[k] - p1[k - 1]).u;
    forces[k - 1] += f;
    forces[k] -= f;
  }
}

Bend bend_at(double tension, const Vec3& d) {
  Bend out;
  const double length = d.norm();
  if (!(length > 0)) return out;
  out.u = out.e = d / length;
  out.bend = tension / length * (Mat3::Identity() - out.u * out.e.transpose());
  return out;
}

Bend bend_over(double tension, const Vec3& d0, const Vec3& d1) {
  Bend out;
  const double l0 = d0.norm(), l1 = d1.norm(), sum = l0 + l1;
  if (!(sum > 0)) return out;
  out.u = (d0 + d1) / sum;
  if (l1 > 0) out.e = d1 / l1;
  out.bend = tension / sum * (Mat3::Identity() - out.u * out.e.transpose());
  return out;
}

void stiffness_of(const Tendon& tendon, std::span<const Vec3> p, Eigen::Ref<MatX> out) {
  const auto n = static_cast<Eigen::Index>(p.size());
  INVAR_CHECK(out.rows() == 3 * n && out.cols() == 3 * n, "three rows and columns per point");
  out.setZero();
  const Tension T = tension_at(tendon, p);
  const auto between = [&](Eigen::Index k) {
    return bend_at(T.value, p[static_cast<std::size_t>(k + 1)] - p[static_cast<std::size_t>(k)]);
  };
  // With s = ds/dp, which at point k is e_k-1 - e_k: V'' = slope s s^T + the bends.
  const auto add = [&](Eigen::Index k, Eigen::Index l, const Mat3& block) { out.block<3, 3>(3 * k, 3 * l) += block; };
  for (Eigen::Index k = 0; k + 1 < n; ++k) {
    const Bend a = between(k);
    add(k, k, a.bend), add(k + 1, k + 1, a.bend), add(k, k + 1, -a.bend), add(k + 1, k, -a.bend);
    for (Eigen::Index l = 0; l + 1 < n; ++l) {
      const Mat3 ab = T.slope * a.e * between(l).e.transpose();
      add(k, l, ab), add(k + 1, l + 1, ab), add(k, l + 1, -ab), add(k + 1, l, -ab);
    }
  }
}

}  // namespace invar
