// SPDX-License-Identifier: Apache-2.0
#include "invar/control/joint_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "invar/base/largest.hpp"

namespace invar {
namespace {

using Kind = JointLawSpec::Kind;
constexpr double kExact = 1e-9;  // W; what V̇ may differ from what is promised, times 1 + the terms it is the sum of

const char* words(const JointLawSpec& spec) {
  switch (spec.kind) {
    case Kind::SlotineLi: return "B, robust with C q_r' (Slotine and Li)";
    case Kind::Robust: return "B (18) as printed";
    case Kind::ComputedTorque: return "computed torque";
    case Kind::PdGravity: return "PD and gravity";
  }
  return "";
}

std::string name_of(const Model& model, const JointAim& aim) {
  return freedom_name(model.joints()[static_cast<std::size_t>(aim.joint)], aim.freedom);
}

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
      integral_(static_cast<Eigen::Index>(spec_.aims.size())) {
  const auto n = static_cast<Eigen::Index>(spec_.aims.size());
  mobility_ = MatX::Identity(n, n);
  factor_.compute(mobility_);
  eigen_.compute(mobility_);
  wanted_ = e_ = e_dot_ = s_ = v_ = v_r_ = a_r_ = a_0_ = Q_ = d_ = largest_d_ = weighed_ = z_ = VecX::Zero(n);
  for (const JointAim& aim : spec_.aims) integrates_ = integrates_ || aim.integral > 0;
  state_clauses();
}

void JointLaw::state_clauses() {
  std::vector<std::string> names;
  for (const JointAim& aim : spec_.aims) {
    names.push_back(name_of(model_, aim));
    const bool angle = turns(model_.joints()[static_cast<std::size_t>(aim.joint)].kind, aim.freedom);
    tracking_.push_back({names.back(), angle ? "rad" : "m"});
  }
  V_ = read({"V", "J", "½ sᵀ Γ s, and what the integral holds"});
  V_dot_ = read({"V_dot", "W", "its derivative, from the accelerations of the plant"});
  promised_ = read({"V_dot_promised", "W", "-sᵀ K s - sᵀ κ sat(s/ε) + sᵀ d with the d that acted, B (24)"});
  layer_ = read({"layer", "1", "largest |s_i|/ε_i: above 1 outside the boundary layer"});
  wanted_at_ = values().size();
  for (const Tracking& t : tracking_) read({"reference_" + t.name, t.unit, "where the freedom is wanted"});
  certificate_.law = words(spec_);
  defined_ = certificate_.add({"law_is_defined", "the law can be evaluated", "1", 0, {}});
  exact_ = certificate_.add({"V_dot_as_promised", "|V_dot - B (24)|, over 1 + the terms of it", "W", kExact, {}});
  falls_ = certificate_.add({"V_falls", "V_dot outside the boundary layer", "W", 0, {}});
  robust_ = certificate_.add({"kappa_exceeds_disturbance", "|d_i| - κ_i", "N m or N", 0, names});
  if (integrates_)
    bounded_ = certificate_.add(
        {"integral_within_limit", "how far the integral is beyond what it may push with, over that", "1", 0, names});
  switch (spec_.kind) {
    case Kind::SlotineLi:
      certificate_.guarantee = "with κ_i > |d_i| s ends in the bound named, and e in that bound over Λ";
      break;
    case Kind::Robust:
      certificate_.guarantee = "none by this V: its derivative has the term ½ sᵀ Γ' s that the printed proof loses";
      break;
    case Kind::ComputedTorque: certificate_.guarantee = "without disturbances errors decay like those of a linear system"; break;
    case Kind::PdGravity: certificate_.guarantee = "at rest errors vanish without disturbances; V is that of no law"; break;
  }
}

std::string JointLaw::objection(Instant at, const Bodies& bodies) {
  (void)at;
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
    if (winds(model_.joints()[static_cast<std::size_t>(aim.joint)].kind, aim.freedom))
      e = std::remainder(e, 2 * std::numbers::pi);
    wanted_[k] = wanted.q;
    e_[k] = e;
    v_[k] = joint.v[aim.freedom];
    e_dot_[k] = v_[k] - wanted.v;
    s_[k] = e_dot_[k] + aim.rate * e;
    v_r_[k] = wanted.v - aim.rate * e;
    a_r_[k] = wanted.a - aim.rate * e_dot_[k];
  }
  return inertia();
}

double JointLaw::saturated(std::size_t i) const {
  return std::clamp(s_[static_cast<Eigen::Index>(i)] / spec_.aims[i].layer, -1.0, 1.0);
}

// The efforts into Q_, after look.
Verdict JointLaw::law(double t) {
  const bool sliding = spec_.kind == Kind::SlotineLi || spec_.kind == Kind::Robust;
  known(spec_.kind == Kind::PdGravity);
  VecX& reference = d_;  // accelerations asked for; d_ is free here
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const JointAim& aim = spec_.aims[i];
    const double wanted = a_r_[k] + aim.rate * e_dot_[k];
    if (integrates_) z_.segment<1>(k) = integral_.at<1>(t, k, s_.segment<1>(k));
    if (sliding) reference[k] = a_r_[k];
    if (spec_.kind == Kind::ComputedTorque)
      reference[k] = wanted - aim.damping * e_dot_[k] - aim.stiffness * e_[k] - aim.integral * z_[k];
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
  return Q_.allFinite() ? Verdict{} : Verdict{Status::NotFinite, -1, spec_.aims[0].joint, 0};
}

void JointLaw::settle(Instant at, const Bodies& bodies) {
  if (!integrates_ || !look(at, bodies).ok()) return;
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const JointAim& aim = spec_.aims[i];
    const double full = integral_.take<1>(at.t, k, s_.segment<1>(k), aim.most / aim.integral);
    certificate_.look(bounded_, at.t, full - 1, static_cast<int>(i));
  }
  integral_.taken(at.t);
}

Verdict JointLaw::command(Instant at, const Bodies& bodies, Load& out) {
  if (const Verdict verdict = look(at, bodies); !verdict.ok()) return verdict;
  if (const Verdict verdict = law(at.t); !verdict.ok()) return verdict;
  for (std::size_t i = 0; i < spec_.aims.size(); ++i)
    out.efforts[model_.joints()[static_cast<std::size_t>(spec_.aims[i].joint)].v0 + spec_.aims[i].freedom] +=
        Q_[static_cast<Eigen::Index>(i)];
  return {};
}

void JointLaw::witness(const Witness& seen) {
  Verdict verdict = look(seen.t, seen.bodies);
  if (verdict.ok()) verdict = law(seen.t);
  // d = Γ (q̈ - a_0(ν, ν)) - Q with the accelerations that the plant has.
  VecX &vdot = a_0_, &d = d_;
  if (verdict.ok()) known(false), verdict = free_acceleration(nu_, true, v_r_);
  certificate_.look(defined_, seen.t, verdict.ok() ? 0 : 1);
  if (!verdict.ok()) return;
  inverse_.accelerations(nu_, seen.accelerations, all_);
  for (std::size_t i = 0; i < spec_.aims.size(); ++i)
    vdot[static_cast<Eigen::Index>(i)] =
        all_[model_.joints()[static_cast<std::size_t>(spec_.aims[i].joint)].v0 + spec_.aims[i].freedom];
  v_r_ = vdot - v_r_;
  weigh(v_r_);
  d = weighed_ - Q_;
  // V̇ = sᵀ Γ (q̈ - q̈_r) + sᵀ C s.
  field_of(s_, w_);
  if (!free_acceleration(w_, false, v_r_).ok()) return;
  weigh(s_);
  double V = 0.5 * weighed_.dot(s_), V_dot = weighed_.dot(vdot - a_r_) - weighed_.dot(v_r_);
  double promised = s_.dot(d), size = std::abs(promised), outside = 0;
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const JointAim& aim = spec_.aims[i];
    const double fall = s_[k] * (aim.gain * s_[k] + aim.robust * saturated(i));
    promised -= fall, size += fall;
    V += 0.5 * aim.integral * z_[k] * z_[k], V_dot += aim.integral * z_[k] * s_[k];
    keep_largest(outside, std::abs(s_[k]) / aim.layer);
    keep_largest(largest_d_[k], std::abs(d[k]));
    certificate_.look(robust_, seen.t, std::abs(d[k]) - aim.robust, static_cast<int>(i));
    tracking_[i].look(seen.t, e_[k]);
    show(wanted_at_ + i, wanted_[k]);
  }
  certificate_.look(exact_, seen.t, std::abs(V_dot - promised) / (1 + size));
  certificate_.look(falls_, seen.t, outside <= 1 ? 0.0 : V_dot);
  eigen_.compute(mobility_, Eigen::EigenvaluesOnly);
  least_ = std::min(least_, 1 / eigen_.eigenvalues()[eigen_.eigenvalues().size() - 1]);
  most_ = std::max(most_, 1 / eigen_.eigenvalues()[0]);
  show(V_, V), show(V_dot_, V_dot), show(promised_, promised), show(layer_, outside);
}

// V̇ <= -k |s|² + Σ (d̄_i - κ_i)₊ |s_i| + Σ κ_i ε_i/4: outside the root of the right side V falls, and V's ellipsoid lies within
// sqrt(γ̄/γ̲) of it. s drives e through ė = -Λ e + s.
void JointLaw::conclude() {
  double gain = std::numeric_limits<double>::infinity(), rate = gain, excess = 0, inside = 0;
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const JointAim& aim = spec_.aims[i];
    gain = std::min(gain, aim.gain), rate = std::min(rate, aim.rate);
    excess += std::pow(std::max(0.0, largest_d_[static_cast<Eigen::Index>(i)] - aim.robust), 2);
    inside += 0.25 * aim.robust * aim.layer;
  }
  excess = std::sqrt(excess);
  const double radius = (excess + std::sqrt(excess * excess + 4 * gain * inside)) / (2 * gain);
  const double bound = std::sqrt(most_ / least_) * radius;
  const char* domain = "over the states looked at in this run";
  certificate_.findings = {{"gamma_least", least_, "SI, mixed", fmt::format("smallest eigenvalue of Γ {}", domain)},
                           {"gamma_most", most_, "SI, mixed", fmt::format("largest eigenvalue of Γ {}", domain)}};
  for (std::size_t i = 0; i < spec_.aims.size(); ++i)
    certificate_.findings.push_back({"d_" + name_of(model_, spec_.aims[i]), largest_d_[static_cast<Eigen::Index>(i)], "N m or N",
                                     fmt::format("largest |d| {}, from the plant's accelerations", domain)});
  if (spec_.kind != Kind::SlotineLi || integrates_) return;
  certificate_.findings.push_back({"bound_on_s", bound, "rad/s, m/s", "ultimate bound from B (24) with the numbers above"});
  certificate_.findings.push_back({"bound_on_e", bound / rate, "rad, m", "the same through B (15): the bound on s over Λ"});
}

}  // namespace invar
