// SPDX-License-Identifier: Apache-2.0
#include "invar/io/learn_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "invar/io/control_parts.hpp"
#include "invar/io/model_file.hpp"
#include "invar/io/scenario_parts.hpp"
#include "invar/io/toml_table.hpp"

namespace invar {
namespace {

std::string beside(const std::string& file, const std::string& path) {
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

std::uint64_t seed_of(const TomlTable& t, std::uint64_t fallback) {
  const int seed = t.integer("seed", static_cast<int>(fallback));
  if (seed < 0) t.refuse("seed", "a seed is not negative");
  return static_cast<std::uint64_t>(std::max(seed, 0));
}

}  // namespace

TermSpec read_term(const TomlTable& t, std::uint64_t seed) {
  TermSpec out;
  out.kind = static_cast<TermKind>(std::max(0, t.choice("kind", term_names())));
  out.on = t.strings("on");
  out.sharing = static_cast<Sharing>(t.choice("share", {"each", "alike", "all"}, static_cast<int>(usual_sharing(out.kind))));
  if (out.kind == TermKind::JointCoulomb && t.has("smoothing")) out.smoothing = t.numbers("smoothing");
  if (out.kind == TermKind::Obstacle) {
    out.obstacles = t.strings("obstacles");
    out.bumps = t.integer("bumps", out.bumps), out.reach = t.number("reach", out.reach);
  }
  if (is_generic(out.kind)) out.seed = seed_of(t, seed);
  if (out.kind == TermKind::Fourier) out.cosines = t.integer("cosines", out.cosines), out.spread = t.number("spread", out.spread);
  if (out.kind == TermKind::Network) out.width = t.integer("width", out.width);
  return out;
}

namespace {

// Strengths of all terms, or of none.
void read_terms(const TomlTable& root, const LearnFile& file, LearnSpec& spec) {
  const std::vector<TomlTable> tables = root.tables("term");
  if (tables.empty()) root.refuse("", "there is no [[term]]: name what may act beyond the model");
  for (const TomlTable& t : tables) {
    spec.terms.push_back(read_term(t, spec.seed));
    if (t.has("strength")) spec.fit.strengths.push_back(t.number("strength"));
    const bool all = spec.fit.strengths.empty() || spec.fit.strengths.size() == spec.terms.size();
    if (!all) t.refuse("", "some terms have a 'strength' and some have none: name it for all of them, or for none");
    if (!root.sound()) return;
    const TermContext context{file.data.obstacle_names, file.actuators};
    if (const auto made = Terms::build(*file.model, {spec.terms.back()}, context); !made) {
      const std::string& why = made.error().what;
      const char* const keys[] = {"smoothing", "obstacles", "bumps", "reach", "cosines", "spread", "width", "on"};
      const auto key = std::find_if(std::begin(keys), std::end(keys), [&](const char* k) {
        return t.has(k) && (why.find(fmt::format("'{}'", k)) != std::string::npos || std::string_view(k) == "on");
      });
      t.refuse(key == std::end(keys) ? "" : *key, why);
    }
  }
}

void read_fit(const TomlTable& root, LearnSpec& spec) {
  if (const auto t = root.table("fit")) {
    spec.fit.method = t->choice("method", {"ridge", "sparse"}, 0) == 0 ? FitOptions::Method::Ridge : FitOptions::Method::Sparse;
    spec.fit.passive = t->boolean("passive", false);
    spec.train.epochs = t->integer("epochs", spec.train.epochs);
    if (spec.train.epochs < 1) t->refuse("epochs", "there is one epoch at least");
  }
}

void read_surroundings(const TomlTable& root, LearnFile& out) {
  for (const TomlTable& t : root.tables("obstacle")) {
    out.data.obstacle_names.push_back(t.string("name"));
    out.data.obstacles.push_back(t.vec3("at"));
  }
  auto actuators = build_actuators(*out.model, read_actuators(root, *out.model));
  if (!actuators) return root.refuse("actuators", actuators.error().what);
  out.actuators = std::move(*actuators);
  for (const Actuator& a : out.actuators) out.data.input_names.push_back(a.name());
}

// Recorded wrenches have pushes of actuators in them as they are mounted: known, they leave nothing for a term of actuators.
bool learns_pushes(const LearnFile& file) {
  const auto acts_at_points = [&](const TermSpec& t) {
    if (t.kind != TermKind::ActuatorGain && t.kind != TermKind::ActuatorMisalignment) return false;
    return std::any_of(file.actuators.begin(), file.actuators.end(), [&](const Actuator& a) {
      return a.freedom() < 0 && (t.on.empty() || std::find(t.on.begin(), t.on.end(), a.name()) != t.on.end());
    });
  };
  return std::any_of(file.spec.terms.begin(), file.spec.terms.end(), acts_at_points);
}

void read_data(const TomlTable& root, const std::string& path, LearnFile& out) {
  const std::vector<TomlTable> tables = root.tables("data");
  if (tables.empty()) root.refuse("", "there is no [[data]]: name the files to learn from");
  DataFileOptions options;
  options.accelerations = out.spec.window == 0;
  options.actuators = out.actuators;
  for (const TomlTable& t : tables) {
    const std::string file = t.string("file");
    options.loads = t.choice("loads", {"known", "unknown"}, 0) == 0;
    const bool held_out = t.boolean("held_out", false), judges = t.boolean("judges", false);
    if (held_out && judges)
      t.refuse("judges", "a run that judges is left out of everything else; strengths are not chosen on it");
    if (options.loads && std::filesystem::path(file).extension() != ".csv" && learns_pushes(out))
      t.refuse("loads",
               "recorded wrenches have the pushes of actuators in them with their errors, so that known wrenches leave nothing "
               "for an actuator's term: say loads = \"unknown\"; actuators then push as told by their recorded inputs");
    if (!root.sound()) return;
    out.inputs.push_back(beside(path, file));
    auto run = read_run(*out.model, out.inputs.back(), options);
    if (!run) return t.refuse("file", run.error().text());
    if (judges) out.spec.judges.push_back(static_cast<int>(out.data.runs.size()));
    if (held_out) out.spec.held_out.push_back(static_cast<int>(out.data.runs.size()));
    run->name = file;
    out.data.runs.push_back(std::move(*run));
  }
  if (out.spec.window > 0)
    if (auto done = differentiate(out.data, out.spec.window / 2); !done) root.refuse("window", done.error().what);
}

// Without a choice one of several runs is held out.
void check_method(const TomlTable& root, const LearnFile& file) {
  const bool held_out = !file.spec.held_out.empty() || file.data.runs.size() > file.spec.judges.size() + 1;
  if (file.spec.fit.method == FitOptions::Method::Sparse && !held_out) root.table("fit")->refuse("method", kSparseNeedsHeldOut);
}

}  // namespace

Result<LearnFile> read_learn_file(const std::string& path, std::vector<std::string>* warnings) {
  auto root = load_toml(path);
  if (!root) return tl::unexpected(root.error());
  LearnFile out;
  const std::string model_file = root->string("model");
  const std::string stem = std::filesystem::path(path).stem().string() + ".learned.json";
  out.output = beside(path, root->string("output", stem));
  out.spec.seed = seed_of(*root, 1);
  out.spec.window = root->integer("window", 0);
  if (out.spec.window != 0 && (out.spec.window < 3 || out.spec.window % 2 == 0))
    root->refuse("window", "the window of differences has 3, 5, 7, … samples");
  read_fit(*root, out.spec);
  if (!root->sound()) return tl::unexpected(root->finish().error());
  out.inputs = {path, beside(path, model_file)};
  auto model = read_model(out.inputs.back(), warnings, &out.nominal);
  if (!model) return tl::unexpected(model.error());
  out.model = std::make_shared<const Model>(std::move(*model));
  read_surroundings(*root, out);
  read_terms(*root, out, out.spec);
  if (root->sound()) read_data(*root, path, out);
  if (root->sound()) check_method(*root, out);
  if (auto fine = root->finish(); !fine) return tl::unexpected(fine.error());
  return out;
}

}  // namespace invar
