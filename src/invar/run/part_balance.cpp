// SPDX-License-Identifier: Apache-2.0
#include "invar/run/part_balance.hpp"

#include <algorithm>
#include <cmath>

#include "invar/base/index.hpp"

namespace invar {
namespace {

bool acts(const Passive& p) { return p.stiffness != 0 || p.damping != 0 || p.friction != 0 || p.stop_stiffness != 0; }

// Per connected part: whether nothing but gravity and joints acts on it.
std::vector<bool> left_alone(const Model& model, const Scales& scales) {
  std::vector<bool> alone(scales.parts.size(), true);
  const auto touch = [&](int body) {
    if (body != kWorld) alone[size(scales.part_of_body[size(body)])] = false;
  };
  for (const Joint& joint : model.joints())
    if (joint.has_spring || std::any_of(joint.passive.begin(), joint.passive.begin() + joint.nv, acts)) touch(joint.child);
  for (const Tendon& tendon : model.tendons())
    for (const auto& point : tendon.points) touch(point.body);
  return alone;
}

}  // namespace

void PartBalance::Part::begin() {
  at_start = kinetic + potential;
  kinetic_max = kinetic, low = high = potential;
}

void PartBalance::Part::raise(double off_now) {
  off = std::max(off, off_now);
  kinetic_max = std::max(kinetic_max, kinetic);
  low = std::min(low, potential), high = std::max(high, potential);
}

void PartBalance::enter(const Leg& leg, const Observation& seen) {
  if (model_) keep(*model_);
  model_ = leg.model;
  parts_.clear();
  acted_ = {};
  const Model& model = *model_;
  const Scales scales = scales_of(model);
  if (scales.parts.size() < 2 || leg.system.acts()) return;
  const std::vector<bool> alone = left_alone(model, scales);
  std::vector<int> number(alone.size(), -1);
  part_of_body_.assign(model.bodies().size(), -1);
  for (std::size_t b = 0; b < model.bodies().size(); ++b) {
    const auto part = size(scales.part_of_body[b]);
    if (!alone[part]) {
      if (acted_.body < 0) acted_.body = static_cast<int>(b);
      continue;
    }
    if (number[part] < 0) number[part] = static_cast<int>(parts_.size()), parts_.push_back({.body = static_cast<int>(b)});
    part_of_body_[b] = number[part];
  }
  part_of_joint_.clear();
  for (const Joint& joint : model.joints()) part_of_joint_.push_back(part_of_body_[size(joint.child)]);
  measure(leg);
  for (Part& part : parts_) part.begin();
  acted_.begin();
  balance_at_start_ = seen.balance, elastic_at_start_ = seen.energy.elastic;
  work_at_start_ = seen.work, dissipated_at_start_ = seen.dissipated;
}

void PartBalance::measure(const Leg& leg) {
  const Model& model = *leg.model;
  for (Part& part : parts_) part.kinetic = part.potential = 0;
  acted_.kinetic = acted_.potential = 0;
  const auto part_at = [&](int number) -> Part& { return number < 0 ? acted_ : parts_[size(number)]; };
  for (std::size_t b = 0; b < part_of_body_.size(); ++b) {
    const BodyState& s = leg.observer.bodies()[b];
    const Inertia& inertia = model.bodies()[b].inertia;
    const Vec3 w = s.q_WB.conjugate() * s.w_WB;
    Part& part = part_at(part_of_body_[b]);
    part.kinetic += 0.5 * (inertia.mass * s.v_WC.squaredNorm() + w.dot(inertia.I_C * w));
    part.potential -= inertia.mass * model.gravity().dot(s.p_WC);
  }
  for (std::size_t j = 0; j < part_of_joint_.size(); ++j) {
    const Joint& joint = model.joints()[j];
    for (int k = 0; k < joint.nv; ++k) {
      const double v = leg.observer.v()[joint.v0 + k];
      part_at(part_of_joint_[j]).kinetic += 0.5 * joint.passive[size(k)].armature * v * v;
    }
  }
}

void PartBalance::step(const Leg& leg, const Observation& seen) {
  if (parts_.empty()) return;
  measure(leg);
  double left = seen.balance - balance_at_start_;
  for (Part& part : parts_) {
    const double gained = part.kinetic + part.potential - part.at_start;
    part.raise(std::abs(gained));
    left -= gained;
  }
  acted_.raise(std::abs(left));
  acted_.exchanged = std::max({acted_.exchanged, std::abs(seen.energy.elastic - elastic_at_start_),
                               std::abs(seen.work - work_at_start_), std::abs(seen.dissipated - dissipated_at_start_)});
}

void PartBalance::keep(const Model& model) {
  const auto size_of = [](const Part& part) { return std::max({part.kinetic_max, std::abs(part.low), std::abs(part.high)}); };
  double all = size_of(acted_);
  for (const Part& part : parts_) {
    before_.push_back(
        {part.off, std::max(part.kinetic_max, part.high - part.low), size_of(part), model.bodies()[size(part.body)].name, false});
    all += size_of(part);
  }
  // What is left for the others has the digits of the whole.
  if (acted_.body >= 0 && !parts_.empty())
    before_.push_back({acted_.off, std::max({acted_.kinetic_max, acted_.high - acted_.low, acted_.exchanged}), all,
                       model.bodies()[size(acted_.body)].name, true});
}

std::optional<PartBalance::Worst> PartBalance::above(double bound, double rounding, bool acted) const {
  PartBalance all(*this);
  if (model_) all.keep(*model_);
  std::optional<Worst> worst;
  for (const Worst& part : all.before_) {
    if (part.acted && !acted) continue;
    if (part.off <= bound * part.turned_over || part.off <= rounding * part.size) continue;
    if (!worst || part.off * worst->turned_over > worst->off * part.turned_over) worst = part;
  }
  return worst;
}

}  // namespace invar
