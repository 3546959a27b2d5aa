// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/formulation.hpp"
#include "invar/run/tally.hpp"

namespace invar {

/// What a law's value is divided by before it is compared with its bound.
enum class Scale { Absolute, Kinetic, Total, Momentum, AngularMomentum };

/// The word of scenario files ("kinetic").
const char* name(Scale scale);

/// The kinds of laws that a scenario may state.
struct LawKind {
  const char* name;           ///< key under [must]
  const char* metric;         ///< the metric it bounds; nullptr for laws with a measure of their own
  const char* unit;           ///< of the absolute value
  std::vector<Scale> scales;  ///< allowed, the first is the default
  const char* meaning;        ///< one clause
};
const std::vector<LawKind>& law_kinds();

/// One statement of [must]. `name` is that of a LawKind.
struct Law {
  enum class Sense { Below, Above };
  std::string name;
  Sense sense = Sense::Below;
  double bound = 0;
  Scale scale = Scale::Absolute;
  int joint = -1;                                          ///< max_force, max_moment (-1: all joints), final
  int body = -1;                                           ///< final
  std::string field;                                       ///< final: "p", "q", "v", "w"; metric: its name
  std::vector<double> target;                              ///< final: the values to be reached; attitudes as unit quaternions
  double from = -std::numeric_limits<double>::infinity();  ///< max_force, max_moment: closed window of time, s
  double to = std::numeric_limits<double>::infinity();
  std::string where = {};  ///< in a scenario file; empty: made by a program
};

/// Why two laws can never both hold, or one alone can never hold; empty where nothing is known against them.
std::string contradiction(const Law& law);
std::string contradiction(const Law& a, const Law& b);

/// What became of a law. `value` is NaN, with a reason, where it could not be computed; such a law is not held.
struct LawResult {
  std::string name;
  std::string subject;  ///< "joint 'elbow', 0.5 s to 1.5 s", or empty
  Law::Sense sense = Law::Sense::Below;
  double bound = 0;
  double value = std::numeric_limits<double>::quiet_NaN();
  std::string unit;  ///< SI, or "of the largest kinetic energy"
  bool held = false;
  std::string reason;

  /// "energy_drift: 3.1e-11 of the largest kinetic energy, must be below 1e-09: held"; pure numbers without a unit.
  std::string text() const;
};

/// Watches recorded samples for those laws that need more than the Tally, and judges all of them at the end.
class Judge {
 public:
  Judge(const Model& model, std::vector<Law> laws);

  /// From now on samples are those of an edited model, in which laws find their joints and bodies by name.
  void enter(const Model& model);
  /// A recorded sample. No heap.
  void sample(double t, const Evaluation& evaluation);
  /// After the last step. `last` is the evaluation at the end of the run, `metrics` all that it reports.
  std::vector<LawResult> verdicts(const Tally& tally, const Evaluation& last, const std::vector<Metric>& metrics) const;

 private:
  LawResult judge(std::size_t k, const Tally& tally, const Evaluation& last, const std::vector<Metric>& metrics) const;

  const Model& model_;  // that laws were written for
  const Model* now_;    // that samples are from
  std::vector<Law> laws_;
  std::vector<Law> there_;       // the same, with the indices of *now_; kGone where it has no such joint or body
  std::vector<double> largest_;  // per law: the largest force or moment in its window; -1 before any sample
};

}  // namespace invar
