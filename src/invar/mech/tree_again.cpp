// SPDX-License-Identifier: Apache-2.0
// A solve at the bodies of the last one, without dynamics: inertias, axes and closures are kept, and only loads pass. Formulas:
// kernel/recursion.hpp. A row begins with a wrench (f, n) about O on the bodies at its ends, so that their bias accelerations
// drive it by f·abar + n·alphabar.
#include <algorithm>

#include "invar/mech/kernel/recursion.hpp"
#include "invar/mech/tree_store.hpp"

namespace invar {

using kernel::Hang;
using Link = kernel::Link<V>;
using Work = kernel::Work<V>;
using Column = kernel::Column<V>;

void TreeSolver::solve_again(const KktInput& input, const Port* port, Accelerations& accelerations,
                             std::vector<Wrench>& reactions) {
  start_loads(input.bias, port);
  if (rows_ > 0) start_right(input);
  pass_loads(input);
  if (rows_ > 0) {
    reduce_right();
    if (!store_->loans.empty()) find_loan_motion();
    find_multipliers();
    apply_multipliers();
  }
  expand(input, accelerations, reactions);
  if (rows_ > 0 && input.reactions) closure_reactions(reactions);
}

// Bias accelerations and the bodies' own bias wrenches.
void TreeSolver::start_loads(const std::vector<Twist>* bias, const Port* port) {
  Store& s = *store_;
  for (std::size_t i = 1; i < s.links.size(); ++i) {
    const Link& k = s.links[i];
    Work& x = s.work[i];
    const Work& in = s.work[k.inner];
    V force{}, moment{};
    if (port) force = V::load_end((*port)[k.body].force.data()), moment = V::load((*port)[k.body].moment.data());
    x.abar = x.alphabar = V{};
    if (!bias) {
      x.pf = -force;
      x.pn = -moment - cross(x.c, force);
      continue;
    }
    if (k.hang != Hang::Root) {
      x.abar = in.abar + cross(in.alphabar, x.r);
      x.alphabar = in.alphabar;
      add_bias(k, in, (*bias)[k.joint], x);
    }
    still_terms(k, x, force, moment);
  }
}

void TreeSolver::start_right(const KktInput& input) {
  Store& s = *store_;
  std::fill(s.right.begin(), s.right.end(), 0.0);
  if (input.bias)
    for (const RowStart& start : s.starts) {
      const Work& x = s.work[start.slot];
      s.right[s.columns[start.column].id] += dot(start.f, x.abar) + dot(start.n, x.alphabar);
    }
  for (const Closure& c : s.closures) {
    if (c.sort == Closure::Sort::Coupling && input.coupling_bias) s.right[c.row] += c.unit * (*input.coupling_bias)[c.index];
    if (c.sort != Closure::Sort::Joint || !input.bias) continue;
    const Twist& bias = (*input.bias)[c.index];
    for (int k = c.row; k < c.row + c.rows; ++k)
      s.right[k] += s.direction[k].head<3>().dot(bias.angular) + s.direction[k].tail<3>().dot(bias.linear);
  }
}

void TreeSolver::pass_loads(const KktInput& input) {
  Store& s = *store_;
  const double* efforts = input.efforts ? input.efforts->data() : nullptr;
  double* right = s.right.data();
  for (int i = static_cast<int>(s.links.size()) - 1; i > 0; --i) {
    const Link& k = s.links[i];
    Work& x = s.work[i];
    Work& in = s.work[k.inner];
    const Column* columns = s.columns.data() + k.column;
    switch (k.hang) {
      case Hang::Revolute:
        pass_revolute(x, in, efforts ? efforts[k.effort] : 0.0);
        add_to_right(columns, k.columns, 0, x.e, right);
        break;
      case Hang::Ball: {
        const V effort = ball_effort(model_, k, x, in, input.efforts);
        pass_ball(x, effort);
        add_to_right(columns, k.columns, x.t, &Column::m, right);
        pass_ball_to_inner(x, in, effort);
        break;
      }
      case Hang::Root:
        pass_ball(x, V{});
        add_to_right(columns, k.columns, x.t, &Column::n, right);
        add_to_right(columns, k.columns, -(x.A * x.pf), &Column::m, right);
        break;
      case Hang::Serial:
        for (int f = 0; f < k.freedoms; ++f) {
          kernel::Freedom<V>& q = s.freedoms[k.freedom + f];
          pass_freedom(q, x, efforts ? efforts[k.effort + f] : 0.0);
          add_to_right(columns, k.columns, f, q.e, right);
        }
        [[fallthrough]];
      case Hang::Fixed: pass_shift(x, in); break;
    }
  }
}

}  // namespace invar
