// SPDX-License-Identifier: Apache-2.0
#include "invar/run/convergence.hpp"

#include <limits>

namespace invar {

Result<ConvergenceResult> made(const ConvergenceSpec& series, const Scenario& scenario, const RunOptions& options) {
  Scenario again = scenario;
  again.laws.clear(), again.convergence.clear(), again.figures.clear();
  RunOptions quiet = options;
  quiet.sink = nullptr;
  ConvergenceResult out{series.name, series.metric, {}, series.steps, {}};
  for (const double step : series.steps) {
    again.method.step = step;
    out.values.push_back(std::numeric_limits<double>::quiet_NaN());
    if (options.stop != nullptr && options.stop->load()) continue;
    const auto outcome = run(again, quiet);
    if (!outcome) return tl::unexpected(outcome.error());
    if (outcome->end != Outcome::End::Finished) continue;
    for (const Metric& m : outcome->metrics)
      if (m.name == series.metric) out.values.back() = m.value, out.unit = m.unit;
  }
  return out;
}

}  // namespace invar
