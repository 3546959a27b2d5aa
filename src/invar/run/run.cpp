// SPDX-License-Identifier: Apache-2.0
#include "invar/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "invar/base/check.hpp"
#include "invar/run/watch.hpp"
#include "invar/run/words.hpp"

namespace invar {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

// Where the length of the step is to blame, or may be. Numbers that overflow before any step is done come from the input.
bool wants_smaller_step(Status status, long steps_done) {
  if (status == Status::NotFinite) return steps_done > 0;
  return status == Status::NotConverged || status == Status::StepTooLarge;
}

// The state of one run. Steps, samples and verdicts are separate functions over it.
class Loop {
 public:
  Loop(const Scenario& scenario, const RunOptions& options, std::unique_ptr<Leg> leg, std::vector<Channel> layout)
      : scenario_(scenario),
        options_(options),
        layout_(std::move(layout)),
        leg_(std::move(leg)),
        judge_(*scenario.model, scenario.laws) {
    leg_->bind(scenario);
  }

  Result<void> build_controllers();
  Result<void> check_metrics() const;
  Result<Outcome> run(const State& start);

 private:
  void begin(const State& start);
  double next_event(double t) const;
  bool edit(double t);
  bool refused(const Error& error, double t);
  void note_edit(double t, const std::vector<Edit>& edits, Carried&& motion);
  bool segment(double a, double b);
  long steps_in(double a, double b) const;
  bool fixed_segment(double a, double b);
  bool adaptive_segment(double a, double b);
  bool advance(double t, double h, double t_next_if_whole, double& t_next);
  bool sample(double t, const State& x, bool on_step);
  bool dense_samples(double t, double t_next, double b);
  double sample_time(long j) const;
  bool look_before(double t);
  void settle_control(double t);
  std::vector<Metric> metrics() const;
  bool go_on();
  bool stopped();
  bool failed(const Verdict& verdict, double t);
  Result<Outcome> outcome();

  const Scenario& scenario_;
  const RunOptions& options_;
  std::vector<Channel> layout_;  // over all models; empty where there is one only
  std::unique_ptr<Leg> leg_;
  std::vector<std::unique_ptr<Controller>> controllers_;
  std::vector<double> row_;        // of a sample, with what controllers show
  std::optional<LiveModel> live_;  // where there are edits
  std::size_t next_edit_ = 0;
  Judge judge_;
  Tally tally_;
  State x_, between_;
  Observation seen_, sampled_;
  Evaluation evaluation_;
  Bodies bodies_;
  bool sample_due_ = true;  // at the start of the next segment
  double interval_ = 0;     // s; between samples of adaptive methods
  long next_sample_ = 1;    // index on the grid of sample times
  Watch watch_;
  Outcome out_;
  Result<void> sink_{};
  Clock::time_point began_ = Clock::now(), shown_ = began_;
};

void Loop::begin(const State& start) {
  x_ = start;
  between_ = x_;
  leg_->observer.observe(scenario_.start_time, *leg_->formulation, x_, seen_);
  leg_->sampler.observe(scenario_.start_time, *leg_->formulation, x_, sampled_);
  tally_.start(seen_);
  for (std::string& sentence : displaced(*leg_->formulation, scenario_.start, x_)) watch_.say(std::move(sentence));
  interval_ = scenario_.sampling.interval;
  if (!(interval_ > 0)) interval_ = (scenario_.end_time - scenario_.start_time) / 1000;
}

Result<Outcome> Loop::run(const State& start) {
  begin(start);
  watch_.enter(*leg_, scenario_.start_time);
  if (options_.sink != nullptr) {
    Layout layout{leg_->recorder.channels(), leg_->model->name(), scenario_.name, scenario_.seed};
    for (const auto& c : controllers_)
      for (const Reading& reading : c->readings())
        layout.channels.push_back(
            {"control/" + escaped(c->name()) + "/" + escaped(reading.name), reading.unit, reading.meaning, reading.size});
    if (auto begun = options_.sink->begin(layout); !begun) return tl::unexpected(begun.error());
  }
  for (double a = scenario_.start_time; edit(a) && a < scenario_.end_time;) {
    const double b = next_event(a);
    if (!segment(a, b)) break;
    a = b;
  }
  return outcome();
}

double Loop::next_event(double t) const {
  double next = std::min(leg_->system.next_event(t), scenario_.end_time);
  if (next_edit_ < scenario_.edits.size()) next = std::min(next, scenario_.edits[next_edit_].at);
  return next;
}

// Edits of this instant, those of one event together; false where one cannot be done.
bool Loop::edit(double t) {
  for (; next_edit_ < scenario_.edits.size() && scenario_.edits[next_edit_].at <= t; ++next_edit_) {
    const std::vector<Edit>& edits = scenario_.edits[next_edit_].edits;
    if (!live_) {
      auto live = LiveModel::build(*scenario_.spec);
      if (!live) return refused(live.error(), t);
      live_.emplace(std::move(*live));
    }
    // The model is a new one even where values changed only: the old one is still needed.
    Bodies bodies;
    leg_->formulation->bodies(x_, bodies);
    if (auto done = live_->apply(standing(edits, *leg_->model, bodies, x_.wound)); !done) return refused(done.error(), t);
    auto model = std::make_shared<const Model>(*live_->model());
    if (const auto no = objection(scenario_.method, *model)) return refused({ErrorKind::Scenario, no->what, {}}, t);
    auto carried = carry(*leg_->model, bodies, x_.wound, *model, edits);
    if (!carried) return refused(carried.error(), t);

    auto leg = std::make_unique<Leg>(scenario_, model, layout_);
    leg->bind(scenario_);
    State next;
    leg->formulation->set(carried->bodies, next, carried->turns);
    next.aux = x_.aux;
    x_ = between_ = next;
    leg_ = std::move(leg);
    judge_.enter(*leg_->model);
    const Observation before = seen_;
    leg_->observer.observe(t, *leg_->formulation, x_, seen_);
    leg_->sampler.observe(t, *leg_->formulation, x_, sampled_);
    leg_->observer.carry_on(before, seen_);
    leg_->sampler.carry_on(before, sampled_);
    tally_.edit(seen_);
    sample_due_ = true;
    note_edit(t, edits, std::move(*carried));
    watch_.enter(*leg_, t);
  }
  return true;
}

void Loop::note_edit(double t, const std::vector<Edit>& edits, Carried&& motion) {
  std::string what;
  for (const Edit& e : edits) what += (what.empty() ? "" : ", ") + words(e);
  watch_.say(fmt::format(
      "t = {:g} s: {}: energy {:+.6g} J by the edit, {:+.6g} J by its impulse, momentum {:.3g} N s "
      "and {:.3g} N m s from outside",
      t, what, motion.added(), 0 - motion.taken(), (motion.momentum_after.linear - motion.momentum_edited.linear).norm(),
      (motion.momentum_after.angular - motion.momentum_edited.angular).norm()));
  motion.bodies.clear();
  out_.edits.push_back({t, std::move(what), std::move(motion)});
}

bool Loop::refused(const Error& error, double t) {
  out_.end = Outcome::End::Failed;
  out_.verdict = {Status::EditRefused};
  std::string what;
  for (const Edit& e : scenario_.edits[next_edit_].edits) what += (what.empty() ? "" : ", ") + invar::words(e);
  out_.words = fmt::format("t = {:g} s: {}: {}", t, what, error.what);
  return false;
}

bool Loop::segment(double a, double b) {
  INVAR_CHECK(b > a, "an event lies after the time it was asked for");
  settle_control(a);
  leg_->system.enter(a, b);
  leg_->integrator->reset(leg_->system, x_, (b - a) / static_cast<double>(steps_in(a, b)));
  tally_.open(seen_);
  if (sample_due_ && !sample(a, x_, true)) return false;
  sample_due_ = false;
  const bool whole = leg_->integrator->adaptive() ? adaptive_segment(a, b) : fixed_segment(a, b);
  tally_.close();
  return whole;
}

// Whole steps: a length that is a multiple of the step up to round-off is divided into just so many.
long Loop::steps_in(double a, double b) const {
  if (leg_->integrator->adaptive()) return 1;
  return scenario_.method.parts * std::max(1l, static_cast<long>(std::ceil((b - a) / scenario_.method.step * (1 - 1e-9))));
}

bool Loop::fixed_segment(double a, double b) {
  const long n = steps_in(a, b);
  const double h = (b - a) / static_cast<double>(n);
  for (long k = 0; k < n; ++k) {
    const double t = a + static_cast<double>(k) * h;
    const double aim = k + 1 == n ? b : a + static_cast<double>(k + 1) * h;
    double t_next = aim;
    if (!advance(t, h, aim, t_next)) return false;
    const bool last = aim >= scenario_.end_time, edge = k + 1 == n;
    if (last || tally_.steps % scenario_.sampling.steps == 0) {
      if (edge && !last) {
        sample_due_ = true;
        if (!look_before(aim)) return false;
      } else if (!sample(aim, x_, true)) {
        return false;
      }
    }
    if (!edge) settle_control(aim);  // the next segment settles at its start
    if (!last && !go_on()) return false;
  }
  return true;
}

bool Loop::adaptive_segment(double a, double b) {
  for (double t = a; t < b;) {
    double t_next = b;
    if (!advance(t, b - t, b, t_next)) return false;
    if (!dense_samples(t, t_next, b)) return false;
    t = t_next;
    if (t < b) settle_control(t);
    if (t < scenario_.end_time && !go_on()) return false;
  }
  return true;
}

// One step of at most h, its observation and its entry in the tally.
bool Loop::advance(double t, double h, double aim, double& t_next) {
  double done = 0;
  leg_->system.forget_loads();
  Verdict verdict = leg_->integrator->step(leg_->system, t, h, x_, done);
  if (verdict.ok() && !(x_.v.allFinite() && x_.q.allFinite())) verdict.status = Status::NotFinite;
  if (!verdict.ok()) return failed(verdict, t);
  // A rest that round-off alone has left is no step.
  t_next = t + done;
  if (done >= h || aim - t_next <= 1e-14 * std::max(std::abs(aim), std::abs(t))) t_next = aim;
  if (!(t_next > t)) return failed({Status::StepTooSmall, -1, -1, done}, t);
  leg_->observer.observe(t_next, *leg_->formulation, x_, seen_, leg_->integrator->report());
  tally_.step(seen_, leg_->system.loaded());
  const Verdict stop = watch_.step(*leg_, t_next, x_);
  return stop.ok() || !scenario_.end_at_stops || failed(stop, t_next);
}

double Loop::sample_time(long j) const {
  // The grid of samples is counted, not summed; its last point is the end.
  const double t = scenario_.start_time + static_cast<double>(j) * interval_;
  return t < scenario_.end_time - 1e-9 * interval_ ? t : scenario_.end_time;
}

bool Loop::dense_samples(double t, double t_next, double b) {
  for (double s = sample_time(next_sample_); s <= t_next; s = sample_time(++next_sample_)) {
    if (s < t_next) {
      leg_->integrator->interpolate(leg_->system, (s - t) / (t_next - t), between_);
      if (!sample(s, between_, false) || stopped()) return false;
    } else if (t_next == b && b < scenario_.end_time) {
      sample_due_ = true;
      if (!look_before(b)) return false;
    } else if (!sample(s, x_, true)) {
      return false;
    }
    if (s >= scenario_.end_time) break;
  }
  return true;
}

// Everything at one instant, to the judge and to the sink.
bool Loop::sample(double t, const State& x, bool on_step) {
  if (const Verdict verdict = leg_->system.evaluate(t, x, evaluation_); !verdict.ok()) return failed(verdict, t);
  if (on_step)
    sampled_ = seen_;
  else
    leg_->sampler.observe(t, *leg_->formulation, x, sampled_, leg_->integrator->report());
  sampled_.t = t;
  tally_.reactions(evaluation_.reactions);
  judge_.sample(t, evaluation_);
  for (const auto& c : controllers_) c->witness(t, evaluation_);
  if (options_.sink == nullptr) return true;
  const std::span<const double> row = leg_->recorder.row(sampled_, evaluation_);
  row_.assign(row.begin(), row.end());
  for (const auto& c : controllers_) row_.insert(row_.end(), c->values().begin(), c->values().end());
  sink_ = options_.sink->sample(row_);
  return sink_.has_value();
}

// Controllers look at the end of a segment with what acted until then: held commands are oldest there.
bool Loop::look_before(double t) {
  if (controllers_.empty()) return true;
  if (const Verdict verdict = leg_->system.evaluate(t, x_, evaluation_); !verdict.ok()) return failed(verdict, t);
  for (const auto& c : controllers_) c->witness(t, evaluation_);
  return true;
}

Result<void> Loop::build_controllers() {
  for (const ControllerSpec& spec : scenario_.controllers) {
    auto controller = Controller::build(spec, *leg_->model, scenario_.start_time, scenario_.seed);
    if (!controller) return tl::unexpected(controller.error());
    leg_->system.add(**controller);
    controllers_.push_back(std::move(*controller));
  }
  return {};
}

void Loop::settle_control(double t) {
  if (controllers_.empty()) return;
  leg_->formulation->bodies(x_, bodies_);
  for (const auto& c : controllers_) c->settle(t, bodies_);
}

// All that the run reports by name; of controllers "<controller>.<what>.{final, largest, rms}" and "<controller>.<clause>".
std::vector<Metric> Loop::metrics() const {
  std::vector<Metric> out = tally_.metrics();
  out.push_back({"rank", static_cast<double>(watch_.mobility().rank), "1", {}});
  out.push_back({"freedoms", static_cast<double>(watch_.mobility().freedoms), "1", {}});
  out.push_back({"singular_passages", static_cast<double>(watch_.passages()), "1", {}});
  out.push_back({"rank_changes", static_cast<double>(watch_.rank_changes()), "1", {}});
  for (const auto& c : controllers_) {
    for (const Tracking& t : c->law().tracking())
      for (const auto& [what, value] : {std::pair{"final", t.last}, {"largest", t.largest}, {"rms", t.rms()}})
        out.push_back({c->name() + "." + t.name + "." + what, std::abs(value), t.unit, {}});
    const Certificate certificate = c->certificate();
    for (const Clause& clause : certificate.clauses())
      out.push_back({c->name() + "." + clause.name, clause.worst, clause.unit, {}});
  }
  return out;
}

// A law about a metric that there will not be is refused before the first step.
Result<void> Loop::check_metrics() const {
  std::vector<std::string> names;
  for (const Metric& m : metrics()) names.push_back(m.name);
  for (const Law& law : scenario_.laws)
    if (law.name == "metric" && std::find(names.begin(), names.end(), law.field) == names.end())
      return fail(ErrorKind::Scenario, fmt::format("[must] speaks of a metric '{}' that this run does not have{}", law.field,
                                                   did_you_mean(law.field, names)));
  return {};
}

bool Loop::go_on() {
  if (options_.progress && (tally_.steps & 7) == 0 && seconds_since(shown_) > 0.1) {
    shown_ = Clock::now();
    options_.progress({seen_.t, scenario_.start_time, scenario_.end_time, tally_.steps, seconds_since(began_)});
  }
  return !stopped();
}

bool Loop::stopped() {
  if (options_.stop == nullptr || !options_.stop->load(std::memory_order_relaxed)) return false;
  out_.end = Outcome::End::Interrupted;
  return true;
}

bool Loop::failed(const Verdict& verdict, double t) {
  out_.end = Outcome::End::Failed;
  out_.verdict = verdict;
  // A stop is seen after the step that reached it.
  const long step = verdict.status == Status::JointStop ? tally_.steps : tally_.steps + 1;
  out_.words = fmt::format("step {}, t = {:g} s: {}", step, t, words(verdict, *leg_->model));
  if (wants_smaller_step(verdict.status, tally_.steps)) out_.words += "; a smaller step may help";
  return false;
}

Result<Outcome> Loop::outcome() {
  if (!sink_) return tl::unexpected(sink_.error());
  // The recording of a run that is interrupted, whose edit is refused, or that reached a stop ends with the state that it
  // reached.
  const bool cut = out_.end == Outcome::End::Interrupted || out_.verdict.status == Status::EditRefused ||
                   out_.verdict.status == Status::JointStop;
  if (cut && sampled_.t < seen_.t) sample(seen_.t, x_, true);
  if (options_.sink != nullptr)
    if (auto ended = options_.sink->end(); !ended) return tl::unexpected(ended.error());
  out_.notes = watch_.notes();
  if (out_.end == Outcome::End::Finished) settle_control(seen_.t);  // the last step is judged like the others
  for (const auto& c : controllers_) {
    c->law().conclude();
    out_.control.push_back({c->name(), c->certificate(), c->law().tracking()});
  }
  out_.metrics = metrics();
  out_.laws = judge_.verdicts(tally_, evaluation_, out_.metrics);
  out_.wall = seconds_since(began_);
  return out_;
}

}  // namespace

Result<Outcome> run(const Scenario& scenario, const RunOptions& options) {
  INVAR_CHECK(scenario.model != nullptr, "a scenario has a model");
  if (const auto no = objection(scenario.method, *scenario.model)) return fail(ErrorKind::Scenario, no->what, scenario.path);
  if (const auto no = time_objection(scenario)) return fail(ErrorKind::Scenario, no->what, scenario.path);
  auto models = models_of(scenario);
  if (!models) {
    Error error = models.error().error;
    if (error.where.empty()) error.where = scenario.path;
    return tl::unexpected(error);
  }
  std::vector<Channel> layout;
  if (!scenario.edits.empty()) layout = channels_of_all(*models, scenario.sampling.what);
  if (auto made = make_integrator(scenario.method.integrator, scenario.method.options); !made)
    return tl::unexpected(made.error());
  auto leg = std::make_unique<Leg>(scenario, scenario.model, layout);
  const auto start = state_at(*leg->formulation, scenario.start);
  if (!start) {
    Error error = start.error();
    if (error.where.empty()) error.where = scenario.path;
    return tl::unexpected(error);
  }
  Loop loop(scenario, options, std::move(leg), std::move(layout));
  if (auto built = loop.build_controllers(); !built) return fail(ErrorKind::Scenario, built.error().what, scenario.path);
  if (auto known = loop.check_metrics(); !known) return fail(ErrorKind::Scenario, known.error().what, scenario.path);
  return loop.run(*start);
}

}  // namespace invar
