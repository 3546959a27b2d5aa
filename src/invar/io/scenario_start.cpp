// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "invar/io/model_parts.hpp"
#include "invar/io/scenario_parts.hpp"
#include "invar/model/coordinates.hpp"

namespace invar {

namespace {

void read_joint(const TomlTable& table, const JointSpec& spec, const Joint& joint, Start& start) {
  if (table.has("q")) {
    const auto q = start_from(spec, read_coordinates(table, "q"), {}, "q");
    if (!q)
      table.refuse("q", q.error().what);
    else
      start.joints.q.segment(joint.q0, joint.nq) = *q;
  }
  if (table.has("v")) {
    const auto v = table.numbers("v", static_cast<std::size_t>(joint.nv));
    for (std::size_t i = 0; i < v.size() && v.size() == static_cast<std::size_t>(joint.nv); ++i)
      start.joints.v[joint.v0 + static_cast<int>(i)] = v[i];
  }
}

void read_joints(const TomlTable& table, const ModelSpec& spec, const Model& model, Start& start) {
  start.named.assign(model.joints().size(), false);
  start.no_rate = start.no_place = start.named;
  for (const std::string& name : table.keys()) {
    const auto j = model.find_joint(name);
    if (!j) {
      table.accept(name);
      table.refuse(name, fmt::format("there is no joint '{}'{}", name, did_you_mean(name, names_of(model.joints()))));
      continue;
    }
    start.named[static_cast<std::size_t>(*j)] = true;
    const auto entry = table.table(name);
    if (!entry) continue;
    const auto i = static_cast<std::size_t>(*j);
    read_joint(*entry, spec.joints[i], model.joints()[i], start);
    start.no_rate[i] = !entry->has("v");
    start.no_place[i] = !start.no_rate[i] && !entry->has("q");
  }
  start.joints.name(model, start.named);
}

void read_bodies(const TomlTable& table, const Model& model, Start& start) {
  start.by_bodies = true;
  start.bodies.assign(model.bodies().size(), BodyState{});
  std::vector<std::string> missing;
  for (std::size_t b = 0; b < model.bodies().size(); ++b) {
    const std::string& name = model.bodies()[b].name;
    if (!table.has(name)) {
      missing.push_back("'" + name + "'");
      continue;
    }
    const auto entry = table.table(name);
    if (!entry) continue;
    BodyState& state = start.bodies[b];
    state.p_WC = entry->vec3("p");
    state.q_WB = entry->quaternion("q");
    state.v_WC = entry->vec3("v", Vec3::Zero());
    state.w_WB = entry->vec3("w", Vec3::Zero());
  }
  if (!missing.empty())
    table.refuse("", fmt::format("a start by bodies needs all of them; missing: {}", fmt::join(missing, ", ")));
}

}  // namespace

Start read_start(const TomlTable& root, const ModelSpec& spec, const Model& model) {
  Start start(model);
  const auto table = root.table("initial");
  if (!table) return start;
  start.where = root.where("initial");
  start.project = table->choice("consistent", {"project", "refuse"}, 0) == 0;
  start.tolerance = table->number("tolerance", start.tolerance);
  if (!(start.tolerance > 0)) table->refuse("tolerance", "'tolerance' must be positive");
  const auto joints = table->table("joints"), bodies = table->table("bodies");
  if (joints && bodies) {
    table->accept("joints"), table->accept("bodies");
    table->refuse("bodies", "say the start by joints or by bodies, not by both");
    return start;
  }
  if (joints) read_joints(*joints, spec, model, start);
  if (bodies) read_bodies(*bodies, model, start);
  return start;
}

}  // namespace invar
