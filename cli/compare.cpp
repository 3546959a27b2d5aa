// SPDX-License-Identifier: Apache-2.0
#include "invar/run/compare.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "console.hpp"
#include "invar/io/json_number.hpp"
#include "invar/io/scenario_file.hpp"

namespace invar::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string scenario, reference;
  std::vector<std::string> only;
  double step = 0, bound = 0;
  bool json = false;
};

const char* word(Comparison::Verdict verdict) {
  switch (verdict) {
    case Comparison::Verdict::Within: return "within";
    case Comparison::Verdict::Exceeded: return "exceeded";
    case Comparison::Verdict::Unresolved: return "unresolved";
    case Comparison::Verdict::Refused: return "refused";
    case Comparison::Verdict::Failed: return "failed";
  }
  return "";
}

bool has_numbers(const Comparison& c) {
  return c.verdict != Comparison::Verdict::Refused && c.verdict != Comparison::Verdict::Failed;
}

void print_series(const Comparison& c) {
  print("    {:>10}", "t [s]");
  for (const auto& q : kQuantityNames) print(" {:>12}", q.name);
  print("\n");
  const std::size_t stride = std::max<std::size_t>(1, c.times.size() / 10);
  for (std::size_t k = 0; k < c.times.size(); k += stride) {
    print("    {:>10.4g}", c.times[k]);
    for (const double d : c.series[k]) print(" {:>12.2e}", d);
    print("\n");
  }
}

void print_table(const CompareResult& result, const Context& context) {
  print("largest differences from {}, their largest part of the bound, and what each way cost\n", result.reference);
  print("  {:<36}", "");
  for (const auto& q : kQuantityNames) print(" {:>12}", q.name);
  print(" {:>9} {:>9} {:>10} {:>9} {:>8}\n  {:<36}", "of bound", "until", "balance", "steps", "wall", "");
  for (const auto& q : kQuantityNames) print(" {:>12}", fmt::format("[{}]", q.unit));
  print(" {:>9} {:>9} {:>10} {:>9} {:>8}\n", "", "[s]", "[J]", "", "[s]");
  for (const Comparison& c : result.ways) {
    print("  {:<36}", c.way.name);
    if (!has_numbers(c)) {
      print(" {}: {}\n", word(c.verdict), c.reason);
      continue;
    }
    for (const double d : c.largest) print(" {:>12.2e}", d);
    print(" {:>9.2g} {:>9.4g} {:>10.1e} {:>9} {:>8.2f}", c.worst.ratio, c.resolved, c.power_balance, c.steps, c.wall);
    if (c.verdict == Comparison::Verdict::Exceeded) {
      const QuantityName& q = kQuantityNames[c.worst.quantity];
      print("  {}: {:.2e} exceeds {:.2e} {} at t = {:g} s", q.name, c.worst.difference, c.worst.bound, q.unit, c.worst.at);
    }
    if (c.verdict == Comparison::Verdict::Unresolved) print("  unresolved: its steps are too long for this motion");
    if (!c.reason.empty()) print("  later it failed: {}", c.reason);
    print("\n");
    if (context.verbose) print_series(c);
  }
}

Json quantities(const Quantities& values) {
  Json out = Json::object();
  for (std::size_t k = 0; k < kQuantities; ++k) out[kQuantityNames[k].name] = number_or_null(values[k]);
  return out;
}

Json to_json(const Comparison& c) {
  Json out = {{"way", c.way.name},
              {"formulation", c.way.method.formulation},
              {"method", c.way.method.integrator},
              {"step", c.way.method.step > 0 ? Json(c.way.method.step) : Json(nullptr)},
              {"verdict", word(c.verdict)}};
  if (!has_numbers(c)) {
    out["reason"] = c.reason;
    return out;
  }
  if (!c.reason.empty()) out["failed_later"] = c.reason;
  out["largest"] = quantities(c.largest);
  out["at"] = quantities(c.at);
  out["bound"] = quantities(c.bound);
  out["of_bound"] = number_or_null(c.worst.ratio);
  out["worst"] = {{"quantity", kQuantityNames[c.worst.quantity].name},
                  {"difference", number_or_null(c.worst.difference)},
                  {"bound", number_or_null(c.worst.bound)},
                  {"at", c.worst.at}};
  out["resolved_until"] = c.resolved;
  out["power_balance"] = number_or_null(c.power_balance);
  out["instants"] = c.instants;
  out["steps"] = c.steps;
  out["wall"] = c.wall;
  out["over_time"]["time"] = c.times;
  for (std::size_t k = 0; k < kQuantities; ++k) {
    Json& column = out["over_time"][kQuantityNames[k].name] = Json::array();
    for (const Quantities& d : c.series) column.push_back(number_or_null(d[k]));
  }
  return out;
}

Json to_json(const CompareResult& result) {
  Json out = {{"format", 1}, {"reference", result.reference}, {"within", result.within()}, {"scale", quantities(result.scale)}};
  Json units = Json::object();
  for (const auto& q : kQuantityNames) units[q.name] = q.unit;
  out["units"] = units;
  out["ways"] = Json::array();
  for (const Comparison& c : result.ways) out["ways"].push_back(to_json(c));
  return out;
}

// All runs as one: time counts in runs.
Progress overall(int run, int runs, const Progress& p) {
  Progress out = p;
  const double part = (p.t - p.start) / (p.end - p.start);
  out.start = 0, out.end = runs, out.t = run + part;
  return out;
}

void compare_verb(const Arguments& args, Context& context) {
  std::vector<std::string> warnings;
  auto scenario = read_scenario_file(args.scenario, &warnings);
  warn(warnings, context);
  if (!scenario) return report(scenario.error(), context);
  ProgressLine line(context);
  const auto began = std::chrono::steady_clock::now();
  CompareOptions options;
  options.reference = args.reference, options.only = args.only, options.step = args.step, options.bound = args.bound;
  options.stop = &stop_on_signal();
  options.progress = [&](const std::string& way, int run, int runs, const Progress& p) {
    Progress all = overall(run, runs, p);
    all.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    line.show(all, fmt::format("run {} of {}, {}", run + 1, runs, way));
  };
  const auto result = compare(*scenario, options);
  line.clear();
  if (!result) return report(result.error(), context);
  if (args.json)
    print_json(to_json(*result));
  else
    print_table(*result, context);
  if (result->interrupted)
    context.exit_code = kInterrupted;
  else if (!result->within())
    context.exit_code = kLawBroken;
  else if (result->failed())
    context.exit_code = kNumericsFailed;
}

}  // namespace

void add_compare(CLI::App& app, Context& context) {
  auto* verb =
      app.add_subcommand("compare", "Run a scenario in every formulation and method that takes it, and compare the motions");
  auto args = std::make_shared<Arguments>();
  verb->add_option("scenario", args->scenario, "Scenario file")->required();
  verb->add_option("--reference", args->reference,
                   "What the others are compared with, FORMULATION/METHOD; default: the scenario's own");
  verb->add_option("--only", args->only, "Names or parts of names: natural, rk4, natural/petrov_galerkin/1 (may be repeated)");
  verb->add_option("--step", args->step, "Step of fixed-step methods, s; default: the scenario's")->check(positive_number());
  verb->add_option(
          "--bound", args->bound,
          "Largest difference, as a part of the size of the motion; default: three times the errors that the methods show "
          "against themselves at half the step")
      ->check(positive_number());
  verb->add_flag("--json", args->json, "Print JSON, differences over time included");
  verb->footer(
      "Exit code 1 where a difference exceeds its bound, 3 where a method fails. -v prints the differences over time.\n"
      "Example: invar compare scenarios/four_bar.toml --only rk4 --only dopri5");
  verb->callback([args, &context] { compare_verb(*args, context); });
}

}  // namespace invar::cli
