// SPDX-License-Identifier: Apache-2.0
//
// An effort -(k + θ)(q - rest) + e is a spring of stiffness k + θ about rest + e/(k + θ): so stiffness comes before offsets.
#include "invar/learn/learned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "invar/learn/term/inertia.hpp"
#include "invar/learn/term/joint_coulomb.hpp"
#include "invar/learn/term/joint_offset.hpp"
#include "invar/learn/term/joint_stiffness.hpp"
#include "invar/learn/term/joint_viscous.hpp"
#include "invar/mech/passive.hpp"

namespace invar {
namespace {

Inertia about_common(double mass, const Vec3& first, const Mat3& about_origin) {
  Inertia out;
  out.mass = mass;
  out.p_BC = mass > 0 ? Vec3(first / mass) : Vec3(Vec3::Zero());
  out.I_C = about_origin - mass * (out.p_BC.squaredNorm() * Mat3::Identity() - out.p_BC * out.p_BC.transpose());
  return out;
}

// The body's own inertia where it and its payloads together are `now` and were `before`.
Inertia own_part(const Inertia& own, const Inertia& before, const Inertia& now) {
  return about_common(own.mass + now.mass - before.mass, own.mass * own.p_BC + now.mass * now.p_BC - before.mass * before.p_BC,
                      own.about_origin() + now.about_origin() - before.about_origin());
}

class Conclusion {
 public:
  Conclusion(const ModelSpec& nominal, const Model& model, const Terms& terms, const Fit& fit, Learned& out)
      : nominal_(nominal), model_(model), terms_(terms), fit_(fit), out_(out), left_(fit.coefficients) {}

  void run() {
    // The order matters: see the head of this file.
    for (const TermKind kind :
         {TermKind::Inertia, TermKind::JointViscous, TermKind::JointCoulomb, TermKind::JointStiffness, TermKind::JointOffset})
      for (int i = 0; i < terms_.count(); ++i)
        if (terms_.spec(i).kind == kind) take(i);
    for (const auto& [body, added] : added_) take_inertia(body, added);
    for (auto& [joint, edit] : passive_) out_.edits.emplace_back(std::move(edit));
    for (int i = 0; i < terms_.count(); ++i) {
      const int first = terms_.first_column(i), count = terms_.term(i).columns();
      if (taken_.count(i) > 0 && left_.segment(first, count).isZero(0)) continue;
      out_.terms.push_back(terms_.spec(i));
      out_.counts.push_back(count);
      const Eigen::Index before = out_.coefficients.size();
      out_.coefficients.conservativeResize(before + count);
      out_.coefficients.tail(count) = left_.segment(first, count);
      for (int k = 0; k < count; ++k)
        out_.labels.push_back(terms_.label(first + k)), out_.units.push_back(terms_.unit(first + k));
    }
  }

 private:
  void take(int i) {
    const int first = terms_.first_column(i);
    switch (terms_.spec(i).kind) {
      case TermKind::Inertia: return gather_inertia(static_cast<const InertiaTerm&>(terms_.term(i)), i, first);
      case TermKind::JointViscous:
        return add_to(static_cast<const JointViscous&>(terms_.term(i)).classes(), i, first, &SetPassive::damping, "damping");
      case TermKind::JointCoulomb: return take_friction(static_cast<const JointCoulomb&>(terms_.term(i)), i, first);
      case TermKind::JointStiffness:
        return add_to(static_cast<const JointStiffness&>(terms_.term(i)).classes(), i, first, &SetPassive::stiffness,
                      "stiffness");
      default: return take_offset(static_cast<const JointOffset&>(terms_.term(i)).classes(), i, first);
    }
  }

  // Terms that have a body in common add up there.
  void gather_inertia(const InertiaTerm& term, int i, int first) {
    for (std::size_t n = 0; n < term.bodies().size(); ++n) {
      VecX& added = added_.try_emplace(term.bodies()[n], VecX::Zero(10)).first->second;
      added += fit_.coefficients.segment(first + term.first_column(n), 10);
    }
    left_.segment(first, term.columns()).setZero();
    taken_[i] = true;
  }

  void take_inertia(int body, const VecX& added) {
    const auto b = static_cast<std::size_t>(body);
    const Inertia& before = model_.bodies()[b].inertia;
    const Inertia now = own_part(nominal_.bodies[b].inertia, before, with_added(before, added.data()));
    const Inertia physical = nearest_physical(now, model_.length());
    if (physical.mass == 0 && nominal_.bodies[b].inertia.mass > 0) {
      out_.notes.push_back(fmt::format(
          "mass of '{}' would be {:.3g} kg: its inertia stays the nominal one. Something else acts there than these terms know",
          model_.bodies()[b].name, now.mass));
      return;
    }
    if ((physical.I_C - now.I_C).norm() > 1e-9 * now.I_C.norm() || physical.mass != now.mass)
      out_.notes.push_back(fmt::format("inertia of '{}': no rigid body has the one that fits best ({}); the nearest was taken",
                                       model_.bodies()[b].name, flaw(now)));
    out_.edits.emplace_back(SetInertia{model_.bodies()[b].name, physical});
  }

  // The list of a joint's edit, begun with what the model has.
  std::vector<double>& list(int joint, std::optional<std::vector<double>> SetPassive::* which) {
    const Joint& j = model_.joints()[static_cast<std::size_t>(joint)];
    SetPassive& edit = passive_[joint];
    edit.joint = j.name;
    auto& numbers = edit.*which;
    if (!numbers) {
      numbers.emplace();
      for (const Passive& p : j.passive)
        numbers->push_back(which == &SetPassive::damping     ? p.damping
                           : which == &SetPassive::friction  ? p.friction
                           : which == &SetPassive::stiffness ? p.stiffness
                                                             : p.rest);
    }
    return *numbers;
  }

  void add_to(const FreedomClasses& classes, int i, int first, std::optional<std::vector<double>> SetPassive::* which,
              const char* what) {
    for (const FreedomColumn& f : classes.freedoms) {
      double& number = list(f.joint, which)[static_cast<std::size_t>(f.freedom)];
      number += fit_.coefficients[first + f.column];
      if (number < 0) {
        out_.notes.push_back(fmt::format("{} of '{}' would be {:.3g}: 0 was taken", what,
                                         freedom_name(model_.joints()[static_cast<std::size_t>(f.joint)], f.freedom), number));
        number = 0;
      }
    }
    left_.segment(first, classes.count()).setZero();
    taken_[i] = true;
  }

  // A model has one smoothing rate per joint: friction at a second one stays a load.
  void take_friction(const JointCoulomb& term, int i, int first) {
    if (term.smoothing().size() > 1) return;
    for (const FreedomColumn& f : term.classes().freedoms) {
      const auto known = passive_.find(f.joint);
      if (known != passive_.end() && known->second.friction_velocity.value_or(term.smoothing()[0]) != term.smoothing()[0]) return;
      for (const Passive& p : model_.joints()[static_cast<std::size_t>(f.joint)].passive)
        if (p.friction != 0 && p.friction_velocity != term.smoothing()[0]) return;
    }
    add_to(term.classes(), i, first, &SetPassive::friction, "friction");
    for (const FreedomColumn& f : term.classes().freedoms) passive_[f.joint].friction_velocity = term.smoothing()[0];
  }

  // A class whose freedoms all have springs shifts their rest positions.
  void take_offset(const FreedomClasses& classes, int i, int first) {
    for (int c = 0; c < classes.count(); ++c) {
      const auto has_spring = [&](const FreedomColumn& f) {
        const Joint& joint = model_.joints()[static_cast<std::size_t>(f.joint)];
        const auto known = passive_.find(f.joint);
        const auto k = static_cast<std::size_t>(f.freedom);
        const double stiffness =
            known != passive_.end() && known->second.stiffness ? (*known->second.stiffness)[k] : joint.passive[k].stiffness;
        return f.column != c || (f.freedom < ball_start(joint) && stiffness > 0);
      };
      if (!std::all_of(classes.freedoms.begin(), classes.freedoms.end(), has_spring)) continue;
      for (const FreedomColumn& f : classes.freedoms) {
        if (f.column != c) continue;
        const double stiffness = list(f.joint, &SetPassive::stiffness)[static_cast<std::size_t>(f.freedom)];
        list(f.joint, &SetPassive::rest)[static_cast<std::size_t>(f.freedom)] += fit_.coefficients[first + c] / stiffness;
      }
      left_[first + c] = 0;
      taken_[i] = true;
    }
  }

  const ModelSpec& nominal_;
  const Model& model_;
  const Terms& terms_;
  const Fit& fit_;
  Learned& out_;
  VecX left_;                  // coefficients that stay a load
  std::map<int, VecX> added_;  // per body: the ten numbers of its inertia
  std::map<int, SetPassive> passive_;
  std::map<int, bool> taken_;  // terms of which something became an edit
};

}  // namespace

namespace {

// Frames that have the axis of the joint for their z axis, so that another axis is another frame.
NominalNumbers::Ends ends_of(const Joint& j) { return {j.parent == kWorld ? Pose{} : j.X_PF, j.X_CM}; }

}  // namespace

NominalNumbers numbers_of(const Model& model) {
  NominalNumbers out;
  for (const Body& b : model.bodies()) out.inertias.push_back(b.inertia);
  for (const Joint& j : model.joints()) {
    out.passives.push_back(j.passive);
    out.ends.push_back(ends_of(j));
    out.kinds.emplace_back(name(j.spec_kind));
  }
  out.gravity = model.gravity().norm();
  return out;
}

namespace {

constexpr double kSame = 1e-6;  // of the sizes of numbers

bool same(double here, double there, double size) { return std::abs(here - there) <= kSame * size; }

bool same(const Pose& here, const Pose& there, double length) {
  return same((here.p - there.p).norm(), 0, length) && same(here.q.angularDistance(there.q), 0, 1);
}

std::string other_inertia(const Body& body, const Inertia& there, double length) {
  const Inertia& here = body.inertia;
  if (!same(here.mass, there.mass, there.mass))
    return fmt::format("'{}' weighs {:g} kg here and weighed {:g} kg there", body.name, here.mass, there.mass);
  if (!same((here.p_BC - there.p_BC).norm(), 0, length))
    return fmt::format("the centre of mass of '{}' lies {:.3g} m beside the one there", body.name,
                       (here.p_BC - there.p_BC).norm());
  if (!same((here.I_C - there.I_C).norm(), 0, there.I_C.norm()))
    return fmt::format("the moments of inertia of '{}' are other ones than there", body.name);
  return {};
}

std::string other_passive(const Joint& joint, const std::vector<Passive>& passives) {
  if (passives.size() != joint.passive.size()) return fmt::format("joint '{}' is of another kind than there", joint.name);
  for (std::size_t k = 0; k < passives.size(); ++k) {
    const Passive &here = joint.passive[k], &there = passives[k];
    // A rate without friction says nothing.
    const double rate = here.friction != 0 ? here.friction_velocity : there.friction_velocity;
    const std::tuple<const char*, double, double> numbers[] = {{"stiffness", here.stiffness, there.stiffness},
                                                               {"rest", here.rest, there.rest},
                                                               {"damping", here.damping, there.damping},
                                                               {"friction", here.friction, there.friction},
                                                               {"friction_velocity", rate, there.friction_velocity}};
    for (const auto& [what, x, y] : numbers)
      if (!same(x, y, std::abs(y)))
        return fmt::format("the {} of joint '{}' is {:g} here and was {:g} there", what, joint.name, x, y);
  }
  return {};
}

std::string other_end(const Joint& joint, const NominalNumbers::Ends& there, double length) {
  const NominalNumbers::Ends here = ends_of(joint);
  const auto says = [&](const char* body) {
    return fmt::format("joint '{}' is at another place of its {} body than there, or along other axes", joint.name, body);
  };
  if (!same(here.in_parent, there.in_parent, length)) return says("parent");
  return same(here.in_child, there.in_child, length) ? std::string() : says("child");
}

}  // namespace

std::string other_number(const Learned& learned, const Model& model) {
  const NominalNumbers& there = learned.nominal;
  const auto place = [](const std::vector<std::string>& names, const std::string& name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  for (const Body& b : model.bodies())
    if (const std::size_t i = place(learned.bodies, b.name); i < learned.bodies.size())
      if (std::string other = other_inertia(b, there.inertias[i], model.length()); !other.empty()) return other;
  for (const Joint& j : model.joints()) {
    const std::size_t i = place(learned.joints, j.name);
    if (i == learned.joints.size()) continue;
    if (std::string other = other_passive(j, there.passives[i]); !other.empty()) return other;
    if (there.ends.empty()) continue;
    if (std::string other = other_end(j, there.ends[i], model.length()); !other.empty()) return other;
  }
  if (there.ends.empty() && !learned.joints.empty()) return "how long its links were is not told";
  if (const double g = model.gravity().norm(); !there.ends.empty() && !same(g, there.gravity, std::max(g, there.gravity)))
    return fmt::format("gravity is {:g} m/s² here and was {:g} m/s² there", g, there.gravity);
  return {};
}

Result<Learned> conclude(const ModelSpec& nominal, const Model& model, const Terms& terms, const Fit& fit, const DataSet& data,
                         Provenance from) {
  Learned out;
  out.model = model.name();
  out.bodies = names_of(model.bodies()), out.joints = names_of(model.joints());
  out.nominal = numbers_of(model);
  out.obstacles = data.obstacle_names, out.inputs = data.input_names;
  out.from = std::move(from);
  out.from.strengths = fit.strengths;
  out.from.training_error = fit.training, out.from.held_out_error = fit.held_out, out.from.noise = fit.noise;
  out.undetermined = fit.undetermined;
  out.learned = fit.learned;
  if (!out.learned) {
    forget(out, kNothingExplained);
    return out;
  }
  if (!fit.coefficients.allFinite())
    return fail(ErrorKind::Numerics, "a coefficient is not finite: give the terms a ridge strength");
  Conclusion(nominal, model, terms, fit, out).run();
  // What does not make a mechanism is found here, not by whoever reads the file.
  auto edited_spec = edited(nominal, out.edits);
  if (!edited_spec) return tl::unexpected(edited_spec.error());
  if (auto built = Model::build(*edited_spec); !built) return tl::unexpected(built.error());
  return out;
}

Learned identified(const Learned& learned) {
  Learned out = learned;
  out.terms.clear(), out.counts.clear(), out.labels.clear(), out.units.clear();
  out.coefficients.resize(0);
  Eigen::Index first = 0;
  for (std::size_t i = 0; i < learned.terms.size(); first += learned.counts[i++]) {
    if (!is_of_joints(learned.terms[i].kind)) continue;
    const int count = learned.counts[i];
    out.terms.push_back(learned.terms[i]), out.counts.push_back(count);
    const Eigen::Index before = out.coefficients.size();
    out.coefficients.conservativeResize(before + count);
    out.coefficients.tail(count) = learned.coefficients.segment(first, count);
    out.labels.insert(out.labels.end(), learned.labels.begin() + first, learned.labels.begin() + first + count);
    out.units.insert(out.units.end(), learned.units.begin() + first, learned.units.begin() + first + count);
  }
  out.bound.reset(), out.largest_remainder = std::nan("");  // they were of a loop with the whole load
  return out;
}

void forget(Learned& learned, const char* sentence) {
  learned.edits.clear(), learned.learned = false;
  learned.terms.clear(), learned.counts.clear(), learned.labels.clear(), learned.units.clear();
  learned.coefficients.resize(0);
  learned.bound.reset(), learned.largest_remainder = std::nan("");
  learned.notes.emplace_back(sentence);
}

}  // namespace invar
