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

}  // namespace

Result<LearnedLoad> LearnedLoad::build(std::shared_ptr<const Model> model, std::shared_ptr<const Learned> learned,
                                       const TermContext& context) {
  for (const std::string& why : {difference(learned->bodies, names_of(model->bodies()), "body"),
                                 difference(learned->joints, names_of(model->joints()), "joint")})
    if (!why.empty()) return fail(ErrorKind::Model, why + "; learn anew with this model");
  LearnedLoad out;
  out.model_ = std::move(model), out.learned_ = std::move(learned), out.context_ = context;
  if (out.context_.obstacles.empty()) out.context_.obstacles = out.learned_->obstacles;
  std::vector<TermSpec> parts[2];
  std::vector<double> numbers[2];
  Eigen::Index at = 0;
  for (const TermSpec& spec : out.learned_->terms) {
    const int where = is_on_bodies(spec.kind) ? 0 : 1;
    auto alone = Terms::build(*out.model_, {spec}, out.context_);
    if (!alone) return tl::unexpected(alone.error());
    const int count = out.learned_->counts[static_cast<std::size_t>(&spec - out.learned_->terms.data())];
    if (alone->columns() != count)
      return fail(ErrorKind::Model, fmt::format("term '{}' has {} columns here, but {} coefficients were learned; learn anew",
                                                name(spec.kind), alone->columns(), count));
    parts[where].push_back(spec);
    for (int k = 0; k < alone->columns(); ++k) numbers[where].push_back(out.learned_->coefficients[at++]);
  }
  for (int where = 0; where < 2; ++where) {
    if (parts[where].empty()) continue;
    auto terms = Terms::build(*out.model_, parts[where], out.context_);
    if (!terms) return tl::unexpected(terms.error());
    (where == 0 ? out.on_bodies_ : out.elsewhere_) = std::move(*terms);
    (where == 0 ? out.on_bodies_coefficients_ : out.elsewhere_coefficients_) =
        Eigen::Map<const VecX>(numbers[where].data(), static_cast<Eigen::Index>(numbers[where].size()));
  }
  for (const Body& b : out.model_->bodies()) {
    const auto i = static_cast<std::size_t>(std::find(out.learned_->bodies.begin(), out.learned_->bodies.end(), b.name) -
                                            out.learned_->bodies.begin());
    out.shift_.push_back(out.learned_->points[i] - b.inertia.p_BC);
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

void LearnedLoad::evaluate(const Bodies& bodies, Port& port) const {
  if (elsewhere_) elsewhere_->add(bodies, around_, elsewhere_coefficients_.data(), port);
  if (!on_bodies_) return;
  place(bodies);
  for (Wrench& w : port_) w = Wrench{};
  on_bodies_->add(placed_, around_, on_bodies_coefficients_.data(), port_);
  for (std::size_t b = 0; b < bodies.size(); ++b) port[b] += port_[b].about(bodies[b].q_WB * shift_[b]);
}

void LearnedLoad::add(Instant at, const Bodies& bodies, Load& load) const {
  (void)at;
  evaluate(bodies, load.port);
}

void LearnedLoad::add_at_reference(const Bodies& bodies, const Accelerations& reference, Port& port) const {
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    moved_[b] = bodies[b];
    moved_[b].v_WC = reference[b].a_WC;
    moved_[b].w_WB = reference[b].alpha_WB;
  }
  evaluate(moved_, port);
}

double LearnedLoad::leverage(const Bodies& bodies) const {
  if (!on_bodies_) return 0;
  place(bodies);
  return on_bodies_->leverage(placed_, around_);
}

std::optional<std::shared_ptr<const Environment>> LearnedLoad::bound_to(const Model& model) const {
  auto again = build(std::make_shared<const Model>(model), learned_, context_);
  if (!again) return std::shared_ptr<const Environment>();
  again->around_ = around_;
  return std::make_shared<const LearnedLoad>(std::move(*again));
}

}  // namespace invar
