// SPDX-License-Identifier: Apache-2.0
#include "invar/run/loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/base/check.hpp"
#include "invar/run/words.hpp"

namespace invar {
namespace {

// Where the length of the step is to blame, or may be. Numbers that overflow before any step is done come from the input.
bool wants_smaller_step(Status status, long steps_done) {
  if (status == Status::NotFinite) return steps_done > 0;
  return status == Status::NotConverged || status == Status::StepTooLarge;
}

constexpr int kCountedEvents = 100000;  // a few milliseconds

}  // namespace

double Loop::next_event(double t, std::size_t edit) const {
  double next = std::min(leg_->system.next_event(t), scenario_.end_time);
  if (edit < scenario_.edits.size()) next = std::min(next, scenario_.edits[edit].at);
  return next;
}

double Loop::samples_foreseen() const {
  if (!leg_->integrator->adaptive()) return fixed_samples_foreseen();
  // The start, the grid, and edits beside it.
  double out = 1 + std::ceil((scenario_.end_time - scenario_.start_time) / interval_ - 1e-9);
  double last = scenario_.start_time;
  for (const EditEvent& event : scenario_.edits) {
    const double on_grid = sample_time(static_cast<long>(std::round((event.at - scenario_.start_time) / interval_)));
    if (event.at > last && event.at != on_grid) out += 1;
    last = std::max(last, event.at);
  }
  return out;
}

// As fixed_segment does it: at least a step between two events, a sample every so many steps, after every edit and at the end.
double Loop::fixed_samples_foreseen() const {
  const long every = scenario_.sampling.steps;
  long steps = 0, samples = 1;
  std::size_t edit = 0;
  const auto pass_edits = [&](double t) {
    const std::size_t before = edit;
    while (edit < scenario_.edits.size() && scenario_.edits[edit].at <= t) ++edit;
    return edit > before;
  };
  double t = scenario_.start_time;
  pass_edits(t);
  for (int k = 0; k < kCountedEvents && t < scenario_.end_time; ++k) {
    const double next = next_event(t, edit);
    const long before = steps / every;
    steps += steps_in(t, next);
    samples += steps / every - before;
    t = next;
    const bool due = pass_edits(t) || t >= scenario_.end_time;
    if (due && steps % every != 0) ++samples;
  }
  const double part = (t - scenario_.start_time) / (scenario_.end_time - scenario_.start_time);
  return static_cast<double>(samples) / part;
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
    for (const auto& c : controllers_) {
      if (auto bound = c->rebind(*model); !bound) return refused(bound.error(), t);
      leg->system.add(*c);
    }
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
    watch_.enter(*leg_, t, x_);
    resolution_.enter(*leg_, !leg_->integrator->adaptive(), t, scenario_.end_time, seen_);
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
  if (sample_due_ ? !sample(a, x_, true) : look_due_ && !look(a)) return false;
  sample_due_ = look_due_ = false;
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
    const bool due = last || tally_.steps % scenario_.sampling.steps == 0;
    if (edge && !last) {
      sample_due_ = due, look_due_ = ticks_at(a, b);
      if ((due || look_due_) && !look(aim)) return false;
    } else if (due && !sample(aim, x_, true)) {
      return false;
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
    if (t == b && b < scenario_.end_time) {
      look_due_ = ticks_at(a, b);
      if ((sample_due_ || look_due_) && !look(b)) return false;
    }
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
  resolution_.step(*leg_, t_next, t_next - t, seen_);
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
  judge_.sample(t, evaluation_);
  for (const auto& c : controllers_) c->witness(t, evaluation_);
  if (options_.sink == nullptr) return tally_.reactions(evaluation_.reactions), true;
  const std::span<const double> row = leg_->recorder.row(sampled_, evaluation_, leg_->system.load().port);
  row_.assign(row.begin(), row.end());
  if (records_flow()) add_flow(t);
  for (const auto& c : controllers_) row_.insert(row_.end(), c->values().begin(), c->values().end());
  sink_ = options_.sink->sample(row_);
  if (sink_) tally_.reactions(evaluation_.reactions);  // a sample counts where it was written
  return sink_.has_value();
}

void Loop::add_flow(double t) {
  const Vec3 velocity = scenario_.flow->velocity(t);
  row_.insert(row_.end(), velocity.begin(), velocity.end());
  if (const auto measured = scenario_.flow->measured(t)) row_.insert(row_.end(), measured->begin(), measured->end());
}

// Whether a segment ends at a tick.
bool Loop::ticks_at(double a, double b) const {
  for (std::size_t k = 0; k < controllers_.size(); ++k)
    if (scenario_.controllers[k].period > 0 && controllers_[k]->next_event(a) <= b) return true;
  return false;
}

// At a tick controllers look twice, whatever is recorded: with what acted until then (held commands are oldest there), and with
// what acts from then on.
bool Loop::look(double t) {
  if (controllers_.empty()) return true;
  if (const Verdict verdict = leg_->system.evaluate(t, x_, evaluation_); !verdict.ok()) return failed(verdict, t);
  for (const auto& c : controllers_) c->witness(t, evaluation_);
  return true;
}

void Loop::settle_control(double t) {
  if (controllers_.empty()) return;
  leg_->formulation->bodies(x_, bodies_);
  for (const auto& c : controllers_) c->settle(t, bodies_);
}

bool Loop::go_on() {
  if (options_.progress && (tally_.steps & 7) == 0 && shown_.seconds() > 0.1) {
    shown_ = {};
    options_.progress({seen_.t, scenario_.start_time, scenario_.end_time, tally_.steps, began_.seconds()});
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
  if (verdict.status == Status::JointStop) return false;
  out_.words += drives_to_blame();
  if (const std::string held = watch_.held(); !held.empty()) out_.words += "; " + held;
  return false;
}

// Where a loop has no motion that a drive could ask for, equations fail anywhere in it.
std::string Loop::drives_to_blame() const {
  std::vector<std::string> names;
  for (const Joint& joint : scenario_.model->joints())
    for (int k = 0; k < joint.nv && !scenario_.start.driven.empty(); ++k)
      if (scenario_.start.driven[static_cast<std::size_t>(joint.v0 + k)])
        names.push_back(fmt::format("'{}'", freedom_name(joint, k)));
  if (names.empty()) return {};
  return fmt::format("; a drive ({}) may ask for more than the mechanism can reach", fmt::join(names, ", "));
}

}  // namespace invar
