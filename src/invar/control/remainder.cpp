// SPDX-License-Identifier: Apache-2.0
#include "invar/control/remainder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "invar/base/largest.hpp"

namespace invar {

void Remainder::state(Certificate& certificate) {
  if (!bound_.known()) return;
  const std::string from = bound_.runs > 0 ? fmt::format(", from {} runs of its family", bound_.runs) : std::string();
  const std::string sure = bound_.confidence > 0 ? fmt::format(" with confidence {:g}", bound_.confidence) : std::string();
  within_ =
      certificate.add({"remainder_within_bound",
                       fmt::format("|e|_A of the remainder e = M(ν' - ν_r') + C s + K_d s, {:g} s after the start", bound_.after),
                       "N/sqrt(kg)",
                       bound_.most,
                       {}});
  certificate.findings.push_back({"remainder_bound", bound_.most, "N/sqrt(kg)", "told before the run" + from + sure});
  if (!(rate_ > 0)) return;
  ultimate_ = certificate.add({"ultimate_bound",
                               "|s|_M, less what is left by then of what it had beyond the bound when settling was over",
                               "m/s sqrt(kg)",
                               bound_.most / rate_,
                               {}});
  certificate.findings.push_back(
      {"ultimate_bound", bound_.most / rate_, "m/s sqrt(kg)",
       fmt::format("stated before the run{}: the bound on the remainder over the rate of {:g} 1/s", sure, rate_)});
}

void Remainder::look(double t, double e, double s, Certificate& certificate) {
  if (std::isnan(begin_)) begin_ = t;
  if (t < begin_ + bound_.after) return;
  if (std::isnan(settled_)) settled_ = t, score_ = 0, excess_ = ultimate_ >= 0 ? std::max(0.0, s - bound_.most / rate_) : 0.0;
  keep_largest(score_, e);
  if (within_ >= 0) certificate.look(within_, t, e);
  if (ultimate_ >= 0) certificate.look(ultimate_, t, s - excess_ * std::exp(-rate_ * (t - settled_)), -1, round_off(s));
}

}  // namespace invar
