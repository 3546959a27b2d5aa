// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/mech/gaps.hpp"
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/projection.hpp"
#include "invar/mech/unreduced.hpp"

namespace invar {

JointState JointState::initial(const Model& model) { return {model.initial_q(), VecX::Zero(model.nv()), model.initial_named()}; }

void JointState::name(const Model& model, const std::vector<bool>& named) {
  std::vector<bool> moved = named;
  for (std::size_t pass = 0; pass < model.couplings().size(); ++pass)
    for (const Coupling& c : model.couplings()) {
      if (moved[c.of] && !named[c.joint]) moved[c.joint] = true, known[c.joint] = false;
      if (moved[c.joint] && !named[c.of]) moved[c.of] = true, known[c.of] = false;
    }
  for (std::size_t j = 0; j < named.size(); ++j)
    if (named[j]) known[j] = true;
}

VecX JointState::turns(const Model& model) const {
  VecX told = VecX::Constant(model.nv(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t j = 0; j < model.joints().size(); ++j)
    for (int k = 0; k < model.joints()[j].nv; ++k)
      if (known[j] && model.joints()[j].winds(k)) told[model.joints()[j].v0 + k] = q[model.joints()[j].q0 + k];
  return told;
}

namespace {

// Pose and twist of a body frame: what is carried from body to body.
struct Moving {
  Pose X;   // in World
  Twist V;  // of the frame's origin, World components
};

// Motion of the frame E fixed at X_BE in a body that moves like `body`. The arm is not the difference of two positions in World.
Moving carried(const Moving& body, const Pose& X_BE) {
  return {body.X * X_BE, {body.V.angular, body.V.linear + body.V.angular.cross(body.X.q * X_BE.p)}};
}

// X_FM and V_FM of joint j at the given coordinates.
void across(const Model& model, int j, const JointState& joints, Pose& X_FM, Twist& V_FM) {
  const Joint& joint = model.joints()[j];
  Columns S;
  X_FM = joint.facts->pose(joints.q.data() + joint.q0);
  joint.facts->motion(joints.q.data() + joint.q0, S);
  Vec6 t = Vec6::Zero();
  for (int k = 0; k < joint.nv; ++k) t += S.col(k) * joints.v[joint.v0 + k];
  V_FM = {t.head<3>(), t.tail<3>()};
}

// The child's motion from the parent's, or the other way round.
Moving outward(const Model& model, int j, const JointState& joints, const Moving& parent) {
  const Joint& joint = model.joints()[j];
  Pose X_FM;
  Twist V_FM;
  across(model, j, joints, X_FM, V_FM);
  const Moving F = carried(parent, joint.X_PF);
  Moving M = carried(F, X_FM);
  M.V.angular += F.X.q * V_FM.angular;
  M.V.linear += F.X.q * V_FM.linear;
  return carried(M, joint.X_CM.inverse());
}

Moving inward(const Model& model, int j, const JointState& joints, const Moving& child) {
  const Joint& joint = model.joints()[j];
  Pose X_FM;
  Twist V_FM;
  across(model, j, joints, X_FM, V_FM);
  const Moving M = carried(child, joint.X_CM);
  const Quat q_WF = M.X.q * X_FM.q.conjugate();
  Moving at_M = M;  // a frame on the parent, at M's origin
  at_M.V.angular -= q_WF * V_FM.angular;
  at_M.V.linear -= q_WF * V_FM.linear;
  return carried(at_M, X_FM.inverse() * joint.X_PF.inverse());
}

// Freedoms that nobody named follow the coupling that drives them, or those that they drive; couplings in a row pass on.
JointState with_driven(const Model& model, JointState joints, const std::vector<bool>& follows) {
  std::vector<bool> told(static_cast<std::size_t>(model.nv()), false);
  for (std::size_t j = 0; j < model.joints().size(); ++j)
    for (int k = 0; k < model.joints()[j].nv; ++k) {
      const int i = model.joints()[j].v0 + k;
      told[i] = joints.known[j] && (follows.empty() || !follows[i]);
    }
  for (std::size_t pass = 0; pass < model.couplings().size(); ++pass)
    for (const Coupling& c : model.couplings()) {
      // Joints with couplings have one coordinate per freedom.
      const Joint& driven = model.joints()[c.joint];
      const Joint& of = model.joints()[c.of];
      if (told[driven.v0 + c.freedom] == told[of.v0 + c.of_freedom]) continue;
      if (told[driven.v0 + c.freedom]) {
        double& q = joints.q[of.q0 + c.of_freedom];
        const double back = driving_of(c, joints.q[driven.q0 + c.freedom], q);
        if (!std::isfinite(back)) continue;
        q = back;
        if (const double slope = driven_by(c, q).slope; slope != 0)
          joints.v[of.v0 + c.of_freedom] = joints.v[driven.v0 + c.freedom] / slope;
        told[of.v0 + c.of_freedom] = true;
        if (of.nv == 1) joints.known[c.of] = true;
        continue;
      }
      const Driven p = driven_by(c, joints.q[of.q0 + c.of_freedom]);
      joints.q[driven.q0 + c.freedom] = p.value;
      joints.v[driven.v0 + c.freedom] = p.slope * joints.v[of.v0 + c.of_freedom];
      told[driven.v0 + c.freedom] = true;
      if (driven.nv == 1) joints.known[c.joint] = true;
    }
  return joints;
}

// The largest residuals in parts of the mechanism: angles as they are, displacements over the length of their connected part, so
// that neither units nor size nor neighbours matter. What rounding of positions leaves is no residual: far away from the World
// origin it is more than near it.
ConstraintError relative_error(const Model& model, const Bodies& bodies, const VecX& wound) {
  struct Reach {
    double far = 0, fast = 0;
  };
  const Scales scales = scales_of(model);
  std::vector<Reach> reaches(scales.parts.size());
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    Reach& reach = reaches[static_cast<std::size_t>(scales.part_of_body[b])];
    const double distance = bodies[b].p_WC.norm(), arm = distance + scales.length_at(static_cast<int>(b));
    reach.far = std::max(reach.far, distance);
    reach.fast = std::max(reach.fast, bodies[b].v_WC.norm() + bodies[b].w_WB.norm() * arm);
  }
  constexpr double kRounding = 64 * 2.2e-16;
  ConstraintError out;
  const auto raise = [&](int joint, double position, double velocity) {
    if (!(position <= out.position) && !std::isnan(out.position)) out.position = position, out.joint = joint;
    if (!(velocity <= out.velocity) && !std::isnan(out.velocity)) out.velocity = velocity;
  };
  const auto less = [](double a, double b) { return std::isfinite(a) ? std::max(0.0, std::abs(a) - b) : a; };
  JointAt at;
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
    const Residual gap = joint_residual(model, j, bodies), rate = joint_residual_rate(model, j, bodies);
    joint_at(model, j, bodies, false, at);
    const int child = model.joints()[static_cast<std::size_t>(j)].child;
    const double length = scales.length_at(child);
    const auto& [far, fast] = reaches[static_cast<std::size_t>(scales.part_of_body[static_cast<std::size_t>(child)])];
    for (Eigen::Index k = 0; k < gap.size(); ++k) {
      const Vec6 row = at.C.row(k).transpose();
      const double unit = 1 / (length * row_size(row, length)), linear = row.tail<3>().norm() * unit;
      raise(j, less(unit * gap[k], kRounding * far * linear), less(unit * rate[k], kRounding * fast * linear));
    }
  }
  VecX q(model.nq()), v(model.nv());
  joint_coordinates(model, bodies, q, v);
  unwind(model, wound, q);
  for (int c = 0; c < static_cast<int>(model.couplings().size()); ++c)
    raise(-1, gap_of_coupling(model, scales, c, coupling_residual(model, c, q)),
          gap_of_coupling(model, scales, c, coupling_residual_rate(model, c, q, v)));
  return out;
}

// A body that has no joint has no residual either: numbers are looked at before residuals are.
Result<void> expect_finite(const Model& model, const Bodies& bodies) {
  for (int b = 0; b < static_cast<int>(bodies.size()); ++b) {
    const BodyState& s = bodies[b];
    if (s.p_WC.allFinite() && s.v_WC.allFinite() && s.w_WB.allFinite() && s.q_WB.coeffs().allFinite()) continue;
    return fail(ErrorKind::State, fmt::format("the state of body '{}' holds a number that is not finite", model.body_name(b)));
  }
  return {};
}

}  // namespace

Bodies place(const Model& model, const JointState& joints) { return place(model, joints, {}); }

Bodies place(const Model& model, const JointState& given, const std::vector<bool>& follows) {
  const JointState joints = with_driven(model, given, follows);
  const int n = static_cast<int>(model.bodies().size());
  std::vector<Moving> moving(n);
  std::vector<bool> placed(n, false);
  const auto is_placed = [&](int b) { return b == kWorld || placed[b]; };
  const auto motion = [&](int b) { return b == kWorld ? Moving{} : moving[b]; };

  // Grow what is placed by one joint at a time: named ones first, then others that hold something, then free ones.
  const auto rank = [&](int j) { return joints.known[j] ? 0 : (model.joints()[j].rows() > 0 ? 1 : 2); };
  for (int count = 0; count < n;) {
    int best = -1;
    for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
      const Joint& joint = model.joints()[j];
      if (is_placed(joint.parent) != is_placed(joint.child) && (best < 0 || rank(j) < rank(best))) best = j;
      if (best >= 0 && rank(best) == 0) break;
    }
    if (best < 0) {  // nothing reaches the rest: its first body floats at the origin
      int b = 0;
      while (placed[b]) ++b;
      placed[b] = true, ++count;
      continue;
    }
    const Joint& joint = model.joints()[best];
    const bool from_parent = is_placed(joint.parent);
    const int b = from_parent ? joint.child : joint.parent;
    moving[b] =
        from_parent ? outward(model, best, joints, motion(joint.parent)) : inward(model, best, joints, motion(joint.child));
    placed[b] = true, ++count;
  }

  Bodies bodies(n);
  for (int b = 0; b < n; ++b) {
    const Moving C = carried(moving[b], Pose{Quat::Identity(), model.bodies()[b].inertia.p_BC});
    bodies[b] = {C.X.p, C.V.linear, C.V.angular, C.X.q};
  }
  return bodies;
}

Result<Bodies> make_consistent(const Model& model, Bodies guess, double tolerance, const VecX& turns) {
  if (const auto finite = expect_finite(model, guess); !finite) return tl::unexpected(finite.error());
  Unreduced solver(model);
  Projection projection(model, solver);
  const VecX wound = wound_at(model, guess, turns);
  // A mechanism without inertia is refused here, whether it has gaps to close or none.
  Accelerations unused(guess.size());
  std::vector<Wrench> none(model.joints().size());
  Verdict verdict = solver.solve(guess, KktInput{.dynamics = false}, unused, none);
  // Projection goes on while residuals fall; what is left is judged in parts of each connected part.
  if (verdict.status != Status::NoInertia) verdict = projection.positions(guess, wound, tolerance, 100);
  if (verdict.ok() && !(relative_error(model, guess, wound).position <= tolerance)) verdict = {Status::NotConverged};
  if (verdict.ok()) verdict = projection.velocities(guess, wound);
  if (verdict.ok()) return guess;
  if (verdict.status == Status::NoInertia)
    return fail(
        ErrorKind::Model,
        fmt::format("body '{}' can move without any inertia{}; give it some in that direction, or a joint that holds it (a "
                    "rod between two balls turns about itself: a universal joint at one end, with 'axis2' across the rod)",
                    model.body_name(verdict.body),
                    verdict.joint < 0 ? "" : " at joint '" + model.joints()[verdict.joint].name + "'"));
  const ConstraintError error = constraint_error(model, guess, wound);
  return fail(ErrorKind::State, fmt::format("the joints cannot be closed: {:.3g} m or rad remain{}", error.position,
                                            error.joint < 0 ? "" : " at joint '" + model.joints()[error.joint].name + "'"));
}

Result<void> expect_consistent(const Model& model, const Bodies& bodies, double tolerance, const VecX& turns) {
  if (const auto finite = expect_finite(model, bodies); !finite) return finite;
  const VecX wound = wound_at(model, bodies, turns);
  const ConstraintError error = relative_error(model, bodies, wound);
  if (error.position <= tolerance && error.velocity <= tolerance) return {};
  return fail(ErrorKind::State,
              fmt::format("the state does not meet the joints: position residual {:.3g} (rad, or parts of the mechanism's "
                          "length), velocity residual {:.3g}{}",
                          error.position, error.velocity,
                          error.joint < 0 ? "" : ", largest at joint '" + model.joints()[error.joint].name + "'"));
}

}  // namespace invar
