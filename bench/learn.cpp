// SPDX-License-Identifier: Apache-2.0
//
// What learning costs on paper A's chain of five bodies: one evaluation of a learned load, one update of its coefficients while a
// loop runs, sums and fit of 2000 samples on one core. Best of several stretches of processor time, and how often the heap was
// asked in all of them. Bars: 0.5 us for the dictionary, 5 us for 100 Fourier features and for two layers of 32 units, 25 us for
// 71 coefficients by 18 rows, 1 s and 10 s for fits with 71 and 713 columns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "alloc/count_heap.hpp"
#include "clock.hpp"
#include "invar/base/random.hpp"
#include "invar/io/build_info.hpp"
#include "invar/io/model_file.hpp"
#include "invar/learn/domain.hpp"
#include "invar/learn/fit.hpp"
#include "invar/learn/learned_load.hpp"
#include "invar/learn/recursive_fit.hpp"
#include "invar/run/start.hpp"

namespace {

using namespace invar;
using bench::now;

constexpr int kSamples = 2000, kHeldOut = 200;
constexpr double kNoise = 0.05;  // of accelerations

Vec3 drawn(Random& random, double size) { return size * Vec3(random.normal(), random.normal(), random.normal()); }

// Somewhere, in motion, with accelerations of about those of the reference case.
DataSample sample(const Model& model, Random& random, double t) {
  Start start(model);
  start.named.assign(model.joints().size(), true);
  for (const Joint& j : model.joints())
    for (int k = 0; k < j.nv; ++k) {
      if (j.nq == j.nv) start.joints.q[j.q0 + k] = random.uniform(-0.5, 0.5);
      start.joints.v[j.v0 + k] = random.uniform(-1, 1);
    }
  start.joints.name(model, start.named);
  DataSample s;
  s.t = t, s.bodies = *bodies_at(model, start);
  for (std::size_t b = 0; b < s.bodies.size(); ++b) s.accelerations.push_back({drawn(random, 2), drawn(random, 2)});
  s.port.resize(s.bodies.size()), s.efforts = VecX::Zero(model.nv());
  return s;
}

// A run whose load is drag with drawn coefficients, and noise.
DataRun run(const Model& model, std::uint64_t seed, int samples) {
  Random random(seed);
  const Terms drag = *Terms::build(model, {TermSpec{}});
  VecX c(drag.columns());
  for (double& x : c) x = random.uniform(0, 1);
  ConstrainedInverse inverse(model);
  DataRun out{"run", {}};
  for (int i = 0; i < samples; ++i) {
    DataSample s = sample(model, random, i);
    Port moves(s.bodies.size()), acts(s.bodies.size()), workspace(s.bodies.size());
    Accelerations a(s.bodies.size());
    inverse.at(s.bodies);
    if (!allowed(inverse, s.accelerations, workspace, a).ok()) fmt::print("the motion is none\n");
    left_over(inverse, a, Port(s.bodies.size()), s.efforts, moves);
    drag.add(s.bodies, {}, c.data(), acts);
    for (std::size_t b = 0; b < s.bodies.size(); ++b) {
      s.port[b] = moves[b] - acts[b];
      s.accelerations[b] = {a[b].a_WC + drawn(random, kNoise), a[b].alpha_WB + drawn(random, kNoise)};
    }
    out.samples.push_back(std::move(s));
  }
  return out;
}

TermSpec term(TermKind kind) {
  TermSpec t;
  t.kind = kind, t.sharing = usual_sharing(kind);
  if (kind == TermKind::JointCoulomb) t.smoothing = {0.03, 0.08};
  return t;
}

void print(const std::string& what, double value, const char* unit, double bar, long heap = -1) {
  fmt::print("| {} | {:.2f} {} | {:g} | {:.2f} | {} |\n", what, value, unit, bar, value / bar,
             heap < 0 ? "-" : fmt::format("{}", heap));
}

template <class Call>
void calls(const std::string& what, double bar, Call&& call) {
  constexpr int kCalls = 200;
  for (int i = 0; i < kCalls; ++i) call(i);
  const testing::HeapCount heap;
  double best = 1e300;
  for (int k = 0; k < 40; ++k) {
    const double began = now();
    for (int i = 0; i < kCalls; ++i) call(i);
    best = std::min(best, 1e6 * (now() - began) / kCalls);
  }
  print(what, best, "us", bar, heap.calls());
}

// The load part of a learned model, with a domain for what fades out beyond its data.
void evaluation(const std::string& what, const Model& model, const DataSet& data, std::vector<TermSpec> specs, double bar) {
  auto learned = std::make_shared<Learned>();
  learned->bodies = names_of(model.bodies()), learned->joints = names_of(model.joints());
  learned->nominal = numbers_of(model);
  int columns = 0;
  for (TermSpec& t : specs) {
    if (is_generic(t.kind)) {
      t.scales = scales_of(data, model.length());
      t.domain = domain_of(static_cast<const FeatureTerm&>(Terms::build(model, {t})->term(0)), data);
    }
    learned->terms.push_back(t);
    learned->counts.push_back(Terms::build(model, {t})->columns());
    columns += learned->counts.back();
  }
  learned->coefficients = VecX::Constant(columns, 0.1);
  const auto load = LearnedLoad::build(std::make_shared<const Model>(model), learned);
  if (!load) return fmt::print("{}\n", load.error().text());
  Load out(model);
  const std::vector<DataSample>& samples = data.runs[0].samples;
  calls(what, bar, [&](int i) { load->add(0.0, samples[static_cast<std::size_t>(i)].bodies, out); });
}

// Looks at rows of plain noise: what they say does not change what they cost.
void update() {
  constexpr int kColumns = 71, kRows = 18;
  RecursiveSpec spec;
  spec.prior = VecX::Ones(kColumns), spec.noise = 1;
  RecursiveFit fit(spec, kRows);
  Random random(3);
  MatX H(kRows, kColumns);
  VecX y(kRows);
  for (double& x : H.reshaped()) x = random.normal();
  for (double& x : y) x = random.normal();
  calls("update of 71 coefficients by 18 rows", 25, [&](int) { fit.look(H, y); });
}

// Sums over training and held-out runs, choice of strengths and fit.
void fits(const Model& model, const DataSet& data, const std::vector<TermSpec>& specs, double bar) {
  double best = 1e300;
  const auto terms = Terms::build(model, specs);
  for (int k = 0; k < 2; ++k) {
    const double began = now();
    const auto training = gram_of(model, *terms, data, {0}), held_out = gram_of(model, *terms, data, {1});
    if (!training || !held_out || !fit(*terms, *training, *held_out)) return fmt::print("the fit is refused\n");
    best = std::min(best, now() - began);
  }
  print(fmt::format("sums and fit of {} samples, {} columns", kSamples, terms->columns()), best, "s", bar);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string models = argc > 1 ? argv[1] : INVAR_MODELS;
  const auto chain = read_model_file(models + "/paper_a_arm.toml");
  if (!chain) return fmt::print(stderr, "{}\n", chain.error().text()), 2;
  const Model model = *Model::build(*chain);
  DataSet data;
  data.runs = {run(model, 1, kSamples), run(model, 2, kHeldOut)};
  const BuildInfo build = build_info();
  fmt::print(
      "Invar {} by {} ({}), learning, five bodies\n\n| case | value | bar | over bar | heap calls |\n|---|---:|---:|---:|---:|\n",
      build.version, build.compiler, build.flags);
  const TermSpec drag = term(TermKind::Drag), friction = term(TermKind::JointCoulomb);
  TermSpec fourier = term(TermKind::Fourier), network = term(TermKind::Network);
  evaluation("drag", model, data, {drag}, 0.5);
  evaluation("drag and friction at two rates", model, data, {drag, friction}, 0.5);
  evaluation("100 Fourier features", model, data, {fourier}, 5);
  evaluation("network 6-32-32-6", model, data, {network}, 5);
  update();
  std::vector<TermSpec> specs = {term(TermKind::Inertia), term(TermKind::JointViscous), friction, drag};
  fits(model, data, specs, 1);
  fourier.scales = scales_of(data, model.length());
  specs.push_back(fourier);
  fits(model, data, specs, 10);
  return 0;
}
