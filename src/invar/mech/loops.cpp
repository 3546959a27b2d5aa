// SPDX-License-Identifier: Apache-2.0
//
// A joint outside the tree sees the twist of its child less that of its parent at the joint point. A freedom of the tree with the
// screw (w, v at p) adds ±(w, v + w × (p_M - p)), depending on which of the two it carries; a row (c_w, c_v) takes its product.
#include "invar/mech/loops.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "invar/base/index.hpp"
#include "invar/mech/dense.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {
namespace {

constexpr int kClosingIterations = 30;
constexpr double kNoLength = 1e-9;  // of the model's: joints whose points are one but for rounding
constexpr double kNull = 1e-7;      // of the largest singular value: below it a direction is not moved along
constexpr double kClosed = 1e-9;    // of the length of a group: a residual that stops falling below it is rounding

int root(std::vector<int>& of, int i) {
  while (of[size(i)] != i) i = of[size(i)] = of[size(of[size(i)])];
  return i;
}

}  // namespace

Eigen::Index Loops::Group::place_of(int freedom) const {
  const auto found = std::find(freedoms.begin(), freedoms.end(), freedom);
  return found == freedoms.end() ? -1 : found - freedoms.begin();
}

int Loops::Group::joint() const {
  const auto found = std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.joint >= 0; });
  return found == rows.end() ? -1 : found->joint;
}

Loops::Loops(const Model& model)
    : model_(model),
      tree_(model),
      closure_of_joint_(model.joints().size(), -1),
      wound_(VecX::Zero(model.nv())),
      none_(VecX::Zero(tree_.nv())),
      bodies_(model.bodies().size()),
      q_(VecX::Zero(model.nq())),
      v_(VecX::Zero(model.nv())) {
  find_groups();
}

Loops::Loops(const Model& model, const std::vector<int>& independent)
    : model_(model),
      tree_(model, independent),
      closure_of_joint_(model.joints().size(), -1),
      wound_(VecX::Zero(model.nv())),
      none_(VecX::Zero(tree_.nv())),
      bodies_(model.bodies().size()),
      q_(VecX::Zero(model.nq())),
      v_(VecX::Zero(model.nv())) {
  find_groups();
}

void Loops::find_groups() {
  const Model& model = model_;
  for (const JointNode& n : tree_.nodes())
    if (n.joint >= 0) tree_rows_ += model.joints()[size(n.joint)].rows();

  // Freedoms that one row sees belong together.
  std::vector<int> of(size(tree_.nv()));
  std::iota(of.begin(), of.end(), 0);
  std::vector<std::pair<Row, int>> rows;  // with a freedom of each
  const auto seen_by_joint = [&](int j) {
    std::vector<int> out;
    if (closure_of_joint_[size(j)] < 0)
      for (int k = 0; k < model.joints()[size(j)].nv; ++k) out.push_back(tree_.freedom_of_joint(j, k));
    else
      for (int f = 0; f < tree_.nv(); ++f)
        if (sides_[size(closure_of_joint_[size(j)])][size(f)] != 0) out.push_back(f);
    return out;
  };
  const auto join = [&](const std::vector<int>& freedoms) {
    for (const int f : freedoms) of[size(root(of, f))] = root(of, freedoms[0]);
  };
  for (const int j : tree_.closures()) {
    closure_of_joint_[size(j)] = static_cast<int>(sides_.size());
    std::vector<int> sides(size(tree_.nv()), 0);
    for (const LoopFreedom& f : tree_.loop_of_joint(j)) sides[size(f.freedom)] = f.side;
    sides_.push_back(std::move(sides));
  }
  for (const int j : tree_.closures()) {
    const std::vector<int> seen = seen_by_joint(j);
    if (seen.empty()) continue;  // between bodies that nothing moves
    join(seen);
    for (int k = 0; k < model.joints()[size(j)].rows(); ++k) rows.push_back({Row{.joint = j, .which = k}, seen[0]});
  }
  for (int c = 0; c < static_cast<int>(model.couplings().size()); ++c) {
    std::vector<int> seen = seen_by_joint(model.couplings()[size(c)].joint);
    for (const int f : seen_by_joint(model.couplings()[size(c)].of)) seen.push_back(f);
    if (seen.empty()) continue;
    join(seen);
    rows.push_back({Row{.coupling = c}, seen[0]});
  }

  std::vector<int> group(size(tree_.nv()), -1);
  for (const auto& [row, f] : rows) {
    int& g = group[size(root(of, f))];
    if (g < 0) g = static_cast<int>(groups_.size()), groups_.emplace_back();
    groups_[size(g)].rows.push_back(row);
  }
  for (int f = 0; f < tree_.nv(); ++f)
    if (const int g = group[size(root(of, f))]; g >= 0) groups_[size(g)].freedoms.push_back(f);
  for (Group& g : groups_) find_bodies(g);
  line_.reserve(size(tree_.nv()));
  by_ = VecX::Zero(tree_.nv());
  for (Group& g : groups_) g.length = model.length(), g.scale = VecX::Ones(static_cast<Eigen::Index>(g.freedoms.size()));
}

// Nodes come inner ones first, and loops that share a freedom ride on bodies one of which carries the other: the innermost node
// of the group hangs on what carries them all. (Couplings may join loops that ride on different bodies: then what they ride on
// counts as moving.)
void Loops::find_bodies(Group& g) const {
  std::vector<bool> moves(tree_.nodes().size(), false);
  for (const int f : g.freedoms) moves[tree_.node_of_freedom(f)] = true;
  const auto innermost = std::find(moves.begin(), moves.end(), true);
  if (innermost == moves.end()) return;
  const int inner = tree_.nodes()[static_cast<std::size_t>(innermost - moves.begin())].inner;
  g.carrier = inner < 0 ? kWorld : tree_.nodes()[size(inner)].body;
  for (std::size_t n = 0; n < moves.size(); ++n)
    if (moves[n]) g.bodies.push_back(tree_.nodes()[n].body);
}

double Loops::moved(std::size_t group, const Bodies& from, const Bodies& to) const {
  const Group& g = groups_[group];
  const BodyState a = body_state(from, g.carrier), b = body_state(to, g.carrier);
  double largest = 0;
  for (const int i : g.bodies) {
    const BodyState &before = from[size(i)], &after = to[size(i)];
    const Quat turn = (a.q_WB.conjugate() * before.q_WB).conjugate() * (b.q_WB.conjugate() * after.q_WB);
    const Vec3 by = b.q_WB.conjugate() * (after.p_WC - b.p_WC) - a.q_WB.conjugate() * (before.p_WC - a.p_WC);
    largest = std::max({largest, 2 * turn.vec().norm(), by.norm() / g.length});
  }
  return largest;
}

double Loops::speed(std::size_t group, const Bodies& bodies) const {
  const Group& g = groups_[group];
  const BodyState a = body_state(bodies, g.carrier);
  double largest = 0;
  for (const int i : g.bodies) {
    const BodyState& s = bodies[size(i)];
    const Vec3 v = s.v_WC - a.v_WC - a.w_WB.cross(s.p_WC - a.p_WC);
    largest = std::max({largest, (s.w_WB - a.w_WB).norm(), v.norm() / g.length});
  }
  return largest;
}

// Joint points of the group: of its freedoms, and of its rows.
void Loops::measure_lengths(const Bodies& bodies) {
  VecX q, v;
  tree_.measure(bodies, wound_, q, v);
  place(q, wound_);
  for (Group& g : groups_) {
    std::vector<Vec3> points;
    for (const int f : g.freedoms) points.push_back(tree_.screw(f).point);
    JointAt at;
    for (const Row& row : g.rows) {
      if (row.joint < 0 || row.which > 0) continue;
      joint_at(model_, row.joint, bodies_, false, at);
      points.push_back(bodies_[size(model_.joints()[size(row.joint)].child)].p_WC + at.arm_child);
    }
    double length = 0;
    for (std::size_t i = 0; i < points.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) length = std::max(length, (points[i] - points[k]).norm());
    g.length = length > kNoLength * model_.length() ? length : model_.length();
    for (std::size_t i = 0; i < g.freedoms.size(); ++i) {
      const JointNode& n = tree_.nodes()[tree_.node_of_freedom(g.freedoms[i])];
      g.scale[static_cast<Eigen::Index>(i)] = n.facts->turns(g.freedoms[i] - n.v0) ? 1 : 1 / g.length;
    }
  }
}

void Loops::hold(const std::vector<Held>& held) {
  held_ = held;
  for (Group& g : groups_) {
    std::erase_if(g.rows, [](const Row& row) { return row.joint < 0 && row.coupling < 0; });
    for (std::size_t i = 0; i < held.size(); ++i)
      if (std::find(g.freedoms.begin(), g.freedoms.end(), held[i].freedom) != g.freedoms.end())
        g.rows.push_back({.which = static_cast<int>(i)});
  }
}

void Loops::place(const VecX& q, const VecX& wound) {
  wound_ = wound;
  for (const JointNode& n : tree_.nodes())
    for (int k = 0; n.joint >= 0 && k < n.nv; ++k)
      if (n.facts->winds(k)) wound_[model_.joints()[size(n.joint)].v0 + k] = q[n.q0 + k];
  if (!held_.empty()) placed_ = q;
  tree_.place(q, none_, bodies_);
}

// Adds the row (c_w, c_v) of a joint, or the rate of a freedom of the tree that `line` measures, to the entries of the group.
void Loops::entries(const Group& g, const Row& row, const JointAt& at, const Vec6& line, double factor, double* out) const {
  const Joint& joint = model_.joints()[size(row.joint)];
  const Vec3 point = bodies_[size(joint.child)].p_WC + at.arm_child;
  const std::vector<int>& sides = sides_[size(closure_of_joint_[size(row.joint)])];
  for (std::size_t i = 0; i < g.freedoms.size(); ++i) {
    const int side = sides[size(g.freedoms[i])];
    if (side == 0) continue;
    const ScrewAxis s = tree_.screw(g.freedoms[i]);
    const double rate = line.head<3>().dot(s.w) + line.tail<3>().dot(s.v + s.w.cross(point - s.point));
    out[i] += side * factor * rate / g.scale[static_cast<Eigen::Index>(i)];
  }
}

// A row of unit size over the two freedoms: what the driven one counts in it, and the slope.
double Loops::coupling_row(const Group& g, const Coupling& coupling, double& slope) const {
  const Joint &joint = model_.joints()[size(coupling.joint)], &of = model_.joints()[size(coupling.of)];
  JointAt driving;
  joint_at(model_, coupling.of, bodies_, false, driving);
  double q = driving.q[coupling.of_freedom];
  if (of.winds(coupling.of_freedom)) q = nearest_turn(q, wound_[of.v0 + coupling.of_freedom]);
  slope = driven_by(coupling, q).slope;
  const double unit = joint.turns(coupling.freedom) ? 1 : 1 / g.length;
  const double ratio = slope * unit * (of.turns(coupling.of_freedom) ? 1 : g.length);
  return unit / std::sqrt(1 + ratio * ratio);
}

void Loops::jacobian(std::size_t group, MatX& out) const {
  const Group& g = groups_[group];
  const auto columns = static_cast<Eigen::Index>(g.freedoms.size());
  out.setZero(static_cast<Eigen::Index>(g.rows.size()), columns);
  std::vector<double>& line = line_;
  line.resize(g.freedoms.size());
  JointAt at;
  for (std::size_t r = 0; r < g.rows.size(); ++r) {
    const Row& row = g.rows[r];
    std::fill(line.begin(), line.end(), 0.0);
    if (row.joint >= 0) {
      if (row.which == 0) joint_at(model_, row.joint, bodies_, false, at);
      const Vec6 c = at.C.row(row.which).transpose();
      entries(g, row, at, c, 1 / (g.length * row_size(c, g.length)), line.data());
    } else if (row.coupling < 0) {
      const Held& held = held_[size(row.which)];
      const double unit = g.scale_of(held.freedom);
      for (std::size_t i = 0; i < g.freedoms.size(); ++i) {
        if (g.freedoms[i] == held.freedom) line[i] += 1;
        if (g.freedoms[i] == held.leader) line[i] -= held.ratio * unit / g.scale[static_cast<Eigen::Index>(i)];
      }
    } else {
      const Coupling& coupling = model_.couplings()[size(row.coupling)];
      const auto add = [&](int j, int k, double factor) {
        if (closure_of_joint_[size(j)] < 0) {
          const auto f = std::find(g.freedoms.begin(), g.freedoms.end(), tree_.freedom_of_joint(j, k));
          line[size(static_cast<int>(f - g.freedoms.begin()))] += factor / g.scale[f - g.freedoms.begin()];
        } else {
          JointAt there;
          joint_at(model_, j, bodies_, false, there);
          entries(g, Row{.joint = j}, there, there.dual.col(k), factor, line.data());
        }
      };
      double slope = 0;
      const double unit = coupling_row(g, coupling, slope);
      add(coupling.joint, coupling.freedom, unit);
      add(coupling.of, coupling.of_freedom, -unit * slope);
    }
    for (Eigen::Index i = 0; i < columns; ++i) out(static_cast<Eigen::Index>(r), i) = line[static_cast<std::size_t>(i)];
  }
}

void Loops::residual(std::size_t group, VecX& out) {
  const Group& g = groups_[group];
  out.setZero(static_cast<Eigen::Index>(g.rows.size()));
  JointAt at;
  Residual of_joint;
  bool measured = false;
  for (std::size_t r = 0; r < g.rows.size(); ++r) {
    const Row& row = g.rows[r];
    double& value = out[static_cast<Eigen::Index>(r)];
    if (row.joint >= 0) {
      if (row.which == 0) {
        joint_at(model_, row.joint, bodies_, false, at);
        of_joint = joint_residual(model_, row.joint, bodies_);
      }
      value = of_joint[row.which] / (g.length * row_size(at.C.row(row.which).transpose(), g.length));
    } else if (row.coupling < 0) {
      const Held& held = held_[size(row.which)];
      value = g.scale_of(held.freedom) * (placed_[tree_.coordinate_of(held.freedom)] - held.at -
                                          held.ratio * (placed_[tree_.coordinate_of(held.leader)] - held.leader_at));
    } else {
      if (!measured) {
        joint_coordinates(model_, bodies_, q_, v_);
        unwind(model_, wound_, q_);
        measured = true;
      }
      const Coupling& c = model_.couplings()[size(row.coupling)];
      double slope = 0;
      value = coupling_residual(model_, row.coupling, q_) * coupling_row(g, c, slope);
    }
  }
}

void Loops::move(std::size_t group, const VecX& by, VecX& q) const {
  by_.head(by.size()) = by.cwiseQuotient(groups_[group].scale);
  tree_.move(groups_[group].freedoms, by_, q);
}

namespace {

// First number of an attitude among the freedoms of a node; nv where it has none.
int attitude_of(const JointNode& n) { return n.facts->ball() < 0 ? n.nv : n.facts->ball(); }

}  // namespace

// Attitudes: R = exp(u) R_0.
void Loops::difference(std::size_t group, const VecX& q, const VecX& to, VecX& out) const {
  const Group& g = groups_[group];
  out.resize(static_cast<Eigen::Index>(g.freedoms.size()));
  for (std::size_t i = 0; i < g.freedoms.size(); ++i) {
    const JointNode& n = tree_.nodes()[tree_.node_of_freedom(g.freedoms[i])];
    const int k = g.freedoms[i] - n.v0, ball = attitude_of(n);
    double d = 0;
    if (k < ball) {
      d = to[n.q0 + k] - q[n.q0 + k];
      if (n.facts->winds(k)) d = std::remainder(d, 2 * std::numbers::pi);
    } else {
      const auto attitude = [&](const VecX& at) {
        return Quat(at[n.q0 + ball], at[n.q0 + ball + 1], at[n.q0 + ball + 2], at[n.q0 + ball + 3]);
      };
      d = log_so3(attitude(to) * attitude(q).conjugate())[k - ball];
    }
    out[static_cast<Eigen::Index>(i)] = d * g.scale[static_cast<Eigen::Index>(i)];
  }
}

void Loops::rates(std::size_t group, const VecX& v, VecX& out) const {
  const Group& g = groups_[group];
  out.resize(static_cast<Eigen::Index>(g.freedoms.size()));
  for (Eigen::Index i = 0; i < out.size(); ++i) out[i] = v[g.freedoms[static_cast<std::size_t>(i)]] * g.scale[i];
}

void Loops::rate_of_difference(std::size_t group, const VecX& difference, const VecX& v, VecX& out) const {
  const Group& g = groups_[group];
  rates(group, v, out);
  for (std::size_t i = 0; i < g.freedoms.size(); ++i) {
    const JointNode& n = tree_.nodes()[tree_.node_of_freedom(g.freedoms[i])];
    if (g.freedoms[i] - n.v0 != attitude_of(n)) continue;  // all of a joint's freedoms belong to one group, in their order
    const auto at = static_cast<Eigen::Index>(i);
    out.segment<3>(at) = (dexp_inv_so3(difference.segment<3>(at)) * v.segment<3>(g.freedoms[i])).eval();
  }
}

bool Loops::close(std::size_t group, int rank, const VecX& wound, VecX& q) {
  MatX J;
  VecX r, by;
  double last = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kClosingIterations; ++k) {
    place(q, wound);
    residual(group, r);
    const double now = r.norm();
    if (!std::isfinite(now)) return false;
    if (now == 0 || (now < kClosed && now > 0.5 * last)) return true;
    if (k > 4 && now > 0.9 * last && now > kClosed) return false;
    last = now;
    jacobian(group, J);
    by = least_norm_solution(J, r, kNull, rank);
    if (!(by.norm() < 1)) return false;
    move(group, -by, q);
  }
  return last < kClosed;
}

}  // namespace invar
