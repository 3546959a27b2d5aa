// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/semi_implicit_euler.hpp"

namespace invar {

// With a = a(t, q0, v0):
//   v1 = v0 + h a,   q1 = q0 moved by u = h v1,   aux1 = aux0 + h aux'(t, q0, v0).
// The chart needs no correction here: u = h v1 is parallel to v1, and dexp^-1_u v1 = v1.

void SemiImplicitEuler::reset(const System&, const State& x, double) {
  chart_.reset(x);
  y_ = chart_.origin();
  between_ = y_;
  k_ = VecX::Zero(y_.size());
}

Verdict SemiImplicitEuler::step(System& system, double t, double h, State& x, double& h_done) {
  h_done = 0;
  h_ = 0;
  system.prepare_step(x, h, true);
  chart_.start(t, x);
  y_ = chart_.origin();
  if (const Verdict s = chart_.slope_at_start(system, t, k_); !s.ok()) return s;

  // Velocity and auxiliaries from the slope, then the tangent from the new velocity.
  const Eigen::Index n = chart_.tangents();
  y_ += h * k_;
  y_.head(n) = h * y_.segment(n, n);
  if (const Verdict s = chart_.finish(system, h, y_, x); !s.ok()) return s;
  h_ = h;
  h_done = h;
  return {};
}

void SemiImplicitEuler::interpolate(const System& system, double theta, State& out) const {
  between_ = (1 - theta) * chart_.origin() + theta * y_;
  chart_.state(system, theta * h_, between_, out);
}

}  // namespace invar
