// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/unreduced.hpp"

#include <algorithm>

#include "invar/mech/part_solver.hpp"

namespace invar {

Unreduced::Unreduced(const Model& model) : model_(model), scales_(std::make_unique<Scales>(scales_of(model))) {
  part_of_coupling_.assign(model.couplings().size(), 0);
  for (const Piece& piece : pieces_by_loops(model, *scales_)) {
    for (const int c : piece.couplings) part_of_coupling_[c] = static_cast<int>(parts_.size());
    parts_.push_back(std::make_unique<PartSolver>(model, *scales_, piece));
  }
  sum_up();
}

Unreduced::~Unreduced() = default;

PartSolver& Unreduced::piece(int k) { return *parts_[k]; }
const PartSolver& Unreduced::piece(int k) const { return *parts_[k]; }

bool Unreduced::closes_loops() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->closes_loops(); });
}

bool Unreduced::refresh() {
  measure(model_, *scales_);
  for (const auto& part : parts_)
    if (!part->refresh()) return false;
  sum_up();
  return true;
}

Verdict Unreduced::solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                         std::vector<Wrench>& reactions) {
  Verdict verdict;
  for (const auto& part : parts_) {
    const std::vector<int>& own = part->piece().bodies;
    if (input.wanted && std::none_of(own.begin(), own.end(), [&](int b) { return (*input.wanted)[b]; })) continue;
    verdict = part->solve(bodies, input, accelerations, reactions);
    if (!verdict.ok()) break;
  }
  sum_up();
  return verdict;
}

double Unreduced::coupling_effort(int coupling) const { return parts_[part_of_coupling_[coupling]]->coupling_effort(coupling); }

void Unreduced::sum_up() {
  if (parts_.size() == 1) {
    mobility_ = parts_.front()->mobility();
    return;
  }
  mobility_ = {};
  for (const auto& part : parts_) {
    const Mobility& m = part->mobility();
    mobility_.rows += m.rows, mobility_.rank += m.rank, mobility_.freedoms += m.freedoms;
    mobility_.changes += m.changes;
    mobility_.near_singular |= m.near_singular;
    mobility_.sigma = std::min(mobility_.sigma, m.sigma);
    if (m.joint >= 0 && (mobility_.joint < 0 || m.sine < mobility_.sine)) mobility_.joint = m.joint;
    mobility_.sine = std::min(mobility_.sine, m.sine);
  }
}

Verdict Unreduced::least_norm(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                              std::vector<Wrench>& reactions, VecX& couplings, std::vector<JointVerdict>* verdicts) {
  Verdict first;
  for (const auto& part : parts_) {
    if (part->mobility().rank >= part->mobility().rows) continue;
    const Verdict verdict = part->least_norm(bodies, input, accelerations, reactions, couplings, verdicts);
    if (first.ok()) first = verdict;
  }
  return first;
}

}  // namespace invar
