// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

#include "invar/run/leg.hpp"
#include "invar/run/resolution.hpp"
#include "invar/run/run.hpp"
#include "invar/run/watch.hpp"

// For the sources of this room only.
namespace invar {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The state of one run. Steps, samples and verdicts are separate functions over it: loop.cpp has what happens between the first
/// state and the last, run.cpp its beginning and its end.
class Loop {
 public:
  Loop(const Scenario& scenario, const RunOptions& options, std::unique_ptr<Leg> leg, std::vector<Channel> layout)
      : scenario_(scenario),
        options_(options),
        layout_(std::move(layout)),
        leg_(std::move(leg)),
        judge_(*scenario.model, scenario.laws) {
    leg_->bind(scenario);
    interval_ = scenario.sampling.interval;
    if (!(interval_ > 0)) interval_ = (scenario.end_time - scenario.start_time) / 1000;
  }

  Result<void> build_controllers();
  Result<void> check_names() const;
  Result<Outcome> run(const State& start);
  std::vector<Channel> channels() const;
  /// What had to give way at the start.
  std::vector<std::string> displaced_at(const State& start) const {
    return displaced(*leg_->formulation, scenario_.start, start);
  }
  /// How many samples a run to its end takes; over more events than can be counted in a moment, as many as the first ones
  /// suggest.
  double samples_foreseen() const;

 private:
  void begin(const State& start);
  double next_event(double t) const { return next_event(t, next_edit_); }
  double next_event(double t, std::size_t edit) const;
  double fixed_samples_foreseen() const;
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
  bool ticks_at(double a, double b) const;
  bool look(double t);
  void settle_control(double t);
  bool records_flow() const { return scenario_.flow && scenario_.sampling.what.loads; }
  void add_flow(double t);
  std::vector<Metric> metrics() const;
  std::string unscored(const Controller& controller) const;
  bool go_on();
  bool stopped();
  bool failed(const Verdict& verdict, double t);
  std::string drives_to_blame() const;
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
  bool look_due_ = false;   // there as well: a controller has ticked
  double interval_ = 0;     // s; between samples of adaptive methods
  long next_sample_ = 1;    // index on the grid of sample times
  Watch watch_;
  Resolution resolution_;
  Outcome out_;
  Result<void> sink_{};
  Stopwatch began_, shown_;
};

}  // namespace invar
