// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "invar/run/run.hpp"

namespace invar::cli {

/// What a run to its end will record.
struct Weight {
  double samples = 0;
  int width = 0;             ///< numbers per sample
  double log = 0, hdf5 = 0;  ///< bytes

  explicit Weight(const Foreseen& foreseen);
  /// "2e+07 samples of 10 numbers, 1.92 GB of run.log and 1.6 GB of run.h5".
  std::string text() const;
  /// More than 1e7 samples or 1 GB of log: worth a word.
  bool large() const;
};

/// "1.92 GB".
std::string size_text(double bytes);
/// Where a scenario says how often it records.
std::string recording_place(const Scenario& scenario);
/// The warning about a recording that will be large.
std::string large_warning(const Scenario& scenario, const Weight& weight);

}  // namespace invar::cli
