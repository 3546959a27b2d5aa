// SPDX-License-Identifier: Apache-2.0
//
// Forward dynamics in minimal coordinates, from q and q': accelerations of all joints of the tree, against MuJoCo's mj_forward on
// the same states in the same process. For loops Invar starts from coordinates that depend moved by 1e-2 (rad, m) and their rates
// by as much, closes the loops exactly and solves; MuJoCo is given the closed configuration and its constraints are soft.
// Before anything is timed the accelerations are compared with a dense solve of the unreduced equations.
#include "invar/mech/minimal/minimal.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cases.hpp"
#include "invar/base/random.hpp"
#include "invar/io/build_info.hpp"
#include "invar/mech/kinematics.hpp"
#include "measure.hpp"
#include "mujoco.hpp"
#include "support/dense_kkt.hpp"

namespace invar::bench {
namespace {

struct Options {
  std::string debian = "libmujoco.so", native, models = INVAR_MODELS, only;
  int states = 32, repetitions = 9, core = -1;
};

struct Bar {
  const char* name;
  double over_debian, over_native;
};
constexpr Bar kBars[] = {{"hinges 7", 0.35, 0}, {"hinges 20", 0.28, 0}, {"hinges 50", 0.15, 0}, {"four_bar", 0, 0.7},
                         {"ring7", 0, 0.7},     {"ring20", 0, 0.7},     {"ring50", 0, 0},       {"stewart", 0, 0.7}};

struct Subject {
  Minimal minimal;
  Load load;
  Rate rate;
  std::vector<Bodies> bodies;
  std::vector<State> states;

  explicit Subject(const Model& model) : minimal(model), load(model) {}

  /// A state of these bodies, what depends moved away from where it belongs.
  void add(const Bodies& at, std::uint64_t number) {
    State x;
    if (states.empty()) minimal.set(at, x);
    State here = states.empty() ? x : states.front();
    minimal.tree().measure(at, here.wound, here.q, here.v);
    Random random(7, number);
    VecX by(static_cast<Eigen::Index>(minimal.tree().dependent().size()));
    for (double& b : by) b = random.uniform(-1e-2, 1e-2);
    minimal.tree().move(minimal.tree().dependent(), by, here.q);
    for (const int d : minimal.tree().dependent()) here.v[d] += random.uniform(-1e-2, 1e-2);
    bodies.push_back(at);
    states.push_back(std::move(here));
  }
};

/// The largest difference from a dense solve, relative to the largest acceleration, at the first few states. All of them must be
/// ones that the formulation can take.
Result<double> check(Subject& s, const Model& model) {
  constexpr std::size_t kJudged = 4;
  double worst = 0;
  VecX all;
  for (std::size_t k = 0; k < s.states.size(); ++k) {
    const Verdict verdict = s.minimal.rate(s.states[k], s.load, s.rate);
    if (!verdict.ok()) return fail(ErrorKind::Numerics, fmt::format("{}: {} at state {}", model.name(), name(verdict.status), k));
    if (k >= kJudged) continue;
    const testing::Judgement truth = testing::judge(model, s.bodies[k], s.load);
    joint_accelerations(model, s.bodies[k], truth.accelerations, all);
    const double scale = s.rate.a.cwiseAbs().maxCoeff();
    for (int i = 0; i < s.minimal.tree().nv(); ++i)
      if (const int f = s.minimal.tree().freedom_of_model(i); f >= 0)
        worst = std::max(worst, std::abs(s.rate.a[i] - all[f]) / scale);
  }
  return worst;
}

Result<void> measure(const Case& c, const Bar& bar, const Options& options, const std::vector<MujocoLibrary>& builds) {
  Subject subject(c.model);
  for (int k = 0; k < options.states; ++k) {
    auto bodies = random_state(c.model, static_cast<std::uint64_t>(k), true);
    if (!bodies) return tl::unexpected(bodies.error());
    subject.add(*bodies, static_cast<std::uint64_t>(k));
  }
  const auto worst = check(subject, c.model);
  if (!worst) return tl::unexpected(worst.error());
  std::vector<Contestant> contestants{[&](int s, int count) {
    for (int i = 0; i < count; ++i) subject.minimal.rate(subject.states[static_cast<std::size_t>(s)], subject.load, subject.rate);
  }};
  std::vector<std::unique_ptr<Mujoco>> peers;
  std::vector<MujocoState> states;
  for (const MujocoLibrary& library : builds) {
    auto peer = Mujoco::load(library, c.model);
    if (!peer) return tl::unexpected(peer.error());
    if (states.empty())
      for (const Bodies& b : subject.bodies) states.push_back((*peer)->encode(b));
    fastest_settings(**peer, states);
    contestants.push_back(forward_of(**peer, states));
    peers.push_back(std::move(*peer));
  }
  const std::vector<double> ns = time_side_by_side(contestants, options.states, options.repetitions);
  const double of_debian = ns[0] / ns[1], of_native = ns.size() > 2 ? ns[0] / ns[2] : 0;
  const double wanted = bar.over_debian > 0 ? bar.over_debian : bar.over_native;
  const double got = bar.over_debian > 0 ? of_debian : of_native;
  fmt::print("| {} | {:.0f} | {:.0f} | {:.3f} | {} | {} | {} | {} | {:.1e} |\n", c.name, ns[0], ns[1], of_debian,
             ns.size() > 2 ? fmt::format("{:.0f}", ns[2]) : "-", ns.size() > 2 ? fmt::format("{:.3f}", of_native) : "-",
             wanted > 0 ? fmt::format("{} {}", wanted, bar.over_debian > 0 ? "Debian" : "native") : "-",
             wanted > 0 && got > 0 ? fmt::format("{:.2f}", got / wanted) : "-", *worst);
  std::fflush(stdout);
  return {};
}

int run(const Options& options) {
  const auto builds = open_builds(options.debian, options.native);
  if (!builds) return complain(builds.error());
  const auto all = cases(options.models);
  if (!all) return complain(all.error());
  const BuildInfo build = build_info();
  const int core = pin(options.core);
  fmt::print("Invar {} by {} ({}), minimal coordinates; MuJoCo {}; core {}; medians of {} states x {} repetitions\n\n",
             build.version, build.compiler, build.flags, builds->front().version(), core, options.states, options.repetitions);
  fmt::print("| model | Invar ns | MuJoCo (Debian) ns | ratio | MuJoCo (native) ns | ratio | bar | over bar | to dense KKT |\n");
  fmt::print("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const Bar& bar : kBars)
    for (const Case& c : *all) {
      if (c.name != bar.name || c.name.find(options.only) == std::string::npos) continue;
      if (const auto done = measure(c, bar, options, *builds); !done) return complain(done.error());
    }
  return 0;
}

}  // namespace
}  // namespace invar::bench

int main(int argc, char** argv) {
  invar::bench::Options options;
  CLI::App app("Forward dynamics from joint coordinates, side by side with MuJoCo.");
  app.add_option("--debian", options.debian, "MuJoCo as Debian built it");
  app.add_option("--native", options.native, "MuJoCo rebuilt for this processor (bench/build_native_mujoco.sh)");
  app.add_option("--models", options.models, "folder of the model files");
  app.add_option("--only", options.only, "only cases whose name contains this");
  app.add_option("--states", options.states, "random states per case")->check(CLI::Range(1, 10000));
  app.add_option("--repetitions", options.repetitions)->check(CLI::Range(1, 1000));
  app.add_option("--core", options.core, "core to run on; the last one by default");
  CLI11_PARSE(app, argc, argv);
  return invar::bench::run(options);
}
