// SPDX-License-Identifier: Apache-2.0
//
// With the error e = (log(R_EW R_target), R_EW (p_target - p)/l) of the frame in its own axes and J the motion of the frame per
// independent rate in the same measure, a step is dq = Jᵀ (J Jᵀ + μ 1)⁻¹ e. μ falls with every step that helps and grows
// with one that does not (Levenberg); near the solution it follows |e|, so the search ends as Newton's does.
#include "invar/mech/minimal/inverse_kinematics.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/partition.hpp"

namespace invar {
namespace {

struct Limits {
  VecX lower, upper;  // per freedom of the tree; infinite where there are none
};

Limits limits_of(const JointTree& tree) {
  const double inf = std::numeric_limits<double>::infinity();
  Limits out{VecX::Constant(tree.nv(), -inf), VecX::Constant(tree.nv(), inf)};
  for (int f = 0; f < tree.nv(); ++f) {
    if (tree.joint_of(f) < 0) continue;
    const Joint& joint = tree.model().joints()[static_cast<std::size_t>(tree.joint_of(f))];
    if (joint.nq != joint.nv) continue;
    const Passive& p = joint.passive[static_cast<std::size_t>(tree.freedom_of_model(f) - joint.v0)];
    out.lower[f] = p.lower, out.upper[f] = p.upper;
  }
  return out;
}

class PoseSearch {
 public:
  PoseSearch(const JointTree& tree, const Frame& frame, const Pose& target, const VecX& wound, const ReachOptions& options)
      : tree_(tree),
        frame_(frame),
        target_(target),
        wound_(wound),
        options_(options),
        limits_(limits_of(tree)),
        length_(tree.model().length()) {}

  // Completes q and measures what is left there.
  Verdict look(Reach& at) const {
    VecX v = VecX::Zero(tree_.nv());
    if (const Verdict verdict = tree_.complete(at.q, v, wound_, at.bodies); !verdict.ok()) return verdict;
    const Vec6 e = error(at.bodies);
    at.attitude = e.head<3>().norm();
    at.position = e.tail<3>().norm() * length_;
    at.reached = e.norm() <= options_.tolerance;
    return {};
  }

  // In the frame's axes; metres over the model's length.
  Vec6 error(const Bodies& bodies) const {
    const Pose X = body_pose(tree_.model(), bodies, frame_.body) * frame_.X_BE;
    Vec6 e = Vec6::Zero();
    if (options_.attitude) e.head<3>() = log_so3(normalized(X.q.conjugate() * target_.q));
    e.tail<3>() = X.q.conjugate() * (target_.p - X.p) / length_;
    return e;
  }

  // One step from `at`: the tangent of all freedoms. Freedoms at a limit that they are pushed against do not move.
  Verdict step(const Reach& at, double mu, VecX& tangent) const {
    MatX E;
    if (const Verdict verdict = tree_.motions(at.bodies, wound_, E); !verdict.ok()) return verdict;
    const Model& model = tree_.model();
    const Vec3 from_centre = frame_.X_BE.p - model.bodies()[static_cast<std::size_t>(frame_.body)].inertia.p_BC;
    MatX J = at_frame(body_jacobian(tree_, frame_.body, at.bodies), Pose{frame_.X_BE.q, from_centre}) * E;
    J.bottomRows<3>() /= length_;
    if (!options_.attitude) J.topRows<3>().setZero();
    const Vec6 e = error(at.bodies);
    for (Eigen::Index held = 0; held <= J.cols(); ++held) {
      Eigen::Matrix<double, 6, 6> A = J * J.transpose();
      A.diagonal().array() += mu;
      const VecX dq = J.transpose() * A.ldlt().solve(e);
      tangent = E * dq;
      Eigen::Index worst = -1;
      for (int f = 0; f < tree_.nv() && worst < 0; ++f)
        if (pushed(f, at.q, tangent[f])) E.row(f).cwiseAbs().maxCoeff(&worst);
      if (worst < 0) break;
      J.col(worst).setZero();  // what drives it most stays
      E.col(worst).setZero();
    }
    double share = 1;
    for (int f = 0; f < tree_.nv(); ++f) share = std::min(share, room(f, at.q, tangent[f]));
    tangent *= share;
    return {};
  }

 private:
  double coordinate(int f, const VecX& q) const { return q[tree_.coordinate_of(f)]; }
  bool limited(int f) const { return std::isfinite(limits_.lower[f]) || std::isfinite(limits_.upper[f]); }
  bool pushed(int f, const VecX& q, double by) const {
    constexpr double kAt = 1e-12;
    return limited(f) &&
           ((by < 0 && coordinate(f, q) <= limits_.lower[f] + kAt) || (by > 0 && coordinate(f, q) >= limits_.upper[f] - kAt));
  }
  // The part of a step that does not pass the limit.
  double room(int f, const VecX& q, double by) const {
    if (!limited(f) || by == 0) return 1;
    const double to = (by < 0 ? limits_.lower[f] : limits_.upper[f]) - coordinate(f, q);
    return std::clamp(to / by, 0.0, 1.0);
  }

  const JointTree& tree_;
  const Frame& frame_;
  const Pose& target_;
  const VecX& wound_;
  const ReachOptions& options_;
  Limits limits_;
  double length_;
};

}  // namespace

Verdict reach(const JointTree& tree, const Frame& frame, const Pose& X_WE, const VecX& q, const VecX& wound,
              const ReachOptions& options, Reach& out) {
  const PoseSearch search(tree, frame, X_WE, wound, options);
  out = {};
  out.q = q;
  if (const Verdict verdict = search.look(out); !verdict.ok() || frame.body == kWorld) return verdict;
  double mu = 1e-2;
  Reach next;
  VecX tangent;
  for (int k = 0; k < options.iterations && !out.reached; ++k) {
    out.iterations = k + 1;
    const double e = search.error(out.bodies).norm();
    if (const Verdict verdict = search.step(out, std::min(mu, e), tangent); !verdict.ok()) return verdict;
    tree.retract(out.q, tangent, next.q);
    const bool closed = search.look(next).ok();
    if (closed && search.error(next.bodies).norm() < e) {
      next.iterations = out.iterations;
      std::swap(out, next);
      mu = std::max(0.2 * mu, 1e-16);
    } else {
      mu = std::max(10 * std::min(mu, e), 1e-12);
      if (mu > 1e6) break;  // nothing helps any more
    }
  }
  return {};
}

}  // namespace invar
