// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "invar/io/scenario_parts.hpp"

namespace invar {
namespace {

// A string, or a list of them.
std::vector<std::string> one_or_more(const TomlTable& table, const char* key) {
  if (table.type(key) == TomlTable::Type::String) return {table.string(key)};
  return table.strings(key);
}

CurveSpec read_curve(const TomlTable& table) {
  CurveSpec out;
  const std::vector<std::string> paths = one_or_more(table, "of");
  if (paths.empty()) table.refuse("of", "'of' names the channel that is drawn, or several that are added");
  std::vector<double> factors = table.numbers("factors");
  if (factors.empty()) factors.assign(paths.size(), 1);
  if (factors.size() != paths.size())
    table.refuse("factors", fmt::format("{} factors for {} channels", factors.size(), paths.size()));
  for (std::size_t k = 0; k < std::min(paths.size(), factors.size()); ++k) out.terms.push_back({paths[k], factors[k]});
  if (table.has("minus")) out.terms.push_back({table.string("minus"), -1});
  out.value = static_cast<CurveSpec::Value>(table.choice("value", {std::begin(kCurveValues), std::end(kCurveValues)}, 0));
  out.offset = table.number("offset", 0.0);
  out.label = table.string("label", "");
  out.dashed = table.boolean("dashed", false);
  return out;
}

PanelSpec read_panel(const TomlTable& table) {
  PanelSpec out;
  out.title = table.string("title", "");
  out.y = table.string("y", "");
  out.log = table.boolean("log", false);
  out.convergence = table.string("convergence", "");
  for (const TomlTable& curve : table.tables("curves")) out.curves.push_back(read_curve(curve));
  if (out.convergence.empty() == out.curves.empty()) table.refuse("", "a panel has either 'curves' or a 'convergence'");
  return out;
}

TableSpec read_table(const TomlTable& table) {
  TableSpec out;
  out.columns = table.strings("columns");
  for (const TomlTable& row : table.tables("rows")) {
    out.rows.push_back({row.string("label", ""), row.strings("metrics"), row.numbers("values")});
    const std::size_t cells = out.rows.back().metrics.size() + out.rows.back().values.size();
    if (row.has("metrics") == row.has("values") || cells != out.columns.size())
      row.refuse("", fmt::format("a row has 'metrics' or 'values', one for each of {} columns", out.columns.size()));
  }
  return out;
}

TraceSpec read_trace(const TomlTable& table) {
  TraceSpec out;
  out.poses = table.integer("poses", out.poses);
  if (out.poses < 1 || out.poses > kMostPoses) table.refuse("poses", fmt::format("1 to {} poses can be drawn", kMostPoses));
  out.bodies = table.strings("bodies");
  if (!table.has("from")) return out;
  out.from = table.vec3("from");
  if (!(out.from->norm() > 0)) table.refuse("from", "'from' is a direction, not zero");
  return out;
}

}  // namespace

std::vector<FigureSpec> read_figures(const TomlTable& root) {
  std::vector<FigureSpec> out;
  for (const TomlTable& table : root.tables("figure")) {
    FigureSpec& figure = out.emplace_back();
    figure.where = table.where();
    figure.name = table.string("name");
    figure.caption = table.string("caption", "");
    for (const TomlTable& panel : table.tables("panel")) figure.panels.push_back(read_panel(panel));
    if (const auto cells = table.table("table")) figure.table = read_table(*cells);
    if (const auto trace = table.table("trace")) figure.trace = read_trace(*trace);
    if (figure.panels.empty() && !figure.table && !figure.trace)
      table.refuse("", "a figure has [[figure.panel]]s, a [figure.table] or a [figure.trace]");
  }
  return out;
}

std::vector<ConvergenceSpec> read_convergence(const TomlTable& root, const Scenario& scenario) {
  std::vector<ConvergenceSpec> out;
  for (const TomlTable& table : root.tables("convergence")) {
    out.push_back({table.string("name"), table.numbers("steps"), table.string("metric"), table.where()});
    const ConvergenceSpec& series = out.back();
    for (std::size_t k = 0; k + 1 < out.size(); ++k)
      if (out[k].name == series.name) table.refuse("name", fmt::format("there are two of the name '{}'", series.name));
    if (series.steps.empty()) table.refuse("steps", "a convergence needs the 'steps' to be tried, s");
    if (adaptive(scenario.method.integrator)) table.refuse("steps", "an adaptive method chooses its steps itself");
    // Each of them is a scenario of its own.
    Scenario again = scenario;
    for (const double step : series.steps) {
      again.method.step = step;
      const auto method = objection(again.method);
      if (const auto no = method ? method : time_objection(again)) table.refuse("steps", no->what);
      if (step > scenario.end_time - scenario.start_time)
        table.refuse("steps", fmt::format("a step of {:g} s is longer than the run", step));
    }
  }
  return out;
}

}  // namespace invar
