// SPDX-License-Identifier: Apache-2.0
// What directions without inertia and many loops cost: rows of windows (IFToMM A02), nets of windows, a Stewart platform and a
// chain, of regular bodies, ideal rods, point masses and massless links; and what `invar info` asks for on long chains.
// A step is that of the whole run loop with all reactions and laws, not of the solver alone: the processor time of the later
// stretch of a run over its steps, best of several, so that preparing a run does not count. `swing`: before the windows first lie
// flat; `flat`: through that position, where as many rows as there are windows depend on others for an instant.
// rods [info] [augmented] [minimal] [nets] [trees] [natural]: only these parts.
// Every bar is told as met or MISSED. Exit code 1 where a run failed: its figures are none.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "clock.hpp"
#include "invar/io/build_info.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/run/run.hpp"
#include "invar/run/start.hpp"
#include "support/folder.hpp"
#include "support/linkages.hpp"

namespace {

using namespace invar;
using bench::now;
using ModelPointer = std::shared_ptr<const Model>;

constexpr double kStep = 0.002;   // s
constexpr double kNoExtra = 1.1;  // what costs nothing more: such ratios repeat within a tenth on a busy machine

// How the bars were met.
int met = 0, missed = 0, failed = 0;

void judge(const std::string& what, double value, const char* unit, double bar) {
  const bool known = std::isfinite(value);
  ++(!known ? failed : value <= bar ? met : missed);
  fmt::print("| {} | {:.3g}{} | {:g} | {} |\n", what, value, unit, bar, !known ? "FAILED" : value <= bar ? "met" : "MISSED");
  std::fflush(stdout);
}

ModelPointer build(const ModelSpec& spec) {
  auto model = Model::build(spec);
  if (!model) fmt::print(stderr, "{}: {}\n", spec.name, model.error().what), std::exit(2);
  return std::make_shared<const Model>(std::move(*model));
}

enum class Rods { Regular, Ideal, Massless, Points };
constexpr const char* kNames[] = {"regular", "ideal", "massless bars", "point masses"};
constexpr double kAboutAxis = 0.0008;  // kg m²: of regular rods

ModelPointer windows(int n, Rods rods) {
  ModelSpec spec = testing::windows(n, rods == Rods::Regular ? kAboutAxis : 0.0);
  for (BodySpec& body : spec.bodies) {
    if (rods == Rods::Points) body.inertia.I_C.setZero();
    if (rods == Rods::Massless && body.name.starts_with("bar")) body.inertia = Inertia{};
  }
  return build(spec);
}

// All legs, or none of them.
ModelPointer stewart(bool massless) {
  auto spec = read_model_file(std::string(INVAR_MODELS) + "/stewart.toml");
  if (!spec) fmt::print(stderr, "{}\n", spec.error().text()), std::exit(2);
  for (BodySpec& body : spec->bodies)
    if (massless && body.name != "platform") body.inertia = Inertia{};
  return build(*spec);
}

// Every second link, or none; the last one always has mass.
ModelPointer chain(int n, Rods rods) {
  ModelSpec spec = testing::hinge_chain(n);
  for (int k = 0; k + 1 < n; k += 2) {
    Inertia& inertia = spec.bodies[static_cast<std::size_t>(k)].inertia;
    if (rods == Rods::Points) inertia.I_C.setZero();
    if (rods == Rods::Massless) inertia = Inertia{};
  }
  return build(spec);
}

struct Cost {
  double seconds = 0, steps = 0, drift = 0;
};

// Windows begin with all cranks at -1 rad/s, everything else where its [initial] is.
Cost cost_of(const ModelPointer& model, const char* formulation, const char* method, double end) {
  Scenario s;
  s.model = model;
  s.start = Start(*model);
  s.start.named.assign(model->joints().size(), false);
  for (std::size_t j = 0; j < model->joints().size(); ++j)
    if (model->name().starts_with("A02") && model->joints()[j].name.starts_with("a")) {
      s.start.named[j] = true;
      s.start.joints.v[model->joints()[j].v0] = -1;
    }
  s.start.joints.name(*model, s.start.named);
  s.method.formulation = formulation, s.method.integrator = method, s.method.step = kStep;
  s.end_time = end;
  const double began = now();
  const auto outcome = run(s);
  Cost cost{now() - began};
  if (!outcome || outcome->end != Outcome::End::Finished) {
    fmt::print(stderr, "{} {}, {}: {}\n", formulation, method, model->name(), outcome ? outcome->words : outcome.error().what);
    return {std::nan("")};
  }
  for (const Metric& m : outcome->metrics) {
    if (m.name == "steps") cost.steps = m.value;
    if (m.name == "energy_drift") cost.drift = m.value;
  }
  return cost;
}

// Between two times of a run; of its energy what the longer one loses, J.
Cost between(const ModelPointer& model, const char* formulation, const char* method, double from, double to) {
  double shorter = std::numeric_limits<double>::infinity(), longer = shorter;
  Cost out;
  for (int k = 0; k < 3; ++k) {
    const Cost a = cost_of(model, formulation, method, from), b = cost_of(model, formulation, method, to);
    if (std::isnan(a.seconds + b.seconds)) return {std::nan("")};
    shorter = std::min(shorter, a.seconds), longer = std::min(longer, b.seconds);
    out.steps = b.steps - a.steps, out.drift = b.drift;
  }
  out.seconds = longer - shorter;
  return out;
}

// Milliseconds.
double per_step(const Cost& cost) { return 1e3 * cost.seconds / cost.steps; }
double step_of(const ModelPointer& model, const char* formulation, double from, double to) {
  return per_step(between(model, formulation, "rk4", from, to));
}

void rows_of_windows(const char* formulation, double bar) {
  constexpr int kSizes[] = {10, 40, 160};
  const auto name = [&](int n, Rods rods) {
    return fmt::format("{}, {} windows, {}", formulation, n, kNames[static_cast<int>(rods)]);
  };
  double ms[4][3];
  for (const Rods rods : {Rods::Regular, Rods::Ideal, Rods::Massless, Rods::Points}) {
    double* const row = ms[static_cast<int>(rods)];
    for (int k = 0; k < 3; ++k) row[k] = step_of(windows(kSizes[k], rods), formulation, 0.1, k == 2 ? 0.2 : 0.5);
    if (rods == Rods::Ideal) judge(name(40, rods) + ", swing", row[1], " ms", bar);
    if (rods == Rods::Regular || rods == Rods::Ideal) {
      judge(name(40, rods) + " over 10", row[1] / row[0], "", 5);
      judge(name(160, rods) + " over 10", row[2] / row[0], "", 20);
    }
    if (rods != Rods::Regular) judge(name(40, rods) + " over regular", row[1] / ms[0][1], "", rods == Rods::Ideal ? 1.3 : 2);
  }
  for (const Rods rods : {Rods::Regular, Rods::Ideal}) {
    const Cost flat = between(windows(40, rods), formulation, "rk4", 0.6, 0.9);
    fmt::print("| {}, through flat, loses {:.0e} J | {:.3g} ms | - | - |\n", name(40, rods), flat.drift, per_step(flat));
  }
}

// Milliseconds of the accelerations of one state, or of all that an evaluation tells (reactions of least norm, too), best of
// several. Two states by turns, less than rounding of a closed loop apart: nothing of the one before can be used again.
double evaluation_of(const ModelPointer& model, bool reactions) {
  Augmented formulation(*model, {.verdicts = false});
  const auto start = state_at(formulation, Start(*model));
  if (!start) return std::nan("");
  State x[2] = {*start, *start};
  x[1].q[0] += 1e-13;
  const Load load(*model);
  Evaluation e;
  Rate rate;
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 40; ++k) {
    const double began = now();
    if (!(reactions ? formulation.evaluate(x[k % 2], load, e) : formulation.rate(x[k % 2], load, rate)).ok()) return std::nan("");
    if (k > 1) best = std::min(best, 1e3 * (now() - began));
  }
  return best;
}

// By what a step evaluates: watching for singular configurations would hide it. Its decompositions are dense, of up to 160
// freedoms: those of the smaller net make its steps dearer than those of the larger one, which is not watched.
void nets() {
  for (const bool reactions : {false, true}) {
    const char* const what = reactions ? "accelerations and reactions" : "accelerations";
    double ms[2][2];
    for (const int ideal : {0, 1})
      for (const int large : {0, 1})
        ms[ideal][large] = evaluation_of(build(testing::net_of_rods(8 << large, ideal ? 0 : kAboutAxis)), reactions);
    judge(fmt::format("augmented, net 16 x 16 over 8 x 8, regular, {}", what), ms[0][1] / ms[0][0], "", 6.5);
    judge(fmt::format("augmented, net 16 x 16 over 8 x 8, ideal, {}", what), ms[1][1] / ms[1][0], "", 6.5);
    for (const int large : {0, 1})
      judge(fmt::format("augmented, net {0} x {0}, ideal over regular, {1}", 8 << large, what), ms[1][large] / ms[0][large], "",
            1.3);
  }
}

void trees() {
  const double platform = step_of(stewart(false), "augmented", 0.1, 0.9);
  judge("augmented, Stewart, massless legs over regular", step_of(stewart(true), "augmented", 0.1, 0.9) / platform, "", 2);
  const double regular = step_of(chain(60, Rods::Regular), "augmented", 0.1, 0.9);
  for (const Rods rods : {Rods::Massless, Rods::Points})
    judge(fmt::format("augmented, chain of 60, every second link {} over regular", rods == Rods::Points ? "a point" : "massless"),
          step_of(chain(60, rods), "augmented", 0.1, 0.9) / regular, "", kNoExtra);
}

void natural() {
  for (const Rods rods : {Rods::Regular, Rods::Ideal})
    for (const int n : {10, 40}) {
      const ModelPointer model = windows(n, rods);
      const Cost a = between(model, "augmented", "dopri5", 0.1, 0.5), b = between(model, "natural", "dopri5", 0.1, 0.5);
      judge(fmt::format("natural/dopri5 over augmented/dopri5, {} windows, {}", n, kNames[static_cast<int>(rods)]),
            b.seconds / a.seconds, "", 2);
    }
}

struct Used {
  double seconds = 0, kibibytes = 0;
};

// What the program asks for, best of several. Whoever starts it counts to its largest memory: this part comes first, while this
// program is small.
Used info(int hinges) {
  const testing::Folder folder;
  const std::string file = folder / "chain.toml";
  testing::write_file(file, write_model(testing::hinge_chain(hinges)));
  Used least{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (int k = 0; k < 3; ++k) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
      ::execl(INVAR_PROGRAM, "invar", "info", file.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    int status = 0;
    rusage used{};
    if (::wait4(child, &status, 0, &used) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
      return {std::nan(""), std::nan("")};
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
    least.seconds = std::min(least.seconds, seconds(used.ru_utime) + seconds(used.ru_stime));
    least.kibibytes = std::min(least.kibibytes, static_cast<double>(used.ru_maxrss));
  }
  return least;
}

void chains() {
  constexpr int kHinges[] = {200, 1000, 3000};
  constexpr double kSeconds[] = {0.1, 0.6, 2};
  Used used[3];
  for (int k = 0; k < 3; ++k) {
    used[k] = info(kHinges[k]);
    judge(fmt::format("info, chain of {} hinges", kHinges[k]), used[k].seconds, " s", kSeconds[k]);
  }
  judge(fmt::format("info, memory, 3000 hinges ({:.0f} MiB) over 1000", used[2].kibibytes / 1024),
        used[2].kibibytes / used[1].kibibytes, "", 3);
}

}  // namespace

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*judge)();
  } parts[] = {{"info", chains},
               {"augmented", [] { rows_of_windows("augmented", 1.2); }},
               {"minimal", [] { rows_of_windows("minimal", 2); }},
               {"nets", nets},
               {"trees", trees},
               {"natural", natural}};
  const BuildInfo build = build_info();
  fmt::print("Invar {} by {} ({}), rods and loops; steps of rk4, {:g} s\n\n| what | value | bar | |\n|---|---:|---:|---|\n",
             build.version, build.compiler, build.flags, kStep);
  for (const auto& part : parts)
    if (argc == 1 || std::find(argv + 1, argv + argc, std::string(part.name)) != argv + argc) part.judge();
  fmt::print("\n{} bars met, {} missed, {} without a figure\n", met, missed, failed);
  return failed > 0 || met + missed == 0 ? 1 : 0;
}
