// SPDX-License-Identifier: Apache-2.0
#include "invar/run/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace invar {

std::string unfit(const Outcome& outcome, const std::string& controller) {
  if (!outcome.unresolved.empty()) return "it is unresolved: " + outcome.unresolved;
  for (const ControlAccount& c : outcome.control)
    for (const Clause& clause : c.certificate.clauses())
      if (c.name == controller && (clause.name == "law_is_defined" || clause.name == "commands_are_given") &&
          !std::isnan(clause.first))
        return fmt::format("the law {} at {:g} s", clause.name == "law_is_defined" ? "is not defined" : "has no finite command",
                           clause.first);
  return {};
}

// m/(m+1) >= c where m >= c/(1-c), up to the rounding of c itself.
long runs_needed(double confidence) {
  return std::max(1l, static_cast<long>(std::ceil(confidence / (1 - confidence) * (1 - 1e-12))));
}

Result<void> claimable(long runs, double confidence) {
  if (!(confidence > 0 && confidence < 1))
    return fail(ErrorKind::Option, fmt::format("a confidence lies between 0 and 1; {:g} was given", confidence));
  if (runs < runs_needed(confidence))
    return fail(ErrorKind::Option,
                fmt::format("from {} runs nothing can be claimed with more confidence than {:.3g}; {:g} takes {} runs", runs,
                            static_cast<double>(runs) / (static_cast<double>(runs) + 1), confidence, runs_needed(confidence)));
  return {};
}

Result<double> bound_of(std::vector<double> scores, double confidence) {
  const auto m = static_cast<long>(scores.size());
  if (const auto fine = claimable(m, confidence); !fine) return tl::unexpected(fine.error());
  if (std::any_of(scores.begin(), scores.end(), [](double s) { return !std::isfinite(s); }))
    return fail(ErrorKind::Option, "a score that is not finite bounds nothing");
  const auto k = static_cast<std::size_t>(std::ceil(static_cast<double>(m + 1) * confidence * (1 - 1e-12)));
  std::nth_element(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(k - 1), scores.end());
  return scores[k - 1];
}

namespace {

tl::unexpected<Error> no_remainder(const Scenario& s, const std::string& name) {
  return fail(ErrorKind::Scenario,
              fmt::format("there is no controller '{}' with a remainder: laws I to III and those in freedoms have one", name),
              s.path);
}

// Settling as the law of that controller takes it; empty: the only one.
Result<double> settling_of(const Scenario& s, const std::string& controller) {
  if (controller.empty() && s.controllers.size() != 1)
    return fail(ErrorKind::Scenario,
                fmt::format("this scenario has {} controllers: say which one is meant", s.controllers.size()), s.path);
  const std::string name = controller.empty() ? s.controllers[0].name : controller;
  for (const ControllerSpec& c : s.controllers) {
    if (c.name != name) continue;
    const std::shared_ptr<const Model>& model = c.nominal ? c.nominal : s.model;
    const auto law = c.law(*model);
    if (law->remainder() != nullptr) return law->remainder()->bound().after;
  }
  return no_remainder(s, name);
}

// The same for all: scores of runs that settled for other times say nothing about each other.
Result<double> settling_of(const std::vector<Scenario>& family, const std::string& controller) {
  double out = 0;
  for (const Scenario& s : family) {
    const auto after = settling_of(s, controller);
    if (!after) return after;
    if (&s == &family.front()) out = *after;
    if (*after != out)
      return fail(ErrorKind::Scenario,
                  fmt::format("settling takes {:g} s here and {:g} s in {}: give all runs of a family the same "
                              "bound = {{ after = … }}",
                              *after, out, family.front().path.empty() ? "the first run" : family.front().path),
                  s.path);
  }
  return out;
}

// The metric of one run.
Result<double> score_of(const Scenario& scenario, const std::string& name, const RunOptions& options, bool& interrupted) {
  const auto out = run(scenario, options);
  if (!out) return tl::unexpected(out.error());
  interrupted = out->end == Outcome::End::Interrupted;
  if (out->end == Outcome::End::Failed)
    return fail(ErrorKind::Scenario, fmt::format("a run that fails has no score: {}", out->words), scenario.path);
  if (const std::string why = unfit(*out, name); !interrupted && !why.empty())
    return fail(ErrorKind::Scenario, "this run has no score: " + why, scenario.path);
  for (const Metric& m : out->metrics)
    if (m.name == name + ".remainder") {
      if (interrupted || std::isfinite(m.value)) return m.value;
      return fail(ErrorKind::Scenario, fmt::format("controller '{}' has no score: {}", name, m.reason), scenario.path);
    }
  return no_remainder(scenario, name);
}

}  // namespace

Result<Calibration> calibrate(const std::vector<Scenario>& family, const std::string& controller, double confidence,
                              const RunOptions& options) {
  // What cannot be claimed is said before the first run.
  if (auto fine = claimable(static_cast<long>(family.size()), confidence); !fine) return tl::unexpected(fine.error());
  const auto after = settling_of(family, controller);
  if (!after) return tl::unexpected(after.error());
  Calibration out;
  out.after = *after;
  for (const Scenario& s : family) {
    const auto score = score_of(s, controller.empty() ? s.controllers[0].name : controller, options, out.interrupted);
    if (!score) return tl::unexpected(score.error());
    if (out.interrupted) return out;
    // Runs that differ in anything differ in the last bits at least.
    if (std::find(out.scores.begin(), out.scores.end(), *score) != out.scores.end())
      return fail(
          ErrorKind::Scenario,
          "has the same score as another one to the last bit: it is the same run, and counts once; let the runs of a family "
          "differ as those that will be driven",
          s.path);
    out.scores.push_back(*score);
  }
  const auto bound = bound_of(out.scores, confidence);
  if (!bound) return tl::unexpected(bound.error());
  out.bound = *bound;
  return out;
}

}  // namespace invar
