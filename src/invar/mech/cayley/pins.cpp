// SPDX-License-Identifier: Apache-2.0
//
// With t = h w/2 and z = 1/(1 - it), the mean of the axes r at both nodes is z r_0, and the Cayley map turns r_0 into z/z̄ r_0.
// A point at the arm a from the pin moves with the mean velocity  V + w e,  e = i z r_0 a,  and
//   d(w e)/dw = z e = b,   de/dw = (h/2) i b.
// An impulse f there adds e·f to the row of the body. So, with the inertia's own impulse f = 2m (v - v_0) - h m g at φ and the
// force F_c through the pin of each body c that hangs on it, at e_c:
//   row       R = 2J (w - W_0) + e·f + Σ e_c·F_c
//   increment δ = 2J + 2m e·b + Σ e_c·K_c b_c + (h/2) (ib·f + Σ ib_c·F_c),   E = 2m e + Σ K_cᵀe_c
//   force     k = f + Σ F_c,   K = 2m + Σ K_c,   G = 2m b + Σ K_c b_c
// Eliminating dw = -(R + E·dV)/δ leaves F = k - G R/δ and K - G Eᵀ/δ for the inner body.
#include "invar/mech/cayley/pins.hpp"

#include <algorithm>
#include <cmath>

namespace invar::cayley {

void Pins::hang(std::vector<Pin> pins, std::vector<Edge> edges) {
  pins_ = std::move(pins);
  edges_ = std::move(edges);
  sums_.assign(pins_.size(), {});
  for (std::size_t i = 1; i + 1 < pins_.size(); ++i) pins_[i].next = pins_[i + 1].inner == static_cast<int>(i);
  for (const Edge& edge : edges_) pins_[static_cast<std::size_t>(edge.outer)].edged = true;
}

void Pins::forward(double h) {
  pins_[0].row = pins_[0].slope = 0;  // nobody asks what the ground feels
  pins_[0].force = {};
  for (std::size_t i = 1; i < pins_.size(); ++i) {
    Pin& b = pins_[i];
    const Pin& a = pins_[static_cast<std::size_t>(b.inner)];
    const double t = 0.5 * h * b.w, g = 1 / (1 + t * t);
    b.z = {g, g * t};
    b.u = across(b.z * b.r0);
    b.V = a.V + a.w * (a.u * b.arm);
  }
}

void Pins::travel() {
  for (std::size_t i = 1; i < pins_.size(); ++i) {
    Pin& b = pins_[i];
    const Pin& a = pins_[static_cast<std::size_t>(b.inner)];
    b.r1 = (1 / b.z.x) * (b.z * (b.z * b.r0));  // z̄ z = Re z
    b.p1 = a.p1 + a.r1 * b.arm;
  }
}

inline void Pins::add(Sum& s, const Passed& p, Complex e, Complex b, double half) {
  const Complex Kb = {p.K.xx * b.x + p.K.xy * b.y, p.K.yx * b.x + p.K.yy * b.y};
  s.R += dot(e, p.F);
  s.delta += dot(e, Kb) + half * dot(across(b), p.F);
  s.most += dot(e, e) * (p.K.xx + p.K.yy);
  s.k = s.k + p.F;
  s.E = s.E + Complex(p.K.xx * e.x + p.K.yx * e.y, p.K.xy * e.x + p.K.yy * e.y);
  s.G = s.G + Kb;
  s.K = {s.K.xx + p.K.xx, s.K.xy + p.K.xy, s.K.yx + p.K.yx, s.K.yy + p.K.yy};
}

inline void Pins::couple(Sum& s, const Passed& p, Complex e, Complex b) {
  s.R += p.r;
  s.delta += dot(e, p.g) + dot(p.H, b) + p.c;
  s.E = s.E + p.H;
  s.G = s.G + p.g;
}

double Pins::stretch(Edge& edge, double h) const {
  const Pin& b = pins_[static_cast<std::size_t>(edge.outer)];
  edge.d1 = turned(b, h) * edge.outer_arm - turned(pins_[static_cast<std::size_t>(b.inner)], h) * edge.inner_arm;
  return std::sqrt(dot(edge.d1, edge.d1) + edge.off * edge.off);
}

void Pins::pull(const Edge& edge, double T, double slope, double l0, double l1, double h) {
  const double both = l0 + l1;
  if (both == 0) return;
  const auto i = static_cast<std::size_t>(edge.outer), j = static_cast<std::size_t>(pins_[i].inner);
  Pin &b = pins_[i], &a = pins_[j];
  const double q = h * T / both;
  const Complex S = edge.d0 + edge.d1, f = q * S;
  const Complex eb = b.u * edge.outer_arm, ea = a.u * edge.inner_arm;
  // d_1 turns with both bodies, by h/(1 + t²) per unit of their rates: df = q dd + (h slope - q) (d_1·dd)/l_1 S/(l_0 + l_1).
  const Complex db = (h * b.z.x) * across(turned(b, h) * edge.outer_arm);
  const Complex da = (-h * a.z.x) * across(turned(a, h) * edge.inner_arm);
  const double along = l1 > 0 ? (h * slope - q) / (l1 * both) : 0.0;
  const Complex fb = q * db + (along * dot(edge.d1, db)) * S, fa = q * da + (along * dot(edge.d1, da)) * S;
  b.row += dot(eb, f);
  b.slope += dot(eb, fb) + 0.5 * h * dot(across(b.z * eb), f);
  a.row -= dot(ea, f);
  a.slope -= dot(ea, fa) + 0.5 * h * dot(across(a.z * ea), f);
  b.eps += dot(eb, fa);
  b.beta -= dot(ea, fb);
}

bool Pins::eliminate(double h, Complex weight) {
  const double half = 0.5 * h;
  bool fine = true;
  Passed passed;
  Complex arm;  // of what was passed
  for (std::size_t i = pins_.size(); i-- > 1;) {
    Pin& b = pins_[i];
    const Complex e = b.u * b.gam, d = b.z * e;
    const Complex f = b.mass * (2 * (b.V + b.w * e - b.v0) - weight);
    const double twice = 2 * b.mass;
    Sum s;
    s.R = 2 * b.J * (b.w - b.W0) + dot(e, f) + b.row;
    s.delta = 2 * b.J + twice * dot(e, d) + half * dot(across(d), f) + b.slope;
    s.most = 2 * b.J + twice * dot(e, e);
    s.k = f + b.force;
    s.E = twice * e;
    s.G = twice * d;
    s.K = {twice, 0, 0, twice};
    b.row = b.slope = 0;
    b.force = {};
    if (b.next) {
      const Complex at = b.u * arm;
      add(s, passed, at, b.z * at, half);
      if (pins_[i + 1].edged) couple(s, passed, at, b.z * at);
    }
    if (b.more) {
      Sum& o = sums_[i];
      s.R += o.R, s.delta += o.delta, s.most += o.most;
      s.k = s.k + o.k, s.E = s.E + o.E, s.G = s.G + o.G;
      s.K = {s.K.xx + o.K.xx, s.K.xy + o.K.xy, s.K.yx + o.K.yx, s.K.yy + o.K.yy};
      o = {};
      b.more = false;
    }
    fine = fine && std::abs(s.delta) > kNoInertia * std::abs(s.most);
    const double inverse = 1 / s.delta;
    b.R = inverse * s.R;
    b.E = inverse * s.E;
    passed.F = s.k - inverse * (s.R * s.G);
    passed.K = {s.K.xx - inverse * (s.G.x * s.E.x), s.K.xy - inverse * (s.G.x * s.E.y), s.K.yx - inverse * (s.G.y * s.E.x),
                s.K.yy - inverse * (s.G.y * s.E.y)};
    if (b.edged) {
      // The turning of both bodies is coupled, so that their blocks are three by three.
      const double share = inverse * b.beta;
      b.c = inverse * b.eps;
      passed.g = -b.c * s.G;
      passed.H = -share * s.E;
      passed.r = -share * s.R;
      passed.c = -share * b.eps;
      b.eps = b.beta = 0;
    }
    arm = b.arm;
    if (b.inner + 1 == static_cast<int>(i) || b.inner == 0) continue;
    Pin& a = pins_[static_cast<std::size_t>(b.inner)];
    Sum& other = sums_[static_cast<std::size_t>(b.inner)];
    const Complex at = a.u * arm;
    add(other, passed, at, a.z * at, half);
    if (b.edged) couple(other, passed, at, a.z * at);
    a.more = true;
  }
  return fine;
}

double Pins::substitute(std::size_t& where) {
  double largest = 0;
  for (std::size_t i = 1; i < pins_.size(); ++i) {
    Pin& b = pins_[i];
    const Pin& a = pins_[static_cast<std::size_t>(b.inner)];
    b.dV = a.dV + a.dw * (a.z * (a.u * b.arm));
    b.dw = -(b.R + dot(b.E, b.dV) + b.c * a.dw);
    b.w += b.dw;
    const double size = dot(b.dV, b.dV) + b.size * b.size * b.dw * b.dw;
    if (size > largest || !(size == size)) largest = size, where = i;
  }
  return std::sqrt(largest);
}

}  // namespace invar::cayley
