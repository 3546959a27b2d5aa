// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/learned_load.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace invar {
namespace {

// The first name that is in one list only, as a sentence, or an empty string.
std::string difference(const std::vector<std::string>& learned, const std::vector<std::string>& here, const char* what) {
  for (const std::string& name : learned)
    if (std::find(here.begin(), here.end(), name) == here.end())
      return fmt::format("it was learned for a mechanism with {} '{}', which the model has not", what, name);
  for (const std::string& name : here)
    if (std::find(learned.begin(), learned.end(), name) == learned.end())
      return fmt::format("the model has a {} '{}', which was not there when it was learned", what, name);
  return {};
}

// The first joint that is of another kind here, as a sentence, or an empty string. Joints go by their names.
std::string other_kind(const Learned& learned, const Model& model) {
  const std::vector<std::string>& kinds = learned.nominal.kinds;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    for (const Joint& j : model.joints())
      if (j.name == learned.joints[i] && kinds[i] != name(j.spec_kind))
        return fmt::format("joint '{}' is {} here and was {} when it was learned", j.name, name(j.spec_kind), kinds[i]);
  return {};
}

}  // namespace

Result<LearnedLoad> LearnedLoad::build(std::shared_ptr<const Model> model, std::shared_ptr<const Learned> learned,
                                       const TermContext& context) {
  for (const std::string& why : {difference(learned->bodies, names_of(model->bodies()), "body"),
                                 difference(learned->joints, names_of(model->joints()), "joint"), other_kind(*learned, *model)})
    if (!why.empty()) return fail(ErrorKind::Model, why + "; learn anew with this model");
  LearnedLoad out;
  out.model_ = std::move(model), out.learned_ = std::move(learned), out.context_ = context;
  if (out.context_.obstacles.empty()) out.context_.obstacles = out.learned_->obstacles;
  Part* const parts[] = {&out.elsewhere_, &out.on_bodies_, &out.generic_};
  std::vector<TermSpec> specs[3];
  std::vector<double> numbers[3];
  Eigen::Index at = 0;
  for (const TermSpec& spec : out.learned_->terms) {
    const int where = is_generic(spec.kind) ? 2 : is_on_bodies(spec.kind) ? 1 : 0;
    auto alone = Terms::build(*out.model_, {spec}, out.context_);
    if (!alone) return tl::unexpected(alone.error());
    const int count = out.learned_->counts[static_cast<std::size_t>(&spec - out.learned_->terms.data())];
    if (alone->columns() != count)
      return fail(ErrorKind::Model, fmt::format("term '{}' has {} columns here, but {} coefficients were learned; learn anew",
                                                name(spec.kind), alone->columns(), count));
    specs[where].push_back(spec);
    for (int k = 0; k < alone->columns(); ++k) numbers[where].push_back(out.learned_->coefficients[at++]);
  }
  for (int where = 0; where < 3; ++where) {
    if (specs[where].empty()) continue;
    auto terms = Terms::build(*out.model_, specs[where], out.context_);
    if (!terms) return tl::unexpected(terms.error());
    parts[where]->terms = std::move(*terms);
    parts[where]->coefficients = Eigen::Map<const VecX>(numbers[where].data(), static_cast<Eigen::Index>(numbers[where].size()));
  }
  for (const Body& b : out.model_->bodies()) {
    const auto i = static_cast<std::size_t>(std::find(out.learned_->bodies.begin(), out.learned_->bodies.end(), b.name) -
                                            out.learned_->bodies.begin());
    out.shift_.push_back(out.learned_->nominal.inertias[i].p_BC - b.inertia.p_BC);
  }
  out.moved_.resize(out.model_->bodies().size());
  out.placed_ = out.moved_;
  out.port_.resize(out.moved_.size());
  return out;
}

// Bodies with their points in the place of the centres of mass.
void LearnedLoad::place(const Bodies& bodies) const {
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    placed_[b] = bodies[b];
    const Vec3 arm = bodies[b].q_WB * shift_[b];
    placed_[b].p_WC += arm;
    placed_[b].v_WC += bodies[b].w_WB.cross(arm);
  }
}

// All of it, or generic terms alone.
void LearnedLoad::evaluate(const Bodies& bodies, bool all, Port& port) const {
  if (all) elsewhere_.add(bodies, around_, port);
  if (!(all && on_bodies_.terms) && !generic_.terms) return;
  place(bodies);
  for (Wrench& w : port_) w = Wrench{};
  if (all) on_bodies_.add(placed_, around_, port_);
  generic_.add(placed_, around_, port_);
  for (std::size_t b = 0; b < bodies.size(); ++b) port[b] += port_[b].about(bodies[b].q_WB * shift_[b]);
}

void LearnedLoad::add(Instant at, const Bodies& bodies, Load& load) const {
  (void)at;
  evaluate(bodies, true, load.port);
}

void LearnedLoad::move(const Bodies& bodies, const Accelerations& velocities) const {
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    moved_[b] = bodies[b];
    moved_[b].v_WC = velocities[b].a_WC;
    moved_[b].w_WB = velocities[b].alpha_WB;
  }
}

void LearnedLoad::add_at_reference(const Bodies& bodies, const Accelerations& reference, Port& port) const {
  move(bodies, reference);
  evaluate(moved_, true, port);
}

void LearnedLoad::add_generic_at_reference(const Bodies& bodies, const Accelerations& reference, Port& port) const {
  move(bodies, reference);
  evaluate(moved_, false, port);
}

double LearnedLoad::leverage(const Bodies& bodies) const {
  if (!generic_.terms) return 0;
  place(bodies);
  return generic_.terms->leverage(placed_, around_);
}

std::optional<std::shared_ptr<const Environment>> LearnedLoad::bound_to(const Model& model) const {
  auto again = build(std::make_shared<const Model>(model), learned_, context_);
  if (!again) return std::shared_ptr<const Environment>();
  again->around_ = around_;
  return std::make_shared<const LearnedLoad>(std::move(*again));
}

}  // namespace invar
