// SPDX-License-Identifier: Apache-2.0
//
// learned = { file = "arm.learned.json", … } of a [[control]] table. See docs/control.md.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "invar/base/check.hpp"
#include "invar/io/control_parts.hpp"
#include "invar/io/learned_file.hpp"
#include "invar/learn/learned_in_loop.hpp"

namespace invar {
namespace {

bool sees_flow(const Learned& learned) {
  return std::any_of(learned.terms.begin(), learned.terms.end(),
                     [](const TermSpec& t) { return t.kind == TermKind::Drag || is_generic(t.kind); });
}

// Where the obstacles of its terms stand, in the order of the file.
std::vector<Vec3> read_points(const TomlTable& t, const Learned& learned) {
  std::vector<Vec3> out(learned.obstacles.size(), Vec3::Zero());
  std::vector<bool> told(out.size(), false);
  for (const TomlTable& o : t.tables("obstacles")) {
    const std::string name = o.string("name");
    const Vec3 at = o.vec3("at");
    const auto known = std::find(learned.obstacles.begin(), learned.obstacles.end(), name);
    if (known == learned.obstacles.end()) {
      if (o.has("name"))
        o.refuse("name", fmt::format("the file knows no obstacle '{}'{}", name, did_you_mean(name, learned.obstacles)));
      continue;
    }
    const auto k = static_cast<std::size_t>(known - learned.obstacles.begin());
    out[k] = at, told[k] = true;
  }
  const bool needed = std::any_of(learned.terms.begin(), learned.terms.end(),
                                  [](const TermSpec& term) { return term.kind == TermKind::Obstacle; });
  for (std::size_t k = 0; k < told.size() && needed; ++k)
    if (!told[k])
      t.refuse("", fmt::format("it was learned beside an obstacle '{}': say where that stands, obstacles = [{{ name, at }}]",
                               learned.obstacles[k]));
  return out;
}

}  // namespace

std::optional<LearnedTable> read_learned(const TomlTable& control, const Scenario& s, const std::string& folder) {
  const auto t = control.table("learned");
  if (!t) return {};
  const std::string name = t->string("file");
  KnownLoadSpec known;
  known.fallback = t->boolean("fallback", false);
  known.patience = positive(*t, "patience", known.patience);
  if (t->has("patience") && !known.fallback)
    t->refuse("patience", "it is how long a fallback watches: say fallback = true, or leave it out");
  if (control.boolean("as_printed", false))
    t->refuse("", "the printed law knows its model only: leave out 'as_printed' or 'learned'");
  if (control.string("law", "") == "impedance")
    t->refuse("",
              "impedance has no reference velocities at which a learned load could be taken: leave it out, or take another law");
  if (!control.boolean("model_based", true))
    t->refuse("", "feedback alone takes nothing off: leave out model_based = false, or 'learned'");
  if (name.empty()) {
    t->accept("obstacles"), t->accept("load");
    return {};
  }
  auto read = read_learned_file((std::filesystem::path(folder) / name).lexically_normal().string());
  if (!read) {
    t->accept("obstacles"), t->accept("load");
    t->refuse("file", read.error().text());
    return {};
  }
  if (const std::string why = objection_in_loop(*read); !why.empty()) t->refuse("file", why);
  if (!t->boolean("load", true)) *read = without_load(std::move(*read));
  if (!read->learned) known.remarks.push_back(fmt::format("{}: {}", name, kNothingLearned));
  if (s.flow && sees_flow(*read)) {
    if (!s.flow->is_measured())
      known.remarks.push_back("nobody measures the flow: the learned load takes the water for still; [flow] 'measured' tells it");
    else if (s.flow->meter_errs() && !(control.number("period", 0) > 0))
      t->refuse("",
                "the flow is measured with errors, which a law that commands at every instant cannot follow: give a 'period'");
  }
  const bool generic =
      std::any_of(read->terms.begin(), read->terms.end(), [](const TermSpec& term) { return is_generic(term.kind); });
  if (known.fallback && !generic) t->refuse("fallback", "it drops generic terms, of which the file has none: leave it out");
  auto learned = std::make_shared<const Learned>(std::move(*read));
  known.make = [learned, flow = s.flow, points = read_points(*t, *learned)](const Model& m) -> std::unique_ptr<KnownLoad> {
    // The model outlives the law that asks for this.
    auto load = LearnedLoad::build(std::shared_ptr<const Model>(std::shared_ptr<const Model>(), &m), learned);
    INVAR_CHECK(load.has_value(), "a learned file that fits the model as it is told fits it with its edits");
    return std::make_unique<LearnedInLoop>(std::move(*load), flow, points);
  };
  return LearnedTable{std::move(learned), std::move(known)};
}

std::shared_ptr<const Model> with_learned(const TomlTable& control, const LearnedTable& learned, LiveModel nominal) {
  const TomlTable t = *control.table("learned");
  // Names first: an edit of a body that is not there would be told as something else.
  auto load = LearnedLoad::build(std::make_shared<const Model>(*nominal.model()), learned.learned);
  if (!load) return t.refuse("file", load.error().what), nullptr;
  if (const auto done = nominal.apply(learned.learned->edits); !done) return t.refuse("file", done.error().what), nullptr;
  return std::make_shared<const Model>(*nominal.model());
}

}  // namespace invar
