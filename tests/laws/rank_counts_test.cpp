// SPDX-License-Identifier: Apache-2.0
// One mechanism, one rank: whoever eliminates over a spanning tree counts as the joint graph does, on its own rows and in its own
// metric; couplings count with the slope that they have on the turn they are on; nothing is decided on numbers that are not
// finite.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "invar/base/largest.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/natural.hpp"
#include "invar/mech/natural_reduced.hpp"
#include "invar/mech/part_solver.hpp"
#include "invar/mech/rank.hpp"
#include "invar/mech/system.hpp"
#include "invar/mech/tree_solver.hpp"
#include "invar/mech/unreduced.hpp"
#include "support/agreement.hpp"
#include "support/campaign.hpp"
#include "support/natural_samples.hpp"

namespace invar::testing {
namespace {

MechanismOptions family(int k) {
  MechanismOptions o;
  o.bodies = 3 + k % 6, o.loops = 1 + k % 3, o.redundant = k % 4 == 3 ? 1 : 0, o.planar = k % 5 == 4, o.passive = false;
  o.mass_ratio = 100;
  return o;
}

/// Well away from any threshold: sines of counting by squares are known to about 1e-6.
bool clear(const Sample& s) {
  const Judgement judged = judge(s.model, s.bodies, s.load);
  return judged.smallest_kept > 1e-3 && judged.largest_dropped < 1e-12;
}

TEST(Rank, OfNaturalRowsIsThatOfTheJointGraph) {
  int counted = 0;
  for (int k = 0; k < cases(60); ++k) {
    MechanismOptions o = family(k);
    o.kinds = o.planar ? std::vector<JointKind>{} : natural_kinds();
    const auto at = seed(98400) + static_cast<std::uint64_t>(k);
    const Sample s = natural_sample(at, o, 0);
    if (!clear(s)) continue;
    ++counted;
    NaturalCoordinates coordinates(s.model, false);
    coordinates.set_offsets(s.bodies);
    VecX x, v;
    coordinates.store(s.bodies, x, v);
    NaturalReduced equations(coordinates);
    ASSERT_TRUE(equations.choose(x).ok());
    EXPECT_EQ(equations.freedoms(), rank_of(s.model, s.bodies).freedoms) << "seed " << at << ": " << describe(s.mechanism.spec);
  }
  EXPECT_GE(2 * counted, cases(60));
}

TEST(Rank, OfClosuresOverATreeIsThatOfTheJointGraph) {
  int counted = 0;
  for (int k = 0; k < cases(60); ++k) {
    const auto at = seed(98500) + static_cast<std::uint64_t>(k);
    const Sample s = random_sample(at, family(k));
    if (!clear(s)) continue;
    ++counted;
    const Scales scales = scales_of(s.model);
    const Piece piece = whole_piece(s.model);
    const SpanningTree tree = spanning_tree(s.model);
    TreeSolver solver(s.model, scales, piece, tree);
    Accelerations accelerations(s.bodies.size());
    std::vector<Wrench> reactions(s.model.joints().size());
    ASSERT_TRUE(solver.solve(s.bodies, KktInput{.dynamics = false, .settled = true}, accelerations, reactions).ok());
    int rows = 0;
    for (const TreeNode& node : tree.nodes)
      if (node.joint >= 0) rows += s.model.joints()[static_cast<std::size_t>(node.joint)].rows();
    EXPECT_EQ(rows + solver.closure_rank() - solver.rotor_rows(), rank_of(s.model, s.bodies).rank)
        << "seed " << at << ": " << describe(s.mechanism.spec);
  }
  EXPECT_GE(2 * counted, cases(60));
}

/// A loop of bodies between grounded joints in the plane across `along`, axes tilted out of it by about `tilt`: what is redundant
/// of it for parallel axes is independent by a sine of that size, or of its square.
struct Tilted {
  ModelSpec spec;
  std::string what;
};
Tilted tilted_loop(Random& random, int family, double tilt) {
  const Quat R = random_attitude(random);
  const auto turned = [&](const Vec3& v) { return Vec3(R * v); };
  const auto nearly_parallel = [&] {
    const double a = random.uniform(0, 2 * M_PI);
    return turned(Vec3(tilt * std::cos(a), tilt * std::sin(a), 1).normalized());
  };
  Tilted out{{}, fmt::format("family {}, tilt {:.2e}", family, tilt)};
  out.spec.gravity = turned(Vec3(1, -9, 2));
  const int bodies = family == 2 ? 1 : 3;
  std::vector<Vec3> points;
  for (int k = 0; k <= bodies; ++k) {
    const double a = 2 * M_PI * (k + random.uniform(-0.2, 0.2)) / (bodies + 1);
    points.push_back(family == 2 ? turned(Vec3(0, 0, 0.5 * k))
                                 : turned(random.uniform(0.7, 1.3) * Vec3(std::cos(a), std::sin(a), 0)));
  }
  // Body frames are those of the World, moved to the joint before: all coordinates are zero here.
  for (int k = 0; k < bodies; ++k) {
    BodySpec body;
    body.name = "b" + std::to_string(k), body.inertia = solid_box(std::exp(random.uniform(-2, 2)), {0.3, 0.4, 0.5});
    body.inertia.p_BC = random_vector(random, 0.3);
    out.spec.bodies.push_back(body);
  }
  for (int k = 0; k <= bodies; ++k) {
    JointSpec joint;
    joint.name = "j" + std::to_string(k), joint.axis = nearly_parallel();
    joint.kind = family == 1 && k > 0 ? JointKind::Cylindrical : JointKind::Revolute;
    joint.parent = k == 0 || k == bodies ? "world" : out.spec.bodies[static_cast<std::size_t>(k - 1)].name;
    joint.child = out.spec.bodies[static_cast<std::size_t>(std::min(k, bodies - 1))].name;
    const auto i = static_cast<std::size_t>(k);
    joint.at_parent.p = joint.parent == "world" ? points[i] : Vec3(points[i] - points[i - 1]);
    joint.at_child.p = k == bodies ? Vec3(points[i] - points[i - 1]) : Vec3(Vec3::Zero());
    out.spec.joints.push_back(joint);
  }
  return out;
}

/// Accelerations beside those that the same forces would give to free bodies: how far two answers are apart.
double apart(const Model& model, const Accelerations& a, const Accelerations& b) {
  double most = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    keep_largest(most, (a[k].a_WC - b[k].a_WC).norm() + model.length() * (a[k].alpha_WB - b[k].alpha_WB).norm());
  return most / model.gravity().norm();
}

// Hinges in line, four-bars and loops with slides along hinges that are parallel but for 1e-3 to 1e-9: the joint graph, the tree,
// minimal and natural coordinates and the steppers have the same freedoms. Counted at once, and by what moves from rest: a row
// that is taken for redundant sets free an acceleration of the size of the weight. Squares of sines lose 1e-16 over their square,
// and steppers go on with the rows that squares tell: down to 1e-6 they are asked here.
TEST(Rank, OfNearlyParallelAxesIsTheSameForEverybody) {
  int asked = 0, steppers = 0, by_squares = 0, refused = 0;
  for (int k = 0; k < cases(60); ++k) {
    Random random(seed(98800) + static_cast<std::uint64_t>(k));
    const Tilted t = tilted_loop(random, k % 3, std::pow(10, random.uniform(-9, -3)));
    const Model model = build(t.spec);
    const Bodies bodies = place(model, JointState::initial(model));
    const RankOfModel graph = rank_of(model, bodies);
    const Judgement judged = judge(model, bodies, Load(model));
    const std::string what = fmt::format("case {}, {}, sigma {:.2e}, densely rank {}, kept {:.2e}, dropped {:.2e}", k, t.what,
                                         graph.sigma, judged.rank, judged.smallest_kept, judged.largest_dropped);
    // A sine of 1e-10 is where rows begin to count: beside it the judge and the graph may differ.
    if (judged.smallest_kept < 1e-9 || judged.largest_dropped > 1e-11) continue;
    ++asked;
    const int freedoms = 6 * static_cast<int>(bodies.size()) - judged.rank;
    EXPECT_EQ(graph.freedoms, freedoms) << what;
    Augmented augmented(model);
    Minimal minimal(model);
    Natural natural(model);
    State x, y, z;
    augmented.set(bodies, x), minimal.set(bodies, y), natural.set(bodies, z);
    Evaluation e;
    ASSERT_TRUE(augmented.evaluate(x, Load(model), e).ok()) << what;
    EXPECT_EQ(augmented.mobility().freedoms, freedoms) << what;
    EXPECT_EQ(minimal.mobility().freedoms, freedoms) << what;
    EXPECT_EQ(static_cast<int>(minimal.tree().independent().size()), freedoms) << what;
    EXPECT_EQ(natural.mobility().freedoms, freedoms) << what;
    Accelerations a;
    ASSERT_TRUE(natural.accelerations(z, Load(model), a).ok()) << what;
    EXPECT_LT(apart(model, a, e.accelerations), 1e-4) << what;
    if (graph.sigma < 1e-6) continue;
    ++steppers;
    by_squares += graph.sigma < 1e-5;
    for (const char* method : {"conserving", "rattle", "midpoint"}) {
      System system(natural);
      State at = z;
      const auto integrator = std::move(*make_integrator(method));
      constexpr double h = 1e-4;
      integrator->reset(system, at, h);
      double done = 0;
      if (!integrator->step(system, 0, h, at, done).ok()) {
        ++refused;
        continue;
      }
      Bodies after;
      natural.bodies(at, after);
      for (std::size_t b = 0; b < a.size(); ++b) a[b] = {after[b].v_WC / h, after[b].w_WB / h};
      EXPECT_LT(apart(model, a, e.accelerations), 1e-2) << what << " " << method;
    }
  }
  EXPECT_GE(10 * asked, 8 * cases(60));
  EXPECT_GE(10 * steppers, 3 * cases(60));
  EXPECT_GT(by_squares, 0);
  EXPECT_LE(10 * refused, 3 * steppers) << "steps that do not converge, of three methods";
}

/// A crank that drives the two cranks of a parallelogram, one by c q² and one by c q² + c (q - q0)³/10: together with the
/// parallelogram one of the couplings is redundant at q0, and on no other turn. `other` replaces both by their tangents at q0. (A
/// square beside a tangent would agree with it to first order only, and hold the crank.)
ModelSpec geared_parallelogram(double c, double q0, bool other) {
  ModelSpec spec;
  spec.gravity = Vec3(0.3, -9.81, 0);
  const auto add = [&](const std::string& body, const Vec3& com) {
    BodySpec made;
    made.name = body, made.inertia = solid_box(1, {0.2, 0.3, 0.4});
    made.inertia.p_BC = com;
    spec.bodies.push_back(made);
  };
  const auto hinge = [&](const std::string& joint, const std::string& parent, const Vec3& on_parent, const std::string& child,
                         const Vec3& on_child) {
    JointSpec made;
    made.name = joint, made.kind = JointKind::Revolute, made.axis = Vec3::UnitZ(), made.parent = parent, made.child = child;
    made.at_parent.p = on_parent, made.at_child.p = on_child;
    spec.joints.push_back(made);
  };
  add("driver", Vec3(0.1, 0.2, 0)), add("left", Vec3(0.2, 0, 0)), add("right", Vec3(0.3, 0, 0)), add("bar", Vec3(0.4, 0.1, 0));
  hinge("d", "world", Vec3(-2, 0, 0), "driver", Vec3::Zero());
  hinge("l", "world", Vec3::Zero(), "left", Vec3::Zero());
  hinge("r", "world", Vec3(1, 0, 0), "right", Vec3::Zero());
  hinge("lb", "left", Vec3(0.7, 0, 0), "bar", Vec3::Zero());
  hinge("rb", "right", Vec3(0.7, 0, 0), "bar", Vec3(1, 0, 0));
  const double slope = 2 * c * q0, value = c * q0 * q0;
  const double e = 0.1 * c;
  const std::vector<double> tangent = {value - slope * q0, slope}, square = {0, 0, c},
                            cubic = {-e * q0 * q0 * q0, 3 * e * q0 * q0, c - 3 * e * q0, e};
  CouplingSpec first, second;
  first.name = "left", first.joint = "l", first.of = "d", first.coefficients = other ? tangent : square;
  second.name = "right", second.joint = "r", second.of = "d", second.coefficients = other ? tangent : cubic;
  spec.couplings = {first, second};
  return spec;
}

// From rest the crank moves as with two straight couplings, whose rank, mobility, reactions and verdicts it has, too. With the
// slopes at the angle within (-pi, pi] it would not: there they differ, and hold the crank.
TEST(Couplings, CountWithTheSlopeOfTheTurnTheyAreOn) {
  for (int k = 0; k < cases(20); ++k) {
    Random random(seed(98600) + static_cast<std::uint64_t>(k));
    const double q0 = (k % 2 == 0 ? 1 : -1) * random.uniform(4, 20), c = random.uniform(0.005, 0.05);
    const Model model = build(geared_parallelogram(c, q0, false)), straight = build(geared_parallelogram(c, q0, true));
    const double q = c * q0 * q0;
    const Quat turn(Eigen::AngleAxisd(q, Vec3::UnitZ()));
    std::vector<Pose> X_WB = {{Quat(Eigen::AngleAxisd(q0, Vec3::UnitZ())), Vec3(-2, 0, 0)},
                              {turn, Vec3::Zero()},
                              {turn, Vec3(1, 0, 0)},
                              {Quat::Identity(), turn * Vec3(0.7, 0, 0)}};
    VecX turns = VecX::Constant(model.nv(), std::numeric_limits<double>::quiet_NaN()), coupling_q = VecX::Constant(2, q0);
    turns[0] = q0, turns[1] = turns[2] = q;
    const Bodies bodies = at_rest(model, X_WB);
    EXPECT_EQ(rank_of(model, bodies, &coupling_q).freedoms, 1);
    EXPECT_EQ(rank_of(straight, bodies).freedoms, 1);
    const auto evaluated_at = [&](const Model& of, Mobility& mobility) {
      Augmented augmented(of);
      State x;
      augmented.set(bodies, x, turns);
      Evaluation e;
      const Verdict verdict = augmented.evaluate(x, Load(of), e);
      EXPECT_TRUE(verdict.ok()) << name(verdict.status);
      mobility = augmented.mobility();
      return e;
    };
    Mobility m, m_straight;
    const Evaluation e = evaluated_at(model, m), other = evaluated_at(straight, m_straight);
    EXPECT_EQ(m.freedoms, 1) << q0 << " " << c;
    EXPECT_EQ(m.rank, m_straight.rank);
    for (std::size_t b = 0; b < bodies.size(); ++b)
      EXPECT_LT((e.accelerations[b].alpha_WB - other.accelerations[b].alpha_WB).norm(), 1e-9) << q0 << " " << c;
    for (std::size_t j = 0; j < e.reactions.size(); ++j) {
      EXPECT_LT((e.reactions[j].force - other.reactions[j].force).norm(), 1e-8) << q0 << " " << c << " joint " << j;
      EXPECT_EQ(e.verdicts[j].determined, other.verdicts[j].determined) << q0 << " " << c << " joint " << j;
      EXPECT_LT((e.verdicts[j].force - other.verdicts[j].force).norm(), 1e-8) << q0 << " " << c << " joint " << j;
    }
  }
}

// A state whose squares overflow, or that holds NaN, is refused, and leaves no trace: what follows is to the bit what a new
// solver says.
TEST(Overflow, IsRefusedAndForgotten) {
  int refused = 0;
  for (int k = 0; k < cases(40); ++k) {
    const auto at = seed(98700) + static_cast<std::uint64_t>(k);
    const Sample s = random_sample(at, family(k));
    Accelerations after(s.bodies.size()), alone = after, unused = after;
    std::vector<Wrench> f_after(s.model.joints().size()), f_alone = f_after, none = f_after;
    Unreduced used(s.model), fresh(s.model);
    Bodies bad = s.bodies;
    Random random(at, 3);
    const auto b = static_cast<std::size_t>(random.below(static_cast<int>(bad.size())));
    if (k % 3 == 2)
      bad[b].q_WB.x() = std::numeric_limits<double>::quiet_NaN();
    else
      bad[b].q_WB.coeffs() *= k % 3 == 0 ? 1e80 : 1e160;
    const KktInput input{.settled = true};
    const Verdict verdict = used.solve(bad, input, unused, none);
    EXPECT_EQ(verdict.status, Status::NotFinite) << "seed " << at << ": " << name(verdict.status);
    refused += !verdict.ok();
    const Verdict first = fresh.solve(s.bodies, input, alone, f_alone), again = used.solve(s.bodies, input, after, f_after);
    ASSERT_EQ(again.status, first.status) << "seed " << at;
    EXPECT_EQ(used.mobility().rank, fresh.mobility().rank) << "seed " << at;
    if (!first.ok()) continue;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(after[i].a_WC, alone[i].a_WC) << "seed " << at << " body " << i;
      EXPECT_EQ(after[i].alpha_WB, alone[i].alpha_WB) << "seed " << at << " body " << i;
    }
    for (std::size_t j = 0; j < f_alone.size(); ++j)
      EXPECT_EQ(f_after[j].force, f_alone[j].force) << "seed " << at << " joint " << j;
  }
  EXPECT_EQ(refused, cases(40));
}

}  // namespace
}  // namespace invar::testing
