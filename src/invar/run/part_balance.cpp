// SPDX-License-Identifier: Apache-2.0
#include "invar/run/part_balance.hpp"

#include <algorithm>
#include <cmath>

namespace invar {
namespace {

std::size_t size(int n) { return static_cast<std::size_t>(n); }

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

void PartBalance::enter(const Leg& leg) {
  if (model_) keep(*model_);
  model_ = leg.model;
  parts_.clear();
  const Model& model = *model_;
  const Scales scales = scales_of(model);
  if (scales.parts.size() < 2 || leg.system.acts()) return;
  const std::vector<bool> alone = left_alone(model, scales);
  std::vector<int> number(alone.size(), -1);
  part_of_body_.assign(model.bodies().size(), -1);
  for (std::size_t b = 0; b < model.bodies().size(); ++b) {
    const auto part = size(scales.part_of_body[b]);
    if (!alone[part]) continue;
    if (number[part] < 0) number[part] = static_cast<int>(parts_.size()), parts_.push_back({.body = static_cast<int>(b)});
    part_of_body_[b] = number[part];
  }
  part_of_joint_.clear();
  for (const Joint& joint : model.joints()) part_of_joint_.push_back(part_of_body_[size(joint.child)]);
  measure(leg);
  for (Part& part : parts_) {
    part.at_start = part.kinetic + part.potential;
    part.kinetic_max = part.kinetic, part.low = part.high = part.potential;
  }
}

void PartBalance::measure(const Leg& leg) {
  const Model& model = *leg.model;
  for (Part& part : parts_) part.kinetic = part.potential = 0;
  for (std::size_t b = 0; b < part_of_body_.size(); ++b) {
    if (part_of_body_[b] < 0) continue;
    const BodyState& s = leg.observer.bodies()[b];
    const Inertia& inertia = model.bodies()[b].inertia;
    const Vec3 w = s.q_WB.conjugate() * s.w_WB;
    Part& part = parts_[size(part_of_body_[b])];
    part.kinetic += 0.5 * (inertia.mass * s.v_WC.squaredNorm() + w.dot(inertia.I_C * w));
    part.potential -= inertia.mass * model.gravity().dot(s.p_WC);
  }
  for (std::size_t j = 0; j < part_of_joint_.size(); ++j) {
    if (part_of_joint_[j] < 0) continue;
    const Joint& joint = model.joints()[j];
    for (int k = 0; k < joint.nv; ++k) {
      const double v = leg.observer.v()[joint.v0 + k];
      parts_[size(part_of_joint_[j])].kinetic += 0.5 * joint.passive[size(k)].armature * v * v;
    }
  }
}

void PartBalance::step(const Leg& leg) {
  if (parts_.empty()) return;
  measure(leg);
  for (Part& part : parts_) {
    part.off = std::max(part.off, std::abs(part.kinetic + part.potential - part.at_start));
    part.kinetic_max = std::max(part.kinetic_max, part.kinetic);
    part.low = std::min(part.low, part.potential), part.high = std::max(part.high, part.potential);
  }
}

void PartBalance::keep(const Model& model) {
  for (const Part& part : parts_)
    before_.push_back({part.off, std::max(part.kinetic_max, part.high - part.low),
                       std::max({part.kinetic_max, std::abs(part.low), std::abs(part.high)}),
                       model.bodies()[size(part.body)].name});
}

std::optional<PartBalance::Worst> PartBalance::above(double bound, double rounding) const {
  PartBalance all(*this);
  if (model_) all.keep(*model_);
  std::optional<Worst> worst;
  for (const Worst& part : all.before_) {
    if (part.off <= bound * part.turned_over || part.off <= rounding * part.size) continue;
    if (!worst || part.off * worst->turned_over > worst->off * part.turned_over) worst = part;
  }
  return worst;
}

}  // namespace invar
