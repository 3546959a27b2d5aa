// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/model/edit.hpp"
#include "invar/model/model.hpp"

namespace invar {

/// The values that edits of a list replaced, in order. Its entries keep their memory for the next list.
class UndoList {
 public:
  struct Entry {
    enum class Sort { Inertia, Attached, Detached, JointFrames, Map, Tool };
    Sort sort = Sort::Inertia;
    std::size_t index = 0;
    Inertia inertia;
    Pose a, b;
    std::vector<double> coefficients;
    PayloadSpec payload;
  };
  UndoList() : entries_(kReady) {}

  Entry& add(Entry::Sort sort, std::size_t index);
  /// Restores everything, the last first.
  void roll_back(ModelSpec& spec);
  void clear() { count_ = 0; }

 private:
  static constexpr std::size_t kReady = 16;
  std::vector<Entry> entries_;
  std::size_t count_ = 0;
};

/// A model that takes edits. A list of edits is checked as a whole and then done as a whole, or refused with the reason, and then
/// every bit is as it was. Edits of values (set_inertia, attach, detach, set_joint_frame, set_map, set_tool of a frame that
/// exists) change the Model in place, so that whoever refers to it sees them (Formulation::adopt); all others make a new Model,
/// and the old one lives as long as somebody holds it.
/// Law: model() equals Model::build(spec()) to the bit.
/// Lists of up to 16 edits of values take no memory, but for what becomes longer: names of payloads beyond 15 characters,
/// polynomials.
class LiveModel {
 public:
  static Result<LiveModel> build(ModelSpec spec, std::vector<std::string>* warnings = nullptr);

  const ModelSpec& spec() const { return spec_; }
  std::shared_ptr<const Model> model() const { return model_; }

  Result<void> apply(std::span<const Edit> edits);
  Result<void> apply(const Edit& edit) { return apply(std::span<const Edit>(&edit, 1)); }

  /// What the last list changed; nothing where it was refused.
  const Change& change() const { return change_; }
  /// Which edit of the last list was refused; -1 where it was the mechanism as a whole, or none.
  int refused() const { return refused_; }

 private:
  LiveModel(ModelSpec spec, Model model);
  Result<void> apply_values(std::span<const Edit> edits);
  Result<void> apply_structure(std::span<const Edit> edits);

  ModelSpec spec_;
  std::shared_ptr<Model> model_;
  Change change_;
  UndoList undo_;
  int refused_ = -1;
};

}  // namespace invar
