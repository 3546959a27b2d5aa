// SPDX-License-Identifier: Apache-2.0
#include "invar/control/known_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

void KnownPart::state(Certificate& certificate, bool bounded) {
  if (!on()) return;
  if (has_generic())
    inside_ = certificate.add({"inside_the_data",
                               "leverage of the motion and of its reference against that of training: generic terms fade out "
                               "between 1 and 2",
                               "1",
                               1,
                               {}});
  if (!bounded)
    helps_ = certificate.add({"reference_velocities_help",
                              "what taking known loads and friction at reference velocities adds to V_dot: sᵀ (f(ν) - f(ν_r))",
                              "W",
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
  return out;
}

}  // namespace invar
