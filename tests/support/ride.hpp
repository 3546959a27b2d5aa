// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/integrate/composition.hpp"
#include "invar/mech/system.hpp"

namespace invar::testing {

/// The same wrenches and efforts for all times.
class ConstantLoad final : public Environment {
 public:
  explicit ConstantLoad(const Load& load) : load_(load) {}
  void add(Instant, const Bodies&, Load& load) const override;

 private:
  Load load_;
};

/// A drag on every body: a load that depends on the motion.
class Drag final : public Environment {
 public:
  void add(Instant, const Bodies& bodies, Load& load) const override;
};

/// What a stepper of the natural formulation kept over some steps: largest errors and sizes.
struct Ride {
  Verdict verdict;
  double balance = 0, gap = 0, rate = 0, linear = 0, angular = 0;  // of one step for the balance, of the whole otherwise
  double energy = 0, momentum = 0, spin = 0, speed = 0;            // sizes
  double reach = 0, momenta = 0;  // largest distance from the origin; sum of m |v| + I |w|/length
  long steps = 0, divided = 0;
  std::vector<int> iterations;  // per step
};

Ride ride(const ModelSpec& spec, const Model& model, const Bodies& bodies, const char* method, double h, int steps,
          const std::vector<const Environment*>& acts = {}, Composition composition = Composition::None);

}  // namespace invar::testing
