// SPDX-License-Identifier: Apache-2.0
#include "invar/control/actuator.hpp"

#include <fmt/format.h>

#include <cmath>

#include "invar/geom/rotation.hpp"

namespace invar {
namespace {

// What the numbers of an actuator say that none can do, or an empty string.
std::string flaw(const ActuatorSpec& a) {
  if (!(a.lower <= a.upper)) return "its 'limits' are a lower one and an upper one that is not below it";
  if (a.kind == ActuatorSpec::Kind::Thruster && a.lower < 0)
    return "a thruster only pushes: the lower of its 'limits' is 0; a force goes either way";
  if (!(a.rate > 0)) return "its 'rate' must be positive, per s";
  if (!(a.lag >= 0) || !std::isfinite(a.lag)) return "its 'lag' is a time, s, or 0";
  if (!(a.weight > 0) || !std::isfinite(a.weight)) return "its 'weight' must be positive";
  const Mounting& m = a.mounted;
  if (!std::isfinite(m.gain) || !m.turn.allFinite() || !m.shift.allFinite()) return "a number of 'mounted' is not finite";
  const bool at_frame = a.kind == ActuatorSpec::Kind::Force || a.kind == ActuatorSpec::Kind::Thruster;
  if (!at_frame && (!m.turn.isZero(0) || !m.shift.isZero(0)))
    return "it may be 'mounted' with another 'gain' only: 'turn' and 'shift' are for forces and thrusters at frames";
  if (a.axes == Axes::World && !m.turn.isZero(0))
    return "a force along World axes does not turn with how it is 'mounted': take the axes of its frame";
  return {};
}

}  // namespace

std::string name_of(const ActuatorSpec& a) {
  if (!a.name.empty()) return a.name;
  if (!a.joint.empty()) return a.freedom > 0 ? fmt::format("{}.{}", a.joint, a.freedom) : a.joint;
  if (!a.frame.empty()) return a.frame;
  std::string ends;
  for (const PointSpec& p : a.points) ends += (ends.empty() ? "" : "-") + (p.frame.empty() ? p.body : p.frame);
  return ends;
}

Actuator::Actuator(const ActuatorSpec& spec, bool mounted) : spec_(spec), mounting_(mounted ? spec.mounted : Mounting{}) {
  spec_.name = name_of(spec);
  if (spec.kind == ActuatorSpec::Kind::Thruster && std::isinf(spec.lower)) spec_.lower = 0;
}

Result<Actuator> Actuator::build(const Model& model, const ActuatorSpec& spec, bool mounted) {
  Actuator a(spec, mounted);
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorKind::Scenario, fmt::format("actuator '{}': {}", a.name(), why));
  };
  if (const std::string why = flaw(a.spec_); !why.empty()) return refuse(why);
  Result<void> placed;
  switch (spec.kind) {
    case ActuatorSpec::Kind::Motor: placed = a.on_joint(model); break;
    case ActuatorSpec::Kind::Cylinder: placed = spec.points.empty() ? a.on_joint(model) : a.on_line(model); break;
    case ActuatorSpec::Kind::Force:
    case ActuatorSpec::Kind::Thruster: placed = a.at_frame(model); break;
  }
  if (!placed) return refuse(placed.error().what);
  return a;
}

Result<void> Actuator::on_joint(const Model& model) {
  const auto found = model.find_joint(spec_.joint);
  if (!found) return fail(ErrorKind::Scenario, there_is_no("joint", spec_.joint, names_of(model.joints())));
  const Joint& joint = model.joints()[static_cast<std::size_t>(*found)];
  if (spec_.freedom < 0 || spec_.freedom >= joint.nv)
    return fail(ErrorKind::Scenario,
                fmt::format("joint '{}' has {} freedoms, so no freedom {}", joint.name, joint.nv, spec_.freedom));
  if (spec_.kind == ActuatorSpec::Kind::Cylinder && !joint.facts->is_slide())
    return fail(ErrorKind::Scenario, fmt::format("joint '{}' is {}; a cylinder pushes along a prismatic one or between two "
                                                 "'points', and a motor acts on any other",
                                                 joint.name, invar::name(joint.kind)));
  freedom_ = joint.v0 + spec_.freedom;
  if (joint.turns(spec_.freedom)) unit_ = "N m";
  return {};
}

Result<void> Actuator::on_line(const Model& model) {
  if (spec_.points.size() != 2 || !spec_.joint.empty())
    return fail(ErrorKind::Scenario, "a cylinder has a 'joint' or two 'points' to push between");
  for (std::size_t k = 0; k < 2; ++k) {
    const PointSpec& point = spec_.points[k];
    if (!point.p.allFinite()) return fail(ErrorKind::Scenario, "a coordinate of its 'points' is not finite");
    Point& end = ends_[k];
    end.p = point.p;
    if (point.frame.empty()) {
      const auto body = model.find_body(point.body);
      if (!body) return fail(ErrorKind::Scenario, there_is_no("body", point.body, names_of(model.bodies())));
      end.body = *body;
    } else {
      const auto found = model.find_frame(point.frame);
      if (!found) return fail(ErrorKind::Scenario, there_is_no("frame", point.frame, names_of(model.frames())));
      const Frame& frame = model.frames()[static_cast<std::size_t>(*found)];
      end.body = frame.body;
      end.p = frame.X_BE * point.p;
    }
    if (end.body != kWorld) end.p -= model.bodies()[static_cast<std::size_t>(end.body)].inertia.p_BC;
  }
  if (ends_[0].body == ends_[1].body)
    return fail(ErrorKind::Scenario,
                fmt::format("both of its 'points' lie on '{}': it moves nothing", model.body_name(ends_[0].body)));
  return {};
}

Result<void> Actuator::at_frame(const Model& model) {
  const auto found = model.find_frame(spec_.frame);
  if (!found) return fail(ErrorKind::Scenario, there_is_no("frame", spec_.frame, names_of(model.frames())));
  const Frame& frame = model.frames()[static_cast<std::size_t>(*found)];
  if (frame.body == kWorld)
    return fail(ErrorKind::Scenario, fmt::format("frame '{}' is fixed to the ground, where a force moves nothing", frame.name));
  const double length = spec_.direction.norm();
  if (!(length > 0) || !std::isfinite(length)) return fail(ErrorKind::Scenario, "its 'direction' is no direction");
  direction_ = spec_.direction / length;
  if (spec_.axes == Axes::Local) direction_ = frame.X_BE.q * (exp_so3(mounting_.turn) * direction_);
  ends_[1] = {frame.body, frame.X_BE * mounting_.shift - model.bodies()[static_cast<std::size_t>(frame.body)].inertia.p_BC};
  return {};
}

int Actuator::push(const Bodies& bodies, double input, BodyWrench (&out)[2]) const {
  if (freedom_ >= 0) return 0;
  const BodyState& to = body_state(bodies, ends_[1].body);
  const Vec3 arm_to = to.q_WB * ends_[1].p;
  if (!direction_.isZero(0)) {
    const Vec3 force = input * (spec_.axes == Axes::Local ? Vec3(to.q_WB * direction_) : direction_);
    out[0] = {ends_[1].body, {arm_to.cross(force), force}};
    return 1;
  }
  const BodyState& from = body_state(bodies, ends_[0].body);
  const Vec3 arm_from = from.q_WB * ends_[0].p;
  const Vec3 span = (to.p_WC - from.p_WC) + (arm_to - arm_from);
  const double length = span.norm();
  if (!(length > 0)) return 0;
  const Vec3 force = (input / length) * span;
  int n = 0;
  if (ends_[1].body != kWorld) out[n++] = {ends_[1].body, {arm_to.cross(force), force}};
  if (ends_[0].body != kWorld) out[n++] = {ends_[0].body, {-arm_from.cross(force), -force}};
  return n;
}

void Actuator::add(const Bodies& bodies, double told, Load& load) const {
  const double input = mounting_.gain * told;
  if (freedom_ >= 0) load.efforts[freedom_] += input;
  BodyWrench on[2];
  for (int k = 0, n = push(bodies, input, on); k < n; ++k) load.port[static_cast<std::size_t>(on[k].body)] += on[k].wrench;
}

Result<std::vector<Actuator>> build_actuators(const Model& model, const std::vector<ActuatorSpec>& specs, bool mounted) {
  std::vector<Actuator> out;
  for (const ActuatorSpec& spec : specs) {
    auto made = Actuator::build(model, spec, mounted);
    if (!made) return tl::unexpected(made.error());
    for (const Actuator& before : out)
      if (before.name() == made->name())
        return fail(ErrorKind::Scenario, fmt::format("actuator '{}': two have this 'name'", made->name()));
    out.push_back(std::move(*made));
  }
  return out;
}

}  // namespace invar
