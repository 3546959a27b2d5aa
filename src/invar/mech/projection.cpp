// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/projection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/mech/gaps.hpp"

namespace invar {
namespace {

constexpr double kLeastPart = 0.01;  // of a correction that is tried
// What rounding leaves of closed joints, in parts of the positions (speeds) that enter: an attempt to close them further would
// move the mechanism along its weakest directions, by round-off over sine.
constexpr double kRounding = 4 * 1.1e-16;
// Of the speeds: rates along rows that are so small need a few digits only (KktInput::correction).
constexpr double kLittle = 1e-7;

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
  joint.facts->measure(X_FM, q);
  joint.facts->rows(q, C), joint.facts->motion(q, S), joint.facts->dual(q, dual);
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
      scales_(scales_of(model)),
      parts_(scales_.parts.size()),
      wanted_(model.bodies().size(), 0),
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

Projection::Part& Projection::part_of_body(std::size_t body) {
  return parts_[static_cast<std::size_t>(scales_.part_of_body[body])];
}
Projection::Part& Projection::part_of_joint(int joint) {
  return part_of_body(static_cast<std::size_t>(model_.joints()[static_cast<std::size_t>(joint)].child));
}

bool Projection::any_open() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.open; });
}

// The largest residual of positions in every part.
void Projection::measure_gaps(const Bodies& bodies, const VecX& wound) {
  for (Part& part : parts_) part.gap = 0, part.joint = -1;
  const auto raise = [](Part& part, int joint, double gap) {
    if (!(gap <= part.gap) && !std::isnan(part.gap)) part.gap = gap, part.joint = joint;
  };
  for (int j = 0; j < static_cast<int>(bias_.size()); ++j) raise(part_of_joint(j), j, gap_of_joint(model_, scales_, j, bodies));
  if (coupling_q_.size() > 0) measure(bodies, wound);
  for (int c = 0; c < coupling_bias_.size(); ++c)
    raise(part_of_joint(model_.couplings()[static_cast<std::size_t>(c)].joint), -1,
          gap_of_coupling(model_, scales_, c, coupling_residual(model_, c, q_)));
}

// Closes the parts whose joints and couplings ask for no more than what rounding leaves of their positions (speeds), and asks for
// nothing in those that are closed. Angles count over the length of the part. Rounded positions are gaps, which turn with their
// bodies: the distance from the World origin enters the rate of a gap too.
void Projection::close_what_is_round_off(const Bodies& bodies, bool rates) {
  for (Part& part : parts_) part.wanted = part.extent = part.speed = 0;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    Part& part = part_of_body(b);
    part.extent = std::max(part.extent, bodies[b].p_WC.norm());
  }
  for (std::size_t p = 0; p < parts_.size(); ++p) parts_[p].extent += scales_.parts[p].length;
  for (std::size_t b = 0; rates && b < bodies.size(); ++b) {
    Part& part = part_of_body(b);
    part.speed = std::max(part.speed, bodies[b].v_WC.norm() + part.extent * bodies[b].w_WB.norm());
  }
  for (int j = 0; j < static_cast<int>(bias_.size()); ++j) {
    Part& part = part_of_joint(j);
    const double length = scales_.length_at(model_.joints()[static_cast<std::size_t>(j)].child);
    const Twist& t = bias_[static_cast<std::size_t>(j)];
    part.wanted = std::max({part.wanted, t.linear.norm(), length * t.angular.norm()});
  }
  for (int c = 0; c < coupling_bias_.size(); ++c) {
    const Coupling& coupling = model_.couplings()[static_cast<std::size_t>(c)];
    const Joint& driven = model_.joints()[static_cast<std::size_t>(coupling.joint)];
    Part& part = part_of_joint(coupling.joint);
    const double unit = driven.turns(coupling.freedom) ? scales_.length_at(driven.child) : 1;
    part.wanted = std::max(part.wanted, unit * std::abs(coupling_bias_[c]));
  }
  for (Part& part : parts_) part.open = part.open && !(part.wanted <= kRounding * (rates ? part.speed : part.extent));
}

// Solves for the parts that are open; nothing is asked for in the others.
Verdict Projection::solve_open(const Bodies& bodies, KktInput input) {
  for (std::size_t b = 0; b < bodies.size(); ++b) wanted_[b] = part_of_body(b).open;
  for (int j = 0; j < static_cast<int>(bias_.size()); ++j)
    if (!part_of_joint(j).open) bias_[static_cast<std::size_t>(j)] = {};
  for (int c = 0; c < coupling_bias_.size(); ++c)
    if (!part_of_joint(model_.couplings()[static_cast<std::size_t>(c)].joint).open) coupling_bias_[c] = 0;
  input.wanted = &wanted_;
  return solver_.solve(bodies, input, correction_, unused_);
}

// Redundant rows contradict each other by round-off in the end: where a part is within the tolerance, a correction that fails is
// one that is not needed.
Verdict Projection::solve_positions(const Bodies& bodies, const KktInput& input, double tolerance) {
  for (;;) {
    const Verdict verdict = solve_open(bodies, input);
    if (verdict.status != Status::NotConverged) return verdict;
    const auto needless = [&](const Part& part) { return part.open && part.gap <= tolerance; };
    if (verdict.joint >= 0 && needless(part_of_joint(verdict.joint)))
      part_of_joint(verdict.joint).open = false;
    else if (std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) { return !part.open || needless(part); }))
      for (Part& part : parts_) part.open = false;
    else
      return verdict;
    if (!any_open()) return {};
  }
}

Verdict Projection::positions(Bodies& bodies, const VecX& wound, double tolerance, int max_iterations) {
  invar::measure(model_, scales_);
  for (Part& part : parts_) part.open = true, part.gap = std::numeric_limits<double>::infinity();
  for (int iteration = 0;; ++iteration) {
    for (Part& part : parts_) part.last = part.gap;
    measure_gaps(bodies, wound);
    for (Part& part : parts_) {
      if (!std::isfinite(part.gap)) return {Status::NotFinite, -1, part.joint, part.gap};
      // Newton converges quadratically: once it no longer halves the residual, round-off (or a contradiction) is reached.
      if (part.gap == 0 || (part.gap <= tolerance && part.gap > 0.5 * part.last)) part.open = false;
    }
    if (iteration == max_iterations) {
      for (const Part& part : parts_)
        if (part.open && !(part.gap <= tolerance)) return {Status::NotConverged, -1, part.joint, part.gap};
      return {};
    }
    if (!any_open()) return {};

    for (int j = 0; j < static_cast<int>(bias_.size()); ++j)
      if (part_of_joint(j).open)
        bias_[static_cast<std::size_t>(j)] = -1.0 * along_rows(model_, j, bodies, joint_residual(model_, j, bodies));
    for (int c = 0; c < coupling_bias_.size(); ++c) coupling_bias_[c] = -coupling_residual(model_, c, q_);
    close_what_is_round_off(bodies, false);
    if (!any_open()) return {};
    const KktInput input{
        .dynamics = false, .correction = true, .bias = &bias_, .coupling_bias = &coupling_bias_, .coupling_q = &coupling_q_};
    if (const Verdict v = solve_positions(bodies, input, tolerance); !v.ok()) return v;
    if (!any_open()) return {};
    correct(bodies, wound, tolerance);
  }
}

// Takes the correction, or from far away the largest half, quarter, .. of it that brings the joints of a part closer: along it
// every residual falls in proportion, as long as it is short. Where none does (rows that contradict each other) the whole of it.
void Projection::correct(Bodies& bodies, const VecX& wound, double tolerance) {
  for (Part& part : parts_) {
    part.share = 1, part.last = part.gap;
    part.settled = !part.open || part.gap <= tolerance;
  }
  for (bool done = false; !done;) {
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      trial_[b] = bodies[b];
      const Part& part = part_of_body(b);
      if (!part.open) continue;
      trial_[b].p_WC += part.share * correction_[b].a_WC;
      trial_[b].q_WB = turned(trial_[b].q_WB, part.share * correction_[b].alpha_WB);
    }
    done = std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.settled; });
    if (done) break;
    measure_gaps(trial_, wound);
    done = true;
    for (Part& part : parts_) {
      if (part.settled || part.gap < part.last) {
        part.settled = true;
        continue;
      }
      part.share /= 2;
      if (!(part.share > kLeastPart)) part.share = 1, part.settled = true;
      done = false;
    }
  }
  for (Part& part : parts_) part.gap = part.last;
  bodies.swap(trial_);
}

Verdict Projection::velocities(Bodies& bodies, const VecX& wound) {
  invar::measure(model_, scales_);
  KktInput input{.dynamics = false,
                 .settled = true,
                 .bias = &baumgarte(bodies, 0.5, 0),
                 .coupling_bias = &coupling_bias_,
                 .coupling_q = &coupling_q_};
  if (coupling_q_.size() > 0) measure(bodies, wound);
  for (int c = 0; c < coupling_bias_.size(); ++c) coupling_bias_[c] = -coupling_residual_rate(model_, c, q_, v_);
  for (Part& part : parts_) part.open = true;
  close_what_is_round_off(bodies, true);
  if (!any_open()) return {};
  // This one is not repeated: what it may leave of itself has to be round-off of the speeds.
  input.correction = std::all_of(parts_.begin(), parts_.end(),
                                 [](const Part& part) { return !part.open || part.wanted <= kLittle * part.speed; });
  if (const Verdict v = solve_open(bodies, input); !v.ok()) return v;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    if (!part_of_body(b).open) continue;
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
