// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/learn/term/actuator_gain.hpp"
#include "invar/learn/term/actuator_misalignment.hpp"
#include "invar/learn/term/drag.hpp"
#include "invar/learn/term/fourier.hpp"
#include "invar/learn/term/inertia.hpp"
#include "invar/learn/term/joint_coulomb.hpp"
#include "invar/learn/term/joint_offset.hpp"
#include "invar/learn/term/joint_stiffness.hpp"
#include "invar/learn/term/joint_viscous.hpp"
#include "invar/learn/term/obstacle.hpp"

namespace invar {
namespace {

using Made = Result<std::shared_ptr<const Term>>;

template <class... Args>
tl::unexpected<Error> refuse(const TermSpec& spec, fmt::format_string<Args...> sentence, Args&&... args) {
  return fail(ErrorKind::Option,
              fmt::format("term '{}': {}", name(spec.kind), fmt::format(sentence, std::forward<Args>(args)...)));
}

// Places of the names that a term acts on among `known`; all of them where it names none.
Result<std::vector<int>> places(const TermSpec& spec, const std::vector<std::string>& wanted,
                                const std::vector<std::string>& known, const char* what) {
  std::vector<int> out;
  for (const std::string& word : wanted) {
    const auto at = std::find(known.begin(), known.end(), word);
    if (at == known.end()) return refuse(spec, "{}", there_is_no(what, word, known));
    const int place = static_cast<int>(at - known.begin());
    if (std::find(out.begin(), out.end(), place) != out.end()) return refuse(spec, "{} '{}' is named twice", what, word);
    out.push_back(place);
  }
  for (std::size_t i = 0; wanted.empty() && i < known.size(); ++i) out.push_back(static_cast<int>(i));
  if (out.empty()) return refuse(spec, "there is no {} that it could act on", what);
  return out;
}

// Without names: the joints that have freedoms and hold something.
Result<std::vector<int>> joints_of(const Model& model, const TermSpec& spec) {
  auto all = places(spec, spec.on, names_of(model.joints()), "joint");
  if (!all) return all;
  if (spec.on.empty())
    std::erase_if(*all, [&](int j) {
      const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
      return joint.nv == 0 || joint.facts->is_free();
    });
  for (const int j : *all)
    if (model.joints()[static_cast<std::size_t>(j)].nv == 0)
      return refuse(spec, "joint '{}' is fixed or locked: nothing rubs or springs in it",
                    model.joints()[static_cast<std::size_t>(j)].name);
  if (all->empty()) return refuse(spec, "no joint of the model has freedoms that it could act on");
  return all;
}

Made make_on_joints(const Model& model, const TermSpec& spec) {
  const auto joints = joints_of(model, spec);
  if (!joints) return tl::unexpected(joints.error());
  switch (spec.kind) {
    case TermKind::JointViscous: return std::make_shared<JointViscous>(model, *joints, spec.sharing);
    case TermKind::JointStiffness: return std::make_shared<JointStiffness>(model, *joints, spec.sharing);
    case TermKind::JointOffset: return std::make_shared<JointOffset>(model, *joints, spec.sharing);
    default: break;
  }
  if (spec.smoothing.empty()) return refuse(spec, "'smoothing' names no rate");
  for (const double rate : spec.smoothing)
    if (!(rate > 0) || !std::isfinite(rate)) return refuse(spec, "'smoothing' has rates, rad/s or m/s: they are positive");
  return std::make_shared<JointCoulomb>(model, *joints, spec.sharing, spec.smoothing);
}

Result<std::shared_ptr<const Features>> make_features(const TermSpec& spec) {
  if (!(spec.scales.v > 0) || !(spec.scales.w > 0) || !std::isfinite(spec.scales.v + spec.scales.w))
    return refuse(spec, "the sizes of velocities that it divides by are positive numbers");
  if (spec.kind == TermKind::Fourier) {
    if (spec.cosines < 1 || spec.cosines + 7 > Features::kMost)
      return refuse(spec, "'cosines' lies between 1 and {}", Features::kMost - 7);
    if (!(spec.spread > 0) || !std::isfinite(spec.spread)) return refuse(spec, "'spread' is a positive number");
    return std::make_shared<FourierFeatures>(spec.seed, spec.cosines, spec.spread);
  }
  if (spec.width < 1 || spec.width + 1 > Features::kMost)
    return refuse(spec, "'width' lies between 1 and {}", Features::kMost - 1);
  return std::make_shared<NetworkFeatures>(spec.layers.width() > 0 ? spec.layers : HiddenLayers::drawn(spec.seed, spec.width));
}

Made make_on_bodies(const Model& model, const TermSpec& spec, const TermContext& context) {
  auto bodies = places(spec, spec.on, names_of(model.bodies()), "body");
  if (!bodies) return tl::unexpected(bodies.error());
  if (spec.kind == TermKind::Inertia) return std::make_shared<InertiaTerm>(model, *bodies, spec.sharing);
  if (spec.kind == TermKind::Drag) return std::make_shared<Drag>(model, *bodies, spec.sharing);
  if (spec.kind == TermKind::Obstacle) {
    auto points = places(spec, spec.obstacles, context.obstacles, "obstacle");
    if (!points) return tl::unexpected(points.error());
    if (spec.bumps < 1 || spec.bumps > 100) return refuse(spec, "'bumps' lies between 1 and 100");
    if (!(spec.reach > 0) || !std::isfinite(spec.reach)) return refuse(spec, "'reach' is a positive length, m");
    std::vector<std::string> names;
    for (const int p : *points) names.push_back(context.obstacles[static_cast<std::size_t>(p)]);
    return std::make_shared<ObstacleTerm>(model, *bodies, spec.sharing, *points, names, spec.bumps, spec.reach);
  }
  auto features = make_features(spec);
  if (!features) return tl::unexpected(features.error());
  auto term = std::make_shared<FeatureTerm>(model, *bodies, spec.sharing, *features, spec.scales, spec.domain);
  if (!spec.domain.empty() && static_cast<int>(spec.domain.inverse.size()) != term->classes().count())
    return refuse(spec, "its data were of {} kinds of bodies, here there are {}", spec.domain.inverse.size(),
                  term->classes().count());
  return term;
}

Made make_on_actuators(const Model& model, const TermSpec& spec, const TermContext& context) {
  std::vector<std::string> known;
  for (const Actuator& a : context.actuators) known.push_back(a.name());
  auto chosen = places(spec, spec.on, known, "actuator");
  if (!chosen) return tl::unexpected(chosen.error());
  std::vector<Actuator> actuators;
  for (const int k : *chosen) actuators.push_back(context.actuators[static_cast<std::size_t>(k)]);
  if (spec.kind == TermKind::ActuatorGain) return std::make_shared<ActuatorGain>(model, std::move(actuators), *chosen);
  auto term = ActuatorMisalignment::build(model, actuators, *chosen);
  if (!term) return tl::unexpected(term.error());
  return std::make_shared<ActuatorMisalignment>(std::move(*term));
}

Made make(const Model& model, const TermSpec& spec, const TermContext& context) {
  switch (spec.kind) {
    case TermKind::JointViscous:
    case TermKind::JointCoulomb:
    case TermKind::JointStiffness:
    case TermKind::JointOffset: return make_on_joints(model, spec);
    case TermKind::ActuatorGain:
    case TermKind::ActuatorMisalignment: return make_on_actuators(model, spec, context);
    default: return make_on_bodies(model, spec, context);
  }
}

}  // namespace

const std::vector<std::string>& term_names() {
  static const std::vector<std::string> names = {
      "inertia",  "joint_viscous", "joint_coulomb",         "joint_stiffness", "joint_offset", "drag",
      "obstacle", "actuator_gain", "actuator_misalignment", "fourier",         "network"};
  return names;
}

const char* name(TermKind kind) { return term_names()[static_cast<std::size_t>(kind)].c_str(); }

Sharing usual_sharing(TermKind kind) {
  return kind == TermKind::Inertia || kind == TermKind::ActuatorGain || kind == TermKind::ActuatorMisalignment ? Sharing::Each
                                                                                                               : Sharing::Alike;
}

Result<Terms> Terms::build(const Model& model, const std::vector<TermSpec>& specs, const TermContext& context) {
  Terms out;
  for (const TermSpec& spec : specs) {
    auto term = make(model, spec, context);
    if (!term) return tl::unexpected(term.error());
    out.first_.push_back(out.first_.back() + (*term)->columns());
    out.terms_.push_back(std::move(*term));
    out.specs_.push_back(spec);
  }
  return out;
}

Terms Terms::with(std::shared_ptr<const Term> rival) const {
  Terms out = *this;
  TermSpec spec;
  spec.kind = TermKind::Fourier;  // generic
  out.first_.push_back(columns() + rival->columns());
  out.terms_.push_back(std::move(rival)), out.specs_.push_back(spec);
  return out;
}

int Terms::term_of(int column) const {
  return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), column) - first_.begin()) - 1;
}

int Terms::first_group(int i) const {
  int sum = 0;
  for (int k = 0; k < i; ++k) sum += term(k).groups();
  return sum;
}

void Terms::list(const Bodies& bodies, const Surroundings& around, std::vector<ColumnEntry>& out) const {
  out.clear();
  for (std::size_t i = 0; i < terms_.size(); ++i) terms_[i]->list(bodies, around, first_[i], out);
}

void Terms::add(const Bodies& bodies, const Surroundings& around, const double* coefficients, Port& port) const {
  for (std::size_t i = 0; i < terms_.size(); ++i) terms_[i]->add(bodies, around, coefficients + first_[i], port);
}

double Terms::leverage(const Bodies& bodies, const Surroundings& around) const {
  double largest = 0;
  for (const auto& term : terms_) largest = std::max(largest, term->leverage(bodies, around));
  return largest;
}

}  // namespace invar
