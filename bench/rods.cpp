// SPDX-License-Identifier: Apache-2.0
// What a step of a run costs for rows of windows (IFToMM A02) of ideal rods, regular rods, massless links and point masses: the
// whole run loop with all reactions and laws, not the solver alone. Each figure is the processor time of the later half of a run
// over its steps, best of several: preparing a run does not count. `swing`: before the windows first lie flat; `flat`: through
// that position, where as many rows as there are windows depend on others for an instant.
// Bars: augmented N = 40 1.2 ms a step, minimal 2 ms; N = 40 at most 5 times N = 10, N = 160 20 times; ideal rods at most 1.3
// times regular ones, massless links and point masses 2 times; natural/dopri5 at most 2 times augmented/dopri5.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "clock.hpp"
#include "invar/run/run.hpp"
#include "support/linkages.hpp"

namespace {

using namespace invar;
using bench::now;

enum class Rods { Ideal, Regular, Massless, Points };
constexpr const char* kNames[] = {"ideal", "regular", "massless bars", "point masses"};

std::shared_ptr<const Model> windows(int n, Rods rods) {
  ModelSpec spec = testing::windows(n, rods == Rods::Regular ? 0.0008 : 0.0);
  for (BodySpec& body : spec.bodies) {
    if (rods == Rods::Points) body.inertia.I_C.setZero();
    if (rods == Rods::Massless && body.name.starts_with("bar")) body.inertia = Inertia{};
  }
  auto model = Model::build(spec);
  if (!model) fmt::print(stderr, "{}\n", model.error().what);
  return std::make_shared<const Model>(std::move(*model));
}

struct Cost {
  double seconds = 0, steps = 0, drift = 0;
};

Cost cost_of(const std::shared_ptr<const Model>& model, const char* formulation, const char* method, double end) {
  Scenario s;
  s.model = model;
  s.start = Start(*model);
  s.start.named.assign(model->joints().size(), false);
  for (std::size_t j = 0; j < model->joints().size(); ++j)
    if (model->joints()[j].name.starts_with("a")) {
      s.start.named[j] = true;
      s.start.joints.v[model->joints()[j].v0] = -1;
    }
  s.start.joints.name(*model, s.start.named);
  s.method.formulation = formulation, s.method.integrator = method, s.method.step = 0.002;
  s.end_time = end;
  const double began = now();
  const auto outcome = run(s);
  Cost cost{now() - began};
  if (!outcome || outcome->end != Outcome::End::Finished) {
    fmt::print(stderr, "{} {}: {}\n", formulation, method, outcome ? outcome->words : outcome.error().what);
    return {std::nan("")};
  }
  for (const Metric& m : outcome->metrics) {
    if (m.name == "steps") cost.steps = m.value;
    if (m.name == "energy_drift") cost.drift = m.value;
  }
  return cost;
}

/// Milliseconds a step between two times of a run, and what the longer one loses of its energy, J.
Cost between(const std::shared_ptr<const Model>& model, const char* formulation, const char* method, double from, double to) {
  double shorter = std::numeric_limits<double>::infinity(), longer = shorter;
  Cost out;
  for (int k = 0; k < 3; ++k) {
    const Cost a = cost_of(model, formulation, method, from), b = cost_of(model, formulation, method, to);
    shorter = std::min(shorter, a.seconds), longer = std::min(longer, b.seconds);
    out.steps = b.steps - a.steps, out.drift = b.drift;
  }
  out.seconds = longer - shorter;
  return out;
}

double per_step(const Cost& cost) { return 1e3 * cost.seconds / cost.steps; }

}  // namespace

int main() {
  constexpr int kSizes[] = {10, 20, 40, 160};
  for (const char* formulation : {"augmented", "minimal"}) {
    fmt::print("{}/rk4, ms a step (over N = 10; over regular rods; energy drift, J)\n", formulation);
    for (const bool flat : {false, true}) {
      double ten[4] = {};
      for (const int n : kSizes) {
        if (flat && n > 40) continue;
        double row[4];
        std::string line;
        for (const int rods : {1, 0, 2, 3}) {
          const Cost cost = between(windows(n, static_cast<Rods>(rods)), formulation, "rk4", flat ? 0.6 : 0.1,
                                    flat     ? 0.9
                                    : n > 40 ? 0.2
                                             : 0.5);
          row[rods] = per_step(cost);
          if (n == 10) ten[rods] = row[rods];
          line += fmt::format("  {} {:.3f} (x{:.1f}, {:.2f}, {:.0e})", kNames[rods], row[rods], row[rods] / ten[rods],
                              row[rods] / row[1], cost.drift);
        }
        fmt::print("{:5} N = {:3}{}\n", flat ? "flat" : "swing", n, line);
      }
    }
  }
  fmt::print("natural/dopri5 over augmented/dopri5, the same stretch of time\n");
  for (const Rods rods : {Rods::Regular, Rods::Ideal})
    for (const int n : {10, 40}) {
      const auto model = windows(n, rods);
      const Cost a = between(model, "augmented", "dopri5", 0.1, 0.5), b = between(model, "natural", "dopri5", 0.1, 0.5);
      fmt::print("  {} N = {}: {:.2f}\n", kNames[static_cast<int>(rods)], n, b.seconds / a.seconds);
    }
}
