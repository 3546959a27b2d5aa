// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>

#include "invar/integrate/integrator.hpp"
#include "support/newton_euler.hpp"

namespace invar::testing {

/// What a march came to.
struct March {
  Verdict verdict;
  long steps = 0;
  double t = 0;  ///< s; where it stopped
};

/// A run loop in a few lines: segments between events, each divided into equal steps of at most h (adaptive methods choose
/// within h themselves). `look(t, h_done)` is called after every step. Where it ends every body is in balance, as judged on the
/// mechanism that the test wrote.
template <class Look>
March march(const Judged& by, System& system, Integrator& integrator, double t0, double t1, double h, State& x, Look&& look) {
  March m;
  for (double a = t0; a < t1;) {
    const double b = std::min(system.next_event(a), t1);
    system.enter(a, b);
    const double n = std::max(1.0, std::ceil((b - a) / h * (1 - 1e-9)));
    integrator.reset(system, x, (b - a) / n);
    for (double k = 0; k < n; k += 1) {
      const double aim = a + (k + 1) / n * (b - a);
      for (m.t = a + k / n * (b - a); m.t < aim;) {
        double done = 0;
        const double offered = integrator.adaptive() ? aim - m.t : (b - a) / n;
        m.verdict = integrator.step(system, m.t, offered, x, done);
        if (!m.verdict.ok()) return m;
        ++m.steps;
        look(m.t, done);
        m.t = done == offered ? aim : m.t + done;
      }
    }
    a = b;
  }
  expect_balance(by, system, t1, x);
  return m;
}

inline March march(const Judged& by, System& system, Integrator& integrator, double t0, double t1, double h, State& x) {
  return march(by, system, integrator, t0, t1, h, x, [](double, double) {});
}

}  // namespace invar::testing
