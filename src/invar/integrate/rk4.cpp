// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/rk4.hpp"

namespace invar {

// With y = (u, v, aux) in the chart at the start of the step (see Chart) and f its slope:
//   k1 = f(t, y0)                     k3 = f(t + h/2, y0 + h/2 k2)
//   k2 = f(t + h/2, y0 + h/2 k1)      k4 = f(t + h,   y0 + h k3)
//   y1 = y0 + h/6 (k1 + 2 k2 + 2 k3 + k4)
// Dense output: the Hermite cubic through y0, y1 with slopes k1, k4. Stage 4 stands at y1 + O(h³), because h k3 is the
// midpoint rule; its slope enters with a factor h, so the cubic is off by O(h⁴) inside the step and exact at its ends.

void Rk4::reset(const System&, const State& x, double) {
  chart_.reset(x);
  y_ = chart_.origin();
  between_ = y_;
  for (VecX& k : k_) k = VecX::Zero(y_.size());
  h_ = 0;
}

Verdict Rk4::step(System& system, double t, double h, State& x, double& h_done) {
  h_done = 0;
  h_ = 0;
  system.prepare_step(x, h, true);
  chart_.start(t, x);
  const VecX& y0 = chart_.origin();

  // Four stages.
  if (const Verdict s = chart_.slope_at_start(system, t, k_[0]); !s.ok()) return s;
  y_ = y0 + (0.5 * h) * k_[0];
  if (const Verdict s = chart_.slope(system, t + 0.5 * h, y_, k_[1]); !s.ok()) return s;
  y_ = y0 + (0.5 * h) * k_[1];
  if (const Verdict s = chart_.slope(system, t + 0.5 * h, y_, k_[2]); !s.ok()) return s;
  y_ = y0 + h * k_[2];
  if (const Verdict s = chart_.slope(system, t + h, y_, k_[3]); !s.ok()) return s;

  // Their mean.
  y_ = y0 + (h / 6) * (k_[0] + 2 * k_[1] + 2 * k_[2] + k_[3]);
  if (const Verdict s = chart_.finish(system, h, y_, x); !s.ok()) return s;
  h_ = h;
  h_done = h;
  return {};
}

void Rk4::interpolate(const System& system, double theta, State& out) const {
  // Hermite's cubic written in the slopes: y = y0 + h (b1 k1 + b2 (k2 + k3) + b4 k4).
  const double t2 = theta * theta;
  const double t3 = t2 * theta;
  const double b1 = theta - 1.5 * t2 + 2 * t3 / 3;
  const double b2 = t2 - 2 * t3 / 3;
  const double b4 = -0.5 * t2 + 2 * t3 / 3;
  between_ = chart_.origin() + h_ * (b1 * k_[0] + b2 * (k_[1] + k_[2]) + b4 * k_[3]);
  chart_.state(system, theta * h_, between_, out);
}

}  // namespace invar
