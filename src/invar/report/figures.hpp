// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "invar/report/decimation.hpp"
#include "invar/run/figure.hpp"

// For the sources of this room only.
namespace invar {

/// Figures as they stand in the scene of a recording, and back; what is no figure is left out.
nlohmann::ordered_json figures_json(const std::vector<FigureSpec>& figures);
std::vector<FigureSpec> figures_of(const std::string& scene);

/// The figures of a page, made from a recording (docs/page-data.md).
class Figures {
 public:
  explicit Figures(const LogReader& log);

  bool empty() const { return figures_.empty(); }
  /// Their curves, to be computed while the recording is read.
  const std::vector<Derived>& curves() const { return curves_; }
  /// `data` is the recording with those curves at its end, `result` what result.json says, null where there is none. Pictures are
  /// made from the recording in `directory`.
  nlohmann::ordered_json json(const Decimated& data, const nlohmann::ordered_json& result, const std::string& directory) const;

 private:
  std::vector<FigureSpec> figures_;  // whose curves can be drawn
  std::vector<Derived> curves_;
};

}  // namespace invar
