// SPDX-License-Identifier: Apache-2.0
//
// learned = { file = "arm.learned.json", … } of a [[control]] table. See docs/control.md.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "invar/base/check.hpp"
#include "invar/io/control_parts.hpp"
#include "invar/io/learned_file.hpp"
#include "invar/io/loop_figures.hpp"
#include "invar/learn/adaptive_load.hpp"
#include "invar/learn/learned_in_loop.hpp"

namespace invar {
namespace {

constexpr double kLeastPeriod = 1e-4;  // s

// Obstacles by name, those of the file first and in its order; where they stand, and whether anybody said so.
struct Points {
  std::vector<std::string> names;
  std::vector<Vec3> at;
  std::vector<bool> told;

  // The first one that these terms see and nobody has placed, or an empty string.
  std::string missing(const std::vector<TermSpec>& terms) const {
    for (const TermSpec& t : terms)
      for (std::size_t k = 0; k < names.size() && t.kind == TermKind::Obstacle; ++k)
        if (!told[k] && (t.obstacles.empty() || std::find(t.obstacles.begin(), t.obstacles.end(), names[k]) != t.obstacles.end()))
          return names[k];
    return {};
  }
};

Points read_points(const TomlTable& t, const Learned* learned) {
  Points out;
  auto& [names, points, told] = out;
  if (learned) names = learned->obstacles;
  points.resize(names.size(), Vec3::Zero()), told.resize(names.size(), false);
  for (const TomlTable& o : t.tables("obstacles")) {
    const std::string name = o.string("name");
    const Vec3 at = o.vec3("at");
    const auto k = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (k == names.size() && !t.has("adapt")) {
      if (o.has("name")) o.refuse("name", fmt::format("the file knows no obstacle '{}'{}", name, did_you_mean(name, names)));
      continue;
    }
    if (k == names.size()) names.push_back(name), points.emplace_back(), told.push_back(false);
    points[k] = at, told[k] = true;
  }
  if (learned)
    if (const std::string name = out.missing(learned->terms); !name.empty())
      t.refuse("",
               fmt::format("it was learned beside an obstacle '{}': say where that stands, obstacles = [{{ name, at }}]", name));
  return out;
}

// Drag is relative to the flow that is measured.
void look_at_flow(const TomlTable& t, const TomlTable& control, const Scenario& s, LearnedTable& out,
                  const std::optional<AdaptSpec>& adapt) {
  if (!s.flow || !((out.learned && sees_flow(out.learned->terms)) || (adapt && sees_flow(adapt->terms)))) return;
  if (!s.flow->is_measured())
    out.known.remarks.push_back(
        "nobody measures the flow: the learned load takes the water for still; 'measured' in [flow] tells it");
  else if (s.flow->meter_errs() && !(control.number("period", 0) > 0))
    t.refuse("", "the flow is measured with errors, which a law that commands at every instant cannot follow: give a 'period'");
}

// The load of a file, what adapts, or both. The model outlives the law that asks for it.
std::unique_ptr<KnownLoad> make_load(const Model& m, const std::shared_ptr<const Learned>& learned,
                                     const std::optional<AdaptSpec>& adapt, const std::shared_ptr<const Flow>& flow,
                                     const Points& points) {
  std::unique_ptr<KnownLoad> out;
  if (learned) {
    auto load = LearnedLoad::build(std::shared_ptr<const Model>(std::shared_ptr<const Model>(), &m), learned);
    INVAR_CHECK(load.has_value(), "a learned file that fits the model as it is told fits it with its edits");
    out = std::make_unique<LearnedInLoop>(
        std::move(*load), flow,
        std::vector<Vec3>(points.at.begin(), points.at.begin() + static_cast<std::ptrdiff_t>(learned->obstacles.size())));
  }
  if (!adapt) return out;
  auto made = AdaptiveLoad::build(m, std::move(out), *adapt, flow, points.at, points.names);
  INVAR_CHECK(made.has_value(), "terms that fit the model as it is told fit it with its edits");
  return std::move(*made);
}

// The first label that two coefficients of all terms together have; empty where there is none.
std::string recorded_twice(const Model& nominal, const AdaptSpec& spec, const std::vector<std::string>& obstacles) {
  const auto load = AdaptiveLoad::build(nominal, nullptr, spec, nullptr, {}, obstacles);
  std::vector<std::string> labels;
  for (int k = 0; load && k < static_cast<int>((*load)->coefficients().size()); ++k) labels.push_back((*load)->label(k));
  std::sort(labels.begin(), labels.end());
  const auto twice = std::adjacent_find(labels.begin(), labels.end());
  return twice == labels.end() ? std::string() : *twice;
}

// adapt = { terms = [ { kind, … }, … ], period, memory, noise, prior }.
std::optional<AdaptSpec> read_adapt(const TomlTable& learned, const TomlTable& control, const Scenario& s, const Model& nominal,
                                    const Points& points) {
  const auto t = learned.table("adapt");
  if (!t) return {};
  AdaptSpec out;
  const double ticks = control.number("period", 0);
  out.period = positive(*t, "period", std::max(out.period, ticks));
  if (out.period < kLeastPeriod) t->refuse("period", fmt::format("looks less than {:g} s apart see rounding only", kLeastPeriod));
  if (ticks > 0 && out.period < ticks * (1 - 1e-9))
    t->refuse("period", fmt::format("the law looks every {:g} s: its load cannot adapt more often", ticks));
  out.memory = positive(*t, "memory", out.memory);
  if (out.memory < 10 * out.period)
    t->refuse("memory", fmt::format("{:g} s are less than ten looks of {:g} s: nothing can be told apart in that time",
                                    out.memory, out.period));
  out.noise = positive(*t, "noise", out.noise);
  out.prior = positive(*t, "prior", out.prior);
  if (out.noise < 1e-9) t->refuse("noise", "below 1e-9 N/sqrt(kg) rounding alone would surprise it");
  if (out.prior > 1e6) t->refuse("prior", "a prior above 1e6 usual sizes leaves nothing of the digits");
  for (const TomlTable& term : t->tables("terms")) {
    out.terms.push_back(read_term(term, s.seed));
    if (is_generic(out.terms.back().kind))
      term.refuse("kind", "generic terms are learned from recordings ('invar learn'): they need to know where their data were");
    AdaptSpec alone = out;
    alone.terms = {out.terms.back()};
    if (!term.sound()) continue;
    if (const auto made = AdaptiveLoad::build(nominal, nullptr, alone, nullptr, {}, points.names); !made)
      term.refuse(term.has("on") ? "on" : "kind", made.error().what);
    else if (const std::string name = points.missing(alone.terms); !name.empty())
      term.refuse("kind",
                  fmt::format("it sees the obstacle '{}' of the file: say where that stands in 'learned', obstacles = [{{ "
                              "name, at }}]",
                              name));
  }
  if (const std::string twice = recorded_twice(nominal, out, points.names); t->sound() && !twice.empty())
    t->refuse("terms",
              fmt::format("two of its coefficients would be recorded as '{}': make one term of those that have it, or let "
                          "them act on other names",
                          twice));
  if (out.terms.empty()) t->refuse("", "say which 'terms' adapt: terms = [{ kind = \"drag\" }], kinds as in docs/learning.md");
  return out;
}

// Why the bound of a file is not that of this loop, where the loop has none of its own.
std::string not_of_loop(const Learned& learned, const TomlTable& control) {
  if (!learned.bound || control.has("bound")) return {};
  if (learned.bound_loop.empty()) return "it does not say in which loop its bound was found";
  const std::string other = other_loop(learned.bound_loop, loop_figures(control));
  return other.empty() ? std::string() : fmt::format("its bound was found in another loop: {}", other);
}

}  // namespace

std::optional<LearnedTable> read_learned(const TomlTable& control, const Scenario& s, const Model& nominal,
                                         const std::string& folder) {
  const auto t = control.table("learned");
  if (!t) return {};
  LearnedTable out;
  KnownLoadSpec& known = out.known;
  known.fallback = t->boolean("fallback", false);
  known.patience = positive(*t, "patience", known.patience);
  if (t->has("patience") && !known.fallback)
    t->refuse("patience", "it is how long a fallback watches: say fallback = true, or leave it out");
  const std::string law = control.string("law", "");
  if (control.boolean("as_printed", false))
    t->refuse("", "the printed law knows its model only: leave out 'as_printed' or 'learned'");
  if (law == "impedance")
    t->refuse("",
              "impedance has no reference velocities at which a learned load could be taken: leave it out, or take another law");
  if (!control.boolean("model_based", true))
    t->refuse("", "feedback alone takes nothing off: leave out model_based = false, or 'learned'");
  if (t->has("adapt") && law != "task" && law != "body_pose" && law != "body_velocity")
    t->refuse("adapt", "laws I to III adapt; a law in freedoms takes what was learned from a 'file'");
  if (!t->has("file") && !t->has("adapt"))
    t->refuse("", "name the 'file' that `invar learn` wrote, or the terms that 'adapt' in the loop");
  const std::string name = t->string("file", "");
  if (t->has("file") && name.empty())
    t->refuse("file", "it names no file: name the one that `invar learn` wrote, or leave it out");
  if (!name.empty()) {
    const std::string path = (std::filesystem::path(folder) / name).lexically_normal().string();
    auto read = read_learned_file(path);
    if (!read) {
      for (const char* key : {"obstacles", "adapt", "load"}) t->accept(key);
      t->refuse("file", read.error().text());
      return {};
    }
    const bool whole = t->boolean("load", true) && !t->has("adapt");
    if (whole) out.whole_file = path;
    if (read->bound && !whole) {
      if (!control.has("bound"))
        known.remarks.push_back(
            fmt::format("{}: its bound was found with its load as it is, which this loop has not: none is known", name));
      read->bound.reset();
    }
    if (const std::string why = not_of_loop(*read, control); !why.empty()) {
      known.remarks.push_back(fmt::format("{}: {}: none is known", name, why));
      read->bound.reset();
    }
    if (!t->boolean("load", true)) *read = identified(*read);
    if (const std::string why = objection_in_loop(*read); !why.empty()) t->refuse("file", why);
    if (!read->learned) known.remarks.push_back(fmt::format("{}: {}", name, kNothingLearned));
    if (read->learned) out.elsewhere = other_number(*read, nominal);
    if (!out.elsewhere.empty())
      known.remarks.push_back(
          fmt::format("{}: it was learned on another nominal model: {}; learn anew with this one", name, out.elsewhere));
    out.learned = std::make_shared<const Learned>(std::move(*read));
  }
  const Points points = read_points(*t, out.learned.get());
  const std::optional<AdaptSpec> adapt = read_adapt(*t, control, s, nominal, points);
  if ((!name.empty() && !out.learned) || (!out.learned && !adapt)) return std::nullopt;
  look_at_flow(*t, control, s, out, adapt);
  const auto generic = [](const TermSpec& term) { return is_generic(term.kind); };
  if (known.fallback && !(out.learned && std::any_of(out.learned->terms.begin(), out.learned->terms.end(), generic)))
    t->refuse("fallback", "it drops generic terms, of which the file has none: leave it out");
  known.make = [learned = out.learned, adapt, flow = s.flow, points](const Model& m) {
    return make_load(m, learned, adapt, flow, points);
  };
  return out;
}

std::shared_ptr<const Model> with_learned(const TomlTable& control, const LearnedTable& learned, LiveModel nominal) {
  const TomlTable t = *control.table("learned");
  const auto told = std::make_shared<const Model>(*nominal.model());
  if (learned.learned) {
    // Names first: an edit of a body that is not there would be told as something else.
    auto load = LearnedLoad::build(told, learned.learned);
    if (!load) return t.refuse("file", load.error().what), nullptr;
    if (const auto done = nominal.apply(learned.learned->edits); !done) return t.refuse("file", done.error().what), nullptr;
  }
  return std::make_shared<const Model>(*nominal.model());
}

}  // namespace invar
