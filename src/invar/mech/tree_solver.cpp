// SPDX-License-Identifier: Apache-2.0
// Kinematics outward, elimination inward, accelerations and reactions outward. Formulas: kernel/recursion.hpp.
#include "invar/mech/tree_solver.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/kernel/recursion.hpp"
#include "invar/mech/tree_store.hpp"

namespace invar {

using kernel::Hang;
using Link = kernel::Link<V>;
using Work = kernel::Work<V>;
using Freedom = kernel::Freedom<V>;
using Column = kernel::Column<V>;

TreeSolver::TreeSolver(const Model& model, const Scales& scales, const Piece& piece, const SpanningTree& tree)
    : model_(model), scales_(scales), piece_(piece), tree_(tree), store_(std::make_unique<Store>()) {
  compile_links();
  compile_columns();
  store_->external.resize(model.bodies().size());
  store_->work[0] = {};
  store_->work[0].R = {V::axis(0, 1), V::axis(1, 1), V::axis(2, 1)};
}

TreeSolver::~TreeSolver() = default;

Verdict TreeSolver::solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                          std::vector<Wrench>& reactions) {
  const Port* port = gather_loads(bodies, input);
  if (input.again && kept_ && !input.dynamics) return solve_again(input, port, accelerations, reactions), Verdict{};
  kept_ = false;
  if (const Verdict verdict = eliminate_with_loans(bodies, input, port); !verdict.ok()) return verdict;
  if (rows_ > 0) {
    if (const Verdict verdict = solve_closures(bodies, input); !verdict.ok()) return verdict;
    apply_multipliers();
  }
  expand(input, accelerations, reactions);
  if (rows_ > 0 && input.reactions) closure_reactions(reactions);
  kept_ = !input.dynamics;
  return {};
}

double TreeSolver::coupling_effort(int coupling) const {
  for (const Closure& c : store_->closures)
    if (c.sort == Closure::Sort::Coupling && c.index == coupling) return c.unit * store_->multiplier[c.row];
  return 0;
}

// Efforts of joints outside the tree act as wrenches on their two bodies; without any, the port is used as it is.
const Port* TreeSolver::gather_loads(const Bodies& bodies, const KktInput& input) {
  Store& s = *store_;
  bool gathered = false;
  for (const int j : s.loose) {
    const Joint& joint = model_.joints()[j];
    if (!input.efforts || joint.nv == 0 || input.efforts->segment(joint.v0, joint.nv).isZero(0)) continue;
    if (!gathered) {
      if (input.port)
        std::copy(input.port->begin(), input.port->end(), s.external.begin());
      else
        std::fill(s.external.begin(), s.external.end(), Wrench{});
      gathered = true;
    }
    JointAt at;
    joint_at(model_, j, bodies, false, at);
    const Wrench w = effort_wrench(at, input.efforts->segment(joint.v0, joint.nv));
    s.external[joint.child] += w.about(at.arm_child);
    if (joint.parent != kWorld) s.external[joint.parent] -= w.about(at.arm_parent);
  }
  return gathered ? &s.external : input.port;
}

// Orientation, arms, bias accelerations and body terms. Only the bias is a recursion.
void TreeSolver::kinematics(const Bodies& bodies, const KktInput& input, const Port* port) {
  Store& s = *store_;
  Work& ground = s.work[0];
  ground.abar = input.dynamics ? pack(-model_.gravity()) : V{};
  const int n = static_cast<int>(s.links.size());
  for (int i = 1; i < n; ++i) {
    const Link& k = s.links[i];
    const BodyState& b = bodies[k.body];
    Work& x = s.work[i];
    const Work& in = s.work[k.inner];
    x.R = kernel::rotation(b.q_WB.w(), V::load(b.q_WB.coeffs().data()));
    x.w = input.dynamics ? V::load(b.w_WB.data()) : V{};
    x.r = in.R * k.d;
    switch (k.hang) {
      case Hang::Root: x.abar = V{}, x.alphabar = V{}, x.r = V{}; break;
      case Hang::Revolute:
        x.u = x.R * k.axis;
        x.abar = in.abar + cross(in.alphabar, x.r) + cross(in.w, cross(in.w, x.r));
        x.alphabar = in.alphabar + cross(in.w, x.w);
        break;
      case Hang::Ball:
        x.abar = in.abar + cross(in.alphabar, x.r) + cross(in.w, cross(in.w, x.r));
        x.alphabar = V{};
        break;
      case Hang::Fixed:
        x.abar = in.abar + cross(in.alphabar, x.r) + cross(in.w, cross(in.w, x.r));
        x.alphabar = in.alphabar;
        break;
      case Hang::Serial: serial_kinematics(i, bodies, input.dynamics); break;
    }
    if (input.bias && k.joint >= 0) add_bias(k, in, (*input.bias)[k.joint], x);
    if (port)
      body_terms(k, x, V::load_end((*port)[k.body].force.data()), V::load((*port)[k.body].moment.data()));
    else
      body_terms(k, x, V{}, V{});
  }
}

// Axes, measured displacement and rates of a joint that is neither a hinge nor a plain ball.
void TreeSolver::serial_kinematics(int i, const Bodies& bodies, bool dynamics) {
  Store& s = *store_;
  const Link& k = s.links[i];
  Work& x = s.work[i];
  const Work& in = s.work[k.inner];
  const BodyState& b = bodies[k.body];
  Freedom* freedoms = &s.freedoms[k.freedom];
  for (int f = 0; f < k.freedoms; ++f) freedoms[f].a = (freedoms[f].on_inner ? in.R : x.R) * freedoms[f].axis;

  // The joint point of the body seen from that of the inner body, kept along the sliding axes: gaps do not enter.
  const V c = x.R * k.c;
  const V c_in = in.R * s.links[k.inner].c;
  const Vec3 ground = Vec3::Zero();
  const BodyState* inner = k.inner > 0 ? &bodies[s.links[k.inner].body] : nullptr;
  const V from = inner ? pack(b.p_WC - inner->p_WC) + c_in - x.r : pack(b.p_WC) - k.anchor;
  const V gap = from - c;
  V slide{};
  for (int f = 0; f < k.freedoms; ++f)
    if (!freedoms[f].is_angular || freedoms[f].pitch != 0) slide += dot(freedoms[f].a, gap) * freedoms[f].a;
  x.r += slide;

  // Twist of each freedom at O; a reversed joint has its axes on the far side of the slide.
  for (int f = 0; f < k.freedoms; ++f) {
    Freedom& q = freedoms[f];
    q.sw = q.is_angular ? q.sign * q.a : V{};
    q.sv = q.is_angular ? (q.sign * q.pitch) * q.a : q.sign * q.a;
    if (q.is_angular && k.reversed) q.sv += cross(q.sw, slide);
  }

  // Rates, angular ones first; then what the slides see beyond them.
  V w_rel{}, v_rel{}, v_slide{};
  const V w_in = in.w;
  if (dynamics) {
    const V v_in = inner ? pack(inner->v_WC) - cross(w_in, c_in) : pack(ground);
    const V v = pack(b.v_WC) - cross(x.w, c) - v_in - cross(w_in, x.r);
    for (int f = 0; f < k.freedoms; ++f)
      if (freedoms[f].is_angular) {
        freedoms[f].rate = dot(freedoms[f].sw, x.w - w_in);
        w_rel += freedoms[f].rate * freedoms[f].sw;
        v_rel += freedoms[f].rate * freedoms[f].sv;
      }
    const V v_turning = v_rel;
    for (int f = 0; f < k.freedoms; ++f)
      if (!freedoms[f].is_angular) {
        freedoms[f].rate = dot(freedoms[f].sv, v - v_turning);
        v_slide += freedoms[f].rate * freedoms[f].sv;
      }
    v_rel += v_slide;
  }

  // Velocity products: moving arm, turning axes; axes that ride on the far body turn with it.
  x.abar = in.abar + cross(in.alphabar, x.r) + cross(w_in, cross(w_in, x.r)) + 2.0 * cross(w_in, v_rel);
  x.alphabar = in.alphabar + cross(w_in, w_rel);
  if (k.reversed) x.abar += cross(w_rel, v_slide + v_rel);
  if (dynamics && k.freedoms == 2 && freedoms[0].is_angular && freedoms[1].is_angular) {
    const Freedom& inside = freedoms[freedoms[0].on_inner ? 0 : 1];
    const Freedom& outside = freedoms[freedoms[0].on_inner ? 1 : 0];
    x.alphabar += (inside.rate * outside.rate) * cross(inside.sw, outside.sw);
  }
}

namespace {

// Lambda += w wᵀ/delta over the columns of a body, for one freedom.
void add_to_lambda(const Column* columns, int n, int freedom, double inverse, int rows, double* lambda) {
  for (int a = 0; a < n; ++a) {
    const double scaled = inverse * columns[a].w[freedom];
    double* row = lambda + static_cast<std::ptrdiff_t>(columns[a].id) * rows;
    for (int b = 0; b <= a; ++b) row[columns[b].id] += scaled * columns[b].w[freedom];
  }
}

// The same for a 3x3 inverse inertia: Lambda += Pᵀ I P.
void add_block_to_lambda(const Column* columns, int n, const kernel::Mat<V>& inverse, int rows, double* lambda) {
  for (int a = 0; a < n; ++a) {
    const V scaled = inverse * columns[a].m;
    double* row = lambda + static_cast<std::ptrdiff_t>(columns[a].id) * rows;
    for (int b = 0; b <= a; ++b) row[columns[b].id] += dot(scaled, columns[b].m);
  }
}

// A hinge on loan: the subtree goes inwards as if it were fixed, and turns by e + z. Returns what inertia it has itself.
double pass_idle_revolute(const Link& k, double loan, Work& x, Work& in) {
  const double delta = dot(x.u, x.D * x.u) + k.armature;
  x.delta_inverse = 1 / loan;
  x.uf = x.un = V{};
  shift(x, in);
  return delta;
}

// The same for one freedom of a Serial hang.
double keep_idle_freedom(double loan, Freedom& q, const Work& x) {
  const V Uf = x.A * q.sv + x.B * q.sw;
  const V Un = transposed_times(x.B, q.sv) + x.D * q.sw;
  q.delta_inverse = 1 / loan;
  q.uf = q.un = V{};
  return dot(q.sv, Uf) + dot(q.sw, Un) + q.armature;
}

void pass_columns(Column* columns, int n, std::vector<Column>& all) {
  for (int c = 0; c < n; ++c) {
    if (columns[c].up < 0) continue;
    Column& up = all[columns[c].up];
    if (columns[c].first)
      up.f = columns[c].f, up.n = columns[c].n;
    else
      up.f += columns[c].f, up.n += columns[c].n;
  }
}

}  // namespace

Verdict TreeSolver::eliminate(const KktInput& input) {
  Store& s = *store_;
  const double* efforts = input.efforts ? input.efforts->data() : nullptr;
  double* lambda = s.lambda.data();
  double* right = s.right.data();
  const bool lent = !s.loans.empty();
  for (int i = static_cast<int>(s.links.size()) - 1; i > 0; --i) {
    const Link& k = s.links[i];
    Work& x = s.work[i];
    Work& in = s.work[k.inner];
    Column* columns = s.columns.data() + k.column;
    // A pivot that is no number says nothing about inertia: a state or load has overflowed.
    const auto no_inertia = [&](double pivot, int freedom) {
      doubtful_slot_ = i, doubtful_freedom_ = freedom;
      return Verdict{std::isfinite(pivot) ? Status::NoInertia : Status::NotFinite, k.body, k.joint, pivot};
    };
    switch (k.hang) {
      case Hang::Revolute: {
        const double loan = lent ? s.loan_of_slot[i] : 0.0;
        const double delta = loan > 0 ? pass_idle_revolute(k, loan, x, in) : eliminate_revolute(k, x, in);
        pass_revolute(x, in, efforts ? efforts[k.effort] : 0.0);
        if (returned_ = loan > 0 && delta > k.floor; returned_ || !(loan > 0 || delta > k.floor)) return no_inertia(delta, 0);
        for (int c = 0; c < k.columns; ++c) {
          Column& p = columns[c];
          const double w = p.w[0] = dot(x.u, p.n) - (k.driven ? p.t[0] : 0.0);
          p.n += cross(x.r, p.f) - w * x.un;
          p.f -= w * x.uf;
        }
        if (k.columns > 0) add_to_lambda(columns, k.columns, 0, x.delta_inverse, rows_, lambda);
        add_to_right(columns, k.columns, 0, x.e, right);
        break;
      }
      case Hang::Ball:
      case Hang::Root: {
        const V effort = k.hang == Hang::Ball ? ball_effort(model_, k, x, in, input.efforts) : V{};
        const double bulk = first(x.D.c0) * second(x.D.c1) * third(x.D.c2);
        const double determinant = eliminate_ball(x);
        pass_ball(x, effort);
        if (!(determinant > 1e-14 * bulk) || !(bulk > k.floor * k.floor * k.floor)) return no_inertia(determinant, -1);
        for (int c = 0; c < k.columns; ++c) {
          Column& p = columns[c];
          p.m = p.n;
          p.f -= x.Y * p.n;
        }
        if (k.columns > 0) add_block_to_lambda(columns, k.columns, x.D, rows_, lambda);
        add_to_right(columns, k.columns, x.t, &Column::m, right);
        if (k.hang == Hang::Ball) {
          for (int c = 0; c < k.columns; ++c) columns[c].n = cross(x.r, columns[c].f);
          add_ball_to_inner(x, in);
          pass_ball_to_inner(x, in, effort);
        } else {
          double mass3;
          const double masses = first(x.A.c0) * second(x.A.c1) * third(x.A.c2);
          const kernel::Mat<V> Ai = kernel::inverse_spd(x.A, mass3);
          if (!(mass3 > 1e-14 * masses) || !(masses > k.mass_floor * k.mass_floor * k.mass_floor)) return no_inertia(mass3, -1);
          x.A = Ai;
          for (int c = 0; c < k.columns; ++c) columns[c].n = columns[c].m, columns[c].m = columns[c].f;
          if (k.columns > 0) add_block_to_lambda(columns, k.columns, Ai, rows_, lambda);
          add_to_right(columns, k.columns, -(Ai * x.pf), &Column::m, right);
        }
        break;
      }
      case Hang::Serial:
        for (int f = 0; f < k.freedoms; ++f) {
          Freedom& q = s.freedoms[k.freedom + f];
          const double loan = lent ? s.loan_of_freedom[k.freedom + f] : 0.0;
          const double delta = loan > 0 ? keep_idle_freedom(loan, q, x) : eliminate_freedom(q, x);
          pass_freedom(q, x, efforts ? efforts[k.effort + f] : 0.0);
          const double floor = q.is_angular ? k.floor : k.mass_floor;
          if (returned_ = loan > 0 && delta > floor; returned_ || !(loan > 0 || delta > floor)) return no_inertia(delta, f);
          for (int c = 0; c < k.columns; ++c) {
            Column& p = columns[c];
            const double w = p.w[f] = dot(q.sw, p.n) + dot(q.sv, p.f) - (k.driven ? p.t[f] : 0.0);
            p.n -= w * q.un;
            p.f -= w * q.uf;
          }
          if (k.columns > 0) add_to_lambda(columns, k.columns, f, q.delta_inverse, rows_, lambda);
          add_to_right(columns, k.columns, f, q.e, right);
        }
        [[fallthrough]];
      case Hang::Fixed:
        shift(x, in);
        pass_shift(x, in);
        for (int c = 0; c < k.columns; ++c) columns[c].n += cross(x.r, columns[c].f);
        break;
    }
    if (k.columns > 0 && k.hang != Hang::Root) pass_columns(columns, k.columns, s.columns);
  }
  return {};
}

// What the multipliers add to the biases of the elimination: e -= w lambda / delta, p' += P' lambda.
void TreeSolver::apply_multipliers() {
  Store& s = *store_;
  const double* multiplier = s.multiplier.data();
  for (std::size_t i = 1; i < s.links.size(); ++i) {
    const Link& k = s.links[i];
    if (k.columns == 0) continue;
    Work& x = s.work[i];
    V f{}, n{}, m{};
    double w[3] = {0, 0, 0}, t[3] = {0, 0, 0};
    const int freedoms = k.hang == Hang::Revolute ? 1 : k.freedoms;
    for (const Column* p = s.columns.data() + k.column; p < s.columns.data() + k.column + k.columns; ++p) {
      const double y = multiplier[p->id];
      f += y * p->f, n += y * p->n, m += y * p->m;
      for (int j = 0; j < freedoms; ++j) w[j] += y * p->w[j];
      if (k.driven)
        for (int j = 0; j < freedoms; ++j) t[j] += y * p->t[j];
    }
    switch (k.hang) {
      case Hang::Revolute: x.e -= w[0] * x.delta_inverse, x.driven = t[0], x.pf += f, x.pn += n; break;
      case Hang::Ball: x.t -= x.D * m, x.pf += f; break;
      case Hang::Root: x.t -= x.D * n, x.pf += f; break;
      case Hang::Serial:
        for (int j = 0; j < k.freedoms; ++j) {
          Freedom& q = s.freedoms[k.freedom + j];
          q.e -= w[j] * q.delta_inverse;
          q.driven = t[j];
        }
        [[fallthrough]];
      case Hang::Fixed: x.pf += f, x.pn += n; break;
    }
  }
  if (!s.loans.empty()) apply_loan_motion();
}

namespace {

// Wrench through a joint that was eliminated along its freedoms, on the body about O.
void joint_wrench(const Work& x, const Work& in, V& f, V& n) {
  f = x.pf + x.A * in.da + x.B * in.dalpha;
  n = x.pn + transposed_times(x.B, in.da) + x.D * in.dalpha - cross(x.r, f);
}

void put(const V& f, const V& n, bool reversed, Wrench& out) {
  (reversed ? f : -f).store(out.force.data());
  (reversed ? n : -n).store(out.moment.data());
}

// Constraint part of a Serial joint's wrench at the origin of M: what is left when the efforts on its freedoms are taken out.
void serial_reaction(const Link& k, const Work& x, const Work& in, const Freedom* freedoms, const double* efforts, Wrench& out) {
  V f, n;
  joint_wrench(x, in, f, n);
  if (k.reversed) n += cross(x.r - in.R * k.d, f);
  for (int j = 0; j < k.freedoms; ++j) {
    const Freedom& q = freedoms[j];
    const double effort = (efforts ? efforts[k.effort + j] : 0.0) + q.driven - q.armature * q.acceleration;
    (q.is_angular ? n : f) -= (q.sign * effort) * q.a;
  }
  put(f, n, k.reversed, out);
}

}  // namespace

void TreeSolver::expand(const KktInput& input, Accelerations& accelerations, std::vector<Wrench>& reactions) {
  Store& s = *store_;
  const double* efforts = input.efforts ? input.efforts->data() : nullptr;
  const V gravity = input.dynamics ? pack(model_.gravity()) : V{};
  for (int i = 1; i < static_cast<int>(s.links.size()); ++i) {
    const Link& k = s.links[i];
    Work& x = s.work[i];
    const Work& in = s.work[k.inner];
    x.da = in.da + cross(in.dalpha, x.r);
    switch (k.hang) {
      case Hang::Revolute: {
        const double acceleration = x.e - dot(x.uf, in.da) - dot(x.un, in.dalpha);
        x.dalpha = in.dalpha + acceleration * x.u;
        if (!input.reactions) break;
        V f, n;
        joint_wrench(x, in, f, n);
        const double effort = (efforts ? efforts[k.effort] : 0.0) + x.driven - k.armature * acceleration;
        put(f, n - effort * x.u, k.reversed, reactions[k.joint]);
        break;
      }
      case Hang::Ball:
        x.dalpha = x.t - transposed_times(x.Y, x.da);
        if (input.reactions) put(x.pf + x.A * x.da, V{}, k.reversed, reactions[k.joint]);
        break;
      case Hang::Root:
        x.da = -(x.A * x.pf);
        x.dalpha = x.t - transposed_times(x.Y, x.da);
        break;
      case Hang::Serial:
      case Hang::Fixed:
        x.dalpha = in.dalpha;
        for (int f = k.freedoms - 1; f >= 0; --f) {
          Freedom& q = s.freedoms[k.freedom + f];
          q.acceleration = q.e - dot(q.uf, x.da) - dot(q.un, x.dalpha);
          x.da += q.acceleration * q.sv;
          x.dalpha += q.acceleration * q.sw;
        }
        if (input.reactions) serial_reaction(k, x, in, s.freedoms.data() + k.freedom, efforts, reactions[k.joint]);
        break;
    }
    const V alpha = x.alphabar + x.dalpha;
    const V a = x.abar + x.da + gravity + cross(alpha, x.c) + cross(x.w, cross(x.w, x.c));
    a.store(accelerations[k.body].a_WC.data());
    alpha.store(accelerations[k.body].alpha_WB.data());
  }
}

}  // namespace invar
