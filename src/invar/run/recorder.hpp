// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/mech/formulation.hpp"
#include "invar/run/observers.hpp"
#include "invar/run/sink.hpp"

namespace invar {

/// What goes into a recording, group by group.
struct RecordChoice {
  bool bodies = true;          ///< bodies/<name>/{p, q, v, w}
  bool accelerations = false;  ///< bodies/<name>/{a, alpha}, joints/<name>/vdot
  bool loads = true;           ///< bodies/<name>/{force, moment}, where anything can act
  bool joints = true;          ///< joints/<name>/{q, v}
  bool reactions = true;       ///< joints/<name>/{force, moment}
  bool efforts = true;         ///< joints/<name>/effort, couplings/<name>/effort
  bool tendons = true;         ///< tendons/<name>/{length, rate, tension}
  bool energy = true;          ///< energy/{kinetic, potential, elastic, total, work, dissipated, balance, hamiltonian, physical}
  bool momentum = true;        ///< momentum/{linear, angular, angular_com}
  bool residual = true;        ///< residual/{position, velocity, quaternion}, joints/<name>/residual
  bool solver = true;          ///< solver/{iterations, substeps}
};

/// The words of `what` in scenario files, in the order of the members above.
inline constexpr const char* kRecordGroups[] = {"bodies",  "accelerations", "loads",    "joints",   "reactions", "efforts",
                                                "tendons", "energy",        "momentum", "residual", "solver"};
/// The member that a word means; nullptr for an unknown word.
bool* group(RecordChoice& choice, const std::string& word);

/// Channels of a model under a choice. Channels of length zero (the coordinates of a fixed joint) are left out.
std::vector<Channel> channels(const Model& model, const RecordChoice& choice);

/// The channels of all models that a run goes through: those of the first, then what others have beyond them; and with the energy
/// that edits add.
std::vector<Channel> channels_of_all(const std::vector<std::shared_ptr<const Model>>& models, const RecordChoice& choice);

/// Fills rows in the order of channels(). No heap after construction.
class Recorder {
 public:
  Recorder(const Model& model, const RecordChoice& choice);
  /// In a wider layout, see channels_of_all: NaN where this model has no such channel.
  Recorder(const Model& model, const RecordChoice& choice, std::vector<Channel> layout);

  const std::vector<Channel>& channels() const { return channels_; }
  /// The row lives until the next call.
  std::span<const double> row(const Observation& seen, const Evaluation& evaluation, const Port& port);

 private:
  const Model& model_;
  RecordChoice choice_;
  std::vector<Channel> channels_;
  std::vector<double> row_;  // width of this model
  bool edits_ = false;       // there is a channel for what edits add
  std::vector<int> places_;  // per number of row_: its place in the layout; empty: the same
  std::vector<double> wide_;
};

}  // namespace invar
