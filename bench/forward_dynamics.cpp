// SPDX-License-Identifier: Apache-2.0
//
// The speed table: one forward-dynamics call with every joint reaction, from poses and twists of all bodies, against MuJoCo's
// mj_forward (which returns no reactions), in the same process, on the same states, after the results were compared.
//   trees   accelerations and joint wrenches against MuJoCo, both against a dense KKT solve
//   loops   MuJoCo's constraints are soft (impedance at most 0.9999) and leave out the velocity term J' v, so they are compared
//   at
//           rest and to a few parts in 10⁴; ours against the dense KKT solve, moving
// MuJoCo runs with everything off that it does not need, and for loops with the fastest of its solvers that gives its own answer.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cases.hpp"
#include "invar/io/build_info.hpp"
#include "invar/mech/augmented.hpp"
#include "measure.hpp"
#include "mujoco.hpp"
#include "support/dense_kkt.hpp"

namespace invar::bench {

namespace {

struct Options {
  std::string debian = "libmujoco.so", native, models = INVAR_MODELS, only, json;
  int states = 32, repetitions = 9, core = -1;
};

/// One line of the table; zero where something was not measured.
struct Row {
  std::string name;
  int bodies = 0;
  double invar = 0, debian = 0, native = 0, native_with_forces = 0;          // ns per call
  double bar_debian = 0, bar_native = 0;                                     // wanted ratios
  double to_judge = 0, reactions_to_judge = 0, to_peer = 0, unbalanced = 0;  // relative
  std::string peer_settings;

  double ratio_debian() const { return debian > 0 ? invar / debian : 0; }
  double ratio_native() const { return native > 0 ? invar / native : 0; }
  double bar() const { return std::max(bar_debian, bar_native); }
  double measured() const { return bar_debian > 0 ? ratio_debian() : ratio_native(); }
};

/// Our side: one model, its states and the last results.
struct Subject {
  const Model& model;
  Augmented solver;
  Load load;
  std::vector<Bodies> states, resting;
  Accelerations accelerations;
  std::vector<Wrench> reactions;

  explicit Subject(const Model& m)
      : model(m), solver(m), load(m), accelerations(m.bodies().size()), reactions(m.joints().size()) {}

  Verdict solve(const Bodies& bodies) { return solver.solve(bodies, load, accelerations, reactions); }
};

Result<void> draw_states(Subject& subject, int count) {
  for (int k = 0; k < count; ++k) {
    for (const bool moving : {true, false}) {
      auto bodies = random_state(subject.model, static_cast<std::uint64_t>(k), moving);
      if (!bodies) return tl::unexpected(bodies.error());
      (moving ? subject.states : subject.resting).push_back(std::move(*bodies));
    }
  }
  return {};
}

/// Compares with the dense judge where that is affordable, and with Newton and Euler always.
Result<void> check_ourselves(Subject& subject, Row& row) {
  const int judged = row.bodies <= 20 ? 8 : (row.bodies <= 50 ? 2 : 0);
  for (int k = 0; k < static_cast<int>(subject.states.size()); ++k) {
    const Bodies& bodies = subject.states[static_cast<std::size_t>(k)];
    const Verdict verdict = subject.solve(bodies);
    if (!verdict.ok()) return fail(ErrorKind::Numerics, fmt::format("{}: {} at state {}", row.name, name(verdict.status), k));
    const VecX efforts = testing::total_efforts(subject.model, bodies, subject.load);
    row.unbalanced =
        std::max(row.unbalanced, imbalance(subject.model, bodies, efforts, subject.accelerations, subject.reactions));
    if (k >= judged) continue;
    const testing::Judgement truth = testing::judge(subject.model, bodies, subject.load);
    row.to_judge = std::max(row.to_judge, difference(subject.accelerations, truth.accelerations));
    // Reactions are unique only where no row is redundant.
    if (truth.self_stress.cols() == 0)
      row.reactions_to_judge = std::max(row.reactions_to_judge, difference(subject.reactions, truth.reactions));
  }
  return {};
}

/// Compares with MuJoCo: trees moving and with wrenches, loops at rest.
Result<void> check_peer(Subject& subject, Mujoco& peer, Row& row) {
  for (const Bodies& bodies : peer.closed() ? subject.resting : subject.states) {
    const Verdict verdict = subject.solve(bodies);
    if (!verdict.ok()) return fail(ErrorKind::Numerics, fmt::format("{}: {}", row.name, name(verdict.status)));
    peer.forward(peer.encode(bodies));
    peer.joint_forces();
    row.to_peer = std::max(row.to_peer, difference(subject.accelerations, peer.accelerations()));
    if (!peer.closed()) row.to_peer = std::max(row.to_peer, difference(subject.reactions, peer.carrier_wrenches(bodies)));
  }
  // Are the two models one? How exact Invar is, the dense solve tells; what is left here on open chains (up to 2e-9 on seven
  // floating balls) is MuJoCo's own error. Its closed constraints are soft.
  const double allowed = peer.closed() ? 1e-2 : 1e-8;
  if (!(row.to_peer <= allowed)) {
    return fail(ErrorKind::Numerics,
                fmt::format("{}: differs from MuJoCo by {:.2g} (allowed {:.0e})", row.name, row.to_peer, allowed));
  }
  return {};
}

Result<Row> measure(const Case& c, const Options& options, const std::vector<MujocoLibrary>& builds) {
  Row row;
  row.name = c.name;
  row.bodies = static_cast<int>(c.model.bodies().size());
  row.bar_debian = c.bar_debian;
  row.bar_native = c.bar_native;
  Subject subject(c.model);
  if (auto r = draw_states(subject, options.states); !r) return tl::unexpected(r.error());
  if (auto r = check_ourselves(subject, row); !r) return tl::unexpected(r.error());

  // Contestants: ours, then MuJoCo's builds; the native one once more with its joint forces.
  std::vector<Contestant> contestants{[&](int s, int count) {
    for (int i = 0; i < count; ++i) subject.solve(subject.states[static_cast<std::size_t>(s)]);
  }};
  std::vector<std::unique_ptr<Mujoco>> peers;
  std::vector<MujocoState> states;
  for (const MujocoLibrary& library : builds) {
    if (!c.with_peer) continue;
    auto peer = Mujoco::load(library, c.model);
    if (!peer) return tl::unexpected(peer.error());
    if (auto r = check_peer(subject, **peer, row); !r) return tl::unexpected(r.error());
    if (states.empty()) {
      for (const Bodies& bodies : subject.states) states.push_back((*peer)->encode(bodies));
    }
    const MujocoSettings settings = fastest_settings(**peer, states);
    if ((*peer)->closed()) row.peer_settings = settings.text();
    contestants.push_back(forward_of(**peer, states));
    peers.push_back(std::move(*peer));
  }
  if (peers.size() == 2) {
    contestants.push_back([&](int s, int count) {
      for (int i = 0; i < count; ++i) peers[1]->forward(states[static_cast<std::size_t>(s)]), peers[1]->joint_forces();
    });
  }
  const std::vector<double> ns = time_side_by_side(contestants, options.states, options.repetitions);
  row.invar = ns[0];
  if (ns.size() > 1) row.debian = ns[1];
  if (ns.size() > 3) row.native = ns[2], row.native_with_forces = ns[3];
  return row;
}

std::string number(double value, const char* format) { return value > 0 ? fmt::format(fmt::runtime(format), value) : "-"; }

void print_head() {
  fmt::print(
      "| model | Invar ns | per body | MuJoCo (Debian) ns | ratio | MuJoCo (native) ns | ratio | with its joint forces | bar | "
      "over bar | "
      "to dense KKT: acc. | reactions | Newton-Euler | to MuJoCo |\n|---|{}\n",
      "---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
}

void print(const Row& r) {
  fmt::print("| {} | {:.0f} | {:.1f} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1e} | {} |\n", r.name, r.invar,
             r.invar / r.bodies, number(r.debian, "{:.0f}"), number(r.ratio_debian(), "{:.3f}"), number(r.native, "{:.0f}"),
             number(r.ratio_native(), "{:.3f}"), number(r.native_with_forces, "{:.0f}"),
             r.bar() > 0 ? fmt::format("{} {}", r.bar(), r.bar_debian > 0 ? "Debian" : "native") : "-",
             r.bar() > 0 ? number(r.measured() / r.bar(), "{:.2f}") : "-", number(r.to_judge, "{:.1e}"),
             number(r.reactions_to_judge, "{:.1e}"), r.unbalanced, number(r.to_peer, "{:.1e}"));
  std::fflush(stdout);
}

/// How the time grows from 50 to 1000 links.
void print_growth(const std::vector<Row>& rows) {
  for (const std::string kind : {"hinges", "balls"}) {
    const auto of = [&](const char* n) { return std::ranges::find(rows, kind + " " + n, &Row::name); };
    if (of("50") == rows.end() || of("1000") == rows.end()) continue;
    fmt::print("growth of {} from 50 to 1000: {:.1f} x (bar 22)\n", kind, of("1000")->invar / of("50")->invar);
  }
}

void write_json(const std::vector<Row>& rows, const Options& options, const std::string& path) {
  const BuildInfo build = build_info();
  nlohmann::json out{{"format", 1},
                     {"build", {{"version", build.version}, {"compiler", build.compiler}, {"flags", build.flags}}}};
  out["method"] = {{"states", options.states}, {"repetitions", options.repetitions}, {"unit", "ns per call, median"}};
  for (const Row& r : rows) {
    out["rows"].push_back({{"model", r.name},
                           {"bodies", r.bodies},
                           {"invar", r.invar},
                           {"mujoco_debian", r.debian},
                           {"mujoco_native", r.native},
                           {"mujoco_native_with_joint_forces", r.native_with_forces},
                           {"mujoco_settings", r.peer_settings},
                           {"bar_debian", r.bar_debian},
                           {"bar_native", r.bar_native},
                           {"accelerations_to_dense_kkt", r.to_judge},
                           {"reactions_to_dense_kkt", r.reactions_to_judge},
                           {"newton_euler", r.unbalanced},
                           {"to_mujoco", r.to_peer}});
  }
  std::ofstream(path) << out.dump(1) << '\n';
}

int run(const Options& options) {
  const auto builds = open_builds(options.debian, options.native);
  if (!builds) return complain(builds.error());
  const auto all = cases(options.models);
  if (!all) return complain(all.error());
  const BuildInfo build = build_info();
  const int core = pin(options.core);
  fmt::print("Invar {} by {} ({}); MuJoCo {}; core {}; medians of {} states x {} repetitions\n\n", build.version, build.compiler,
             build.flags, builds->front().version(), core, options.states, options.repetitions);
  print_head();
  std::vector<Row> rows;
  for (const Case& c : *all) {
    if (c.name.find(options.only) == std::string::npos) continue;
    const auto row = measure(c, options, *builds);
    if (!row) return complain(row.error());
    print(*row);
    rows.push_back(*row);
  }
  fmt::print("\n");
  print_growth(rows);
  for (const Row& r : rows) {
    if (!r.peer_settings.empty()) fmt::print("{}: MuJoCo fastest with {}\n", r.name, r.peer_settings);
  }
  if (!options.json.empty()) write_json(rows, options, options.json);
  return 0;
}

}  // namespace

}  // namespace invar::bench

int main(int argc, char** argv) {
  invar::bench::Options options;
  CLI::App app("Forward dynamics with all reactions, side by side with MuJoCo.");
  app.add_option("--debian", options.debian, "MuJoCo as Debian built it");
  app.add_option("--native", options.native, "MuJoCo rebuilt for this processor (bench/build_native_mujoco.sh)");
  app.add_option("--models", options.models, "folder of the model files");
  app.add_option("--only", options.only, "only cases whose name contains this");
  app.add_option("--json", options.json, "file for the results");
  app.add_option("--states", options.states, "random states per case")->check(CLI::Range(1, 10000));
  app.add_option("--repetitions", options.repetitions)->check(CLI::Range(1, 1000));
  app.add_option("--core", options.core, "core to run on; the last one by default");
  CLI11_PARSE(app, argc, argv);
  return invar::bench::run(options);
}
