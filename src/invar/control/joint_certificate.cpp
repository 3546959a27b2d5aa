// SPDX-License-Identifier: Apache-2.0
//
// Every law has a V of its own, along q̈ = a_0(ν, ν) + Γ⁻¹ (Q + d) with d from the plant's accelerations:
//   sliding          V = ½ sᵀ Γ s                   V̇ = -sᵀ K_d s - sᵀ κ sat(s/ε) + sᵀ d             B (24)
//   computed torque  V = ½ ėᵀ ė + ½ eᵀ P e          V̇ = -ėᵀ D ė + ėᵀ (Γ⁻¹ d - K_i z)
//   PD and gravity   V = ½ ėᵀ Γ ė + ½ eᵀ P e        V̇ = ėᵀ (Q + P e + d - r),   r = Γ q̈_d + C q̇_d - Q_e
// With the reference at rest the last is -ėᵀ D ė and what dampers of the mechanism take. Integral action adds ½ zᵀ K_i z to the
// first; V of the other two need not fall then. K_d is K, and the rate times Γ where one is given. With an observer d - 𝒥ᵀ r
// stands in the place of d, and with a known load d + 𝒥ᵀ(f(ν) - f(ν_r)). The remainder e is what each equation of errors leaves
// over, κ sat(s/ε) not counted, since that only helps:
//   sliding          e = Γ (q̈ - q̈_r) + C s + K_d s + κ sat(s/ε)
//   computed torque  e = Γ (ë + D ė + P e)
//   PD and gravity   e = Γ ë + C ė + D ė + P e
//
// Round-off. Efforts are known to that of the forces that they are sums of: w_k = Σ_b |𝒥_bk| |force on b| + |Q_k|. Γ x and q̈ are
// solutions with Γ⁻¹, whose error is |Γ| |Γ⁻¹| w round-offs (Higham, Accuracy and Stability, section 10.1), component by
// component. Rates that powers multiply are differences of |q̇|, |q̇_d| and Λ times |q|, |q_d|.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/base/largest.hpp"
#include "invar/control/joint_law.hpp"

namespace invar {
namespace {

using Kind = JointLawSpec::Kind;

const char* words(const JointLawSpec& spec) {
  switch (spec.kind) {
    case Kind::SlotineLi: return "B, robust with C q_r' (Slotine and Li)";
    case Kind::Robust: return "B (18) as printed";
    case Kind::ComputedTorque: return "computed torque";
    case Kind::PdGravity: return "PD and gravity";
  }
  return "";
}

const char* guarantee_of(Kind kind, bool robust) {
  switch (kind) {
    case Kind::SlotineLi:
      return robust ? "with κ_i > |d_i| s ends in the bound named, and e in that bound over Λ"
                    : "without disturbances V falls, and s and e vanish";
    case Kind::Robust: return "none by this V: its derivative has the term ½ sᵀ Γ' s that the printed proof loses";
    case Kind::ComputedTorque: return "without disturbances errors decay like those of a linear system";
    case Kind::PdGravity: return "with the reference at rest and without disturbances V falls, and errors vanish";
  }
  return "";
}

std::string name_of(const Model& model, const JointAim& aim) {
  return freedom_name(model.joints()[static_cast<std::size_t>(aim.joint)], aim.freedom);
}

}  // namespace

void JointLaw::state_readings() {
  const bool sliding = is_sliding();
  for (const JointAim& aim : spec_.aims) {
    const bool angle = model_.joints()[static_cast<std::size_t>(aim.joint)].turns(aim.freedom);
    tracking_.push_back({name_of(model_, aim), angle ? "rad" : "m"});
  }
  const char *meaning = "½ sᵀ Γ s, and what the integral holds", *promise = "-sᵀ K s + sᵀ d with the d that acted, B (24)";
  if (is_robust()) promise = "-sᵀ K s - sᵀ κ sat(s/ε) + sᵀ d with the d that acted, B (24)";
  if (spec_.kind == Kind::ComputedTorque) meaning = "½ ė² + ½ P e²", promise = "-D ė² + ė Γ⁻¹ d with the d that acted";
  if (spec_.kind == Kind::PdGravity) meaning = "½ ėᵀ Γ ė + ½ P e²", promise = "-D ė² + ė d and what a moving reference costs";
  // Accelerations weigh the errors of computed torque, not inertias.
  const bool energy = sliding || spec_.kind == Kind::PdGravity;
  V_ = read({"V", energy ? "J" : "SI, mixed", meaning});
  V_dot_ = read({"V_dot", energy ? "W" : "SI, mixed", "its derivative, from the accelerations of the plant"});
  // Γ⁻¹ stands before everything that acts where V has no inertias.
  std::string whole = promise;
  if (observer_.on())
    whole += energy ? ", the r of the observer taken off d" : ", the r of the observer taken off d, both through Γ⁻¹";
  if (known_load_.on()) whole += kKnownPromise;
  promised_ = read({"V_dot_promised", energy ? "W" : "SI, mixed", whole});
  if (is_robust()) layer_ = read({"layer", "1", "largest |s_i|/ε_i: above 1 outside the boundary layer"});
  remains_ =
      read({"remainder", "N/sqrt(kg)", "sqrt(eᵀ Γ⁻¹ e) of the loop's remainder e, what its equation of errors leaves over"});
  if (observer_.on()) {
    found_ = read({"observed", "N/sqrt(kg)", "|r|_A of the load that the momentum observer finds"});
    missed_ = read({"unobserved", "N/sqrt(kg)", "|d - r|_A, what it has not found"});
  }
  if (known_load_.on()) learned_ = read({"learned", "N/sqrt(kg)", "|f|_A of the learned load as the command takes it off"});
  if (known_load_.has_generic()) {
    leverage_ = read({"leverage", "1", "how far the motion is outside of the training data: generic terms fade out from 1 to 2"});
    in_use_ = read({"generic_in_use", "1", "1; 0 once the fallback has dropped the generic terms"});
  }
  wanted_at_ = values().size();
  for (const Tracking& t : tracking_) read({"reference_" + t.name, t.unit, "where the freedom is wanted"});
}

void JointLaw::state_clauses() {
  std::vector<std::string> names;
  for (const JointAim& aim : spec_.aims) names.push_back(name_of(model_, aim));
  certificate_.law = words(spec_);
  certificate_.guarantee = guarantee_of(spec_.kind, is_robust());
  defined_ = certificate_.add({"law_is_defined", "the law can be evaluated", "1", 0, {}});
  exact_ = certificate_.add({"V_dot_as_promised", "|V_dot - V_dot_promised|, over the powers at play", "1", kRoundOff, {}});
  const char* unit = spec_.kind == Kind::ComputedTorque ? "SI, mixed" : "W";
  if (is_robust())
    falls_ = certificate_.add({"V_falls", "V_dot, less the κ ε/4 of every freedom within its boundary layer", unit, 0, {}});
  else if ((is_sliding() || !integrates_) && !spec_.bound.known())
    falls_ = certificate_.add({"V_falls", "V_dot", unit, 0, {}});
  if (is_robust())
    robust_ = certificate_.add({"kappa_exceeds_disturbance", "|d_i| - κ_i", "N m or N", 0, names});
  else if (!spec_.bound.known())
    robust_ = certificate_.add(
        {"disturbance_is_absent", "|d_i|, what acts on a freedom beyond the law and its model", "N m or N", 0, names});
  if (spec_.kind == Kind::PdGravity)
    still_ = certificate_.add({"reference_rests", "|q_d'|, rate of the reference", "rad/s or m/s", 0, names});
  if (integrates_)
    bounded_ = certificate_.add(
        {"integral_within_limit", "how far the integral is beyond what it may push with, over that", "1", 0, names});
  if (observer_.on())
    resolved_ = certificate_.add({"observer_is_resolved", "time between two looks of the observer, times its rate", "1", 1, {}});
  known_load_.state(certificate_, spec_.bound.known(), unit);
  remainder_.state(certificate_);
}

// Γ, forces at play in every freedom, and the accelerations that they could make.
void JointLaw::weigh_forces(const Witness& seen) {
  const Bodies& bodies = inverse_.bodies();
  at_play_ = Q_.cwiseAbs();
  for (Eigen::Index k = 0; k < gamma_.cols(); ++k) {
    free_.setZero();
    free_[k] = 1;
    field_of(free_, w_);
    gamma_.col(k) = weighed_;
    for (std::size_t b = 0; b < w_.size(); ++b) {
      const Body& body = model_.bodies()[b];
      const BodyAcceleration& a = seen.accelerations[b];
      const Vec3 &turning = bodies[b].w_WB, spin = spun(body, bodies[b], turning);
      at_play_[k] +=
          w_[b].a_WC.norm() * (body.inertia.mass * (a.a_WC.norm() + model_.gravity().norm()) + known_[b].force.norm()) +
          w_[b].alpha_WB.norm() *
              (spun(body, bodies[b], a.alpha_WB).norm() + turning.norm() * spin.norm() + known_[b].moment.norm());
    }
  }
  pushed_.noalias() = mobility_.cwiseAbs() * at_play_;
  at_play_.noalias() = gamma_.cwiseAbs() * pushed_;
}

// What rates of errors are differences of.
double JointLaw::rate_at_play(std::size_t i, double rate) const {
  const auto k = static_cast<Eigen::Index>(i);
  const double q = inverse_.joint(spec_.aims[i].joint).q[spec_.aims[i].freedom];
  return std::abs(v_[k]) + std::abs(v_d_[k]) + rate * (std::abs(q) + std::abs(wanted_[k]));
}

// sqrt(xᵀ Γ x): of efforts e with x = Γ⁻¹ e it is |e|_A.
double JointLaw::weighed_size(const VecX& x) {
  weigh(x);
  const double square = weighed_.dot(x);
  return std::sqrt(square < 0 ? 0.0 : square);
}

JointLaw::Fall JointLaw::sliding_fall() {
  // V̇ = sᵀ Γ (q̈ - q̈_r) + sᵀ C s, and C s = -Γ a_0 of the field of s, without forces.
  Fall fall;
  field_of(s_, w_);
  if (!free_acceleration(w_, false, free_).ok()) return fall;
  weigh(s_);
  const double square = weighed_.dot(s_);
  fall.V = 0.5 * square, fall.rate = weighed_.dot(vdot_ - a_r_) - weighed_.dot(free_);
  fall.helped = s_.dot(helps_);
  fall.promised = s_.dot(d_) + fall.helped - s_.dot(Q_r_) - spec_.rate * square, fall.power = spec_.rate * square,
  fall.taken = fall.power;
  fall.outside = 0, fall.within = 0, fall.speed = std::sqrt(square);
  free_ = vdot_ - a_r_ - free_ + spec_.rate * s_;
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const JointAim& aim = spec_.aims[i];
    const double taken = s_[k] * (aim.gain * s_[k] + aim.robust * saturated(i)), held = aim.integral * z_[k];
    fall.promised -= taken;
    fall.taken += taken;
    free_.noalias() += (aim.gain * s_[k] + aim.robust * saturated(i)) * mobility_.col(k);
    fall.V += 0.5 * held * z_[k], fall.rate += held * s_[k];
    fall.power += rate_at_play(i, aim.rate) * (at_play_[k] + std::abs(held)) + taken;
    if (!(aim.robust > 0)) continue;
    keep_largest(fall.outside, std::abs(s_[k]) / aim.layer);
    if (std::abs(s_[k]) <= aim.layer) fall.within += 0.25 * aim.robust * aim.layer;
  }
  fall.remainder = weighed_size(free_);
  return fall;
}

JointLaw::Fall JointLaw::linear_fall() {
  Fall fall;
  fall.V = fall.rate = fall.promised = fall.power = fall.taken = fall.outside = fall.within = 0;
  free_.noalias() = mobility_ * helps_;
  fall.helped = e_dot_.dot(free_);
  pulled_ = d_ + helps_ - Q_r_;
  free_.noalias() = mobility_ * pulled_;  // Γ⁻¹ (d + what helps - 𝒥ᵀ r)
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const JointAim& aim = spec_.aims[i];
    const double wanted = a_d_[k], pulled = aim.stiffness * e_[k], held = aim.integral * z_[k];
    fall.V += 0.5 * (e_dot_[k] * e_dot_[k] + pulled * e_[k]);
    fall.rate += e_dot_[k] * (vdot_[k] - wanted + pulled);
    pulled_[k] = vdot_[k] - wanted + pulled + aim.damping * e_dot_[k];
    fall.promised += e_dot_[k] * (free_[k] - held - aim.damping * e_dot_[k]);
    fall.taken += aim.damping * e_dot_[k] * e_dot_[k];
    fall.power += rate_at_play(i, 0) * (pushed_[k] + std::abs(wanted) + aim.stiffness * rate_at_play(i, 1) + std::abs(held) +
                                        aim.damping * rate_at_play(i, 0));
  }
  fall.remainder = weighed_size(pulled_), fall.speed = weighed_size(e_dot_);
  return fall;
}

JointLaw::Fall JointLaw::resting_fall() {
  Fall fall;
  // V̇ without the springs: ėᵀ Γ (q̈ - q̈_d) + ėᵀ C ė; with a_d = q̈_d.
  field_of(e_dot_, w_);
  if (!free_acceleration(w_, false, free_).ok()) return fall;
  weigh(e_dot_);
  fall.V = 0.5 * weighed_.dot(e_dot_), fall.rate = weighed_.dot(vdot_ - a_d_) - weighed_.dot(free_);
  fall.speed = std::sqrt(2 * fall.V), fall.helped = e_dot_.dot(helps_), fall.taken = 2 * spec_.rate * fall.V;
  pulled_ = vdot_ - a_d_ - free_ + spec_.rate * e_dot_;
  // r = Γ (q̈_d - a_0(ν, ν_d)).
  field_of(v_d_, w_);
  if (!free_acceleration(w_, true, free_).ok()) return {};
  free_ = a_d_ - free_;
  weigh(free_);
  fall.promised = fall.power = fall.outside = fall.within = 0;
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const double pulled = spec_.aims[i].stiffness * e_[k];
    fall.V += 0.5 * pulled * e_[k], fall.rate += pulled * e_dot_[k];
    pulled_.noalias() += (pulled + spec_.aims[i].damping * e_dot_[k]) * mobility_.col(k);
    fall.promised += e_dot_[k] * (Q_[k] + pulled + d_[k] - weighed_[k]);
    fall.taken += spec_.aims[i].damping * e_dot_[k] * e_dot_[k];
    fall.power += rate_at_play(i, 0) * (at_play_[k] + std::abs(weighed_[k]) + spec_.aims[i].stiffness * rate_at_play(i, 1));
  }
  fall.remainder = weighed_size(pulled_);
  return fall;
}

void JointLaw::witness(const Witness& seen) {
  Verdict verdict = look(seen.t, seen.bodies);
  if (verdict.ok()) verdict = law(seen.t);
  if (verdict.ok()) taken_ = known_, know_at_motion(seen.t), verdict = free_acceleration(nu_, true, free_);
  certificate_.look(defined_, seen.t, verdict.ok() ? 0 : 1);
  if (!verdict.ok()) return;
  // d = Γ (q̈ - a_0(ν, ν)) - Q with the accelerations that the plant has.
  inverse_.accelerations(nu_, seen.accelerations, all_);
  for (std::size_t i = 0; i < spec_.aims.size(); ++i)
    vdot_[static_cast<Eigen::Index>(i)] =
        all_[model_.joints()[static_cast<std::size_t>(spec_.aims[i].joint)].v0 + spec_.aims[i].freedom];
  free_ = vdot_ - free_;
  weigh(free_);
  d_ = weighed_ - Q_;
  weigh_forces(seen);
  if (known_load_.on()) weigh_help();
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const double size = std::abs(d_[k]);
    keep_largest(largest_d_[k], std::abs(d_[k] + helps_[k]));
    if (robust_ >= 0)
      certificate_.look(robust_, seen.t, size - (is_robust() ? spec_.aims[i].robust : 0.0), static_cast<int>(i),
                        round_off(at_play_[k]));
    if (still_ >= 0) certificate_.look(still_, seen.t, std::abs(v_d_[k]), static_cast<int>(i));
    tracking_[i].look(seen.t, e_[k]);
    show(wanted_at_ + i, wanted_[k]);
  }
  const Fall fall = is_sliding() ? sliding_fall() : spec_.kind == Kind::PdGravity ? resting_fall() : linear_fall();
  const double gap = std::abs(fall.rate - fall.promised);
  certificate_.look(exact_, seen.t, gap == 0 ? 0.0 : gap / fall.power);
  if (falls_ >= 0) certificate_.look(falls_, seen.t, fall.rate - fall.within, -1, round_off(fall.power));
  eigen_.compute(mobility_, Eigen::EigenvaluesOnly);
  least_ = std::min(least_, 1 / eigen_.eigenvalues()[eigen_.eigenvalues().size() - 1]);
  most_ = std::max(most_, 1 / eigen_.eigenvalues()[0]);
  show(V_, fall.V), show(V_dot_, fall.rate), show(promised_, fall.promised);
  if (is_robust()) show(layer_, fall.outside);
  show(remains_, fall.remainder);
  remainder_.look(seen.t, fall.remainder, fall.speed, certificate_);
  if (observer_.on()) look_at_observer();
  if (known_load_.on()) look_at_known(seen, fall);
}

// 𝒥ᵀ of a port: Γ times what it does along the columns of 𝒥 Γ⁻¹, which is left in free_.
void JointLaw::weigh_port(const Port& port) {
  for (std::size_t i = 0; i < Y_.size(); ++i) {
    double& along = free_[static_cast<Eigen::Index>(i)] = 0;
    for (std::size_t b = 0; b < port.size(); ++b)
      along += port[b].force.dot(Y_[i][b].a_WC) + port[b].moment.dot(Y_[i][b].alpha_WB);
  }
  weigh(free_);
}

void JointLaw::weigh_help() {
  for (std::size_t b = 0; b < taken_.size(); ++b) port_[b] = known_[b] - taken_[b];
  weigh_port(port_);
  helps_ = weighed_;
}

void JointLaw::look_at_known(const Witness& seen, const Fall& fall) {
  const LoadMotion reference{seen.t, seen.bodies, reference_};
  weigh_port(known_load_.at(reference));
  show(learned_, weighed_size(free_));
  const double leverage = known_load_.look_at_data({seen.t, seen.bodies, nu_}, reference, certificate_);
  if (known_load_.has_generic()) show(leverage_, leverage), show(in_use_, known_load_.in_use() ? 1 : 0);
  known_load_.look_at_balance(seen.t, fall.helped - fall.taken, round_off(fall.power), certificate_);
}

void JointLaw::look_at_observer() {
  free_.noalias() = mobility_ * Q_r_;
  const double found = weighed_size(free_);
  show(found_, found);
  keep_largest(observed_most_, found);
  pulled_ = d_ - Q_r_;
  free_.noalias() = mobility_ * pulled_;
  show(missed_, weighed_size(free_));
}

// V̇ <= -k |s|² + Σ (d̄_i - κ_i)₊ |s_i| + Σ κ_i ε_i/4: outside the root of the right side V falls, and V's ellipsoid lies within
// sqrt(γ̄/γ̲) of it. s drives e through ė = -Λ e + s.
void JointLaw::conclude() {
  double gain = std::numeric_limits<double>::infinity(), rate = gain, excess = 0, inside = 0;
  for (std::size_t i = 0; i < spec_.aims.size(); ++i) {
    const JointAim& aim = spec_.aims[i];
    gain = std::min(gain, aim.gain + spec_.rate * least_), rate = std::min(rate, aim.rate);
    excess += std::pow(std::max(0.0, largest_d_[static_cast<Eigen::Index>(i)] - aim.robust), 2);
    inside += 0.25 * aim.robust * aim.layer;
  }
  excess = std::sqrt(excess);
  const double radius = (excess + std::sqrt(excess * excess + 4 * gain * inside)) / (2 * gain);
  const double bound = std::sqrt(most_ / least_) * radius;
  const char* domain = "over the states looked at in this run";
  std::vector<Finding>& findings = certificate_.findings;
  findings.push_back({"gamma_least", least_, "SI, mixed", fmt::format("smallest eigenvalue of Γ {}", domain)});
  findings.push_back({"gamma_most", most_, "SI, mixed", fmt::format("largest eigenvalue of Γ {}", domain)});
  for (std::size_t i = 0; i < spec_.aims.size(); ++i)
    findings.push_back({"d_" + name_of(model_, spec_.aims[i]), largest_d_[static_cast<Eigen::Index>(i)], "N m or N",
                        fmt::format("largest |d| {}, from the plant's accelerations", domain)});
  if (observer_.on()) {
    findings.push_back({"observed", observed_most_, "N/sqrt(kg)", fmt::format("largest |r|_A {}", domain)});
    findings.push_back({"observer_lag", 1 / spec_.observer, "s", "time constant with which r follows d"});
  }
  if (spec_.kind != Kind::SlotineLi || integrates_ || observer_.on()) return;
  findings.push_back({"bound_on_s", bound, "rad/s, m/s", "ultimate bound from B (24) with the numbers above"});
  findings.push_back({"bound_on_e", bound / rate, "rad, m", "the same through B (15): the bound on s over Λ"});
}

}  // namespace invar
