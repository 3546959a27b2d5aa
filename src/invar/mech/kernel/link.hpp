// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/kernel/vec.hpp"

namespace invar::kernel {

/// How a body hangs on its inner body, as far as the elimination cares.
enum class Hang {
  Root,      ///< floats: nothing is held
  Revolute,  ///< one angular freedom, its axis fixed in the body
  Ball,      ///< three angular freedoms, three rows
  Fixed,     ///< no freedom
  Serial,    ///< one to three freedoms of any sort, eliminated one after the other
};

/// Constants of a body and its inner joint. O is the joint point on the body (M's origin; F's when the joint is reversed).
template <class V>
struct Link {
  using Number = typename V::Number;
  Triple<Number> d;     // O_inner -> joint point, inner body's axes (zero on the ground)
  Triple<Number> c;     // O -> centre of mass, body axes
  Triple<Number> b, g;  // inertia about O: mid 1 - b bᵀ + g gᵀ, body axes
  Triple<Number> axis;  // Revolute: axis in body axes, positive with the joint's coordinate
  V anchor;             // on the ground: the joint point in World
  Number mid, mass, armature;
  Number floor;       // pivots of turning freedoms below this are round-off of the subtree's inertia,
  Number mass_floor;  // those of sliding freedoms of its mass
  Hang hang;
  bool reversed;  // the joint's child is the inner body
  int inner;      // slot of the inner body; 0 is the ground
  int body, joint;
  int effort;             // first freedom in the stacked efforts; -1: none
  int freedom, freedoms;  // Serial: where its freedoms start, and how many
  bool driven;            // a coupling ends at one of its freedoms
  int column, columns;    // closure columns that pass here: where their data start, and how many
};

/// What one solve computes for a body; World axes, moments about O.
template <class V>
struct Work {
  using Number = typename V::Number;
  Mat<V> R;          // body axes in World
  V w;               // angular velocity
  V r;               // O_inner -> O
  V c;               // O -> centre of mass
  V u;               // Revolute: axis
  V abar, alphabar;  // bias acceleration (all joint accelerations zero, gravity as -g of the ground)
  V da, dalpha;      // deviation from it: the solution
  Mat<V> A, B, D;    // f = A da + B dalpha + pf;  n = Bᵀ da + D dalpha + pn: of the subtree, later seen from O_inner
  V pf, pn;
  V uf, un;              // Revolute: U/delta seen from O_inner
  Mat<V> Y;              // Ball: B D^-1
  V t;                   // Ball: D^-1 (effort - pn)
  Number e;              // Revolute: (effort - u·pn)/delta
  Number delta_inverse;  // Revolute
  Number driven;         // Revolute: effort of couplings
};

/// One freedom of a Serial hang: relative twist of the body is (sw; sv) times the joint's own rate.
template <class V>
struct Freedom {
  using Number = typename V::Number;
  Triple<Number> axis;  // constant, in the axes of the body that carries it
  bool on_inner;        // which body that is
  bool is_angular;      // sort of the joint's coordinate
  Number sign;          // -1 for a reversed joint
  Number pitch;         // screw: advance with the angle
  Number armature;
  V a;       // axis in World, positive with the joint's coordinate
  V sw, sv;  // World
  V uf, un;  // U/delta, about O
  Number e, delta_inverse, rate, acceleration;
  Number driven;  // effort of couplings
};

/// Bias wrench per unit of one closure multiplier, and its inner products with the freedoms of the body.
template <class V>
struct Column {
  using Number = typename V::Number;
  V f, n;       // about O before the body's joint is eliminated, about O_inner after
  V m;          // Ball and Root: n before the elimination
  Number w[3];  // per freedom: how far the multiplier drives it
  Number t[3];  // per freedom: effort per unit of the multiplier (couplings only)
  int id;       // row of Lambda
  int up;       // the same column at the inner body (index of its data); -1 at the end of the path
  bool first;   // it reaches `up` before anything else does: it sets, others add
};

}  // namespace invar::kernel
