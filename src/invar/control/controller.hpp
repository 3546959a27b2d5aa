// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/control/control_law.hpp"
#include "invar/mech/formulation.hpp"

namespace invar {

/// A law with its nominal model and how it is run.
struct ControllerSpec {
  std::string name = "control";
  std::shared_ptr<const Model> nominal;
  std::function<std::unique_ptr<ControlLaw>(const Model& nominal)> law;  ///< makes one for a run
  double period = 0;  ///< s between commands, held in between; 0: at every instant
};

/// The plant's bodies as a nominal model sees them: bodies of the same names, about the nominal centres of mass. The nominal
/// model must have no other bodies. Allocates.
Bodies seen_as(const Model& nominal, const Model& plant, const Bodies& bodies);

/// A law at work on a plant. It sees the plant's bodies of the names that its nominal model has (frames are the same, masses and
/// centres of mass need not be) and acts on bodies and joints by name. A held command keeps its wrenches in World axes and its
/// efforts on their freedoms.
class Controller final : public Environment {
 public:
  /// Refuses a plant that lacks a body of the nominal model, or a joint that has other freedoms.
  static Result<std::unique_ptr<Controller>> build(const ControllerSpec& spec, const Model& plant, double start);

  void add(Instant at, const Bodies& bodies, Load& load) const override;
  double next_event(double t) const override;

  /// Why the law cannot work there, or an empty string.
  std::string objection(const Bodies& bodies);
  /// Between two steps; a new command where one is due.
  void settle(double t, const Bodies& bodies);
  /// What the plant did at a recorded instant.
  void witness(double t, const Evaluation& plant);

  const std::string& name() const { return spec_.name; }
  ControlLaw& law() { return *law_; }
  const ControlLaw& law() const { return *law_; }

 private:
  struct BodyPair {
    std::size_t plant;
    Vec3 offset;  // from the plant's centre of mass to the nominal one, body axes
  };
  struct JointPair {
    int nominal, plant;
    int v0, nv;  // its freedoms in the plant
  };
  Controller(const ControllerSpec& spec, const Model& plant, double start);
  void see(const Bodies& plant) const;
  void act(const Bodies& plant, Load& load) const;

  ControllerSpec spec_;
  double start_;
  std::unique_ptr<ControlLaw> law_;
  std::vector<BodyPair> bodies_;   // per nominal body
  std::vector<JointPair> joints_;  // of the same name
  Load held_;                      // on the plant
  double due_;                     // s; next command
  std::vector<Wrench> reactions_;  // per nominal joint
  Accelerations accelerations_;    // per nominal body
  // Workspace of a call.
  mutable Bodies seen_;
  mutable Load command_;
};

}  // namespace invar
