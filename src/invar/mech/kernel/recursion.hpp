// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/kernel/link.hpp"

/// Steps of the elimination over a tree, one body at a time: plain templates over the vector type, no heap, no branches on
/// data. Derivation (moments about O, World axes, hat(x) y = x × y; the wrench (f, n) acts through the inner joint on the body):
///   body      f = A da + B dalpha + pf,  n = Bᵀ da + D dalpha + pn,   A = m 1, B = -hat(h), D = Theta, h = m c
///             pf = m abar + alphabar × h + w × (w × h) - F,   pn = Theta alphabar + w × Theta w + h × abar - N
///   joint     da = da_inner + dalpha_inner × r + sv q'',  dalpha = dalpha_inner + sw q'',   sv·f + sw·n = effort - armature q''
///   so        q'' = e - (U/delta)·(da, dalpha of the inner body at O),  U = M S, delta = Sᵀ U + armature, e = (effort - Sᵀ
///   p)/delta and       M' = M - U Uᵀ/delta, p' = p + e U, moved to O_inner, is what the inner body feels.
/// Every step has two parts, of M and of p: `eliminate_` and `pass_`. The first needs no load, so that it is kept for others.
namespace invar::kernel {

/// Columns of the rotation matrix of the unit quaternion (s, v): R e_k = (2 s² - 1) e_k + 2 v_k v + 2 s v × e_k.
template <class V>
INVAR_KERNEL Mat<V> rotation(const typename V::Number& s, const V& v) {
  using T = typename V::Number;
  const T d = T(2) * s * s - T(1);
  const V v2 = T(2) * v;
  const V sv = T(2) * (s * v);
  const V ex = V::axis(0, d), ey = V::axis(1, d), ez = V::axis(2, d);
  return {ex + component<0>(v2) * v + cross_x(sv), ey + component<1>(v2) * v + cross_y(sv),
          ez + component<2>(v2) * v + cross_z(sv)};
}

/// Inertia of the body itself about O, and its bias wrench. `load` is about the centre of mass.
template <class V>
INVAR_KERNEL void body_terms(const Link<V>& k, Work<V>& x, const V& force, const V& moment) {
  const Mat<V> R = x.R;
  const V c = R * k.c;
  const V b = R * k.b;
  const V g = R * k.g;
  const V h = k.mass * c;
  const Mat<V> D = plus_outer(minus_outer(Mat<V>{V::axis(0, k.mid), V::axis(1, k.mid), V::axis(2, k.mid)}, b, b), g, g);
  const V f = k.mass * x.abar - force;
  x.c = c;
  x.A = {V::axis(0, k.mass), V::axis(1, k.mass), V::axis(2, k.mass)};
  x.B = {-cross_x(h), -cross_y(h), -cross_z(h)};
  x.D = D;
  x.pf = f + cross(x.alphabar, h) + cross(x.w, cross(x.w, h));
  x.pn = D * x.alphabar + cross(x.w, D * x.w) + cross(c, f) - moment;
}

/// The bias wrench alone, of a body that was eliminated before and does not turn.
template <class V>
INVAR_KERNEL void still_terms(const Link<V>& k, Work<V>& x, const V& force, const V& moment) {
  const Mat<V> R = x.R;
  const V b = R * k.b, g = R * k.g, alphabar = x.alphabar, c = x.c;
  const V f = k.mass * x.abar - force;
  x.pf = f + k.mass * cross(alphabar, c);
  x.pn = k.mid * alphabar - dot(b, alphabar) * b + dot(g, alphabar) * g + cross(c, f) - moment;
}

/// D seen from O_inner: D + hat(r) B + (hat(r) B)ᵀ - hat(r) A hat(r), with Bs = B - A hat(r).
template <class V>
INVAR_KERNEL Mat<V> shifted(const Mat<V>& D, const Mat<V>& B, const Mat<V>& Bs, const V& r) {
  using T = typename V::Number;
  const Mat<V> Z = hat_times(r, B + Bs);
  const Mat<V> Zt = transpose(Z);
  const T half(0.5);
  return {D.c0 + half * (Z.c0 + Zt.c0), D.c1 + half * (Z.c1 + Zt.c1), D.c2 + half * (Z.c2 + Zt.c2)};
}

/// M of the subtree moved from O to O_inner (the joint's own reduction not included), and what the inner body gets.
template <class V>
INVAR_KERNEL void shift(Work<V>& x, Work<V>& inner) {
  const Mat<V> Bs = x.B - times_hat(x.A, in_memory(x.r));
  x.D = shifted(x.D, x.B, Bs, x.r);
  x.B = Bs;
  inner.A += x.A, inner.B += x.B, inner.D += x.D;
}

template <class V>
INVAR_KERNEL void pass_shift(Work<V>& x, Work<V>& inner) {
  x.pn += cross(x.r, x.pf);
  inner.pf += x.pf, inner.pn += x.pn;
}

/// Revolute: shift first, divide late (only the rank-one part waits for 1/delta). Adds to the inner body; returns delta.
template <class V>
INVAR_KERNEL typename V::Number eliminate_revolute(const Link<V>& k, Work<V>& x, Work<V>& inner) {
  using T = typename V::Number;
  const Mat<V> A = x.A, B = x.B, D = x.D;
  const V u = x.u, r = x.r;
  const V Uf = B * in_memory(x.u);
  const V Un = D * in_memory(x.u);
  const T delta = dot(u, Un) + k.armature;
  const T inverse = T(1) / delta;
  const V Us = Un + cross(r, Uf);
  const Mat<V> Bs = B - times_hat(A, in_memory(x.r));
  const Mat<V> Ds = shifted(D, B, Bs, r);
  const V uf = inverse * Uf;
  const V un = inverse * Us;
  const Mat<V> A1 = minus_outer(A, Uf, uf), B1 = minus_outer(Bs, Uf, un), D1 = minus_outer(Ds, Us, un);
  x.delta_inverse = inverse, x.uf = uf, x.un = un;
  x.A = A1, x.B = B1, x.D = D1;
  inner.A += A1, inner.B += B1, inner.D += D1;
  return delta;
}

template <class V>
INVAR_KERNEL void pass_revolute(Work<V>& x, Work<V>& inner, const typename V::Number& effort) {
  const typename V::Number rest = effort - dot(x.u, x.pn);
  const V pn = x.pn + cross(x.r, x.pf) + rest * x.un;
  const V pf = x.pf + rest * x.uf;
  x.e = rest * x.delta_inverse, x.pf = pf, x.pn = pn;
  inner.pf += pf, inner.pn += pn;
}

/// One freedom of a Serial hang, about O (no shift). Returns delta.
template <class V>
INVAR_KERNEL typename V::Number eliminate_freedom(Freedom<V>& s, Work<V>& x) {
  using T = typename V::Number;
  const V Uf = x.A * s.sv + x.B * s.sw;
  const V Un = transposed_times(x.B, s.sv) + x.D * s.sw;
  const T delta = dot(s.sv, Uf) + dot(s.sw, Un) + s.armature;
  const T inverse = T(1) / delta;
  s.delta_inverse = inverse;
  s.uf = inverse * Uf;
  s.un = inverse * Un;
  x.A = minus_outer(x.A, Uf, s.uf);
  x.B = minus_outer(x.B, Uf, s.un);
  x.D = minus_outer(x.D, Un, s.un);
  return delta;
}

template <class V>
INVAR_KERNEL void pass_freedom(Freedom<V>& s, Work<V>& x, const typename V::Number& effort) {
  const typename V::Number rest = effort - dot(s.sv, x.pf) - dot(s.sw, x.pn);
  s.e = rest * s.delta_inverse;
  x.pf += rest * s.uf;
  x.pn += rest * s.un;
}

/// Inverse of a symmetric positive definite block by cofactors; the determinant comes along (relative to the diagonal: small
/// means that digits were lost).
template <class V>
INVAR_KERNEL Mat<V> inverse_spd(const Mat<V>& D, typename V::Number& determinant) {
  using T = typename V::Number;
  const V x = cross(D.c1, D.c2), y = cross(D.c2, D.c0), z = cross(D.c0, D.c1);
  determinant = dot(D.c0, x);
  const T i = T(1) / determinant;
  return {i * x, i * y, i * z};
}

/// Ball: the subtree becomes a 3x3 mass at the joint. D becomes its inverse; returns det D.
template <class V>
INVAR_KERNEL typename V::Number eliminate_ball(Work<V>& x) {
  using T = typename V::Number;
  T determinant;
  const Mat<V> B = x.B;
  const Mat<V> Di = inverse_spd(x.D, determinant);
  const Mat<V> Y = B * Di;
  x.A = x.A - Y * transpose(B);
  x.D = Di, x.Y = Y;
  return determinant;
}

/// `effort` is the moment on the body, World.
template <class V>
INVAR_KERNEL void pass_ball(Work<V>& x, const V& effort) {
  const V t = x.D * (effort - x.pn);
  x.pf += x.B * t;
  x.t = t;
}

/// The ball's contribution to its inner body: a mass A' at arm r, and the moment that passes through.
template <class V>
INVAR_KERNEL void add_ball_to_inner(const Work<V>& x, Work<V>& inner) {
  const Mat<V> X = times_hat(x.A, in_memory(x.r));
  const Mat<V> Q = hat_times(x.r, X);
  inner.A += x.A;
  inner.B.c0 -= X.c0, inner.B.c1 -= X.c1, inner.B.c2 -= X.c2;
  inner.D.c0 -= Q.c0, inner.D.c1 -= Q.c1, inner.D.c2 -= Q.c2;
}

template <class V>
INVAR_KERNEL void pass_ball_to_inner(const Work<V>& x, Work<V>& inner, const V& effort) {
  inner.pf += x.pf;
  inner.pn += effort + cross(x.r, x.pf);
}

}  // namespace invar::kernel
