// SPDX-License-Identifier: Apache-2.0
#include "invar/io/result_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "invar/io/build_info.hpp"
#include "invar/io/json_number.hpp"
#include "invar/io/printable.hpp"

namespace invar {

namespace {

using Json = nlohmann::ordered_json;

Json law_json(const LawResult& law) {
  Json out = {{"name", law.name},
              {"bound", number_or_null(law.bound)},
              {"value", number_or_null(law.value)},
              {"held", law.held},
              {"sense", law.sense == Law::Sense::Below ? "below" : "above"},
              {"unit", law.unit}};
  if (!law.subject.empty()) out["of"] = law.subject;
  if (!law.reason.empty()) out["reason"] = law.reason;
  return out;
}

Json versions_json() {
  const BuildInfo info = build_info();
  return {
      {"invar", info.version}, {"compiler", info.compiler}, {"build", info.flags}, {"eigen", info.eigen}, {"hdf5", info.hdf5}};
}

// What the method was told, as far as it differs from what it does by itself.
Json method_json(const Method& m) {
  const StepperOptions& o = m.options.stepper;
  Json out = Json::object();
  if (m.step > 0) out["step"] = m.step;
  if (m.integrator == "petrov_galerkin") {
    out["degree"] = o.degree;
    if (o.quadrature > 0) out["quadrature"] = o.quadrature;
    out["gradient"] = o.gradient == Gradient::Gauss ? "gauss" : "discrete";
    out["stabilised"] = o.stabilised;
  }
  if (o.composition != Composition::None) out["composition"] = composition_names()[static_cast<std::size_t>(o.composition)];
  if (const auto made = make_integrator(m.integrator, m.options)) out["order"] = (*made)->order();
  return out;
}

Json vector_json(const Vec3& v) { return {number_or_null(v.x()), number_or_null(v.y()), number_or_null(v.z())}; }

Json energy_json(const Energy& e) {
  return {{"kinetic", number_or_null(e.kinetic)},
          {"potential", number_or_null(e.potential)},
          {"elastic", number_or_null(e.elastic)},
          {"total", number_or_null(e.total())}};
}

Json momentum_json(const Momentum& m) { return {{"linear", vector_json(m.linear)}, {"angular", vector_json(m.angular)}}; }

// The account of an edit: J, N s and N m s (about the World origin).
Json edit_json(const EditAccount& edit) {
  const Carried& m = edit.motion;
  const Momentum impulse{m.momentum_after.angular - m.momentum_edited.angular,
                         m.momentum_after.linear - m.momentum_edited.linear};
  return {{"time", edit.t},
          {"what", edit.what},
          {"energy",
           {{"before", energy_json(m.before)},
            {"edited", energy_json(m.edited)},
            {"after", energy_json(m.after)},
            {"added", number_or_null(m.added())},
            {"taken", number_or_null(m.taken())}}},
          {"momentum",
           {{"before", momentum_json(m.momentum_before)},
            {"edited", momentum_json(m.momentum_edited)},
            {"after", momentum_json(m.momentum_after)},
            {"impulse", momentum_json(impulse)}}}};
}

// A certificate with every clause in words and numbers, and how well was followed what was asked for.
Json control_json(const ControlAccount& c) {
  Json out = {
      {"controller", c.name}, {"law", c.certificate.law}, {"guarantee", c.certificate.guarantee}, {"held", c.certificate.held()}};
  out["clauses"] = Json::array();
  for (const Clause& clause : c.certificate.clauses()) {
    const auto subject = [&](int i) {
      return i < 0 || i >= static_cast<int>(clause.subjects.size()) ? Json(nullptr)
                                                                    : Json(clause.subjects[static_cast<std::size_t>(i)]);
    };
    Json entry = {{"name", clause.name},
                  {"meaning", clause.meaning},
                  {"unit", clause.unit},
                  {"allowed", number_or_null(clause.allowed)},
                  {"round_off", number_or_null(clause.worst_round_off)},
                  {"looks", clause.looks},
                  {"held", clause.held()},
                  {"worst", number_or_null(clause.worst)},
                  {"worst_at", number_or_null(clause.worst_at)},
                  {"worst_by", subject(clause.worst_subject)}};
    if (!clause.held())
      entry["violated"] = {{"first_at", number_or_null(clause.first)},
                           {"value", number_or_null(clause.first_value)},
                           {"by", subject(clause.first_subject)}};
    entry["text"] = clause.text();
    out["clauses"].push_back(std::move(entry));
  }
  out["findings"] = Json::array();
  for (const Finding& f : c.certificate.findings)
    out["findings"].push_back({{"name", f.name}, {"value", number_or_null(f.value)}, {"unit", f.unit}, {"how", f.how}});
  out["tracking"] = Json::array();
  for (const Tracking& t : c.tracking)
    out["tracking"].push_back({{"name", t.name},
                               {"unit", t.unit},
                               {"final", number_or_null(std::abs(t.last))},
                               {"largest", number_or_null(t.largest)},
                               {"rms", number_or_null(t.rms())}});
  return out;
}

Json convergence_json(const ConvergenceResult& series) {
  Json values = Json::array();
  for (const double value : series.values) values.push_back(number_or_null(value));
  return {{"name", series.name}, {"metric", series.metric}, {"unit", series.unit}, {"steps", series.steps}, {"values", values}};
}

}  // namespace

const char* status_word(const Outcome& outcome) {
  switch (outcome.end) {
    case Outcome::End::Interrupted: return "interrupted";
    case Outcome::End::Failed: return "failed";
    case Outcome::End::Finished: break;
  }
  if (!outcome.laws_held()) return "law_broken";
  return outcome.unresolved.empty() ? "ok" : "unresolved";
}

std::string result_json(const Scenario& scenario, const Outcome& outcome) {
  Json out;
  out["format"] = 1;
  out["program"] = "invar";
  out["status"] = status_word(outcome);
  if (outcome.end == Outcome::End::Failed)
    out["failure"] = {{"kind", outcome.unrecorded ? "unrecorded" : name(outcome.verdict.status)}, {"what", outcome.words}};
  if (!outcome.unresolved.empty()) out["unresolved"] = outcome.unresolved;
  out["laws"] = Json::array();
  for (const LawResult& law : outcome.laws) out["laws"].push_back(law_json(law));

  Json metrics = Json::object(), units = Json::object(), reasons = Json::object();
  double reached = scenario.start_time, steps = 0;
  for (const Metric& m : outcome.metrics) {
    metrics[m.name] = number_or_null(m.value);
    units[m.name] = m.unit;
    if (!m.reason.empty()) reasons[m.name] = m.reason;
    if (m.name == "time") reached = m.value;
    if (m.name == "steps") steps = m.value;
  }
  out["metrics"] = metrics;
  out["units"] = units;
  out["reasons"] = reasons;
  out["notes"] = outcome.notes;
  if (!scenario.edits.empty()) {
    out["edits"] = Json::array();
    for (const EditAccount& edit : outcome.edits) out["edits"].push_back(edit_json(edit));
  }
  out["certificates"] = Json::array();
  for (const ControlAccount& c : outcome.control) out["certificates"].push_back(control_json(c));
  if (!outcome.convergence.empty()) out["convergence"] = Json::array();
  for (const ConvergenceResult& series : outcome.convergence) out["convergence"].push_back(convergence_json(series));
  out["versions"] = versions_json();
  out["seed"] = scenario.seed;
  const double wall = outcome.wall;
  out["timing"] = {{"wall", number_or_null(wall)},
                   {"steps_per_second", wall > 0 ? number_or_null(steps / wall) : Json(nullptr)},
                   {"times_real_time", wall > 0 ? number_or_null((reached - scenario.start_time) / wall) : Json(nullptr)}};
  out["model"] = {{"name", scenario.model->name()}, {"path", scenario.model_path}};
  out["scenario"] = {{"name", scenario.name},
                     {"path", scenario.path},
                     {"formulation", scenario.method.formulation},
                     {"integrator", scenario.method.integrator},
                     {"options", method_json(scenario.method)},
                     {"start", scenario.start_time},
                     {"end", scenario.end_time}};
  return printable_json(out.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

// A law is a dozen lines; a clause, a reading or a metric less; an edit sixty, and its words stand in its note, too. What happens
// on the way is noted of joints and tendons, each with its number of times.
std::size_t result_room(const Scenario& scenario) {
  std::size_t out = 1 << 16;
  out += 512 * (scenario.model->joints().size() + scenario.model->tendons().size());
  out += 1024 * scenario.laws.size();
  for (const EditEvent& event : scenario.edits) {
    out += 4096;
    for (const Edit& edit : event.edits) out += 512 + 2 * words(edit).size();
  }
  for (const ControllerSpec& c : scenario.controllers)
    out += (1 << 14) + 2048 * static_cast<std::size_t>(c.nominal->nv()) + 1024 * c.actuators.size();
  for (const ConvergenceSpec& series : scenario.convergence) out += 512 + 64 * series.steps.size();
  return out;
}

}  // namespace invar
