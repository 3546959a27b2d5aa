// SPDX-License-Identifier: Apache-2.0
#include "invar/model/live_model.hpp"

#include <algorithm>

namespace invar {

UndoList::Entry& UndoList::add(Entry::Sort sort, std::size_t index) {
  if (count_ == entries_.size()) entries_.emplace_back();
  Entry& entry = entries_[count_++];
  entry.sort = sort, entry.index = index;
  return entry;
}

void UndoList::roll_back(ModelSpec& spec) {
  using Sort = Entry::Sort;
  while (count_ > 0) {
    Entry& e = entries_[--count_];
    const auto at = static_cast<std::ptrdiff_t>(e.index);
    switch (e.sort) {
      case Sort::Inertia: spec.bodies[e.index].inertia = e.inertia; break;
      case Sort::Attached: spec.payloads.erase(spec.payloads.begin() + at); break;
      case Sort::Detached: spec.payloads.insert(spec.payloads.begin() + at, std::move(e.payload)); break;
      case Sort::JointFrames: spec.joints[e.index].at_parent = e.a, spec.joints[e.index].at_child = e.b; break;
      case Sort::Map: spec.couplings[e.index].coefficients = e.coefficients; break;
      case Sort::Tool: spec.frames[e.index].at = e.a; break;
    }
  }
}

void Change::clear() {
  structure = false;
  for (std::vector<int>* list : {&bodies, &joints, &couplings, &frames, &tendons}) list->clear();
  removed.clear();
}

LiveModel::LiveModel(ModelSpec spec, Model model) : spec_(std::move(spec)), model_(std::make_shared<Model>(std::move(model))) {
  change_.bodies.reserve(spec_.bodies.size());
  change_.joints.reserve(spec_.joints.size());
  change_.couplings.reserve(spec_.couplings.size());
  change_.frames.reserve(spec_.frames.size());
  change_.tendons.reserve(spec_.tendons.size());
  spec_.payloads.reserve(spec_.payloads.size() + 16);
}

Result<LiveModel> LiveModel::build(ModelSpec spec, std::vector<std::string>* warnings) {
  auto model = Model::build(spec, warnings);
  if (!model) return tl::unexpected(model.error());
  return LiveModel(std::move(spec), std::move(*model));
}

Result<void> LiveModel::apply(std::span<const Edit> edits) {
  refused_ = -1;
  change_.clear();
  const bool values = std::all_of(edits.begin(), edits.end(), [&](const Edit& e) { return is_value_edit(spec_, e); });
  auto done = values ? apply_values(edits) : apply_structure(edits);
  if (!done) change_.clear();
  return done;
}

Result<void> LiveModel::apply_values(std::span<const Edit> edits) {
  undo_.clear();
  for (std::size_t i = 0; i < edits.size(); ++i) {
    auto done = edit_spec(spec_, edits[i], change_, &undo_);
    if (done) continue;
    refused_ = static_cast<int>(i);
    undo_.roll_back(spec_);
    return done;
  }
  model_->take(spec_, change_);
  return {};
}

Result<void> LiveModel::apply_structure(std::span<const Edit> edits) {
  ModelSpec spec = spec_;
  for (std::size_t i = 0; i < edits.size(); ++i)
    if (auto done = edit_spec(spec, edits[i], change_); !done) return refused_ = static_cast<int>(i), done;
  auto model = Model::build(spec);
  if (!model) return tl::unexpected(model.error());
  const Change change = std::move(change_);
  *this = LiveModel(std::move(spec), std::move(*model));
  change_ = change;
  change_.structure = true;
  return {};
}

}  // namespace invar
