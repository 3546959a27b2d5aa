// SPDX-License-Identifier: Apache-2.0
#include "invar/run/method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/mech/augmented.hpp"
#include "invar/mech/cayley/skeleton.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/natural.hpp"

namespace invar {

const std::vector<std::string>& formulation_names() {
  static const std::vector<std::string> names = {"augmented", "minimal", "natural"};
  return names;
}

namespace {

std::optional<Objection> pair_objection(const Method& m, const Integrator& integrator) {
  const bool stepper = integrator.family() == Family::Stepper;
  const bool baumgarte = m.baumgarte_alpha != 0 || m.baumgarte_beta != 0;
  if (stepper && m.formulation != "natural")
    return Objection{
        "method",
        fmt::format("'{}' needs constant mass and quadratic constraints: it takes formulation = \"natural\" only", m.integrator)};
  if (stepper && (baumgarte || !m.project))
    return Objection{baumgarte ? "baumgarte" : "project",
                     fmt::format("'{}' keeps the constraints itself: there is nothing to stabilise", m.integrator)};
  if (m.formulation == "natural" && baumgarte)
    return Objection{"baumgarte", "the natural formulation has no Baumgarte terms; flows are projected"};
  if (m.formulation == "minimal" && (baumgarte || !m.project))
    return Objection{baumgarte ? "baumgarte" : "project",
                     "minimal coordinates meet all constraints: there is nothing to stabilise"};
  return {};
}

}  // namespace

std::optional<Objection> objection(const Method& m) {
  const auto& formulations = formulation_names();
  if (std::find(formulations.begin(), formulations.end(), m.formulation) == formulations.end())
    return Objection{"formulation", fmt::format("there is no formulation '{}' in this version; known are: {}", m.formulation,
                                                fmt::join(formulations, ", "))};
  const auto integrator = make_integrator(m.integrator, m.options);
  if (!integrator) {
    const auto flaw = option_flaw(m.integrator, m.options);
    return Objection{flaw ? flaw->key : "method", integrator.error().what};
  }
  if (auto no = pair_objection(m, **integrator)) return no;
  if (!(*integrator)->adaptive() && !(m.step > 0 && std::isfinite(m.step)))
    return Objection{
        "step", fmt::format("'{}' takes steps of a fixed length: 'step' must be a positive number of seconds", m.integrator)};
  if (!(m.baumgarte_alpha >= 0 && m.baumgarte_beta >= 0))
    return Objection{"baumgarte", "'baumgarte' takes two numbers that are not negative, both 1/s"};
  return {};
}

std::optional<Objection> objection(const Method& method, const Model& model) {
  if (const auto no = objection(method)) return no;
  if (method.formulation != "natural") return {};
  const bool recursive = method.integrator == "conserving" || method.integrator == "discrete_gradient";
  const std::string why = recursive ? cayley::why_not_conserving(model) : natural_objection(model);
  if (why.empty()) return {};
  return Objection{"method", fmt::format("'{}' cannot take this mechanism: {}", method.integrator, why)};
}

std::string default_integrator(const std::string& formulation) { return formulation == "natural" ? "conserving" : ""; }

std::unique_ptr<Formulation> make_formulation(const Model& model, const Method& method, bool verdicts) {
  if (method.formulation == "natural")
    return std::make_unique<Natural>(model, NaturalOptions{.project = method.project, .verdicts = verdicts});
  if (method.formulation == "minimal") return std::make_unique<Minimal>(model, MinimalOptions{.verdicts = verdicts});
  AugmentedOptions options;
  options.project = method.project;
  options.verdicts = verdicts;
  options.baumgarte_alpha = method.baumgarte_alpha;
  options.baumgarte_beta = method.baumgarte_beta;
  return std::make_unique<Augmented>(model, options);
}

}  // namespace invar
