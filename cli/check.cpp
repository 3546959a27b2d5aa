// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "console.hpp"
#include "invar/run/start.hpp"

namespace invar::cli {
namespace {

struct Arguments {
  std::string model;
  bool json = false;
};

using Json = nlohmann::ordered_json;

void print_json(const Json& json) { fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace)); }

// The form of the file, the sense of the model, and whether its start configuration can be assembled.
Result<Model> check(const std::string& path, std::vector<std::string>& warnings) {
  auto model = load_model(path, warnings);
  if (!model) return model;
  auto bodies = bodies_at(*model, Start(*model));
  if (bodies) return model;
  Error error = bodies.error();
  if (error.where.empty()) error.where = path;
  return tl::unexpected(error);
}

void check_verb(const Arguments& args, Context& context) {
  std::vector<std::string> warnings;
  auto model = check(args.model, warnings);
  if (args.json) {
    Json out = {{"ok", model.has_value()}, {"warnings", warnings}};
    out["error"] = model ? Json(nullptr) : Json{{"where", model.error().where}, {"what", model.error().what}};
    print_json(out);
    if (!model) context.exit_code = model.error().kind == ErrorKind::Numerics ? kNumericsFailed : kBadInput;
    return;
  }
  warn(warnings, context);
  if (!model) return report(model.error(), context);
  if (!context.quiet) fmt::print("{}: fine ({} bodies, {} joints)\n", args.model, model->bodies().size(), model->joints().size());
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("check", "Say whether a model file describes a mechanism");
  auto args = std::make_shared<Arguments>();
  verb->add_option("model", args->model, "Model file")->required();
  verb->add_flag("--json", args->json, "Answer as JSON");
  verb->footer("Example: invar check models/four_bar.toml");
  verb->callback([args, &context] { check_verb(*args, context); });
}

}  // namespace invar::cli
