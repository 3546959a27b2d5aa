// SPDX-License-Identifier: Apache-2.0
// Constants of the tree elimination: what can be known before any state.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "invar/mech/tree_store.hpp"

namespace invar {
namespace {

using kernel::Hang;

Hang hang_of(const Joint& joint) {
  if (joint.nv == 0) return Hang::Fixed;
  if (joint.facts->is_turn()) return Hang::Revolute;
  return joint.facts->is_point() && !joint.has_armature() ? Hang::Ball : Hang::Serial;
}

// Theta = mid 1 - b bᵀ + g gᵀ with the principal moments low <= mid <= high: two vectors to turn instead of a tensor.
void set_inertia(const Inertia& inertia, const Vec3& c, kernel::Link<V>& link) {
  const Mat3 theta = inertia.I_C + inertia.mass * (c.squaredNorm() * Mat3::Identity() - c * c.transpose());
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(theta);
  const Vec3 moment = eigen.eigenvalues();
  link.mid = moment[1];
  link.b = triple(std::sqrt(std::max(0.0, moment[1] - moment[0])) * eigen.eigenvectors().col(0));
  link.g = triple(std::sqrt(std::max(0.0, moment[2] - moment[1])) * eigen.eigenvectors().col(2));
  link.mass = inertia.mass;
  link.c = triple(c);
}

// The axes of a Serial joint in the body that carries them. F's axes belong to the joint's parent, M's to its child.
void add_freedoms(const Joint& joint, bool reversed, std::vector<kernel::Freedom<V>>& out) {
  const double sign = reversed ? -1 : 1;
  const auto add = [&](int k, int axis, bool on_parent, bool is_angular, double pitch = 0) {
    kernel::Freedom<V> f{};
    const Quat& turn = on_parent ? joint.X_PF.q : joint.X_CM.q;
    f.axis = triple(turn * Vec3::Unit(axis));
    f.on_inner = on_parent != reversed;
    f.is_angular = is_angular;
    f.sign = sign;
    f.pitch = pitch;
    f.armature = joint.passive[k].armature;
    out.push_back(f);
  };
  // Slides and the first turn go with F, a second turn with M. A slide that shares its freedom with the turn is its advance.
  const Facts& facts = *joint.facts;
  for (int k = 0; k < joint.nv; ++k) {
    if (!joint.is_scalar(k)) {
      add(k, k - facts.ball(), true, true);
      continue;
    }
    const Element* own = nullptr;
    double advance = 0;
    bool behind = false, turned = false;
    for (const Element& e : facts.path()) {
      const bool slide = e.motion == Element::Motion::Slide;
      if (e.freedom == k && slide && facts.turns(k)) advance = e.factor;
      if (e.freedom == k && slide != facts.turns(k)) own = &e, behind = turned;
      turned = turned || !slide;
    }
    add(k, own->axis, !behind, facts.turns(k), advance);
  }
}

}  // namespace

// A column costs about 5 ns per body that it passes and 1 ns per pair of columns there; the factorization of Lambda m³/6.
double closure_cost(const Model& model, const SpanningTree& tree, const Piece& piece) {
  std::vector<int> columns(tree.nodes.size(), 0), last(tree.nodes.size(), -1);
  int id = 0, rows = 0;
  const auto run_down = [&](int joint, int count) {
    for (const int body : {model.joints()[joint].parent, model.joints()[joint].child})
      for (int node = body == kWorld ? -1 : tree.node_of_body[body]; node >= 0 && last[node] != id; node = tree.nodes[node].inner)
        last[node] = id, columns[node] += count;
  };
  for (const int j : tree.closures) {
    const int count = model.joints()[j].rows() + (model.joints()[j].has_armature() ? model.joints()[j].nv : 0);
    run_down(j, count);
    rows += count, ++id;
  }
  for (const int c : piece.couplings) {
    run_down(model.couplings()[c].joint, 1), run_down(model.couplings()[c].of, 1);
    ++rows, ++id;
  }
  double cost = static_cast<double>(rows) * rows * rows / 6;
  for (const int c : columns) cost += 5.0 * c + 1.0 * c * c;
  return cost;
}

SpanningTree restricted(const SpanningTree& tree, const Piece& piece) {
  SpanningTree out;
  out.node_of_body.assign(tree.node_of_body.size(), -1);
  std::vector<int> index(tree.nodes.size(), -1);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    TreeNode node = tree.nodes[i];
    if (!std::binary_search(piece.bodies.begin(), piece.bodies.end(), node.body)) continue;
    if (node.inner >= 0) node.inner = index[node.inner];
    out.node_of_body[node.body] = index[i] = static_cast<int>(out.nodes.size());
    out.nodes.push_back(node);
  }
  for (const int j : tree.closures)
    if (std::binary_search(piece.joints.begin(), piece.joints.end(), j)) out.closures.push_back(j);
  return out;
}

void TreeSolver::compile_links() {
  Store& s = *store_;
  const int n = static_cast<int>(tree_.nodes.size());
  s.links.resize(n + 1);
  s.work.resize(n + 1);
  s.slot_of_body.assign(model_.bodies().size(), 0);
  std::vector<Vec3>& p_BO = s.p_BO;
  p_BO.assign(n + 1, Vec3::Zero());
  s.freedoms.clear();

  for (int i = 0; i < n; ++i) {
    const TreeNode& node = tree_.nodes[i];
    const Body& body = model_.bodies()[node.body];
    kernel::Link<V>& link = s.links[i + 1];
    const kernel::Link<V> before = link;
    link = {};
    link.column = before.column, link.columns = before.columns, link.driven = before.driven;
    link.body = node.body;
    link.joint = node.joint;
    link.inner = node.inner + 1;
    link.effort = -1;
    link.reversed = node.reversed;
    s.slot_of_body[node.body] = i + 1;

    if (node.joint < 0) {
      link.hang = Hang::Root;
      p_BO[i + 1] = body.inertia.p_BC;
    } else {
      const Joint& joint = model_.joints()[node.joint];
      const Pose& inner_side = node.reversed ? joint.X_CM : joint.X_PF;
      const Pose& outer_side = node.reversed ? joint.X_PF : joint.X_CM;
      link.hang = hang_of(joint);
      link.effort = joint.nv > 0 ? joint.v0 : -1;
      p_BO[i + 1] = outer_side.p;
      if (link.inner > 0)
        link.d = triple(inner_side.p - p_BO[link.inner]);
      else
        link.anchor = pack(inner_side.p);
      if (link.hang == Hang::Revolute) {
        link.axis = triple((node.reversed ? -1.0 : 1.0) * (outer_side.q * Vec3::UnitZ()));
        link.armature = joint.passive[0].armature;
      }
      if (link.hang == Hang::Serial) {
        link.freedom = static_cast<int>(s.freedoms.size());
        add_freedoms(joint, node.reversed, s.freedoms);
        link.freedoms = joint.nv;
      }
    }
    set_inertia(body.inertia, body.inertia.p_BC - p_BO[i + 1], link);
  }

  // Round-off of a subtree's inertia, with a wide margin: what a pivot must exceed to be one (below, the joint graph decides).
  // Lengths along the tree bound the arms.
  std::vector<double>&mass = s.masses, &moment = s.moments;
  mass.assign(n + 1, 0);
  moment.assign(n + 1, 0);
  for (int i = n; i > 0; --i) {
    kernel::Link<V>& link = s.links[i];
    const double arm = Vec3(link.d.x, link.d.y, link.d.z).norm() + scales_.length_at(link.body);
    mass[i] += link.mass;
    moment[i] += link.mid + Vec3(link.g.x, link.g.y, link.g.z).squaredNorm();
    link.floor = 1e-13 * moment[i];
    link.mass_floor = 1e-13 * mass[i];
    mass[link.inner] += mass[i];
    moment[link.inner] += moment[i] + mass[i] * arm * arm;
  }
  s.total_mass = 0;
  for (int i = 1; i <= n; ++i) s.total_mass += s.links[i].mass;
  if (s.total_mass == 0) s.total_mass = 1;
}

void TreeSolver::compile_columns() {
  Store& s = *store_;
  const int n = static_cast<int>(tree_.nodes.size());
  const auto add_closure = [&](Closure::Sort sort, int index, int freedom, int rows) {
    s.closures.push_back({sort, index, freedom, rows_, rows, 1});
    rows_ += rows;
  };
  std::vector<bool> in_tree(model_.joints().size(), false);
  for (const TreeNode& node : tree_.nodes)
    if (node.joint >= 0) in_tree[node.joint] = true;
  for (const int j : tree_.closures) add_closure(Closure::Sort::Joint, j, 0, model_.joints()[j].rows());
  for (const int j : piece_.joints) {
    if (in_tree[j]) continue;
    s.loose.push_back(j);
    for (int k = 0; k < model_.joints()[j].nv; ++k)
      if (model_.joints()[j].passive[k].armature > 0) ++rotors_, add_closure(Closure::Sort::Rotor, j, k, 1);
  }
  for (const int c : piece_.couplings) add_closure(Closure::Sort::Coupling, c, 0, 1);

  // Every row runs from its ends to the ground or root; list the rows that pass each slot.
  std::vector<std::vector<int>> passing(n + 1);
  const auto run_down = [&](int body, const Closure& closure) {
    for (int slot = body == kWorld ? 0 : s.slot_of_body[body]; slot > 0; slot = s.links[slot].inner)
      for (int k = 0; k < closure.rows; ++k) passing[slot].push_back(closure.row + k);
  };
  for (const Closure& closure : s.closures) {
    std::vector<int> joints = {closure.index};
    if (closure.sort == Closure::Sort::Coupling)
      joints = {model_.couplings()[closure.index].joint, model_.couplings()[closure.index].of};
    for (const int j : joints) run_down(model_.joints()[j].parent, closure), run_down(model_.joints()[j].child, closure);
  }
  for (int i = 1; i <= n; ++i) {
    auto& ids = passing[i];
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    kernel::Link<V>& link = s.links[i];
    link.column = static_cast<int>(s.columns.size());
    link.columns = static_cast<int>(ids.size());
    for (const int id : ids) {
      kernel::Column<V> column{};
      column.id = id;
      column.up = link.inner > 0 ? s.column_at(link.inner, id) : -1;
      s.columns.push_back(column);
    }
  }
  s.loans.reserve(rows_);
  s.loan_columns.reserve(static_cast<std::size_t>(rows_) * rows_);
  s.loan_factor.reserve(static_cast<std::size_t>(rows_) * rows_);
  s.loan_motion.reserve(rows_);
  s.loan_of_slot.assign(s.links.size(), 0);
  s.loan_of_freedom.assign(s.freedoms.size(), 0);
  s.lambda.assign(static_cast<std::size_t>(rows_) * rows_, 0);
  s.right.assign(rows_, 0);
  s.multiplier.assign(rows_, 0);
  s.diagonal.assign(rows_, 0);
  s.pivot_column.assign(rows_, 0);
  s.reduced.assign(rows_, 0);
  s.order.assign(rows_, 0);
  s.chosen.assign(rows_, 0);
  s.gram.assign(static_cast<std::size_t>(rows_) * rows_, 0);
  s.carried.assign(s.columns.size(), {});
  s.entries.assign(3 * s.columns.size(), 0);
  s.direction.assign(rows_, Vec6::Zero());
  mark_starts();
}

// Where rows begin, and which column reaches the one below it first: nothing else has to be cleared in a solve.
void TreeSolver::mark_starts() {
  Store& s = *store_;
  std::vector<bool> touched(s.columns.size(), false);
  const auto begin = [&](int body, int id) {
    if (body == kWorld) return;
    const int slot = s.slot_of_body[body], column = s.column_at(slot, id);
    if (!touched[column]) s.starts.push_back({.column = column, .slot = slot});
    touched[column] = true;
  };
  for (Closure& closure : s.closures) {
    std::vector<int> joints = {closure.index};
    if (closure.sort == Closure::Sort::Coupling)
      joints = {model_.couplings()[closure.index].joint, model_.couplings()[closure.index].of};
    for (const int j : joints)
      for (const int body : {model_.joints()[j].parent, model_.joints()[j].child}) {
        for (int k = 0; k < closure.rows; ++k) begin(body, closure.row + k);
        if (body != kWorld && closure.sort == Closure::Sort::Coupling && s.links[s.slot_of_body[body]].joint == j)
          s.links[s.slot_of_body[body]].driven = true;
      }
  }
  compile_balls();
  // The elimination visits slots from the last to the first.
  for (int i = static_cast<int>(s.links.size()) - 1; i > 0; --i)
    for (int c = s.links[i].column; c < s.links[i].column + s.links[i].columns; ++c) {
      kernel::Column<V>& column = s.columns[c];
      if (column.up < 0) continue;
      column.first = !touched[column.up];
      touched[column.up] = true;
    }
}

// What balls outside the tree need, and the units of rows: both follow from numbers that edits may change.
void TreeSolver::compile_balls() {
  Store& s = *store_;
  for (Closure& closure : s.closures) {
    if (closure.sort != Closure::Sort::Joint) {
      const bool rotor = closure.sort == Closure::Sort::Rotor;
      const int j = rotor ? closure.index : model_.couplings()[closure.index].joint;
      const int k = rotor ? closure.freedom : model_.couplings()[closure.index].freedom;
      closure.unit = model_.joints()[j].turns(k) ? scales_.length_at(model_.joints()[j].child) : 1;
      continue;
    }
    const Joint& joint = model_.joints()[closure.index];
    if (!joint.facts->is_point()) continue;
    for (int k = 0; k < 3; ++k) {
      s.direction[closure.row + k] = linear(Vec3::Unit(k));
      closure.axis[k] = triple(joint.X_PF.R().col(k));
    }
    for (const int end : {0, 1}) {
      const int body = end == 0 ? joint.parent : joint.child;
      if (body == kWorld) continue;
      closure.slot[end] = s.slot_of_body[body];
      closure.column[end] = s.column_at(closure.slot[end], closure.row);
      const kernel::Triple<double>& c = s.links[closure.slot[end]].c;
      closure.arm[end] =
          triple((end == 0 ? joint.X_PF.p : joint.X_CM.p) - model_.bodies()[body].inertia.p_BC + Vec3(c.x, c.y, c.z));
    }
  }
}

bool TreeSolver::refresh() {
  if (!still_spans(tree_, model_)) return false;
  compile_links();
  compile_balls();
  drop_loans();
  rank_ = 0, wanted_rank_ = -1, chosen_ = 0;
  weakest_kept_ = 1, strongest_left_ = 0;
  weakest_row_ = -1;
  kept_ = false;
  return true;
}

}  // namespace invar
