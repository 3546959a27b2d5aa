// SPDX-License-Identifier: Apache-2.0
// Constants of the tree: the parts of the skeleton in the components of G, closures as quadratic rows, tendons on slots.
//
// In the plane a part sees the normal as the constant n_S and is given the basis (u, n_S × u): u is the axis of a slide,
// otherwise any direction across. Vectors keep their two components, rotations their angle, and what lies along the normal is
// constant.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/base/check.hpp"
#include "invar/mech/cayley/tree.hpp"

namespace invar::cayley {
namespace {

// Tendons that change Newton's increments by more than this share of them are part of its equations.
constexpr double kSoft = 0.02;
constexpr double kTurning = 0.01;
// Bodies with less than this part of the usual inertia in some direction may have to borrow.
constexpr double kLittle = 1e-3;

constexpr bool planar(const InPlane&) { return true; }
constexpr bool planar(const InSpace&) { return false; }

int unknowns_of(Hang hang, int angular, int all) {
  switch (hang) {
    case Hang::Ground: return 0;
    case Hang::Ball: return angular;
    case Hang::Free: return all;
    default: return 1;
  }
}

}  // namespace

template <class G>
Tree<G>::Tree(const Model& model, const Plane* plane, double h)
    : model_(model),
      plane_(plane),
      scales_(scales_of(model)),
      skeleton_(skeleton_of(model)),
      bodies_(model.bodies().size()),
      load_(model),
      asked_(model) {
  INVAR_CHECK(planar(G{}) == (plane != nullptr), "a tree in the plane needs the plane");
  length_ = std::abs(h);
  compile(h);
}

template <class G>
typename G::Lin Tree<G>::lin(const Vec3& a) const {
  if constexpr (planar(G{}))
    return plane_->project(a);
  else
    return a;
}

template <class G>
typename G::Ang Tree<G>::ang(const Vec3& a) const {
  if constexpr (planar(G{}))
    return Ang(a.dot(plane_->normal));
  else
    return a;
}

template <class G>
void Tree<G>::compile(double h) {
  const int n = static_cast<int>(skeleton_.parts.size());
  slots_.resize(n);
  basis_.resize(n);
  offset_.assign(n, 0.0);
  normal_.assign(n, Vec3::UnitZ());
  if constexpr (planar(G{})) {
    basis_[0].col(0) = plane_->e1;
    basis_[0].col(1) = plane_->e2;
    normal_[0] = plane_->normal;
  } else {
    basis_[0].setIdentity();
  }
  for (int i = 1; i < n; ++i) compile_slot(i);
  gravity_ = lin(model_.gravity());
  for (std::size_t body = 0; body < model_.bodies().size(); ++body) {
    const Place& at = skeleton_.places[body];
    centres_.push_back(basis_[at.part].transpose() * at.c);
    heights_.push_back(planar(G{}) ? offset_[at.part] + normal_[at.part].dot(at.c) : 0.0);
  }
  compile_lines(h);
  compile_ties();
  compile_columns();
  INVAR_CHECK(pins_.empty() || rows_ == 0, "pins know no ties");
  paces_.resize(pins_.empty() ? scales_.parts.size() : 1);
  for (Slot<G>& b : slots_) b.pace = pins_.empty() ? b.part : 0;
  guess_.assign(unknowns_, 0.0);
  lambda_.assign(rows_, 0.0);
  for (std::vector<double>* of : {&base_, &whole_, &here_}) of->assign(guess_.size() + lambda_.size(), 0.0);
  dlambda_ = value_ = right_ = mu_ = given_ = stiffness_ = lambda_;
  D_.assign(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(rows_), 0.0);
  lu_ = D_;
  for (Past& past : past_) {
    for (auto& u : past.unknowns) u.assign(unknowns_, 0.0);
    for (auto& l : past.impulses) l.assign(rows_, 0.0);
  }
  row_scale_.assign(rows_, 1.0);
  unknown_scale_ = row_scale_;
  idle_.assign(rows_, 0);
  for (const Tie<G>& tie : ties_) {
    if (tie.soft() || tie.sort == Tie<G>::Sort::Loan) {
      least_.insert(least_.end(), static_cast<std::size_t>(tie.rows), std::numeric_limits<double>::infinity());
      continue;
    }
    hard_rows_ += tie.rows;
    const Slot<G>& b = slots_[tie.slot[1] > 0 ? tie.slot[1] : tie.slot[0]];
    const bool angular =
        tie.sort == Tie<G>::Sort::Dot || (tie.sort == Tie<G>::Sort::Ratio && slots_[tie.slot[1]].hang != Hang::Slide);
    least_.insert(least_.end(), static_cast<std::size_t>(tie.rows), 1 / (b.usual * (angular ? b.reach * b.reach : 1.0)));
  }
  taken_.assign(rows_, 0);
  for (const double inverse : least_) strength_.push_back(1 / inverse);
  kept_.reserve(static_cast<std::size_t>(rows_));
  active_.reserve(static_cast<std::size_t>(rows_));
  std::vector<bool> scalar(model_.joints().size(), false);
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    const Part& part = skeleton_.parts[i];
    if (part.joint < 0) continue;
    scalar[part.joint] = slots_[i].hang != Hang::Ball;
    if (part.hang == Hang::Ball && model_.joints()[part.joint].has_passive) sprung_balls_.push_back(static_cast<int>(i));
  }
  for (std::size_t j = 0; j < scalar.size(); ++j)
    if (!scalar[j] && model_.joints()[j].nv > 0) loose_.push_back(static_cast<int>(j));
  // What the Jacobian leaves out: the pull of soft tendons, and terms of (angle per step)² of rows and efforts that turn.
  const bool turning =
      std::any_of(ties_.begin(), ties_.end(),
                  [](const Tie<G>& t) { return t.sort != Tie<G>::Sort::Point && t.sort != Tie<G>::Sort::Loan; }) ||
      std::any_of(slots_.begin(), slots_.end(), [](const Slot<G>& b) { return b.angle; });
  inexact_ = turning || !sprung_balls_.empty() ? kTurning : 0.0;
  for (const Line<G>& line : lines_)
    if (!line.stiff && !line.edge) inexact_ = std::max(inexact_, contraction(line, h));
  inexact_at_first_ = inexact_;
}

template <class G>
bool Tree<G>::coupled(int freedom) const {
  return std::any_of(model_.couplings().begin(), model_.couplings().end(), [&](const Coupling& c) {
    return freedom == model_.joints()[c.joint].v0 + c.freedom || freedom == model_.joints()[c.of].v0 + c.of_freedom;
  });
}

template <class G>
void Tree<G>::compile_slot(int i) {
  const Part& part = skeleton_.parts[i];
  Slot<G>& slot = slots_[i];
  auto& basis = basis_[i];
  if constexpr (planar(G{})) {
    normal_[i] = part.Q.transpose() * normal_[part.inner];
    basis.col(0) = part.hang == Hang::Slide ? Vec3(Vec3::UnitZ()) : any_perpendicular(normal_[i].normalized());
    basis.col(1) = normal_[i].cross(basis.col(0));
    offset_[i] = offset_[part.inner] + normal_[part.inner].dot(part.rho) + normal_[i].dot(part.gam);
  } else {
    basis.setIdentity();
  }
  const auto& inner = basis_[part.inner];
  slot.hang = part.hang;
  slot.inner = part.inner;
  slot.Q = inner.transpose() * part.Q * basis;
  slot.rho = inner.transpose() * part.rho;
  slot.gam = basis.transpose() * part.gam;
  slot.sign = part.sign;
  slot.unknown = unknowns_;
  unknowns_ += unknowns_of(part.hang, G::A, G::N);
  slot.mass = part.mass;
  if constexpr (planar(G{}))
    slot.J(0, 0) = normal_[i].dot(part.J * normal_[i]);
  else
    slot.J = part.J;
  slot.massive = slot.mass > 0 || slot.J.cwiseAbs().maxCoeff() > 0;
  // A link between two motions of a joint is measured as the body behind it.
  int behind = i;
  while (skeleton_.parts[behind].body == kWorld) ++behind;
  const int body = skeleton_.parts[behind].body;
  slot.size = scales_.body_length[body];
  slot.part = scales_.part_of_body[body];
  slot.usual = scales_.mass_at(body);
  slot.reach = scales_.length_at(body);
  if (part.joint < 0) return;
  const Joint& joint = model_.joints()[part.joint];
  slot.freedom = joint.v0 + part.freedom;
  slot.pitch = part.hang == Hang::Screw ? joint.pitch : 0;
  slot.armature = joint.passive[part.freedom].armature;
  if (joint.has_passive) slot.passive = &joint.passive[part.freedom];
  slot.angle = joint.has_passive || slot.armature > 0 || part.hang == Hang::Screw || coupled(slot.freedom);
  if constexpr (planar(G{})) {
    if (part.hang == Hang::Hinge && normal_[i].z() < 0) slot.sign = -slot.sign;
    // In the plane a hinge passes forces alone, as a ball does in space, and its absolute rate is as good an unknown.
    if (part.hang == Hang::Hinge && !slot.angle) slot.hang = Hang::Ball;
  }
}

// The rows of a cut joint. F belongs to the joint's parent (end 0), M to its child (end 1).
template <class G>
void Tree<G>::compile_joint_ties(int j) {
  const Joint& joint = model_.joints()[j];
  const int a = skeleton_.part_of(joint.parent), b = skeleton_.part_of(joint.child);
  const Lin arm_a = basis_[a].transpose() * skeleton_.arm(model_, joint.parent, joint.X_PF.p);
  const Lin arm_b = basis_[b].transpose() * skeleton_.arm(model_, joint.child, joint.X_CM.p);
  const Mat3 F = skeleton_.axes(joint.parent, joint.X_PF.q), M = skeleton_.axes(joint.child, joint.X_CM.q);
  using Sort = typename Tie<G>::Sort;
  const auto add = [&](Sort sort, const Vec3& u_a, const Vec3& u_b) {
    Tie<G> tie{};
    tie.sort = sort;
    tie.row = rows_;
    tie.rows = sort == Sort::Point ? G::L : 1;
    tie.joint = j;
    tie.coupling = -1;
    tie.slot[0] = a, tie.slot[1] = b;
    tie.arm[0] = arm_a, tie.arm[1] = arm_b;
    tie.u[0] = basis_[a].transpose() * u_a, tie.u[1] = basis_[b].transpose() * u_b;
    rows_ += tie.rows;
    ties_.push_back(tie);
  };
  const Vec3 none = Vec3::Zero();
  if constexpr (planar(G{})) {
    // Of all rows those that say something in the plane; `across` is perpendicular to the slide, or any direction.
    int slides = 0, axis = -1;
    for (const Element& e : joint.facts->path())
      if (e.motion == Element::Motion::Slide) ++slides, axis = e.axis;
    const Vec3 along_F = slides == 1 ? Vec3(F.col(axis)) : Vec3(basis_[a].col(0));
    const Vec3 across_F = normal_[a].cross(along_F);
    const Vec3 along_M = M * (F.transpose() * along_F);
    if (slides == 0) add(Sort::Point, none, none);
    if (slides == 1) add(Sort::Along, across_F, none);
    if (joint.facts->turning() == Turning::None) add(Sort::Dot, across_F, along_M);
    compile_soft_ties(j, arm_a, arm_b);
    return;
  }
  // Forms of the facts; three of them on M - F close the point.
  const auto forms = joint.facts->forms();
  const bool point = std::count_if(forms.begin(), forms.end(), [](const Form& form) { return !form.b.isZero(0); }) == 3;
  if (point) add(Sort::Point, none, none);
  for (const Form& form : forms)
    for (int i = 0; i < 3; ++i) {
      if (form.b[i] != 0 && !point) add(Sort::Along, F.col(i), none);
      for (int k = 0; k < 3; ++k)
        if (form.A(i, k) != 0) add(Sort::Dot, F.col(i), M.col(k));
    }
  compile_soft_ties(j, arm_a, arm_b);
}

// Springs, dampers and stops of a cut joint.
template <class G>
void Tree<G>::compile_soft_ties(int j, const Lin& arm_a, const Lin& arm_b) {
  const Joint& joint = model_.joints()[j];
  if (!joint.has_passive) return;
  const int a = skeleton_.part_of(joint.parent), b = skeleton_.part_of(joint.child);
  const Mat3 F = skeleton_.axes(joint.parent, joint.X_PF.q), M = skeleton_.axes(joint.child, joint.X_CM.q);
  int about = 2;
  for (const Element& e : joint.facts->path())
    if (e.motion == Element::Motion::Turn) about = e.axis;
  using Sort = typename Tie<G>::Sort;
  const auto add = [&](Sort sort, int k, const Vec3& u_a, const Vec3& u_b) {
    Tie<G> tie{};
    tie.sort = sort;
    tie.row = rows_++;
    tie.rows = 1;
    tie.joint = j;
    tie.coupling = -1;
    tie.freedom = joint.v0 + k;
    tie.passive = &joint.passive[static_cast<std::size_t>(k)];
    tie.slot[0] = a, tie.slot[1] = b;
    tie.arm[0] = arm_a, tie.arm[1] = arm_b;
    tie.u[0] = basis_[a].transpose() * u_a, tie.u[1] = basis_[b].transpose() * u_b;
    if constexpr (planar(G{}))
      tie.n = Ang(F.col(about).dot(normal_[a]));
    else
      tie.n = F.col(about);
    ties_.push_back(tie);
  };
  const Vec3 none = Vec3::Zero();
  for (const Element& e : joint.facts->path()) {
    if (e.motion == Element::Motion::Slide) add(Sort::Slide, e.freedom, F.col(e.axis), none);
    const int across = (e.axis + 1) % 3;
    if (e.motion == Element::Motion::Turn) add(Sort::Turn, e.freedom, F.col(across), M.col(across));
  }
}

template <class G>
void Tree<G>::compile_ties() {
  for (const int j : skeleton_.closures) compile_joint_ties(j);
  const auto slot_of_freedom = [&](int freedom) {
    for (int i = 1; i < static_cast<int>(slots_.size()); ++i)
      if (slots_[i].freedom == freedom) return i;
    return 0;
  };
  for (int c = 0; c < static_cast<int>(model_.couplings().size()); ++c) {
    const Coupling& coupling = model_.couplings()[c];
    Tie<G> tie{};
    tie.sort = Tie<G>::Sort::Ratio;
    tie.row = rows_++;
    tie.rows = 1;
    tie.joint = -1;
    tie.coupling = c;
    tie.slot[0] = slot_of_freedom(model_.joints()[coupling.of].v0 + coupling.of_freedom);
    tie.slot[1] = slot_of_freedom(model_.joints()[coupling.joint].v0 + coupling.freedom);
    ties_.push_back(tie);
  }
  for (int l = 0; l < static_cast<int>(lines_.size()); ++l) {
    if (!lines_[l].stiff) continue;
    Tie<G> tie{};
    tie.sort = Tie<G>::Sort::Line;
    tie.row = rows_++;
    tie.rows = 1;
    tie.joint = tie.coupling = -1;
    tie.line = l;
    ties_.push_back(tie);
  }
  compile_loans();
}

// Who may have to borrow: freedoms in parts with closures that carry a body with little inertia in some direction.
template <class G>
void Tree<G>::compile_loans() {
  std::vector<bool> looped(scales_.parts.size(), false);
  const auto part_of_joint = [&](int j) { return scales_.part_of_body[model_.joints()[j].child]; };
  for (const int j : skeleton_.closures) looped[part_of_joint(j)] = true;
  for (const Coupling& c : model_.couplings()) looped[part_of_joint(c.joint)] = true;
  first_loan_ = rows_;
  bool little = false;  // of the body that the slots so far lead to
  for (int i = static_cast<int>(slots_.size()) - 1; i > 0; --i) {
    Slot<G>& b = slots_[i];
    const int body = skeleton_.parts[i].body;
    if (body != kWorld) {
      const double least = G::A == 1 ? b.J(0, 0) : Eigen::SelfAdjointEigenSolver<typename G::AA>(b.J).eigenvalues()[0];
      little = looped[scales_.part_of_body[body]] && (b.mass < kLittle * b.usual || least < kLittle * b.usual * b.size * b.size);
    }
    if (!little) continue;
    Tie<G> tie{};
    tie.sort = Tie<G>::Sort::Loan;
    tie.row = b.loan = rows_;
    tie.rows = unknowns_of(b.hang, G::A, G::N);
    tie.joint = skeleton_.parts[i].joint;
    tie.coupling = -1;
    tie.slot[0] = 0, tie.slot[1] = i;
    rows_ += tie.rows;
    ties_.push_back(tie);
  }
}

// Every slot on the path from an end to the ground carries a column for each row.
template <class G>
void Tree<G>::compile_columns() {
  std::vector<std::vector<int>> rows_at(slots_.size());
  for (const Tie<G>& tie : ties_) {
    std::vector<int> ends(tie.slot, tie.slot + 2);
    for (int k = 0; tie.line >= 0 && k < lines_[tie.line].count; ++k) ends.push_back(points_[lines_[tie.line].first + k].slot);
    for (const int end : ends)
      for (int i = end; i > 0; i = slots_[i].inner)
        for (int r = tie.row; r < tie.row + tie.rows; ++r) rows_at[i].push_back(r);
  }
  for (int i = 1; i < static_cast<int>(slots_.size()); ++i) {
    auto& rows = rows_at[i];
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    slots_[i].column = static_cast<int>(columns_.size());
    slots_[i].columns = static_cast<int>(rows.size());
    for (const int r : rows) {
      Column<G> column;
      column.row = r;
      column.up = -1;
      const Slot<G>& inner = slots_[slots_[i].inner];
      for (int c = inner.column; slots_[i].inner > 0 && c < inner.column + inner.columns; ++c)
        if (columns_[c].row == r) column.up = c;
      columns_.push_back(column);
    }
  }
}

// How fast iteration with the impulse of a tendon taken from the last iterate would converge, from above: stiffness and damping
// over the step against the inverse mass at its points.
template <class G>
double Tree<G>::contraction(const Line<G>& line, double h) const {
  double inverse_mass = 0;
  for (int k = line.first; k < line.first + line.count; ++k) {
    const Slot<G>& b = slots_[points_[k].slot];
    if (points_[k].slot == 0) continue;
    if (!b.massive) return 1;
    const double J = b.J.diagonal().minCoeff();
    inverse_mass += (b.mass > 0 ? 1 / b.mass : 0.0) + (J > 0 ? points_[k].arm.squaredNorm() / J : 0.0);
  }
  return inverse_mass * (0.25 * h * h * line.tendon->stiffness + 0.5 * std::abs(h) * line.tendon->damping);
}

template <class G>
void Tree<G>::compile_lines(double h) {
  for (const Tendon& tendon : model_.tendons()) {
    Line<G> line{};
    line.tendon = &tendon;
    line.first = static_cast<int>(points_.size());
    line.count = static_cast<int>(tendon.points.size());
    for (const Tendon::Point& p : tendon.points) {
      typename Line<G>::Point point{};
      point.slot = skeleton_.part_of(p.body);
      const Vec3 arm = skeleton_.arm(model_, p.body, p.p_BP);
      point.arm = basis_[point.slot].transpose() * arm;
      if constexpr (planar(G{})) point.off = offset_[point.slot] + normal_[point.slot].dot(arm);
      points_.push_back(point);
    }
    line.stiff = contraction(line, h) > kSoft;
    lines_.push_back(line);
  }
  compile_pins();
}

#define INVAR_MEMBERS(G)                                      \
  template Tree<G>::Tree(const Model&, const Plane*, double); \
  template typename G::Lin Tree<G>::lin(const Vec3&) const;   \
  template typename G::Ang Tree<G>::ang(const Vec3&) const;
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
