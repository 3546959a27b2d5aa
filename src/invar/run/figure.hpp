// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "invar/geom/vector.hpp"
#include "invar/run/sink.hpp"

namespace invar {

/// A curve over time: a sum of recorded channels of the same size, sample by sample.
struct CurveSpec {
  enum class Value {
    Components,  ///< one curve each
    Length,      ///< |x|
    Square,      ///< x · x
    Change,      ///< x - x(start), one curve each
  };
  struct Term {
    std::string path;  ///< of a channel: "bodies/rod/p"
    double factor = 1;
  };
  std::vector<Term> terms;
  Value value = Value::Components;
  double offset = 0;  ///< added in the end
  std::string label;
  bool dashed = false;
};

/// The words of `value` in scenario files, in the order of the enumeration.
inline constexpr const char* kCurveValues[] = {"components", "length", "square", "change"};

/// One plot of a figure: curves over time, or the outcome of a convergence.
struct PanelSpec {
  std::string title, y;  ///< label of the axis, with its unit
  bool log = false;
  std::vector<CurveSpec> curves;
  std::string convergence;  ///< by name; then there are no curves
};

/// Metrics of the run, and numbers to compare them with.
struct TableSpec {
  struct Row {
    std::string label;
    std::vector<std::string> metrics;  ///< one per column, or
    std::vector<double> values;        ///< numbers as they are
  };
  std::vector<std::string> columns;
  std::vector<Row> rows;
};

/// Most poses in one picture.
inline constexpr int kMostPoses = 200;

/// The mechanism at several times in one picture.
struct TraceSpec {
  int poses = 9;                    ///< even over the run
  std::vector<std::string> bodies;  ///< whose centres of mass leave a line
  std::optional<Vec3> from;         ///< direction from which it is seen
};

/// A figure that the page of a run shall have, beside the plots that every page has.
struct FigureSpec {
  std::string name, caption;
  std::vector<PanelSpec> panels;
  std::optional<TableSpec> table;
  std::optional<TraceSpec> trace;
  std::string where;  ///< file:line:column; empty where there is no file
};

/// The run once more for each of some steps, and one metric of each.
struct ConvergenceSpec {
  std::string name;
  std::vector<double> steps;  ///< s
  std::string metric;
  std::string where;  ///< as of figures
};

/// What was found; NaN where a run failed.
struct ConvergenceResult {
  std::string name, metric, unit;
  std::vector<double> steps, values;
};

/// Why a curve cannot be drawn from these channels, or an empty string.
std::string flaw(const CurveSpec& curve, const std::vector<Channel>& channels);

/// Why a figure cannot be made from a recording with these channels, metrics and convergence, or an empty string.
std::string flaw(const FigureSpec& figure, const std::vector<Channel>& channels, const std::vector<std::string>& metrics,
                 const std::vector<ConvergenceSpec>& convergence);

}  // namespace invar
