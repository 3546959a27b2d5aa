// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/learned.hpp"
#include "invar/mech/environment.hpp"

namespace invar {

/// The load part of what was learned, on a model: the nominal one or the edited one. Terms on bodies act where they were learned,
/// at the nominal centres of mass, wherever the centre of mass of the edited body is.
/// In a loop velocity-dependent terms belong to reference velocities (`add_at_reference`, learned_in_loop.hpp): at measured ones
/// the compensation of friction is positive feedback through the loop's delay, and where the true force is monotone the
/// difference helps.
/// No heap after construction. Not for two threads at once: it has a workspace.
class LearnedLoad final : public Environment {
 public:
  /// Refuses other bodies, joints and actuators than those that were learned, by name.
  static Result<LearnedLoad> build(std::shared_ptr<const Model> model, std::shared_ptr<const Learned> learned,
                                   const TermContext& context = {});

  /// What is around, as measured now; obstacles and inputs in the order of the file, and they must outlive it.
  void set_around(const Surroundings& around) { around_ = around; }

  /// As a force of nature: at the velocities of the bodies.
  void add(Instant at, const Bodies& bodies, Load& load) const override;
  /// The same with the velocities of a reference (linear; angular) at the poses of the bodies.
  void add_at_reference(const Bodies& bodies, const Accelerations& reference, Port& port) const;
  /// What generic terms add of that.
  void add_generic_at_reference(const Bodies& bodies, const Accelerations& reference, Port& port) const;
  bool has_generic() const { return generic_.terms.has_value(); }
  /// From now on without them.
  void drop_generic() { generic_.terms.reset(); }

  /// How far the motion lies outside of the training data: at most 1 inside; generic terms are gone at 2.
  double leverage(const Bodies& bodies) const;
  /// The same at other velocities.
  double leverage(const Bodies& bodies, const Accelerations& velocities) const {
    move(bodies, velocities);
    return leverage(moved_);
  }

  std::optional<std::shared_ptr<const Environment>> bound_to(const Model& model) const override;

 private:
  LearnedLoad() = default;
  struct Part {
    std::optional<Terms> terms;
    VecX coefficients;
    void add(const Bodies& bodies, const Surroundings& around, Port& port) const {
      if (terms) terms->add(bodies, around, coefficients.data(), port);
    }
  };
  void place(const Bodies& bodies) const;
  void move(const Bodies& bodies, const Accelerations& velocities) const;
  void evaluate(const Bodies& bodies, bool all, Port& port) const;

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Learned> learned_;
  TermContext context_;
  Part elsewhere_, on_bodies_, generic_;
  std::vector<Vec3> shift_;  // per body: from the centre of mass to where terms act, body axes
  Surroundings around_{Vec3::Zero(), {}, {}, nullptr};
  mutable Bodies moved_, placed_;  // at reference velocities; at the points
  mutable Port port_;              // about the points
};

}  // namespace invar
