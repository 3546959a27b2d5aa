// SPDX-License-Identifier: Apache-2.0
#include "advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "invar/io/json_number.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/io/text_file.hpp"
#include "invar/learn/learned_in_loop.hpp"
#include "invar/learn/terms.hpp"

namespace invar::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string cell(double x, const char* format = "{:.3g}") {
  return std::isfinite(x) ? fmt::format(fmt::runtime(format), x) : "-";
}

// What the [[control]] table says of the way that is taken, with the line of the learned model.
std::vector<std::string> table_of(const Advice& advice, const std::string& learned) {
  if (advice.taken < 0) return {};
  const AdvisedLoop& l = advice.loops[static_cast<std::size_t>(advice.taken)];
  std::vector<std::string> out = {
      fmt::format("gains = {{ rate = {:.4g} }}", l.gains.damping),
      fmt::format("rates = {{ position = {:.4g}, attitude = {:.4g} }}", l.gains.error, 2 * l.gains.error)};
  if (l.way.integral) out.push_back(fmt::format("integral = {{ rate = {:.4g} }}", l.gains.integral));
  if (l.way.observer) out.push_back(fmt::format("observer = {{ rate = {:.4g} }}", l.gains.observer));
  if (l.way.knows != LoopWay::Knows::Nominal) out.push_back(learned);
  return out;
}

}  // namespace

Result<Advised> advise_on(const AdviseArguments& args, const Learned& learned, const std::string& path, Context& context) {
  const auto text = read_text_file(args.scenario);
  if (!text) return tl::unexpected(text.error());
  std::vector<std::string> warnings;
  const auto scenario = parse_scenario(*text, args.scenario, &warnings);
  warn(warnings, context);
  if (!scenario) return tl::unexpected(scenario.error());
  const auto controller = controller_in(*scenario, args.controller);
  if (!controller) return tl::unexpected(controller.error());

  LoopChoices choices;
  choices.controller = *controller;
  choices.after = args.after >= 0 ? args.after : 0.5 * (scenario->end_time - scenario->start_time);
  choices.learned = std::filesystem::absolute(path).string();
  AdviseOptions options;
  options.controller = *controller, options.after = choices.after, options.budget = args.budget, options.threads = args.threads;
  const bool loaded =
      std::any_of(learned.terms.begin(), learned.terms.end(), [](const TermSpec& t) { return !is_of_joints(t.kind); });
  options.ways = loop_ways(learned.learned, learned.learned && loaded);
  // No observer is faster than ticks can show.
  for (const ControllerSpec& c : scenario->controllers)
    if (c.name == *controller && c.period > 0) options.most_observer = 1 / c.period;
  options.stop = &stop_on_signal();
  ProgressLine line(context);
  const auto began = std::chrono::steady_clock::now();
  options.progress = [&](const std::string& doing, double part) {
    Progress p;
    p.t = part, p.end = 1, p.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    line.show(p, "gains of " + doing);
  };
  const MakeLoop make = [&](const LoopWay& way, const LoopGains& gains) {
    return scenario_with(*text, args.scenario, choices, way, gains);
  };
  auto advice = advise(make, options);
  line.clear();
  if (!advice) return tl::unexpected(advice.error());
  const bool guessed = scenario->flow && !scenario->flow->is_measured() && sees_flow(learned.terms);
  std::string words = sentence(*advice, guessed);
  if (learned.learned && !loaded)
    words +=
        "; the learned model has no load beyond what joints do, so all of it is what was identified, and 'learned' was not "
        "tried";
  std::string learned_as;
  if (advice->taken >= 0)
    learned_as = learned_line(*text, args.scenario, choices, advice->loops[static_cast<std::size_t>(advice->taken)].way);
  std::vector<std::string> table = table_of(*advice, learned_as);
  return Advised{std::move(*advice), std::move(words), std::move(table)};
}

void print_advice(const Advised& advised) {
  print("{:<34} {:>12} {:>9} {:>7} {:>7} {:>8} {:>7} {:>9}\n", "with gains of its own, margin kept",
        advised.advice.turns ? "error [mrad]" : "error [mm]", "jitter", "kappa", "Lambda", "kappa_i", "k_o", "remainder");
  for (const AdvisedLoop& l : advised.advice.loops) {
    if (const std::string& why = l.found ? l.shown().failure : l.searched.failure; !l.found || !why.empty()) {
      print("{:<34} {:>12}  {}\n", l.way.name(), "-", why.empty() ? "no gains with that margin were found" : why);
      continue;
    }
    print("{:<34} {:>12} {:>9} {:>7} {:>7} {:>8} {:>7} {:>9}\n", l.way.name(), cell(1e3 * l.error()), cell(l.jitter()),
          cell(l.gains.damping), cell(l.gains.error), l.way.integral ? cell(l.gains.integral) : "-",
          l.way.observer ? cell(l.gains.observer) : "-", cell(l.shown().remainder));
  }
  print("  remainder: the largest |e|_A after settling, N/sqrt(kg), which `invar calibrate` bounds\n{}\n", advised.words);
  if (advised.table.empty()) return;
  print(
      "in the [[control]] table, without 'rates' in its tasks and other lines of these names; a bound that was found with other "
      "gains is void then:\n");
  for (const std::string& line : advised.table) print("    {}\n", line);
}

Json to_json(const Advised& advised) {
  Json out = {{"advice", advised.words}, {"interrupted", advised.advice.interrupted}};
  out["take"] = advised.advice.taken >= 0 ? Json(advised.advice.loops[static_cast<std::size_t>(advised.advice.taken)].way.name())
                                          : Json(nullptr);
  out["control_table"] = advised.table;
  out["error_unit"] = advised.advice.turns ? "rad" : "m";
  Json& ways = out["ways"] = Json::array();
  for (const AdvisedLoop& l : advised.advice.loops) {
    Json way = {{"name", l.way.name()}, {"found", l.found}, {"candidates", l.candidates}};
    if (l.found)
      way.update({{"error", number_or_null(l.error())},
                  {"remainder", number_or_null(l.shown().remainder)},
                  {"margin_left", number_or_null(l.searched.left)},
                  {"gains",
                   {{"rate", l.gains.damping},
                    {"position", l.gains.error},
                    {"attitude", 2 * l.gains.error},
                    {"integral", l.gains.integral},
                    {"observer", l.gains.observer}}}});
    if (l.found && std::isfinite(l.jitter())) way["jitter"] = l.jitter();
    if (!l.found || !l.shown().failure.empty()) way["failure"] = l.shown().failure;
    ways.push_back(std::move(way));
  }
  return out;
}

}  // namespace invar::cli
