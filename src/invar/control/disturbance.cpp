// SPDX-License-Identifier: Apache-2.0
#include "invar/control/disturbance.hpp"

#include <fmt/format.h>

#include "invar/model/model.hpp"

namespace invar {

Result<Disturbance> Disturbance::build(const Model& model, const DisturbanceSpec& spec) {
  if (spec.body.empty() == spec.frame.empty())
    return fail(ErrorKind::Scenario, "a disturbance acts on a body or at a frame: name one of the two");
  if (!spec.force.allFinite() || !spec.moment.allFinite())
    return fail(ErrorKind::Scenario, "force and moment of a disturbance must be finite");
  if (const std::string why = flaw(spec.signal); !why.empty()) return fail(ErrorKind::Scenario, why);

  // Where it acts: the centre of mass with the axes of the body, or the origin of the frame with its axes.
  Disturbance d;
  int body = kWorld;
  if (!spec.body.empty()) {
    const std::optional<int> found = model.find_body(spec.body);
    if (!found) return fail(ErrorKind::Scenario, there_is_no("body", spec.body, names_of(model.bodies())));
    body = *found;
  } else {
    const std::optional<int> found = model.find_frame(spec.frame);
    if (!found) return fail(ErrorKind::Scenario, there_is_no("frame", spec.frame, names_of(model.frames())));
    const Frame& frame = model.frames()[static_cast<std::size_t>(*found)];
    body = frame.body;
    d.q_BE_ = frame.X_BE.q;
    d.p_CE_B_ = frame.X_BE.p;
  }
  if (body == kWorld)
    return fail(ErrorKind::Scenario, "a disturbance on the ground moves nothing: name a body or a frame on one");
  d.body_ = static_cast<std::size_t>(body);
  if (!spec.frame.empty()) d.p_CE_B_ -= model.bodies()[d.body_].inertia.p_BC;

  d.spec_ = spec;
  d.axes_ = spec.axes;
  d.unit_ = Wrench{spec.moment, spec.force};
  d.signal_ = spec.signal;
  return d;
}

void Disturbance::add(Instant at, const Bodies& bodies, Load& load) const {
  const Quat& q_WB = bodies[body_].q_WB;
  Wrench F_E_W = value(signal_, at) * unit_;
  if (axes_ == Axes::Local) {
    const Quat q_WE = q_WB * q_BE_;
    F_E_W = {q_WE * F_E_W.moment, q_WE * F_E_W.force};
  }
  load.port[body_] += F_E_W.about(q_WB * p_CE_B_);
}

Result<EffortSignal> EffortSignal::build(const Model& model, const EffortSpec& spec) {
  const std::optional<int> found = model.find_joint(spec.joint);
  if (!found) return fail(ErrorKind::Scenario, there_is_no("joint", spec.joint, names_of(model.joints())));
  const Joint& joint = model.joints()[static_cast<std::size_t>(*found)];
  if (spec.freedom < 0 || spec.freedom >= joint.nv)
    return fail(ErrorKind::Scenario,
                fmt::format("joint '{}' has {} freedoms, so no freedom {}", joint.name, joint.nv, spec.freedom));
  if (const std::string why = flaw(spec.signal); !why.empty()) return fail(ErrorKind::Scenario, why);

  EffortSignal e;
  e.spec_ = spec;
  e.freedom_ = joint.v0 + spec.freedom;
  e.signal_ = spec.signal;
  return e;
}

std::optional<std::shared_ptr<const Environment>> Disturbance::bound_to(const Model& model) const {
  auto bound = build(model, spec_);
  return bound ? std::make_shared<const Disturbance>(std::move(*bound)) : nullptr;
}

std::optional<std::shared_ptr<const Environment>> EffortSignal::bound_to(const Model& model) const {
  auto bound = build(model, spec_);
  return bound ? std::make_shared<const EffortSignal>(std::move(*bound)) : nullptr;
}

void EffortSignal::add(Instant at, const Bodies&, Load& load) const { load.efforts[freedom_] += value(signal_, at); }

}  // namespace invar
