// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "invar/io/model_parts.hpp"
#include "invar/io/scenario_parts.hpp"

namespace invar {
namespace {

BodySpec read_mass_of(const TomlTable& t, const std::string& folder) {
  BodySpec body;
  read_mass(t, folder, body);
  return body;
}

std::optional<Pose> optional_pose(const TomlTable& t, const char* key) {
  return t.has(key) ? std::optional(t.pose(key)) : std::nullopt;
}

JointSpec joint_of(const TomlTable& t) {
  if (const auto joint = t.table("joint")) return read_joint(*joint);
  if (!t.has("joint")) t.refuse("", "missing table 'joint', written as in a model file");
  return {};
}

AddBody read_addition(const TomlTable& t, const std::string& folder) {
  AddBody out;
  if (const auto body = t.table("body"))
    out.body = read_body(*body, folder);
  else if (!t.has("body"))
    t.refuse("", "missing table 'body', written as in a model file");
  out.joint = joint_of(t);
  out.q = read_coordinates(t, "q");
  out.v = t.numbers("v");
  return out;
}

SetPassive read_passive(const TomlTable& t) {
  SetPassive out{t.string("joint"), {}, {}, {}, {}, {}};
  for (const auto& [key, list] : {std::pair("stiffness", &out.stiffness), std::pair("rest", &out.rest),
                                  std::pair("damping", &out.damping), std::pair("friction", &out.friction)})
    if (t.has(key)) *list = t.numbers(key);
  if (t.has("friction_velocity")) out.friction_velocity = t.number("friction_velocity");
  return out;
}

Edit read_kind(const TomlTable& t, const std::string& kind, const std::string& folder) {
  if (kind == "set_inertia") return SetInertia{t.string("body"), read_mass_of(t, folder).inertia};
  if (kind == "attach") {
    BodySpec load = read_mass_of(t, folder);
    return Attach{t.string("name"), t.string("body"), load.inertia, std::move(load.shapes)};
  }
  if (kind == "detach") return Detach{t.string("name")};
  if (kind == "set_joint_frame")
    return SetJointFrame{t.string("joint"), optional_pose(t, "at_parent"), optional_pose(t, "at_child")};
  if (kind == "set_map") return SetMap{t.string("coupling"), read_map(t), t.boolean("from_here", false)};
  if (kind == "set_tool") return SetTool{t.string("frame"), t.pose("pose"), t.string("body", "")};
  if (kind == "lock") {
    Lock lock{t.string("joint"), {}};
    if (t.has("q")) lock.at = read_coordinates(t, "q");
    return lock;
  }
  if (kind == "unlock") return Unlock{t.string("joint")};
  if (kind == "add_body") return read_addition(t, folder);
  if (kind == "remove_body") return RemoveBody{t.string("body"), t.boolean("whole", false)};
  if (kind == "close") {
    const double within = t.number("within", 0.0);
    return CloseLoop{joint_of(t), within};
  }
  if (kind == "set_passive") return read_passive(t);
  return CutLoop{t.string("joint"), t.boolean("whole", false)};
}

// The key that a sentence of the model room speaks of, as far as the table has it.
std::string key_of(const TomlTable& t, const std::string& what) {
  const std::pair<const char*, const char*> words[] = {
      {"under control", "kind"},  {"at_parent", "at_parent"}, {"at_child", "at_child"}, {"coefficient", "polynomial"},
      {"'within'", "within"},     {"coordinate", "q"},        {"no payload", "name"},   {"attached to", "name"},
      {"mass", "mass"},           {"inertia", "inertia"},     {"frame '", "frame"},     {"joint '", "joint"},
      {"coupling '", "coupling"}, {"body '", "body"}};
  for (const auto& [word, key] : words)
    if (what.find(word) != std::string::npos && t.has(key)) return key;
  return {};
}

}  // namespace

Edit read_edit(const TomlTable& t, const std::string& model_path) {
  const int kind = t.choice("kind", edit_names());
  return read_kind(t, edit_names()[static_cast<std::size_t>(std::max(kind, 0))], mesh_folder(model_path));
}

EditTables read_edits(const TomlTable& root, const Scenario& s) {
  EditTables out;
  std::vector<std::pair<double, TomlTable>> all;
  for (const TomlTable& t : root.tables("edit")) {
    const double at = t.number("at");
    if (t.has("at") && !(at >= s.start_time && at < s.end_time))
      t.refuse("at",
               fmt::format("the run lasts from {} s to {} s; an edit lies between, before its end", s.start_time, s.end_time));
    all.emplace_back(at, t);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [at, t] : all) {
    if (out.events.empty() || out.events.back().at != at) out.events.push_back({at, {}}), out.tables.emplace_back();
    out.events.back().edits.push_back(read_edit(t, s.model_path));
    out.tables.back().push_back(t);
  }
  return out;
}

void refuse_edit(const EditTables& edits, const EditFlaw& flaw) {
  if (flaw.error.what.find("''") != std::string::npos) return;  // a name that is missing is said as such
  const std::vector<TomlTable>& tables = edits.tables[flaw.event];
  const TomlTable& t = tables[flaw.edit < 0 ? tables.size() - 1 : static_cast<std::size_t>(flaw.edit)];
  t.refuse(flaw.edit < 0 ? "" : key_of(t, flaw.error.what), flaw.error.what);
}

}  // namespace invar
