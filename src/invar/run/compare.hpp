// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <functional>

#include "invar/run/run.hpp"

namespace invar {

/// One way to compute a motion, under a name that people can type: "augmented/rk4", "natural/petrov_galerkin/1".
struct Way {
  std::string name;
  Method method;
};

/// Every formulation with every method that it may take (see objection), the scenario's own way first and as the scenario has it.
/// The others take `step` where they need one (0: the scenario's, or a ten-thousandth of the run where it has none).
std::vector<Way> ways(const Scenario& scenario, double step = 0);

/// What is compared: the largest over all bodies, or over all components of joint reactions that the motion determines.
enum Quantity { kPosition, kAttitude, kVelocity, kAngularRate, kForce, kMoment, kEnergy, kQuantities };
using Quantities = std::array<double, kQuantities>;
struct QuantityName {
  const char *name, *unit;
};
inline constexpr QuantityName kQuantityNames[kQuantities] = {
    {"position", "m"}, {"attitude", "rad"}, {"velocity", "m/s"}, {"angular_rate", "rad/s"},
    {"force", "N"},    {"moment", "N m"},   {"energy", "J"}};

/// The difference that is the largest part of the bound of its instant.
struct Worst {
  int quantity = kPosition;
  double difference = 0, bound = 0;  ///< in the unit of the quantity
  double at = 0;                     ///< s
  double ratio = 0;                  ///< difference over bound
};

/// How one way differs from the reference.
struct Comparison {
  enum class Verdict {
    Within,      ///< all differences are within their bounds
    Exceeded,    ///< some are not
    Unresolved,  ///< from the start on the errors of the way or of the reference are above a tenth of the motion: steps too long
    Refused,     ///< the formulation or the method does not take this model or this pair
    Failed,      ///< the numerics failed while the motion was resolved
  };
  Way way;
  Verdict verdict = Verdict::Within;
  std::string reason;              ///< Refused, Failed; otherwise not empty where the numerics failed later
  Quantities largest{};            ///< differences while the motion is resolved
  Quantities at{};                 ///< s; when
  Quantities bound{};              ///< then, in the same units
  Worst worst;                     ///< where bounds change in time, not one of the largest differences
  double power_balance = 0;        ///< J; largest energy error of the way itself
  double resolved = 0;             ///< s; until then the errors of both are below a tenth of the motion
  long instants = 0;               ///< that were compared
  long steps = 0;                  ///< that the way took
  double wall = 0;                 ///< s; of one run
  std::vector<double> times;       ///< s; at most a hundred instants
  std::vector<Quantities> series;  ///< differences there
};

struct CompareOptions {
  std::string reference;          ///< name of a way; empty: the scenario's own
  std::vector<std::string> only;  ///< names, or parts of them between slashes; empty: all ways
  double step = 0;                ///< s; see ways()
  /// Largest difference allowed, as a part of the size of the motion: model length, radian, largest speed, largest reaction,
  /// largest kinetic energy. 0: derived from the errors that the ways show themselves, see compare().
  double bound = 0;
  const std::atomic<bool>* stop = nullptr;
  /// Called a few times per second with the name of the way, the run's place among all runs, and its progress.
  std::function<void(const std::string& way, int run, int runs, const Progress&)> progress;
};

/// The reference and all ways against it.
struct CompareResult {
  std::string reference;
  Quantities scale{};  ///< the size of the motion
  std::vector<Comparison> ways;
  bool interrupted = false;

  bool within() const;  ///< no way exceeds its bounds
  bool failed() const;  ///< some way failed
};

/// Runs a scenario in every way that takes it and compares bodies, determined reactions and energies at the instants that runs
/// have in common. Without a bound of its own, every way is also run with half its step (adaptive ones: a tenth of their
/// tolerances): with the difference d of the two and the order p, its error is about d 2^p/(2^p - 1), and two ways may differ by
/// three times the sum of their errors so far and 1e-9 of the motion. Where motion is chaotic errors grow until nothing can be
/// said: comparison ends for a way when its error, or that of the reference, is above a tenth of the motion. Fails where the
/// reference cannot be run.
Result<CompareResult> compare(const Scenario& scenario, const CompareOptions& options = {});

}  // namespace invar
