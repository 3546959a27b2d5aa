// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/stepper.hpp"

namespace invar {

void between(const State& from, const State& to, double h, double theta, State& out) {
  const double s = theta, r = 1 - theta;
  // Hermite's polynomials and their slopes.
  const double a = s * s * (3 - 2 * s), b = h * s * r * r, c = -h * s * s * r;
  const double da = 6 * s * r / h, db = r * (1 - 3 * s), dc = s * (3 * s - 2);
  out = from;
  out.q += a * (to.q - from.q) + b * from.v + c * to.v;
  out.v = da * (to.q - from.q) + db * from.v + dc * to.v;
  out.aux += theta * (to.aux - from.aux);
  out.wound += theta * (to.wound - from.wound);
}

}  // namespace invar
