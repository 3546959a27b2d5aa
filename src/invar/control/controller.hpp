// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/control/allocation.hpp"
#include "invar/control/control_law.hpp"
#include "invar/control/measurement.hpp"
#include "invar/mech/constrained_inverse.hpp"
#include "invar/mech/formulation.hpp"

namespace invar {

/// A law with its nominal model and how it is run.
struct ControllerSpec {
  std::string name = "control";
  std::shared_ptr<const Model> nominal;
  std::function<std::unique_ptr<ControlLaw>(const Model& nominal)> law;  ///< makes one for a run
  double period = 0;  ///< s between commands, held in between; 0: at every instant
  /// What the command has to go through; none: wrenches act on the bodies themselves and efforts on their freedoms.
  std::vector<ActuatorSpec> actuators;
  NoiseSpec noise;         ///< of what is seen; needs a period
  double delay = 0;        ///< s between what is seen and the command for it, a whole number of periods
  double lag = 0;          ///< s; without actuators: commands follow like a first-order filter; needs a period
  bool with_body = false;  ///< held wrenches turn with their bodies; otherwise they keep World axes
  bool weighs = false;     ///< shows how much commands change from tick to tick; needs a period
  std::string where = {};  ///< in which file and line it is told; empty: by a program
  /// Learned file of which its law takes all, edits and load, with nothing that adapts beside; empty: none.
  std::string learned_file = {};
  /// What the model of the learned file has that the nominal one has not, as a clause; empty: nothing.
  std::string learned_elsewhere = {};
};

/// The plant's bodies as a nominal model sees them: bodies of the same names, about the nominal centres of mass. The nominal
/// model must have no other bodies. Allocates.
Bodies seen_as(const Model& nominal, const Model& plant, const Bodies& bodies);

/// What the times of a spec (period, delay, noise, lags and rates of actuators) say that no controller does, or an empty string.
std::string flaw(const ControllerSpec& spec);

/// A law at work on a plant. It sees the plant's bodies of the names that its nominal model has (frames are the same, masses and
/// centres of mass need not be) and acts on bodies and joints by name. A held command keeps its wrenches about the nominal
/// centres of mass, in World axes or in those of the bodies, and its efforts on their freedoms. With actuators the command is
/// allocated to their inputs on the nominal model, and the actuators of the same names act on the plant; held are the inputs, so
/// that a thruster turns with its frame. A lag and a limit of rate move the held input at every tick: all but e^(-period/lag) of
/// the way to the allocated one, at most period times rate far. With a delay nothing is commanded before it has passed.
class Controller final : public Environment {
 public:
  /// Refuses a plant that lacks a body of the nominal model, a joint that has other freedoms, or anything that an actuator acts
  /// on. The seed is that of all random streams of a run.
  static Result<std::unique_ptr<Controller>> build(const ControllerSpec& spec, const Model& plant, double start,
                                                   std::uint64_t seed = 0);

  void add(Instant at, const Bodies& bodies, Load& load) const override;
  double next_event(double t) const override;

  /// Why the law or an actuator cannot work there, or an empty string.
  std::string objection(Instant at, const Bodies& bodies);
  /// Between two steps; a new command where one is due.
  void settle(double t, const Bodies& bodies);
  /// What the plant did at a recorded instant.
  void witness(double t, const Evaluation& plant);

  /// Goes on with a plant whose inertias were edited; what is known of the nominal model stays as it is.
  Result<void> rebind(const Model& plant);
  /// From now on acts with the commands of another one of the same kind, and `gain` times what its own differ from them: how a
  /// copy of a loop is tried with more gain than it knows of. Both must be sampled; the other one outlives it and settles first.
  void differ_from(const Controller& other, double gain) { other_ = &other, gain_ = gain; }

  /// Everything that it and its law remember between two steps, as numbers: commands on their way, noise, sums and filters, what
  /// was learned. One that is newly built from the same spec goes on from there to the bit as this one does; it refuses what one
  /// that is built otherwise has kept. Certificate, tracking and readings are no part of it: they begin anew.
  std::vector<double> snapshot();
  Result<void> restore(std::vector<double> numbers);

  const std::string& name() const { return spec_.name; }
  ControlLaw& law() { return *law_; }
  const ControlLaw& law() const { return *law_; }

  /// Those of the law, one for the error of everything that is followed, and one for the input of every actuator.
  const std::vector<Reading>& readings() const { return readings_; }
  /// Their values at the last look.
  std::span<const double> values() const { return values_; }
  /// That of the law with what became of its commands on their way.
  Certificate certificate() const;
  /// Inputs of the actuators: held, or of the last look.
  const VecX& inputs() const { return inputs_; }

 private:
  struct BodyPair {
    std::size_t plant;
    Vec3 offset;  // from the plant's centre of mass to the nominal one, body axes
  };
  struct JointPair {
    int nominal, plant;
    int v0, nv;  // its freedoms in the plant
  };
  Controller(const ControllerSpec& spec, double start, int delay, std::uint64_t seed);
  void add_errors();
  Result<void> pair(const Model& plant);
  Result<void> equip(const Model& plant);
  Result<std::vector<Actuator>> actuators_of(const Model& plant) const;
  void see(const Bodies& plant, double span = 0) const;
  bool command(Instant at, const Bodies& seen) const;
  void act(const Bodies& plant, double span, Load& load) const;
  void act_held(const Bodies& plant, double span, Load& load) const;
  struct Past {
    Load held;
    VecX inputs;
  };
  void tick(double t);
  void tell(const Past& past, const Bodies& seen);
  void tell_at_once(double t);
  void hold(const Bodies& seen, bool commanded);
  void acting(const Load& held, const VecX& inputs, const Bodies& nominal, Load& out) const;
  void look(double t, bool commanded);
  void weigh(const Bodies& seen);
  void remember(Recall& memory);

  ControllerSpec spec_;
  double start_;
  std::unique_ptr<ControlLaw> law_;
  std::vector<BodyPair> bodies_;   // per nominal body
  std::vector<JointPair> joints_;  // of the same name
  Measurement measurement_;
  std::vector<Actuator> actuators_;    // on the plant
  Load held_;                          // on nominal bodies, in the axes in which it is held, and freedoms
  VecX inputs_;                        // per actuator
  std::vector<Past> past_;             // a ring over the delay: what acted after each of the last ticks, for laws that observe
  long ticks_ = 0, arrived_ = 0;       // counted; of those, with something to see
  Bodies before_;                      // seen at the tick before
  Load first_, last_;                  // what acted since then
  const Controller* other_ = nullptr;  // with whose commands it acts, and how many times what differs from them
  double gain_ = 1;
  double due_;       // s; next command
  Certificate way_;  // of commands
  int given_ = -1, allocated_ = -1, limited_ = -1, late_ = -1;
  mutable bool lost_ = false;  // a command, since the last look
  /// |u - u before|_A of the commands of two ticks, before they lag.
  struct Change {
    ConstrainedInverse inverse;
    Load before, now;  // in the axes in which they are held
    VecX inputs;
    Load a, b;  // on the bodies seen
    Accelerations moved;
    double size = 0;
    bool begun = false;
    Change(const Model& nominal, VecX none);
  };
  std::unique_ptr<Change> change_;  // where it weighs
  std::vector<Reading> readings_;
  std::vector<double> values_;
  std::vector<Wrench> reactions_;  // per nominal joint
  Accelerations accelerations_;    // per nominal body
  // Workspace of a call.
  mutable Bodies seen_;
  mutable Load command_;
  mutable std::unique_ptr<Allocation> allocation_;  // where there are actuators
};

}  // namespace invar
