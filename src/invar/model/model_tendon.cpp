// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "invar/model/model_check.hpp"

namespace invar {
namespace {

Result<Tendon::Point> make_point(const TendonSpec& t, std::size_t k, const Index& bodies, const Index& names,
                                 const std::vector<Frame>& frames) {
  const PointSpec& point = t.points[k];
  const std::string who = fmt::format("tendon '{}', point {}", t.name, k + 1);
  if (!point.p.allFinite()) return tl::unexpected(error_at(t.where, "points", "{}: a coordinate is not finite", who));
  if (point.frame.empty()) {
    const auto body = body_named(point.body, bodies, who, t.where, "points");
    if (!body) return tl::unexpected(body.error());
    return Tendon::Point{*body, point.p};
  }
  const auto it = names.find(point.frame);
  if (it == names.end())
    return tl::unexpected(error_at(t.where, "points", "{} names frame '{}', which does not exist{}", who, point.frame,
                                   suggestion(point.frame, names)));
  const Frame& frame = frames[static_cast<std::size_t>(it->second)];
  return Tendon::Point{frame.body, frame.X_BE * point.p};
}

/// Numbers that make no tendon.
Flaw check_numbers(const TendonSpec& t) {
  const auto refuse = [&](const char* field, const char* why) {
    return error_at(t.where, field, "tendon '{}': {}", t.name, why);
  };
  if (!(t.stiffness >= 0) || !std::isfinite(t.stiffness)) return refuse("stiffness", "stiffness must not be negative");
  if (!(t.damping >= 0) || !std::isfinite(t.damping)) return refuse("damping", "damping must not be negative");
  if (!(t.length >= 0) || !std::isfinite(t.length)) return refuse("length", "length must not be negative");
  if (!std::isfinite(t.pretension)) return refuse("pretension", "pretension is not finite");
  if (t.stiffness == 0 && t.damping == 0) return refuse("", "neither stiffness nor damping is given");
  if (t.pretension != 0 && t.stiffness == 0) return refuse("pretension", "pretension needs a stiffness");
  if (t.points.size() < 2) return refuse("points", "at least two points are needed");
  return {};
}

}  // namespace

Result<Tendon> make_tendon(const TendonSpec& t, const Index& bodies, const Index& names, const std::vector<Frame>& frames) {
  if (const Flaw flaw = check_numbers(t)) return tl::unexpected(*flaw);
  Tendon out{t.name, {}, t.stiffness, t.damping, t.length, t.tension_only};
  if (t.stiffness > 0) out.rest -= t.pretension / t.stiffness;
  bool moves = false;
  for (std::size_t k = 0; k < t.points.size(); ++k) {
    const auto point = make_point(t, k, bodies, names, frames);
    if (!point) return tl::unexpected(point.error());
    moves = moves || (k > 0 && point->body != out.points.back().body);
    out.points.push_back(*point);
  }
  if (!moves) return tl::unexpected(error_at(t.where, "points", "tendon '{}': all points lie on one body", t.name));
  return out;
}

}  // namespace invar
