// SPDX-License-Identifier: Apache-2.0
//
// Paper C, section 3 and 5: every matrix of the N-link chain against another way to the same number. Chains are random: links
// from one to six, centres of gravity on the line of joints or beside it, springs between neighbours or one through all, hinges
// that count either way, bodies at different offsets along the normal, any plane in space.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/planar_chain.hpp"
#include "support/campaign.hpp"
#include "support/newton_euler.hpp"
#include "support/places.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Drawing {
  int links;
  bool eccentric, multi;
};

/// Link i lies along its x axis, length `reach[i]`; body frames are turned and moved by chance.
ModelSpec draw_spec(Random& random, const Drawing& d) {
  const Quat R_WP = random_attitude(random);  // the plane of motion in World: x, y of P
  ModelSpec spec;
  spec.gravity = R_WP * Vec3(random.uniform(-5, 5), random.uniform(-5, 5), 0);
  double reach = 0;
  Pose X_LB;  // body frame of the link before, in the link's own frame (joint at its origin, x towards the next one)
  PointSpec tip{"world", "", R_WP * Vec3(random.uniform(-0.5, 0.5), 0.6, random.uniform(-0.2, 0.2))};
  TendonSpec tendon;
  tendon.name = "tendon", tendon.points = {tip}, tendon.length = 0.3 * d.links, tendon.stiffness = random.uniform(1, 20);
  for (int i = 0; i < d.links; ++i) {
    const std::string name = "link" + std::to_string(i);
    const Pose X_LB_own = random_pose(random, 0.3);
    const double length = random.uniform(0.5, 1.5), l = length * random.uniform(0.4, 0.9);
    const double beside = d.eccentric ? random.uniform(-0.3, 0.3) : 0, aside = random.uniform(-0.1, 0.1);
    BodySpec body;
    body.name = name;
    body.inertia = random_inertia(random, random.uniform(0.5, 3), 0.5);
    body.inertia.p_BC = X_LB_own.inverse() * Vec3(l, beside, random.uniform(-0.1, 0.1));
    JointSpec joint;
    joint.name = "joint" + std::to_string(i), joint.kind = JointKind::Revolute;
    const double sign = random.chance(0.5) ? 1 : -1;
    const Pose at_inner =
        i == 0 ? Pose{R_WP, random_vector(random, 1)} : Pose{X_LB.q.conjugate(), X_LB.inverse() * Vec3(reach, 0, aside)};
    const Pose at_outer{X_LB_own.q.conjugate(), X_LB_own.inverse() * Vec3::Zero()};
    const bool reversed = i > 0 && random.chance(0.5);
    joint.parent = i == 0 ? "world" : "link" + std::to_string(i - 1), joint.child = name;
    joint.at_parent = at_inner, joint.at_child = at_outer, joint.axis = sign * Vec3::UnitZ();
    if (reversed) std::swap(joint.parent, joint.child), std::swap(joint.at_parent, joint.at_child);
    const PointSpec next{name, "", X_LB_own.inverse() * Vec3(length, 0.4, random.uniform(-0.1, 0.1))};
    tendon.points.push_back(next);
    if (!d.multi) {
      spec.tendons.push_back({"spring" + std::to_string(i), {tip, next}, random.uniform(1, 20), 0.2, 0, 0, false, {}});
      tip = next;
    }
    spec.bodies.push_back(body), spec.joints.push_back(joint);
    reach = length, X_LB = X_LB_own;
  }
  if (d.multi) spec.tendons.push_back(tendon);
  spec.frames.push_back({"tcp", spec.bodies.back().name, {Quat::Identity(), X_LB.inverse() * Vec3(reach, 0.1, 0)}, {}});
  return spec;
}

/// A chain in a random state.
struct Case {
  ModelSpec spec;
  Model model;
  PlanarChain chain;
  JointState joints;
  Bodies bodies;
  VecX xi, x, x_dot, xi_dot;
};

Case draw(std::uint64_t seed) {
  Random random(seed, 51);
  const Drawing d{1 + static_cast<int>(seed % 6), random.chance(0.5), random.chance(0.5)};
  const ModelSpec spec = draw_spec(random, d);
  Model model = build(spec);
  auto chain = PlanarChain::of(model);
  EXPECT_TRUE(chain) << (chain ? "" : chain.error().text());
  JointState joints = JointState::initial(model);
  for (int i = 0; i < model.nv(); ++i) joints.q[i] = random.uniform(-3, 3), joints.v[i] = random.uniform(-2, 2);
  joints.known.assign(model.joints().size(), true);
  Bodies bodies = place(model, joints);
  const VecX x = chain->x_of(bodies), x_dot = chain->x_dot_of(bodies), xi = chain->xi_from_x(x);
  const VecX xi_dot = chain->J_inverse() * x_dot;
  return {spec, std::move(model), std::move(*chain), joints, std::move(bodies), xi, x, x_dot, xi_dot};
}

template <class F>
void for_chains(int usual, F&& law) {
  for (int k = 0; k < cases(usual); ++k) {
    SCOPED_TRACE(k);
    law(draw(seed(2300) + static_cast<std::uint64_t>(k)));
  }
}

/// Derivative of a vector function along d by central differences, error about h².
template <class F>
VecX along(F&& f, const VecX& at, const VecX& d, double h = 1e-5) {
  return (f(VecX(at + h * d)) - f(VecX(at - h * d))) / (2 * h);
}
VecX one(double value) { return VecX::Constant(1, value); }

double largest(const MatX& m) { return m.size() ? m.cwiseAbs().maxCoeff() : 0; }

// Identities hold up to the round-off of J^-1, whose entries reach 1.5^5 < 10 for the chains drawn here.
constexpr double kRoundOff = 1e-12;
// Central differences with h = 1e-5: h² times third derivatives of size 10, and 1e-16/h of round-off times 10.
constexpr double kDifferences = 1e-8;

TEST(PaperCChain, JMapsXiToCentresOfGravityAndBack) {
  for_chains(60, [](const Case& c) {
    const int n = c.chain.links();
    EXPECT_LE(largest(c.chain.J() * c.chain.J_inverse() - MatX::Identity(2 * n, 2 * n)), kRoundOff);
    const VecX base = c.chain.X_from_xi(c.xi).head<2>().replicate(n, 1);
    EXPECT_LE(largest(base + c.chain.J() * c.xi - c.x), kRoundOff);
    EXPECT_LE(largest(c.chain.x_from_xi(c.xi) - c.x), kRoundOff);
    for (int i = 0; i < n; ++i) EXPECT_NEAR(c.xi.segment<2>(2 * i).norm(), c.chain.l(i), kRoundOff);
  });
}

TEST(PaperCChain, JointsAndToolAreWhereTheBodiesHaveThem) {
  for_chains(60, [](const Case& c) {
    const VecX X = c.chain.X_from_xi(c.xi);
    const Plane& plane = c.chain.plane();
    for (int i = 0; i < c.chain.links(); ++i) {
      const Joint& joint = c.model.joints()[c.chain.joint(i)];
      const Vec3 at = body_pose(c.model, c.bodies, joint.parent) * joint.X_PF.p;
      EXPECT_LE((plane.project(at) - X.segment<2>(2 * i)).norm(), kRoundOff);
    }
    EXPECT_LE((plane.project(frame_pose(c.model, 0, c.bodies).p) - X.tail<2>()).norm(), kRoundOff);
    EXPECT_LE((X.head<2>() + c.chain.J_tcp() * c.xi - X.tail<2>()).norm(), kRoundOff);
  });
}

TEST(PaperCChain, AnglesOfTheModelGoToXiAndBack) {
  for_chains(60, [](const Case& c) {
    EXPECT_LE(largest(c.chain.xi_from_angles(c.joints.q) - c.xi), kRoundOff);
    EXPECT_LE(largest(c.chain.angles_from_xi(c.xi) - c.joints.q), kRoundOff);  // drawn within half a turn
    EXPECT_LE(largest(c.chain.xi_from_phi(c.chain.phi_from_xi(c.xi)) - c.xi), kRoundOff);
  });
}

TEST(PaperCChain, RelativeAnglesTurnAsTheJointsDo) {
  for_chains(60, [](const Case& c) {
    const int n = c.chain.links();
    const MatX L = c.chain.L();
    const VecX phi_dot = (L * L).inverse() * c.chain.dxi_dphi(c.xi).transpose() * c.xi_dot;  // (32)
    const VecX relative = c.chain.D() * phi_dot;
    for (int i = 0; i < n; ++i)
      EXPECT_NEAR(relative[i], c.chain.sign(i) * c.joints.v[c.model.joints()[c.chain.joint(i)].v0], 10 * kRoundOff);
    EXPECT_LE(largest(c.chain.dxi_dphi(c.xi) * phi_dot - c.xi_dot), 10 * kRoundOff);
    EXPECT_LE(largest(c.chain.D() * c.chain.D_inverse() - MatX::Identity(n, n)), 0);
    EXPECT_LE(largest(c.chain.B(c.xi).transpose() * c.x_dot - relative), 10 * kRoundOff);  // (39)
  });
}

TEST(PaperCChain, GIsTheGradientOfTheConstraints) {
  for_chains(60, [](const Case& c) {
    EXPECT_LE(largest(c.chain.g(c.xi)), kRoundOff);
    EXPECT_LE(largest(c.chain.G(c.xi) * c.x_dot), 10 * kRoundOff);
    const auto g = [&](const VecX& x) { return c.chain.g(c.chain.xi_from_x(x)); };
    for (int k = 0; k < c.x.size(); ++k) {
      const VecX e = VecX::Unit(c.x.size(), k);
      EXPECT_LE(largest(along(g, c.x, e) - c.chain.G(c.xi) * e), kDifferences);
    }
  });
}

TEST(PaperCChain, EnergiesAreThoseOfTheBodies) {
  for_chains(60, [](const Case& c) {
    const Energy e = energy(c.model, c.bodies, c.joints.q, c.joints.v);
    const double size = 1 + std::abs(e.kinetic) + std::abs(e.potential) + e.elastic;
    EXPECT_NEAR(0.5 * c.x_dot.dot(c.chain.M() * c.x_dot), e.kinetic, kRoundOff * size);
    EXPECT_NEAR(0.5 * c.xi_dot.dot(c.chain.M_xi() * c.xi_dot), e.kinetic, kRoundOff * size);
    EXPECT_NEAR(c.chain.V_g(c.x), e.potential, kRoundOff * size);
    EXPECT_NEAR(c.chain.V_s(c.xi), e.elastic, kRoundOff * size);
  });
}

TEST(PaperCChain, MassInXiIsTheSameMass) {
  for_chains(60, [](const Case& c) {
    const MatX J = c.chain.J();
    EXPECT_LE(largest(J.transpose() * c.chain.M() * J - c.chain.M_xi()), 100 * kRoundOff);
  });
}

TEST(PaperCChain, TheGradientOfVIsThatOfItsDifferences) {
  for_chains(60, [](const Case& c) {
    const auto V = [&](const VecX& x) { return one(c.chain.V_g(x) + c.chain.V_s(c.chain.xi_from_x(x))); };
    const VecX gradient = c.chain.gradient_V(c.xi);
    for (int k = 0; k < c.x.size(); ++k)
      EXPECT_NEAR(along(V, c.x, VecX::Unit(c.x.size(), k))[0], gradient[k], 1e-7 * (1 + largest(gradient)));
    EXPECT_LE(largest(c.chain.J().transpose() * gradient - c.chain.gradient_V_xi(c.xi)),
              10 * kRoundOff * (1 + largest(gradient)));
  });
}

/// (2) solved for the accelerations of the centres of gravity.
VecX acceleration(const Case& c, const VecX& tau) {
  const int n = c.chain.links();
  const MatX G = c.chain.G(c.xi);
  MatX K = MatX::Zero(3 * n, 3 * n);
  VecX rhs(3 * n);
  K << c.chain.M(), -G.transpose(), G, MatX::Zero(n, n);
  rhs.head(2 * n) = c.chain.B(c.xi) * tau - c.chain.gradient_V(c.xi);
  for (int i = 0; i < n; ++i) rhs[2 * n + i] = -c.xi_dot.segment<2>(2 * i).squaredNorm();
  return K.fullPivLu().solve(rhs).head(2 * n);
}

TEST(PaperCChain, AcceleratesAsTheAugmentedFormulationWithTorques) {
  for_chains(60, [](const Case& c) {
    const int n = c.chain.links();
    Random random(static_cast<std::uint64_t>(n), 3);
    Load load(c.model);
    VecX tau(n);
    for (int i = 0; i < n; ++i) {
      tau[i] = random.uniform(-5, 5);
      load.efforts[c.model.joints()[c.chain.joint(i)].v0] = c.chain.sign(i) * tau[i];
    }
    Augmented augmented(c.model);
    State state;
    augmented.set(c.bodies, state);
    Evaluation e;
    ASSERT_TRUE(augmented.evaluate(state, load, e).ok());
    expect_newton_euler(c.spec, e, load);
    const VecX a = acceleration(c, tau);
    for (int i = 0; i < n; ++i) {
      const Vec3 expected = e.accelerations[c.chain.body(i)].a_WC;
      EXPECT_LE((c.chain.plane().project(expected) - a.segment<2>(2 * i)).norm(), 1e-10 * (1 + largest(a)));
    }
    // (39): dH/dt = phi_dot^T tau, by the accelerations alone.
    const double power = c.x_dot.dot(c.chain.M() * a + c.chain.gradient_V(c.xi));
    EXPECT_NEAR(power, (c.chain.B(c.xi).transpose() * c.x_dot).dot(tau), 1e-10 * (1 + largest(a)));
  });
}

TEST(PaperCChain, ConstraintAndInputForcesTogetherAreRotations) {
  for_chains(60, [](const Case& c) {
    const int n = c.chain.links();
    MatX both(2 * n, 2 * n);
    both << c.chain.G(c.xi).transpose(), c.chain.B_0(c.xi);
    EXPECT_LE(largest(both - c.chain.H(c.xi) * c.chain.P().transpose()), kRoundOff);  // docs/papers.md C3
    // J^T H has blocks l_i R(phi_i).
    const MatX blocks = c.chain.J().transpose() * c.chain.H(c.xi);
    const VecX phi = c.chain.phi_from_xi(c.xi);
    for (int i = 0; i < n; ++i)
      EXPECT_LE(largest(blocks.block<2, 2>(2 * i, 2 * i) - c.chain.l(i) * Eigen::Rotation2Dd(phi[i]).toRotationMatrix()),
                kRoundOff * 10);
  });
}

TEST(PaperCChain, PIsItsOwnTransposeOnlyForTwoLinks) {
  for_chains(6, [](const Case& c) {
    const MatX P = c.chain.P();
    EXPECT_EQ(P == MatX(P.transpose()), c.chain.links() <= 2);
  });
}

TEST(PaperCChain, ImpedanceInCartesianFormIsImpedanceInJointAngles) {
  for_chains(60, [](const Case& c) {
    const PlanarChain::Vec2 target(0.3, -0.2);
    PlanarChain::Mat2 K, D;
    K << 30, 4, 4, 20;
    D << 3, 1, 1, 5;
    const VecX tau = c.chain.torques(c.xi, c.chain.impedance(c.xi, c.x_dot, target, K, D));  // (45) and (49)
    // (44), with the Jacobians of the angles by the chain rule from the Bodies' side: dxi/dphi D^-1.
    const MatX to_xi = c.chain.dxi_dphi(c.xi) * c.chain.D_inverse();
    const MatX J_tcp = c.chain.J_tcp() * to_xi;
    const VecX rates = c.chain.B(c.xi).transpose() * c.x_dot;
    const VecX X = c.chain.X_from_xi(c.xi);
    const VecX expected =
        -J_tcp.transpose() * (K * (X.tail<2>() - target) + D * (J_tcp * rates)) + to_xi.transpose() * c.chain.gradient_V_xi(c.xi);
    EXPECT_LE(largest(tau - expected), kRoundOff * (1 + largest(expected)) * 10);
  });
}

/// Twenty links of 1 kg and 1 m with their centres of gravity at l.
PlanarChain twenty(double l) {
  ModelSpec spec;
  for (int i = 0; i < 20; ++i) {
    BodySpec body;
    body.name = "link" + std::to_string(i);
    body.inertia = solid_box(1, {1, 0.1, 0.1});
    body.inertia.p_BC = {l, 0, 0};
    JointSpec joint;
    joint.name = "joint" + std::to_string(i), joint.kind = JointKind::Revolute, joint.child = body.name;
    if (i > 0) joint.parent = spec.bodies.back().name, joint.at_parent.p = {1, 0, 0};
    spec.bodies.push_back(body), spec.joints.push_back(joint);
  }
  spec.gravity = {0, -9.81, 0};
  return *PlanarChain::of(build(spec));
}

double condition(const MatX& m) {
  const auto s = m.jacobiSvd().singularValues();
  return s[0] / s[s.size() - 1];
}

// (1 - alpha)^19 = 2.33^19 = 1e7 enters (34) squared. In xi the mass is that of a chain: it grows like N², whatever l is.
TEST(PaperCChain, TwentyLinksAreAsWellConditionedInXiWhereverTheCentresLie) {
  const PlanarChain near = twenty(0.3), middle = twenty(0.5);
  RecordProperty("x_near", std::to_string(condition(near.M())));
  RecordProperty("xi_near", std::to_string(condition(near.M_xi())));
  EXPECT_GE(condition(near.M()), 1e13);
  EXPECT_LE(condition(near.M_xi()), 1e4);
  EXPECT_LE(condition(near.M_xi()), 2 * condition(middle.M_xi()));
}

TEST(PaperCChain, RefusesWhatIsNoChainAndSaysWhy) {
  const auto reason = [](const ModelSpec& spec) {
    const auto chain = PlanarChain::of(build(spec));
    return chain ? std::string() : chain.error().what;
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const ModelSpec pendulum = *read_model_file(source_path("models/paper_c_pendulum.toml"));
  EXPECT_EQ(reason(pendulum), "");
  ModelSpec s = pendulum;
  s.joints[2].parent = "link1";
  EXPECT_TRUE(has(reason(s), "branch")) << reason(s);
  s = pendulum, s.joints[1].kind = JointKind::Prismatic, s.joints[1].axis = Vec3::UnitX();
  EXPECT_TRUE(has(reason(s), "prismatic")) << reason(s);
  s = pendulum, s.joints[1].armature = {0.1};
  EXPECT_TRUE(has(reason(s), "rotor")) << reason(s);
  s = pendulum, s.bodies[1].inertia.p_BC.setZero();
  EXPECT_TRUE(has(reason(s), "'link2' lies on its joint")) << reason(s);
  s = *read_model_file(source_path("models/four_bar.toml"));
  EXPECT_TRUE(has(reason(s), "hinge")) << reason(s);
  s = *read_model_file(source_path("models/parallelogram.toml"));
  EXPECT_TRUE(has(reason(s), "closes a loop")) << reason(s);
  EXPECT_FALSE(PlanarChain::of(build(pendulum), "no_such_frame"));
}

TEST(PaperCChain, TableTwoHasItsNumbers) {
  const Model model = *Model::build(*read_model_file(source_path("models/paper_c_springs.toml")));
  const PlanarChain chain = *PlanarChain::of(model);
  EXPECT_EQ(chain.links(), 3);
  const VecX xi = chain.xi_from_angles(VecX::Zero(3));
  EXPECT_LE(largest(xi - (VecX(6) << 0.5, 0, 0.5, 0, 0.5, 0).finished()), 0);
  EXPECT_LE(largest(chain.A(0) - 2 * PlanarChain::Mat2::Identity()), 1e-15);
  EXPECT_NEAR(chain.V_s(xi), 0.96, 1e-15);
  // (34) by hand: m + J/l² sum t t^T with t_1 = (1,0,0), t_2 = (-2,1,0), t_3 = (2,-2,1).
  MatX expected(3, 3);
  expected << 1 + 4 * (1 + 4 + 4), 4 * (-2 - 4), 4 * 2, 4 * (-2 - 4), 1 + 4 * (1 + 4), 4 * -2, 4 * 2, 4 * -2, 1 + 4;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_NEAR(chain.M()(2 * i, 2 * j), expected(i, j), 1e-14);
}

}  // namespace
}  // namespace invar::testing
