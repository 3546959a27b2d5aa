// SPDX-License-Identifier: Apache-2.0
#include "invar/run/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace invar {

tl::expected<std::vector<std::shared_ptr<const Model>>, EditFlaw> models_of(const Scenario& scenario) {
  std::vector<std::shared_ptr<const Model>> out = {scenario.model};
  if (scenario.edits.empty()) return out;
  const auto refuse = [](std::size_t event, int edit, Error error) {
    return tl::unexpected(EditFlaw{event, edit, std::move(error)});
  };
  if (!scenario.spec) return refuse(0, -1, {ErrorKind::Scenario, "edits need the spec of the model", {}});
  double last = scenario.start_time;
  ModelSpec spec = *scenario.spec;
  for (std::size_t k = 0; k < scenario.edits.size(); ++k) {
    const EditEvent& event = scenario.edits[k];
    if (!(event.at >= last && event.at < scenario.end_time))
      return refuse(k, -1,
                    {ErrorKind::Scenario,
                     fmt::format("an edit at {} s lies outside of the run, or before another that comes first", event.at),
                     {}});
    last = event.at;
    auto live = LiveModel::build(spec);
    if (!live) return refuse(k, -1, live.error());
    if (auto done = live->apply(event.edits); !done) return refuse(k, live->refused(), done.error());
    spec = live->spec();
    out.push_back(live->model());
    if (const auto no = objection(scenario.method, *out.back())) return refuse(k, -1, {ErrorKind::Scenario, no->what, {}});
  }
  return out;
}

namespace {

bool is_of_inertia(const Edit& edit) {
  return std::holds_alternative<SetInertia>(edit) || std::holds_alternative<Attach>(edit) || std::holds_alternative<Detach>(edit);
}

}  // namespace

std::optional<EditFlaw> edit_under_control(const Scenario& scenario) {
  if (scenario.controllers.empty()) return {};
  for (std::size_t k = 0; k < scenario.edits.size(); ++k)
    for (std::size_t i = 0; i < scenario.edits[k].edits.size(); ++i) {
      const Edit& edit = scenario.edits[k].edits[i];
      if (is_of_inertia(edit)) continue;
      return EditFlaw{
          k,
          static_cast<int>(i),
          {ErrorKind::Scenario,
           fmt::format("under control inertias can be edited ('set_inertia', 'attach', 'detach'), not '{}': leave out "
                       "the edit or 'control'",
                       name(edit)),
           {}}};
    }
  return {};
}

Result<Scenario> with_start_edited(Scenario s) {
  while (!s.edits.empty() && s.edits.front().at <= s.start_time) {
    const std::vector<Edit>& first = s.edits.front().edits;
    if (!std::all_of(first.begin(), first.end(), is_of_inertia)) break;
    auto live = LiveModel::build(*s.spec);
    if (!live) return tl::unexpected(live.error());
    if (auto done = live->apply(first); !done) return tl::unexpected(done.error());
    const auto plant = std::make_shared<const Model>(*live->model());
    if (s.start.by_bodies) s.start.bodies = seen_as(*plant, *s.model, s.start.bodies);
    for (auto& e : s.environments)
      if (const auto bound = e->bound_to(*plant); bound && *bound) e = *bound;
    s.model = plant;
    s.spec = std::make_shared<const ModelSpec>(live->spec());
    s.edits.erase(s.edits.begin());
  }
  return s;
}

RecordChoice recorded(const Scenario& scenario) {
  RecordChoice out = scenario.sampling.what;
  out.loads = out.loads && !(scenario.environments.empty() && scenario.controllers.empty());
  return out;
}

// Times are doubles: a stride must be far above their spacing at the ends of the run, or t + h is t. With 16 spacings a step is
// right to some percent, and the number of strides stays below 2^49, so that it can be counted.
std::optional<Objection> time_objection(const Scenario& s) {
  if (!(s.end_time > s.start_time) || !std::isfinite(s.end_time - s.start_time))
    return Objection{"end", "the run must end after it begins"};
  const double finest = 16 * std::numeric_limits<double>::epsilon() * std::max(std::abs(s.start_time), std::abs(s.end_time));
  if (s.method.step > 0 && s.method.step < finest)
    return Objection{"step", fmt::format("a step of {} s cannot be told from none at the times of this run", s.method.step)};
  if (s.sampling.interval > 0 && s.sampling.interval < finest)
    return Objection{"every",
                     fmt::format("samples every {} s cannot be told apart at the times of this run", s.sampling.interval)};
  for (const ControllerSpec& c : s.controllers)
    if (c.period > 0 && c.period < finest)
      return Objection{"control", fmt::format("a period of {} s cannot be told from none at the times of this run", c.period)};
  for (const auto& e : s.environments)
    for (const double t : {s.start_time, s.end_time})
      if (const double next = e->next_event(t); !(next - t > finest))
        return Objection{"disturbance",
                         "what acts changes so often that its changes cannot be told apart at the times of this run"};
  return {};
}

}  // namespace invar
