// SPDX-License-Identifier: Apache-2.0
#include "invar/run/figure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "invar/model/model.hpp"

namespace invar {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string flaw(const CurveSpec& curve, const std::vector<Channel>& channels) {
  if (curve.terms.empty()) return "a curve is of at least one channel";
  const Channel* first = nullptr;
  for (const CurveSpec::Term& term : curve.terms) {
    const auto at = std::find_if(channels.begin(), channels.end(), [&](const Channel& c) { return c.path == term.path; });
    if (at == channels.end()) {
      std::vector<std::string> paths;
      for (const Channel& c : channels) paths.push_back(c.path);
      return fmt::format("nothing is recorded as '{}'{}", term.path, did_you_mean(term.path, paths));
    }
    if (first != nullptr && at->size != first->size)
      return fmt::format("'{}' has {} numbers and '{}' {}: they cannot be added", first->path, first->size, at->path, at->size);
    if (first == nullptr) first = &*at;
  }
  return {};
}

std::string flaw(const FigureSpec& figure, const std::vector<Channel>& channels, const std::vector<std::string>& metrics,
                 const std::vector<ConvergenceSpec>& convergence) {
  for (const PanelSpec& panel : figure.panels) {
    for (const CurveSpec& curve : panel.curves)
      if (std::string why = flaw(curve, channels); !why.empty()) return why;
    std::vector<std::string> names;
    for (const ConvergenceSpec& series : convergence) names.push_back(series.name);
    if (!panel.convergence.empty() && !contains(names, panel.convergence))
      return fmt::format("there is no convergence '{}'{}", panel.convergence, did_you_mean(panel.convergence, names));
  }
  if (figure.table)
    for (const TableSpec::Row& row : figure.table->rows)
      for (const std::string& metric : row.metrics)
        if (!contains(metrics, metric)) return fmt::format("there is no metric '{}'{}", metric, did_you_mean(metric, metrics));
  if (!figure.trace) return {};
  std::vector<std::string> bodies;
  for (const Channel& c : channels)
    if (c.path.rfind("bodies/", 0) == 0 && c.path.ends_with("/p")) bodies.push_back(c.path.substr(7, c.path.size() - 9));
  if (bodies.empty()) return "a trace needs the group 'bodies' of the recording";
  for (const std::string& body : figure.trace->bodies)
    if (!contains(bodies, escaped(body)))
      return fmt::format("nothing is recorded of a body '{}'{}", body, did_you_mean(body, bodies));
  return {};
}

}  // namespace invar
