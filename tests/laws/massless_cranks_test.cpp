// SPDX-License-Identifier: Apache-2.0
// Slider-cranks whose crank and rod have no mass, next to their dead centres, in drawn sizes and attitudes, through every
// formulation: the slider's acceleration is that of the slider alone, or the answer is refused. And motions without inertia are
// seen whatever the directions are that borrow.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/mech/augmented.hpp"
#include "invar/mech/graph_solver.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/natural.hpp"
#include "invar/mech/spanning_tree.hpp"
#include "invar/mech/tree_solver.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Crank {
  ModelSpec spec;
  std::vector<Pose> X_WB;
  Vec3 along;  // of the guide, World
};

JointSpec hinge(const char* name, const std::string& parent, const Pose& on_parent, const std::string& child,
                const Vec3& on_child) {
  JointSpec out;
  out.name = name, out.kind = JointKind::Revolute, out.axis = Vec3::UnitZ(), out.parent = parent, out.child = child;
  out.at_parent = on_parent, out.at_child.p = on_child;
  return out;
}

/// Crank and rod massless, the slider of 2 kg on the ground or on nothing else; the whole turned and moved in World. Body frames
/// have their x axes along the links.
Crank slider_crank(double theta, double crank, double rod, const Pose& X_W) {
  Crank out;
  out.spec.gravity.setZero();
  const double tilt = std::asin(crank * std::sin(theta) / rod), reach = crank * std::cos(theta) + rod * std::cos(tilt);
  const auto turned_by = [](double angle) { return Quat(Eigen::AngleAxisd(angle, Vec3::UnitZ())); };
  for (const char* body : {"crank", "rod"}) {
    BodySpec link;
    link.name = body;
    link.inertia.p_BC = Vec3(0.5 * (body == std::string("crank") ? crank : rod), 0, 0);
    out.spec.bodies.push_back(link);
  }
  BodySpec slider;
  slider.name = "slider", slider.inertia = solid_box(2, Vec3(0.1, 0.2, 0.3) * crank);
  out.spec.bodies.push_back(slider);
  JointSpec guide;
  guide.name = "guide", guide.kind = JointKind::Prismatic, guide.axis = Vec3::UnitX(), guide.child = "slider";
  guide.at_parent = X_W;
  out.spec.joints = {hinge("o", "world", X_W, "crank", Vec3::Zero()),
                     hinge("p", "crank", Pose{Quat::Identity(), Vec3(crank, 0, 0)}, "rod", Vec3::Zero()),
                     hinge("s", "rod", Pose{Quat::Identity(), Vec3(rod, 0, 0)}, "slider", Vec3::Zero()), guide};
  out.X_WB = {X_W * Pose{turned_by(theta), Vec3::Zero()},
              X_W * Pose{turned_by(-tilt), Vec3(crank * std::cos(theta), crank * std::sin(theta), 0)},
              X_W * Pose{Quat::Identity(), Vec3(reach, 0, 0)}};
  out.along = X_W.q * Vec3::UnitX();
  return out;
}

enum class Way { Fronts, Tree, Augmented, Minimal, Natural };
constexpr std::pair<Way, const char*> kWays[] = {{Way::Fronts, "fronts"},
                                                 {Way::Tree, "tree"},
                                                 {Way::Augmented, "augmented"},
                                                 {Way::Minimal, "minimal"},
                                                 {Way::Natural, "natural"}};

Verdict accelerated(Way way, const Model& model, const Bodies& bodies, const Load& load, Accelerations& out) {
  State x;
  Evaluation e;
  Verdict verdict;
  std::vector<Wrench> reactions(model.joints().size());
  const KktInput input{.settled = true, .port = &load.port};
  const Scales scales = scales_of(model);
  switch (way) {
    case Way::Fronts: return GraphSolver(model, scales, whole_piece(model)).solve(bodies, input, out, reactions);
    case Way::Tree:
      return TreeSolver(model, scales, whole_piece(model), spanning_tree(model)).solve(bodies, input, out, reactions);
    case Way::Augmented: {
      Augmented formulation(model);
      formulation.set(bodies, x);
      verdict = formulation.evaluate(x, load, e);
      break;
    }
    case Way::Minimal: {
      Minimal formulation(model);
      formulation.set(bodies, x);
      verdict = formulation.evaluate(x, load, e);
      break;
    }
    case Way::Natural: {
      Natural formulation(model);
      formulation.set(bodies, x);
      return formulation.accelerations(x, load, out);
    }
  }
  out = e.accelerations;
  return verdict;
}

// What is accepted is good to 1e-6 (fronts: |residual| <= 1e-8 of the sine that holds the crank); down to 1e-4 rad nobody
// refuses. One elimination over the tree without refinement loses a rounding over the square of that sine; others take over
// before.
TEST(MasslessSliderCranks, AreExactOrRefusedNextToTheirDeadCentresInEveryFormulation) {
  for (const auto& [way, called] : kWays) {
    int exact = 0;
    for (int k = 0; k < cases(12); ++k) {
      Random random(seed(92100), static_cast<std::uint64_t>(k));
      const double size = std::pow(10.0, random.uniform(-3, 3)), crank = size * random.uniform(0.3, 1);
      const double rod = crank * random.uniform(1.2, 4);
      Pose X_W = random_pose(random, size);
      if (k % 2 == 0) X_W.q = Quat(Eigen::AngleAxisd(random.uniform(-3, 3), Vec3::UnitZ())), X_W.p.z() = 0;
      for (int i = 2; i <= 18; ++i) {
        const double theta = std::pow(10.0, -0.5 * i);
        const Crank c = slider_crank(theta, crank, rod, X_W);
        const Model model = build(c.spec);
        const Bodies bodies = at_rest(model, c.X_WB);
        Load load(model);
        load.port[2].force = 3 * c.along;
        Accelerations a(bodies.size());
        const Verdict verdict = accelerated(way, model, bodies, load, a);
        if (theta > 0.9e-4) {
          EXPECT_TRUE(verdict.ok()) << called << " case " << k << " theta " << theta << ": " << name(verdict.status);
        }
        if (!verdict.ok()) continue;
        ++exact;
        const double bound = way == Way::Tree ? std::max(1e-6, 1e-14 / (theta * theta)) : 1e-6;
        EXPECT_NEAR(a[2].a_WC.dot(c.along), 1.5, bound) << called << " case " << k << " theta " << theta;
      }
    }
    EXPECT_GE(exact, 7 * cases(12)) << called;
  }
}

// Two ideal rods in line, joined so that they spin together, between balls of a loop. Their frames point along the line in the
// same or in opposite senses: a push along both axes at once does not see the spin then.
TEST(MotionsWithoutInertia, AreSeenByNaturalCoordinatesWhicheverWayTheirAxesPoint) {
  for (int k = 0; k < cases(16); ++k) {
    Random random(seed(92200), static_cast<std::uint64_t>(k));
    const double size = std::pow(10.0, random.uniform(-2, 2));
    const Vec3 a = random_vector(random, size), u = random_unit(random), across = random_unit(random).cross(u).normalized();
    Mat3 R;
    R << across, u.cross(across), u;
    const Quat line(R), back = line * Quat(Eigen::AngleAxisd(M_PI, Vec3::UnitX()));
    ModelSpec spec;
    const auto add = [&](const std::string& name, const Inertia& inertia) {
      BodySpec body;
      body.name = name, body.inertia = inertia;
      spec.bodies.push_back(body);
    };
    const Mat3 rod = (Mat3() << 1, 0, 0, 0, 1, 0, 0, 0, 0).finished() * size * size / 12;
    add("left", solid_box(1, Vec3(0.3, 0.2, 0.1) * size)), add("right", solid_box(1, Vec3(0.3, 0.2, 0.1) * size));
    add("one", {1, Vec3::Zero(), rod}), add("two", {1, Vec3::Zero(), rod});
    // World points: the line is a, a + u, a + 2u.
    const Vec3 p0 = a, p1 = a + size * u, p2 = a + 2 * size * u, c0 = p0 + size * across, c2 = p2 + size * (across + 0.3 * u);
    std::vector<Pose> X_WB = {
        {Quat::Identity(), c0}, {Quat::Identity(), c2}, {line, 0.5 * (p0 + p1)}, {k % 2 == 0 ? back : line, 0.5 * (p1 + p2)}};
    const auto join = [&](const char* name, JointKind kind, int parent, int child, const Vec3& at, const Quat& axes) {
      const char* names[] = {"left", "right", "one", "two"};
      JointSpec joint;
      joint.name = name, joint.kind = kind, joint.axis = Vec3::UnitZ();
      joint.parent = parent < 0 ? "world" : names[parent], joint.child = names[child];
      const Pose X_WJ{axes, at};
      joint.at_parent = parent < 0 ? X_WJ : X_WB[static_cast<std::size_t>(parent)].inverse() * X_WJ;
      joint.at_child = X_WB[static_cast<std::size_t>(child)].inverse() * X_WJ;
      spec.joints.push_back(joint);
    };
    const Quat about(Quat::FromTwoVectors(Vec3::UnitZ(), u.cross(across)));
    join("g0", JointKind::Revolute, -1, 0, c0 + size * across, about),
        join("g2", JointKind::Revolute, -1, 1, c2 + size * across, about);
    join("b0", JointKind::Spherical, 0, 2, p0, Quat::Identity()), join("b2", JointKind::Spherical, 1, 3, p2, Quat::Identity());
    join("m", JointKind::Fixed, 2, 3, p1, line);
    const Model model = build(spec);
    const Bodies bodies = at_rest(model, X_WB);
    for (const auto& [way, called] : {kWays[2], kWays[4]}) {
      Accelerations out(bodies.size());
      const Verdict verdict = accelerated(way, model, bodies, Load(model), out);
      EXPECT_EQ(verdict.status, Status::NoInertia) << called << " case " << k << ": " << name(verdict.status);
      EXPECT_GE(verdict.body, 2) << called << " case " << k;
    }
  }
}

// A choice of closure rows that fails (directors that are none) is told, and nothing is computed with it until one succeeds.
TEST(NaturalChoice, ThatFailsIsRefusedUntilOneSucceeds) {
  for (int k = 0; k < cases(12); ++k) {
    Random random(seed(92300), static_cast<std::uint64_t>(k));
    const Crank c = slider_crank(0.7, 1, random.uniform(1.5, 3), random_pose(random, 1));
    const Model model = build(c.spec);
    const Bodies bodies = at_rest(model, c.X_WB);
    NaturalCoordinates coordinates(model, k % 2 == 0);
    coordinates.set_offsets(bodies);
    VecX x, v;
    coordinates.store(bodies, x, v);
    VecX bad = x;
    const int body = random.below(3), per_body = coordinates.per_body();
    if (coordinates.plane() || k % 3 == 0)
      bad.segment(per_body * body, per_body).setConstant(std::numeric_limits<double>::quiet_NaN());
    else
      bad.segment(per_body * body + coordinates.dimension(), per_body - coordinates.dimension()).setZero();
    NaturalReduced reduced(coordinates);
    NaturalElimination whole(coordinates, 1, 1), other(coordinates, 1, 1);
    ASSERT_TRUE(reduced.choose(x).ok() && whole.choose(x).ok());
    std::vector<bool> active;
    for (int r = 0; r < coordinates.rows(); ++r) active.push_back(whole.active(r));
    EXPECT_FALSE(reduced.choose(bad).ok()) << k;
    EXPECT_FALSE(whole.choose(bad).ok()) << k;
    for (int r = 0; r < coordinates.rows(); ++r) EXPECT_EQ(whole.active(r), active[static_cast<std::size_t>(r)]) << k;
    EXPECT_FALSE(reduced.factor(x, v).ok()) << k;
    other.use(whole);
    other.clear();
    EXPECT_FALSE(other.factor().ok()) << k;
    EXPECT_TRUE(reduced.choose(x).ok()) << k;
    EXPECT_TRUE(reduced.factor(x, v).ok()) << k;
  }
}

}  // namespace
}  // namespace invar::testing
