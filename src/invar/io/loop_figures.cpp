// SPDX-License-Identifier: Apache-2.0
#include "invar/io/loop_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "invar/io/toml_table.hpp"

namespace invar {
namespace {

// Of the loop itself, and of the lists of what it follows.
const std::vector<std::string> kOfLoop = {"law", "gains", "rates", "integral",  "observer",   "period",      "delay",
                                          "lag", "hold",  "noise", "actuators", "as_printed", "model_based", "consistency"};
const std::vector<std::string> kLists = {"tasks", "bodies", "joints", "tip"};
const std::vector<std::string> kOfItems = {"rates",     "rate",    "gain",     "robust", "layer",
                                           "stiffness", "damping", "integral", "most"};

bool among(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// What a loop without this key has as well.
bool says_nothing(const std::string& key, const std::string& value) {
  static const std::vector<std::string> none = {"period", "delay", "lag", "noise", "integral", "observer"};
  return (among(none, key.substr(0, key.find('.'))) && value == "0") || (key == "hold" && value == "world") ||
         ((key == "as_printed" || key == "model_based") && value == (key == "as_printed" ? "false" : "true"));
}

std::map<std::string, std::string> by_key(const LoopFigures& figures) {
  std::map<std::string, std::string> out;
  for (const std::string& f : figures)
    if (const std::size_t at = f.find(" = "); at != std::string::npos) out[f.substr(0, at)] = f.substr(at + 3);
  return out;
}

}  // namespace

LoopFigures loop_figures(const TomlTable& control) {
  LoopFigures out;
  for (const auto& [path, value] : control.scalars()) {
    const std::string head = path.substr(0, path.find_first_of(".["));
    const std::size_t dot = path.find('.');
    const std::string item = dot == std::string::npos ? "" : path.substr(dot + 1, path.find_first_of(".[", dot + 1) - dot - 1);
    const bool counts = among(kOfLoop, head) || (among(kLists, head) && among(kOfItems, item));
    const bool of_plant = path.find(".mounted") != std::string::npos;  // how an actuator really sits, nobody knows
    if (counts && !of_plant && !says_nothing(path, value)) out.push_back(path + " = " + value);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<LoopFigures> loop_figures_of(const std::string& scenario, const std::string& controller) {
  auto root = load_toml(scenario);
  if (!root) return tl::unexpected(root.error());
  const std::vector<TomlTable> all = root->tables("control");
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::string name = all[k].string("name", k == 0 ? "control" : fmt::format("control{}", k + 1));
    if (name == controller || (controller.empty() && all.size() == 1)) return loop_figures(all[k]);
  }
  return fail(ErrorKind::Scenario, fmt::format("there is no controller '{}'", controller), scenario);
}

std::string other_loop(const LoopFigures& there, const LoopFigures& here) {
  std::map<std::string, std::pair<std::string, std::string>> all;
  for (const auto& [key, value] : by_key(there)) all[key].first = value;
  for (const auto& [key, value] : by_key(here)) all[key].second = value;
  std::vector<std::string> out;
  const auto told = [](const std::string& value) { return value.empty() ? std::string("not told") : value; };
  for (const auto& [key, values] : all)
    if (values.first != values.second)
      out.push_back(fmt::format("{} is {} there and {} here", key, told(values.first), told(values.second)));
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace invar
