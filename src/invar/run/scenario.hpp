// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "invar/control/controller.hpp"
#include "invar/control/flow.hpp"
#include "invar/model/live_model.hpp"
#include "invar/run/figure.hpp"
#include "invar/run/laws.hpp"
#include "invar/run/method.hpp"
#include "invar/run/recorder.hpp"
#include "invar/run/start.hpp"

namespace invar {

/// When samples are taken. Fixed-step methods: every `steps` steps; adaptive ones: every `interval`. The first and the last
/// state are always recorded.
struct Sampling {
  long steps = 1;
  double interval = 0;  ///< s; 0: a thousandth of the run
  RecordChoice what;
  std::string where = {};  ///< in a scenario file: what says how often; empty: nothing does
};

/// Edits of the mechanism that are done together between two steps.
struct EditEvent {
  double at = 0;  ///< s
  std::vector<Edit> edits;
};

/// One run, ready to go: everything that a scenario file says, checked and resolved. Written by a reader or by a program.
struct Scenario {
  std::string name = "unnamed";
  std::string path;        ///< of the scenario file; empty where there is none
  std::string model_path;  ///< of the model file
  std::shared_ptr<const Model> model;
  Method method;
  double start_time = 0;      ///< s
  double end_time = 1;        ///< s
  bool end_at_stops = false;  ///< a joint that reaches a limit ends the run; otherwise its stop pushes back
  Start start;
  std::vector<std::shared_ptr<const Environment>> environments;  ///< disturbances and efforts
  std::shared_ptr<const Flow> flow;  ///< of what the mechanism moves in, to be recorded; null: there is none
  std::vector<ControllerSpec> controllers;
  std::vector<EditEvent> edits;           ///< in order of time; then `spec` is needed
  std::shared_ptr<const ModelSpec> spec;  ///< that the model was built from
  Sampling sampling;
  std::vector<Law> laws;
  std::vector<ConvergenceSpec> convergence;  ///< made after the run
  std::vector<FigureSpec> figures;           ///< of its page
  std::uint64_t seed = 0;                    ///< of random streams (noise of controllers); results carry it
};

/// The models that the run goes through: the scenario's own, then one after each event. Refused where an event is, with the
/// reason and its number, or where the method does not take what it leaves. Joints that are locked where they stand are taken
/// where [initial] has them.
struct EditFlaw {
  std::size_t event = 0;
  int edit = -1;  ///< of the event; -1: all of it
  Error error;
};
tl::expected<std::vector<std::shared_ptr<const Model>>, EditFlaw> models_of(const Scenario& scenario);

/// The first edit that a mechanism under control cannot take, if any: those of inertia it can, the nominal model staying as it
/// is.
std::optional<EditFlaw> edit_under_control(const Scenario& scenario);

/// The same run of a plant that has the inertias of the edits at its start from the beginning: what was attached there belongs to
/// it, and these edits are gone. Controllers keep the nominal models that they have. Other edits stay.
Result<Scenario> with_start_edited(Scenario scenario);

/// What is recorded: what was chosen, loads only where anything can act.
RecordChoice recorded(const Scenario& scenario);

/// What makes no sense about the times of a scenario, if anything: its end, its step, its samples.
std::optional<Objection> time_objection(const Scenario& scenario);

}  // namespace invar
