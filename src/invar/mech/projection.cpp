// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/projection.hpp"

#include <algorithm>
#include <cmath>

namespace invar {
namespace {

constexpr double kLeastPart = 0.01;  // of a correction that is tried
// What rounding leaves of closed joints, in parts of the positions (speeds) that enter: an attempt to close them further would
// move the mechanism along its weakest directions, by round-off over sine.
constexpr double kRounding = 4 * 1.1e-16;

// Distance from the World origin within which the mechanism lies, and a speed that its points do not exceed by much. Rounded
// positions are gaps, which turn with their bodies: the distance enters the rate of a gap too.
double extent(const Bodies& bodies, double length) {
  double largest = 0;
  for (const BodyState& b : bodies) largest = std::max(largest, b.p_WC.norm());
  return largest + length;
}
double speed(const Bodies& bodies, double length) {
  const double arm = extent(bodies, length);
  double largest = 0;
  for (const BodyState& b : bodies) largest = std::max(largest, b.v_WC.norm() + arm * b.w_WB.norm());
  return largest;
}

// A residual (numbers along rows) as a relative twist of M in F, World axes, that has these components and nothing along the
// freedoms: dualᵀ t = 0, also for a screw, whose last row is not orthogonal to its dual. Otherwise rotors and couplings, which
// see the rates dualᵀ V, would be moved by the residual itself.
Twist along_rows(const Model& model, int j, const Bodies& bodies, const Residual& residual) {
  const Joint& joint = model.joints()[j];
  if (residual.size() == 0) return {};
  double q[7];
  Rows C;
  Columns S, dual;
  const Pose X_FM = joint_pose(model, j, bodies);
  with_kind(joint.kind, [&](auto kind) {
    using K = decltype(kind);
    K::measure(X_FM, joint.pitch, q);
    K::rows(q, joint.pitch, C);
    K::motion(q, joint.pitch, S);
    K::dual(q, joint.pitch, dual);
  });
  Vec6 t = Vec6::Zero();
  for (int k = 0; k < C.rows(); ++k) t += C.row(k).transpose() * (residual[k] / C.row(k).squaredNorm());
  for (int k = 0; k < S.cols(); ++k) t -= dual.col(k).dot(t) * S.col(k);
  const Quat q_WF = body_state(bodies, joint.parent).q_WB * joint.X_PF.q;
  return {q_WF * Vec3(t.head<3>()), q_WF * Vec3(t.tail<3>())};
}

}  // namespace

Projection::Projection(const Model& model, KktSolver& solver)
    : model_(model),
      solver_(solver),
      bias_(model.joints().size()),
      coupling_bias_(VecX::Zero(static_cast<int>(model.couplings().size()))),
      coupling_q_(coupling_bias_),
      q_(model.nq()),
      v_(model.nv()),
      correction_(model.bodies().size()),
      trial_(model.bodies().size()),
      unused_(model.joints().size()) {}

void Projection::measure(const Bodies& bodies, const VecX& wound) {
  joint_coordinates(model_, bodies, q_, v_);
  unwind(model_, wound, q_);
  driving_coordinates(model_, q_, coupling_q_);
}

// The largest correction that joints and couplings ask for, angles over the length of the model.
double Projection::wanted() const {
  double largest = 0;
  for (const Twist& t : bias_) largest = std::max({largest, t.linear.norm(), model_.length() * t.angular.norm()});
  for (int c = 0; c < coupling_bias_.size(); ++c) {
    const Coupling& coupling = model_.couplings()[c];
    const double unit = turns(model_.joints()[coupling.joint].kind, coupling.freedom) ? model_.length() : 1;
    largest = std::max(largest, unit * std::abs(coupling_bias_[c]));
  }
  return largest;
}

// The largest residual of positions: angles as they are, displacements in parts of the length. Rows on angles come first: one for
// each axis about which a joint does not turn.
ConstraintError Projection::gaps(const Bodies& bodies, const VecX& wound) {
  ConstraintError out;
  const double per_length = 1 / model_.length();
  const auto raise = [&](int joint, double gap) {
    if (!(gap <= out.position)) out.position = gap, out.joint = joint;
  };
  for (int j = 0; j < static_cast<int>(bias_.size()); ++j) {
    const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
    int angles = 3;
    for (int k = 0; k < joint.nv; ++k) angles -= turns(joint.kind, k) ? 1 : 0;
    const Residual r = joint_residual(model_, j, bodies);
    for (Eigen::Index i = 0; i < r.size(); ++i) raise(j, std::abs(r[i]) * (i < angles ? 1 : per_length));
  }
  if (coupling_q_.size() > 0) measure(bodies, wound);
  for (int c = 0; c < coupling_bias_.size(); ++c) {
    const Coupling& coupling = model_.couplings()[static_cast<std::size_t>(c)];
    const double unit = turns(model_.joints()[coupling.joint].kind, coupling.freedom) ? 1 : per_length;
    raise(-1, unit * std::abs(coupling_residual(model_, c, q_)));
  }
  return out;
}

Verdict Projection::positions(Bodies& bodies, const VecX& wound, double tolerance, int max_iterations) {
  double last = std::numeric_limits<double>::infinity();
  for (int iteration = 0;; ++iteration) {
    const ConstraintError error = gaps(bodies, wound);
    if (!std::isfinite(error.position)) return {Status::NotFinite, -1, error.joint, error.position};
    // Newton converges quadratically: once it no longer halves the residual, round-off (or a contradiction) is reached.
    if (error.position == 0 || (error.position <= tolerance && error.position > 0.5 * last)) return {};
    if (iteration == max_iterations)
      return error.position <= tolerance ? Verdict{} : Verdict{Status::NotConverged, -1, error.joint, error.position};
    last = error.position;

    if (coupling_q_.size() > 0) measure(bodies, wound);
    for (int j = 0; j < static_cast<int>(bias_.size()); ++j)
      bias_[j] = -1.0 * along_rows(model_, j, bodies, joint_residual(model_, j, bodies));
    for (int c = 0; c < coupling_bias_.size(); ++c) coupling_bias_[c] = -coupling_residual(model_, c, q_);
    if (wanted() <= kRounding * extent(bodies, model_.length())) return {};
    const KktInput input{.dynamics = false, .bias = &bias_, .coupling_bias = &coupling_bias_, .coupling_q = &coupling_q_};
    // Redundant rows contradict each other by round-off in the end: a correction that fails is one that is not needed.
    if (const Verdict v = solver_.solve(bodies, input, correction_, unused_); !v.ok())
      return error.position <= tolerance && v.status == Status::NotConverged ? Verdict{} : v;
    correct(bodies, wound, error.position, error.position <= tolerance);
  }
}

// Takes the correction, or from far away the largest half, quarter, .. of it that brings the joints closer: along it every
// residual falls in proportion, as long as it is short. Where none does (rows that contradict each other) the whole of it.
void Projection::correct(Bodies& bodies, const VecX& wound, double error, bool whole) {
  const auto moved = [&](double part) {
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      trial_[b] = bodies[b];
      trial_[b].p_WC += part * correction_[b].a_WC;
      trial_[b].q_WB = turned(trial_[b].q_WB, part * correction_[b].alpha_WB);
    }
    return gaps(trial_, wound).position;
  };
  for (double part = 1; !whole && part > kLeastPart; part /= 2)
    if (moved(part) < error) return bodies.swap(trial_);
  moved(1);
  bodies.swap(trial_);
}

Verdict Projection::velocities(Bodies& bodies, const VecX& wound) {
  const KktInput input{.dynamics = false,
                       .settled = true,
                       .bias = &baumgarte(bodies, 0.5, 0),
                       .coupling_bias = &coupling_bias_,
                       .coupling_q = &coupling_q_};
  if (coupling_q_.size() > 0) measure(bodies, wound);
  for (int c = 0; c < coupling_bias_.size(); ++c) coupling_bias_[c] = -coupling_residual_rate(model_, c, q_, v_);
  if (wanted() <= kRounding * speed(bodies, model_.length())) return {};
  if (const Verdict v = solver_.solve(bodies, input, correction_, unused_); !v.ok()) return v;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    bodies[b].v_WC += correction_[b].a_WC;
    bodies[b].w_WB += correction_[b].alpha_WB;
  }
  return {};
}

const std::vector<Twist>& Projection::baumgarte(const Bodies& bodies, double alpha, double beta) {
  for (int j = 0; j < static_cast<int>(bias_.size()); ++j) {
    Residual r = -2 * alpha * joint_residual_rate(model_, j, bodies);
    if (beta != 0) r -= beta * beta * joint_residual(model_, j, bodies);
    bias_[j] = along_rows(model_, j, bodies, r);
  }
  return bias_;
}

const VecX& Projection::baumgarte_couplings(const Bodies& bodies, const VecX& wound, double alpha, double beta) {
  measure(bodies, wound);
  for (int c = 0; c < coupling_bias_.size(); ++c)
    coupling_bias_[c] = -2 * alpha * coupling_residual_rate(model_, c, q_, v_) - beta * beta * coupling_residual(model_, c, q_);
  return coupling_bias_;
}

}  // namespace invar
