// SPDX-License-Identifier: Apache-2.0
//
// A joint outside the tree holds C V = 0 with V the twist of M relative to F, in F at M's origin; V is the sum of the screws that
// move its child and not its parent, less those that move its parent and not its child. A coupling holds
// rate driven = slope · rate driving. Rows are divided by their size and freedoms multiplied by theirs (the length of the loops
// for angles), so that pivots are pure numbers. Solving is in loop_block_solve.cpp.
#include "invar/mech/minimal/loop_block.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/closed_form.hpp"
#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {
namespace {

constexpr double kFar = 1e-5;  // of the distance from the origin: its round-off is then far below what decides rank

// Products of unit quaternions, a few in a row: nothing to normalise.
Pose joined(const Pose& a, const Pose& b) { return {a.q * b.q, a.p + a.q * b.p}; }

Pose within(const Pose& a, const Pose& b) { return {a.q.conjugate() * b.q, a.q.conjugate() * (b.p - a.p)}; }

Vec3 z_axis(const Quat& q) {
  return {2 * (q.x() * q.z() + q.w() * q.y()), 2 * (q.y() * q.z() - q.w() * q.x()), 1 - 2 * (q.x() * q.x() + q.y() * q.y())};
}

Quat about_its_z(const Quat& q, double angle) {
  const double c = std::cos(0.5 * angle), s = std::sin(0.5 * angle);
  return {c * q.w() - s * q.z(), c * q.x() + s * q.y(), c * q.y() - s * q.x(), c * q.z() + s * q.w()};
}

// The bodies and frames that a joint of the tree lies between, inwards and outwards.
int inner_body(const JointTree& tree, const JointNode& n) {
  return n.inner < 0 ? kWorld : tree.nodes()[static_cast<std::size_t>(n.inner)].body;
}
const Pose& inner_frame(const JointTree& tree, const JointNode& n) {
  const Joint& joint = tree.model().joints()[static_cast<std::size_t>(n.joint)];
  return n.reversed ? joint.X_CM : joint.X_PF;
}
const Pose& outer_frame(const JointTree& tree, const JointNode& n) {
  const Joint& joint = tree.model().joints()[static_cast<std::size_t>(n.joint)];
  return n.reversed ? joint.X_PF : joint.X_CM;
}

}  // namespace

LoopBlock::LoopBlock(const JointTree& tree, const std::vector<Row>& kept, const std::vector<Row>& others,
                     std::vector<int> dependent)
    : dependent_(std::move(dependent)), screws_(dependent_.size()) {
  for (const int d : dependent_) {
    const std::size_t node = tree.node_of_freedom(d);
    if (elements_.empty() || elements_.back().node != node) elements_.push_back({node, {-1, {}, true}, {}});
  }
  for (Element& e : elements_)
    if (const JointNode& n = tree.nodes()[e.node]; n.joint >= 0)
      e.inner = side_of(tree, inner_body(tree, n), inner_frame(tree, n));
  for (const std::vector<Row>* rows : {&kept, &others})
    for (const Row& row : *rows) add_row(tree, row);
  std::sort(driving_.begin(), driving_.end());
  driving_.erase(std::unique(driving_.begin(), driving_.end()), driving_.end());
  find_nodes(tree);
  measure_length(tree);
  for (const int d : dependent_) units_.push_back(1 / size_of(tree, d));
  find_pin(tree);
  const auto n = static_cast<Eigen::Index>(dependent_.size()), m = static_cast<Eigen::Index>(rows_.size());
  lu_.resize(n, n);
  exchange_.assign(dependent_.size(), 0);
  residual_.resize(m);
  step_.resize(std::max(n, m));
  if (!tall() || n == 0) return;
  all_.resize(m, n), qr_.resize(m, n), anchor_.resize(m, n);
  tau_.resize(n), solution_.resize(n);
  order_.assign(dependent_.size(), 0);
}

void LoopBlock::add_row(const JointTree& tree, const Row& row) {
  RowAt at{row, static_cast<int>(rows_.size()), {}};
  const auto attach = [&](Term& term, int joint, int freedom) {
    const auto drives = [&](int k) {
      if (!std::binary_search(dependent_.begin(), dependent_.end(), k)) driving_.push_back(k);
    };
    term.freedom = tree.freedom_of_joint(joint, freedom);
    if (term.freedom >= 0) return drives(term.freedom);
    const std::size_t before = cuts_.size();
    term.cut = cut_of(tree, joint);
    if (cuts_.size() > before)
      for (const LoopFreedom& f : cuts_.back().loop) drives(f.freedom);
  };
  if (row.which >= 0) {
    attach(at.terms[0], row.item, 0);
  } else {
    const Coupling& c = tree.model().couplings()[static_cast<std::size_t>(row.item)];
    attach(at.terms[0], c.joint, c.freedom);
    attach(at.terms[1], c.of, c.of_freedom);
  }
  rows_.push_back(at);
}

int LoopBlock::element_at(const JointTree& tree, int body) const {
  for (int i = body == kWorld ? -1 : tree.node_of_body(body); i >= 0; i = tree.nodes()[static_cast<std::size_t>(i)].inner)
    for (std::size_t e = 0; e < elements_.size(); ++e)
      if (elements_[e].node == static_cast<std::size_t>(i)) return static_cast<int>(e);
  return -1;
}

LoopBlock::Side LoopBlock::side_of(const JointTree& tree, int body, const Pose& X_BF) const {
  const int before = element_at(tree, body);
  if (before < 0) return {before, X_BF, body == kWorld};
  const JointNode& n = tree.nodes()[elements_[static_cast<std::size_t>(before)].node];
  if (n.joint < 0 || n.body != body) return {before, {}, false};
  return {before, within(outer_frame(tree, n), X_BF), true};
}

int LoopBlock::cut_of(const JointTree& tree, int joint) {
  for (std::size_t c = 0; c < cuts_.size(); ++c)
    if (cuts_[c].joint == joint) return static_cast<int>(c);
  const Joint& j = tree.model().joints()[static_cast<std::size_t>(joint)];
  Cut cut{joint, side_of(tree, j.parent, j.X_PF), side_of(tree, j.child, j.X_CM), tree.loop_of_joint(joint), {}, {}, {}};
  cut.sides.assign(dependent_.size(), 0);
  for (const LoopFreedom& f : cut.loop)
    if (const auto d = std::lower_bound(dependent_.begin(), dependent_.end(), f.freedom);
        d != dependent_.end() && *d == f.freedom)
      cut.sides[static_cast<std::size_t>(d - dependent_.begin())] = f.side;
  cuts_.push_back(std::move(cut));
  return static_cast<int>(cuts_.size()) - 1;
}

// On one way from the ground and not on the other.
void LoopBlock::find_nodes(const JointTree& tree) {
  for (const Cut& cut : cuts_) {
    const Joint& joint = tree.model().joints()[static_cast<std::size_t>(cut.joint)];
    const std::vector<std::size_t> nodes = tree.nodes_between(joint.parent, joint.child);
    nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
  }
  std::sort(nodes_.begin(), nodes_.end());
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
}

void LoopBlock::measure_length(const JointTree& tree) {
  const Model& model = tree.model();
  double sum = 0;
  int count = 0;
  const auto add = [&](int j) {
    if (j < 0) return;
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    const auto arm = [&](int body, const Vec3& p) {
      if (body == kWorld) return;
      sum += (p - model.bodies()[static_cast<std::size_t>(body)].inertia.p_BC).squaredNorm();
      ++count;
    };
    arm(joint.parent, joint.X_PF.p);
    arm(joint.child, joint.X_CM.p);
  };
  for (const std::size_t n : nodes_) add(tree.nodes()[n].joint);
  for (const Cut& cut : cuts_) add(cut.joint);
  for (const RowAt& row : rows_)
    for (const Term& term : row.terms)
      if (term.freedom >= 0) add(tree.joint_of(term.freedom));
  length_ = sum > 0 ? std::sqrt(sum / count) : model.length();
}

double LoopBlock::size_of(const JointTree& tree, int freedom) const { return tree.turning(freedom) ? length_ : 1.0; }

void LoopBlock::find_pin(const JointTree& tree) {
  pin_ = -1;
  if (kept() != 2 && kept() != 3) return;
  const int cut = rows_.front().terms[0].cut;
  for (std::size_t r = 0; r < kept(); ++r)
    if (rows_[r].row.which < 0 || rows_[r].terms[0].cut != cut) return;
  for (const int d : dependent_) {
    const Facts& facts = *tree.nodes()[tree.node_of_freedom(d)].facts;
    if (!facts.is_turn() && !facts.is_slide()) return;
  }
  pin_ = cut;
}

bool LoopBlock::rides_on(const JointTree& tree, const std::vector<int>& freedoms) const {
  const auto moves = [&](int freedom, int body) {
    for (int i = body == kWorld ? -1 : tree.node_of_body(body); i >= 0; i = tree.nodes()[static_cast<std::size_t>(i)].inner)
      if (static_cast<std::size_t>(i) == tree.node_of_freedom(freedom)) return true;
    return false;
  };
  return std::any_of(cuts_.begin(), cuts_.end(), [&](const Cut& cut) {
    const Joint& joint = tree.model().joints()[static_cast<std::size_t>(cut.joint)];
    return std::any_of(freedoms.begin(), freedoms.end(), [&](int f) { return moves(f, joint.parent) && moves(f, joint.child); });
  });
}

// What does not move between the elements, from where the bodies stand.
void LoopBlock::arrange(const JointTree& tree, const Bodies& bodies) {
  const Model& model = tree.model();
  const auto see = [&](Side& side, int body, const Pose& X_BF) {
    if (side.rigid) return;
    const Pose X = joined(body_pose(model, bodies, body), X_BF);
    if (side.before < 0) {
      side.from = X;
      return;
    }
    const JointNode& n = tree.nodes()[elements_[static_cast<std::size_t>(side.before)].node];
    side.from =
        within(n.joint < 0 ? Pose{bodies[static_cast<std::size_t>(n.body)].q_WB, bodies[static_cast<std::size_t>(n.body)].p_WC}
                           : joined(body_pose(model, bodies, n.body), outer_frame(tree, n)),
               X);
  };
  for (Element& e : elements_)
    if (const JointNode& n = tree.nodes()[e.node]; n.joint >= 0) see(e.inner, inner_body(tree, n), inner_frame(tree, n));
  for (Cut& c : cuts_) {
    const Joint& joint = model.joints()[static_cast<std::size_t>(c.joint)];
    see(c.parent, joint.parent, joint.X_PF);
    see(c.child, joint.child, joint.X_CM);
  }
}

// Elements with their screws, and both frames of every cut joint, World.
void LoopBlock::place(const JointTree& tree, const VecX& q) {
  std::size_t d = 0;
  const auto from = [&](const Side& side) {
    return side.before < 0 ? side.from : joined(elements_[static_cast<std::size_t>(side.before)].outer, side.from);
  };
  for (Element& e : elements_) {
    const JointNode& n = tree.nodes()[e.node];
    const Pose A = from(e.inner);
    if (n.facts->on_z()) {  // which both frames share
      const double sign = n.reversed ? -1 : 1, value = sign * q[n.q0];
      const bool turning = n.facts->turns(0);
      const double lead = n.facts->steady_motion()(5, 0);
      const Vec3 z = z_axis(A.q);
      e.outer = {turning ? about_its_z(A.q, value) : A.q, A.p + (lead * value) * z};
      screws_[d++] = {(turning ? sign : 0.0) * z, (sign * lead) * z, e.outer.p};
      continue;
    }
    Pose X;
    Columns S;
    X = n.facts->pose(q.data() + n.q0), n.facts->motion(q.data() + n.q0, S);
    e.outer = joined(A, n.reversed ? X.inverse() : X);
    const Quat& q_WF = n.reversed ? e.outer.q : A.q;
    const Vec3& point = n.reversed ? A.p : e.outer.p;
    const double sign = n.reversed ? -1 : 1;
    for (; d < dependent_.size() && dependent_[d] < n.v0 + n.nv; ++d) {
      const int k = dependent_[d] - n.v0;
      screws_[d] = {sign * (q_WF * Vec3(S.col(k).head<3>())), sign * (q_WF * Vec3(S.col(k).tail<3>())), point};
    }
  }
  for (Cut& c : cuts_) c.F = from(c.parent), c.M = from(c.child);
}

// The rows of one cut joint, [first, last) of all.
void LoopBlock::joint_rows(const JointTree& tree, std::size_t first, std::size_t last) {
  const Cut& cut = cuts_[static_cast<std::size_t>(rows_[first].terms[0].cut)];
  const Joint& joint = tree.model().joints()[static_cast<std::size_t>(cut.joint)];
  const Mat3 R = cut.F.q.toRotationMatrix();
  if (joint.facts->is_point()) {
    for (std::size_t r = first; r < last; ++r) {
      Term& term = rows_[r].terms[0];
      term.factor = 1, term.w = Vec3::Zero(), term.v = R.col(rows_[r].row.which);
      residual_[static_cast<Eigen::Index>(r)] = term.v.dot(cut.M.p - cut.F.p);
    }
    return;
  }
  const Pose X = within(cut.F, cut.M);
  double q[7] = {};
  Rows C;
  Vec6 error;
  joint.facts->measure(X, q), joint.facts->rows(q, C);
  const Pose nearest = joint.facts->pose(q);
  error << log_so3(X.q * nearest.q.conjugate()), X.p - nearest.p;
  for (std::size_t r = first; r < last; ++r) {
    const Vec6 row = C.row(rows_[r].row.which).transpose();
    const double size = row_size(row, length_);
    Term& term = rows_[r].terms[0];
    term.factor = 1, term.w = R * row.head<3>() / size, term.v = R * row.tail<3>() / size;
    residual_[static_cast<Eigen::Index>(r)] = row.dot(error) / size;
  }
}

// A coordinate that a coupling speaks of; in the tree it is part of q, outside it is measured.
double LoopBlock::side_of_coupling(const JointTree& tree, Term& term, int j, int freedom, const VecX& q,
                                   const VecX& wound) const {
  if (term.freedom >= 0) return q[tree.coordinate_of(term.freedom)];
  const Joint& joint = tree.model().joints()[static_cast<std::size_t>(j)];
  const Cut& cut = cuts_[static_cast<std::size_t>(term.cut)];
  double measured[7] = {};
  Columns dual;
  joint.facts->measure(within(cut.F, cut.M), measured), joint.facts->dual(measured, dual);
  term.w = cut.F.q * Vec3(dual.col(freedom).head<3>()), term.v = cut.F.q * Vec3(dual.col(freedom).tail<3>());
  return joint.winds(freedom) ? nearest_turn(measured[freedom], wound[joint.v0 + freedom]) : measured[freedom];
}

void LoopBlock::coupling_row(const JointTree& tree, std::size_t row, const VecX& q, const VecX& wound) {
  const Coupling& c = tree.model().couplings()[static_cast<std::size_t>(rows_[row].row.item)];
  Term &driven = rows_[row].terms[0], &driving = rows_[row].terms[1];
  const double value = side_of_coupling(tree, driven, c.joint, c.freedom, q, wound);
  const Driven p = driven_by(c, side_of_coupling(tree, driving, c.of, c.of_freedom, q, wound));
  const double unit = tree.model().joints()[static_cast<std::size_t>(c.joint)].turns(c.freedom) ? length_ : 1.0;
  driven.factor = unit, driving.factor = -unit * p.slope;
  residual_[static_cast<Eigen::Index>(row)] = unit * (value - p.value);
}

void LoopBlock::evaluate(const JointTree& tree, const VecX& q, const VecX& wound, std::size_t first, std::size_t last) {
  for (std::size_t r = first; r < last;) {
    std::size_t end = r + 1;
    if (rows_[r].row.which < 0) {
      coupling_row(tree, r, q, wound);
    } else {
      while (end < last && rows_[end].row.which >= 0 && rows_[end].row.item == rows_[r].row.item) ++end;
      joint_rows(tree, r, end);
    }
    r = end;
  }
}

// The rate that a term sees of a freedom of the tree.
double LoopBlock::along(const Term& term, int freedom, const ScrewAxis& s) const {
  if (term.cut < 0) return term.freedom == freedom ? term.factor : 0.0;
  const Cut& cut = cuts_[static_cast<std::size_t>(term.cut)];
  const auto f =
      std::lower_bound(cut.loop.begin(), cut.loop.end(), freedom, [](const LoopFreedom& a, int k) { return a.freedom < k; });
  if (f == cut.loop.end() || f->freedom != freedom) return 0;
  return f->side * term.factor * (term.w.dot(s.w) + term.v.dot(s.v + s.w.cross(cut.M.p - s.point)));
}

double LoopBlock::size_along(const Term& term, int freedom, const ScrewAxis& s) const {
  if (term.cut < 0) return term.freedom == freedom ? std::abs(term.factor) : 0.0;
  // Points that should coincide do so up to the round-off of lengths of bodies, and of positions.
  const Vec3& M = cuts_[static_cast<std::size_t>(term.cut)].M.p;
  const double arm = std::max({(M - s.point).norm(), length_, kFar * M.norm()}), turn = s.w.norm();
  return std::abs(term.factor) * (term.w.norm() * turn + term.v.norm() * (s.v.norm() + turn * arm));
}

double LoopBlock::entry(std::size_t row, int freedom, const ScrewAxis& s) const {
  return along(rows_[row].terms[0], freedom, s) + along(rows_[row].terms[1], freedom, s);
}

double LoopBlock::entry_size(std::size_t row, int freedom, const ScrewAxis& s) const {
  return size_along(rows_[row].terms[0], freedom, s) + size_along(rows_[row].terms[1], freedom, s);
}

std::vector<int> LoopBlock::seen_by(std::size_t row) const {
  std::vector<int> out;
  for (const Term& term : rows_[row].terms) {
    if (term.freedom >= 0) out.push_back(term.freedom);
    if (term.cut < 0) continue;
    for (const LoopFreedom& f : cuts_[static_cast<std::size_t>(term.cut)].loop) out.push_back(f.freedom);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Increments into step_, in radians and metres, from where the tree stands.
bool LoopBlock::by_ruler_and_compass(const JointTree& tree, const Bodies& bodies) {
  if (pin_ < 0) return false;
  for (std::size_t r = 0; r < kept(); ++r)
    if (!rows_[r].terms[0].w.isZero(0)) return false;
  const Cut& cut = cuts_[static_cast<std::size_t>(pin_)];
  const Model& model = tree.model();
  const Joint& joint = model.joints()[static_cast<std::size_t>(cut.joint)];
  std::array<closed_form::Freedom, 3> f;
  for (std::size_t d = 0; d < dependent_.size(); ++d) {
    const bool turning = tree.nodes()[elements_[d].node].facts->is_turn();
    const ScrewAxis s = tree.screw(dependent_[d]);
    f[d] = {turning ? s.w : s.v, s.point, turning, cut.sides[d]};
  }
  const Pose child = body_pose(model, bodies, joint.child), parent = body_pose(model, bodies, joint.parent);
  const Vec3 M = child.p + child.q * joint.X_CM.p, F = parent.p + parent.q * joint.X_PF.p;
  if (dependent_.size() == 2) return closed_form::dyad(f[0], f[1], M, F, step_.data());
  const bool carries_m = f[0].side > 0;
  return closed_form::leg(f[0], f[1], f[2], carries_m ? M : F, carries_m ? F : M, step_.data());
}

}  // namespace invar
