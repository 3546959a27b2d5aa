// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/constrained_inverse.hpp"

namespace invar {

/// A freedom that is kept within limits, rad or m; an infinite one is none.
struct LimitedFreedom {
  int joint = 0, freedom = 0;
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
};

/// Why a freedom cannot be kept within these limits, or an empty string: turns of an angle are not counted.
std::string flaw(const LimitedFreedom& freedom, const Model& model);

/// Freedoms of the model that have limits there.
std::vector<LimitedFreedom> limited_freedoms(const Model& model);

/// U = strength Σ exp(-(q - lower)/width) + exp(-(upper - q)/width) over freedoms with limits. Its gradient is an effort on each;
/// a full turn is added to angles as often as brings them nearest to the middle between two limits.
/// Laws: d/dt U = gradient · velocity; the rate is the derivative of the gradient along the motion, axes and arms included.
/// No heap after construction.
class LimitRepulsion {
 public:
  LimitRepulsion() = default;
  LimitRepulsion(const Model& model, std::vector<LimitedFreedom> freedoms, double strength, double width);

  bool empty() const { return freedoms_.empty(); }
  /// "elbow", "wrist.1": as many as there are freedoms with limits.
  std::vector<std::string> names(const Model& model) const;

  double energy(const ConstrainedInverse& at) const;
  /// Adds the gradient as wrenches about the centres of mass, World, and its derivative along the motion of `at`.
  void add_gradient(const ConstrainedInverse& at, Port& gradient, Port& rate);

  /// How far the worst of them is beyond a limit (negative within), the sizes of coordinate and limit, and which.
  struct Excess {
    double amount, terms;
    int freedom;
  };
  Excess excess(const ConstrainedInverse& at) const;

 private:
  double coordinate(const ConstrainedInverse& at, const LimitedFreedom& f) const;

  std::vector<LimitedFreedom> freedoms_;
  double strength_ = 1, width_ = 0.1;
  VecX efforts_, rates_;  // per freedom of the model
};

}  // namespace invar
