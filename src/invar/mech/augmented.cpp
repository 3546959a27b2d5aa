// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/augmented.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/part_solver.hpp"
#include "invar/mech/passage.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/tendons.hpp"
#include "invar/mech/turns.hpp"
#include "invar/model/edit.hpp"

namespace invar {
namespace {

constexpr int kQ = 7, kV = 6;           // numbers per body in State::q and State::v
constexpr double kNearlyClosed = 1e-6;  // rad, or parts of the length: what a step may leave where a correction stalls

constexpr int kCorrections = 8;
constexpr double kSameMotion = 1e-6;  // of the accelerations: those of a branch are known to 1e-8

// One body into the state.
void store(const BodyState& s, int b, State& x) {
  x.q.segment<kQ>(kQ * b) << s.p_WC, s.q_WB.w(), s.q_WB.x(), s.q_WB.y(), s.q_WB.z();
  x.v.segment<kV>(kV * b) << s.v_WC, s.q_WB.conjugate() * s.w_WB;
}

// Joints whose coordinates the equations need: those with passive parts, and both ends of couplings.
std::vector<int> measured_joints(const Model& model) {
  std::vector<bool> measured(model.joints().size(), false);
  for (std::size_t j = 0; j < measured.size(); ++j) measured[j] = model.joints()[j].has_passive;
  for (const Coupling& coupling : model.couplings()) measured[coupling.joint] = measured[coupling.of] = true;
  std::vector<int> joints;
  for (int j = 0; j < static_cast<int>(measured.size()); ++j)
    if (measured[j]) joints.push_back(j);
  return joints;
}

// NotFinite with the first body whose share of x, `per_body` numbers each, holds a number that is none.
Verdict every_number(const VecX& x, int per_body) {
  for (int i = 0; i < static_cast<int>(x.size()); ++i)
    if (!std::isfinite(x[i])) return {Status::NotFinite, i / per_body, -1, x[i]};
  return {};
}

}  // namespace

Augmented::Augmented(const Model& model, const AugmentedOptions& options)
    : Formulation(model),
      options_(options),
      measured_(measured_joints(model)),
      solver_(model),
      projection_(model, solver_),
      bodies_(model.bodies().size()),
      accelerations_(model.bodies().size()),
      reactions_(model.joints().size()),
      q_(VecX::Zero(model.nq())),
      v_(VecX::Zero(model.nv())),
      efforts_(model.nv()),
      port_(model.bodies().size()),
      coupling_q_(VecX::Zero(static_cast<int>(model.couplings().size()))) {}

Augmented::~Augmented() = default;

long Augmented::equations() const { return passage_ ? passage_->version() : 0; }
Through Augmented::through(std::size_t group) const { return passage_ ? passage_->through(group) : Through::NotSeen; }
LedOver Augmented::led_over() const { return passage_ ? passage_->led_over() : LedOver{}; }
bool Augmented::passes() const { return passage_ && passage_->active(); }
bool Augmented::passes_at(const Bodies& bodies) const { return passes() && passage_->holds_at(bodies); }
bool Augmented::approaches() const { return passage_ && passage_->watching(); }

std::optional<int> Augmented::standing() const { return passage_ ? passage_->standing() : std::nullopt; }

double Augmented::unbalanced() const { return passes() ? passage_->unbalanced() : 0; }

// The solver adds up what pieces have counted where it solves for all of them; until then what was counted behind a band.
const Mobility& Augmented::mobility() const {
  mobility_ = solver_.mobility();
  if (counted_rank_ >= 0) {
    mobility_.freedoms += mobility_.rank - counted_rank_;
    mobility_.rank = counted_rank_;
  }
  return mobility_;
}

void Augmented::set(const Bodies& bodies, State& x, const VecX& turns) {
  const int n = static_cast<int>(bodies.size());
  x.q.resize(kQ * n);
  x.v.resize(kV * n);
  x.aux = VecX::Zero(kAuxiliaries);
  for (int b = 0; b < n; ++b) store(bodies[b], b, x);
  counted_rank_ = -1;
  solver_.solve(bodies, KktInput{.dynamics = false, .settled = true}, accelerations_,
                reactions_);  // a failure shows again in the first step
  begin_turns(model(), bodies, turns, x);
  if (solver_.closes_loops()) {
    if (!passage_) {
      passage_ = std::make_unique<Passage>(model(), solver_);
      in_band_ = std::make_unique<Projection>(model(), *passage_);
      passed_.assign(static_cast<std::size_t>(solver_.pieces()), false);
    }
    passage_->begin(bodies, x.wound);
  }
}

double Augmented::prepare_step(const State& x, double h, bool whole) {
  if (!passage_) return h;
  bodies(x, bodies_);
  return prepare_step(bodies_, x.wound, h, whole);
}

double Augmented::prepare_step(const Bodies& bodies, const VecX& wound, double h, bool whole) {
  if (!passage_) return h;
  for (int k = 0; k < solver_.pieces(); ++k) passed_[static_cast<std::size_t>(k)] = passage_->passes(k);
  const double longest = passage_->prepare(bodies, wound, h, whole);
  // A motion that began in a singular configuration has another rank behind it.
  for (int k = 0; k < solver_.pieces(); ++k)
    if (passed_[static_cast<std::size_t>(k)] && !passage_->passes(k)) solver_.piece(k).count_again(bodies);
  counted_rank_ = 0;
  for (int k = 0; k < solver_.pieces(); ++k) counted_rank_ += solver_.piece(k).mobility().rank;
  return longest;
}

void Augmented::bodies(const State& x, Bodies& out) const {
  out.resize(model().bodies().size());
  for (int b = 0; b < static_cast<int>(out.size()); ++b) {
    const double* q = x.q.data() + kQ * b;
    const double* v = x.v.data() + kV * b;
    const Quat q_WB(q[3], q[4], q[5], q[6]);
    out[b] = {Vec3(q[0], q[1], q[2]), Vec3(v[0], v[1], v[2]), q_WB * Vec3(v[3], v[4], v[5]), q_WB};
  }
}

// Efforts on the freedoms, then one solve. `wound` tells whole turns.
Verdict Augmented::accelerate(const Bodies& bodies, const Load& load, const VecX* wound, bool reactions) {
  efforts_ = load.efforts;
  dissipation_ = 0;
  input_ = {.port = &load.port, .efforts = &efforts_};
  if (!model().tendons().empty()) {
    port_ = load.port;
    add_tendons(model(), bodies, port_, dissipation_);
    input_.port = &port_;
  }
  if (!measured_.empty()) {
    for (const int j : measured_) coordinates_of_joint(model(), j, bodies, q_, v_);
    if (wound) unwind(model(), *wound, q_);
    double lost = 0;
    add_passive_efforts(model(), q_, v_, efforts_, lost);
    dissipation_ += lost;
    driving_coordinates(model(), q_, coupling_q_);
    input_.coupling_q = &coupling_q_;
  }
  if (options_.baumgarte_alpha != 0 || options_.baumgarte_beta != 0) {
    input_.bias = &projection_.baumgarte(bodies, options_.baumgarte_alpha, options_.baumgarte_beta);
    if (wound)
      input_.coupling_bias = &projection_.baumgarte_couplings(bodies, *wound, options_.baumgarte_alpha, options_.baumgarte_beta);
  }
  if (!passes_at(bodies)) {
    counted_rank_ = -1;
    return solver_.solve(bodies, input_, accelerations_, reactions_);
  }
  input_.reactions = reactions;
  return passage_->solve(bodies, input_, accelerations_, reactions_);
}

Verdict Augmented::solve(const Bodies& bodies, const Load& load, Accelerations& accelerations, std::vector<Wrench>& reactions) {
  return solve_into(bodies, load, nullptr, accelerations, reactions, true);
}

Verdict Augmented::solve(const Bodies& bodies, const Load& load, const VecX& wound, Accelerations& accelerations,
                         std::vector<Wrench>& reactions, bool wants_reactions) {
  return solve_into(bodies, load, &wound, accelerations, reactions, wants_reactions);
}

Verdict Augmented::solve_into(const Bodies& bodies, const Load& load, const VecX* wound, Accelerations& accelerations,
                              std::vector<Wrench>& reactions, bool wants_reactions) {
  accelerations_.swap(accelerations);
  reactions_.swap(reactions);
  const Verdict verdict = accelerate(bodies, load, wound, wants_reactions);
  accelerations_.swap(accelerations);
  reactions_.swap(reactions);
  return verdict;
}

Verdict Augmented::rate(const State& x, const Load& load, Rate& rate) {
  bodies(x, bodies_);
  const Verdict verdict = accelerate(bodies_, load, &x.wound, false);
  rate.v = x.v;
  rate.a.resize(x.v.size());
  for (int b = 0; b < static_cast<int>(bodies_.size()); ++b)
    rate.a.segment<kV>(kV * b) << accelerations_[b].a_WC, bodies_[b].q_WB.conjugate() * accelerations_[b].alpha_WB;
  rate.aux.setZero(kAuxiliaries);
  if (!load.efforts.isZero(0)) {
    joint_coordinates(model(), bodies_, q_, v_);
    rate.aux[kWork] = load.efforts.dot(v_);
  }
  rate.aux[kDissipated] = dissipation_;
  return verdict;
}

Verdict Augmented::evaluate(const State& x, const Load& load, Evaluation& out) {
  bodies(x, out.bodies);
  if (const Verdict finite = every_number(x.q, kQ); !finite.ok()) return finite;
  if (const Verdict finite = every_number(x.v, kV); !finite.ok()) return finite;
  return evaluate_bodies(x.wound, load, out);
}

Verdict Augmented::evaluate_bodies(const VecX& wound, const Load& load, Evaluation& out) {
  const Verdict verdict = accelerate(out.bodies, load, &wound);
  out.accelerations = accelerations_;
  out.reactions = reactions_;
  const bool in_band = passes_at(out.bodies) && !exactly_balanced(out);
  out.couplings.resize(coupling_q_.size());
  for (int c = 0; c < out.couplings.size(); ++c)
    out.couplings[c] = in_band ? passage_->coupling_effort(c) : solver_.coupling_effort(c);
  // Where rows depend on each other, the reactions of least norm: the same in every World, order and unit.
  out.verdicts.assign(reactions_.size(), JointVerdict{});
  if (verdict.ok() && solver_.mobility().rank < solver_.mobility().rows) least_norm(out, in_band);
  joint_coordinates(model(), out.bodies, out.q, out.v);
  unwind(model(), wound, out.q);
  joint_accelerations(model(), out.bodies, out.accelerations, out.vdot);
  out.efforts = efforts_;
  out.tendons.clear();
  for (const Tendon& tendon : model().tendons()) out.tendons.push_back(pull_of(model(), tendon, out.bodies));
  if (!verdict.ok()) return verdict;
  for (int b = 0; b < static_cast<int>(out.accelerations.size()); ++b)
    if (!out.accelerations[b].a_WC.allFinite() || !out.accelerations[b].alpha_WB.allFinite()) return {Status::NotFinite, b};
  return verdict;
}

// Where a motion begins in a singular configuration the rows that are left there may know its accelerations (the cranks of a
// parallelogram, if they are alike): then to round-off, and with reactions that balance them.
bool Augmented::exactly_balanced(Evaluation& out) {
  if (!passage_->begins() || !solver_.solve(out.bodies, input_, accelerations_, reactions_).ok()) return false;
  double off = 0, size = 0;
  for (std::size_t b = 0; b < accelerations_.size(); ++b) {
    const BodyAcceleration &one = accelerations_[b], &other = out.accelerations[b];
    const double length = model().length();
    off = std::max({off, (one.a_WC - other.a_WC).norm(), length * (one.alpha_WB - other.alpha_WB).norm()});
    size = std::max({size, one.a_WC.norm(), length * one.alpha_WB.norm()});
  }
  if (!(off <= kSameMotion * size)) return false;
  out.accelerations = accelerations_;
  out.reactions = reactions_;
  return true;
}

void Augmented::least_norm(Evaluation& out, bool in_band) {
  std::vector<JointVerdict>* verdicts = options_.verdicts ? &out.verdicts : nullptr;
  // Where self-stresses cannot be told, verdicts say that nothing is determined.
  if (!in_band) {
    solver_.least_norm(out.bodies, input_, out.accelerations, out.reactions, out.couplings, verdicts);
    return;
  }
  for (int k = 0; k < solver_.pieces(); ++k) {
    PartSolver& piece = solver_.piece(k);
    if (piece.mobility().rank == piece.mobility().rows) continue;
    // In a band they are of least norm already: only what determines them is asked for.
    VecX efforts = out.couplings;
    const bool passes = passage_->passes(k);
    piece.least_norm(out.bodies, input_, passes ? accelerations_ : out.accelerations, passes ? reactions_ : out.reactions,
                     passes ? efforts : out.couplings, verdicts);
  }
}

void Augmented::retract(const State& from, const VecX& u, State& to) const {
  to.q.resize(from.q.size());
  for (int b = 0; b < static_cast<int>(from.q.size()) / kQ; ++b) {
    const double* q = from.q.data() + kQ * b;
    const Quat turned_q = normalized(Quat(q[3], q[4], q[5], q[6]) * exp_so3(u.segment<3>(kV * b + 3)));
    to.q.segment<3>(kQ * b) = from.q.segment<3>(kQ * b) + u.segment<3>(kV * b);
    to.q.segment<4>(kQ * b + 3) << turned_q.w(), turned_q.x(), turned_q.y(), turned_q.z();
  }
}

// R = R0 exp(u): u' = dexp^-1(-u) w_B.
void Augmented::pull(const VecX& u, const VecX& v, VecX& u_dot) const {
  u_dot.resize(v.size());
  for (int b = 0; b < static_cast<int>(v.size()) / kV; ++b) {
    u_dot.segment<3>(kV * b) = v.segment<3>(kV * b);
    u_dot.segment<3>(kV * b + 3).noalias() = dexp_inv_so3(-u.segment<3>(kV * b + 3)) * v.segment<3>(kV * b + 3);
  }
}

// Newton over the rows that hold in the band; the others, which are closed behind it, do not say how far it has come. Every
// connected part by itself, as elsewhere.
Verdict Augmented::project_in_band(Bodies& bodies, const VecX& wound) {
  passage_->set_level(Passage::Level::Position);
  Verdict verdict;
  for (int iteration = 0; iteration <= kCorrections; ++iteration) {
    verdict = passage_->close_parts(bodies, wound, kNearlyClosed, iteration == 0);
    if (iteration == kCorrections && verdict.value <= kNearlyClosed) verdict = {};
    if (verdict.status != Status::NotConverged || iteration == kCorrections) break;
    passage_->keep_closed(bodies);
    verdict = in_band_->positions(bodies, wound, std::numeric_limits<double>::max(), 1);
    if (!verdict.ok()) break;
    passage_->restore_closed(bodies);
  }
  passage_->set_level(Passage::Level::Velocity);
  if (verdict.ok()) verdict = in_band_->velocities(bodies, wound);
  if (verdict.ok()) verdict = passage_->stop_what_stands(bodies);
  passage_->set_level(Passage::Level::Acceleration);
  return verdict;
}

Verdict Augmented::project(Bodies& bodies, const VecX& wound) {
  if (passes_at(bodies)) return project_in_band(bodies, wound);
  // The drift of one step is tiny: two corrections reach round-off; 1e-6 is far above it and far below a wrong assembly.
  const Verdict verdict = projection_.positions(bodies, wound, kNearlyClosed, kCorrections);
  return verdict.ok() ? projection_.velocities(bodies, wound) : verdict;
}

// Nothing but the solver keeps numbers of the model.
bool Augmented::adopt(const Change& change) {
  if (change.structure || !solver_.refresh()) return false;
  passage_.reset(), in_band_.reset();
  counted_rank_ = -1;
  coupling_q_.setZero();
  q_.setZero();
  v_.setZero();
  renew();
  return true;
}

Verdict Augmented::settle(State& x) {
  bodies(x, bodies_);
  Verdict verdict;
  if (options_.project) {
    verdict = project(bodies_, x.wound);
    for (int b = 0; b < static_cast<int>(bodies_.size()); ++b) store(bodies_[b], b, x);
  }
  const Verdict counted = count_turns(model(), bodies_, q_, v_, x);
  return verdict.ok() ? counted : verdict;
}

}  // namespace invar
