// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/learn.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "invar/learn/as_written.hpp"
#include "invar/learn/domain.hpp"

namespace invar {
namespace {

bool is_among(int run, const std::vector<int>& runs) { return std::find(runs.begin(), runs.end(), run) != runs.end(); }

constexpr double kNoticeablyOpen = 1e-3, kNoticeablyTorn = 1e-2;

bool of_the_model(TermKind kind) { return kind <= TermKind::JointOffset; }

class Learning {
 public:
  Learning(const ModelSpec& nominal, const Model& model, const DataSet& data, LearnSpec spec,
           const std::vector<Actuator>& actuators)
      : nominal_(nominal), model_(model), data_(data), spec_(std::move(spec)), context_{data.obstacle_names, actuators} {}

  Result<LearnResult> run() {
    if (auto fine = spec_.checked ? Result<void>() : check(data_, model_); !fine) return tl::unexpected(fine.error());
    if (auto fine = divide(); !fine) return tl::unexpected(fine.error());
    for (TermSpec& t : spec_.terms)
      if (is_generic(t.kind)) t.scales = scales_of(data_, model_.length(), training_);
    if (auto fine = train(); !fine) return tl::unexpected(fine.error());
    auto terms = Terms::build(model_, spec_.terms, context_);
    if (!terms) return tl::unexpected(terms.error());
    // Held-out runs first and whole: an interruption costs training samples, not the judgement.
    Gram held_out;
    if (!spec_.held_out.empty()) {
      auto there = sums(*terms, spec_.held_out, "sums over held-out runs", nullptr);
      if (!there) return tl::unexpected(there.error());
      held_out = std::move(*there);
    }
    // Whoever stopped the training of a network gets the sums that belong to it.
    auto training = sums(*terms, training_, "sums over training runs", stopped_early_ ? nullptr : spec_.stop);
    if (!training) return tl::unexpected(training.error());
    if (training->samples == 0) return fail(ErrorKind::Numerics, "was interrupted before the first samples: nothing was learned");
    say("strengths", 0);
    auto done = fit(*terms, *training, held_out, spec_.fit);
    if (!done) return tl::unexpected(done.error());
    return result(*terms, *training, held_out, std::move(*done));
  }

 private:
  void say(const std::string& doing, double part) const {
    if (spec_.progress) spec_.progress(doing, part);
  }

  // Without a choice every fifth run is held out, and the last one where there are fewer.
  Result<void> divide() {
    const int runs = static_cast<int>(data_.runs.size());
    std::vector<int> rest;
    for (const std::vector<int>* some : {&spec_.held_out, &spec_.judges})
      for (const int r : *some)
        if (r < 0 || r >= runs) return fail(ErrorKind::Option, fmt::format("there is no run {} to hold out", r + 1));
    for (int r = 0; r < runs; ++r)
      if (!is_among(r, spec_.judges)) rest.push_back(r);
    if (spec_.held_out.empty() && rest.size() > 1)
      for (int k = static_cast<int>(rest.size()) - 1; k >= 0; k -= 5) spec_.held_out.push_back(rest[static_cast<std::size_t>(k)]);
    for (const int r : rest)
      if (!is_among(r, spec_.held_out)) training_.push_back(r);
    if (training_.empty()) return fail(ErrorKind::Option, "all runs are held out: none is left to learn from");
    return {};
  }

  Result<Gram> sums(const Terms& terms, const std::vector<int>& runs, const std::string& doing,
                    const std::atomic<bool>* stop) const {
    GramOptions options;
    options.threads = spec_.threads, options.stop = stop;
    options.progress = [&](double part) { say(doing, part); };
    return gram_of(model_, terms, data_, runs, options);
  }

  // Hidden layers are trained on what all other terms leave over.
  Result<void> train() {
    const auto untrained = [](const TermSpec& t) { return t.kind == TermKind::Network && t.layers.width() == 0; };
    const auto network = std::find_if(spec_.terms.begin(), spec_.terms.end(), untrained);
    if (network == spec_.terms.end()) return {};
    if (std::any_of(network + 1, spec_.terms.end(), untrained))
      return fail(
          ErrorKind::Option,
          "there are two terms 'network': one is trained, on what the other terms leave over. Leave one network, 'on' the "
          "bodies of both; in the other's place take 'fourier'");
    std::vector<TermSpec> others;
    for (const TermSpec& t : spec_.terms)
      if (t.kind != TermKind::Network) others.push_back(t);
    auto terms = Terms::build(model_, others, context_);
    if (!terms) return tl::unexpected(terms.error());
    VecX coefficients = VecX::Zero(terms->columns());
    if (!others.empty() && !spec_.held_out.empty()) {
      auto training = sums(*terms, training_, "sums without the network", nullptr),
           held_out = sums(*terms, spec_.held_out, "sums without the network", nullptr);
      if (!training) return tl::unexpected(training.error());
      if (!held_out) return tl::unexpected(held_out.error());
      auto done = fit(*terms, *training, *held_out);
      if (!done) return tl::unexpected(done.error());
      coefficients = done->coefficients;
    }
    TrainOptions options = spec_.train;
    options.stop = spec_.stop;
    options.progress = [&](double part, double error) { say(fmt::format("hidden layers, error {:.3f}", error), part); };
    auto layers = train_network(model_, *network, *terms, coefficients, data_, training_, spec_.held_out, options);
    if (!layers) return tl::unexpected(layers.error());
    network->layers = std::move(*layers);
    stopped_early_ = spec_.stop && *spec_.stop;
    return {};
  }

  // The held-out error of terms that the model has a place for, alone, with the strengths that were found.
  double identified(const Terms& terms, const Gram& training, const Gram& held_out, const Fit& full) const {
    std::vector<TermSpec> few;
    FitOptions options;
    std::vector<int> columns;
    for (int i = 0; i < terms.count(); ++i)
      if (of_the_model(terms.spec(i).kind)) {
        few.push_back(terms.spec(i));
        for (int g = terms.first_group(i); g < terms.first_group(i + 1); ++g)
          options.strengths.push_back(std::max(full.strengths[static_cast<std::size_t>(g)], 1e-10));
        for (int k = 0; k < terms.term(i).columns(); ++k) columns.push_back(terms.first_column(i) + k);
      }
    if (few.empty() || held_out.samples == 0) return 1;
    const auto part = [&](const Gram& g) {
      Gram out;
      out.G = g.G(columns, columns), out.b = g.b(columns);
      out.dd = g.dd, out.samples = g.samples, out.rows = g.rows;
      return out;
    };
    const auto alone = Terms::build(model_, few, context_);
    const auto done = fit(*alone, part(training), part(held_out), options);
    if (!done) return 1;
    const auto learned = conclude(nominal_, model_, *alone, *done, data_, {});
    if (!learned) return 1;
    return error_as_written(nominal_, model_, *learned, data_, spec_.held_out, context_).value_or(1);
  }

  // What is written, judged on held-out runs, or on training runs where there are none. Where it explains nothing, though the
  // regression does, nothing was learned.
  Result<double> judge(const Fit& done, Learned& learned) const {
    const bool held_out = !spec_.held_out.empty();
    const auto written = error_as_written(nominal_, model_, learned, data_, held_out ? spec_.held_out : training_, context_);
    if (!written || !learned.learned) return written;
    const char* const loads = held_out ? "held-out loads" : "training loads";
    const double regression = held_out ? done.held_out : done.training;
    constexpr const char* kWhy =
        "inertias had to become those of rigid bodies, or coefficients were cut at zero; name in 'on' what is really unknown";
    if (!(*written < kWorthIt)) {
      forget(learned, kNothingWritten);
      learned.notes.push_back(fmt::format("what could be written leaves {:.3g} of the {}, the regression {:.3g}: {}", *written,
                                          loads, regression, kWhy));
      return 1;
    }
    if (*written > 1.1 * regression + 1e-4)
      learned.notes.push_back(
          fmt::format("what is written leaves {:.3g} of the {}, the regression {:.3g}: {}", *written, loads, regression, kWhy));
    return written;
  }

  Result<LearnResult> result(const Terms& terms, const Gram& training, const Gram& held_out, Fit done) {
    LearnResult out;
    out.identified = identified(terms, training, held_out, done);
    for (int k = 0; k < terms.columns(); ++k) out.labels.push_back(terms.label(k)), out.units.push_back(terms.unit(k));
    Provenance from;
    from.data = data_.hash(), from.seed = spec_.seed, from.samples = training.samples, from.window = spec_.window;
    for (const int r : training_) from.training.push_back(data_.runs[static_cast<std::size_t>(r)].name);
    for (const int r : spec_.held_out) from.held_out.push_back(data_.runs[static_cast<std::size_t>(r)].name);
    auto learned = conclude(nominal_, model_, terms, done, data_, std::move(from));
    if (!learned) return tl::unexpected(learned.error());
    out.learned = std::move(*learned);
    for (const DataRun& run : data_.runs)
      if (!run.remark.empty()) out.learned.notes.push_back(run.name + " " + run.remark);
    for (const DataRun& run : data_.runs)
      if (const OpenJoint open = most_open(run, model_); open.gap > kNoticeablyOpen)
        out.learned.notes.push_back(
            fmt::format("{}: joint '{}' is open by up to {:.2g} (rad, or parts of the mechanism's length): poses are known no "
                        "better than that",
                        run.name, model_.joints()[static_cast<std::size_t>(open.joint)].name, open.gap));
    const AllTorn all = torn(data_, model_);
    for (std::size_t r = 0; r < data_.runs.size(); ++r)
      if (const Torn& t = all.runs[r]; is_torn(t, all.moving, kNoticeablyTorn, model_.length(), kNoticeablyOpen))
        out.learned.notes.push_back(
            fmt::format("{}: joints forbid {:.2g} m/s of velocities of {:.2g} m/s (rms), most at {}: they are known no "
                        "better than that",
                        data_.runs[r].name, t.forbidden, t.moving, t.who(model_)));
    // Generic terms know where they were.
    for (TermSpec& t : out.learned.terms)
      if (is_generic(t.kind)) {
        const auto alone = Terms::build(model_, {t}, context_);
        t.domain = domain_of(static_cast<const FeatureTerm&>(alone->term(0)), data_, training_);
      }
    if (auto written = judge(done, out.learned))
      out.written = *written;
    else
      return tl::unexpected(written.error());
    out.fit = std::move(done);
    for (int i = 0; i < terms.count(); ++i) out.terms.push_back(terms.spec(i));
    out.training = training_, out.held_out = spec_.held_out;
    out.interrupted = spec_.stop && *spec_.stop;
    return out;
  }

  const ModelSpec& nominal_;
  const Model& model_;
  const DataSet& data_;
  LearnSpec spec_;
  TermContext context_;
  std::vector<int> training_;
  bool stopped_early_ = false;
};

}  // namespace

Result<LearnResult> learn(const ModelSpec& nominal, const Model& model, const DataSet& data, LearnSpec spec,
                          const std::vector<Actuator>& actuators) {
  return Learning(nominal, model, data, std::move(spec), actuators).run();
}

}  // namespace invar
