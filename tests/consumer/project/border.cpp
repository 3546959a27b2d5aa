// SPDX-License-Identifier: Apache-2.0
// Memory that one side allocates and the other frees, grows or computes with: what a program does with states all the time. It
// works where both sides agree on how Eigen allocates, whatever flags the program is compiled with; built with other flags than
// the library, this ended in free() of a pointer that malloc never gave.
#include <Eigen/LU>
#include <invar/io/model_file.hpp>
#include <invar/io/scenario_file.hpp>
#include <invar/mech/minimal/minimal.hpp>
#include <invar/mech/minimal/modes.hpp>
#include <invar/mech/minimal/partition.hpp>
#include <invar/run/run.hpp>

namespace {

// States and evaluations go back and forth; each side replaces what the other has made.
bool states(const invar::Model& model) {
  for (const char* name : {"augmented", "minimal", "natural"}) {
    invar::Method method;
    method.formulation = name;
    const auto formulation = invar::make_formulation(model, method);
    auto x = invar::state_at(*formulation, invar::Start(model));
    if (!x) return false;
    invar::State copy = *x;
    copy.q.conservativeResize(copy.q.size() + 7);  // grown here
    copy.v = invar::VecX::Constant(333, 1.5);      // made here
    copy = *x;                                     // and made small again
    invar::Evaluation e;
    e.q = invar::VecX::Zero(100);  // made here, replaced there
    const invar::Load load(model);
    if (!formulation->evaluate(copy, load, e).ok()) return false;
    e.v.conservativeResize(1000);
    if (!formulation->evaluate(copy, load, e).ok() || e.v.size() != model.nv()) return false;
  }
  return true;
}

// Matrices that the library has computed, in products and factors of the program: its widest loads on the library's blocks.
bool matrices(const invar::Model& model) {
  invar::Minimal minimal(model);
  auto x = invar::state_at(minimal, invar::Start(model));
  invar::Partition p;
  if (!x || !invar::partition_at(minimal.tree(), x->q, x->v, x->wound, invar::Load(model), p).ok()) return false;
  invar::MatX large = invar::MatX::Random(211, 211) + 30 * invar::MatX::Identity(211, 211);
  large.topLeftCorner(p.Gamma.rows(), p.Gamma.cols()) += p.Gamma;
  const invar::MatX product = large * large.inverse();
  invar::Linear linear;
  if (!invar::linearize(minimal.tree(), x->q, x->v, x->wound, invar::Load(model), linear).ok()) return false;
  const invar::Modes modes = invar::modes_of(minimal.tree(), linear);
  return (product - invar::MatX::Identity(211, 211)).norm() < 1e-9 && !modes.modes.empty();
}

bool runs(const char* path) {
  auto scenario = invar::read_scenario_file(path);
  if (!scenario) return false;
  scenario->end_time = scenario->start_time + 0.1;
  const auto outcome = invar::run(*scenario);
  return outcome && outcome->end == invar::Outcome::End::Finished;
}

}  // namespace

bool crosses_the_border(const char* model, const char* scenario) {
  const auto read = invar::read_model(model);
  return read && states(*read) && matrices(*read) && runs(scenario);
}
