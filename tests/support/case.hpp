// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "invar/io/scenario_file.hpp"
#include "invar/run/run.hpp"
#include "support/places.hpp"
#include "support/recorded.hpp"

namespace invar::testing {

/// A scenario file of the suite `suite` (tests/<suite>/cases/<name>.toml), computed by another method where one is named.
inline Scenario read_case(const std::string& suite, const std::string& name, const std::string& formulation = {},
                          const std::string& integrator = {}, double step = 0) {
  auto read = read_scenario_file(source_path("tests/") + suite + "/cases/" + name + ".toml");
  if (!read) {
    ADD_FAILURE() << read.error().text();
    return {};
  }
  if (!formulation.empty()) read->method.formulation = formulation;
  if (!integrator.empty()) read->method.integrator = integrator;
  if (step > 0) read->method.step = step;
  return *read;
}

/// A recording in memory: what a run recorded, by channel.
class Memory final : public Sink {
 public:
  Result<void> begin(const Layout& layout) override {
    layout_ = layout;
    return {};
  }
  Result<void> sample(std::span<const double> row) override {
    rows_.emplace_back(row.begin(), row.end());
    return {};
  }
  Result<void> end() override { return {}; }

  std::size_t size() const { return rows_.size(); }
  const Layout& layout() const { return layout_; }
  const std::vector<double>& row(std::size_t k) const { return rows_[k]; }
  double time(std::size_t k) const { return rows_[k][0]; }
  /// The numbers of a channel in sample k; a failure where there is no such channel.
  VecX at(const std::string& path, std::size_t k) const {
    int first = 0;
    for (const Channel& c : layout_.channels) {
      if (c.path == path) return Eigen::Map<const VecX>(rows_[k].data() + first, c.size);
      first += c.size;
    }
    ADD_FAILURE() << "no channel " << path;
    return VecX::Zero(1);
  }
  VecX last(const std::string& path) const { return at(path, rows_.size() - 1); }

 private:
  Layout layout_;
  std::vector<std::vector<double>> rows_;
};

/// Runs a scenario; a failure where it is refused, or where a recorded sample is out of balance.
inline Outcome outcome_of(const Scenario& s, Sink* sink = nullptr) {
  const Result<Outcome> outcome = judged_run(s, sink);
  if (!outcome) ADD_FAILURE() << outcome.error().text();
  return outcome ? *outcome : Outcome{};
}

}  // namespace invar::testing
