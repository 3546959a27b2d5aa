// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "invar/control/joint_law.hpp"
#include "invar/io/scenario_parts.hpp"
#include "invar/learn/learned.hpp"
#include "invar/model/live_model.hpp"

namespace invar {

/// Readers of one [[control]] table, and what they share. See docs/control.md.
using MakeLaw = std::function<std::unique_ptr<ControlLaw>(const Model&)>;

/// learned = { file, load, fallback, patience, obstacles, adapt }.
struct LearnedTable {
  std::shared_ptr<const Learned> learned;  ///< null: there is no file, everything is learned in the loop
  KnownLoadSpec known;
  std::string whole_file;  ///< of which all is taken, with nothing that adapts beside; empty: none
  std::string elsewhere;   ///< what was other in the nominal model that it was learned on, a clause; empty: nothing
};
/// { kind = "drag", on = [..], … }; generic terms without a seed of their own take this one.
TermSpec read_term(const TomlTable& table, std::uint64_t seed);

struct ControlTable {
  const TomlTable& table;
  const Scenario& scenario;
  const Model& nominal;  ///< as it is told: what was learned about it moves no frame
  std::string folder;    ///< of the scenario
  const std::optional<LearnedTable>& learned;
};

std::optional<LearnedTable> read_learned(const TomlTable& control, const Scenario& scenario, const Model& nominal,
                                         const std::string& folder);
/// The nominal model with what was learned about it; null where it was learned for another one, which is noted.
std::shared_ptr<const Model> with_learned(const TomlTable& control, const LearnedTable& learned, LiveModel nominal);

MakeLaw read_task_law(const ControlTable& r);
MakeLaw read_body_law(const ControlTable& r, bool poses);
MakeLaw read_joint_law(const ControlTable& r, JointLawSpec::Kind kind);
MakeLaw read_impedance(const ControlTable& r);

/// observer = { rate = 50 }, bound = { remainder = 1.5, after = 4, confidence = 0.9, runs = 20 } or that of the learned file, and
/// the learned load.
struct LoopParts {
  double observer = 0;  ///< k_o, 1/s
  RemainderBound bound;
  KnownLoadSpec known;
};
LoopParts read_loop_parts(const ControlTable& r, bool printed = false);

/// A number above zero, or at least zero.
double positive(const TomlTable& t, const char* key, double fallback, bool zero = false);

/// A body, or a frame of one, by name: { body = "b" } is its body frame, with com = true about its centre of mass.
bool read_frame(const TomlTable& t, const Model& model, std::string& name, int& body, Pose& X_BE);
/// A joint and one of its scalar freedoms: { joint = "elbow", freedom = 0 }.
bool read_freedom(const TomlTable& t, const Model& model, int& joint, int& freedom);

/// The path of a frame under 'path'; with from_start it is moved so that it begins where the frame is.
std::optional<PoseReference> read_path(const TomlTable& t, const ControlTable& r, int body, const Pose& X_BE, bool position,
                                       bool attitude);

}  // namespace invar
