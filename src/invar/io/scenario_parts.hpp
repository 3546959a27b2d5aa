// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/pose_reference.hpp"
#include "invar/control/signal.hpp"
#include "invar/io/toml_table.hpp"
#include "invar/run/scenario.hpp"

namespace invar {

/// Readers of the tables of a scenario file. What is wrong is noted in the document of the table (see TomlTable::refuse).

Method read_method(const TomlTable& root);
/// Whether a method chooses its steps itself; false for a word that is none.
bool adaptive(const std::string& integrator);
Sampling read_sampling(const TomlTable& root, const Method& method);
Start read_start(const TomlTable& root, const ModelSpec& spec, const Model& model);
/// [[disturbance]] and [[effort]]; names are those of the first model that has them. The seed is that of random signals.
std::vector<std::shared_ptr<const Environment>> read_environments(const TomlTable& root,
                                                                  const std::vector<std::shared_ptr<const Model>>& models,
                                                                  std::uint64_t seed);
/// [flow], or nothing; the seed is that of the errors with which it is measured.
std::shared_ptr<const Flow> read_flow(const TomlTable& root, std::uint64_t seed);
/// [[strip_drag]], one for every body named; bodies are those of the first model that has them.
std::vector<std::shared_ptr<const Environment>> read_drags(const TomlTable& root,
                                                           const std::vector<std::shared_ptr<const Model>>& models,
                                                           const std::shared_ptr<const Flow>& flow);
/// [[edit]], those of one instant together, and the tables that they came from.
struct EditTables {
  std::vector<EditEvent> events;
  std::vector<std::vector<TomlTable>> tables;
};
EditTables read_edits(const TomlTable& root, const Scenario& scenario);
/// One edit of a model, without its time.
Edit read_edit(const TomlTable& table, const std::string& model_path);
/// Notes what models_of has against them, at the table of the edit.
void refuse_edit(const EditTables& edits, const EditFlaw& flaw);
/// [[drive]], or nothing: one environment for all of them, which comes last. Driven joints start where their drives do.
std::shared_ptr<const Environment> read_drives(const TomlTable& root, const Model& model, double t, Start& start);
/// [[control]]: needs model, start and times of the scenario.
std::vector<ControllerSpec> read_controllers(const TomlTable& root, const Scenario& scenario);
/// [must].
std::vector<Law> read_laws(const TomlTable& root, const Model& model);

/// [[figure]]; whether there will be what they show is known when the run begins.
std::vector<FigureSpec> read_figures(const TomlTable& root);
/// [[convergence]]: needs method and times of the scenario.
std::vector<ConvergenceSpec> read_convergence(const TomlTable& root, const Scenario& scenario);

/// Parts of a [[control]] table, for its nominal model:
/// actuators = [ { kind = "motor", joint = "j1", limits = [-10, 10], rate = 100, lag = 0.01 }, ... ].
std::vector<ActuatorSpec> read_actuators(const TomlTable& control, const Model& nominal);
/// period, delay = 0.002 and noise = { position = 1e-4, attitude = 1e-3, velocity = 0.01, angular_velocity = 0.01 }; the
/// actuators must have been read.
void read_sampled(const TomlTable& control, ControllerSpec& spec);

/// { kind = "pulse", from = 0.5, to = 1.5, value = 1 } under `key`; absent: constant one.
Signal read_signal(const TomlTable& table, const char* key);

/// What is to be followed (docs/references.md): a table under `key`; files are looked for from `folder`, that of the scenario.
/// Nothing where the key is absent or what is there was refused; a reference that is handed out has no flaw.
std::optional<Reference> read_reference(const TomlTable& table, const char* key, const std::string& folder);
std::optional<PoseReference> read_pose_reference(const TomlTable& table, const char* key, const std::string& folder);

}  // namespace invar
