// SPDX-License-Identifier: Apache-2.0
// Sizes are taken where things touch: what is not connected does not influence each other, and neither masses nor units nor a
// large neighbour change a rank.
#include "invar/mech/scales.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "invar/mech/augmented.hpp"
#include "invar/mech/rank.hpp"
#include "support/campaign.hpp"
#include "support/redescribed.hpp"

namespace invar::testing {
namespace {

/// Names with a letter in front; names order the joints of a spanning tree, so both parts keep their own order.
ModelSpec renamed(ModelSpec spec, const std::string& letter) {
  for (BodySpec& b : spec.bodies) b.name = letter + b.name;
  for (JointSpec& j : spec.joints) {
    j.name = letter + j.name, j.child = letter + j.child;
    if (j.parent != "world") j.parent = letter + j.parent;
  }
  for (CouplingSpec& c : spec.couplings) c.name = letter + c.name, c.joint = letter + c.joint, c.of = letter + c.of;
  spec.initial.clear();
  spec.gravity = Vec3(0, 0, -9.81);
  return spec;
}

ModelSpec beside(ModelSpec a, const ModelSpec& b) {
  a.bodies.insert(a.bodies.end(), b.bodies.begin(), b.bodies.end());
  a.joints.insert(a.joints.end(), b.joints.begin(), b.joints.end());
  a.couplings.insert(a.couplings.end(), b.couplings.begin(), b.couplings.end());
  return a;
}

Evaluation evaluation(const Model& model, const Bodies& bodies, const Load& load, Mobility* mobility = nullptr) {
  Augmented dynamics(model);
  State x;
  dynamics.set(bodies, x);
  Evaluation e;
  const Verdict verdict = dynamics.evaluate(x, load, e);
  EXPECT_TRUE(verdict.ok()) << name(verdict.status);
  if (mobility) *mobility = dynamics.mobility();
  return e;
}

// Loops, redundant rows, couplings and trees in all combinations, one mechanism a million times larger or smaller than the other.
TEST(UnconnectedParts, MoveAndReactToTheBitAsAlone) {
  for (int i = 0; i < cases(24); ++i) {
    const auto draw = [&](std::uint64_t stream, int kind) {
      MechanismOptions o;
      o.bodies = 3 + i % 4, o.loops = kind % 3, o.redundant = kind % 2, o.couplings = kind == 3 ? 2 : 0, o.planar = kind == 4;
      o.floating = kind == 5, o.passive = false;
      return random_sample(seed(stream) + static_cast<std::uint64_t>(i), o);
    };
    const Sample large = draw(71000, i % 6), other = draw(72000, i / 6 % 6);
    const Redescribed small = in_other_units(other, {i % 2 == 0 ? 1e-6 : 1e6, 1e-2, 1});
    const ModelSpec a = renamed(large.mechanism.spec, "a"), b = renamed(small.spec, "b");
    const Model one = build(a), two = build(b), both = build(beside(a, b));
    ASSERT_GE(scales_of(both).parts.size(), 2u);

    Bodies bodies = large.bodies;
    bodies.insert(bodies.end(), small.bodies.begin(), small.bodies.end());
    Load load(both);
    load.port = large.load.port;
    load.port.insert(load.port.end(), small.load.port.begin(), small.load.port.end());
    load.efforts << large.load.efforts, small.load.efforts;

    Mobility m1, m2, m;
    const Evaluation e1 = evaluation(one, large.bodies, large.load, &m1), e2 = evaluation(two, small.bodies, small.load, &m2);
    const Evaluation e = evaluation(both, bodies, load, &m);
    EXPECT_EQ(m.rank, m1.rank + m2.rank);
    EXPECT_EQ(m.freedoms, m1.freedoms + m2.freedoms);
    const auto at = [&](std::size_t k, const auto& first, const auto& second) -> const auto& {
      return k < first.size() ? first[k] : second[k - first.size()];
    };
    for (std::size_t k = 0; k < bodies.size(); ++k) {
      const BodyAcceleration& alone = at(k, e1.accelerations, e2.accelerations);
      EXPECT_EQ(e.accelerations[k].a_WC, alone.a_WC) << "case " << i << ", body " << k;
      EXPECT_EQ(e.accelerations[k].alpha_WB, alone.alpha_WB) << "case " << i << ", body " << k;
    }
    for (std::size_t k = 0; k < e.reactions.size(); ++k) {
      EXPECT_EQ(e.reactions[k].force, at(k, e1.reactions, e2.reactions).force) << "case " << i << ", joint " << k;
      EXPECT_EQ(e.reactions[k].moment, at(k, e1.reactions, e2.reactions).moment) << "case " << i << ", joint " << k;
      EXPECT_EQ(e.verdicts[k].determined, at(k, e1.verdicts, e2.verdicts).determined) << "case " << i << ", joint " << k;
    }
  }
}

// Rank is geometry. The judge is the singular values of the dense Jacobian of the untouched description.
TEST(Rank, ChangesNeitherWithMassesNorWithUnits) {
  int counted = 0;
  for (int i = 0; i < cases(60); ++i) {
    MechanismOptions o;
    o.bodies = 3 + i % 6, o.loops = i % 4, o.redundant = i % 3, o.planar = i % 5 == 0, o.passive = false;
    const std::uint64_t at = seed(73000) + static_cast<std::uint64_t>(i);
    const Sample s = random_sample(at, o);
    const Judgement judged = judge(s.model, s.bodies, s.load);
    if (judged.smallest_kept < 1e-5 || judged.largest_dropped > 1e-12) continue;
    ++counted;
    const std::string what = "seed " + std::to_string(at) + ": " + describe(s.mechanism.spec);
    EXPECT_EQ(rank_of(s.model, s.bodies).rank, judged.rank) << what;
    Random random(at, 2);
    ModelSpec heavy = s.mechanism.spec;
    for (BodySpec& b : heavy.bodies) {
      const double factor = std::pow(10.0, random.uniform(-6, 6));
      b.inertia.mass *= factor, b.inertia.I_C *= factor;
    }
    EXPECT_EQ(rank_of(build(heavy), s.bodies).rank, judged.rank) << what;
    const Redescribed r = in_other_units(s, {std::pow(10.0, random.uniform(-6, 6)), 1e3, 60});
    EXPECT_EQ(rank_of(build(r.spec), r.bodies).rank, judged.rank) << what;
  }
  EXPECT_GE(counted, cases(60) / 2);
}

/// A four-bar in the x-y plane of a carrier, hinged there at two points; `size` m between its fixed joints.
void add_four_bar(ModelSpec& spec, const std::string& letter, const std::string& carrier, const Vec3& at, double size,
                  double mass, std::vector<Vec3>& centres) {
  const Vec3 a(0, 0, 0), b(0.2, 0.5, 0), c(1.1, 0.8, 0), d(1, 0, 0);
  const Vec3 ends[3][2] = {{a, b}, {b, c}, {c, d}};
  const auto body = [&](int k) { return letter + std::to_string(k); };
  for (int k = 0; k < 3; ++k) {
    BodySpec link;
    link.name = body(k);
    link.inertia = solid_box(mass, {0.1 * size, 0.1 * size, 0.3 * size});
    spec.bodies.push_back(link);
    centres.push_back(at + 0.5 * size * (ends[k][0] + ends[k][1]));
  }
  const auto hinge = [&](const std::string& joint, const std::string& parent, const Vec3& on_parent, const std::string& child,
                         const Vec3& on_child) {
    JointSpec j;
    j.name = letter + joint, j.kind = JointKind::Revolute, j.axis = Vec3::UnitZ();
    j.parent = parent, j.child = child;
    j.at_parent.p = on_parent, j.at_child.p = on_child;
    spec.joints.push_back(j);
  };
  // Body frames stand at the centres of mass, axes those of World at the drawn configuration; `at` is given in the carrier's.
  const auto half = [&](int k) { return Vec3(0.5 * size * (ends[k][1] - ends[k][0])); };
  hinge("a", carrier, at + size * a, body(0), -half(0));
  hinge("b", body(0), half(0), body(1), -half(1));
  hinge("c", body(1), half(1), body(2), -half(2));
  hinge("d", carrier, at + size * d, body(2), half(2));
}

// True rank by counting: 17 each. Accelerations against LU of the equilibrated KKT matrix in long double; there the answer is
// known to 1e-19 times a condition of 1e8 or so after scaling rows and columns. The bound is what double precision of the
// inputs allows: positions of the small one are differences of World coordinates of some 2 km, known to 2e-13 m, against 0.2 mm:
// 1e-9; arms come from body frames and do not feel that.
TEST(ASmallMechanism, CarriedByALargeOneKeepsItsRankAndItsMotion) {
  for (const double mass : {1.0, 1e-9}) {
    ModelSpec spec;
    spec.gravity = Vec3(0, -9.81, 0);
    std::vector<Vec3> centres, inside;
    add_four_bar(spec, "l", "world", Vec3::Zero(), 2000, 1, centres);
    add_four_bar(spec, "s", "l1", Vec3::Zero(), 2e-4, mass, inside);
    const Model model = build(spec);
    ASSERT_EQ(scales_of(model).parts.size(), 1u);
    Bodies bodies(6);
    for (std::size_t b = 0; b < 3; ++b) bodies[b].p_WC = centres[b], bodies[b + 3].p_WC = centres[1] + inside[b];
    const RankOfModel rank = rank_of(model, bodies);
    EXPECT_EQ(rank.rank, 34) << mass;
    EXPECT_EQ(rank.freedoms, 2) << mass;
    Mobility m;
    const Load load(model);
    const Evaluation e = evaluation(model, bodies, load, &m);
    EXPECT_EQ(m.rank, 34) << mass;

    // The planar equations in long double: rows of the plane only are independent (8 hinges of 2 rows over 18 unknowns).
    using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
    using Vector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
    Matrix K = Matrix::Zero(34, 34);
    Vector rhs = Vector::Zero(34);
    const auto size_of = [](int b) { return b < 3 ? 2000.0L : 2e-4L; };
    for (int b = 0; b < 6; ++b) {
      const Inertia& inertia = model.bodies()[static_cast<std::size_t>(b)].inertia;
      K(3 * b, 3 * b) = K(3 * b + 1, 3 * b + 1) = inertia.mass;
      K(3 * b + 2, 3 * b + 2) = inertia.I_C(2, 2) / (size_of(b) * size_of(b));
      rhs[3 * b + 1] = -9.81L * static_cast<long double>(inertia.mass);
    }
    for (int j = 0; j < 8; ++j) {
      const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
      const auto add = [&](int b, const Vec3& arm, long double side) {
        if (b == kWorld) return;
        for (int k = 0; k < 2; ++k) {
          const int row = 18 + 2 * j + k;
          K(row, 3 * b + k) += side, K(3 * b + k, row) += side;
          const long double turn = (k == 0 ? -arm.y() : arm.x()) / size_of(b);
          K(row, 3 * b + 2) += side * turn, K(3 * b + 2, row) += side * turn;
        }
      };
      add(joint.child, joint.X_CM.p, 1);
      add(joint.parent, joint.X_PF.p, -1);
    }
    const Vector exact = K.fullPivLu().solve(rhs);
    for (int b = 0; b < 6; ++b) {
      const auto alpha = static_cast<double>(exact[3 * b + 2] / size_of(b));
      EXPECT_NEAR(e.accelerations[static_cast<std::size_t>(b)].alpha_WB.z(), alpha, 1e-9 * std::abs(alpha))
          << mass << " body " << b;
    }
  }
}

}  // namespace
}  // namespace invar::testing
