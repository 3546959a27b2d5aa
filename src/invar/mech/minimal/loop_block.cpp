// SPDX-License-Identifier: Apache-2.0
//
// A joint outside the tree holds C V = 0 with V the twist of M relative to F, in F at M's origin; V is the sum of the screws that
// move its child and not its parent, less those that move its parent and not its child. A coupling holds
// rate driven = slope · rate driving. Rows are divided by their size and freedoms multiplied by theirs (the model's length for
// angles), so that pivots are pure numbers.
#include "invar/mech/minimal/loop_block.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "invar/mech/block_tree.hpp"
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/closed_form.hpp"
#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {
namespace {

constexpr int kIterations = 25;
constexpr double kRounding = 4e-16;
constexpr double kNoise = 1e-10;    // of lengths and turns: increments below it that no longer shrink are rounding
constexpr double kClosedForm = 16;  // roundings that a closed form may leave
constexpr double kSingular = 1e-13;

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

// Most blocks have three rows or fewer; loops of known length are unrolled.
bool factor_small(MatX& a, std::vector<int>& exchange, double least) {
  const auto fixed = [&](auto size) {
    constexpr int n = decltype(size)::value;
    Eigen::Matrix<double, n, n> m = a.topLeftCorner<n, n>();
    for (int k = 0; k < n; ++k) {
      int pivot = k;
      double scale = 1;
      for (int i = 0; i < k; ++i) scale = std::max(scale, std::abs(m(i, k)));
      for (int i = k + 1; i < n; ++i)
        if (std::abs(m(i, k)) > std::abs(m(pivot, k))) pivot = i;
      exchange[static_cast<std::size_t>(k)] = pivot;
      if (!(std::abs(m(pivot, k)) > least * std::max(scale, std::abs(m(pivot, k))))) return false;
      if (pivot != k) m.row(k).swap(m.row(pivot));
      m(k, k) = 1 / m(k, k);
      for (int i = k + 1; i < n; ++i) {
        m(i, k) *= m(k, k);
        for (int j = k + 1; j < n; ++j) m(i, j) -= m(i, k) * m(k, j);
      }
    }
    a.topLeftCorner<n, n>() = m;
    return true;
  };
  switch (a.rows()) {
    case 1: return fixed(std::integral_constant<int, 1>{});
    case 2: return fixed(std::integral_constant<int, 2>{});
    case 3: return fixed(std::integral_constant<int, 3>{});
    default: return factor_in_place(a, exchange, least);
  }
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

LoopBlock::LoopBlock(const JointTree& tree, std::vector<Row> rows, std::vector<int> dependent)
    : rows_(std::move(rows)), dependent_(std::move(dependent)), terms_(rows_.size()), screws_(dependent_.size()) {
  for (const int d : dependent_) {
    const std::size_t node = tree.node_of_freedom(d);
    if (elements_.empty() || elements_.back().node != node) elements_.push_back({node, {-1, {}, true}, {}});
  }
  for (Element& e : elements_)
    if (const JointNode& n = tree.nodes()[e.node]; n.joint >= 0)
      e.inner = side_of(tree, inner_body(tree, n), inner_frame(tree, n));
  std::vector<bool> drives(static_cast<std::size_t>(tree.nv()), false);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::array<Term, 2>& terms = terms_[r];
    const auto attach = [&](Term& term, int joint, int freedom) {
      term.freedom = tree.freedom_of_joint(joint, freedom);
      if (term.freedom < 0) term.cut = cut_of(tree, joint);
      for (int k = 0; k < tree.nv(); ++k)
        if (term.freedom == k ||
            (term.cut >= 0 && cuts_[static_cast<std::size_t>(term.cut)].sides[static_cast<std::size_t>(k)] != 0))
          drives[static_cast<std::size_t>(k)] = true;
    };
    if (rows_[r].which >= 0) {
      attach(terms[0], rows_[r].item, -1);
    } else {
      const Coupling& c = tree.model().couplings()[static_cast<std::size_t>(rows_[r].item)];
      attach(terms[0], c.joint, c.freedom);
      attach(terms[1], c.of, c.of_freedom);
    }
  }
  for (const int d : dependent_) drives[static_cast<std::size_t>(d)] = false;
  for (int k = 0; k < tree.nv(); ++k)
    if (drives[static_cast<std::size_t>(k)]) driving_.push_back(k);
  pins_a_point_ = cuts_.size() == 1 && (dependent_.size() == 2 || dependent_.size() == 3) &&
                  std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.which >= 0; }) &&
                  std::all_of(elements_.begin(), elements_.end(), [&](const Element& e) {
                    const JointKind kind = tree.nodes()[e.node].kind;
                    return kind == JointKind::Revolute || kind == JointKind::Prismatic;
                  });
  const auto n = static_cast<Eigen::Index>(dependent_.size());
  lu_.resize(n, n);
  exchange_.assign(dependent_.size(), 0);
  residual_.resize(static_cast<Eigen::Index>(rows_.size()));
  step_.resize(n);
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
  cuts_.push_back({joint, side_of(tree, j.parent, j.X_PF), side_of(tree, j.child, j.X_CM), tree.sides_of_joint(joint), {}, {}});
  return static_cast<int>(cuts_.size()) - 1;
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
    if (n.nv == 1) {  // about or along z, which both frames share
      const double sign = n.reversed ? -1 : 1, value = sign * q[n.q0];
      const bool turning = n.kind != JointKind::Prismatic;
      const double lead = n.kind == JointKind::Prismatic ? 1 : (n.kind == JointKind::Screw ? n.pitch : 0);
      const Vec3 z = z_axis(A.q);
      e.outer = {turning ? about_its_z(A.q, value) : A.q, A.p + (lead * value) * z};
      screws_[d++] = {(turning ? sign : 0.0) * z, (sign * lead) * z, e.outer.p};
      continue;
    }
    Pose X;
    Columns S;
    with_kind(n.kind, [&](auto kind) {
      X = kind.pose(q.data() + n.q0, n.pitch);
      kind.motion(q.data() + n.q0, n.pitch, S);
    });
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
  const Cut& cut = cuts_[static_cast<std::size_t>(terms_[first][0].cut)];
  const Joint& joint = tree.model().joints()[static_cast<std::size_t>(cut.joint)];
  const Mat3 R = cut.F.q.toRotationMatrix();
  if (joint.kind == JointKind::Spherical) {
    for (std::size_t r = first; r < last; ++r) {
      Term& term = terms_[r][0];
      term.factor = 1, term.w = Vec3::Zero(), term.v = R.col(rows_[r].which);
      residual_[static_cast<Eigen::Index>(r)] = term.v.dot(cut.M.p - cut.F.p);
    }
    return;
  }
  const Pose X = within(cut.F, cut.M);
  double q[7] = {};
  Rows C;
  Vec6 error;
  with_kind(joint.kind, [&](auto kind) {
    kind.measure(X, joint.pitch, q);
    kind.rows(q, joint.pitch, C);
    const Pose nearest = kind.pose(q, joint.pitch);
    error << log_so3(X.q * nearest.q.conjugate()), X.p - nearest.p;
  });
  for (std::size_t r = first; r < last; ++r) {
    const Vec6 row = C.row(rows_[r].which).transpose();
    const double size = row_size(row, tree.model().length());
    Term& term = terms_[r][0];
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
  with_kind(joint.kind, [&](auto kind) {
    kind.measure(within(cut.F, cut.M), joint.pitch, measured);
    kind.dual(measured, joint.pitch, dual);
  });
  term.w = cut.F.q * Vec3(dual.col(freedom).head<3>()), term.v = cut.F.q * Vec3(dual.col(freedom).tail<3>());
  return winds(joint.kind, freedom) ? nearest_turn(measured[freedom], wound[joint.v0 + freedom]) : measured[freedom];
}

void LoopBlock::coupling_row(const JointTree& tree, std::size_t row, const VecX& q, const VecX& wound) {
  const Coupling& c = tree.model().couplings()[static_cast<std::size_t>(rows_[row].item)];
  Term &driven = terms_[row][0], &driving = terms_[row][1];
  const double value = side_of_coupling(tree, driven, c.joint, c.freedom, q, wound);
  const Driven p = driven_by(c, side_of_coupling(tree, driving, c.of, c.of_freedom, q, wound));
  const double unit =
      turns(tree.model().joints()[static_cast<std::size_t>(c.joint)].kind, c.freedom) ? tree.model().length() : 1.0;
  driven.factor = unit, driving.factor = -unit * p.slope;
  residual_[static_cast<Eigen::Index>(row)] = unit * (value - p.value);
}

// The rate that a term sees of a freedom of the tree.
double LoopBlock::along(const Term& term, int freedom, const ScrewAxis& s) const {
  if (term.cut < 0) return term.freedom == freedom ? term.factor : 0.0;
  const Cut& cut = cuts_[static_cast<std::size_t>(term.cut)];
  const int side = cut.sides[static_cast<std::size_t>(freedom)];
  if (side == 0) return 0;
  return side * term.factor * (term.w.dot(s.w) + term.v.dot(s.v + s.w.cross(cut.M.p - s.point)));
}

void LoopBlock::evaluate(const JointTree& tree, const VecX& q, const VecX& wound) {
  place(tree, q);
  for (std::size_t r = 0; r < rows_.size();) {
    std::size_t end = r + 1;
    if (rows_[r].which < 0) {
      coupling_row(tree, r, q, wound);
    } else {
      while (end < rows_.size() && rows_[end].which >= 0 && rows_[end].item == rows_[r].item) ++end;
      joint_rows(tree, r, end);
    }
    r = end;
  }
}

bool LoopBlock::factor(const JointTree& tree) {
  const auto n = static_cast<Eigen::Index>(dependent_.size());
  for (Eigen::Index c = 0; c < n; ++c) {
    const int d = dependent_[static_cast<std::size_t>(c)];
    const ScrewAxis& s = screws_[static_cast<std::size_t>(c)];
    const double unit = 1 / tree.size_of(d);
    int cut = -1, side = 0;
    Vec3 linear;  // of the screw at the point of the cut joint
    for (Eigen::Index r = 0; r < n; ++r) {
      const std::array<Term, 2>& terms = terms_[static_cast<std::size_t>(r)];
      const Term& term = terms[0];
      if (rows_[static_cast<std::size_t>(r)].which < 0) {
        lu_(r, c) = unit * (along(term, d, s) + along(terms[1], d, s));
        continue;
      }
      if (term.cut != cut) {
        const Cut& at = cuts_[static_cast<std::size_t>(cut = term.cut)];
        side = at.sides[static_cast<std::size_t>(d)];
        linear = s.v + s.w.cross(at.M.p - s.point);
      }
      lu_(r, c) = side == 0 ? 0.0 : (side * unit) * (term.w.dot(s.w) + term.v.dot(linear));
    }
  }
  const bool fine = factor_small(lu_, exchange_, kSingular);
  // The diagonal holds reciprocals of pivots.
  double least = 0, most = 0;
  orientation_ = fine ? 1 : 0;
  for (Eigen::Index k = 0; k < n; ++k) {
    const double inverse = std::abs(lu_(k, k));
    if (k == 0 || inverse > most) most = inverse, weakest_ = dependent_[static_cast<std::size_t>(k)];
    least = k == 0 ? inverse : std::min(least, inverse);
    if ((lu_(k, k) < 0) != (exchange_[static_cast<std::size_t>(k)] != k)) orientation_ = -orientation_;
  }
  condition_ = n == 0 ? 1 : (fine ? least / most : 0);
  return fine;
}

Verdict LoopBlock::verdict(const JointTree& tree, Status status, double value) const {
  return {status, -1, weakest_ < 0 ? -1 : tree.joint_of(weakest_), value};
}

Verdict LoopBlock::look(const JointTree& tree, const Bodies& bodies, const VecX& wound, const VecX& q) {
  arrange(tree, bodies);
  evaluate(tree, q, wound);
  return factor(tree) ? Verdict{} : verdict(tree, Status::Singular, condition_);
}

// Increments into step_, in radians and metres, from where the tree stands.
bool LoopBlock::by_ruler_and_compass(const JointTree& tree, const Bodies& bodies) {
  if (!pins_a_point_) return false;
  for (const std::array<Term, 2>& terms : terms_)
    if (!terms[0].w.isZero(0)) return false;
  const Cut& cut = cuts_.front();
  const Model& model = tree.model();
  const Joint& joint = model.joints()[static_cast<std::size_t>(cut.joint)];
  std::array<closed_form::Freedom, 3> f;
  for (std::size_t d = 0; d < dependent_.size(); ++d) {
    const bool turning = tree.nodes()[elements_[d].node].kind == JointKind::Revolute;
    const ScrewAxis s = tree.screw(dependent_[d]);
    f[d] = {turning ? s.w : s.v, s.point, turning, cut.sides[static_cast<std::size_t>(dependent_[d])]};
  }
  const Pose child = body_pose(model, bodies, joint.child), parent = body_pose(model, bodies, joint.parent);
  const Vec3 M = child.p + child.q * joint.X_CM.p, F = parent.p + parent.q * joint.X_PF.p;
  if (dependent_.size() == 2) return closed_form::dyad(f[0], f[1], M, F, step_.data());
  const bool carries_m = f[0].side > 0;
  return closed_form::leg(f[0], f[1], f[2], carries_m ? M : F, carries_m ? F : M, step_.data());
}

Verdict LoopBlock::close(const JointTree& tree, const Bodies& bodies, const VecX& wound, VecX& q) {
  arrange(tree, bodies);
  const double length = tree.model().length(), rounding = kRounding * length;
  double noise = rounding;
  if (by_ruler_and_compass(tree, bodies)) {
    tree.move(dependent_, step_, q);
    noise = kClosedForm * rounding;
  }
  evaluate(tree, q, wound);
  double before = 0;
  for (int k = 0;; ++k) {
    if (!factor(tree)) return verdict(tree, Status::Singular, condition_);
    step_ = -residual_;
    solve_in_place(lu_, exchange_, step_.data());
    const double now = step_.cwiseAbs().maxCoeff();
    if (!std::isfinite(now)) return verdict(tree, Status::NotFinite, now);
    // Small corrections that no longer shrink are rounding.
    if (now <= (k == 0 ? noise : rounding) || (k > 1 && now > 0.5 * before && now <= kNoise * length)) return {};
    if (k == kIterations) return verdict(tree, Status::NotConverged, now);
    for (std::size_t d = 0; d < dependent_.size(); ++d) step_[static_cast<Eigen::Index>(d)] /= tree.size_of(dependent_[d]);
    tree.move(dependent_, step_, q);
    evaluate(tree, q, wound);
    // Newton's method squares its error: the next correction would be (now/before²) now². Below round-off it is not made.
    const double next = k > 0 ? now / before * (now / before) * now : now * now / (length * condition_);
    if (next <= rounding && residual_.cwiseAbs().maxCoeff() <= kNoise * length)
      return factor(tree) ? Verdict{} : verdict(tree, Status::Singular, condition_);
    before = now;
  }
}

void LoopBlock::rates(const JointTree& tree, const Bodies& bodies, VecX& v) {
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    double sum = 0;
    for (const Term& term : terms_[r]) {
      if (term.factor == 0) continue;
      if (term.cut < 0) {
        sum += term.factor * v[term.freedom];
        continue;
      }
      const Cut& cut = cuts_[static_cast<std::size_t>(term.cut)];
      const Joint& joint = tree.model().joints()[static_cast<std::size_t>(cut.joint)];
      const BodyState &parent = body_state(bodies, joint.parent), &child = body_state(bodies, joint.child);
      sum += term.factor *
             (term.w.dot(child.w_WB - parent.w_WB) + term.v.dot(child.velocity_at(cut.M.p) - parent.velocity_at(cut.M.p)));
    }
    step_[static_cast<Eigen::Index>(r)] = -sum;
  }
  solve_in_place(lu_, exchange_, step_.data());
  for (std::size_t d = 0; d < dependent_.size(); ++d)
    v[dependent_[d]] += step_[static_cast<Eigen::Index>(d)] / tree.size_of(dependent_[d]);
}

const VecX& LoopBlock::motion(const JointTree& tree, int freedom) {
  const ScrewAxis s = tree.screw(freedom);
  for (std::size_t r = 0; r < rows_.size(); ++r) step_[static_cast<Eigen::Index>(r)] = -entry(r, freedom, s);
  solve_in_place(lu_, exchange_, step_.data());
  for (std::size_t d = 0; d < dependent_.size(); ++d) step_[static_cast<Eigen::Index>(d)] /= tree.size_of(dependent_[d]);
  return step_;
}

}  // namespace invar
