// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "console.hpp"
#include "invar/io/learned_file.hpp"
#include "invar/io/loop_figures.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/run/calibration.hpp"
#include "stale_bound.hpp"

namespace invar::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::vector<std::string> scenarios;
  std::string controller, into;
  double confidence = 0.9;
  bool json = false;
};

// Four digits, and never less than it is: a bound that is rounded down is none.
std::string rounded_up(double x) {
  const std::string near = fmt::format("{:.4g}", x);
  if (!(std::stod(near) < x)) return near;
  const double last = std::pow(10, std::floor(std::log10(x)) - 3);  // its last digit is worth that
  return fmt::format("{:.4g}", x + 0.75 * last);
}

RemainderBound bound_of(const Calibration& found, double confidence) {
  return {.most = found.bound, .after = found.after, .confidence = confidence, .runs = static_cast<int>(found.scores.size())};
}

// The loop of all of them: a family has one, and so has a bound.
Result<LoopFigures> loop_of(const Arguments& args) {
  Result<LoopFigures> out;
  for (const std::string& path : args.scenarios) {
    auto here = loop_figures_of(path, args.controller);
    if (!here) return here;
    if (&path == &args.scenarios.front()) out = *here;
    if (const std::string other = other_loop(*out, *here); !other.empty())
      return fail(ErrorKind::Scenario,
                  fmt::format("is another loop than that of {}, and a bound is of one: {}", args.scenarios.front(), other), path);
  }
  return out;
}

// One run counts once, however often and by whatever path it is listed.
Result<void> all_differ(const std::vector<std::string>& paths) {
  std::error_code ignored;
  for (std::size_t k = 0; k < paths.size(); ++k)
    for (std::size_t i = 0; i < k; ++i)
      if (paths[i] == paths[k] || std::filesystem::equivalent(paths[i], paths[k], ignored))
        return fail(ErrorKind::Option, "is listed twice: it is one run, and counts once", paths[k]);
  return {};
}

Json to_json(const Calibration& found, const Arguments& args) {
  Json out = {{"format", 1},
              {"remainder", found.bound},
              {"after", found.after},
              {"confidence", args.confidence},
              {"runs", found.scores.size()}};
  out["scores"] = found.scores;
  return out;
}

void print_text(const Calibration& found, const Arguments& args) {
  for (std::size_t k = 0; k < found.scores.size(); ++k) print("{:>12.4g}  {}\n", found.scores[k], args.scenarios[k]);
  print("bound = {{ remainder = {}, after = {}, confidence = {}, runs = {} }}\n", rounded_up(found.bound), found.after,
        args.confidence, found.scores.size());
}

// A bound is that of the loops it was found in: all of them have this learned model, whole and with nothing that adapts.
Result<void> drove_with(const std::string& file, const Scenario& s, const std::string& controller) {
  for (const ControllerSpec& c : s.controllers) {
    if (!controller.empty() && c.name != controller) continue;
    std::error_code none;
    if (!c.learned_file.empty() && std::filesystem::equivalent(c.learned_file, file, none)) {
      if (c.learned_elsewhere.empty()) continue;
      return fail(ErrorKind::Scenario,
                  fmt::format("{} was learned on another nominal model than that of controller '{}': {}; learn anew with this "
                              "one, or leave out --into",
                              file, c.name, c.learned_elsewhere),
                  s.path);
    }
    return fail(
        ErrorKind::Scenario,
        fmt::format("controller '{}' does not take all of {}, so that its bound says nothing about loops that do: give it "
                    "learned = {{ file = … }} with that file, its load and no 'adapt', or leave out --into",
                    c.name, file),
        s.path);
  }
  return {};
}

void calibrate_verb(const Arguments& args, Context& context) {
  if (const auto fine = all_differ(args.scenarios); !fine) return report(fine.error(), context);
  std::vector<Scenario> family;
  for (const std::string& path : args.scenarios) {
    std::vector<std::string> warnings;
    auto scenario = read_scenario_file(path, &warnings);
    warn(warnings, context);
    if (!scenario) return report(scenario.error(), context);
    family.push_back(std::move(*scenario));
  }
  // What cannot be written is said before the first run.
  Result<Learned> learned = Learned{};
  if (!args.into.empty()) learned = read_learned_file(args.into);
  if (!learned) return report(learned.error(), context);
  Result<LoopFigures> loop;
  const auto has_one = [](const Scenario& s) { return s.controllers.size() == 1; };
  if (!args.controller.empty() || std::all_of(family.begin(), family.end(), has_one)) loop = loop_of(args);
  if (!loop) return report(loop.error(), context);
  for (const Scenario& s : family)
    if (const auto fine = args.into.empty() ? Result<void>() : drove_with(args.into, s, args.controller); !fine)
      return report(fine.error(), context);
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
  if (args.json)
    print_json(to_json(*found, args));
  else
    print_text(*found, args);
  if (args.into.empty()) return;
  erase_stale_bound(learned->notes);
  learned->bound = bound_of(*found, args.confidence), learned->bound_loop = *loop;
  learned->largest_remainder = *std::max_element(found->scores.begin(), found->scores.end());
  if (const auto written = write_learned_file(args.into, *learned); !written) return report(written.error(), context);
  say(fmt::format("wrote the bound into {}", args.into), context);
}

}  // namespace

void add_calibrate(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("calibrate", "Bound the remainder of a control loop by runs of the family that will be driven");
  auto args = std::make_shared<Arguments>();
  verb->add_option("scenarios", args->scenarios, "Scenario files, one per run")->required();
  verb->add_option("--controller", args->controller, "Its name, where a scenario has several");
  verb->add_option("--confidence", args->confidence, "With which a new run keeps the bound")->capture_default_str();
  verb->add_option("--into", args->into, "Learned model (.json) that takes the bound, for loops like that of the family");
  verb->add_flag("--json", args->json, "Print JSON");
  verb->footer(
      "m runs can claim a confidence of m/(m+1) at most. The line that is printed goes into [[control]]; its remainder is\n"
      "rounded up. --into is for the learned model that the family was driven with: loops with the same law, gains and times,\n"
      "and without a bound of their own, take the one that it has.\n"
      "Example: invar calibrate family/*.toml --confidence 0.9\n"
      "Example: invar calibrate family/*.toml --into arm.learned.json");
  verb->callback([args, &context] { calibrate_verb(*args, context); });
}

}  // namespace invar::cli
