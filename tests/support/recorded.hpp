// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <unordered_map>

#include "invar/run/run.hpp"
#include "support/newton_euler.hpp"

namespace invar::testing {

/// What a recording says at one sample, as a reader of run.h5 finds it: channels by path. NaN: not there at that time.
struct Said {
  struct Place {
    const double* first;
    int size;
    std::ptrdiff_t stride;  ///< from one sample to the next
  };
  std::unordered_map<std::string, Place> channels;
  std::ptrdiff_t sample = 0;

  bool has(const std::string& path) const { return channels.contains(path); }
  /// A failure where there is no such channel.
  Eigen::Map<const VecX> at(const std::string& path) const;
};

/// The evaluation that a sample holds for a mechanism, and what acted from outside. Needs accelerations in the recording.
struct Sampled {
  Evaluation e;
  Port port;
};
Sampled sampled(const ModelSpec& spec, const Said& said);

/// The mechanism of a run, as its test wrote it: so it is judged.
void set_model(Scenario& s, const ModelSpec& spec);

/// Judges samples of a run in the order of time, each with the mechanism of its time: edits of the scenario change the spec.
class RecordingJudge {
 public:
  explicit RecordingJudge(const Scenario& scenario);

  void look(double t, const Said& said);
  /// One failure where any sample was out of balance, with the worst of them. `notes` of the run may name samples that stand in a
  /// singular configuration itself, where no reactions balance the motion.
  void expect_all(const std::string& what, const std::vector<std::string>& notes = {}) const;
  long samples() const { return samples_; }

 private:
  const Scenario& scenario_;
  ModelSpec spec_;
  std::size_t next_edit_ = 0;
  long samples_ = 0;
  struct Off {
    double t, by;  // s; parts of what rounding explains
    std::string where;
  };
  double worst_ = 0;
  std::vector<Off> off_;
};

/// A sink that judges what it gets and passes it on.
class JudgedSink final : public Sink {
 public:
  JudgedSink(const Scenario& scenario, Sink* next) : judge_(scenario), next_(next) {}
  Result<void> begin(const Layout& layout) override;
  Result<void> sample(std::span<const double> row) override;
  Result<void> end() override { return next_ ? next_->end() : Result<void>{}; }

  const RecordingJudge& judge() const { return judge_; }

 private:
  RecordingJudge judge_;
  Sink* next_;
  std::vector<double> row_;
  Said said_;
};

/// Runs a scenario with accelerations in its recording, and expects Newton and Euler at every sample.
Result<Outcome> judged_run(Scenario scenario, Sink* sink = nullptr, const std::string& what = {});

/// Judges every sample of a run.h5 of this scenario; how many there were.
long expect_newton_euler(const Scenario& scenario, const std::string& run_h5);

}  // namespace invar::testing
