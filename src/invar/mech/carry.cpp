// SPDX-License-Identifier: Apache-2.0
//
// The impulse: M (v+ - v-) + Jᵀ Λ = 0, J v+ = 0, so that v+ is the point of ker J nearest to v- in the metric of M, and
//   T(v-) - T(v+) = T(v- - v+) >= 0.
// A rotor that is stopped by a lock loses its own energy besides: it adds a constant to the distance, and changes nothing else.
#include "invar/mech/carry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/passage.hpp"
#include "invar/mech/projection.hpp"
#include "invar/mech/spanning_tree.hpp"
#include "invar/mech/unreduced.hpp"

namespace invar {
namespace {

constexpr double kClosed = 1e-9;  // rad, or parts of the length: what Newton must reach
constexpr double kNearEnough =
    1e-3;  // rad, or parts of the length: gaps that a new joint pulls together unless it says otherwise

std::size_t index(int i) { return static_cast<std::size_t>(i); }

// Pose and twist of a body frame.
struct MovingFrame {
  Pose X;
  Vec3 w = Vec3::Zero(), v = Vec3::Zero();  // of its origin, World
};

MovingFrame frame_of(const Model& model, const Bodies& bodies, int b) {
  if (b == kWorld) return {};
  const BodyState& s = bodies[index(b)];
  const Pose X = s.X_WB(model.bodies()[index(b)]);
  return {X, s.w_WB, s.velocity_at(X.p)};
}

BodyState state_of(const MovingFrame& m, const Body& body) {
  const Vec3 arm = m.X.q * body.inertia.p_BC;
  return {m.X.p + arm, m.v + m.w.cross(arm), m.w, m.X.q};
}

class Carrier {
 public:
  Carrier(const Model& from, const Bodies& bodies, const VecX& wound, const Model& to, std::span<const Edit> edits)
      : from_(from), to_(to), edits_(edits), old_(bodies), wound_(wound) {
    q_ = to.initial_q();
    turns_ = VecX::Constant(to.nv(), std::numeric_limits<double>::quiet_NaN());
    fresh_.assign(to.bodies().size(), false);
    out_.bodies.resize(to.bodies().size());
  }

  Result<Carried> run() {
    take_joints();
    if (auto fine = take_bodies(); !fine) return tl::unexpected(fine.error());
    measure_new_loops();
    follow_frames();
    if (auto fine = check_gaps(); !fine) return tl::unexpected(fine.error());
    if (auto fine = make_consistent(); !fine) return tl::unexpected(fine.error());
    out_.turns = turns_;
    return out_;
  }

 private:
  // Coordinates and turns by name; a joint that was locked, or is new, or is locked elsewhere and let go again by the same list,
  // is where [initial] of the new model has it.
  void take_joints() {
    VecX q, v;
    joint_coordinates(from_, old_, q, v);
    unwind(from_, wound_, q);
    out_.before = energy(from_, old_, q, v);
    out_.momentum_before = momentum(from_, old_);
    for (const Joint& joint : to_.joints()) {
      const auto i = from_.find_joint(joint.name);
      const bool same = i && from_.joints()[index(*i)].kind == joint.kind && !added(joint.name) && !placed(joint.name);
      if (same) q_.segment(joint.q0, joint.nq) = q.segment(from_.joints()[index(*i)].q0, joint.nq);
      for (int k = 0; k < joint.nv; ++k)
        if (joint.winds(k)) turns_[joint.v0 + k] = q_[joint.q0 + k];
    }
  }

  // A joint that closes a loop is where its bodies have it, on the turn nearest to [initial].
  void measure_new_loops() {
    VecX rates = VecX::Zero(to_.nv());
    for (const Edit& e : edits_) {
      const auto* loop = std::get_if<CloseLoop>(&e);
      const auto j = loop ? to_.find_joint(loop->joint.name) : std::nullopt;
      if (!j) continue;
      const Joint& joint = to_.joints()[index(*j)];
      const VecX told = q_.segment(joint.q0, joint.nq);
      coordinates_of_joint(to_, *j, out_.bodies, q_, rates);
      for (int k = 0; k < joint.nv; ++k)
        if (joint.winds(k)) turns_[joint.v0 + k] = q_[joint.q0 + k] = nearest_turn(q_[joint.q0 + k], told[k]);
    }
  }

  bool added(const std::string& joint) const {
    return std::any_of(edits_.begin(), edits_.end(), [&](const Edit& e) {
      const auto* body = std::get_if<AddBody>(&e);
      const auto* loop = std::get_if<CloseLoop>(&e);
      return (body && body->joint.name == joint) || (loop && loop->joint.name == joint);
    });
  }

  bool placed(const std::string& joint) const {
    return std::any_of(edits_.begin(), edits_.end(), [&](const Edit& e) {
      const auto* lock = std::get_if<Lock>(&e);
      return lock && lock->at && lock->joint == joint;
    });
  }

  // Body frames stay; new bodies hang on their joints.
  Result<void> take_bodies() {
    for (const Edit& e : edits_)
      if (const auto* body = std::get_if<AddBody>(&e))
        if (const auto b = to_.find_body(body->body.name)) fresh_[index(*b)] = true;
    for (std::size_t b = 0; b < to_.bodies().size(); ++b) {
      if (fresh_[b]) continue;
      const auto i = from_.find_body(to_.bodies()[b].name);
      if (!i) return fail(ErrorKind::State, fmt::format("body '{}' comes from nowhere", to_.bodies()[b].name));
      out_.bodies[b] = old_[index(*i)];
      if (from_.bodies()[index(*i)].inertia.p_BC != to_.bodies()[b].inertia.p_BC)
        out_.bodies[b] = state_of(frame_of(from_, old_, *i), to_.bodies()[b]);
    }
    for (const Edit& e : edits_)
      if (const auto* body = std::get_if<AddBody>(&e)) hang(*body);
    return {};
  }

  // X_FM and the twist of M in F, World axes.
  Pose across(int j) const {
    const Joint& joint = to_.joints()[index(j)];
    return joint.facts->pose(q_.data() + joint.q0);
  }

  void hang(const AddBody& e) {
    const auto j = to_.find_joint(e.joint.name);
    const auto b = to_.find_body(e.body.name);
    if (!j || !b) return;
    const Joint& joint = to_.joints()[index(*j)];
    const bool outward = joint.child == *b;
    const MovingFrame on = frame_of(to_, out_.bodies, outward ? joint.parent : joint.child);
    const Pose X_FM = across(*j);
    const Pose X =
        outward ? on.X * joint.X_PF * X_FM * joint.X_CM.inverse() : on.X * joint.X_CM * X_FM.inverse() * joint.X_PF.inverse();
    Vec6 t = Vec6::Zero();
    Columns S;
    joint.facts->motion(q_.data() + joint.q0, S);
    for (int k = 0; k < joint.nv && k < static_cast<int>(e.v.size()); ++k) t += e.v[index(k)] * S.col(k);
    const Pose X_WP = outward ? on.X : X, X_WC = outward ? X : on.X;
    const Quat q_WF = X_WP.q * joint.X_PF.q;
    const Vec3 P = X_WC * joint.X_CM.p;
    const double sign = outward ? 1 : -1;
    const Vec3 w = on.w + sign * (q_WF * t.head<3>());
    const Vec3 v_P = on.v + on.w.cross(P - on.X.p) + sign * (q_WF * t.tail<3>());
    out_.bodies[index(*b)] = state_of({X, w, v_P + w.cross(X.p - P)}, to_.bodies()[index(*b)]);
  }

  // Whatever lies beyond a joint whose frames were moved, or that was locked elsewhere, follows.
  void follow_frames() {
    std::vector<bool> moved_joint(to_.joints().size(), false);
    for (const Edit& e : edits_) {
      const auto* frame = std::get_if<SetJointFrame>(&e);
      const auto* lock = std::get_if<Lock>(&e);
      if (!frame && !(lock && lock->at)) continue;
      if (const auto j = to_.find_joint(frame ? frame->joint : lock->joint)) moved_joint[index(*j)] = true;
    }
    if (std::none_of(moved_joint.begin(), moved_joint.end(), [](bool m) { return m; })) return;
    const SpanningTree tree = spanning_tree(to_);
    std::vector<bool> moved(tree.nodes.size(), false);
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const TreeNode& n = tree.nodes[i];
      if (n.joint < 0) continue;
      moved[i] = moved_joint[index(n.joint)] || (n.inner >= 0 && moved[index(n.inner)]);
      if (!moved[i]) continue;
      const Joint& joint = to_.joints()[index(n.joint)];
      const Pose X_FM = across(n.joint);
      const MovingFrame inner = frame_of(to_, out_.bodies, n.inner < 0 ? kWorld : tree.nodes[index(n.inner)].body);
      MovingFrame m = frame_of(to_, out_.bodies, n.body);
      m.X = n.reversed ? inner.X * joint.X_CM * X_FM.inverse() * joint.X_PF.inverse()
                       : inner.X * joint.X_PF * X_FM * joint.X_CM.inverse();
      m.X.q = normalized(m.X.q);
      out_.bodies[index(n.body)] = state_of(m, to_.bodies()[index(n.body)]);
    }
  }

  // Rows on angles come first: one for each axis about which a joint does not turn.
  struct Apart {
    double turn = 0, distance = 0;  // rad, m
  };
  Apart apart_at(int j) const {
    const Joint& joint = to_.joints()[index(j)];
    int angles = 3;
    for (int k = 0; k < joint.nv; ++k) angles -= joint.turns(k) ? 1 : 0;
    Apart out;
    const Residual gap = joint_residual(to_, j, out_.bodies);
    for (Eigen::Index i = 0; i < gap.size(); ++i) {
      double& largest = i < angles ? out.turn : out.distance;
      if (!(std::abs(gap[i]) <= largest)) largest = std::abs(gap[i]);
    }
    return out;
  }

  // Whether joints and couplings hold: angles as they are, displacements in parts of the length.
  bool closed(const VecX& wound) const {
    const auto fine = [&](const Apart& apart) { return apart.turn <= kClosed && apart.distance <= kClosed * to_.length(); };
    for (int j = 0; j < static_cast<int>(to_.joints().size()); ++j)
      if (!fine(apart_at(j))) return false;
    VecX q, v;
    joint_coordinates(to_, out_.bodies, q, v);
    unwind(to_, wound, q);
    for (int c = 0; c < static_cast<int>(to_.couplings().size()); ++c) {
      const Coupling& coupling = to_.couplings()[index(c)];
      const double gap = std::abs(coupling_residual(to_, c, q));
      const bool angle = to_.joints()[index(coupling.joint)].turns(coupling.freedom);
      if (!fine(angle ? Apart{gap, 0} : Apart{0, gap})) return false;
    }
    return true;
  }

  Result<void> check_gaps() const {
    for (const Edit& e : edits_) {
      const auto* loop = std::get_if<CloseLoop>(&e);
      const auto j = loop ? to_.find_joint(loop->joint.name) : std::nullopt;
      if (!j) continue;
      const Apart apart = apart_at(*j);
      for (const auto& [size, unit, length] : {std::tuple{apart.turn, "rad", 1.0}, {apart.distance, "m", to_.length()}})
        if (const double allowed = loop->within > 0 ? loop->within : kNearEnough * length; !(size <= allowed))
          return fail(ErrorKind::State,
                      fmt::format("joint '{}' cannot be closed here: its frames are {:.3g} {} apart, and {:.3g} "
                                  "is allowed",
                                  loop->joint.name, size, unit, allowed));
    }
    return {};
  }

  // Whether an edit changes what joints and couplings ask for.
  static bool constrains(const Edit& e) {
    return std::holds_alternative<SetJointFrame>(e) || std::holds_alternative<SetMap>(e) || std::holds_alternative<Lock>(e) ||
           std::holds_alternative<CloseLoop>(e) || std::holds_alternative<AddBody>(e);
  }

  Energy energy_now(const VecX& wound, const Bodies& bodies) const {
    VecX q, v;
    joint_coordinates(to_, bodies, q, v);
    unwind(to_, wound, q);
    return energy(to_, bodies, q, v);
  }

  Result<void> make_consistent() {
    const VecX wound = wound_at(to_, out_.bodies, turns_);
    Verdict verdict;
    const bool needed = std::any_of(edits_.begin(), edits_.end(), constrains);
    Unreduced solver(to_);
    Projection projection(to_, solver);
    if (needed && !closed(wound)) verdict = projection.positions(out_.bodies, wound, kClosed, 100);
    if (!verdict.ok()) return not_closed(wound);
    out_.edited = energy_now(wound, out_.bodies);
    out_.momentum_edited = momentum(to_, out_.bodies);
    if (needed) verdict = projection.velocities(out_.bodies, wound);
    if (needed && verdict.ok() && solver.closes_loops()) verdict = stop_what_stands(solver, wound);
    if (!verdict.ok()) return not_closed(wound);
    out_.after = energy_now(wound, out_.bodies);
    out_.momentum_after = momentum(to_, out_.bodies);
    return {};
  }

  // What loops hold to second order only, or hardly to first: the rows leave it a velocity that it cannot have.
  Verdict stop_what_stands(Unreduced& solver, const VecX& wound) {
    Passage passage(to_, solver);
    passage.begin(out_.bodies, wound);
    passage.set_level(Passage::Level::Velocity);
    return passage.stop_what_stands(out_.bodies);
  }

  Result<void> not_closed(const VecX& wound) const {
    const ConstraintError error = constraint_error(to_, out_.bodies, wound);
    return fail(ErrorKind::State,
                fmt::format("the joints cannot be closed after the edit: {:.3g} m or rad remain{}", error.position,
                            error.joint < 0 ? "" : " at joint '" + to_.joints()[index(error.joint)].name + "'"));
  }

  const Model &from_, &to_;
  std::span<const Edit> edits_;
  const Bodies& old_;
  const VecX& wound_;
  VecX q_, turns_;           // of the new model
  std::vector<bool> fresh_;  // per body of the new model
  Carried out_;
};

}  // namespace

Result<Carried> carry(const Model& from, const Bodies& bodies, const VecX& wound, const Model& to, std::span<const Edit> edits) {
  return Carrier(from, bodies, wound, to, edits).run();
}

std::vector<Edit> standing(std::span<const Edit> edits, const Model& model, const Bodies& bodies, const VecX& wound) {
  std::vector<Edit> out(edits.begin(), edits.end());
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  unwind(model, wound, q);
  for (Edit& e : out) {
    if (auto* lock = std::get_if<Lock>(&e); lock && !lock->at) {
      const auto j = model.find_joint(lock->joint);
      if (!j) continue;
      const Joint& joint = model.joints()[index(*j)];
      lock->at.emplace(q.data() + joint.q0, q.data() + joint.q0 + joint.nq);
    }
    if (auto* map = std::get_if<SetMap>(&e); map && map->from_here && !map->coefficients.empty())
      for (const Coupling& c : model.couplings()) {
        if (c.name != map->coupling) continue;
        Coupling shape = c;
        shape.coefficients = map->coefficients;
        shape.coefficients[0] = 0;
        const Joint &driven = model.joints()[index(c.joint)], &of = model.joints()[index(c.of)];
        map->coefficients[0] = q[driven.q0 + c.freedom] - driven_by(shape, q[of.q0 + c.of_freedom]).value;
      }
  }
  return out;
}

}  // namespace invar
