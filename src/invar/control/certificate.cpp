// SPDX-License-Identifier: Apache-2.0
#include "invar/control/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "invar/base/largest.hpp"

namespace invar {

void Certificate::look(int clause, double t, double value, int subject, double round_off) {
  Clause& c = clauses_[static_cast<std::size_t>(clause)];
  ++c.looks;
  if (!std::isnan(c.worst) && !(value <= c.worst))
    c.worst = value, c.worst_at = t, c.worst_subject = subject, c.worst_round_off = round_off;
  if (!(value <= c.allowed + round_off) && std::isnan(c.first))
    c.first = t, c.first_value = value, c.first_subject = subject, c.first_round_off = round_off;
}

bool Certificate::held() const {
  return std::all_of(clauses_.begin(), clauses_.end(), [](const Clause& c) { return c.held(); });
}

std::string Clause::text() const {
  const std::string u = unit == "1" ? "" : " " + unit;
  const auto by = [&](int subject) {
    return subject < 0 || subject >= static_cast<int>(subjects.size())
               ? std::string()
               : fmt::format(" by '{}'", subjects[static_cast<std::size_t>(subject)]);
  };
  const auto limit = [&](double round_off) {
    return round_off > 0 ? fmt::format("allowed {:.3g}, round-off {:.1g}", allowed, round_off)
                         : fmt::format("allowed {:.3g}", allowed);
  };
  if (looks == 0) return "never looked at";
  if (held()) return fmt::format("held: at most {:.3g}{} ({})", worst, u, limit(worst_round_off));
  return fmt::format("violated first at {:g} s{}: {:.3g}{} ({}); worst {:.3g}{} at {:g} s{}", first, by(first_subject),
                     first_value, u, limit(first_round_off), worst, u, worst_at, by(worst_subject));
}

void Tracking::look(double t, double error) {
  if (std::isnan(from))
    from = t;
  else
    squares += 0.5 * (last * last + error * error) * (t - until);
  until = t;
  last = error;
  keep_largest(largest, std::abs(error));
}

}  // namespace invar
