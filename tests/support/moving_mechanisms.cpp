// SPDX-License-Identifier: Apache-2.0
#include "support/moving_mechanisms.hpp"

#include "invar/base/check.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

BodySpec link(const std::string& name, double mass) {
  BodySpec body;
  body.name = name;
  body.inertia.mass = mass;
  body.inertia.p_BC = Vec3(0.2, 0.01, -0.02);
  body.inertia.I_C << 0.004, 0.0005, -0.0003, 0.0005, 0.02, 0.0004, -0.0003, 0.0004, 0.021;
  body.inertia.I_C *= mass;
  return body;
}

JointSpec joint(const std::string& name, JointKind kind, const std::string& parent, const std::string& child, const Vec3& at) {
  JointSpec out;
  out.name = name, out.kind = kind, out.parent = parent, out.child = child;
  out.at_parent.p = at;
  out.axis = Vec3::UnitY();
  return out;
}

TendonSpec spring(const std::string& name, const std::vector<PointSpec>& points, double stiffness, double length) {
  TendonSpec out;
  out.name = name, out.points = points, out.stiffness = stiffness, out.length = length;
  return out;
}

Moving moving(const std::string& name, const ModelSpec& spec, const Model& model, const JointState& joints,
              const Bodies& bodies) {
  auto consistent = make_consistent(model, bodies.empty() ? place(model, joints) : bodies);
  INVAR_CHECK(consistent.has_value(), "the mechanism can be assembled");
  return {name, spec, model, std::move(*consistent)};
}

Model built(const ModelSpec& spec) {
  auto model = Model::build(spec);
  INVAR_CHECK(model.has_value(), "the mechanism is one");
  return std::move(*model);
}

}  // namespace

Moving spring_chain() {
  ModelSpec spec;
  spec.bodies = {link("a", 1.0), link("b", 0.7), link("c", 0.5)};
  const Vec3 end(0.4, 0, 0);
  spec.joints = {joint("ball", JointKind::Spherical, "world", "a", Vec3::Zero()),
                 joint("cross", JointKind::Universal, "a", "b", end), joint("hinge", JointKind::Revolute, "b", "c", end)};
  spec.tendons = {
      spring("to_ground", {{"world", "", Vec3(0.3, 0.2, 0.5)}, {"a", "", Vec3(0.4, 0.05, 0)}}, 40, 0.3),
      spring("between", {{"a", "", Vec3(0.1, 0.1, 0.05)}, {"b", "", Vec3(0.3, 0.1, -0.05)}}, 30, 0.35),
      spring("over_two", {{"a", "", Vec3(0.2, -0.1, 0)}, {"b", "", Vec3(0.2, -0.1, 0)}, {"c", "", Vec3(0.3, -0.1, 0)}}, 20, 0.5)};
  const Model model = built(spec);
  JointState joints = JointState::initial(model);
  joints.v << 0.8, -0.6, 1.1, 0.5, -1.3, 0.9;
  return moving("spring chain", spec, model, joints, {});
}

Moving heavy_top() {
  ModelSpec spec;
  BodySpec top;
  top.name = "top";
  top.inertia.mass = 1;
  top.inertia.p_BC = Vec3(0, 0, 0.2);
  top.inertia.I_C = Vec3(0.004, 0.004, 0.006).asDiagonal();
  spec.bodies = {top};
  spec.joints = {joint("tip", JointKind::Spherical, "world", "top", Vec3::Zero())};
  const Model model = built(spec);
  JointState joints = JointState::initial(model);
  const Quat tilted = from_zyx({0, 0.6, 0.2});
  joints.q << tilted.w(), tilted.x(), tilted.y(), tilted.z();
  joints.v << 0.3, -0.5, 20;
  return moving("heavy top", spec, model, joints, {});
}

Moving free_chain() {
  ModelSpec spec;
  spec.gravity.setZero();
  spec.bodies = {link("a", 1.0), link("b", 0.7), link("c", 0.5), link("d", 0.8)};
  const Vec3 end(0.4, 0, 0);
  spec.joints = {joint("ball", JointKind::Spherical, "a", "b", end), joint("cross", JointKind::Universal, "b", "c", end),
                 joint("hinge", JointKind::Revolute, "c", "d", end)};
  spec.tendons = {
      spring("first", {{"a", "", Vec3(0.1, 0.1, 0.05)}, {"b", "", Vec3(0.3, 0.1, -0.05)}}, 30, 0.35),
      spring("over_two", {{"b", "", Vec3(0.2, -0.1, 0)}, {"c", "", Vec3(0.2, -0.1, 0)}, {"d", "", Vec3(0.3, -0.1, 0)}}, 20, 0.5)};
  const Model model = built(spec);
  Bodies bodies = place(model, JointState::initial(model));
  // The root moves; the others are given velocities that their joints allow by make_consistent.
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const double i = static_cast<double>(b);
    bodies[b].v_WC = Vec3(0.3 - 0.2 * i, 0.4 * i - 0.5, 0.2);
    bodies[b].w_WB = Vec3(0.5 - i, 0.8, 1.2 - 0.7 * i);
  }
  return moving("free chain", spec, model, {}, bodies);
}

Moving shipped(const std::string& name, const std::vector<double>& rates) {
  const ModelSpec spec = *read_model_file(source_path("models/") + name + ".toml");
  const Model model = built(spec);
  JointState joints = JointState::initial(model);
  for (std::size_t k = 0; k < rates.size(); ++k) joints.v[static_cast<Eigen::Index>(k)] = rates[k];
  return moving(name, spec, model, joints, {});
}

}  // namespace invar::testing
