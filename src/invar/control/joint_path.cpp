// SPDX-License-Identifier: Apache-2.0
//
// With y = S q̇ (S: metres per unit of a freedom) and A = J S⁻¹ the least rates are y = A⁺ V. Where V lies in the range of A and
// the rank stays, the derivative of A⁺ gives
//   ẏ = A⁺ (V̇ - Ȧ y) + (1 - A⁺A) Ȧᵀ A⁺ᵀ y,
// the least second rates plus the turn of the null space. The next node follows from q̇ = S⁻¹ A⁺ V by one step of the classical
// fourth-order method, off the motion by O(h⁵), and is put onto the path by reach(). A displacement δ = O(h⁵) along the
// null space changes the frame between nodes by O(h δ) only, so that quintics keep their own order.
// Twists in axes of the frame, (angular; linear), metres over the model's length; V̇ as seen from the frame.
#include "invar/control/joint_path.hpp"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/dynamics.hpp"
#include "invar/mech/minimal/inverse_kinematics.hpp"
#include "invar/mech/minimal/partition.hpp"

namespace invar {
namespace {

constexpr double kLost = 1e-6;     // directions in which the frame moves this much less than in others count as lost
constexpr double kMissing = 1e-6;  // part of a twist or its derivative that may be missing
constexpr double kBeyond = 1e-9;   // rad or m beyond a limit that are rounding
constexpr double kMostNodes = 1e6;

struct Node {
  VecX q, v, a;  // of the tree's coordinates; of the independent freedoms
};

class Walk {
 public:
  Walk(const JointTree& tree, int frame, const PoseReference& path, const VecX& wound, const JointPathOptions& options)
      : tree_(tree),
        model_(tree.model()),
        index_(frame),
        frame_(model_.frames()[static_cast<std::size_t>(frame)]),
        path_(path),
        wound_(wound),
        options_(options),
        length_(model_.length()) {
    const auto n = static_cast<Eigen::Index>(tree.independent().size());
    sizes_.resize(n);
    for (Eigen::Index i = 0; i < n; ++i) sizes_[i] = tree.size_of(tree.independent()[static_cast<std::size_t>(i)]);
  }

  // The configuration at an instant, from one nearby, with the rates and second rates that the path asks for.
  Result<Node> arrive(Instant at, const VecX& from) {
    ReachOptions reaching;
    reaching.attitude = options_.attitude;
    reaching.tolerance = 0.01 * options_.tolerance;
    Reach found;
    const PoseJet goal = jet(path_, at);
    if (const Verdict verdict = reach(tree_, frame_, {goal.q, goal.p}, from, wound_, reaching, found); !verdict.ok())
      return stuck(at.t, verdict);
    if (found.position > options_.tolerance * length_ || found.attitude > options_.tolerance) return too_far(at.t, found);
    if (auto within = check_limits(at.t, found.bodies); !within) return tl::unexpected(within.error());
    count_turns_at(found.bodies);
    return with_rates(at, goal, found.q);
  }

  // Where the joints are after a time step along the path.
  Result<VecX> predict(const Node& from, double t, double h, double inside) const {
    const double share[] = {0, 0.5, 0.5, 1}, weight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    VecX sum = VecX::Zero(tree_.nv()), slope = sum, q = from.q;
    for (int stage = 0; stage < 4; ++stage) {
      if (stage > 0) tree_.retract(from.q, (share[stage] * h) * slope, q);
      const Instant at(t + share[stage] * h, inside);
      if (const Verdict verdict = rates(jet(path_, at), q, slope); !verdict.ok()) return stuck(at.t, verdict);
      sum += (weight[stage] * h) * slope;
    }
    tree_.retract(from.q, sum, q);
    return q;
  }

  // How far the frame is from the path with the independent freedoms at these values, whatever depends following from q.
  Result<void> measure_between(Instant at, VecX q, const VecX& values, JointPath& out) const {
    for (std::size_t i = 0; i < tree_.independent().size(); ++i)
      if (scalar(tree_.independent()[i])) q[tree_.coordinate_of(tree_.independent()[i])] = values[static_cast<Eigen::Index>(i)];
    VecX v = VecX::Zero(tree_.nv());
    Bodies bodies;
    if (const Verdict verdict = tree_.complete(q, v, wound_, bodies); !verdict.ok()) return stuck(at.t, verdict);
    if (auto within = check_limits(at.t, bodies); !within) return within;
    const PoseJet goal = jet(path_, at);
    const Pose is = frame_pose(model_, index_, bodies);
    out.position = std::max(out.position, (is.p - goal.p).norm());
    if (options_.attitude) out.attitude = std::max(out.attitude, log_so3(normalized(is.q.conjugate() * goal.q)).norm());
    return {};
  }

  // Bodies of a node, moving.
  Bodies bodies_at(const Node& node) const {
    VecX q = node.q, v = VecX::Zero(tree_.nv());
    for (std::size_t i = 0; i < tree_.independent().size(); ++i) v[tree_.independent()[i]] = node.v[static_cast<Eigen::Index>(i)];
    Bodies out;
    (void)tree_.complete(q, v, wound_, out);  // closed when the node was found
    return out;
  }

  // Whether an independent freedom has a coordinate of its own.
  bool scalar(int f) const {
    const int j = tree_.joint_of(f);
    return j >= 0 && model_.joints()[static_cast<std::size_t>(j)].nq == model_.joints()[static_cast<std::size_t>(j)].nv;
  }

 private:
  // Pseudo-inverse of the frame's motion per scaled rate, with only those rows that were asked for.
  struct Motion {
    MatX A, A_plus;
  };
  Motion invert(MatX J) const {
    Motion out;
    out.A = scaled(std::move(J));
    Eigen::CompleteOrthogonalDecomposition<MatX> factors;
    factors.setThreshold(kLost);
    factors.compute(out.A);
    out.A_plus = factors.pseudoInverse();
    return out;
  }
  MatX scaled(MatX J) const {
    J.bottomRows<3>() /= length_;
    if (!options_.attitude) J.topRows<3>().setZero();
    return J * sizes_.cwiseInverse().asDiagonal();
  }
  Vec6 seen(const Quat& q, const Vec3& angular, const Vec3& linear) const {
    Vec6 V = Vec6::Zero();
    if (options_.attitude) V.head<3>() = q.conjugate() * angular;
    V.tail<3>() = q.conjugate() * linear / length_;
    return V;
  }

  // Rates of all freedoms of the tree at q, which is completed.
  Verdict rates(const PoseJet& goal, VecX& q, VecX& v) const {
    VecX still = VecX::Zero(tree_.nv());
    Bodies bodies;
    MatX E;
    if (const Verdict verdict = tree_.complete(q, still, wound_, bodies); !verdict.ok()) return verdict;
    if (const Verdict verdict = tree_.motions(bodies, wound_, E); !verdict.ok()) return verdict;
    const Vec3 p_CE = frame_.X_BE.p - model_.bodies()[static_cast<std::size_t>(frame_.body)].inertia.p_BC;
    const Motion m = invert(at_frame(body_jacobian(tree_, frame_.body, bodies), Pose{frame_.X_BE.q, p_CE}) * E);
    const Quat attitude = frame_pose(model_, index_, bodies).q;
    v = E * (m.A_plus * seen(attitude, goal.w, goal.v)).cwiseQuotient(sizes_);
    return {};
  }

  Result<Node> with_rates(Instant at, const PoseJet& goal, const VecX& q) const {
    Node node;
    node.q = q;
    VecX v;
    if (const Verdict verdict = rates(goal, node.q, v); !verdict.ok()) return stuck(at.t, verdict);
    Partition p;
    if (const Verdict verdict = partition_at(tree_, node.q, v, wound_, Load(model_), p); !verdict.ok())
      return stuck(at.t, verdict);
    const MatX J = frame_jacobian(model_, p, index_);
    const Motion m = invert(J);
    if (auto fine = check_attitudes(m.A); !fine) return tl::unexpected(fine.error());
    // The same map takes the derivative from the body to its frame.
    Partition moving;
    moving.v = p.v, moving.J = p.J_dot;
    const MatX A_dot = scaled(frame_jacobian(model_, moving, index_));
    const Quat attitude = frame_pose(model_, index_, p.bodies).q;
    const Vec6 V = seen(attitude, goal.w, goal.v), is = J * p.v;
    Vec6 V_dot = seen(attitude, goal.alpha, goal.a);
    V_dot.tail<3>() -= is.head<3>().cross(Vec3(is.tail<3>())) / length_;
    const VecX y = m.A_plus * V;
    const Vec6 lacking = V_dot - A_dot * y;
    const VecX turn = A_dot.transpose() * (m.A_plus.transpose() * y);
    const VecX y_dot = m.A_plus * lacking + turn - m.A_plus * (m.A * turn);
    if (auto fine = check_missing(at.t, "/s", m.A * y - V, V.norm()); !fine) return tl::unexpected(fine.error());
    if (auto fine = check_missing(at.t, "/s²", m.A * y_dot - lacking, V_dot.norm() + (A_dot * y).norm()); !fine)
      return tl::unexpected(fine.error());
    node.v = y.cwiseQuotient(sizes_);
    node.a = y_dot.cwiseQuotient(sizes_);
    return node;
  }

  Result<void> check_missing(double t, const char* per, const Vec6& missing, double of) const {
    if (missing.norm() <= kMissing * of + options_.tolerance) return {};
    return fail(ErrorKind::Scenario,
                fmt::format("at {:.6g} s frame '{}' cannot move as its path does: {:.3g} m{} and {:.3g} rad{} are missing; the "
                            "mechanism is singular there, or has too few freedoms",
                            t, frame_.name, missing.tail<3>().norm() * length_, per, missing.head<3>().norm(), per));
  }

  // Freedoms without a coordinate of their own must not be needed.
  Result<void> check_attitudes(const MatX& A) const {
    for (std::size_t i = 0; i < tree_.independent().size(); ++i) {
      const int f = tree_.independent()[i];
      if (!scalar(f) && A.col(static_cast<Eigen::Index>(i)).norm() > kMissing * A.norm())
        return fail(ErrorKind::Scenario,
                    fmt::format("frame '{}' moves with '{}', whose coordinates are an attitude: there are no references for it",
                                frame_.name, tree_.freedom_name(f)));
    }
    return {};
  }

  template <class F>
  void each_limited(const Bodies& bodies, F&& f) const {
    VecX q, v;
    joint_coordinates(model_, bodies, q, v);
    unwind(model_, wound_, q);
    for (const Joint& joint : model_.joints())
      for (int k = 0; joint.nq == joint.nv && k < joint.nv; ++k) {
        const Passive& p = joint.passive[static_cast<std::size_t>(k)];
        f(joint, joint.turns(k) ? "rad" : "m", q[joint.q0 + k], p.lower, p.upper);
      }
  }

  Result<void> check_limits(double t, const Bodies& bodies) const {
    Result<void> out;
    each_limited(bodies, [&](const Joint& joint, const char* unit, double is, double lower, double upper) {
      if (out && (is < lower - kBeyond || is > upper + kBeyond))
        out = fail(ErrorKind::Scenario,
                   fmt::format("at {:.6g} s the path of frame '{}' takes joint '{}' to {:.6g} {}, beyond its limit of {:.6g} {}",
                               t, frame_.name, joint.name, is, unit, is < lower ? lower : upper, unit));
    });
    return out;
  }

  tl::unexpected<Error> too_far(double t, const Reach& found) const {
    std::string what =
        fmt::format("at {:.6g} s the path of frame '{}' leaves what can be reached: {:.3g} m", t, frame_.name, found.position);
    if (options_.attitude) what += fmt::format(" and {:.3g} rad", found.attitude);
    what += " remain";
    each_limited(found.bodies, [&](const Joint& joint, const char* unit, double is, double lower, double upper) {
      if (is <= lower + kBeyond || is >= upper - kBeyond)
        what += fmt::format("; joint '{}' is at its limit of {:.6g} {}", joint.name, is <= lower + kBeyond ? lower : upper, unit);
    });
    return fail(ErrorKind::Scenario, what);
  }

  tl::unexpected<Error> stuck(double t, const Verdict& verdict) const {
    std::string what =
        fmt::format("at {:.6g} s on the path of frame '{}' loops cannot be closed ({})", t, frame_.name, name(verdict.status));
    if (verdict.joint >= 0) what += fmt::format(" at joint '{}'", model_.joints()[static_cast<std::size_t>(verdict.joint)].name);
    return fail(ErrorKind::Numerics, what);
  }

  // Angles that wind are expected where they are now.
  void count_turns_at(const Bodies& bodies) {
    VecX q, v;
    joint_coordinates(model_, bodies, q, v);
    unwind(model_, wound_, q);
    for (const Joint& joint : model_.joints())
      for (int k = 0; k < joint.nv; ++k)
        if (joint.winds(k)) wound_[joint.v0 + k] = q[joint.q0 + k];
  }

  const JointTree& tree_;
  const Model& model_;
  int index_;
  const Frame& frame_;
  const PoseReference& path_;
  VecX wound_;
  const JointPathOptions& options_;
  double length_;
  VecX sizes_;
};

// Pieces of the motion as they are found, one column of jets per independent freedom.
struct Pieces {
  std::vector<double> times;
  std::vector<std::vector<Jet>> starts, ends;

  void add(const JointTree& tree, const Node& from, const Node& to, double until) {
    starts.resize(tree.independent().size()), ends.resize(tree.independent().size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const auto k = static_cast<Eigen::Index>(i);
      const int c = tree.coordinate_of(tree.independent()[i]);
      starts[i].push_back({from.q[c], from.v[k], from.a[k]});
      ends[i].push_back({to.q[c], to.v[k], to.a[k]});
    }
    times.push_back(until);
  }
  VecX midway() const {
    const double from = times[times.size() - 2], to = times.back();
    VecX out(static_cast<Eigen::Index>(starts.size()));
    for (std::size_t i = 0; i < starts.size(); ++i)
      out[static_cast<Eigen::Index>(i)] = jet(Quintic({from, to}, {starts[i].back(), ends[i].back()}), 0.5 * (from + to)).q;
    return out;
  }
};

// From one event of the path to the next. q is where the joints are at the end.
Result<void> walk_stretch(Walk& walk, const JointTree& tree, double a, double b, double spacing, VecX& q, Pieces& pieces,
                          JointPath& out) {
  const double inside = 0.5 * (a + b);
  const int n = std::max(1, static_cast<int>(std::ceil((b - a) / spacing * (1 - 1e-12))));
  auto here = walk.arrive(Instant(a, inside), q);
  if (!here) return tl::unexpected(here.error());
  if (pieces.times.empty()) {
    pieces.times.push_back(a);
    out.start = walk.bodies_at(*here);
  }
  for (int k = 0; k < n; ++k) {
    const double t = a + (b - a) * k / n, end = k + 1 == n ? b : a + (b - a) * (k + 1) / n;
    const auto near = walk.predict(*here, t, end - t, inside);
    if (!near) return tl::unexpected(near.error());
    auto next = walk.arrive(Instant(end, inside), *near);
    if (!next) return tl::unexpected(next.error());
    pieces.add(tree, *here, *next, end);
    if (auto fine = walk.measure_between(Instant(0.5 * (t + end), inside), here->q, pieces.midway(), out); !fine) return fine;
    here = std::move(next);
  }
  q = here->q;
  return {};
}

Result<void> check(const Model& model, const std::string& frame, const PoseReference& path, double from, double to,
                   const JointPathOptions& options) {
  const auto found = model.find_frame(frame);
  if (!found)
    return fail(ErrorKind::Scenario,
                fmt::format("there is no frame '{}'{}", frame, did_you_mean(frame, names_of(model.frames()))));
  if (model.frames()[static_cast<std::size_t>(*found)].body == kWorld)
    return fail(ErrorKind::Scenario, fmt::format("frame '{}' is fixed to the ground and follows no path", frame));
  if (std::string why = flaw(path); !why.empty()) return fail(ErrorKind::Scenario, why);
  if (!(from < to) || !std::isfinite(to - from))
    return fail(ErrorKind::Option, fmt::format("a path must end after it begins, not go from {} s to {} s", from, to));
  if (!(options.spacing > 0) || !((to - from) / options.spacing < kMostNodes))
    return fail(ErrorKind::Option, fmt::format("a spacing of {} s does not divide {} s into fewer than {} nodes", options.spacing,
                                               to - from, kMostNodes));
  if (!(options.tolerance > 0)) return fail(ErrorKind::Option, "the tolerance of a path must be positive");
  return {};
}

}  // namespace

Result<JointPath> joint_path(const JointTree& tree, const std::string& frame, const PoseReference& path, double from, double to,
                             const VecX& q, const VecX& wound, const JointPathOptions& options) {
  const Model& model = tree.model();
  if (auto fine = check(model, frame, path, from, to, options); !fine) return tl::unexpected(fine.error());
  Walk walk(tree, *model.find_frame(frame), path, wound, options);
  JointPath out;
  Pieces pieces;
  VecX here = q;
  for (double a = from; a < to;) {
    const double b = std::min(to, next_event(path, a));
    if (auto fine = walk_stretch(walk, tree, a, b, options.spacing, here, pieces, out); !fine)
      return tl::unexpected(fine.error());
    a = b;
  }
  for (std::size_t i = 0; i < tree.independent().size(); ++i) {
    const int f = tree.independent()[i];
    if (!walk.scalar(f)) continue;
    const Joint& joint = model.joints()[static_cast<std::size_t>(tree.joint_of(f))];
    out.freedoms.push_back({tree.joint_of(f), tree.freedom_of_model(f) - joint.v0, tree.freedom_name(f),
                            Quintic(pieces.times, pieces.starts[i], pieces.ends[i])});
  }
  return out;
}

}  // namespace invar
