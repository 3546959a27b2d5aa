// SPDX-License-Identifier: Apache-2.0
#include "invar/control/port_law.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "invar/base/largest.hpp"

namespace invar {
namespace {

double largest_moment(const Inertia& inertia) {
  return Eigen::SelfAdjointEigenSolver<Mat3>(inertia.I_C, Eigen::EigenvaluesOnly).eigenvalues()[2];
}

// sᵀ K_d s >= rate |s|²_M: the smallest over bodies and directions.
double rate_of(const Model& model, const PortGains& gains) {
  double rate = std::numeric_limits<double>::infinity();
  for (const Body& b : model.bodies()) {
    rate = std::min({rate, gains.rate + gains.linear / b.inertia.mass, gains.rate + gains.angular / largest_moment(b.inertia)});
  }
  return rate;
}

}  // namespace

PortLaw::PortLaw(const Model& model, const PortGains& gains)
    : inverse_(model),
      model_(model),
      gains_(gains),
      nu_r_(model.bodies().size()),
      nu_r_dot_(nu_r_),
      s_(nu_r_),
      integral_(6 * static_cast<Eigen::Index>(model.bodies().size())),
      z_(nu_r_),
      observer_(model, gains.observer),
      remainder_(gains.bound, rate_of(model, gains)),
      no_efforts_(VecX::Zero(model.nv())),
      known_(model, gains.known),
      own_(model.bodies().size()),
      acts_(own_),
      port_(own_),
      observed_(own_),
      disturbance_(own_),
      rest_(own_),
      moved_(nu_r_),
      first_(model),
      last_(first_),
      rate_(rate_of(model, gains)) {
  V_ = read({"V", "J", "kinetic energy of s, the velocity beyond its reference, and what the integral holds"});
  V_dot_ = read({"V_dot", "W", "its derivative, from the accelerations of the plant"});
  promised_ =
      read({"V_dot_promised", "W",
            std::string(observer_.on() ? "-sᵀ K_d s + sᵀ (d - r) with the disturbance d that acted and the r of the observer"
                                       : "-sᵀ K_d s + sᵀ d with the disturbance d that acted") +
                (known_.on() ? kKnownPromise : "")});
  by_joints_ = read({"V_dot_by_joints", "W", "power of the joint reactions along the reference velocity"});
  remains_ = read({"remainder", "N/sqrt(kg)", "|e|_A of the loop's remainder e = M(ν' - ν_r') + C s + K_d s"});
  if (observer_.on()) {
    found_ = read({"observed", "N/sqrt(kg)", "|r|_A of the load that the momentum observer finds"});
    missed_ = read({"unobserved", "N/sqrt(kg)", "|d - r|_A, what it has not found"});
  }
  if (known_.on()) learned_ = read({"learned", "N/sqrt(kg)", "|f|_A of the learned load as the command takes it off"});
  if (known_.has_generic()) {
    leverage_ = read({"leverage", "1", "how far the motion is outside of the training data: generic terms fade out from 1 to 2"});
    in_use_ = read({"generic_in_use", "1", "1; 0 once the fallback has dropped the generic terms"});
  }
  if (known_.adapts()) {
    found_there_ = read({"innovation", "1", "mean square of what the last look had not foreseen, over what should be expected"});
    for (int k = 0; k < static_cast<int>(known_.load().coefficients().size()); ++k)
      read({"adapted " + known_.load().label(k), known_.load().unit(k), "as it is learned while the loop runs"});
  }
  evaluated_ = certificate_.add({"law_is_defined", "the law can be evaluated", "1", 0, {}});
  allowed_ = certificate_.add(
      {"reference_is_allowed", "J nu_r = 0: joints allow the reference velocity", "m/s", 0, names_of(model.joints())});
  exact_ = certificate_.add(
      {"V_dot_as_promised", "|V_dot + sᵀ K_d s - sᵀ d|, but for velocities of the plant that joints do not allow", "W", 0, {}});
  if (!gains.bound.known())
    falls_ =
        certificate_.add({"disturbance_is_absent", "|M A d|, what a disturbance d moves: without one V falls at every instant",
                          "N", 0, names_of(model.bodies())});
  if (gains.integrates())
    bounded_ = certificate_.add({"integral_within_limit", "how far the integral is beyond what it may push with, over that", "1",
                                 0, names_of(model.bodies())});
  if (observer_.on())
    resolved_ = certificate_.add({"observer_is_resolved", "time between two looks of the observer, times its rate", "1", 1, {}});
  known_.state(certificate_, gains.bound.known(), "W");
  remainder_.state(certificate_);
}

// With |s| and |d| in the metrics of M and A, V̇ <= -rate |s|² + |s| |d|: outside |s| = |d|/rate V falls.
void PortLaw::conclude() {
  certificate_.findings.push_back({"disturbance", disturbance_most_, "N/sqrt(kg)",
                                   known_.on() ? "largest |d + f(ν) - f(ν_r)|_A at the states looked at, with all that is known f"
                                               : "largest sqrt(dᵀ A d) at the states looked at"});
  if (observer_.on()) {
    certificate_.findings.push_back({"observed", observed_most_, "N/sqrt(kg)", "largest |r|_A at the states looked at"});
    certificate_.findings.push_back({"observer_lag", 1 / gains_.observer, "s", "time constant with which r follows d"});
  }
  if (!proven_ || gains_.integrates() || observer_.on() || gains_.bound.known()) return;
  certificate_.findings.push_back(
      {"rate", rate_, "1/s",
       "smallest of rate + linear/mass and rate + angular/largest moment over the bodies: sᵀ K_d s >= 2 rate V"});
  certificate_.findings.push_back(
      {"ultimate_bound", 0.5 * std::pow(disturbance_most_ / rate_, 2), "J",
       "V ends below it as long as the disturbance stays below the one named: (disturbance/rate)²/2"});
}

std::string PortLaw::objection(Instant at, const Bodies& bodies) {
  if (const int j = inverse_.rotors(); j >= 0)
    return fmt::format("joint '{}' has an armature, which this law does not know",
                       model_.joints()[static_cast<std::size_t>(j)].name);
  const Verdict verdict = law(at, bodies);
  if (verdict.status == Status::NotFinite)
    return "its command at the start is not finite: obstacles, limits or gains are too steep for where the mechanism is";
  return verdict.ok() ? cannot() : std::string("the law is not defined at the start");
}

// A (33) into port_, with ν_r, ν̇_r and s.
Verdict PortLaw::law(Instant at, const Bodies& bodies) {
  if (const Verdict verdict = inverse_.at(bodies); !verdict.ok()) return verdict;
  if (const Verdict verdict = refer(at, nu_r_, nu_r_dot_); !verdict.ok()) return verdict;
  add_known(at, bodies);
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const Body& body = model_.bodies()[b];
    s_[b] = {bodies[b].v_WC - nu_r_[b].a_WC, bodies[b].w_WB - nu_r_[b].alpha_WB};
    const Vec3 force = body.inertia.mass * (nu_r_dot_[b].a_WC - gains_.rate * s_[b].a_WC) - gains_.linear * s_[b].a_WC;
    const Vec3 moment = spun(body, bodies[b], nu_r_dot_[b].alpha_WB - gains_.rate * s_[b].alpha_WB) +
                        bodies[b].w_WB.cross(spun(body, bodies[b], nu_r_[b].alpha_WB)) - gains_.angular * s_[b].alpha_WB;
    port_[b] = {moment - own_[b].moment, force - own_[b].force};
  }
  if (gains_.integrates()) integrate(at.t, bodies);
  if (observer_.on()) {
    know_at_motion(at, bodies);
    if (const Verdict verdict = observer_.look(at.t, inverse_, acting(), port_, no_efforts_); !verdict.ok()) return verdict;
    observed_ = observer_.load();
    for (std::size_t b = 0; b < port_.size(); ++b) port_[b] -= observed_[b];
  }
  for (std::size_t b = 0; b < port_.size(); ++b)
    if (!port_[b].force.allFinite() || !port_[b].moment.allFinite()) return {Status::NotFinite, static_cast<int>(b), -1, 0};
  return {};
}

// F_known into own_: where a load is known beside the model everything at ν_r, otherwise what acts at ν.
void PortLaw::add_known(Instant at, const Bodies& bodies) {
  for (Wrench& w : own_) w = Wrench{};
  if (!known_.on()) {
    inverse_.add_own_forces(false, own_);
    return;
  }
  inverse_.add_own_forces(nu_r_, own_);
  known_.add({at, bodies, nu_r_, &nu_r_dot_}, own_);
}

// What the model and the known load do at ν: what observer and certificate compare with.
void PortLaw::know_at_motion(Instant at, const Bodies& bodies) {
  if (!known_.on()) return;
  for (std::size_t b = 0; b < acts_.size(); ++b) acts_[b] = Wrench{}, moved_[b] = {bodies[b].v_WC, bodies[b].w_WB};
  inverse_.add_own_forces(false, acts_);
  known_.add({at, bodies, moved_, &nu_r_dot_}, acts_);
}

// V, with what the integral holds.
double PortLaw::stored(const Bodies& bodies) const {
  double V = 0;
  for (std::size_t b = 0; b < s_.size(); ++b) {
    const Body& body = model_.bodies()[b];
    V += 0.5 * (body.inertia.mass * s_[b].a_WC.squaredNorm() + s_[b].alpha_WB.dot(spun(body, bodies[b], s_[b].alpha_WB)));
    const Wrench pull = integral_pull(b, bodies);
    V += 0.5 * (pull.force.dot(z_[b].a_WC) + pull.moment.dot(z_[b].alpha_WB));
  }
  return V;
}

// What of s a body's turns are summed from: World components, or with κ_i M those in its own axes, so that ½ zᵀ M z changes by
// zᵀ M s alone.
Vec3 PortLaw::summed_turn(std::size_t b, const Bodies& bodies) const {
  return gains_.integral_rate > 0 ? Vec3(bodies[b].q_WB.conjugate() * s_[b].alpha_WB) : s_[b].alpha_WB;
}

// K_i z of a body.
Wrench PortLaw::integral_pull(std::size_t b, const Bodies& bodies) const {
  const Body& body = model_.bodies()[b];
  return {gains_.integral_angular * z_[b].alpha_WB + gains_.integral_rate * spun(body, bodies[b], z_[b].alpha_WB),
          (gains_.integral_linear + gains_.integral_rate * body.inertia.mass) * z_[b].a_WC};
}

void PortLaw::integrate(double t, const Bodies& bodies) {
  for (std::size_t b = 0; b < s_.size(); ++b) {
    const auto block = 6 * static_cast<Eigen::Index>(b);
    z_[b] = {integral_.at<3>(t, block, s_[b].a_WC), integral_.at<3>(t, block + 3, summed_turn(b, bodies))};
    if (gains_.integral_rate > 0) z_[b].alpha_WB = bodies[b].q_WB * z_[b].alpha_WB;
    port_[b] += -integral_pull(b, bodies);
  }
}

void PortLaw::settle(Instant at, const Bodies& bodies) {
  choose_sides(at, bodies);
  if (!gains_.integrates() && !observer_.on() && !known_.watches() && !known_.adapts()) return;
  if (known_.adapts() && !adapt(at, bodies).ok()) return;
  if (!law(at, bodies).ok()) return;
  if (observer_.on()) {
    certificate_.look(resolved_, at.t, observer_.stride(), -1, round_off(observer_.rate() * std::abs(at.t)));
    for (std::size_t b = 0; b < port_.size(); ++b) rest_[b] = port_[b] + observed_[b];
    observer_.take(at.t, inverse_, acting(), rest_, no_efforts_);
  }
  if (known_.watches()) watch(at, bodies);
  if (!gains_.integrates()) return;
  for (std::size_t b = 0; b < s_.size(); ++b) {
    const auto block = 6 * static_cast<Eigen::Index>(b);
    const Inertia& inertia = model_.bodies()[b].inertia;
    const double per_shift = gains_.integral_linear + gains_.integral_rate * inertia.mass;
    const double per_turn = gains_.integral_angular + gains_.integral_rate * largest_moment(inertia);
    const double linear = integral_.take<3>(at.t, block, s_[b].a_WC, gains_.most_force / per_shift);
    const double angular = integral_.take<3>(at.t, block + 3, summed_turn(b, bodies), gains_.most_moment / per_turn);
    certificate_.look(bounded_, at.t, std::max(linear, angular) - 1, static_cast<int>(b));
  }
  integral_.taken(at.t);
}

void PortLaw::acted(const Load& first, const Load& last) {
  if (observer_.on()) observer_.acted(first, last);
  if (known_.adapts()) told_ = true, first_ = first, last_ = last;
}

// Commands that act as they are have just been what the law says.
Verdict PortLaw::adapt(Instant at, const Bodies& bodies) {
  if (const Verdict v = law(at, bodies); !v.ok()) return v;
  if (!told_) last_.port = port_;
  known_.acted(at.t, first_, last_);
  if (known_.look_is_due(at.t)) {
    known_.look(at.t, bodies);
    if (const Verdict v = law(at, bodies); !v.ok()) return v;
  }
  if (!told_) first_.port = port_;
  return {};
}

void PortLaw::remember(Recall& memory) {
  integral_.remember(memory), observer_.remember(memory), known_.remember(memory);
  memory(told_), memory(first_), memory(last_);
}

// Whether generic terms do harm; round-off of V is that of the kinetic energy that s is a difference in.
void PortLaw::watch(Instant at, const Bodies& bodies) {
  double moving = 0;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const Body& body = model_.bodies()[b];
    moving += body.inertia.mass * bodies[b].v_WC.squaredNorm() + bodies[b].w_WB.dot(spun(body, bodies[b], bodies[b].w_WB));
  }
  const Port& f = known_.generic_at({at, bodies, nu_r_, &nu_r_dot_});
  if (!inverse_.apply(&f, nullptr, moved_).ok()) return;
  double undone = -0.5 * paired(f, moved_);
  for (std::size_t b = 0; b < s_.size(); ++b) {
    const Body& body = model_.bodies()[b];
    Vec3 force = (gains_.linear + gains_.rate * body.inertia.mass) * s_[b].a_WC;
    Vec3 moment = gains_.angular * s_[b].alpha_WB + gains_.rate * spun(body, bodies[b], s_[b].alpha_WB);
    const Wrench pull = integral_pull(b, bodies);
    force += pull.force, moment += pull.moment;
    if (observer_.on()) force += observed_[b].force, moment += observed_[b].moment;
    undone -= force.dot(moved_[b].a_WC) + moment.dot(moved_[b].alpha_WB);
  }
  known_.watch(at.t, stored(bodies), round_off(moving), -paired(f, s_), undone);
}

Verdict PortLaw::command(Instant at, const Bodies& bodies, Load& out) {
  const Verdict verdict = law(at, bodies);
  if (verdict.ok())
    for (std::size_t b = 0; b < port_.size(); ++b) out.port[b] += port_[b];
  return verdict;
}

// |f|_A = |A f|_M, since A M A = A: what joints carry of f leaves no more than its round-off. A f is in moved_ then.
double PortLaw::size_of(const Port& port) {
  if (!inverse_.apply(&port, nullptr, moved_).ok()) return std::numeric_limits<double>::quiet_NaN();
  double square = 0;
  for (std::size_t b = 0; b < moved_.size(); ++b) {
    const Body& body = model_.bodies()[b];
    square += body.inertia.mass * moved_[b].a_WC.squaredNorm() +
              moved_[b].alpha_WB.dot(spun(body, inverse_.bodies()[b], moved_[b].alpha_WB));
  }
  return std::sqrt(square);
}

// The wrenches M A d of what disturbance_ moves, and their size in the metric of M⁻¹, which is that of A d in the metric of M.
void PortLaw::look_at_disturbance(double t) {
  const double size = size_of(disturbance_);
  const LargestWrench largest = std::isnan(size) ? LargestWrench{size, -1} : largest_wrench(model_, inverse_.bodies(), moved_);
  if (falls_ >= 0) certificate_.look(falls_, t, largest.size, largest.body, round_off(force_at_play_));
  if (!known_.on()) keep_largest(disturbance_most_, size);
}

// What the loop's error equation leaves over, and what of d the observer has not found.
void PortLaw::look_at_remainder(double t, double kinetic) {
  const double e = size_of(rest_);
  show(remains_, e);
  remainder_.look(t, e, std::sqrt(2 * kinetic), certificate_);
  if (!observer_.on()) return;
  for (std::size_t b = 0; b < rest_.size(); ++b) rest_[b] = disturbance_[b] - observed_[b];
  show(missed_, size_of(rest_));
  const double found = size_of(observed_);
  show(found_, found);
  keep_largest(observed_most_, found);
}

// Sizes of all forces (moments over the model's length) and of the velocities that s is a difference of; disturbance_ becomes
// what acts.
void PortLaw::weigh_terms(const Witness& seen) {
  const double length = model_.length(), gravity = model_.gravity().norm();
  const auto size = [length](const Wrench& w) { return w.force.norm() + w.moment.norm() / length; };
  disturbance_ = acting();
  force_at_play_ = speed_at_play_ = 0;
  for (std::size_t b = 0; b < s_.size(); ++b) {
    const Body& body = model_.bodies()[b];
    const BodyState& at = seen.bodies[b];
    const BodyAcceleration& a = seen.accelerations[b];
    force_at_play_ += size(disturbance_[b]) + size(port_[b]) + body.inertia.mass * (a.a_WC.norm() + gravity) +
                      (spun(body, at, a.alpha_WB).norm() + at.w_WB.norm() * spun(body, at, at.w_WB).norm()) / length;
    speed_at_play_ =
        std::max(speed_at_play_, at.v_WC.norm() + nu_r_[b].a_WC.norm() + length * (at.w_WB.norm() + nu_r_[b].alpha_WB.norm()));
    disturbance_[b] += port_[b];
  }
  for (const Wrench& reaction : seen.reactions) force_at_play_ += size(reaction);
  inverse_.add_reactions(seen.reactions, disturbance_);
}

// What is known beside the model: its size, how far it is from its data, and what taking it at ν_r does along s.
void PortLaw::look_at_known(const Witness& seen) {
  const LoadMotion reference{seen.t, seen.bodies, nu_r_, &nu_r_dot_};
  for (std::size_t b = 0; b < rest_.size(); ++b) rest_[b] = disturbance_[b] + acts_[b] - own_[b];
  keep_largest(disturbance_most_, size_of(rest_));  // all that V̇ has beside feedback
  rest_ = known_.at(reference);
  show(learned_, size_of(rest_));
  for (std::size_t b = 0; b < moved_.size(); ++b) moved_[b] = {seen.bodies[b].v_WC, seen.bodies[b].w_WB};
  const double leverage = known_.look_at_data({seen.t, seen.bodies, moved_, &nu_r_dot_}, reference, certificate_);
  if (known_.has_generic()) show(leverage_, leverage), show(in_use_, known_.in_use() ? 1 : 0);
  if (known_.adapts()) {
    show(found_there_, known_.load().innovation());
    std::size_t place = found_there_;
    for (const double c : known_.load().coefficients()) show(++place, c);
  }
  double taken = 0;  // sᵀ K_d s
  for (std::size_t b = 0; b < s_.size(); ++b)
    taken += gains_.linear * s_[b].a_WC.squaredNorm() + gains_.angular * s_[b].alpha_WB.squaredNorm() +
             gains_.rate * (model_.bodies()[b].inertia.mass * s_[b].a_WC.squaredNorm() +
                            s_[b].alpha_WB.dot(spun(model_.bodies()[b], seen.bodies[b], s_[b].alpha_WB)));
  known_.look_at_balance(seen.t, paired(acts_, s_) - paired(own_, s_) - taken, round_off(force_at_play_ * speed_at_play_),
                         certificate_);
}

// d is what Newton's and Euler's equations of the nominal bodies leave over, reactions included: forces from outside, errors of
// the model, and whatever of the law's wrench did not arrive. Of that only M A d counts as a disturbance: an s that joints
// allow has the same power in both, and what joints hold (motors in the place of wrenches on bodies) disturbs nothing.
void PortLaw::witness(const Witness& seen) {
  const Verdict verdict = law(seen.t, seen.bodies);
  certificate_.look(evaluated_, seen.t, verdict.ok() ? 0 : 1);
  if (!verdict.ok()) return;
  know_at_motion(seen.t, seen.bodies);
  weigh_terms(seen);
  double V = 0, V_dot = 0, promised = observer_.on() ? -paired(observed_, s_) : 0.0, held = 0;  // the last by the integral
  for (std::size_t b = 0; b < s_.size(); ++b) {
    const Body& body = model_.bodies()[b];
    const BodyState& at = seen.bodies[b];
    const BodyAcceleration& a = seen.accelerations[b];
    const Vec3 &s = s_[b].a_WC, &z = s_[b].alpha_WB;
    const Vec3 d = body.inertia.mass * a.a_WC - disturbance_[b].force;
    const Vec3 n = spun(body, at, a.alpha_WB) + at.w_WB.cross(spun(body, at, at.w_WB)) - disturbance_[b].moment;
    V += 0.5 * (body.inertia.mass * s.squaredNorm() + z.dot(spun(body, at, z)));
    rest_[b] = {spun(body, at, a.alpha_WB - nu_r_dot_[b].alpha_WB) + at.w_WB.cross(spun(body, at, z)),
                body.inertia.mass * (a.a_WC - nu_r_dot_[b].a_WC)};
    V_dot += s.dot(rest_[b].force) + z.dot(rest_[b].moment);
    rest_[b].force += (gains_.linear + gains_.rate * body.inertia.mass) * s;
    rest_[b].moment += gains_.angular * z + gains_.rate * spun(body, at, z);
    promised += s.dot(d) + z.dot(n) - gains_.linear * s.squaredNorm() - gains_.angular * z.squaredNorm() -
                gains_.rate * (body.inertia.mass * s.squaredNorm() + z.dot(spun(body, at, z)));
    if (gains_.integrates()) {
      const Wrench pull = integral_pull(b, seen.bodies);
      held += 0.5 * (pull.force.dot(z_[b].a_WC) + pull.moment.dot(z_[b].alpha_WB));
      V_dot += pull.force.dot(s) + pull.moment.dot(z);
    }
    disturbance_[b] = {n, d};
    moved_[b] = {at.v_WC, at.w_WB};
  }
  if (known_.on()) promised += paired(acts_, s_) - paired(own_, s_);
  // What reactions do along velocities of the plant that joints do not quite allow is an error of the plant, not of the law.
  const double drift = inverse_.power_of_reactions(seen.reactions, moved_);
  look_at_disturbance(seen.t);
  look_at_remainder(seen.t, V);
  if (known_.on()) look_at_known(seen);
  int joint = -1;
  const double forbidden = inverse_.violation(nu_r_, joint);
  certificate_.look(allowed_, seen.t, forbidden, joint, round_off(speed_at_play_));
  certificate_.look(exact_, seen.t, std::abs(V_dot - promised - drift), -1, round_off(force_at_play_ * speed_at_play_));
  show(V_, V + held), show(V_dot_, V_dot), show(promised_, promised);
  show(by_joints_, -inverse_.power_of_reactions(seen.reactions, nu_r_));
  track(seen.t);
}

}  // namespace invar
