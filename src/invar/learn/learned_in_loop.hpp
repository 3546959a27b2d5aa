// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/flow.hpp"
#include "invar/control/known_load.hpp"
#include "invar/learn/learned_load.hpp"

namespace invar {

/// The load of a learned file as a law knows it (docs/control.md): relative to the flow that is measured at the time of the
/// motion, beside obstacles that stand where they are told. No heap after construction.
class LearnedInLoop final : public KnownLoad {
 public:
  /// `flow`: null, or measured by nobody: still water is assumed. `obstacles` are points, World, in the order of the file.
  LearnedInLoop(LearnedLoad load, std::shared_ptr<const Flow> flow, std::vector<Vec3> obstacles)
      : load_(std::move(load)), flow_(std::move(flow)), obstacles_(std::move(obstacles)) {}

  void add(const LoadMotion& motion, Port& port) const override;
  bool has_generic() const override { return load_.has_generic(); }
  void add_generic(const LoadMotion& motion, Port& port) const override;
  void drop_generic() override { load_.drop_generic(); }
  double leverage(const LoadMotion& motion) const override;
  void remember(Recall& memory) override;

 private:
  void look_around(Instant at) const;

  mutable LearnedLoad load_;  // what is around it changes with time
  std::shared_ptr<const Flow> flow_;
  std::vector<Vec3> obstacles_;
};

/// Why a law cannot have this learned model in its loop, or an empty string: terms that need the inputs of actuators.
std::string objection_in_loop(const Learned& learned);

/// Whether some of these terms act through the velocity of the flow.
bool sees_flow(const std::vector<TermSpec>& terms);

}  // namespace invar
