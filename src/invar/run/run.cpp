// SPDX-License-Identifier: Apache-2.0
#include "invar/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/base/check.hpp"
#include "invar/run/convergence.hpp"
#include "invar/run/loop.hpp"
#include "invar/run/words.hpp"

namespace invar {

void Loop::begin(const State& start) {
  x_ = start;
  between_ = x_;
  leg_->observer.observe(scenario_.start_time, *leg_->formulation, x_, seen_);
  leg_->sampler.observe(scenario_.start_time, *leg_->formulation, x_, sampled_);
  tally_.start(seen_);
  for (std::string& sentence : displaced_at(x_)) watch_.say(std::move(sentence));
}

Result<Outcome> Loop::run(const State& start) {
  begin(start);
  watch_.enter(*leg_, scenario_.start_time, x_);
  resolution_.enter(*leg_, !leg_->integrator->adaptive(), scenario_.start_time, scenario_.end_time, seen_);
  if (options_.sink != nullptr) {
    const Layout layout{channels(), leg_->model->name(), scenario_.name, scenario_.seed};
    if (auto begun = options_.sink->begin(layout); !begun) return tl::unexpected(begun.error());
  }
  for (double a = scenario_.start_time; edit(a) && a < scenario_.end_time;) {
    const double b = next_event(a);
    if (!segment(a, b)) break;
    a = b;
  }
  return outcome();
}

Result<void> Loop::build_controllers() {
  for (const ControllerSpec& spec : scenario_.controllers) {
    auto controller = Controller::build(spec, *leg_->model, scenario_.start_time, scenario_.seed);
    if (!controller) return fail(controller.error().kind, controller.error().what, spec.where);
    leg_->system.add(**controller);
    controllers_.push_back(std::move(*controller));
  }
  return {};
}

// All that the run reports by name; of controllers "<controller>.<what>.{final, largest, rms}" and "<controller>.<clause>".
std::vector<Metric> Loop::metrics() const {
  std::vector<Metric> out = tally_.metrics();
  out.push_back({"step_rate_max", resolution_.largest(), "1", {}});
  out.push_back({"rank", static_cast<double>(watch_.mobility().rank), "1", {}});
  out.push_back({"freedoms", static_cast<double>(watch_.mobility().freedoms), "1", {}});
  out.push_back({"singular_passages", static_cast<double>(watch_.passages()), "1", {}});
  out.push_back({"rank_changes", static_cast<double>(watch_.rank_changes()), "1", {}});
  for (const auto& c : controllers_) {
    for (const Tracking& t : c->law().tracking())
      for (const auto& [what, value] : {std::pair{"final", t.last}, {"largest", t.largest}, {"rms", t.rms()}})
        out.push_back({c->name() + "." + t.name + "." + what, std::abs(value), t.unit, {}});
    if (const Remainder* remainder = c->law().remainder())
      out.push_back({c->name() + ".remainder", remainder->score(), "N/sqrt(kg)",
                     std::isnan(remainder->score()) ? unscored(*c) : std::string()});
    const Certificate certificate = c->certificate();
    for (const Clause& clause : certificate.clauses())
      out.push_back({c->name() + "." + clause.name, clause.worst, clause.unit, {}});
  }
  return out;
}

// Why there is no score of its remainder.
std::string Loop::unscored(const Controller& controller) const {
  for (const Clause& clause : controller.law().certificate().clauses())
    if (clause.name == "law_is_defined" && !std::isnan(clause.first))
      return fmt::format("the law is not defined at {:g} s", clause.first);
  const double settled = scenario_.start_time + controller.law().remainder()->bound().after;
  return seen_.t < settled ? "the run ends before it has settled" : "the remainder is not finite";
}

// A law, a convergence or a figure of something that there will not be is refused before the first step.
Result<void> Loop::check_names() const {
  std::vector<std::string> names;
  for (const Metric& m : metrics()) names.push_back(m.name);
  for (const Law& law : scenario_.laws)
    if (law.name == "metric" && std::find(names.begin(), names.end(), law.field) == names.end())
      return fail(
          ErrorKind::Scenario,
          fmt::format("[must] speaks of a metric '{}' that this run does not have{}", law.field, did_you_mean(law.field, names)),
          law.where);
  for (const ConvergenceSpec& series : scenario_.convergence)
    if (std::find(names.begin(), names.end(), series.metric) == names.end())
      return fail(ErrorKind::Scenario,
                  fmt::format("convergence '{}' speaks of a metric '{}' that this run does not have{}", series.name,
                              series.metric, did_you_mean(series.metric, names)),
                  series.where);
  for (const FigureSpec& figure : scenario_.figures)
    if (const std::string why = flaw(figure, channels(), names, scenario_.convergence); !why.empty())
      return fail(ErrorKind::Scenario, fmt::format("figure '{}': {}", figure.name, why), figure.where);
  return {};
}

// All that is recorded: of the mechanism, and of its controllers.
std::vector<Channel> Loop::channels() const {
  std::vector<Channel> out = leg_->recorder.channels();
  if (records_flow()) {
    out.push_back({"flow/velocity", "m/s", "of what the mechanism moves in, World", 3});
    if (scenario_.flow->is_measured()) out.push_back({"flow/measured", "m/s", "what a meter says of it, World", 3});
  }
  for (const auto& c : controllers_)
    for (const Reading& r : c->readings())
      out.push_back({"control/" + escaped(c->name()) + "/" + escaped(r.name), r.unit, r.meaning, r.size});
  return out;
}

Result<Outcome> Loop::outcome() {
  // What cannot be recorded ends the run; what it found until then is kept.
  if (!sink_) {
    out_.end = Outcome::End::Failed;
    out_.unrecorded = sink_.error();
    out_.words = fmt::format("t = {:g} s: {}", seen_.t, sink_.error().text());
  }
  // The recording of a run that is interrupted, whose edit is refused, or that reached a stop ends with the state that it
  // reached.
  const bool cut = sink_ && (out_.end == Outcome::End::Interrupted || out_.verdict.status == Status::EditRefused ||
                             out_.verdict.status == Status::JointStop);
  if (cut && sampled_.t < seen_.t) sample(seen_.t, x_, true);
  out_.notes = watch_.notes();
  if (std::string divided = tally_.divided_steps(); !divided.empty()) out_.notes.push_back(std::move(divided));
  out_.unresolved = resolution_.sentence(tally_, watch_.left_branch());
  if (out_.end == Outcome::End::Finished) settle_control(seen_.t);  // the last step is judged like the others
  for (const auto& c : controllers_) {
    c->law().conclude();
    for (const std::string& note : c->law().notes()) out_.notes.push_back(fmt::format("controller '{}': {}", c->name(), note));
    out_.control.push_back({c->name(), c->certificate(), c->law().tracking()});
  }
  out_.metrics = metrics();
  out_.laws = judge_.verdicts(tally_, evaluation_, out_.metrics);
  out_.wall = began_.seconds();
  return out_;
}

namespace {

// What natural coordinates cannot take shows at the first step: a motion that nothing with inertia takes part in. It depends on
// neither time nor loads. The other formulations find it when they assemble.
std::optional<Error> without_inertia(const Scenario& scenario, const Leg& leg, const State& start) {
  if (scenario.method.formulation != "natural") return {};
  Leg trial(scenario, scenario.model, {});
  Bodies bodies;
  State x;
  leg.formulation->bodies(start, bodies);
  trial.formulation->set(bodies, x, start.wound);
  const double span = scenario.end_time - scenario.start_time;
  const double h = trial.integrator->adaptive() ? span : std::min(span, scenario.method.step / scenario.method.parts);
  double done = 0;
  trial.system.enter(scenario.start_time, scenario.end_time);
  trial.integrator->reset(trial.system, x, h);
  const Verdict verdict = trial.integrator->step(trial.system, scenario.start_time, h, x, done);
  if (verdict.status != Status::NoInertia) return {};
  return Error{ErrorKind::Model,
               fmt::format("'{}' cannot take this mechanism where it starts: {}", scenario.method.integrator,
                           words(verdict, *scenario.model)),
               {}};
}

// Everything up to the first step: what a run refuses is refused here.
Result<std::unique_ptr<Loop>> prepared(const Scenario& scenario, const RunOptions& options, State& start) {
  INVAR_CHECK(scenario.model != nullptr, "a scenario has a model");
  const auto refuse = [&](Error error) {
    if (error.where.empty()) error.where = scenario.path;
    return tl::unexpected(error);
  };
  if (const auto no = objection(scenario.method, *scenario.model)) return refuse({ErrorKind::Scenario, no->what, {}});
  if (const auto no = time_objection(scenario)) return refuse({ErrorKind::Scenario, no->what, {}});
  auto models = models_of(scenario);
  if (!models) return refuse(models.error().error);
  if (const auto no = edit_under_control(scenario)) return refuse(no->error);
  std::vector<Channel> layout;
  if (!scenario.edits.empty()) layout = channels_of_all(*models, recorded(scenario));
  if (auto made = make_integrator(scenario.method.integrator, scenario.method.options); !made) return refuse(made.error());
  auto leg = std::make_unique<Leg>(scenario, scenario.model, layout);
  Start begin = scenario.start;
  begin.motion = true;
  auto state = state_at(*leg->formulation, begin);
  if (!state) {
    Error error = state.error();
    if (error.where.empty()) error.where = scenario.start.where;
    return refuse(error);
  }
  start = std::move(*state);
  if (auto no = without_inertia(scenario, *leg, start)) return refuse(std::move(*no));
  auto loop = std::make_unique<Loop>(scenario, options, std::move(leg), std::move(layout));
  if (auto built = loop->build_controllers(); !built) return refuse(built.error());
  if (auto known = loop->check_names(); !known) return refuse(known.error());
  return loop;
}

// The run itself is whole: what cannot be made of a convergence, and what a stop leaves out, is noted, and null there.
void converge(const Scenario& scenario, const RunOptions& options, Outcome& out) {
  for (const ConvergenceSpec& series : scenario.convergence) {
    auto found = made(series, scenario, options);
    if (!found) {
      out.notes.push_back(fmt::format("convergence '{}' was not made: {}", series.name, found.error().text()));
      const double none = std::numeric_limits<double>::quiet_NaN();
      found = ConvergenceResult{series.name, series.metric, {}, series.steps, std::vector<double>(series.steps.size(), none)};
    }
    out.convergence.push_back(std::move(*found));
  }
  if (!scenario.convergence.empty() && options.stop != nullptr && options.stop->load()) {
    out.end = Outcome::End::Interrupted;
    out.notes.push_back("the run itself is whole; its convergence was interrupted");
  }
}

}  // namespace

Result<Foreseen> check(const Scenario& scenario) {
  State start;
  auto loop = prepared(scenario, {}, start);
  if (!loop) return tl::unexpected(loop.error());
  Foreseen out;
  for (const Channel& c : (*loop)->channels()) out.width += c.size;
  out.samples = (*loop)->samples_foreseen();
  out.notes = (*loop)->displaced_at(start);
  return out;
}

Result<Outcome> run(const Scenario& scenario, const RunOptions& options) {
  State start;
  auto loop = prepared(scenario, options, start);
  if (!loop) return tl::unexpected(loop.error());
  auto out = (*loop)->run(start);
  if (!out) return out;
  if (out->end == Outcome::End::Finished) converge(scenario, options, *out);
  // Until now the recording is being written: nobody else takes its place.
  if (options.sink != nullptr && !out->unrecorded)
    if (auto ended = options.sink->end(); !ended)
      out->end = Outcome::End::Failed, out->unrecorded = ended.error(), out->words = ended.error().text();
  return out;
}

}  // namespace invar
