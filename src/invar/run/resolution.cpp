// SPDX-License-Identifier: Apache-2.0
#include "invar/run/resolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/base/largest.hpp"

namespace invar {
namespace {

constexpr double kResolved = 2;      // step × rate
constexpr double kNear = 0.1;        // of it: below, inertias are not looked at again
constexpr double kBalance = 0.01;    // of the energies turned over
constexpr double kRounding = 1e-10;  // of the energies themselves: what the digits of a sum over many steps may leave
constexpr double kGap = 1e-3;        // of the size of a body, rad
constexpr double kLooks = 32;        // over a run
constexpr double kThrown = 0.1;      // of its way in a step: a motion that differs by more was not its own
constexpr double kLate = 0.1;        // of a run: its end
constexpr double kGrown = 2;         // a gap that has grown by this is looked at

}  // namespace

void Resolution::enter(const Leg& leg, bool fixed_steps, double t, double end, const Observation& seen) {
  const Model& model = *leg.model;
  period_ = (end - t) / kLooks;
  begun_ = std::min(begun_, t), end_ = end;
  late_ = std::numeric_limits<double>::infinity();
  next_gaps_ = t;
  parts_.enter(leg, seen);
  for (const Joint& joint : model.joints())
    has_energy_ = has_energy_ && !(joint.has_spring && joint.spring_law == SpringLaw::EulerPrinted);
  places_.clear();
  worst_.place = nullptr;
  if (fixed_steps) {
    for (int j = 0; j < static_cast<int>(model.joints().size()); ++j)
      for (int k = 0; k < model.joints()[static_cast<std::size_t>(j)].nv; ++k) {
        const Passive& p = model.joints()[static_cast<std::size_t>(j)].passive[static_cast<std::size_t>(k)];
        if (p.stiffness > 0 || p.damping > 0 || p.friction > 0 || p.stop_stiffness > 0) places_.push_back({j, k, -1});
      }
    for (int k = 0; k < static_cast<int>(model.tendons().size()); ++k) places_.push_back({-1, 0, k});
  }
  for (Place& place : places_) {
    if (place.tendon >= 0) continue;
    const Joint& joint = model.joints()[static_cast<std::size_t>(place.joint)];
    place.rate = leg.observer.v()[joint.v0 + place.freedom];
    if (joint.nq == joint.nv) place.q = leg.observer.q()[joint.q0 + place.freedom];
  }
  // Memory is taken here: the first solve decides the rank.
  response_.reset();
  if (!places_.empty()) {
    response_ = std::make_unique<Response>(model);
    response_->at(leg.observer.bodies(), leg.observer.q());
    Place& first = places_.front();
    first.response = first.tendon < 0 ? response_->of_freedom(first.joint, first.freedom) : response_->of_tendon(first.tendon);
    first.solved = t;
  }
  // A body is as large as the distance of its farthest joint from its centre of mass.
  sizes_.assign(model.bodies().size(), 0);
  for (const Joint& joint : model.joints()) {
    const auto child = static_cast<std::size_t>(joint.child);
    sizes_[child] = std::max(sizes_[child], (joint.X_CM.p - model.bodies()[child].inertia.p_BC).norm());
    if (joint.parent == kWorld) continue;
    const auto parent = static_cast<std::size_t>(joint.parent);
    sizes_[parent] = std::max(sizes_[parent], (joint.X_PF.p - model.bodies()[parent].inertia.p_BC).norm());
  }
}

void Resolution::step(const Leg& leg, double t, double h, const Observation& seen) {
  at_fresh_ = false;
  parts_.step(leg, seen);
  for (Place& place : places_) look(leg, place, t, h / std::max(1, seen.substeps));
  // Beside a singular configuration single steps may be off; what stays off to the end is lost.
  if (t > end_ - kLate * (end_ - begun_)) late_ = std::min(late_, std::abs(seen.physical_balance));
  if (t >= next_gaps_ || seen.error.position > kGrown * gap_seen_) {
    look_at_gaps(leg, t);
    gap_seen_ = std::max(gap_seen_, seen.error.position);
    if (t >= next_gaps_) next_gaps_ = t + period_;
  }
}

// Which laws act here, each with its own stiffness or damping.
void Resolution::look(const Leg& leg, Place& place, double t, double h) {
  if (place.tendon >= 0) {
    const Tendon& tendon = leg.model->tendons()[static_cast<std::size_t>(place.tendon)];
    if (tendon.tension_only && pull_of(*leg.model, tendon, leg.observer.bodies()).tension == 0) return;
    return judge(leg, place, {Part::Tendon, tendon.stiffness, tendon.damping}, t, h);
  }
  const Joint& joint = leg.model->joints()[static_cast<std::size_t>(place.joint)];
  const Passive& p = joint.passive[static_cast<std::size_t>(place.freedom)];
  const double v = leg.observer.v()[joint.v0 + place.freedom], before = std::exchange(place.rate, v);
  if (p.stiffness > 0) judge(leg, place, {Part::Spring, p.stiffness, p.damping}, t, h);
  if (p.damping > 0) judge(leg, place, {Part::Damper, 0, p.damping}, t, h);
  const bool slow = std::abs(v) < p.friction_velocity, turned = v * before < 0;
  if (p.friction > 0 && (slow || turned)) judge(leg, place, {Part::Friction, 0, p.friction / p.friction_velocity}, t, h);
  if (p.stop_stiffness == 0 || joint.nq != joint.nv) return;
  // Also a stop that threw back what would have gone on into it: a step may begin and end outside.
  const double now = leg.observer.q()[joint.q0 + place.freedom], ahead = std::exchange(place.q, now) + h * before;
  const bool thrown = std::abs(now - ahead) > kThrown * std::abs(h * before);
  const double q = thrown && (ahead > p.upper || ahead < p.lower) ? ahead : now;
  const double depth = std::max(q - p.upper, p.lower - q), rate = thrown ? 0 : (q > p.upper ? v : -v);
  if (depth > 0)
    judge(leg, place,
          {Part::Stop, p.stop_stiffness * std::max(0.0, 1 + p.stop_damping * rate), p.stop_stiffness * depth * p.stop_damping}, t,
          h);
}

void Resolution::judge(const Leg& leg, Place& place, const Rate& rate, double t, double h) {
  const auto product = [&] { return h * fastest_rate(rate.stiffness, rate.damping, place.response); };
  const bool old = t - place.solved >= period_ && (place.response == 0 || product() > kNear * kResolved);
  if (std::isnan(place.response) || old) {
    if (!at_fresh_) response_->at(leg.observer.bodies(), leg.observer.q());
    at_fresh_ = true;
    place.response = place.tendon < 0 ? response_->of_freedom(place.joint, place.freedom) : response_->of_tendon(place.tendon);
    place.response = std::isnan(place.response) ? 0 : std::max(0.0, place.response);
    place.solved = t;
  }
  const double value = product();
  if (!(value > worst_.value)) return;
  worst_.value = value, worst_.step = h, worst_.rate = value / h, worst_.t = t;
  // Words are made where they will be needed, once per place.
  if (value <= kResolved || (worst_.place == &place && worst_.part == rate.part)) return;
  worst_.place = &place, worst_.part = rate.part;
  static constexpr const char* kWords[] = {"", "the spring", "the damper", "the stop", "the friction", ""};
  worst_.what = place.tendon >= 0
                    ? fmt::format("tendon '{}'", leg.model->tendons()[static_cast<std::size_t>(place.tendon)].name)
                    : fmt::format("{} of joint '{}'", kWords[static_cast<std::size_t>(rate.part)],
                                  freedom_name(leg.model->joints()[static_cast<std::size_t>(place.joint)], place.freedom));
}

// m; the smaller of the two bodies, the mechanism where both are joined at their centres.
double Resolution::size_at(const Model& model, const Joint& joint) const {
  double size = sizes_[static_cast<std::size_t>(joint.child)];
  if (joint.parent != kWorld) {
    const double other = sizes_[static_cast<std::size_t>(joint.parent)];
    if (other > 0) size = size > 0 ? std::min(size, other) : other;
  }
  return size > 0 ? size : model.length();
}

void Resolution::look_at_gaps(const Leg& leg, double t) {
  const Model& model = *leg.model;
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    const Residual r = joint_residual(model, j, leg.observer.bodies());
    // Rows on angles come first: one for each axis about which the joint does not turn.
    int angles = 3;
    for (int k = 0; k < joint.nv; ++k) angles -= joint.turns(k) ? 1 : 0;
    for (int i = 0; i < r.size(); ++i) {
      const double size = i < angles ? 1 : size_at(model, joint);
      if (!(std::abs(r[i]) / size > gap_.value)) continue;
      gap_.value = std::abs(r[i]) / size, gap_.t = t;
      if (gap_.value > kGap)
        gap_.what = fmt::format("joint '{}' gapes by {:.3g} {}", joint.name, std::abs(r[i]), i < angles ? "rad" : "m");
    }
  }
  for (int c = 0; c < static_cast<int>(model.couplings().size()); ++c) {
    const Coupling& coupling = model.couplings()[static_cast<std::size_t>(c)];
    const Joint& driven = model.joints()[static_cast<std::size_t>(coupling.joint)];
    const bool turn = driven.turns(coupling.freedom);
    const double off = std::abs(coupling_residual(model, c, leg.observer.q()));
    const double part = off / (turn ? 1 : size_at(model, driven));
    if (!(part > gap_.value)) continue;
    gap_.value = part, gap_.t = t;
    if (part > kGap) gap_.what = fmt::format("coupling '{}' is off by {:.3g} {}", coupling.name, off, turn ? "rad" : "m");
  }
}

std::string Resolution::sentence(const Tally& tally, const std::string& further) const {
  std::vector<std::string> causes;
  if (!further.empty()) causes.push_back(further);
  if (worst_.value > kResolved)
    causes.push_back(
        fmt::format("steps of {:.3g} s are too long for {} (rate {:.3g}/s, step x rate = {:.3g} at t = {:g} s, at most {:g})",
                    worst_.step, worst_.what, worst_.rate, worst_.value, worst_.t, kResolved));
  const double off = tally.power_balance, energies = tally.turned_over();
  if (has_energy_ && !(std::isfinite(off) && std::isfinite(tally.energy_size)))
    causes.push_back("its energies are not finite numbers");
  else if (has_energy_ && !(off <= kBalance * energies) && !(off <= kRounding * tally.energy_size))
    causes.push_back(fmt::format("{:.3g} J appeared or vanished, {:.3g} % of the energies turned over", off,
                                 energies > 0 ? 100 * off / energies : 100.0));
  else if (const auto part = parts_.above(kBalance, kRounding, has_energy_))
    causes.push_back(fmt::format(
        "body '{}' and {} are off by {:.3g} J, {:.3g} % of the energies that they turned over", part->body,
        part->acted ? "others on which springs, dampers, stops or tendons act" : "what is joined to it, on which nothing acts,",
        part->off, part->turned_over > 0 ? 100 * part->off / part->turned_over : 100.0));
  if (has_energy_ && late_ < std::numeric_limits<double>::infinity() && late_ > kBalance * energies &&
      late_ > kRounding * tally.energy_size)
    causes.push_back(
        fmt::format("velocities that joints allow miss the balance by {:.3g} J, {:.3g} % of the energies turned over, "
                    "which the method does not see",
                    late_, energies > 0 ? 100 * late_ / energies : 100.0));
  if (gap_.value > kGap)
    causes.push_back(fmt::format("{} ({:.3g} % of its size) at t = {:g} s", gap_.what, 100 * gap_.value, gap_.t));
  std::string out;
  for (const std::string& cause : causes) out += (out.empty() ? "the run is not resolved: " : "; ") + cause;
  return out;
}

}  // namespace invar
