// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "console.hpp"
#include "invar/io/model_file.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/io/toml_table.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/exactness.hpp"
#include "invar/run/start.hpp"
#include "weight.hpp"

namespace invar::cli {
namespace {

using Json = nlohmann::ordered_json;

// What is worth knowing about a model that is fine.
struct Findings {
  std::vector<std::string> warnings, notes;
};

// Angles are in rad: a start of many turns was more likely meant in degrees.
void note_angles(const Model& model, std::vector<std::string>& notes) {
  for (const Joint& j : model.joints())
    for (int k = 0; k < j.nv; ++k)
      if (const double q = j.nq == j.nv ? model.initial_q()[j.q0 + k] : 0; j.winds(k) && std::abs(q) > 2 * std::numbers::pi)
        notes.push_back(fmt::format("joint '{}' starts at {:g} rad, more than a turn (angles are in rad)", j.name, q));
}

// The form of the file, the sense of the model, and whether its start configuration can be assembled.
Result<Model> check(const std::string& path, Findings& found) {
  ModelSpec spec;
  auto model = read_model(path, &found.warnings, &spec);
  if (!model) return model;
  Augmented formulation(*model);
  const auto x = state_at(formulation, Start(*model));
  if (!x) return fail(x.error().kind, x.error().what, start_place(spec, x.error().what));
  note_angles(*model, found.notes);
  for (std::string& sentence : displaced(formulation, Start(*model), *x)) found.notes.push_back(std::move(sentence));
  Start begin(*model);
  begin.motion = true;
  if (const auto moving = bodies_at(*model, begin); !moving)
    found.notes.push_back(moving.error().what + "; a scenario that starts there has to name them");
  Bodies bodies;
  formulation.bodies(*x, bodies);
  if (const Exactness e = exactness(*model, bodies); e.relies())
    found.notes.push_back(fmt::format("mobility {} relies on exact dimensions: see invar info", e.mobility));
  return model;
}

// Scenarios name a model and a method; models have neither key. What is no TOML is refused in the same words either way.
bool is_scenario(const std::string& path) {
  if (path == "-") return false;
  const auto file = load_toml(path);
  return file && (file->has("model") || file->has("integrator"));
}

// All that a run would refuse before its first step, but for its output.
void check_scenario(const ModelArguments& args, Context& context) {
  std::vector<std::string> warnings;
  auto scenario = read_scenario_file(args.model, &warnings);
  const auto foreseen = scenario ? check(*scenario) : tl::unexpected(scenario.error());
  const Weight weight(foreseen.value_or(Foreseen{}));
  if (weight.large()) warnings.push_back(large_warning(*scenario, weight));
  if (args.json) {
    Json out = {{"ok", foreseen.has_value()}, {"warnings", warnings}, {"notes", foreseen.value_or(Foreseen{}).notes}};
    if (foreseen)
      out["records"] = {
          {"samples", weight.samples}, {"numbers", weight.width}, {"log_bytes", weight.log}, {"hdf5_bytes", weight.hdf5}};
    out["error"] = foreseen ? Json(nullptr) : Json{{"where", foreseen.error().where}, {"what", foreseen.error().what}};
    print_json(out);
    if (!foreseen) context.exit_code = exit_code(foreseen.error());
    return;
  }
  warn(warnings, context);
  if (!foreseen) return report(foreseen.error(), context);
  for (const std::string& note : foreseen->notes) say(fmt::format("note: {}: {}", args.model, note), context);
  if (!context.quiet)
    print("{}: fine ({}/{}, {})\n", args.model, scenario->method.formulation, scenario->method.integrator, weight.text());
}

void check_verb(const ModelArguments& args, Context& context) {
  if (is_scenario(args.model)) return check_scenario(args, context);
  Findings found;
  const auto model = check(args.model, found);
  if (args.json) {
    Json out = {{"ok", model.has_value()}, {"warnings", found.warnings}, {"notes", found.notes}};
    out["error"] = model ? Json(nullptr) : Json{{"where", model.error().where}, {"what", model.error().what}};
    print_json(out);
    if (!model) context.exit_code = exit_code(model.error());
    return;
  }
  warn(found.warnings, context);
  if (!model) return report(model.error(), context);
  for (const std::string& note : found.notes) say(fmt::format("note: {}: {}", args.model, note), context);
  if (!context.quiet)
    print("{}: fine ({}, {})\n", args.model, counted(model->bodies().size(), "body", "bodies"),
          counted(model->joints().size(), "joint", "joints"));
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  add_model_verb(app, "check", "Say whether a model file describes a mechanism, or a scenario can begin",
                 "invar check models/four_bar.toml", context, check_verb);
}

}  // namespace invar::cli
