// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/chart.hpp"

#include "invar/base/check.hpp"

namespace invar {

void Chart::reset(const State& x) {
  start_ = x;
  stage_ = x;
  rate_.v = VecX::Zero(x.v.size());
  rate_.a = VecX::Zero(x.v.size());
  rate_.aux = VecX::Zero(x.aux.size());
  origin_ = VecX::Zero(2 * x.v.size() + x.aux.size());
  u_ = VecX::Zero(x.v.size());
  u_dot_ = VecX::Zero(x.v.size());
}

// Where whole turns are counted from: a joint at constant rate is followed however far it turns in a step.
void Chart::expect_turns(double elapsed, State& x) const { x.wound = start_.wound + elapsed * start_.wound_rate; }

void Chart::start(double t, const State& x) {
  INVAR_CHECK(x.q.size() == start_.q.size() && x.v.size() == start_.v.size() && x.wound.size() == start_.wound.size() &&
                  x.aux.size() == start_.aux.size(),
              "an integrator steps states of the size that it was reset with");
  t0_ = t;
  start_ = x;
  origin_.segment(tangents(), tangents()) = x.v;
  origin_.tail(x.aux.size()) = x.aux;
}

Verdict Chart::slope(System& system, double t, const VecX& y, VecX& dydt) {
  // The state of the stage, and the derivatives there.
  u_ = u(y);
  system.retract(start_, u_, stage_);
  stage_.v = v(y);
  stage_.aux = aux(y);
  expect_turns(t - t0_, stage_);
  if (const Verdict verdict = system.rate(t, stage_, rate_); !verdict.ok()) return verdict;

  // The velocity of the stage seen in the chart.
  system.pull(u_, rate_.v, u_dot_);
  dydt.head(tangents()) = u_dot_;
  dydt.segment(tangents(), tangents()) = rate_.a;
  dydt.tail(rate_.aux.size()) = rate_.aux;
  return {};
}

Verdict Chart::slope_at_start(System& system, double t, VecX& dydt) {
  // No retract by zero: normalising a quaternion twice may change its last bit.
  stage_ = start_;
  if (const Verdict verdict = system.rate(t, stage_, rate_); !verdict.ok()) return verdict;
  dydt.head(tangents()) = rate_.v;
  dydt.segment(tangents(), tangents()) = rate_.a;
  dydt.tail(rate_.aux.size()) = rate_.aux;
  return {};
}

void Chart::state(const System& system, double elapsed, const VecX& y, State& x) const {
  // x.v carries u into retract, which writes x.q only.
  x.q.resize(start_.q.size());
  x.v = u(y);
  system.retract(start_, x.v, x);
  x.v = v(y);
  x.aux = aux(y);
  expect_turns(elapsed, x);
  x.wound_rate = start_.wound_rate;
}

Verdict Chart::finish(System& system, double elapsed, const VecX& y, State& x) const {
  if (!y.allFinite()) {
    x = start_;
    return {Status::NotFinite};
  }
  state(system, elapsed, y, x);
  const Verdict verdict = system.settle(x);
  if (!verdict.ok()) x = start_;
  return verdict;
}

}  // namespace invar
