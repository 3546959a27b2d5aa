// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/run/laws.hpp"

// A law is a strict inequality for one quantity x. Two of them cannot both hold where they ask for x > a and x < b with b <= a,
// where x is the largest over a window and a joint: what is above a in a part is above a in the whole. A quantity that is a size
// is never below zero.
namespace invar {
namespace {

// The metric that is bounded, or the kind of law that measures for itself.
std::string quantity(const Law& law) {
  if (law.name == "metric") return law.field;
  for (const LawKind& kind : law_kinds())
    if (law.name == kind.name && kind.metric != nullptr) return kind.metric;
  return law.name;
}

bool is_a_size(const Law& law) {
  const std::string of = quantity(law);
  if (of == "energy_gain") return false;
  return std::any_of(law_kinds().begin(), law_kinds().end(),
                     [&](const LawKind& kind) { return of == kind.name || (kind.metric != nullptr && of == kind.metric); });
}

bool covers(const Law& whole, const Law& part) {
  return (whole.joint == -1 || whole.joint == part.joint) && whole.from <= part.from && whole.to >= part.to;
}

// The last state near two places; attitudes, which are no vectors, are left out.
bool apart(const Law& a, const Law& b) {
  const bool same = a.joint == b.joint && a.body == b.body && a.field == b.field && a.target.size() == b.target.size();
  if (!same || (a.field == "q" && a.target.size() >= 4)) return false;
  double largest = 0;
  for (std::size_t i = 0; i < a.target.size(); ++i) largest = std::max(largest, std::abs(a.target[i] - b.target[i]));
  return largest >= a.bound + b.bound;
}

}  // namespace

std::string contradiction(const Law& law) {
  if (law.sense != Law::Sense::Below || law.bound > 0 || !is_a_size(law)) return {};
  return fmt::format("{} is never below zero, so that it cannot be below {:g}", quantity(law), law.bound);
}

std::string contradiction(const Law& a, const Law& b) {
  if (quantity(a) != quantity(b) || a.scale != b.scale) return {};
  if (a.name == "final")
    return apart(a, b) ? "the last state cannot be near two places that are further apart than both bounds together" : "";
  if (a.sense == b.sense) return {};
  const Law& above = a.sense == Law::Sense::Above ? a : b;
  const Law& below = a.sense == Law::Sense::Above ? b : a;
  if (below.bound > above.bound || !covers(below, above)) return {};
  return fmt::format("{} cannot be above {:g} and below {:g}", quantity(a), above.bound, below.bound);
}

}  // namespace invar
