// SPDX-License-Identifier: Apache-2.0
//
// [flow] and [[strip_drag]]: what a mechanism moves in. See docs/scenario-file.md.
#include <fmt/format.h>

#include <algorithm>

#include "invar/base/random.hpp"
#include "invar/control/strip_drag.hpp"
#include "invar/io/scenario_parts.hpp"

namespace invar {
namespace {

// An error belongs to the key that it names in quotes, if the table has it.
void refuse_water(const TomlTable& table, const Error& error) {
  if (!table.refuse_named({"velocity", "gusts", "across", "along", "linear", "from", "bodies"}, error.what))
    table.refuse("", error.what);
}

constexpr std::uint64_t kMeterStream = 0x464C4F57;  // no other stream of a run has this number

}  // namespace

std::shared_ptr<const Flow> read_flow(const TomlTable& root, std::uint64_t seed) {
  const auto t = root.table("flow");
  if (!t) return nullptr;
  FlowSpec spec;
  spec.velocity = t->vec3("velocity", spec.velocity);
  for (const TomlTable& g : t->tables("gusts"))
    spec.gusts.push_back({g.vec3("amplitude"), g.number("frequency"), g.number("phase", 0)});
  if (const auto m = t->table("measured"))
    spec.measured = FlowMeter{m->number("deviation", 0), m->number("hold", FlowMeter{}.hold), Random(seed, kMeterStream).bits()};
  auto flow = Flow::build(spec);
  if (flow) return std::make_shared<const Flow>(std::move(*flow));
  if (t->sound()) refuse_water(*t, flow.error());
  return nullptr;
}

std::vector<std::shared_ptr<const Environment>> read_drags(const TomlTable& root,
                                                           const std::vector<std::shared_ptr<const Model>>& models,
                                                           const std::shared_ptr<const Flow>& flow) {
  std::vector<std::shared_ptr<const Environment>> out;
  for (const TomlTable& t : root.tables("strip_drag")) {
    StripDragSpec spec;
    spec.across = t.number("across", 0), spec.along = t.number("along", 0), spec.linear = t.number("linear", 0);
    if (spec.across == 0 && spec.along == 0 && spec.linear == 0)
      t.refuse("", "a drag needs 'across', 'along' (N s²/m³), 'linear' (N s/m²) or several of them");
    std::vector<std::string> bodies = t.strings("bodies");
    if (!t.has("bodies")) bodies = names_of(models[0]->bodies());
    if (bodies.empty()) t.refuse("bodies", "no body is named; leave 'bodies' out for all of them");
    std::vector<std::string> sorted = bodies;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      t.refuse("bodies", fmt::format("'{}' is named twice, and would be dragged twice", *twice));
    if (t.has("from") || t.has("to")) {
      spec.axis = {t.vec3("from"), t.vec3("to")};
      if (bodies.size() != 1) t.refuse("bodies", "'from' and 'to' are the axis of one body: name that one alone");
    }
    for (const std::string& body : bodies) {
      spec.body = body;
      Result<StripDrag> made = StripDrag::build(*models[0], spec, flow);
      for (std::size_t k = 1; k < models.size() && !made; ++k)
        if (auto later = StripDrag::build(*models[k], spec, flow)) made = std::move(later);
      if (!made) {
        if (t.sound()) refuse_water(t, made.error());
        break;
      }
      out.push_back(std::make_shared<const StripDrag>(std::move(*made)));
    }
  }
  return out;
}

}  // namespace invar
