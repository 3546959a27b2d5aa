// SPDX-License-Identifier: Apache-2.0
#include "invar/control/flow.hpp"

#include <cmath>
#include <numbers>

#include "invar/base/random.hpp"

namespace invar {

Result<Flow> Flow::build(const FlowSpec& spec) {
  if (!spec.velocity.allFinite()) return fail(ErrorKind::Scenario, "the 'velocity' of a flow must be finite");
  for (const Gust& g : spec.gusts)
    if (!g.amplitude.allFinite() || !std::isfinite(g.phase) || !(g.frequency > 0) || !std::isfinite(g.frequency))
      return fail(ErrorKind::Scenario,
                  "'gusts' have an 'amplitude' (m/s, World), a positive 'frequency' (Hz) and a 'phase' (rad)");
  Flow out(spec);
  if (!spec.measured) return out;
  if (!(spec.measured->deviation >= 0) || !std::isfinite(spec.measured->deviation))
    return fail(ErrorKind::Scenario, "the 'deviation' of a meter is finite and not negative, m/s");
  for (std::size_t k = 0; k < 3; ++k) {
    out.errors_[k] = Noise{spec.measured->deviation, spec.measured->hold, Random(spec.measured->seed, k).bits()};
    if (const std::string why = flaw(out.errors_[k]); !why.empty()) return fail(ErrorKind::Scenario, why);
  }
  return out;
}

Vec3 Flow::velocity(Instant at) const {
  Vec3 out = spec_.velocity;
  for (const Gust& g : spec_.gusts) out += std::sin(2 * std::numbers::pi * g.frequency * at.t + g.phase) * g.amplitude;
  return out;
}

std::optional<Vec3> Flow::measured(Instant at) const {
  if (!spec_.measured) return {};
  return velocity(at) + Vec3(value(errors_[0], at), value(errors_[1], at), value(errors_[2], at));
}

}  // namespace invar
