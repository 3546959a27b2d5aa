// SPDX-License-Identifier: Apache-2.0
//
// The table of the controller is changed as somebody would who edits the file, and the text that comes out is read like any
// other: so what is tried is what can be written down.
#include "invar/io/chosen_loop.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "invar/io/scenario_file.hpp"

namespace invar {
namespace {

void choose(toml::table& control, const LoopChoices& choices, const LoopWay& way, const LoopGains& gains) {
  const toml::table rates{{"position", gains.error}, {"attitude", 2 * gains.error}};
  control.insert_or_assign("gains", toml::table{{"rate", gains.damping}});
  control.insert_or_assign("rates", rates);
  if (toml::array* tasks = control["tasks"].as_array())
    for (toml::node& task : *tasks)
      if (toml::table* t = task.as_table()) t->erase("rates");
  // Where the points stand that learned terms name is the scenario's to say.
  toml::table learned{{"file", choices.learned}, {"load", way.knows == LoopWay::Knows::Learned}};
  if (const toml::array* points = control["learned"]["obstacles"].as_array()) learned.insert("obstacles", *points);
  for (const char* key : {"integral", "observer", "learned", "bound"}) control.erase(key);
  if (way.integral) control.insert_or_assign("integral", toml::table{{"rate", gains.integral}});
  if (way.observer) control.insert_or_assign("observer", toml::table{{"rate", gains.observer}});
  control.insert_or_assign("bound", toml::table{{"after", choices.after}});
  if (way.knows != LoopWay::Knows::Nominal) control.insert_or_assign("learned", std::move(learned));
}

// The table of a controller, or null.
toml::table* find_control(toml::table& root, const std::string& wanted) {
  toml::table* control = nullptr;
  if (toml::array* all = root["control"].as_array())
    for (std::size_t k = 0; k < all->size(); ++k)
      if (toml::table* t = all->get(k)->as_table()) {
        const std::string name = (*t)["name"].value_or(k == 0 ? std::string("control") : fmt::format("control{}", k + 1));
        if (name == wanted) control = t;
      }
  return control;
}

bool moves_bodies(const std::string& law) { return law == "task" || law == "body_pose" || law == "body_velocity"; }

}  // namespace

Result<std::string> controller_in(const Scenario& scenario, const std::string& wanted) {
  std::vector<std::string> names;
  for (const ControllerSpec& c : scenario.controllers) names.push_back(c.name);
  if (wanted.empty() && names.size() == 1) return names[0];
  if (wanted.empty())
    return fail(ErrorKind::Scenario, fmt::format("this scenario has {} controllers: say which one is meant", names.size()),
                scenario.path);
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return wanted;
  return fail(ErrorKind::Scenario, fmt::format("there is no controller '{}'{}", wanted, did_you_mean(wanted, names)),
              scenario.path);
}

Result<Scenario> scenario_with(const std::string& text, const std::string& path, const LoopChoices& choices, const LoopWay& way,
                               const LoopGains& gains) {
  // Errors first as they are in the file itself.
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return fail(ErrorKind::Syntax, std::string(error.description()), path);
  }
  toml::table* control = find_control(root, choices.controller);
  if (control == nullptr) return fail(ErrorKind::Scenario, fmt::format("there is no controller '{}'", choices.controller), path);
  if (const std::string law = (*control)["law"].value_or(std::string()); !moves_bodies(law))
    return fail(
        ErrorKind::Scenario,
        fmt::format("gains are searched for laws I to III (task, body_pose, body_velocity); '{}' has gains per freedom", law),
        path);
  choose(*control, choices, way, gains);
  for (const char* key : {"must", "figure", "convergence"}) root.erase(key);
  std::ostringstream out;
  out << toml::toml_formatter(root);
  auto scenario = parse_scenario(out.str(), path);
  if (!scenario) return scenario;
  for (ControllerSpec& c : scenario->controllers)
    if (c.name == choices.controller) c.weighs = c.period > 0;
  return scenario;
}

std::string learned_line(const std::string& text, const std::string& path, const LoopChoices& choices, const LoopWay& way) {
  namespace fs = std::filesystem;
  std::error_code trouble;
  const fs::path from = fs::absolute(path, trouble).parent_path();
  const fs::path file = fs::relative(choices.learned, from, trouble);
  toml::table learned{{"file", file.empty() ? fs::absolute(choices.learned, trouble).string() : file.string()}};
  if (way.knows == LoopWay::Knows::Identified) learned.insert("load", false);
  if (toml::parse_result root = toml::parse(text); toml::table* control = find_control(root, choices.controller))
    if (const toml::array* points = (*control)["learned"]["obstacles"].as_array()) learned.insert("obstacles", *points);
  learned.is_inline(true);
  std::ostringstream out;
  out << toml::toml_formatter(toml::table{{"learned", learned}});
  return out.str();
}

}  // namespace invar
