// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "invar/io/model_parts.hpp"
#include "invar/io/scenario_parts.hpp"
#include "invar/model/coordinates.hpp"

namespace invar {

namespace {

template <class Items>
int find_named(const TomlTable& table, const char* key, const Items& items, const char* noun) {
  const std::string name = table.string(key);
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].name == name) return static_cast<int>(i);
  if (!name.empty()) table.refuse(key, there_is_no(noun, name, names_of(items)));
  return -1;
}

// Refused where it can never hold, alone or beside another.
void add(const TomlTable& table, const char* key, Law law, std::vector<Law>& out) {
  law.where = table.where(key);
  if (const std::string why = contradiction(law); !why.empty()) table.refuse(key, why);
  for (const Law& other : out)
    if (const std::string why = contradiction(law, other); !why.empty())
      table.refuse(key, fmt::format("{} (the other bound: {})", why, other.where));
  out.push_back(std::move(law));
}

// `below` and `above` each make a law of their own.
void add_bounds(const TomlTable& table, Law law, std::vector<Law>& out) {
  if (!table.has("below") && !table.has("above")) table.refuse("", fmt::format("'{}' needs a bound: below or above", law.name));
  if (table.has("below")) law.sense = Law::Sense::Below, law.bound = table.number("below"), add(table, "below", law, out);
  if (table.has("above")) law.sense = Law::Sense::Above, law.bound = table.number("above"), add(table, "above", law, out);
}

void read_window(const TomlTable& table, const Model& model, Law& law) {
  if (table.has("joint")) law.joint = find_named(table, "joint", model.joints(), "joint");
  law.from = table.number("from", law.from);
  law.to = table.number("to", law.to);
  if (law.from > law.to) table.refuse("to", "the window ends before it begins");
}

std::vector<double> numbers_of(const Quat& q) { return {q.w(), q.x(), q.y(), q.z()}; }

// q or v of a joint.
std::vector<double> read_target(const TomlTable& table, const std::string& field, const Joint& joint) {
  if (field == "v") return table.numbers(field, static_cast<std::size_t>(joint.nv));
  const auto q = written_coordinates(joint.kind, joint.name, read_coordinates(table, field), {}, field);
  if (q) return {q->begin(), q->end()};
  table.refuse(field, q.error().what);
  return std::vector<double>(static_cast<std::size_t>(joint.nq));
}

// { body = "b", p = [..], within = 1e-6 } or { joint = "j", q = [..], v = [..], within = 1e-6 }: a law per field.
void read_final(const TomlTable& table, const Model& model, Law law, std::vector<Law>& out) {
  law.bound = table.number("within");
  if (table.has("within") && !(law.bound > 0)) table.refuse("within", "'within' must be positive");
  const bool body = table.has("body");
  if (body == table.has("joint")) return table.refuse("", "'final' speaks of a 'body' or of a 'joint': name one of them");
  if (body)
    law.body = find_named(table, "body", model.bodies(), "body");
  else
    law.joint = find_named(table, "joint", model.joints(), "joint");
  if (law.body < 0 && law.joint < 0) {
    for (const char* field : {"p", "q", "v", "w"}) table.accept(field);
    return;
  }
  const std::size_t before = out.size();
  for (const char* field : {"p", "q", "v", "w"}) {
    const bool of_joint = field[0] == 'q' || field[0] == 'v';
    if ((!body && !of_joint) || !table.has(field)) continue;
    law.field = field;
    if (body)
      law.target = field[0] == 'q' ? numbers_of(table.quaternion("q")) : table.numbers(field, 3);
    else
      law.target = read_target(table, field, model.joints()[static_cast<std::size_t>(law.joint)]);
    add(table, field, law, out);
  }
  if (out.size() == before) table.refuse("", "'final' needs the values to be reached: p, q, v, w of a body or q, v of a joint");
}

void read_law(const TomlTable& table, const LawKind& kind, const Model& model, std::vector<Law>& out) {
  Law law;
  law.name = kind.name;
  if (law.name == "final") return read_final(table, model, law, out);
  std::vector<std::string> words;
  for (const Scale s : kind.scales) words.emplace_back(name(s));
  law.scale = kind.scales[static_cast<std::size_t>(table.choice("relative_to", words, 0))];
  if (law.name == "metric")
    law.field = table.string("name");
  else if (kind.metric == nullptr)
    read_window(table, model, law);
  add_bounds(table, law, out);
}

}  // namespace

std::vector<Law> read_laws(const TomlTable& root, const Model& model) {
  std::vector<Law> out;
  const auto must = root.table("must");
  if (!must) return out;
  for (const LawKind& kind : law_kinds()) {
    if (must->type(kind.name) == TomlTable::Type::Array) {
      for (const TomlTable& t : must->tables(kind.name)) read_law(t, kind, model, out);
    } else if (const auto t = must->table(kind.name)) {
      read_law(*t, kind, model, out);
    }
  }
  return out;
}

}  // namespace invar
