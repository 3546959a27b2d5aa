// SPDX-License-Identifier: Apache-2.0
#include "invar/run/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/base/check.hpp"
#include "invar/base/largest.hpp"
#include "invar/run/trace.hpp"

namespace invar {
namespace {

constexpr double kSafety = 3;         // errors are estimated, and those of two ways may add up
constexpr double kRoundOff = 1e-9;    // of the size of the motion
constexpr double kUnresolved = 0.1;   // of the size of the motion
constexpr long kInstants = 500;       // at most about so many are compared
constexpr std::size_t kSeries = 100;  // of the instants are kept for people
constexpr double kTighter = 0.1;      // of the tolerances of adaptive methods

std::string name_of(const Method& m) {
  std::string name = m.formulation + "/" + m.integrator;
  const StepperOptions& o = m.options.stepper;
  if (m.integrator == "petrov_galerkin") name += fmt::format("/{}", o.degree);
  if (o.gradient == Gradient::Discrete) name += "/discrete";
  if (o.stabilised) name += "/stabilised";
  if (o.composition != Composition::None) name += "/" + composition_names()[static_cast<std::size_t>(o.composition)];
  return name;
}

bool is_adaptive(const Method& m) {
  const auto made = make_integrator(m.integrator, m.options);
  return made && (*made)->adaptive();
}

// The same way with smaller errors, and by which part of the difference it differs from the truth.
Method refined(Method m) {
  m.parts *= 2;
  Dopri5Options& o = m.options.dopri5;
  for (double* tolerance : {&o.relative_tolerance, &o.position_tolerance, &o.velocity_tolerance, &o.auxiliary_tolerance})
    *tolerance *= kTighter;
  return m;
}
double error_per_difference(const Method& m) {
  const auto made = make_integrator(m.integrator, m.options);
  const double ratio = (*made)->adaptive() ? 1 / kTighter : std::pow(2.0, (*made)->order());
  return ratio / (ratio - 1);
}

double common_step(const Scenario& scenario, double asked) {
  if (asked > 0) return asked;
  return scenario.method.step > 0 ? scenario.method.step : (scenario.end_time - scenario.start_time) / 1e4;
}

/// All runs of one comparison.
class Comparer {
 public:
  Comparer(const Scenario& scenario, const CompareOptions& options, int runs)
      : scenario_(scenario),
        options_(options),
        runs_(runs),
        grid_(common_step(scenario, options.step)),
        axes_(*scenario.model, scenario.start) {}

  /// What one way did, and how large its own error is.
  struct Done {
    Trace trace;
    Outcome outcome;
    std::vector<Quantities> error;  ///< per sample of the trace: largest so far; empty where a bound was given
    std::string reason;             ///< why there is no trace, or why it ends early
    bool refused = false;
    bool failed_resolved = false;  ///< the numerics failed while the motion was still resolved
  };

  Done go(const Way& way) {
    Done done;
    if (const auto no = objection(way.method, *scenario_.model)) {
      done.reason = no->what, done.refused = true;
      ++run_;
      if (options_.bound <= 0) ++run_;
      return done;
    }
    done.reason = trace(way, way.method, done.trace, &done.outcome);
    done.failed_resolved = !done.reason.empty();
    if (options_.bound > 0 || done.trace.size() == 0 || stopped()) return done;
    Trace finer;
    const std::string finer_reason = trace(way, refined(way.method), finer, nullptr);
    if (done.reason.empty()) done.reason = finer_reason;
    const std::size_t end = growth(done.trace, finer, error_per_difference(way.method), done.error);
    done.failed_resolved = !done.reason.empty() && small(done.error[end]);
    return done;
  }

  /// Sets the size of the motion, by which errors are large or small.
  void measure(const Quantities& scale) { scale_ = scale; }
  const Quantities& scale() const { return scale_; }
  bool small(const Quantities& error) const {
    for (int n = 0; n < kQuantities; ++n)
      if (!(error[n] <= kUnresolved * scale_[n])) return false;
    return true;
  }

  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  const DeterminedAxes& axes() const { return axes_; }

 private:
  // The largest difference so far, times a factor, at every sample; unknown (NaN) after the last one that both have. Its place.
  std::size_t growth(const Trace& trace, const Trace& finer, double factor, std::vector<Quantities>& error) const {
    error.assign(trace.size(), Quantities{});
    std::size_t last = 0;
    for_common_instants(trace, finer, axes_, [&](std::size_t i, std::size_t, const Quantities& d) {
      for (std::size_t k = last + 1; k <= i; ++k) error[k] = error[last];
      for (int n = 0; n < kQuantities; ++n) keep_largest(error[i][n], factor * d[n]);
      last = i;
    });
    for (std::size_t k = last + 1; k < error.size(); ++k) error[k].fill(std::nan(""));
    return last;
  }

  // Runs; why it came to nothing, or an empty string.
  std::string trace(const Way& way, const Method& method, Trace& to, Outcome* outcome) {
    Scenario s = scenario_;
    s.method = method, s.laws.clear(), s.convergence.clear(), s.figures.clear(), s.sampling = sampling(method),
    s.sampling.what = Trace::choice();
    RunOptions run_options;
    run_options.sink = &to, run_options.stop = options_.stop;
    const int number = run_++;
    if (options_.progress)
      run_options.progress = [&, number](const Progress& p) { options_.progress(way.name, number, runs_, p); };
    auto ended = run(s, run_options);
    if (!ended) return ended.error().what;
    const std::string words = ended->end == Outcome::End::Failed ? ended->words : "";
    if (outcome != nullptr) *outcome = std::move(*ended);
    return words;
  }

  // Samples at the same times, whichever step a way takes: those of the coarse grid.
  Sampling sampling(const Method& method) const {
    const double duration = scenario_.end_time - scenario_.start_time;
    const long every = std::max(1l, static_cast<long>(duration / grid_ / static_cast<double>(kInstants)));
    Sampling s;
    s.steps = every * method.parts;
    s.interval = static_cast<double>(every) * grid_;
    return s;
  }

  const Scenario& scenario_;
  const CompareOptions& options_;
  int run_ = 0, runs_;
  double grid_;  // s; the step of all ways that need one
  Quantities scale_{};
  DeterminedAxes axes_;
};

bool chosen(const Way& way, const std::vector<std::string>& only) {
  if (only.empty()) return true;
  const std::string slashed = "/" + way.name + "/";
  return std::any_of(only.begin(), only.end(),
                     [&](const std::string& word) { return slashed.find("/" + word + "/") != std::string::npos; });
}

// Bounds at one instant.
Quantities bounds(const Comparer::Done& a, std::size_t i, const Comparer::Done& b, std::size_t k, const Quantities& scale,
                  double bound) {
  Quantities out;
  for (int n = 0; n < kQuantities; ++n)
    out[n] = bound > 0 ? bound * scale[n] : kSafety * (a.error[i][n] + b.error[k][n]) + kRoundOff * scale[n];
  return out;
}

bool resolved(const Comparer& comparer, const Comparer::Done& done, std::size_t i) {
  return done.error.empty() || comparer.small(done.error[i]);
}

// Instant by instant: the differences against the bounds that belong to them.
void judge(const Comparer& comparer, const Comparer::Done& done, const Comparer::Done& reference, double bound, Comparison& out) {
  const std::size_t stride = std::max<std::size_t>(1, done.trace.size() / kSeries);
  bool says = true;
  for_common_instants(done.trace, reference.trace, comparer.axes(), [&](std::size_t i, std::size_t k, const Quantities& d) {
    const double t = done.trace.time(i);
    if (i % stride == 0 || i + 1 == done.trace.size()) out.times.push_back(t), out.series.push_back(d);
    says = says && resolved(comparer, done, i) && resolved(comparer, reference, k);
    if (!says) return;
    out.resolved = t;
    ++out.instants;
    const Quantities limit = bounds(done, i, reference, k, comparer.scale(), bound);
    for (int n = 0; n < kQuantities; ++n) {
      if (d[n] > out.largest[n] || d[n] != d[n]) out.largest[n] = d[n], out.at[n] = t, out.bound[n] = limit[n];
      const double ratio = d[n] / limit[n];
      if (ratio > out.worst.ratio || ratio != ratio) out.worst = {n, d[n], limit[n], t, ratio};
    }
  });
  if (!(out.worst.ratio <= 1)) out.verdict = Comparison::Verdict::Exceeded;
  if (out.instants < 2) out.verdict = Comparison::Verdict::Unresolved;
}

Comparison compared(const Comparer& comparer, const Way& way, const Comparer::Done& done, const Comparer::Done& reference,
                    double bound) {
  Comparison out;
  out.way = way;
  out.reason = done.reason;
  if (done.refused || done.failed_resolved) {
    out.verdict = done.refused ? Comparison::Verdict::Refused : Comparison::Verdict::Failed;
    return out;
  }
  out.wall = done.outcome.wall;
  for (const Metric& m : done.outcome.metrics) {
    if (m.name == "steps") out.steps = static_cast<long>(m.value);
    if (m.name == "power_balance") out.power_balance = m.value;
  }
  judge(comparer, done, reference, bound, out);
  return out;
}

}  // namespace

std::vector<Way> ways(const Scenario& scenario, double step) {
  step = common_step(scenario, step);
  std::vector<Way> out = {{name_of(scenario.method), scenario.method}};
  const auto add = [&](const Method& m) {
    const std::string name = name_of(m);
    if (std::none_of(out.begin(), out.end(), [&](const Way& w) { return w.name == name; })) out.push_back({name, m});
  };
  if (!is_adaptive(scenario.method)) out[0].method.step = step;
  for (const std::string& formulation : formulation_names())
    for (const std::string& integrator : integrator_names()) {
      Method m;
      m.formulation = formulation, m.integrator = integrator;
      if (!is_adaptive(m)) m.step = step;
      if (is_stepper(integrator) && formulation != "natural") continue;
      add(m);
      if (integrator == "petrov_galerkin") m.options.stepper.degree = 1, add(m);
      if (integrator == "conserving") m.options.stepper.composition = Composition::Suzuki, add(m);
    }
  return out;
}

bool CompareResult::within() const {
  return std::none_of(ways.begin(), ways.end(), [](const Comparison& c) { return c.verdict == Comparison::Verdict::Exceeded; });
}

bool CompareResult::failed() const {
  return std::any_of(ways.begin(), ways.end(), [](const Comparison& c) { return c.verdict == Comparison::Verdict::Failed; });
}

// The first edit after which there are other bodies or joints than before.
static const Edit* changes_the_list(const Scenario& scenario) {
  for (const EditEvent& event : scenario.edits)
    for (const Edit& edit : event.edits)
      if (std::holds_alternative<AddBody>(edit) || std::holds_alternative<RemoveBody>(edit) ||
          std::holds_alternative<CloseLoop>(edit) || std::holds_alternative<CutLoop>(edit))
        return &edit;
  return nullptr;
}

Result<CompareResult> compare(const Scenario& scenario, const CompareOptions& options) {
  INVAR_CHECK(scenario.model != nullptr, "a scenario has a model");
  if (const Edit* edit = changes_the_list(scenario))
    return fail(ErrorKind::Scenario,
                fmt::format("runs are compared at the same bodies and joints: '{}' changes them", words(*edit)), scenario.path);
  const std::vector<Way> all = ways(scenario, options.step);
  std::vector<std::string> names;
  for (const Way& way : all) names.push_back(way.name);
  const std::string wanted = options.reference.empty() ? all[0].name : options.reference;
  const auto reference_way = std::find_if(all.begin(), all.end(), [&](const Way& w) { return w.name == wanted; });
  if (reference_way == all.end())
    return fail(ErrorKind::Option, fmt::format("there is no way '{}' to compute this motion{}; there are {}", wanted,
                                               did_you_mean(wanted, names), fmt::join(names, ", ")));
  std::vector<const Way*> others;
  for (const Way& way : all)
    if (&way != &*reference_way && chosen(way, options.only)) others.push_back(&way);
  if (others.empty() && !options.only.empty())
    return fail(ErrorKind::Option, fmt::format("nothing to compare with {}: there are {}", wanted, fmt::join(names, ", ")));

  const int runs = static_cast<int>(others.size() + 1) * (options.bound > 0 ? 1 : 2);
  Comparer comparer(scenario, options, runs);
  const Comparer::Done reference = comparer.go(*reference_way);
  if (!reference.reason.empty())
    return fail(reference.refused ? ErrorKind::Scenario : ErrorKind::Numerics, fmt::format("{}: {}", wanted, reference.reason),
                scenario.path);
  comparer.measure(size_of(reference.trace, *scenario.model));
  CompareResult out;
  out.reference = wanted;
  out.scale = comparer.scale();
  out.ways.push_back(compared(comparer, *reference_way, reference, reference, options.bound));
  for (const Way* way : others) {
    if (comparer.stopped()) break;
    const Comparer::Done done = comparer.go(*way);
    if (comparer.stopped()) break;
    out.ways.push_back(compared(comparer, *way, done, reference, options.bound));
  }
  out.interrupted = comparer.stopped();
  return out;
}

}  // namespace invar
