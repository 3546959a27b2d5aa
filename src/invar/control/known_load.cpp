// SPDX-License-Identifier: Apache-2.0
#include "invar/control/known_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace invar {

const Port& KnownPart::at(const LoadMotion& motion) {
  for (Wrench& w : port_) w = Wrench{};
  load_->add(motion, port_);
  return port_;
}

const Port& KnownPart::generic_at(const LoadMotion& motion) {
  for (Wrench& w : port_) w = Wrench{};
  load_->add_generic(motion, port_);
  return port_;
}

void KnownPart::watch(double t, double V, double round_off, double power, double undone) {
  if (!watches()) return;
  if (!begun_) begun_ = true, t_ = t, V_ = V;
  const double h = t - t_, part = 1 - std::exp(-h / spec_.patience);
  t_ = t;
  V_ += part * (V - V_), P_ += part * (power - P_), undone_ += part * (undone - undone_);
  suspicious_ = P_ > 0 && undone_ > 0 ? suspicious_ + h : 0.0;
  if (suspicious_ < spec_.patience * (1 - 1e-9) || !(V - V_ > round_off)) return;
  load_->drop_generic();
  in_use_ = false, dropped_ = t;
}

double KnownPart::next_look(double t) const {
  if (!adapts()) return std::numeric_limits<double>::infinity();
  const double h = load_->period(), next = h * (std::floor(t / h * (1 + 1e-12) + 1e-9) + 1);
  return next > t ? next : next + h;
}

void KnownPart::acted(double t, const Load& first, const Load& last) {
  const double half = 0.5 * (t - acted_until_);
  acted_until_ = t;
  if (!looked_) return;
  for (std::size_t b = 0; b < acted_.port.size(); ++b) acted_.port[b] += half * (first.port[b] + last.port[b]);
  acted_.efforts += half * (first.efforts + last.efforts);
}

void KnownPart::look(double t, const Bodies& bodies) {
  const double span = t - since_, part = looked_ && span > 0 ? 1 / span : 0.0;
  for (std::size_t b = 0; b < acted_.port.size(); ++b) then_.port[b] = part * acted_.port[b];
  then_.efforts = part * acted_.efforts;
  acted_.clear();
  if (load_->look({t, bodies, then_})) {
    if (changes_++ == 0) first_change_ = t;
    last_change_ = t;
  }
  looked_ = true, since_ = acted_until_ = t, next_ = next_look(t);
}

void KnownPart::state(Certificate& certificate, bool bounded, const char* unit) {
  if (!on()) return;
  if (has_generic())
    inside_ = certificate.add({"inside_the_data",
                               "leverage of the motion and of its reference against that of training: generic terms fade out "
                               "between 1 and 2",
                               "1",
                               1,
                               {}});
  if (!bounded)
    damped_ = certificate.add({"reference_velocities_are_damped",
                               "what taking known loads and friction at reference velocities adds to V_dot, sᵀ (f(ν) - f(ν_r)), "
                               "less what the law's damping takes: without a disturbance V falls where it is negative",
                               unit,
                               0,
                               {}});
}

double KnownPart::look_at_data(const LoadMotion& actual, const LoadMotion& reference, Certificate& certificate) {
  const double out = std::max(load_->leverage(actual), load_->leverage(reference));
  if (inside_ >= 0) certificate.look(inside_, actual.at.t, out);
  return out;
}

std::vector<std::string> KnownPart::notes() const {
  std::vector<std::string> out = spec_.remarks;
  if (!in_use_)
    out.push_back(
        fmt::format("t = {:g} s: V rises after feedback has undone the generic terms of the learned load for {:g} s: they "
                    "are dropped from then on",
                    dropped_, spec_.patience));
  if (changes_ > 0)
    out.push_back(
        changes_ == 1
            ? fmt::format("t = {:g} s: what acts has changed, and is learned anew", first_change_)
            : fmt::format("what acts has changed, and is learned anew: {} times, first at t = {:g} s, last at t = {:g} s",
                          changes_, first_change_, last_change_));
  return out;
}

void KnownPart::remember(Recall& memory) {
  if (!on()) return;
  load_->remember(memory);
  memory(in_use_), memory(begun_), memory(t_), memory(V_), memory(P_), memory(undone_), memory(suspicious_), memory(dropped_);
  memory(looked_), memory(next_), memory(since_), memory(acted_until_), memory(acted_), memory(then_);
  memory(changes_), memory(first_change_), memory(last_change_);
}

}  // namespace invar
