// SPDX-License-Identifier: Apache-2.0
#include "invar/model/model_check.hpp"

#include <cmath>

#include "invar/model/joint/table.hpp"

namespace invar {

std::string suggestion(std::string_view word, const Index& names) {
  std::vector<std::string> all;
  for (const auto& [name, index] : names) all.push_back(name);
  return did_you_mean(word, all);
}

bool is_pose(const Pose& pose) {
  return pose.p.allFinite() && std::abs(pose.q.squaredNorm() - 1) <= 2e-6;  // false for NaN as well
}

namespace {

bool drawable(const ShapeSpec& shape) {
  const bool numbers = std::isfinite(shape.radius) && std::isfinite(shape.length) && shape.size.allFinite() && is_pose(shape.at);
  return numbers && shape.radius >= 0 && shape.length >= 0 && shape.size.minCoeff() >= 0 && shape.axis >= 0 && shape.axis < 3;
}

}  // namespace

std::string flaw(const std::vector<ShapeSpec>& shapes) {
  return std::all_of(shapes.begin(), shapes.end(), drawable) ? "" : "a shape has a size that is negative or not finite";
}

namespace {

/// A list with one number per freedom, or an empty one.
Flaw check_list(const JointSpec& j, const char* field, const char* what, const std::vector<double>& values, bool negative) {
  const int n = freedoms(j.kind);
  const bool any = !values.empty();
  if (any && n == 0) return error_at(j.where, field, "{} joint '{}' has no freedom, so it has no {}", name(j.kind), j.name, what);
  if (any && static_cast<int>(values.size()) != n)
    return error_at(j.where, field, "joint '{}': {} has {} {}, expected {}, one per freedom of a {} joint ({})", j.name, what,
                    values.size(), values.size() == 1 ? "number" : "numbers", n, name(j.kind),
                    kind_facts(j.kind).order_of_freedoms());
  for (const double x : values) {
    if (!std::isfinite(x)) return error_at(j.where, field, "joint '{}': {} is not a finite number", j.name, what);
    if (x < 0 && !negative) return error_at(j.where, field, "joint '{}': {} is {}; it cannot be negative", j.name, what, x);
  }
  return {};
}

Flaw check_spring(const JointSpec& j) {
  if (const Flaw f = check_list(j, "spring.stiffness", "spring stiffness", j.spring.stiffness, true)) return f;
  if (const Flaw f = check_list(j, "spring.rest", "spring rest position", j.spring.rest, true)) return f;
  if (j.spring.stiffness.empty() && !j.spring.rest.empty())
    return error_at(j.where, "spring", "the spring of joint '{}' has a rest position but no stiffness", j.name);
  return {};
}

Flaw check_limits(const JointSpec& j) {
  const LimitSpec& l = j.limits;
  const bool any = !l.lower.empty() || !l.upper.empty();
  if (any && kind_facts(j.kind).ball() >= 0)
    return error_at(j.where, "limits", "{} joint '{}' cannot have limits; hold it by a spring instead", name(j.kind), j.name);
  // An infinite limit is no limit; only NaN is wrong here.
  std::vector<double> lower = l.lower, upper = l.upper;
  for (double& x : lower) x = x == -std::numeric_limits<double>::infinity() ? 0.0 : x;
  for (double& x : upper) x = x == std::numeric_limits<double>::infinity() ? 0.0 : x;
  if (const Flaw f = check_list(j, "limits.lower", "lower limit", lower, true)) return f;
  if (const Flaw f = check_list(j, "limits.upper", "upper limit", upper, true)) return f;
  for (std::size_t k = 0; k < l.lower.size() && k < l.upper.size(); ++k)
    if (l.lower[k] > l.upper[k])
      return error_at(j.where, "limits", "joint '{}': lower limit {} is above upper limit {}; swap them?", j.name, l.lower[k],
                      l.upper[k]);
  for (const double x : {l.stiffness, l.damping})
    if (!std::isfinite(x) || x < 0)
      return error_at(j.where, "limits", "joint '{}': stiffness and damping of its stops must be finite and not negative",
                      j.name);
  return {};
}

Flaw check_geometry(const JointSpec& j) {
  if (!is_pose(j.at_parent))
    return error_at(j.where, "at_parent", "joint '{}': at_parent is not a pose (finite position, unit quaternion)", j.name);
  if (!is_pose(j.at_child))
    return error_at(j.where, "at_child", "joint '{}': at_child is not a pose (finite position, unit quaternion)", j.name);
  if (!j.axis.allFinite()) return error_at(j.where, "axis", "joint '{}': axis is not finite", j.name);
  if (!j.axis2.allFinite()) return error_at(j.where, "axis2", "joint '{}': axis2 is not finite", j.name);
  if (!j.axis2.isZero(0) && kind_facts(j.kind).axes() < 2)
    return error_at(j.where, "axis2", "{} joint '{}' has no second axis; axis2 is for universal joints", name(j.kind), j.name);
  if (!std::isfinite(j.pitch)) return error_at(j.where, "pitch", "joint '{}': pitch is not finite", j.name);
  if (j.pitch != 0 && !takes_pitch(j.kind))
    return error_at(j.where, "pitch", "{} joint '{}' has no pitch; did you mean kind = \"screw\"?", name(j.kind), j.name);
  if (j.pitch == 0 && takes_pitch(j.kind))
    return error_at(j.where, "pitch", "screw joint '{}' needs a pitch (m/rad); without advance it is a revolute joint", j.name);
  return {};
}

}  // namespace

Flaw check_body(const BodySpec& body) {
  const std::string wrong = flaw(body.inertia);
  if (!wrong.empty()) {
    const Inertia& i = body.inertia;
    const char* field = !std::isfinite(i.mass) || i.mass < 0 ? "mass" : (i.p_BC.allFinite() ? "inertia" : "com");
    const bool triangle = wrong.find("triangle") != std::string::npos;
    const char* advice =
        i.mass < 0 ? "; masses are zero or positive" : (triangle ? "; each moment is at most the sum of the other two" : "");
    return error_at(body.where, field, "body '{}': {}{}", body.name, wrong, advice);
  }
  if (const std::string ugly = flaw(body.shapes); !ugly.empty())
    return error_at(body.where, body.where.fields.count("shape") ? "shape" : "shapes", "body '{}': {}", body.name, ugly);
  return {};
}

Flaw check_payloads(const ModelSpec& spec, const Index& bodies) {
  for (const PayloadSpec& p : spec.payloads) {
    if (p.name.empty()) return error_at(p.where, "name", "what is attached to body '{}' has no name", p.body);
    const auto body = body_named(p.body, bodies, fmt::format("payload '{}'", p.name), p.where, "body");
    if (!body) return body.error();
    if (*body == kWorld)
      return error_at(p.where, "body", "payload '{}' is attached to the ground, where it moves nothing", p.name);
    if (const std::string wrong = flaw(p.inertia); !wrong.empty())
      return error_at(p.where, "mass", "payload '{}': {}", p.name, wrong);
    if (const std::string ugly = flaw(p.shapes); !ugly.empty())
      return error_at(p.where, p.where.fields.count("shape") ? "shape" : "shapes", "payload '{}': {}", p.name, ugly);
    for (const PayloadSpec& other : spec.payloads)
      if (&other != &p && other.name == p.name)
        return error_at(p.where, "name", "payload name '{}' is used twice; give each its own", p.name);
  }
  return {};
}

// Payloads are taken by name, the least first; there are few of them.
Inertia whole_inertia(const ModelSpec& spec, std::size_t body) {
  Inertia sum = spec.bodies[body].inertia;
  sum.I_C = 0.5 * (sum.I_C + sum.I_C.transpose()).eval();  // to the last bit
  const PayloadSpec* last = nullptr;
  for (;;) {
    const PayloadSpec* next = nullptr;
    for (const PayloadSpec& p : spec.payloads)
      if (p.body == spec.bodies[body].name && (!last || last->name < p.name) && (!next || p.name < next->name)) next = &p;
    if (!next) return sum;
    Inertia added = next->inertia;
    added.I_C = 0.5 * (added.I_C + added.I_C.transpose()).eval();
    sum = together(sum, added);
    last = next;
  }
}

Flaw check_joint(const JointSpec& j) {
  if (const Flaw f = check_geometry(j)) return f;
  if (const Flaw f = check_spring(j)) return f;
  if (const Flaw f = check_limits(j)) return f;
  if (const Flaw f = check_list(j, "damping", "damping", j.damping, false)) return f;
  if (const Flaw f = check_list(j, "friction", "friction", j.friction, false)) return f;
  if (!j.armature.empty() && kind_facts(j.kind).is_free())
    return error_at(j.where, "armature", "free joint '{}' cannot have armature; add to the mass and inertia of '{}' instead",
                    j.name, j.child);
  if (const Flaw f = check_list(j, "armature", "armature", j.armature, false)) return f;
  if (!(j.friction_velocity > 0) || !std::isfinite(j.friction_velocity))
    return error_at(j.where, "friction_velocity", "joint '{}': friction_velocity must be positive and finite", j.name);
  return {};
}

}  // namespace invar
