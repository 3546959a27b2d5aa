// SPDX-License-Identifier: Apache-2.0
//
// Natural coordinates on their own: Bodies and back, the mass against kinetic energy, rows against differences, joint coordinates
// and their changes over a step.
#include <gtest/gtest.h>

#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "support/campaign.hpp"
#include "support/natural_samples.hpp"

namespace invar::testing {
namespace {

// Drawn mechanisms of both forms: in space with every kind, in the plane as chains.
std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (int k = 0; k < cases(12); ++k) {
    const std::uint64_t at = seed(5100) + static_cast<std::uint64_t>(k);
    all.push_back(natural_sample(at, {.bodies = 2 + k % 5, .loops = k % 3 == 2 ? 1 : 0, .kinds = {}}, 1));
    all.push_back(planar_chain(at, 1 + k % 4, true, k % 2));
  }
  return all;
}

VecX drawn_vector(Random& random, int size) {
  VecX v(size);
  for (double& e : v) e = random.normal();
  return v;
}

TEST(NaturalCoordinates, GiveBackTheBodiesThatTheyWereMadeFrom) {
  for (const Sample& s : samples()) {
    Natural natural(s.model);
    State x;
    Bodies back;
    natural.set(s.bodies, x);
    natural.bodies(x, back);
    for (std::size_t b = 0; b < back.size(); ++b) {
      // Numbers of order one through a few products: 1e-14. Twists of order ten.
      EXPECT_LT((back[b].p_WC - s.bodies[b].p_WC).norm(), 1e-14 * (1 + s.bodies[b].p_WC.norm()));
      EXPECT_LT(log_so3(back[b].q_WB.conjugate() * s.bodies[b].q_WB).norm(), 1e-14);
      EXPECT_LT((back[b].v_WC - s.bodies[b].v_WC).norm() + (back[b].w_WB - s.bodies[b].w_WB).norm(),
                1e-13 * (1 + s.bodies[b].v_WC.norm() + s.bodies[b].w_WB.norm()));
    }
  }
}

// Mechanisms that cannot move have velocities of rounding, 1e-15 m/s, and their energies.
TEST(NaturalCoordinates, MassGivesTheKineticEnergyOfRigidVelocities) {
  constexpr double kStill = 1e-28;  // J
  for (const Sample& s : samples()) {
    Natural natural(s.model);
    State x;
    natural.set(s.bodies, x);
    VecX q, v;
    joint_coordinates(s.model, s.bodies, q, v);
    const double T = energy(s.model, s.bodies, q, v).kinetic;
    EXPECT_NEAR(0.5 * natural.coordinates().twice_kinetic(x.v), T, 1e-13 * T + kStill);
    VecX Mv(x.v.size());
    natural.coordinates().apply_mass(x.v, Mv);
    EXPECT_NEAR(0.5 * x.v.dot(Mv), T, 1e-13 * T + kStill);
    double blocks = 0;
    const int n = natural.coordinates().per_body();
    for (int b = 0; b < static_cast<int>(s.bodies.size()); ++b)
      blocks += x.v.segment(n * b, n).dot(natural.mass(b) * x.v.segment(n * b, n));
    EXPECT_NEAR(0.5 * blocks, T, 1e-13 * T + kStill);
  }
}

TEST(NaturalCoordinates, HamiltonianIsTheEnergyOfTheBodies) {
  for (const Sample& s : samples()) {
    Natural natural(s.model);
    State x;
    natural.set(s.bodies, x);
    VecX q, v;
    joint_coordinates(s.model, s.bodies, q, v);
    const Energy e = energy(s.model, s.bodies, q, v);
    EXPECT_NEAR(natural.hamiltonian(x), e.total(), 1e-13 * (e.kinetic + std::abs(e.potential) + e.elastic));
  }
}

TEST(NaturalCoordinates, RowsVanishWhereJointsHoldAndSoDoTheirRates) {
  for (const Sample& s : samples()) {
    Natural natural(s.model);
    State x;
    natural.set(s.bodies, x);
    VecX g(natural.coordinates().rows()), rate(g.size());
    natural.coordinates().residual(x.q, g);
    natural.coordinates().apply_rows(x.q, x.v, rate);
    EXPECT_LT(g.lpNorm<Eigen::Infinity>(), 1e-13);
    EXPECT_LT(rate.lpNorm<Eigen::Infinity>(), 1e-12);
  }
}

// Rows are quadratic: central differences have no error but rounding, u |g| / step with step 1, and the second difference gives
// the curvature.
TEST(NaturalCoordinates, RowsAreQuadraticWithTheGradientAndCurvatureThatTheySay) {
  Random random(seed(5200));
  for (const Sample& s : samples()) {
    const NaturalCoordinates c(s.model);
    const VecX x = drawn_vector(random, c.size()), d = drawn_vector(random, c.size());
    const VecX a = x + d, b = x - d;
    for (int r = 0; r < c.rows(); ++r) {
      const NaturalForm& row = c.row(r);
      const double size = 1e-13 * (1 + x.squaredNorm() + d.squaredNorm());
      EXPECT_NEAR(c.rate(row, x, d), 0.5 * (c.value(row, a) - c.value(row, b)), size);
      EXPECT_NEAR(c.curvature(row, d), c.value(row, a) - 2 * c.value(row, x) + c.value(row, b), size);
      // The gradient body by body, and the blocks of the second derivative.
      const int n = c.per_body();
      double along = 0, twice = 0;
      for (int i = 0; i < static_cast<int>(s.bodies.size()); ++i) {
        VecX g = VecX::Zero(n);
        c.add_gradient(row, x, i, 1, g.data());
        along += g.dot(d.segment(n * i, n));
        for (int j = 0; j < static_cast<int>(s.bodies.size()); ++j) {
          MatX block = MatX::Zero(n, n);
          c.add_curvature(row, i, j, 1, block);
          twice += d.segment(n * i, n).dot(block * d.segment(n * j, n));
        }
      }
      EXPECT_NEAR(along, c.rate(row, x, d), size);
      EXPECT_NEAR(twice, c.curvature(row, d), size);
    }
  }
}

TEST(NaturalFreedoms, AreTheJointCoordinatesAndRatesOfTheBodies) {
  for (const Sample& s : samples()) {
    Natural natural(s.model);
    const NaturalCoordinates& c = natural.coordinates();
    State x;
    natural.set(s.bodies, x);
    VecX q, v;
    joint_coordinates(s.model, s.bodies, q, v);
    for (int j = 0; j < static_cast<int>(s.model.joints().size()); ++j)
      for (int k = 0; k < s.model.joints()[static_cast<std::size_t>(j)].nv; ++k) {
        const Joint& joint = s.model.joints()[static_cast<std::size_t>(j)];
        const NaturalFreedom f = natural_freedom(c, j, k);
        if (f.kind != NaturalFreedom::Kind::Ball) {
          EXPECT_NEAR(coordinate(c, f, x.q, q[joint.q0 + k]), q[joint.q0 + k], 1e-13);
        }
        EXPECT_NEAR(gradient(c, f, x.q).rate(x.v, c.per_body()), v[joint.v0 + k], 1e-12 * (1 + std::abs(v[joint.v0 + k])));
      }
  }
}

// Two configurations on the constraints, a fair way apart. gradient · Δx = change is an identity: 1e-13 of numbers of order one.
TEST(NaturalFreedoms, ChangesOverAStepAreExactAlongTheirGradients) {
  for (const Sample& s : samples()) {
    Natural natural(s.model);
    const NaturalCoordinates& c = natural.coordinates();
    State x0, x1;
    Bodies moved = s.bodies;
    for (BodyState& b : moved) b.p_WC += 0.05 * b.v_WC, b.q_WB = turned(b.q_WB, 0.05 * b.w_WB);
    Augmented projector(s.model);
    if (!projector.projection().positions(moved, VecX::Zero(s.model.nv()), 1e-9, 20).ok()) continue;
    natural.set(s.bodies, x0);
    natural.set(moved, x1);
    const VecX mid = 0.5 * (x0.q + x1.q), step = x1.q - x0.q;
    for (int j = 0; j < static_cast<int>(s.model.joints().size()); ++j)
      for (int k = 0; k < s.model.joints()[static_cast<std::size_t>(j)].nv; ++k) {
        const NaturalFreedom f = natural_freedom(c, j, k);
        if (f.kind == NaturalFreedom::Kind::Ball) continue;
        const NaturalChange found = change(c, f, x0.q, x1.q, mid);
        const double q0 = coordinate(c, f, x0.q, 0);
        EXPECT_NEAR(found.gradient.rate(step, c.per_body()), found.change, 1e-12);
        EXPECT_NEAR(coordinate(c, f, x1.q, q0) - q0, found.change, 1e-12);
      }
  }
}

TEST(NaturalObjection, NamesWhatIsNoPolynomialOfDegreeTwo) {
  ModelSpec spec;
  spec.bodies.resize(1);
  spec.bodies[0].name = "nut";
  spec.bodies[0].inertia = solid_box(1, Vec3::Ones());
  JointSpec joint;
  joint.name = "thread", joint.kind = JointKind::Screw, joint.child = "nut", joint.pitch = 0.1;
  spec.joints.push_back(joint);
  EXPECT_NE(natural_objection(build(spec)).find("'thread'"), std::string::npos);
  spec.joints[0].kind = JointKind::Revolute, spec.joints[0].pitch = 0, spec.joints[0].armature = {0.1};
  EXPECT_NE(natural_objection(build(spec)).find("armature"), std::string::npos);
  spec.joints[0].armature.clear();
  EXPECT_EQ(natural_objection(build(spec)), "");
}

}  // namespace
}  // namespace invar::testing
