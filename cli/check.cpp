// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "console.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/exactness.hpp"
#include "invar/model/joint/kinds.hpp"
#include "invar/run/start.hpp"

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
      if (const double q = j.nq == j.nv ? model.initial_q()[j.q0 + k] : 0; winds(j.kind, k) && std::abs(q) > 2 * std::numbers::pi)
        notes.push_back(fmt::format("joint '{}' starts at {:g} rad, more than a turn (angles are in rad)", j.name, q));
}

// The form of the file, the sense of the model, and whether its start configuration can be assembled.
Result<Model> check(const std::string& path, Findings& found) {
  ModelSpec spec;
  auto model = read_model(path, &found.warnings, &spec);
  if (!model) return model;
  const auto bodies = bodies_at(*model, Start(*model));
  if (!bodies) return fail(bodies.error().kind, bodies.error().what, start_place(spec, bodies.error().what));
  note_angles(*model, found.notes);
  if (const Exactness e = exactness(*model, *bodies); e.relies())
    found.notes.push_back(fmt::format("mobility {} relies on exact dimensions: see invar info", e.mobility));
  return model;
}

void check_verb(const ModelArguments& args, Context& context) {
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
  add_model_verb(app, "check", "Say whether a model file describes a mechanism", "invar check models/four_bar.toml", context,
                 check_verb);
}

}  // namespace invar::cli
