// SPDX-License-Identifier: Apache-2.0
//
//   M (v½ - v0) - G(x0)ᵀ μ0 = h/2 f(x0, v½),     x1 = x0 + h v½,   g(x1) = 0
//   M (v1 - v½) - G(x1)ᵀ μ1 = h/2 f(x1, v½),     G(x1) v1 = 0
// The first line is solved by Newton's method for (v½ - v0, μ0) with the matrix [M + h/2 C  -G(x0)ᵀ; G(x1) 0], the row divided by
// h, C the slope of dampers and friction; the second line is linear. M may be singular as long as it is definite on ker G.
#include "invar/integrate/rattle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/base/check.hpp"
#include "invar/mech/turns.hpp"

namespace invar {
namespace {

constexpr int kMostPasses = 60;
constexpr double kLong = 1e-3;            // of speeds: increments above it must shrink
constexpr double kLeastPart = 1.0 / 64;   // part of an increment that is tried
constexpr int kMostHalvings = 10;         // a step is halved at most so many times
constexpr double kSpeedRounding = 4e-16;  // of speeds
constexpr double kCreeping = 1e-9;        // lengths of a connected part per step

}  // namespace

Rattle::Workspace::Workspace(const Natural& n)
    : natural(n),
      solver(n.coordinates(), 1, 1),
      chooser(n.coordinates(), 1, 1),
      w(VecX::Zero(n.coordinates().size())),
      mu(VecX::Zero(n.coordinates().rows())),
      v_half(w),
      x1(w),
      v_before(w),
      dw(w),
      dmu(mu),
      force(w),
      product(w),
      right(w),
      r(mu),
      sizes(n.coordinates()),
      paces(static_cast<std::size_t>(sizes.parts())),
      bodies(n.model().bodies().size()),
      q(VecX::Zero(n.model().nq())),
      v(VecX::Zero(n.model().nv())) {}

void Rattle::reset(const System& system, const State& x, double) {
  const Natural& natural = natural_of(system);
  if (!work_ || serial_ != natural.serial()) work_ = std::make_unique<Workspace>(natural);
  serial_ = natural.serial();
  start_ = end_ = x;
  parts_.assign(kMostHalvings + 1, x);
  report_ = {};
  fresh_ = true;
  h_ = 0;
}

// Nothing is expected from the step before.
void Rattle::start_over() {
  work_->w.setZero();
  work_->mu.setZero();
}

// Steps of another stage have another length: nothing is expected from them.
void Rattle::stage(int k) {
  if (k != stage_) fresh_ = true;
  stage_ = k;
}

// Forces at positions `at` with the velocity of the middle, into force; adds the powers.
void Rattle::add_forces(System& system, double t, const VecX& at, const VecX& wound, double& given, double& lost) {
  Workspace& k = *work_;
  const NaturalForces& forces = k.natural.forces();
  k.force.setZero();
  forces.add_gravity(1, k.force);
  forces.add_elastic(at, wound, 1, k.force);
  lost += forces.add_dissipation(at, k.v_half, wound, 1, k.force);
  if (!system.acts()) return;
  k.natural.coordinates().load(at, k.v_half, k.bodies);
  given += forces.add_load(system.load(t, k.bodies), at, k.v_half, 1, k.force).total();
}

Verdict Rattle::to_middle(System& system, double t, double h, const State& x) {
  Workspace& k = *work_;
  const NaturalCoordinates& c = k.natural.coordinates();
  if (k.solver.closure_rows() > 0) {
    if (const Verdict verdict = k.chooser.choose(x.q, k.natural.mobility().freedoms); !verdict.ok()) return verdict;
    k.solver.use(k.chooser);
  }
  for (int r = 0; r < c.rows(); ++r)
    if (!k.solver.active(r)) k.mu[r] = 0;
  // A speed that moves nothing by more than a rounding within the step is no scale.
  k.sizes.restart(kCreeping / std::abs(h));
  k.sizes.raise(x.v);
  k.sizes.measure(x.q);
  for (std::size_t p = 0; p < k.paces.size(); ++p) {
    const int part = static_cast<int>(p);
    // Rows are divided by h, and so is their rounding; loops make more of it (by 20 in drawn ones).
    k.paces[p] = {0, 4 * 1.1e-16 * (k.sizes.last(part) + k.sizes.length(part)) / std::abs(h)};
  }
  double part = 1, last = std::numeric_limits<double>::infinity();
  for (int count = 1; count <= kMostPasses; ++count) {
    ++report_.iterations;
    Verdict verdict = increment(system, t, h, x, count == 1);
    if (verdict.ok() && !k.right.allFinite()) verdict.status = Status::NotFinite;
    const double size = verdict.ok() && count > 1 ? k.sizes.relative(k.right) : 0;
    if (count > 1 && part > kLeastPart && (!verdict.ok() || (size > last && size > kLong))) {
      // The last increment was too long: half of it.
      part *= 0.5;
      k.w -= part * k.dw;
      k.mu -= part * k.dmu;
      continue;
    }
    if (!verdict.ok()) return verdict;
    part = count == 1 ? 1 : std::min(1.0, 2 * part);
    k.dw = k.right, k.dmu = k.r;
    k.w += part * k.dw;
    k.mu += part * k.dmu;
    if (count == 1) k.sizes.raise(k.w);
    last = k.sizes.relative(k.right);
    if (settled(count) && part == 1) return {};
  }
  double left = 0;
  for (const Workspace::Pace& pace : k.paces) left = std::max(left, pace.last);
  return {Status::NotConverged, -1, -1, left};
}

// What Newton's method asks for at the iterate: [M + h/2 C  -G(x0)ᵀ; G(x1) 0] (right, r).
Verdict Rattle::increment(System& system, double t, double h, const State& x, bool first) {
  Workspace& k = *work_;
  const NaturalCoordinates& c = k.natural.coordinates();
  k.v_before = k.v_half;
  k.v_half = x.v + k.w;
  k.x1 = x.q + h * k.v_half;
  given_ = lost_ = 0;
  add_forces(system, t, x.q, x.wound, given_, lost_);
  c.apply_mass(k.w, k.product);
  k.right = 0.5 * h * k.force - k.product;
  c.add_transposed(x.q, k.mu, 1, k.right);
  c.residual(k.x1, k.r);
  k.r /= -h;
  k.solver.clear();
  for (int b = 0; b < static_cast<int>(k.bodies.size()); ++b) k.solver.add(0, b, 0, b, 1, k.natural.mass(b));
  for (int r = 0; r < c.rows(); ++r) k.solver.add_row(0, r, 0, 1, k.x1), k.solver.add_force(0, r, 0, -1, x.q);
  if (k.natural.forces().dissipative())
    k.natural.forces().add_slopes(x.q, k.v_half, x.wound, 0, 0.5 * h, 0, 0, k.solver, first ? nullptr : &k.v_before);
  if (const Verdict verdict = k.solver.factor(); !verdict.ok()) return verdict;
  k.solver.solve(k.right, k.r);
  return {};
}

// Whether the increments of all connected parts are rounding, each by its own measure.
bool Rattle::settled(int count) {
  Workspace& k = *work_;
  k.sizes.measure(k.right);
  bool all = true;
  for (std::size_t p = 0; p < k.paces.size(); ++p) {
    Workspace::Pace& pace = k.paces[p];
    const double size = k.sizes.last(static_cast<int>(p)), scale = k.sizes.scale(static_cast<int>(p));
    const bool stalled = count > 1 && size > 0.7 * pace.last && size <= 1e-13 * scale + 64 * pace.floor;
    all = all && (size <= kSpeedRounding * scale + pace.floor || stalled);
    pace.last = size;
  }
  return all;
}

Verdict Rattle::to_end(System& system, double t, double h, State& x) {
  Workspace& k = *work_;
  const NaturalCoordinates& c = k.natural.coordinates();
  k.v_half = x.v + k.w;
  x.q += h * k.v_half;
  x.wound += h * x.wound_rate;
  add_forces(system, t + h, x.q, x.wound, given_, lost_);
  // One linear solve for v1 - v½.
  assemble_natural(k.natural, x.q, k.solver);
  if (const Verdict verdict = k.solver.factor(); !verdict.ok()) return verdict;
  k.right = 0.5 * h * k.force;
  c.apply_rows(x.q, k.v_half, k.r);
  k.r = -k.r;
  k.solver.solve(k.right, k.r);
  x.v = k.v_half + k.right;
  x.aux[kWork] += 0.5 * h * given_;
  x.aux[kDissipated] += 0.5 * h * lost_;
  if (!x.v.allFinite()) return {Status::NotFinite};
  k.natural.bodies(x, k.bodies);
  return count_turns(k.natural.model(), k.bodies, k.q, k.v, x);
}

// The whole, or half of it twice.
Verdict Rattle::advance(System& system, double t, double h, int depth, State& x) {
  State& before = parts_[static_cast<std::size_t>(depth)];
  before = x;
  Verdict verdict = to_middle(system, t, h, x);
  if (verdict.ok()) verdict = to_end(system, t, h, x);
  if (verdict.ok() || depth == kMostHalvings) return verdict;
  ++report_.substeps;
  x = before;
  start_over();
  if (const Verdict half = advance(system, t, 0.5 * h, depth + 1, x); !half.ok()) return half;
  return advance(system, t + 0.5 * h, 0.5 * h, depth + 1, x);
}

Verdict Rattle::step(System& system, double t, double h, State& x, double& h_done) {
  h_done = 0;
  INVAR_CHECK(work_ && &work_->natural == &system.formulation(), "a step follows a reset with the same formulation");
  if (fresh_ || h != h_) start_over();
  report_ = {};
  start_ = x;
  const Verdict verdict = advance(system, t, h, 0, x);
  fresh_ = !verdict.ok() || report_.substeps > 1;
  if (!verdict.ok()) {
    x = start_;
    return verdict;
  }
  end_ = x;
  h_done = h_ = h;
  report_.hamiltonian = work_->natural.hamiltonian(x);
  return {};
}

void Rattle::interpolate(const System&, double theta, State& out) const {
  out = start_;
  if (h_ != 0) between(start_, end_, h_, theta, out);
}

}  // namespace invar
