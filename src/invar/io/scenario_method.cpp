// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/io/scenario_parts.hpp"

namespace invar {

namespace {

void read_positive(const TomlTable& table, const char* key, double& value) {
  if (!table.has(key)) return;
  value = table.number(key);
  if (!(value > 0)) table.refuse(key, fmt::format("'{}' must be positive", key));
}

constexpr const char* kAdaptiveKeys[] = {"tolerance",           "relative_tolerance", "position_tolerance", "velocity_tolerance",
                                         "auxiliary_tolerance", "first_step",         "min_step",           "max_step"};

void read_adaptive(const TomlTable& table, Dopri5Options& o) {
  if (table.has("step")) table.refuse("step", "an adaptive method chooses its own steps; limit them with max_step");
  double all = 0;
  read_positive(table, "tolerance", all);
  if (all > 0) o.relative_tolerance = o.position_tolerance = o.velocity_tolerance = o.auxiliary_tolerance = all;
  read_positive(table, "relative_tolerance", o.relative_tolerance);
  read_positive(table, "position_tolerance", o.position_tolerance);
  read_positive(table, "velocity_tolerance", o.velocity_tolerance);
  read_positive(table, "auxiliary_tolerance", o.auxiliary_tolerance);
  read_positive(table, "first_step", o.h_first);
  read_positive(table, "min_step", o.h_min);
  read_positive(table, "max_step", o.h_max);
}

constexpr const char* kGalerkinKeys[] = {"degree", "quadrature", "gradient", "stabilised"};

void read_stepper(const TomlTable& table, const Method& method, StepperOptions& o) {
  if (table.has("project"))
    table.refuse("project", fmt::format("'{}' keeps the constraints itself: there is nothing to project; leave 'project' out",
                                        method.integrator));
  o.composition = static_cast<Composition>(table.choice("composition", composition_names(), 0));
  if (method.integrator != "petrov_galerkin") {
    for (const char* key : kGalerkinKeys)
      if (table.has(key)) table.refuse(key, fmt::format("'{}' has no '{}'; petrov_galerkin has", method.integrator, key));
    return;
  }
  o.degree = table.integer("degree", o.degree);
  if (table.has("quadrature") && (o.quadrature = table.integer("quadrature")) < 1)
    table.refuse("quadrature", fmt::format("'quadrature' is a number of Gauss points, 1 to 8, not {}", o.quadrature));
  o.gradient = static_cast<Gradient>(table.choice("gradient", {"gauss", "discrete"}, 0));
  o.stabilised = table.boolean("stabilised", o.stabilised);
}

void refuse_stepper_keys(const TomlTable& table, const Method& method) {
  if (table.has("composition"))
    table.refuse("composition", fmt::format("'{}' is no symmetric stepper, so it is not composed", method.integrator));
  for (const char* key : kGalerkinKeys)
    if (table.has(key)) table.refuse(key, fmt::format("'{}' has no '{}'; petrov_galerkin has", method.integrator, key));
}

void read_fixed(const TomlTable& table, Method& method) {
  for (const char* key : kAdaptiveKeys)
    if (table.has(key))
      table.refuse(key, fmt::format("'{}' takes steps of a fixed length and has no '{}'", method.integrator, key));
  method.step = table.number("step");
}

// The word under 'method', or what the formulation takes by itself.
std::string read_integrator(const TomlTable& table, const std::string& formulation) {
  const auto& names = integrator_names();
  const std::string usual = default_integrator(formulation);
  const auto known = std::find(names.begin(), names.end(), usual);
  const int index = known == names.end() ? table.choice("method", names)
                                         : table.choice("method", names, static_cast<int>(known - names.begin()));
  return names[static_cast<std::size_t>(index)];
}

}  // namespace

bool adaptive(const std::string& integrator) {
  const auto made = make_integrator(integrator);
  return made && (*made)->adaptive();
}

Method read_method(const TomlTable& root) {
  Method m;
  const auto& formulations = formulation_names();
  m.formulation = formulations[static_cast<std::size_t>(root.choice("formulation", formulations, 0))];
  const auto table = root.table("integrator");
  if (!table) {
    if (!root.has("integrator")) root.refuse("", "missing table [integrator] with the keys 'method' and 'step'");
    return m;
  }
  m.integrator = read_integrator(*table, m.formulation);
  if (is_stepper(m.integrator))
    read_stepper(*table, m, m.options.stepper);
  else
    refuse_stepper_keys(*table, m);
  if (adaptive(m.integrator))
    read_adaptive(*table, m.options.dopri5);
  else
    read_fixed(*table, m);

  // Baumgarte's terms push back what projection removes: whoever asks for them gets them alone, unless he asks for both.
  if (table->has("baumgarte")) {
    const auto pair = table->numbers("baumgarte", 2);
    if (pair.size() == 2) m.baumgarte_alpha = pair[0], m.baumgarte_beta = pair[1];
    m.project = false;
  }
  m.project = table->boolean("project", m.project);

  // The whole, with the reason. A step that is not there at all is missing, not wrong.
  if (const auto no = objection(m); no && (no->key != "step" || table->has("step"))) table->refuse(no->key, no->what);
  return m;
}

Sampling read_sampling(const TomlTable& root, const Method& method) {
  Sampling s;
  const auto table = root.table("record");
  if (!table) return s;
  s.where = table->where("every");
  if (adaptive(method.integrator)) {
    s.interval = table->number("every", 0.0);
    if (table->has("every") && !(s.interval > 0)) table->refuse("every", "'every' must be a positive number of seconds here");
  } else {
    s.steps = table->integer("every", 1);
    if (s.steps < 1) table->refuse("every", "'every' must be a whole number of steps, at least 1"), s.steps = 1;
  }
  if (!table->has("what")) return s;
  for (const char* word : kRecordGroups) *group(s.what, word) = false;
  for (const std::string& word : table->strings("what")) {
    if (bool* member = group(s.what, word))
      *member = true;
    else
      table->refuse("what", fmt::format("there is no group '{}' to record{}", word,
                                        did_you_mean(word, {std::begin(kRecordGroups), std::end(kRecordGroups)})));
  }
  return s;
}

}  // namespace invar
