// SPDX-License-Identifier: Apache-2.0
#include "invar/control/joint_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace invar {
namespace {

using Kind = JointLawSpec::Kind;

}  // namespace

JointLaw::JointLaw(const Model& model, JointLawSpec spec)
    : model_(model),
      spec_(std::move(spec)),
      inverse_(model),
      Y_(spec_.aims.size(), Accelerations(model.bodies().size())),
      w_(model.bodies().size()),
      x_(w_),
      nu_(w_),
      known_(model.bodies().size()),
      port_(known_),
      unit_(VecX::Zero(model.nv())),
      all_(unit_),
      integral_(static_cast<Eigen::Index>(spec_.aims.size())),
      observer_(model, spec_.observer),
      remainder_(spec_.bound, is_sliding() ? spec_.rate : 0.0),
      own_(known_),
      no_port_(known_),
      efforts_(unit_),
      known_load_(model, spec_.known),
      reference_(w_),
      taken_(known_) {
  const auto n = static_cast<Eigen::Index>(spec_.aims.size());
  mobility_ = MatX::Identity(n, n);
  factor_.compute(mobility_);
  eigen_.compute(mobility_);
  wanted_ = e_ = e_dot_ = s_ = v_ = v_d_ = v_r_ = a_d_ = a_r_ = a_0_ = Q_ = d_ = largest_d_ = weighed_ = z_ = VecX::Zero(n);
  vdot_ = free_ = at_play_ = pushed_ = Q_r_ = pulled_ = helps_ = wanted_;
  gamma_ = mobility_;
  for (const JointAim& aim : spec_.aims) {
    integrates_ = integrates_ || aim.integral > 0;
    robust_law_ = robust_law_ || (is_sliding() && aim.robust > 0);
  }
  state_readings();
  state_clauses();
}

std::string JointLaw::objection(Instant at, const Bodies& bodies) {
  (void)at;
  if (known_load_.on() && !spec_.model && spec_.kind != Kind::ComputedTorque)
    return "feedback without the model takes no known load off: give it the model, or no load";
  if (const int j = inverse_.rotors(); j >= 0)
    return fmt::format("joint '{}' has an armature, which this law does not know",
                       model_.joints()[static_cast<std::size_t>(j)].name);
  if (!inverse_.at(bodies).ok() || !inverse_.apply(nullptr, &unit_, x_).ok())
    return "the nominal mechanism cannot be solved there";
  const int freedoms = inverse_.freedoms();
  if (freedoms != static_cast<int>(spec_.aims.size()))
    return fmt::format("the nominal mechanism has {} freedoms, {} are told what to do", freedoms, spec_.aims.size());
  return inertia().ok() ? std::string() : std::string("the freedoms named depend on each other");
}

// Γ⁻¹ by unit efforts.
Verdict JointLaw::inertia() {
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const JointAim& aim = spec_.aims[i];
    const Eigen::Index at = model_.joints()[static_cast<std::size_t>(aim.joint)].v0 + aim.freedom;
    unit_[at] = 1;
    const Verdict verdict = inverse_.apply(nullptr, &unit_, Y_[i]);
    unit_[at] = 0;
    if (!verdict.ok()) return verdict;
    inverse_.rates(Y_[i], all_);
    for (std::size_t k = 0; k < spec_.aims.size(); ++k)
      mobility_(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(i)) =
          all_[model_.joints()[static_cast<std::size_t>(spec_.aims[k].joint)].v0 + spec_.aims[k].freedom];
  }
  factor_.compute(mobility_);
  return factor_.info() == Eigen::Success ? Verdict{} : Verdict{Status::Singular, -1, spec_.aims[0].joint, 0};
}

// Γ x into weighed_.
void JointLaw::weigh(const VecX& x) {
  weighed_ = x;
  factor_.solveInPlace(weighed_);
}

void JointLaw::field_of(const VecX& rates, Accelerations& w) {
  weigh(rates);
  for (BodyAcceleration& a : w) a = BodyAcceleration{};
  for (std::size_t i = 0; i < Y_.size(); ++i) {
    const double p = weighed_[static_cast<Eigen::Index>(i)];
    for (std::size_t b = 0; b < w.size(); ++b) w[b].a_WC += p * Y_[i][b].a_WC, w[b].alpha_WB += p * Y_[i][b].alpha_WB;
  }
}

void JointLaw::known(bool at_rest) {
  for (Wrench& w : known_) w = Wrench{};
  inverse_.add_own_forces(at_rest, known_);
}

// Everything at the velocities of the reference.
void JointLaw::know_at_reference(Instant at) {
  field_of(is_sliding() ? v_r_ : v_d_, reference_);
  for (Wrench& w : known_) w = Wrench{};
  inverse_.add_own_forces(reference_, known_);
  known_load_.add({at, inverse_.bodies(), reference_}, known_);
}

// Everything at those of the motion.
void JointLaw::know_at_motion(Instant at) {
  known(false);
  if (known_load_.on()) known_load_.add({at, inverse_.bodies(), nu_}, known_);
}

// a_0: M x = F - C(ν) w + reactions, J x = -J̇ w, read at the freedoms. Without forces it is -Γ⁻¹ C q̇_w.
Verdict JointLaw::free_acceleration(const Accelerations& w, bool forces, VecX& a) {
  const Bodies& bodies = inverse_.bodies();
  for (std::size_t b = 0; b < port_.size(); ++b) {
    port_[b] = forces ? known_[b] : Wrench{};
    port_[b].moment -= bodies[b].w_WB.cross(spun(model_.bodies()[b], bodies[b], w[b].alpha_WB));
  }
  if (const Verdict verdict = inverse_.follow(w, port_, nullptr, x_); !verdict.ok()) return verdict;
  inverse_.accelerations(w, x_, all_);
  for (std::size_t i = 0; i < spec_.aims.size(); ++i)
    a[static_cast<Eigen::Index>(i)] =
        all_[model_.joints()[static_cast<std::size_t>(spec_.aims[i].joint)].v0 + spec_.aims[i].freedom];
  return {};
}

// Errors, references and Γ⁻¹ at a motion.
Verdict JointLaw::look(Instant at, const Bodies& bodies) {
  if (const Verdict verdict = inverse_.at(bodies); !verdict.ok()) return verdict;
  for (std::size_t b = 0; b < bodies.size(); ++b) nu_[b] = {bodies[b].v_WC, bodies[b].w_WB};
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const JointAim& aim = spec_.aims[i];
    const JointAt& joint = inverse_.joint(aim.joint);
    const Jet wanted = aim.path(at);
    const auto k = static_cast<Eigen::Index>(i);
    double e = joint.q[aim.freedom] - wanted.q;
    if (model_.joints()[static_cast<std::size_t>(aim.joint)].winds(aim.freedom)) e = std::remainder(e, 2 * std::numbers::pi);
    wanted_[k] = wanted.q;
    e_[k] = e;
    v_[k] = joint.v[aim.freedom];
    e_dot_[k] = v_[k] - wanted.v;
    s_[k] = e_dot_[k] + aim.rate * e;
    v_d_[k] = wanted.v, a_d_[k] = wanted.a;
    v_r_[k] = wanted.v - aim.rate * e;
    a_r_[k] = wanted.a - aim.rate * e_dot_[k];
  }
  return inertia();
}

double JointLaw::saturated(std::size_t i) const {
  return std::clamp(s_[static_cast<Eigen::Index>(i)] / spec_.aims[i].layer, -1.0, 1.0);
}

// The efforts into Q_, after look.
Verdict JointLaw::law(Instant at) {
  const bool sliding = is_sliding();
  if (known_load_.on())
    know_at_reference(at);
  else
    known(spec_.kind == Kind::PdGravity);
  VecX& reference = d_;  // accelerations asked for; d_ is free here
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const JointAim& aim = spec_.aims[i];
    if (integrates_) z_.segment<1>(k) = integral_.at<1>(at.t, k, s_.segment<1>(k));
    if (sliding) reference[k] = a_r_[k];
    if (spec_.kind == Kind::ComputedTorque)
      reference[k] = a_d_[k] - aim.damping * e_dot_[k] - aim.stiffness * e_[k] - aim.integral * z_[k];
    if (spec_.kind == Kind::PdGravity) reference[k] = 0;
  }
  if (spec_.model || spec_.kind == Kind::ComputedTorque) {
    if (spec_.kind == Kind::SlotineLi) field_of(v_r_, w_);
    if (spec_.kind == Kind::PdGravity) std::fill(w_.begin(), w_.end(), BodyAcceleration{});
    const bool own = spec_.kind == Kind::SlotineLi || spec_.kind == Kind::PdGravity;
    if (const Verdict verdict = free_acceleration(own ? w_ : nu_, true, a_0_); !verdict.ok()) return verdict;
    reference -= a_0_;
    weigh(reference);
    Q_ = weighed_;
  } else {
    Q_.setZero();
  }
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const JointAim& aim = spec_.aims[i];
    if (sliding) Q_[k] -= aim.gain * s_[k] + aim.robust * saturated(i);
    if (spec_.kind == Kind::PdGravity) Q_[k] -= aim.stiffness * e_[k] + aim.damping * e_dot_[k];
    if (spec_.kind != Kind::ComputedTorque) Q_[k] -= aim.integral * z_[k];
  }
  if (spec_.rate > 0) weigh(sliding ? s_ : e_dot_), Q_ -= spec_.rate * weighed_;
  if (observer_.on())
    if (const Verdict verdict = observe(at); !verdict.ok()) return verdict;
  return Q_.allFinite() ? Verdict{} : Verdict{Status::NotFinite, -1, spec_.aims[0].joint, 0};
}

// 𝒥ᵀ r off the efforts: Γ⁻¹ 𝒥ᵀ r is what r does along the columns of 𝒥 Γ⁻¹.
Verdict JointLaw::observe(Instant at) {
  taken_ = known_;
  know_at_motion(at);
  own_ = known_, known_ = taken_;
  efforts_.setZero();
  for (std::size_t i = 0; i < spec_.aims.size(); ++i)
    efforts_[model_.joints()[static_cast<std::size_t>(spec_.aims[i].joint)].v0 + spec_.aims[i].freedom] =
        Q_[static_cast<Eigen::Index>(i)];
  if (const Verdict verdict = observer_.look(at.t, inverse_, own_, no_port_, efforts_); !verdict.ok()) return verdict;
  weigh_port(observer_.load());
  Q_r_ = weighed_;
  Q_ -= Q_r_;
  return {};
}

void JointLaw::settle(Instant at, const Bodies& bodies) {
  if ((!integrates_ && !observer_.on() && !known_load_.watches()) || !look(at, bodies).ok()) return;
  if (known_load_.watches() && law(at).ok()) watch(at);
  if (observer_.on() && law(at).ok()) {
    certificate_.look(resolved_, at.t, observer_.stride(), -1, round_off(observer_.rate() * std::abs(at.t)));
    observer_.take(at.t, inverse_, own_, no_port_, efforts_);
  }
  if (!integrates_) return;
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const JointAim& aim = spec_.aims[i];
    const double full = integral_.take<1>(at.t, k, s_.segment<1>(k), aim.most / aim.integral);
    certificate_.look(bounded_, at.t, full - 1, static_cast<int>(i));
  }
  integral_.taken(at.t);
}

// Whether generic terms do harm, by ½ sᵀ Γ s with s or ė; round-off is that of what it is a difference in.
void JointLaw::watch(Instant at) {
  const VecX& s = is_sliding() ? s_ : e_dot_;
  weigh(v_);
  const double moving = weighed_.dot(v_);
  weigh(s);
  double V = 0.5 * weighed_.dot(s);
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    V += 0.5 * spec_.aims[i].integral * z_[k] * z_[k];
    if (spec_.kind == Kind::PdGravity) V += 0.5 * spec_.aims[i].stiffness * e_[k] * e_[k];
  }
  // What feedback adds, as efforts; computed torque has it per unit of inertia.
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const JointAim& aim = spec_.aims[i];
    pulled_[k] = aim.integral * z_[k];
    pulled_[k] += is_sliding() ? aim.gain * s_[k] + aim.robust * saturated(i) : aim.stiffness * e_[k] + aim.damping * e_dot_[k];
  }
  weigh(spec_.kind == Kind::ComputedTorque ? pulled_ : s);
  if (spec_.kind == Kind::ComputedTorque)
    pulled_ = weighed_;
  else
    pulled_ += spec_.rate * weighed_;
  if (observer_.on()) pulled_ += Q_r_;
  weigh_port(known_load_.generic_at({at, inverse_.bodies(), reference_}));  // Γ⁻¹ 𝒥ᵀ f and 𝒥ᵀ f
  known_load_.watch(at.t, V, round_off(moving), -weighed_.dot(s), -pulled_.dot(free_) - 0.5 * weighed_.dot(free_));
}

Verdict JointLaw::command(Instant at, const Bodies& bodies, Load& out) {
  if (const Verdict verdict = look(at, bodies); !verdict.ok()) return verdict;
  if (const Verdict verdict = law(at); !verdict.ok()) return verdict;
  for (std::size_t i = 0; i < spec_.aims.size(); ++i)
    out.efforts[model_.joints()[static_cast<std::size_t>(spec_.aims[i].joint)].v0 + spec_.aims[i].freedom] +=
        Q_[static_cast<Eigen::Index>(i)];
  return {};
}

}  // namespace invar
