// SPDX-License-Identifier: Apache-2.0
//
// A lock changes who carries a load, not the load: a locked joint is a fixed one at the same joint point, and what the joint
// carried before and carries after is the same wrench.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "invar/mech/augmented.hpp"
#include "invar/model/edit.hpp"
#include "support/agreement.hpp"
#include "support/campaign.hpp"
#include "support/newton_euler.hpp"

namespace invar::testing {
namespace {

constexpr double kUnit = 1.1e-16;
constexpr double kShare = 1e-9;  // of self-stress: what counts as determined

struct Evaluated {
  Model model;
  Evaluation e;
  bool fine = false;
};
Evaluated evaluated(const ModelSpec& spec, const Bodies& bodies, const Load& load) {
  Evaluated out{build(spec), {}};
  Augmented dynamics(out.model);
  State x;
  dynamics.set(bodies, x);
  out.fine = dynamics.evaluate(x, load, out.e).ok();
  return out;
}

/// Efforts of the joints that stay, where one joint has lost its freedoms, or all of them kept.
Load load_for(const Model& model, const Port& port, const Model& from, const VecX& efforts) {
  Load load(model);
  load.port = port;
  for (const Joint& j : model.joints())
    for (int k = 0; k < j.nv; ++k)
      load.efforts[j.v0 + k] = efforts[from.joints()[static_cast<std::size_t>(*from.find_joint(j.name))].v0 + k];
  return load;
}

/// The whole wrench of a joint on its child at the joint point, in the axes of F of the model: those that have the axis of the
/// joint along z tell most about it.
Vec6 whole_wrench(const ModelSpec& spec, const Evaluated& at, std::size_t joint) {
  const Evaluation& e = at.e;
  const std::vector<PlainJoint> joints = plain_joints(spec, e.bodies, e.accelerations);
  int v0 = 0;
  for (std::size_t i = 0; i < joint; ++i) v0 += static_cast<int>(joints[i].freedoms.size());
  Vec3 m = -e.reactions[joint].moment, f = -e.reactions[joint].force;
  for (std::size_t k = 0; k < joints[joint].freedoms.size(); ++k) {
    const PlainFreedom& freedom = joints[joint].freedoms[k];
    const double effort = e.efforts[v0 + static_cast<int>(k)] - freedom.armature * freedom.vdot;
    m += effort * freedom.moment, f += effort * freedom.force;
  }
  const Joint& j = at.model.joints()[joint];
  const Quat q_WP = j.parent == kWorld ? Quat::Identity() : e.bodies[static_cast<std::size_t>(j.parent)].q_WB;
  const Mat3 R_FW = (q_WP * j.X_PF.q).toRotationMatrix().transpose();
  Vec6 w;
  w << R_FW * m, R_FW * f;
  return w;
}

/// The share of a component in the same axes; verdicts speak of F of the file.
double share(const Evaluated& at, std::size_t joint, int c) {
  const JointVerdict& v = at.e.verdicts[joint];
  const Vec3 along = at.model.joints()[joint].turn.toRotationMatrix().col(c % 3);
  return along.dot((c < 3 ? v.moment : v.force) * along);
}

/// Components of whole wrenches of all joints of `before` that are determined in both: their number; each must be the same but
/// for `bound` of `size`. A share is the square of what a unit self-stress does to a component, so self-stress of that size may
/// change it by the root of its share.
int expect_same_wrenches(const ModelSpec& was, const Evaluated& before, const ModelSpec& is, const Evaluated& after, double bound,
                         double size, const std::string& what) {
  int count = 0;
  const double l = before.model.length();
  for (std::size_t i = 0; i < was.joints.size(); ++i) {
    const auto k = after.model.find_joint(was.joints[i].name);
    if (!k) continue;
    const Vec6 a = whole_wrench(was, before, i), b = whole_wrench(is, after, static_cast<std::size_t>(*k));
    for (int c = 0; c < 6; ++c) {
      const double shares = share(before, i, c) + share(after, static_cast<std::size_t>(*k), c);
      if (!(shares <= kShare)) continue;
      EXPECT_NEAR(a[c], b[c], (bound + 2 * std::sqrt(std::max(0.0, shares))) * size * (c < 3 ? l : 1))
          << what << ", joint " << was.joints[i].name << ", component " << c;
      ++count;
    }
  }
  return count;
}

/// Relative error that two exact solutions of rounded inputs may have.
double bound_of(const Model& model, const Bodies& bodies, const Load& load) {
  return std::max(1e-11, 16 * kUnit * judge(model, bodies, load).condition);
}

MechanismOptions family(int k) {
  MechanismOptions options{.bodies = 2 + k % 5, .kinds = {}};
  options.mass_ratio = 10, options.locked = false;
  options.loops = k % 3 == 1 ? 1 : 0;
  options.redundant = k % 6 == 5 ? 1 : 0;
  options.couplings = k % 7 == 6 ? 1 : 0;
  options.floating = k % 5 == 4;
  return options;
}

bool coupled(const ModelSpec& spec, const std::string& joint) {
  return std::any_of(spec.couplings.begin(), spec.couplings.end(),
                     [&](const CouplingSpec& c) { return c.joint == joint || c.of == joint; });
}

}  // namespace

// Every kind at every position: reaction, verdict and residual of the fixed joint whose frames lie on M.
TEST(LockedJoint, SaysWhatAFixedJointAtTheSamePlaceSays) {
  int seen[kJointKinds] = {};
  for (int k = 0; k < cases(200); ++k) {
    const Sample s = random_sample(seed(61000) + static_cast<std::uint64_t>(k), family(k));
    for (std::size_t j = 0; j < s.mechanism.spec.joints.size(); ++j) {
      ModelSpec held = s.mechanism.spec;
      if (held.joints[j].kind == JointKind::Fixed || coupled(held, held.joints[j].name)) continue;
      held.joints[j].locked = true, held.joints[j].locked_at = s.mechanism.coordinates[j];
      ModelSpec fixed = s.mechanism.spec;
      JointSpec& f = fixed.joints[j];
      f.at_parent = f.at_parent * pose_of(f, s.mechanism.coordinates[j]);
      f.kind = JointKind::Fixed, f.pitch = 0, f.axis2.setZero(), f.spring = {}, f.limits = {}, f.damping.clear(),
      f.friction.clear(), f.armature.clear();

      Bodies bodies = s.bodies;
      Random random(seed(62000) + static_cast<std::uint64_t>(k));
      const Model model = build(fixed);
      draw_velocities(random, model, bodies);
      const Load load = load_for(model, s.load.port, s.model, s.load.efforts);
      const Evaluated a = evaluated(held, bodies, load), b = evaluated(fixed, bodies, load);
      ASSERT_EQ(a.fine, b.fine);
      if (!a.fine) continue;
      const std::string what = "case " + std::to_string(k) + ", " + held.joints[j].name + " of " + describe(held);
      expect_newton_euler(held, a.e, load, what);
      expect_newton_euler(fixed, b.e, load, what);
      const Differences d = differences(model, load, {a.e.accelerations, a.e.reactions, a.e.couplings},
                                        {b.e.accelerations, b.e.reactions, b.e.couplings});
      const double bound = bound_of(model, bodies, load);
      EXPECT_LT(d.acceleration, bound) << what;
      EXPECT_LT(d.reaction, bound) << what;
      EXPECT_EQ(a.e.verdicts[j].determined, b.e.verdicts[j].determined) << what;
      EXPECT_NEAR(a.model.length(), b.model.length(), 1e-13 * b.model.length()) << what;
      ++seen[static_cast<int>(held.joints[j].kind)];
    }
  }
  for (int kind = 1; kind < kJointKinds; ++kind) EXPECT_GT(seen[kind], 0) << name(static_cast<JointKind>(kind));
}

// An edit that changes no motion: a joint at rest, held by efforts that leave it at rest, is locked. Its whole wrench, reaction
// and efforts together, keeps every component that is determined before and after; so does that of every other joint.
TEST(EditThatChangesNoMotion, LocksAJointAndChangesNoDeterminedComponentOfAnyWrench) {
  int seen = 0, components = 0;
  for (int k = 0; k < cases(200); ++k) {
    const Sample s = random_sample(seed(63000) + static_cast<std::uint64_t>(k), family(k));
    const ModelSpec& spec = s.mechanism.spec;
    for (std::size_t j = 0; j < spec.joints.size(); ++j) {
      if (spec.joints[j].kind == JointKind::Fixed || coupled(spec, spec.joints[j].name)) continue;
      const auto locked = edited(spec, std::vector<Edit>{Lock{spec.joints[j].name, s.mechanism.coordinates[j]}});
      ASSERT_TRUE(locked) << locked.error().text();
      const Model model = build(*locked);
      Bodies bodies = s.bodies;
      Random random(seed(64000) + static_cast<std::uint64_t>(k));
      draw_velocities(random, model, bodies);
      const Load load = load_for(model, s.load.port, s.model, s.load.efforts);
      const Evaluated after = evaluated(*locked, bodies, load);
      if (!after.fine) continue;

      // The efforts that hold it: what the lock carries along the freedoms, less what is passive there.
      Load holding(s.model);
      holding.port = load.port;
      for (const Joint& joint : model.joints())
        for (int i = 0; i < joint.nv; ++i)
          holding.efforts[s.model.joints()[static_cast<std::size_t>(*s.model.find_joint(joint.name))].v0 + i] =
              load.efforts[joint.v0 + i];
      const PlainJoint at = plain_joints(spec, bodies, after.e.accelerations)[j];
      std::vector<double> size;
      const std::vector<double> passive = plain_passive(spec.joints[j], at, s.mechanism.coordinates[j], size);
      for (std::size_t i = 0; i < at.freedoms.size(); ++i)
        holding.efforts[s.model.joints()[j].v0 + static_cast<int>(i)] = -at.freedoms[i].turn.dot(after.e.reactions[j].moment) -
                                                                        at.freedoms[i].slide.dot(after.e.reactions[j].force) -
                                                                        passive[i];
      const Evaluated before = evaluated(spec, bodies, holding);
      if (!before.fine) continue;

      const std::string what = "case " + std::to_string(k) + ", " + spec.joints[j].name + " of " + describe(spec);
      expect_newton_euler(spec, before.e, holding, what);
      expect_newton_euler(*locked, after.e, load, what);
      double f = 0, m = 0;
      for (const Wrench& w : after.e.reactions) f = std::max(f, w.force.norm()), m = std::max(m, w.moment.norm());
      const double bound = std::max(bound_of(s.model, bodies, holding), bound_of(model, bodies, load));
      components += expect_same_wrenches(spec, before, *locked, after, bound, f + m / model.length(), what);
      ++seen;
    }
  }
  EXPECT_GT(seen, cases(200));
  EXPECT_GT(components, 10 * seen);
}

// The same joint once more, or a joint that only repeats what others hold: it takes a share of what was not determined, or makes
// undetermined what was; what is determined with and without it does not change.
TEST(EditThatChangesNoMotion, ClosesALoopThatIsClosedAndChangesNoDeterminedComponentOfAnyWrench) {
  int components = 0;
  for (int k = 0; k < cases(200); ++k) {
    const Sample s = random_sample(seed(65000) + static_cast<std::uint64_t>(k), family(k));
    const ModelSpec& spec = s.mechanism.spec;
    const auto j = static_cast<std::size_t>(k) % std::max<std::size_t>(1, spec.joints.size());
    if (spec.joints.empty()) continue;
    JointSpec copy = spec.joints[j];
    copy.name = "again", copy.spring = {}, copy.limits = {}, copy.damping.clear(), copy.friction.clear(), copy.armature.clear();
    const auto twice = edited(spec, std::vector<Edit>{CloseLoop{copy, 0}});
    ASSERT_TRUE(twice) << twice.error().text();
    const Model model = build(*twice);
    Load load(model);
    load.port = s.load.port;
    load.efforts.head(s.load.efforts.size()) = s.load.efforts;  // the new joint is the last one
    const Evaluated before = evaluated(spec, s.bodies, s.load), after = evaluated(*twice, s.bodies, load);
    if (!before.fine || !after.fine) continue;
    const std::string what = "case " + std::to_string(k) + ", " + copy.name + " of " + describe(*twice);
    expect_newton_euler(spec, before.e, s.load, what);
    expect_newton_euler(*twice, after.e, load, what);
    double f = 0, m = 0;
    for (const Wrench& w : before.e.reactions) f = std::max(f, w.force.norm()), m = std::max(m, w.moment.norm());
    const double bound = std::max(bound_of(s.model, s.bodies, s.load), bound_of(model, s.bodies, load));
    components += expect_same_wrenches(spec, before, *twice, after, bound, f + m / model.length(), what);
  }
  EXPECT_GT(components, 5 * cases(200));
}

}  // namespace invar::testing
