// SPDX-License-Identifier: Apache-2.0
#include "invar/run/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/base/check.hpp"
#include "invar/base/largest.hpp"

namespace invar {

const char* name(Scale scale) {
  switch (scale) {
    case Scale::Absolute: return "absolute";
    case Scale::Kinetic: return "kinetic";
    case Scale::Total: return "total";
    case Scale::Momentum: return "momentum";
    case Scale::AngularMomentum: return "angular_momentum";
  }
  return "unknown";
}

const std::vector<LawKind>& law_kinds() {
  using enum Scale;
  static const std::vector<LawKind> kinds = {
      {"energy_drift", "energy_drift", "J", {Kinetic, Absolute, Total}, "largest change of energy since the start"},
      {"energy_gain", "energy_gain", "J", {Kinetic, Absolute, Total}, "energy at the end minus energy at the start"},
      {"power_balance", "power_balance", "J", {Kinetic, Absolute, Total}, "energy change minus work plus dissipation"},
      {"hamiltonian_balance",
       "hamiltonian_balance",
       "J",
       {Kinetic, Absolute, Total},
       "the same for the energy that the method itself keeps"},
      {"physical_balance",
       "physical_balance",
       "J",
       {Kinetic, Absolute, Total},
       "the same for the energy with velocities put on the constraints"},
      {"momentum_drift", "momentum_drift", "N s", {Absolute, Momentum}, "change of linear momentum while no load acts"},
      {"angular_momentum_drift",
       "angular_momentum_drift",
       "N m s",
       {Absolute, AngularMomentum},
       "change of angular momentum about the origin while no load acts"},
      {"angular_momentum_com_drift",
       "angular_momentum_com_drift",
       "N m s",
       {Absolute, AngularMomentum},
       "change of angular momentum about the centre of mass while no load acts"},
      {"joint_gap", "joint_gap", "m or rad", {Absolute}, "largest position residual of joints and couplings"},
      {"velocity_residual", "velocity_residual", "m/s or rad/s", {Absolute}, "largest velocity residual"},
      {"quaternion_norm", "quaternion_norm", "1", {Absolute}, "largest deviation of a quaternion from unit norm"},
      {"max_force", nullptr, "N", {Absolute}, "largest reaction force at recorded samples"},
      {"max_moment", nullptr, "N m", {Absolute}, "largest reaction moment at recorded samples"},
      {"final",
       nullptr,
       "m, rad, m/s or rad/s",
       {Absolute},
       "largest distance of the last state from given numbers, attitudes by their angle"},
      {"metric", nullptr, "", {Absolute}, "any metric of the run by its name, those of controllers among them"},
  };
  return kinds;
}

namespace {

const LawKind& kind_of(const Law& law) {
  const auto& kinds = law_kinds();
  const auto it = std::find_if(kinds.begin(), kinds.end(), [&](const LawKind& k) { return law.name == k.name; });
  INVAR_CHECK(it != kinds.end(), "a law has a known name");
  return *it;
}

struct Reference {
  double value;
  const char* words;
};

Reference reference(Scale scale, const Tally& tally) {
  switch (scale) {
    case Scale::Kinetic: return {tally.kinetic_max, "of the largest kinetic energy"};
    case Scale::Total: return {std::abs(tally.first().energy.total()), "of the energy at the start"};
    case Scale::Momentum: return {tally.momentum_max, "of the largest linear momentum"};
    case Scale::AngularMomentum: return {tally.angular_momentum_max, "of the largest angular momentum"};
    case Scale::Absolute: break;
  }
  return {1.0, ""};
}

std::string subject_of(const Law& law, const Model& model) {
  std::string out;
  if (law.joint >= 0) out = fmt::format("joint '{}'", model.joints()[static_cast<std::size_t>(law.joint)].name);
  if (law.body >= 0) out = fmt::format("body '{}'", model.bodies()[static_cast<std::size_t>(law.body)].name);
  if (!law.field.empty()) out += (out.empty() ? "" : " ") + law.field;
  if (std::isfinite(law.from) || std::isfinite(law.to)) {
    if (!out.empty()) out += ", ";
    if (std::isfinite(law.from)) out += fmt::format("from {:g} s", law.from);
    if (std::isfinite(law.to)) out += fmt::format("{}to {:g} s", std::isfinite(law.from) ? " " : "", law.to);
  }
  return out;
}

// The numbers of the last state that a `final` law speaks of.
std::vector<double> reached(const Law& law, const Model& model, const Evaluation& last) {
  if (law.joint >= 0) {
    const Joint& j = model.joints()[static_cast<std::size_t>(law.joint)];
    const double* at = law.field == "q" ? last.q.data() + j.q0 : last.v.data() + j.v0;
    return {at, at + (law.field == "q" ? j.nq : j.nv)};
  }
  const BodyState& b = last.bodies[static_cast<std::size_t>(law.body)];
  if (law.field == "q") return {b.q_WB.w(), b.q_WB.x(), b.q_WB.y(), b.q_WB.z()};
  const Vec3& u = law.field == "p" ? b.p_WC : (law.field == "v" ? b.v_WC : b.w_WB);
  return {u.x(), u.y(), u.z()};
}

// Where a quaternion begins among the numbers of a `final` law; past their end where there is none.
std::size_t quaternion_at(const Law& law, const Model& model) {
  const std::size_t none = law.target.size();
  if (law.field != "q") return none;
  if (law.body >= 0) return 0;
  const Joint& j = model.joints()[static_cast<std::size_t>(law.joint)];
  return j.nq > j.nv ? static_cast<std::size_t>(j.nq) - 4 : none;
}

// Largest difference of the numbers; attitudes are compared as rotations, by the angle between them, for q and -q are one
// attitude.
double distance(const std::vector<double>& a, const std::vector<double>& b, std::size_t quaternion) {
  double largest = 0;
  for (std::size_t i = 0; i < quaternion; ++i) keep_largest(largest, std::abs(a[i] - b[i]));
  if (quaternion == a.size()) return largest;
  const auto attitude = [quaternion](const std::vector<double>& x) {
    const double* q = x.data() + quaternion;
    return Quat(q[0], q[1], q[2], q[3]);
  };
  keep_largest(largest, log_so3(normalized(attitude(a)).conjugate() * normalized(attitude(b))).norm());
  return largest;
}

}  // namespace

std::string LawResult::text() const {
  const std::string what = subject.empty() ? name : fmt::format("{} ({})", name, subject);
  const std::string number = std::isfinite(value) ? fmt::format("{:.3g}", value) : "no value";
  const std::string of = !std::isfinite(value) || unit.empty() || unit == "1" ? "" : " " + unit;
  return fmt::format("{}: {}{}, must be {} {:g}: {}{}", what, number, of, sense == Law::Sense::Below ? "below" : "above", bound,
                     held ? "held" : "BROKEN", reason.empty() ? "" : " (" + reason + ")");
}

namespace {
constexpr int kGone = -2;
}

Judge::Judge(const Model& model, std::vector<Law> laws)
    : model_(model), now_(&model), laws_(std::move(laws)), there_(laws_), largest_(laws_.size(), -1.0) {}

void Judge::enter(const Model& model) {
  now_ = &model;
  for (std::size_t k = 0; k < laws_.size(); ++k) {
    if (laws_[k].joint >= 0)
      there_[k].joint = model.find_joint(model_.joints()[static_cast<std::size_t>(laws_[k].joint)].name).value_or(kGone);
    if (laws_[k].body >= 0)
      there_[k].body = model.find_body(model_.bodies()[static_cast<std::size_t>(laws_[k].body)].name).value_or(kGone);
  }
}

void Judge::sample(double t, const Evaluation& evaluation) {
  for (std::size_t k = 0; k < laws_.size(); ++k) {
    const Law& law = there_[k];
    const bool force = law.name == "max_force", moment = law.name == "max_moment";
    if (!(force || moment) || t < law.from || t > law.to) continue;
    for (std::size_t j = 0; j < evaluation.reactions.size(); ++j) {
      if (law.joint != -1 && static_cast<int>(j) != law.joint) continue;
      const Wrench& w = evaluation.reactions[j];
      keep_largest(largest_[k], force ? w.force.norm() : w.moment.norm());
    }
  }
}

LawResult Judge::judge(std::size_t k, const Tally& tally, const Evaluation& last, const std::vector<Metric>& metrics) const {
  const Law& law = laws_[k];
  const LawKind& kind = kind_of(law);
  LawResult out;
  out.name = law.name;
  out.subject = subject_of(law, model_);
  out.sense = law.sense;
  out.bound = law.bound;
  out.unit = law.scale == Scale::Absolute ? kind.unit : reference(law.scale, tally).words;

  // The absolute value: from the tally, from the samples, or from the last state. Of a run without a step nothing can be said.
  if (tally.steps == 0) {
    out.reason = "no step was made";
  } else if (kind.metric != nullptr || law.name == "metric") {
    const std::string wanted = kind.metric != nullptr ? kind.metric : law.field;
    const auto it = std::find_if(metrics.begin(), metrics.end(), [&](const Metric& m) { return m.name == wanted; });
    if (it == metrics.end()) {
      out.reason = "the run has no such metric";
    } else {
      out.value = it->value, out.reason = it->reason;
      if (kind.metric == nullptr) out.unit = it->unit;
    }
  } else if (law.name == "final" && last.bodies.size() != now_->bodies().size()) {
    out.reason = "no state was reached";
  } else if (law.name == "final" && (there_[k].joint == kGone || there_[k].body == kGone)) {
    out.reason = "an edit has removed it";
  } else if (law.name == "final") {
    const std::vector<double> numbers = reached(there_[k], *now_, last);
    if (numbers.size() == law.target.size())
      out.value = distance(numbers, law.target, quaternion_at(there_[k], *now_));
    else
      out.reason = "an edit has locked it";
  } else if (largest_[k] < 0) {
    out.reason = "no recorded sample in the window";
  } else {
    out.value = largest_[k];
  }

  // Relative to a reference that is zero, only nothing at all is small.
  const double scale = reference(law.scale, tally).value;
  if (scale > 0) {
    out.value /= scale;
  } else if (out.value != 0 && out.reason.empty()) {
    out.value = std::numeric_limits<double>::quiet_NaN();
    out.reason = "the reference is zero";
  }
  if (!std::isfinite(out.value) && out.reason.empty()) out.reason = "not finite";
  out.held = std::isfinite(out.value) && (law.sense == Law::Sense::Below ? out.value < law.bound : out.value > law.bound);
  return out;
}

std::vector<LawResult> Judge::verdicts(const Tally& tally, const Evaluation& last, const std::vector<Metric>& metrics) const {
  std::vector<LawResult> out;
  for (std::size_t k = 0; k < laws_.size(); ++k) out.push_back(judge(k, tally, last, metrics));
  return out;
}

}  // namespace invar
