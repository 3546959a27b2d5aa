// SPDX-License-Identifier: Apache-2.0
#include "invar/control/strip_drag.hpp"

#include <fmt/format.h>

#include <cmath>

#include "invar/mech/over_step.hpp"

namespace invar {
namespace {

// The axis of the first capsule or cylinder that a body is drawn with.
std::optional<std::pair<Vec3, Vec3>> drawn_axis(const Body& body) {
  for (const ShapeSpec& shape : body.shapes) {
    if (shape.kind != ShapeSpec::Kind::Capsule && shape.kind != ShapeSpec::Kind::Cylinder) continue;
    const Vec3 half = shape.at.q * Vec3(0.5 * shape.length * Vec3::Unit(shape.axis));
    return std::pair(Vec3(shape.at.p - half), Vec3(shape.at.p + half));
  }
  return {};
}

}  // namespace

Result<StripDrag> StripDrag::build(const Model& model, const StripDragSpec& spec, std::shared_ptr<const Flow> flow) {
  const auto found = model.find_body(spec.body);
  if (!found || *found == kWorld)
    return fail(ErrorKind::Scenario,
                fmt::format("there is no body '{}'{}", spec.body, did_you_mean(spec.body, names_of(model.bodies()))));
  for (const auto& [key, x] : {std::pair{"across", spec.across}, {"along", spec.along}, {"linear", spec.linear}})
    if (!(x >= 0) || !std::isfinite(x))
      return fail(ErrorKind::Scenario, fmt::format("'{}' of a drag is finite and not negative: drag gives no energy", key));
  const Body& body = model.bodies()[static_cast<std::size_t>(*found)];
  const auto axis = spec.axis ? spec.axis : drawn_axis(body);
  if (!axis)
    return fail(ErrorKind::Scenario,
                fmt::format("body '{}' has no capsule or cylinder: say 'from' and 'to', the ends of its axis", spec.body));
  if (!((axis->second - axis->first).norm() > 0) || !axis->first.allFinite() || !axis->second.allFinite())
    return fail(ErrorKind::Scenario,
                fmt::format("the axis of body '{}' has no length: 'from' and 'to' are two points", spec.body));
  StripDrag out(spec);
  out.flow_ = std::move(flow);
  out.body_ = static_cast<std::size_t>(*found);
  out.from_ = axis->first - body.inertia.p_BC, out.way_ = axis->second - axis->first;
  return out;
}

void StripDrag::add(Instant at, const Bodies& bodies, Load& load) const {
  const BodyState& body = bodies[body_];
  const Vec3 flow = flow_ ? flow_->velocity(at) : Vec3::Zero();
  const double length = way_.norm();
  const Vec3 axis = body.q_WB * (way_ / length);
  for (std::size_t i = 0; i < static_cast<std::size_t>(kPoints); ++i) {
    const Vec3 arm = mean_arm(body.q_WB * (from_ + rule_.point[i] * way_), body.w_WB, at.span);
    const Vec3 u = body.v_WC + body.w_WB.cross(arm) - flow;
    const double ahead = axis.dot(u);
    const Vec3 aside = u - ahead * axis;
    const Vec3 per_length =
        -(spec_.across * aside.norm()) * aside - (spec_.along * std::abs(ahead) * ahead) * axis - spec_.linear * u;
    const Vec3 force = (rule_.weight[i] * length) * per_length;
    load.port[body_] += Wrench{arm.cross(force), force};
  }
}

std::optional<std::shared_ptr<const Environment>> StripDrag::bound_to(const Model& model) const {
  auto bound = build(model, spec_, flow_);
  return bound ? std::make_shared<const StripDrag>(std::move(*bound)) : nullptr;
}

}  // namespace invar
