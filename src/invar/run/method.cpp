// SPDX-License-Identifier: Apache-2.0
#include "invar/run/method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/mech/augmented.hpp"

namespace invar {

const std::vector<std::string>& formulation_names() {
  static const std::vector<std::string> names = {"augmented"};
  return names;
}

std::optional<Objection> objection(const Method& m) {
  const auto& formulations = formulation_names();
  if (std::find(formulations.begin(), formulations.end(), m.formulation) == formulations.end())
    return Objection{"formulation", fmt::format("there is no formulation '{}' in this version; known are: {}", m.formulation,
                                                fmt::join(formulations, ", "))};
  const auto integrator = make_integrator(m.integrator, m.options);
  if (!integrator) return Objection{"method", integrator.error().what};
  if (!(*integrator)->adaptive() && !(m.step > 0 && std::isfinite(m.step)))
    return Objection{
        "step", fmt::format("'{}' takes steps of a fixed length: 'step' must be a positive number of seconds", m.integrator)};
  if (!(m.baumgarte_alpha >= 0 && m.baumgarte_beta >= 0))
    return Objection{"baumgarte", "'baumgarte' takes two numbers that are not negative, both 1/s"};
  return {};
}

std::unique_ptr<Formulation> make_formulation(const Model& model, const Method& method) {
  AugmentedOptions options;
  options.project = method.project;
  options.baumgarte_alpha = method.baumgarte_alpha;
  options.baumgarte_beta = method.baumgarte_beta;
  return std::make_unique<Augmented>(model, options);
}

}  // namespace invar
