// SPDX-License-Identifier: Apache-2.0
#include "invar/run/margin.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "console.hpp"
#include "invar/io/json_number.hpp"
#include "invar/io/scenario_file.hpp"

namespace invar::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string scenario;
  MarginOptions options;
  bool json = false;
};

Json to_json(const MarginResult& result, const MarginOptions& options) {
  Json out = {{"format", 1},
              {"interrupted", result.interrupted},
              {"kept", result.interrupted ? Json(nullptr) : Json(result.kept(options))},
              {"left", result.windows.empty() ? Json(nullptr) : number_or_null(result.worst())},
              {"allowed", options.left},
              {"gain", options.gain},
              {"delay", result.delay},
              {"period", result.period},
              {"within", options.within},
              {"disturbance", options.disturbance}};
  if (!result.failure.empty()) out["failure"] = result.failure;
  out["windows"] = Json::array();
  for (const MarginWindow& w : result.windows) out["windows"].push_back({{"time", w.t}, {"left", number_or_null(w.left)}});
  return out;
}

void print_table(const MarginResult& result, const MarginOptions& options) {
  print("{:>10} {:>12}\n", "at [s]", "left");
  for (const MarginWindow& w : result.windows)
    print("{:>10.4g} {:>12}\n", w.t, std::isfinite(w.left) ? fmt::format("{:.3g}", w.left) : "grew");
  const std::string asked =
      fmt::format("with {:g} times the change of command and {:g} ms more delay", options.gain, 1e3 * result.delay);
  if (result.interrupted)
    print("interrupted after {}: no verdict\n", counted(result.windows.size(), "disturbance", "disturbances"));
  else if (!result.failure.empty())
    print("margin lost: {} the loop itself fails {}\n", asked, result.failure);
  else if (result.kept(options))
    print("margin kept: {} at most {:.3g} of a disturbance is left after {:g} s\n", asked, result.worst(), options.within);
  else
    print("margin lost: {} {} of a disturbance after {:g} s, {:g} is allowed\n", asked,
          std::isfinite(result.worst()) ? fmt::format("{:.3g} is left", result.worst()) : "more than all is left", options.within,
          options.left);
}

void margin_verb(const Arguments& args, Context& context) {
  std::vector<std::string> warnings;
  auto scenario = read_scenario_file(args.scenario, &warnings);
  warn(warnings, context);
  if (!scenario) return report(scenario.error(), context);
  MarginOptions options = args.options;
  ProgressLine line(context);
  options.stop = &stop_on_signal();
  options.progress = [&](const Progress& p) { line.show(p, fmt::format("disturbance {}", p.steps)); };
  const auto result = margin(*scenario, options);
  line.clear();
  if (!result) return report(result.error(), context);
  if (args.json)
    print_json(to_json(*result, options));
  else
    print_table(*result, options);
  if (result->interrupted)
    context.exit_code = kInterrupted;
  else if (!result->kept(options))
    context.exit_code = kLawBroken;
}

}  // namespace

void add_margin(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("margin", "Measure how much more gain and delay the controllers of a scenario stand");
  auto args = std::make_shared<Arguments>();
  verb->add_option("scenario", args->scenario, "Scenario file")->required();
  verb->add_option("--gain", args->options.gain, "Times the change of command")->check(positive_number())->capture_default_str();
  verb->add_option("--delay", args->options.delay, "More delay, s; whole ticks")
      ->check(no_negative_number())
      ->capture_default_str();
  verb->add_option("--within", args->options.within, "Time in which a disturbance must be forgotten, s")
      ->check(positive_number())
      ->capture_default_str();
  verb->add_flag("--json", args->json, "Print JSON");
  verb->footer(
      "Exit code 1 where the margin is lost. Controllers without a period are looked at with ticks of 1 ms.\n"
      "Example: invar margin scenarios/crane_hydraulics.toml\n"
      "Example: invar margin scenarios/arm_circle.toml --gain 2 --delay 0.01 --json");
  verb->callback([args, &context] { margin_verb(*args, context); });
}

}  // namespace invar::cli
