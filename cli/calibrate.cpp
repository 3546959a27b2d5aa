// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "console.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/run/calibration.hpp"

namespace invar::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::vector<std::string> scenarios;
  std::string controller;
  double confidence = 0.9;
  bool json = false;
};

void calibrate_verb(const Arguments& args, Context& context) {
  std::vector<Scenario> family;
  for (const std::string& path : args.scenarios) {
    std::vector<std::string> warnings;
    auto scenario = read_scenario_file(path, &warnings);
    warn(warnings, context);
    if (!scenario) return report(scenario.error(), context);
    family.push_back(std::move(*scenario));
  }
  ProgressLine line(context);
  RunOptions options;
  options.stop = &stop_on_signal();
  options.progress = [&](const Progress& p) { line.show(p); };
  const auto found = calibrate(family, args.controller, args.confidence, options);
  line.clear();
  if (!found) return report(found.error(), context);
  if (found->interrupted) {
    context.exit_code = kInterrupted;
    return;
  }
  if (args.json) {
    Json out = {{"format", 1}, {"remainder", found->bound}, {"confidence", args.confidence}, {"runs", found->scores.size()}};
    out["scores"] = found->scores;
    return print_json(out);
  }
  for (std::size_t k = 0; k < family.size(); ++k) print("{:>12.4g}  {}\n", found->scores[k], args.scenarios[k]);
  print("bound = {{ remainder = {:.4g}, confidence = {:g}, runs = {} }}\n", found->bound, args.confidence, found->scores.size());
}

}  // namespace

void add_calibrate(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("calibrate", "Bound the remainder of a control loop by runs of the family that will be driven");
  auto args = std::make_shared<Arguments>();
  verb->add_option("scenarios", args->scenarios, "Scenario files, one per run")->required();
  verb->add_option("--controller", args->controller, "Its name, where a scenario has several");
  verb->add_option("--confidence", args->confidence, "With which a new run keeps the bound")->capture_default_str();
  verb->add_flag("--json", args->json, "Print JSON");
  verb->footer(
      "m runs can claim a confidence of m/(m+1) at most. The line that is printed goes into [[control]].\n"
      "Example: invar calibrate family/*.toml --confidence 0.9");
  verb->callback([args, &context] { calibrate_verb(*args, context); });
}

}  // namespace invar::cli
