// SPDX-License-Identifier: Apache-2.0
#include "invar/io/scenario_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "invar/io/model_file.hpp"
#include "invar/io/scenario_parts.hpp"

namespace invar {

namespace {

// The keys of the top level that need no model.
void read_head(const TomlTable& root, Scenario& s) {
  if (const int format = root.integer("format", kScenarioFormat); format != kScenarioFormat)
    root.refuse("format", fmt::format("format {} is not known; this program reads format {}", format, kScenarioFormat));
  s.name = root.string("name", std::filesystem::path(s.path).stem().string());
  const int seed = root.integer("seed", 0);
  if (seed < 0) root.refuse("seed", "a seed is not negative");
  s.seed = static_cast<std::uint64_t>(seed);
  if (const auto time = root.table("time")) {
    s.start_time = time->number("start", 0.0);
    s.end_time = time->number("end");
    const std::string stops = time->string("stops", "push");
    if (stops != "push" && stops != "end") time->refuse("stops", fmt::format("'{}' is neither \"push\" nor \"end\"", stops));
    s.end_at_stops = stops == "end";
  } else if (!root.has("time")) {
    root.refuse("", "missing table [time] with the key 'end'");
  }
}

// What is wrong with the times, at the key that says it.
void check_times(const TomlTable& root, const Scenario& s) {
  const auto no = time_objection(s);
  if (!no) return;
  for (const char* table : {"time", "integrator", "record"})
    if (root.type(table) == TomlTable::Type::Table && root.table(table)->has(no->key))
      root.table(table)->refuse(no->key, no->what);
}

// A method that makes sense, but not for this model: said where the method is named, or else the formulation.
void check_pair(const TomlTable& root, const Scenario& s) {
  if (objection(s.method)) return;
  const auto no = objection(s.method, *s.model);
  if (!no) return;
  const auto table = root.table("integrator");
  if (table && table->has(no->key))
    table->refuse(no->key, no->what);
  else
    root.refuse("formulation", no->what);
}

Result<Scenario> read(const TomlTable& root, const std::string& path, std::vector<std::string>* warnings) {
  const std::vector<std::string> keys = root.keys();
  const auto present = [&keys](const char* key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
  if (present("body") && !present("model") && !present("integrator"))
    return fail(ErrorKind::Syntax, "this is a model; a scenario is wanted, a file that names a model and says how it moves",
                path);
  Scenario s;
  s.path = path;
  read_head(root, s);
  s.method = read_method(root);
  s.sampling = read_sampling(root, s.method);
  check_times(root, s);

  // The other tables speak of the model by name: without a model there is nothing to check them against.
  const std::string name = root.string("model");
  if (name.empty()) {
    for (const char* key :
         {"initial", "disturbance", "effort", "flow", "strip_drag", "drive", "control", "edit", "must", "figure", "convergence"})
      root.accept(key);
    root.refuse("model", "missing key 'model', the path of a model file");
    auto verdict = root.finish();
    return tl::unexpected(verdict.error());
  }
  s.model_path = (std::filesystem::path(path).parent_path() / name).lexically_normal().string();
  auto spec = read_model_file(s.model_path);
  auto model = spec ? Model::build(*spec, warnings) : Result<Model>(tl::unexpected(spec.error()));
  if (!model) {
    Error error = model.error();
    if (error.kind == ErrorKind::File) error.what += fmt::format(" (the model of {})", root.where("model"));
    return tl::unexpected(error);
  }
  s.model = std::make_shared<const Model>(std::move(*model));
  s.spec = std::make_shared<const ModelSpec>(std::move(*spec));
  check_pair(root, s);
  s.start = read_start(root, *s.spec, *s.model);
  // A start that the scenario does not tell is the model's: refused where `check` refuses it.
  if (s.start.where.empty()) {
    s.start.where = start_place(*s.spec);
    s.start.place = [spec = s.spec](const std::string& what) { return start_place(*spec, what); };
  }
  const EditTables edits = read_edits(root, s);
  s.edits = edits.events;
  auto models = models_of(s);
  if (!models) refuse_edit(edits, models.error());
  s.environments = read_environments(root, models ? *models : std::vector{s.model}, s.seed);
  s.flow = read_flow(root, s.seed);
  for (auto& drag : read_drags(root, models ? *models : std::vector{s.model}, s.flow)) s.environments.push_back(std::move(drag));
  if (auto drive = read_drives(root, *s.model, s.start_time, s.start)) s.environments.push_back(std::move(drive));
  s.controllers = read_controllers(root, s);
  if (const auto no = edit_under_control(s)) refuse_edit(edits, *no);
  s.laws = read_laws(root, *s.model);
  s.convergence = read_convergence(root, s);
  s.figures = read_figures(root);
  if (auto verdict = root.finish(); !verdict) return tl::unexpected(verdict.error());
  return s;
}

}  // namespace

Result<Scenario> parse_scenario(const std::string& text, const std::string& path, std::vector<std::string>* warnings) {
  auto root = parse_toml(text, path);
  if (!root) return tl::unexpected(root.error());
  return read(*root, path, warnings);
}

Result<Scenario> read_scenario_file(const std::string& path, std::vector<std::string>* warnings) {
  auto root = load_toml(path);
  if (!root) return tl::unexpected(root.error());
  return read(*root, path, warnings);
}

}  // namespace invar
