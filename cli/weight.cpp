// SPDX-License-Identifier: Apache-2.0
#include "weight.hpp"

#include <fmt/format.h>

#include "invar/io/log.hpp"

namespace invar::cli {
namespace {

constexpr double kManySamples = 1e7, kLargeLog = 1e9;  // bytes

}  // namespace

Weight::Weight(const Foreseen& foreseen)
    : samples(foreseen.samples), width(foreseen.width), log(samples * (8 * width + kLogOverhead)), hdf5(samples * 8 * width) {}

std::string Weight::text() const {
  return fmt::format("{:.3g} samples of {} numbers, {} of run.log and {} of run.h5", samples, width, size_text(log),
                     size_text(hdf5));
}

bool Weight::large() const { return samples > kManySamples || log > kLargeLog; }

std::string size_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.3g} GB", bytes / 1e9);
  return bytes >= 1e6 ? fmt::format("{:.3g} MB", bytes / 1e6) : fmt::format("{:.3g} kB", bytes / 1e3);
}

std::string recording_place(const Scenario& scenario) {
  return scenario.sampling.where.empty() ? scenario.path : scenario.sampling.where;
}

std::string large_warning(const Scenario& scenario, const Weight& weight) {
  return fmt::format("{}: the run will record {}; [record] every and what say how much", recording_place(scenario),
                     weight.text());
}

}  // namespace invar::cli
