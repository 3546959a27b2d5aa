// SPDX-License-Identifier: Apache-2.0
//
// Which reactions follow from the motion, on mechanisms where a pencil can tell.
#include <gtest/gtest.h>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/verdicts.hpp"
#include "invar/run/method.hpp"
#include "invar/run/start.hpp"
#include "invar/run/trace.hpp"
#include "support/agreement.hpp"
#include "support/campaign.hpp"
#include "support/linkages.hpp"
#include "support/newton_euler.hpp"
#include "support/places.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Seen {
  ModelSpec spec;
  Model model;
  Evaluation e;
  Mobility mobility;
  const JointVerdict& at(const char* joint) const { return e.verdicts[static_cast<std::size_t>(*model.find_joint(joint))]; }
  const Wrench& reaction(const char* joint) const { return e.reactions[static_cast<std::size_t>(*model.find_joint(joint))]; }
};

Seen evaluate(const std::string& name) {
  const ModelSpec spec = *read_model_file(source_path("models/") + name + ".toml");
  Seen seen{spec, build(spec), {}, {}};
  Augmented dynamics(seen.model);
  State x;
  dynamics.set(*make_consistent(seen.model, place(seen.model, JointState::initial(seen.model))), x);
  EXPECT_TRUE(dynamics.evaluate(x, Load(seen.model), seen.e).ok());
  expect_newton_euler(spec, seen.e, Load(seen.model));
  seen.mobility = dynamics.mobility();
  return seen;
}

TEST(Door, SharesEveryReactionBetweenItsHinges) {
  const Seen door = evaluate("door");
  EXPECT_EQ(door.mobility.rank, 5);
  EXPECT_EQ(door.mobility.freedoms, 1);
  const JointVerdict& lower = door.at("lower_hinge");
  ASSERT_EQ(lower.together_with.size(), 1u);
  EXPECT_FALSE(lower.determined);
  // Along the axis both hinges are alike: one can take all that the other gives up, so half of it is open.
  EXPECT_NEAR(lower.force(2, 2), 0.5, 1e-9);
  EXPECT_NEAR(lower.moment(2, 2), 0, 1e-12);  // nothing is held about the axis
  // Least norm: the weight is carried in equal parts, by both on the door, so each pulls down on the frame.
  EXPECT_NEAR(door.reaction("lower_hinge").force.z(), door.reaction("upper_hinge").force.z(), 1e-9);
}

TEST(PlanarFourBar, DeterminesForcesInItsPlaneOnly) {
  const Seen four_bar = evaluate("four_bar");  // last joint a ball: one self-stress
  EXPECT_EQ(four_bar.mobility.rows - four_bar.mobility.rank, 1);
  for (const char* joint : {"j1", "j2", "j3"}) {
    // F of the file: y along the hinge, x and z in the plane of motion.
    EXPECT_LT(four_bar.at(joint).force(0, 0), 1e-10) << joint;
    EXPECT_GT(four_bar.at(joint).force(1, 1), 1e-3) << joint;
    EXPECT_LT(four_bar.at(joint).force(2, 2), 1e-10) << joint;
  }
}

TEST(Bricard, HasOneSelfStressThroughAllSixHinges) {
  const Seen bricard = evaluate("bricard");
  EXPECT_EQ(bricard.mobility.rank, 29);
  EXPECT_EQ(bricard.mobility.freedoms, 1);
  double total = 0;
  for (const JointVerdict& v : bricard.e.verdicts) {
    EXPECT_FALSE(v.determined);
    EXPECT_EQ(v.together_with.size(), 5u);
    total += v.force.trace() + v.moment.trace();
  }
  EXPECT_NEAR(total, 1, 1e-9);  // the trace of a projector is its rank
}

TEST(Ring, ThatMovesInSpaceHasNoSelfStress) {
  const Seen ring = evaluate("ring7");
  for (const JointVerdict& v : ring.e.verdicts) EXPECT_TRUE(v.determined);
}

// With N an orthonormal basis of the self-stresses (metric |f|² + |m|²/l², by a dense decomposition), the share of a force along
// e is Σ (e·f_k)² over what each of them does to the joint, and that of a moment Σ (e·m_k/l)². The judge writes e along F as the
// spec has it. Bound: rows are of unit length and known to about 10 u, which turns N by that over the smallest singular value.
TEST(Verdicts, AreSquaresOfSelfStressesAlongTheAxesOfTheFile) {
  int turned = 0, open = 0;
  for (int k = 0; k < cases(60); ++k) {
    const Sample s = random_sample(seed(97100) + static_cast<std::uint64_t>(k),
                                   {.bodies = 2 + k % 6, .loops = k % 2, .redundant = 1 + k % 2, .mass_ratio = 10, .kinds = {}});
    const Judgement dense = judge(s.model, s.bodies, s.load);
    if (dense.self_stress.cols() == 0 || dense.smallest_kept < 1e-4) continue;
    const DenseKkt kkt = assemble(s.model, s.bodies, s.load.port, total_efforts(s.model, s.bodies, s.load));
    const std::vector<double> length = part_lengths(s.model);
    std::vector<Mat3> forces(s.model.joints().size(), Mat3::Zero()), moments = forces;
    for (const auto& n : dense.self_stress.colwise()) {
      const std::vector<Wrench> stress = wrenches(s.model, kkt, s.bodies, n.cwiseQuotient(kkt.row_length));
      for (std::size_t j = 0; j < stress.size(); ++j) {
        const int parent = s.model.joints()[j].parent;
        const Quat q_WP = parent == kWorld ? Quat::Identity() : s.bodies[static_cast<std::size_t>(parent)].q_WB;
        const Quat q_FW = (q_WP * s.mechanism.spec.joints[j].at_parent.q).conjugate();
        const Vec3 f = q_FW * stress[j].force, m = q_FW * stress[j].moment / length[j];
        forces[j] += f * f.transpose(), moments[j] += m * m.transpose();
      }
    }
    Augmented dynamics(s.model);
    State x;
    dynamics.set(s.bodies, x);
    Evaluation e;
    ASSERT_TRUE(dynamics.evaluate(x, s.load, e).ok()) << describe(s.mechanism.spec);
    const double bound = 1e-14 / dense.smallest_kept;
    for (std::size_t j = 0; j < forces.size(); ++j) {
      const std::string what = "case " + std::to_string(k) + ", joint " + s.model.joints()[j].name;
      EXPECT_LT((e.verdicts[j].force - forces[j]).norm(), bound) << what;
      EXPECT_LT((e.verdicts[j].moment - moments[j]).norm(), bound) << what;
      if (e.verdicts[j].determined) continue;
      ++open;
      turned += std::abs(s.model.joints()[j].turn.w()) < 0.99 && (forces[j] - forces[j](0, 0) * Mat3::Identity()).norm() > 0.1;
    }
  }
  EXPECT_GT(open, cases(60));
  EXPECT_GT(turned, cases(60) / 2) << "where F is turned to the axis, and the axes of the file differ in their shares";
}

// The planar four-bar with frames F (and axes in them) turned anyhow: the same mechanism. Its hinges hold forces in the plane of
// motion, which the motion determines, and one across it, which it does not.
TEST(Verdicts, TellAComparisonTheSameInEveryDescription) {
  Random random(seed(97200));
  const ModelSpec spec = *read_model_file(source_path("models/four_bar.toml"));
  const Model plain = build(spec);
  const DeterminedAxes axes(plain, Start(plain));
  for (int k = 0; k < cases(20); ++k) {
    ModelSpec turned = spec;
    for (JointSpec& j : turned.joints) {
      const Quat R = random_attitude(random);
      j.at_parent.q = j.at_parent.q * R, j.at_child.q = j.at_child.q * R;
      j.axis = R.conjugate() * j.axis;
    }
    const Model model = build(turned);
    const DeterminedAxes there(model, Start(model));
    const Quat q_WP = random_attitude(random);
    const Wrench W{random_vector(random, 1), random_vector(random, 1)};
    for (std::size_t j = 0; j < 3; ++j) {
      const Wrench here = axes.part(j, W, q_WP), other = there.part(j, W, q_WP);
      const Quat q_F = spec.joints[j].at_parent.q, q_T = turned.joints[j].at_parent.q;
      EXPECT_LT((q_WP * (q_F * here.force) - q_WP * (q_T * other.force)).norm(), 1e-9) << spec.joints[j].name;
      EXPECT_LT((q_WP * (q_F * here.moment) - q_WP * (q_T * other.moment)).norm(), 1e-9) << spec.joints[j].name;
      Vec3 in_plane = (q_WP * q_F).conjugate() * W.force;
      in_plane.y() = 0;
      EXPECT_LT((here.force - in_plane).norm(), 1e-9) << spec.joints[j].name;
    }
  }
}

// Where self-stresses cannot be told every component that a joint holds is open, and what it does not hold has no share: the axis
// of a hinge no moment, a slider no force, a ball no moment at all.
TEST(Verdict, ThatIsNotToldLeavesOpenWhatJointsHold) {
  int seen = 0;
  for (int k = 0; k < cases(20); ++k) {
    const Sample s =
        random_sample(seed(97300) + static_cast<std::uint64_t>(k), {.bodies = 5, .loops = 1, .locked = false, .kinds = {}});
    const Scales scales = scales_of(s.model);
    KktAssembly assembly(s.model, scales, whole_piece(s.model));
    assembly.fill(s.bodies, KktInput{});
    std::vector<JointVerdict> verdicts(s.model.joints().size());
    undetermined_verdicts(s.model, scales, s.bodies, assembly, verdicts);
    for (std::size_t j = 0; j < verdicts.size(); ++j) {
      const JointSpec& joint = s.mechanism.spec.joints[j];
      Mat3 force = Mat3::Identity(), moment = force;
      const Vec3 axis = joint.axis.normalized();
      if (joint.kind == JointKind::Revolute)
        moment -= axis * axis.transpose();
      else if (joint.kind == JointKind::Prismatic)
        force -= axis * axis.transpose();
      else if (joint.kind == JointKind::Spherical)
        moment.setZero();
      else if (joint.kind != JointKind::Fixed)
        continue;
      ++seen;
      EXPECT_FALSE(verdicts[j].determined) << k << " " << joint.name;
      EXPECT_LT((verdicts[j].force - force).norm(), 1e-12) << k << " " << joint.name;
      EXPECT_LT((verdicts[j].moment - moment).norm(), 1e-12) << k << " " << joint.name;
    }
  }
  EXPECT_GT(seen, cases(20));
}

// They take a basis of self-stresses, which is dear, and runs record none. Whoever asks for none has the same numbers. A planar
// four-bar shares reactions out of its plane between all of its hinges.
TEST(Verdicts, AreMadeOnlyWhereTheyAreAskedFor) {
  int open = 0;
  for (int k = 0; k < cases(8); ++k) {
    Random random(seed(52000), static_cast<std::uint64_t>(k));
    ModelSpec spec = crank_rocker(random, 1);
    spec.initial = {{"a", {random.uniform(0.3, 1.2)}}};
    const Model model = build(spec);
    for (const char* formulation : {"augmented", "minimal", "natural"}) {
      const auto evaluation = [&](bool verdicts) {
        Method method;
        method.formulation = formulation;
        const auto dynamics = make_formulation(model, method, verdicts);
        Evaluation e;
        const auto x = state_at(*dynamics, Start(model));
        EXPECT_TRUE(x && dynamics->evaluate(*x, Load(model), e).ok()) << formulation;
        return e;
      };
      const Evaluation with = evaluation(true), without = evaluation(false);
      for (std::size_t j = 0; j < model.joints().size(); ++j) {
        open += !with.verdicts[j].determined;
        EXPECT_TRUE(without.verdicts[j].determined) << formulation;
        EXPECT_EQ(with.reactions[j].force, without.reactions[j].force) << formulation;
        EXPECT_EQ(with.reactions[j].moment, without.reactions[j].moment) << formulation;
      }
    }
  }
  EXPECT_EQ(open, 3 * 4 * cases(8));
}

}  // namespace
}  // namespace invar::testing
