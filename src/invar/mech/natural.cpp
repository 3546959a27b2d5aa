// SPDX-License-Identifier: Apache-2.0
//
// Rows are g_r = u·w - c with u, w linear in x, so that d²g_r/dt² = G_r a + 2 u'·w', and the right side of the rows is -2 u'·w'.
// Accelerations of directors are α × d + w × (w × d): the angular acceleration is read like an angular velocity.
#include "invar/mech/natural.hpp"

#include <cmath>

#include "invar/base/check.hpp"
#include "invar/mech/turns.hpp"
#include "invar/model/edit.hpp"

namespace invar {
Natural::Natural(const Model& model, const NaturalOptions& options)
    : Formulation(model),
      options_(options),
      quadratic_(natural_objection(model).empty()),
      coordinates_(model, options.flat),
      forces_(coordinates_),
      equations_(coordinates_),
      unreduced_(model, AugmentedOptions{.verdicts = options.verdicts}),
      bodies_(model.bodies().size()),
      moving_(model.bodies().size()),
      accelerations_(model.bodies().size()),
      reactions_(model.joints().size()),
      q_(VecX::Zero(model.nq())),
      v_(VecX::Zero(model.nv())),
      a_(VecX::Zero(coordinates_.size())) {
  for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b) {
    mass_.push_back(MatX::Zero(coordinates_.per_body(), coordinates_.per_body()));
    coordinates_.mass_block(b, mass_.back());
  }
}

void Natural::set(const Bodies& bodies, State& x, const VecX& turns) {
  coordinates_.set_offsets(bodies);
  forces_.refresh();
  coordinates_.store(bodies, x.q, x.v);
  State unreduced;
  unreduced_.set(bodies, unreduced, turns);  // prepares its solver there
  x.wound = unreduced.wound;
  x.wound_rate = unreduced.wound_rate;
  x.aux = VecX::Zero(kAuxiliaries);
  choose(x.q);
}

// One rank: that of the joint graph, which was decided or looked at here before.
void Natural::choose(const VecX& x) {
  by_graph_ = equations_.choose(x).ok() && quadratic_ && equations_.freedoms() > mobility().freedoms;
}

void assemble_natural(const Natural& natural, const VecX& x, NaturalElimination& to) {
  const NaturalCoordinates& c = natural.coordinates();
  to.clear();
  for (int b = 0; b < static_cast<int>(c.model().bodies().size()); ++b) to.add(0, b, 0, b, 1, natural.mass(b));
  for (int r = 0; r < c.rows(); ++r) {
    to.add_row(0, r, 0, 1, x);
    to.add_force(0, r, 0, -1, x);
  }
}

Verdict Natural::accelerate(const State& x, const Load& load) {
  if (by_graph_ || unreduced_.passes()) bodies(x, bodies_);
  const bool by_graph = by_graph_ || unreduced_.passes_at(bodies_);
  if (const Verdict verdict = by_graph ? Verdict{} : equations_.factor(x.q, x.v); !verdict.ok()) return verdict;
  a_.setZero();
  forces_.add_gravity(1, a_);
  forces_.add_elastic(x.q, x.wound, 1, a_);
  dissipation_ = forces_.add_dissipation(x.q, x.v, x.wound, 1, a_);
  power_ = forces_.add_load(load, x.q, x.v, 1, a_);
  if (by_graph) return accelerate_by_graph(x, load);
  return equations_.solve(x.q, a_);
}

// Where a singular configuration is passed, or squares do not tell the rank: from the unreduced accelerations. Stored like
// velocities they give α × d; the rest of a director's acceleration is w × (w × d).
Verdict Natural::accelerate_by_graph(const State& x, const Load& load) {
  if (const Verdict verdict = unreduced_.solve(bodies_, load, x.wound, accelerations_, reactions_, false); !verdict.ok())
    return verdict;
  moving_ = bodies_;
  for (std::size_t b = 0; b < moving_.size(); ++b)
    moving_[b].v_WC = accelerations_[b].a_WC, moving_[b].w_WB = accelerations_[b].alpha_WB;
  coordinates_.store(moving_, unused_, a_);
  const int per_body = coordinates_.per_body(), n = coordinates_.plane() ? 2 : 3;
  for (int b = 0; b < static_cast<int>(moving_.size()); ++b)
    for (int i = per_body - (n == 2 ? 2 : 9); i < per_body; i += n) {
      const Vec3& w = bodies_[static_cast<std::size_t>(b)].w_WB;
      if (n == 2) {
        a_.segment<2>(per_body * b + i) -= w.squaredNorm() * x.q.segment<2>(per_body * b + i);
      } else {
        const Vec3 d = x.q.segment<3>(per_body * b + i);
        a_.segment<3>(per_body * b + i) += w.cross(w.cross(d));
      }
    }
  return {};
}

double Natural::prepare_step(const State& x, double h, bool whole) {
  if (!quadratic_) return h;
  bodies(x, bodies_);
  return unreduced_.prepare_step(bodies_, x.wound, h, whole);
}

Verdict Natural::rate(const State& x, const Load& load, Rate& rate) {
  INVAR_CHECK(quadratic_, "flows take models without natural_objection");
  const Verdict verdict = accelerate(x, load);
  rate.v = x.v;
  rate.a = a_;
  rate.aux.setZero(kAuxiliaries);
  rate.aux[kWork] = power_.efforts;
  rate.aux[kDissipated] = dissipation_;
  return verdict;
}

BodyAcceleration Natural::acceleration(int b, const VecX& x, const BodyState& s) const {
  if (coordinates_.plane()) {
    const Plane& plane = *coordinates_.plane();
    return {plane.lift(a_.segment<2>(4 * b)), angular_rate(coordinates_, b, x, a_)};
  }
  const Mat3 D = coordinates_.directors(b, x);
  Vec3 sum = Vec3::Zero();
  for (int i = 0; i < 3; ++i) {
    const Vec3 d = D.col(i), centripetal_part = s.w_WB.cross(s.w_WB.cross(d));
    sum += 0.5 * d.cross(Vec3(a_.segment<3>(12 * b + 3 + 3 * i)) - centripetal_part);
  }
  return {a_.segment<3>(12 * b), sum};
}

Verdict Natural::evaluate(const State& x, const Load& load, Evaluation& out) {
  for (const VecX* numbers : {&x.q, &x.v})
    for (int i = 0; i < numbers->size(); ++i)
      if (!std::isfinite((*numbers)[i])) {
        bodies(x, out.bodies);
        return {Status::NotFinite, i / coordinates_.per_body(), -1, (*numbers)[i]};
      }
  bodies(x, out.bodies);
  return unreduced_.evaluate_bodies(x.wound, load, out);
}

Verdict Natural::accelerations(const State& x, const Load& load, Accelerations& out) {
  INVAR_CHECK(quadratic_, "natural equations are those of models without natural_objection");
  if (const Verdict verdict = accelerate(x, load); !verdict.ok()) return verdict;
  bodies(x, bodies_);
  out.resize(bodies_.size());
  for (int b = 0; b < static_cast<int>(out.size()); ++b) {
    const auto i = static_cast<std::size_t>(b);
    out[i] = acceleration(b, x.q, bodies_[i]);
    if (!out[i].a_WC.allFinite() || !out[i].alpha_WB.allFinite()) return {Status::NotFinite, b};
  }
  return {};
}

bool Natural::adopt(const Change& change) {
  const bool in_space = !coordinates_.plane() && (!options_.flat || never_planar(model()));
  if (change.structure || (!change.joints.empty() && !in_space)) return false;
  coordinates_.refresh();
  if (!equations_.refresh() || !unreduced_.adopt(change)) return false;
  forces_.recompile();
  for (int b = 0; b < static_cast<int>(mass_.size()); ++b) coordinates_.mass_block(b, mass_[static_cast<std::size_t>(b)]);
  renew();
  return true;
}

Verdict Natural::settle(State& x) {
  bodies(x, bodies_);
  Verdict verdict;
  if (options_.project) {
    verdict = unreduced_.project(bodies_, x.wound);
    coordinates_.store(bodies_, x.q, x.v);
  }
  const Verdict counted = count_turns(model(), bodies_, q_, v_, x);
  if (verdict.ok()) verdict = counted;
  if (verdict.ok()) choose(x.q);
  return verdict;
}

double Natural::hamiltonian(const State& x) const {
  return 0.5 * coordinates_.twice_kinetic(x.v) + forces_.gravity_energy(x.q) + forces_.elastic_energy(x.q, x.wound);
}

}  // namespace invar
