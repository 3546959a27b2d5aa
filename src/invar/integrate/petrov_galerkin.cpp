// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/petrov_galerkin.hpp"

#include "invar/base/check.hpp"
#include "invar/mech/turns.hpp"

namespace invar {
namespace {

constexpr int kMostDivisions = 6;  // a step may be divided into 64 parts

// x + d as a sum and what rounding left of it (Knuth).
void add_compensated(const VecX& d, VecX& x, VecX& rest) {
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const double sum = x[i] + d[i], part = sum - x[i];
    rest[i] = (x[i] - (sum - part)) + (d[i] - part);
    x[i] = sum;
  }
}

}  // namespace

PetrovGalerkin::PetrovGalerkin(const PetrovGalerkinOptions& options, const char* name) : options_(options), name_(name) {
  INVAR_CHECK(options.degree >= 0 && options.degree <= 3 && options.quadrature >= 0 && options.quadrature <= kMaxGaussPoints &&
                  (!options.discrete || options.degree == 0),
              "degrees are 0 to 3, and the discrete gradient is of degree 0");
  if (options_.quadrature == 0) options_.quadrature = options_.degree + 3;
}

void PetrovGalerkin::reset(const System& system, const State& x, double) {
  bind(natural_of(system));
  start_ = end_ = x;
  carry_x_ = carry_v_ = change_ = VecX::Zero(x.q.size());
  parts_.resize(kMostDivisions + 1);
  for (Part& part : parts_) part.x = x, part.carry_x = carry_x_, part.carry_v = carry_v_;
  fresh_ = true;
  h_ = 0;
  report_ = {};
}

// Steps of another stage have another length: nothing is extrapolated from them.
void PetrovGalerkin::stage(int k) {
  if (k != stage_ && stages_) stages_->restart();
  stage_ = k;
}

// Sizes everything for a mechanism, unless it is the same as before.
void PetrovGalerkin::bind(const Natural& natural) {
  if (!stages_ || serial_ != natural.serial()) {
    serial_ = natural.serial();
    stages_ = std::make_unique<Stages>(
        natural, StageOptions{options_.degree + 1, options_.quadrature, options_.discrete, options_.stabilised});
    bodies_.resize(natural.model().bodies().size());
    q_ = VecX::Zero(natural.model().nq());
    v_ = VecX::Zero(natural.model().nv());
  }
}

Verdict PetrovGalerkin::finish(double h, State& x) {
  // Increments with what rounding left before.
  change_ = carry_x_;
  stages_->add_position(1, change_);
  add_compensated(change_, x.q, carry_x_);
  change_ = carry_v_;
  stages_->add_velocity(1, change_);
  add_compensated(change_, x.v, carry_v_);
  x.aux[kWork] += stages_->work(1);
  x.aux[kDissipated] += stages_->dissipated(1);
  x.wound += h * x.wound_rate;
  const Natural& natural = stages_->natural();
  natural.bodies(x, bodies_);
  return count_turns(natural.model(), bodies_, q_, v_, x);
}

Verdict PetrovGalerkin::whole(System& system, double t, double h, State& x) {
  const Verdict verdict = stages_->solve(system, t, h, x, carry_x_, carry_v_);
  report_.iterations += stages_->iterations();
  if (!verdict.ok()) return verdict;
  return finish(h, x);
}

Verdict PetrovGalerkin::advance(System& system, double t, double h, int depth, State& x) {
  Part& before = parts_[static_cast<std::size_t>(depth)];
  before.x = x, before.carry_x = carry_x_, before.carry_v = carry_v_;
  const Verdict verdict = whole(system, t, h, x);
  if (verdict.ok()) {
    stages_->keep();
    return verdict;
  }
  x = before.x, carry_x_ = before.carry_x, carry_v_ = before.carry_v;
  stages_->forget();
  if (depth == kMostDivisions) return verdict;
  // Half of it, twice.
  ++report_.substeps;
  if (const Verdict half = advance(system, t, 0.5 * h, depth + 1, x); !half.ok()) return half;
  return advance(system, t + 0.5 * h, 0.5 * h, depth + 1, x);
}

Verdict PetrovGalerkin::step(System& system, double t, double h, State& x, double& h_done) {
  h_done = 0;
  INVAR_CHECK(stages_ && &stages_->natural() == &system.formulation(), "a step follows a reset with the same formulation");
  // A state that is not the end of the step before has nothing left over from rounding.
  if (fresh_ || x.q != end_.q || x.v != end_.v) {
    carry_x_.setZero();
    carry_v_.setZero();
    fresh_ ? stages_->forget() : stages_->jump();
  }
  fresh_ = false;
  start_ = x;
  report_ = {};
  const Verdict verdict = advance(system, t, h, 0, x);
  if (!verdict.ok()) {
    x = end_ = start_;
    fresh_ = true;
    h_ = 0;
    return verdict;
  }
  end_ = x;
  h_ = h;
  h_done = h;
  report_.hamiltonian = stages_->natural().hamiltonian(x);
  return {};
}

// The polynomial of the step; over a divided one the cubic with the values and velocities of its ends.
void PetrovGalerkin::interpolate(const System&, double theta, State& out) const {
  out = start_;
  if (h_ == 0) return;
  if (report_.substeps > 1) return between(start_, end_, h_, theta, out);
  out.wound += theta * h_ * start_.wound_rate;
  stages_->add_position(theta, out.q);
  stages_->add_velocity(theta, out.v);
  out.aux[kWork] += stages_->work(theta);
  out.aux[kDissipated] += stages_->dissipated(theta);
}

std::unique_ptr<Stepper> make_midpoint() {
  return std::make_unique<PetrovGalerkin>(PetrovGalerkinOptions{.degree = 0, .quadrature = 1}, "midpoint");
}

}  // namespace invar
