// SPDX-License-Identifier: Apache-2.0
//
// The dense judge is tried by laws that it was not written from: differences in place of derivatives, the balance of every
// single body, of the whole system, and of power. Random graphs with every kind of joint, loops, rotors and couplings.
#include <gtest/gtest.h>

#include "invar/base/largest.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/passive.hpp"
#include "support/campaign.hpp"
#include "support/dense_kkt.hpp"
#include "support/faces/kinds.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// A sample of each sort in turn: trees, floating trees, loops, redundant loops, massless links, couplings.
Sample draw(std::uint64_t seed) {
  MechanismOptions o;
  o.bodies = 2 + static_cast<int>(seed % 7);
  o.floating = seed % 3 == 1;
  o.loops = static_cast<int>(seed % 4);
  o.redundant = seed % 5 == 2 ? 2 : 0;
  o.massless = seed % 5 == 3;
  o.couplings = seed % 4 == 0 ? 2 : 0;
  o.planar = seed % 11 == 5;
  return random_sample(seed, o);
}

Bodies accelerated(const Bodies& bodies, const Accelerations& a, double t) {
  Bodies out = moved(bodies, t);
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    out[b].v_WC += t * a[b].a_WC;
    out[b].w_WB += t * a[b].alpha_WB;
  }
  return out;
}

/// Derivative at 0 of f along t, error t⁴: Richardson on central differences.
template <class F>
auto derivative(const F& f, double t) -> decltype(f(t)) {
  using Value = decltype(f(t));
  const Value coarse = (f(t) - f(-t)) / (2 * t);
  const Value fine = (f(t / 2) - f(-t / 2)) / t;
  return (4 * fine - coarse) / 3;
}

const std::uint64_t kFirst = seed(0), kCases = static_cast<std::uint64_t>(cases(60));

TEST(Judge, DrawsMechanismsThatAreClosed) {
  for (std::uint64_t seed = kFirst; seed < kFirst + kCases; ++seed) {
    const Sample s = draw(seed);
    VecX q, v;
    joint_coordinates(s.model, s.bodies, q, v);
    // Positions of some metres pass through a dozen roundings on each side.
    const ConstraintError e = constraint_error(s.model, s.bodies, VecX::Zero(s.model.nv()));
    EXPECT_LT(e.position, 1e-13) << seed << ": " << describe(s.mechanism.spec);
    EXPECT_LT(e.velocity, 1e-12) << seed << ": " << describe(s.mechanism.spec);
  }
}

TEST(Judge, MeasuresTheCoordinatesThatWereDrawn) {
  for (std::uint64_t seed = kFirst; seed < kFirst + kCases; ++seed) {
    const Sample s = draw(seed);
    VecX q, v;
    joint_coordinates(s.model, s.bodies, q, v);
    for (std::size_t j = 0; j < s.model.joints().size(); ++j) {
      const Joint& joint = s.model.joints()[j];
      const VecX measured = q.segment(joint.q0, joint.nq);
      VecX drawn = Eigen::Map<const VecX>(s.mechanism.coordinates[j].data(), joint.nq);
      // Quaternions of either sign are the same attitude.
      const int quaternion = joint.kind == JointKind::Spherical ? 0 : (joint.kind == JointKind::Free ? 3 : joint.nq);
      if (quaternion < joint.nq && drawn.tail<4>().dot(measured.tail<4>()) < 0) drawn.tail<4>() *= -1;
      EXPECT_LT((measured - drawn).lpNorm<Eigen::Infinity>(), 1e-12) << seed << " " << joint.name << " " << name(joint.kind);
    }
  }
}

TEST(Judge, RightSideIsTheDerivativeOfItsRows) {
  for (std::uint64_t seed = kFirst; seed < kFirst + kCases; ++seed) {
    const Sample s = draw(seed);
    const DenseKkt k = assemble(s.model, s.bodies, s.load.port, s.load.efforts);
    if (k.J.rows() == 0) continue;
    const VecX differences = gamma_by_differences(s.model, s.bodies);
    const double scale = 1 + k.gamma.cwiseAbs().maxCoeff();
    EXPECT_LT((k.gamma - differences).cwiseAbs().maxCoeff(), 1e-9 * scale) << seed << ": " << describe(s.mechanism.spec);
  }
}

/// Residuals of all joints and couplings on the velocity level, stacked.
VecX open_rates(const Model& model, const Bodies& bodies) {
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  std::vector<double> all;
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j)
    for (const double r : joint_residual_rate(model, j, bodies)) all.push_back(r);
  for (int c = 0; c < static_cast<int>(model.couplings().size()); ++c) all.push_back(coupling_residual_rate(model, c, q, v));
  return Eigen::Map<const VecX>(all.data(), static_cast<Eigen::Index>(all.size()));
}

TEST(Judge, AccelerationsKeepEveryJointClosed) {
  for (std::uint64_t seed = kFirst; seed < kFirst + kCases; ++seed) {
    const Sample s = draw(seed);
    if (constraint_jacobian(s.model, s.bodies).rows() == 0) continue;
    const Judgement verdict = judge(s.model, s.bodies, s.load);
    double size = 1;
    for (const BodyAcceleration& a : verdict.accelerations) keep_largest(size, a.a_WC.norm() + a.alpha_WB.norm());
    // The rates that joints forbid stay zero along p + t v, v + t a to first order. Truncation (t size)⁴ / t with t size = 1e-4,
    // round-off 1e-15 / t: below 1e-10 of the size.
    const VecX opening =
        derivative([&](double t) { return open_rates(s.model, accelerated(s.bodies, verdict.accelerations, t)); }, 1e-4 / size);
    EXPECT_LT(opening.norm(), 1e-9 * size) << seed << ": " << describe(s.mechanism.spec);
  }
}

TEST(Judge, EveryBodyObeysNewtonAndEuler) {
  for (std::uint64_t seed = kFirst; seed < kFirst + kCases; ++seed) {
    const Sample s = draw(seed);
    const Judgement verdict = judge(s.model, s.bodies, s.load);
    const VecX efforts = total_efforts(s.model, s.bodies, s.load);
    VecX q, v, vdot;
    joint_coordinates(s.model, s.bodies, q, v);
    joint_accelerations(s.model, s.bodies, verdict.accelerations, vdot);
    // Efforts that act on the freedoms: commanded, passive, of couplings, and the inertia of rotors.
    VecX freedom = efforts;
    for (const Joint& j : s.model.joints())
      for (int k = 0; k < j.nv; ++k) freedom[j.v0 + k] -= j.passive[static_cast<std::size_t>(k)].armature * vdot[j.v0 + k];
    for (std::size_t c = 0; c < s.model.couplings().size(); ++c) {
      const Coupling& g = s.model.couplings()[c];
      const double lambda = verdict.couplings[static_cast<Eigen::Index>(c)];
      const Joint& of = s.model.joints()[static_cast<std::size_t>(g.of)];
      double slope = 0;
      for (std::size_t e = 1; e < g.coefficients.size(); ++e)
        slope += static_cast<double>(e) * g.coefficients[e] * std::pow(q[of.q0 + g.of_freedom], static_cast<double>(e) - 1);
      freedom[s.model.joints()[static_cast<std::size_t>(g.joint)].v0 + g.freedom] += lambda;
      freedom[of.v0 + g.of_freedom] -= slope * lambda;
    }
    // What every body feels about its centre of mass.
    std::vector<Wrench> felt = s.load.port;
    double scale = 0;
    for (std::size_t j = 0; j < s.model.joints().size(); ++j) {
      const Joint& joint = s.model.joints()[j];
      const Pose X_WF = body_pose(s.model, s.bodies, joint.parent) * joint.X_PF;
      const Vec3 p_WM = body_pose(s.model, s.bodies, joint.child) * joint.X_CM.p;
      Columns dual;
      with_kind(joint.kind, [&](auto kind) { kind.dual(q.data() + joint.q0, joint.pitch, dual); });
      const Vec6 w = dual * freedom.segment(joint.v0, joint.nv);
      const Wrench on_parent = verdict.reactions[j] - Wrench{X_WF.q * Vec3(w.head<3>()), X_WF.q * Vec3(w.tail<3>())};
      keep_largest(scale, on_parent.force.norm() + on_parent.moment.norm());
      if (joint.parent != kWorld) {
        const auto b = static_cast<std::size_t>(joint.parent);
        felt[b] += on_parent.about(p_WM - s.bodies[b].p_WC);
      }
      const auto b = static_cast<std::size_t>(joint.child);
      felt[b] -= on_parent.about(p_WM - s.bodies[b].p_WC);
    }
    for (std::size_t b = 0; b < s.bodies.size(); ++b) {
      const Inertia& inertia = s.model.bodies()[b].inertia;
      const Mat3 R = s.bodies[b].q_WB.toRotationMatrix();
      const Mat3 I = R * inertia.I_C * R.transpose();
      const Vec3& w = s.bodies[b].w_WB;
      const BodyAcceleration& a = verdict.accelerations[b];
      const Vec3 force = inertia.mass * (a.a_WC - s.model.gravity()) - felt[b].force;
      const Vec3 moment = I * a.alpha_WB + w.cross(I * w) - felt[b].moment;
      keep_largest(scale, inertia.mass * (a.a_WC.norm() + 9.81));
      // Sums of a few terms of size `scale`, each with some ten roundings, arms of some metres.
      EXPECT_LT(force.norm() + moment.norm(), 2e-12 * (1 + scale)) << seed << ": " << describe(s.mechanism.spec);
    }
  }
}

TEST(Judge, FloatingSystemsObeyTheBalanceOfMomentum) {
  for (std::uint64_t seed = kFirst; seed < kFirst + kCases; ++seed) {
    MechanismOptions o;
    o.bodies = 2 + static_cast<int>(seed % 5);
    o.floating = true;
    o.loops = static_cast<int>(seed % 3);
    Sample s = random_sample(seed, o);
    // A free joint to World would hold by its springs: ask only those without one.
    bool grounded = false;
    for (const Joint& j : s.model.joints()) grounded = grounded || j.parent == kWorld;
    if (grounded) continue;
    const Judgement verdict = judge(s.model, s.bodies, s.load);
    Vec3 force = Vec3::Zero(), moment = Vec3::Zero(), linear = Vec3::Zero(), angular = Vec3::Zero();
    double scale = 1;
    for (std::size_t b = 0; b < s.bodies.size(); ++b) {
      const Inertia& inertia = s.model.bodies()[b].inertia;
      const BodyState& x = s.bodies[b];
      const Mat3 R = x.q_WB.toRotationMatrix();
      const Mat3 I = R * inertia.I_C * R.transpose();
      const Vec3 f = s.load.port[b].force + inertia.mass * s.model.gravity();
      const Vec3 ma = inertia.mass * verdict.accelerations[b].a_WC;
      force += f;
      moment += s.load.port[b].moment + x.p_WC.cross(f);
      linear += ma;
      angular += x.p_WC.cross(ma) + I * verdict.accelerations[b].alpha_WB + x.w_WB.cross(I * x.w_WB);
      keep_largest(scale, (1 + x.p_WC.norm()) * (ma.norm() + f.norm()));
    }
    EXPECT_LT((force - linear).norm(), 1e-12 * scale) << seed;
    EXPECT_LT((moment - angular).norm(), 1e-12 * scale) << seed;
  }
}

TEST(Judge, EnergyChangesByThePowerOfLoadsLessDissipation) {
  for (std::uint64_t seed = kFirst; seed < kFirst + kCases; ++seed) {
    Sample s = draw(seed);
    bool printed = false;  // that spring law has no energy
    for (const Joint& j : s.model.joints())
      printed = printed || (j.has_spring && j.spring_law == SpringLaw::EulerPrinted &&
                            (j.kind == JointKind::Spherical || j.kind == JointKind::Free));
    if (printed) continue;
    const Judgement verdict = judge(s.model, s.bodies, s.load);
    const auto total = [&](double t) {
      const Bodies b = accelerated(s.bodies, verdict.accelerations, t);
      VecX q, v;
      joint_coordinates(s.model, b, q, v);
      return energy(s.model, b, q, v).total();
    };
    VecX q, v, passive = VecX::Zero(s.model.nv());
    joint_coordinates(s.model, s.bodies, q, v);
    double dissipation = 0, given = s.load.efforts.dot(v), size = s.load.efforts.cwiseAbs().dot(v.cwiseAbs());
    add_passive_efforts(s.model, q, v, passive, dissipation);
    for (std::size_t b = 0; b < s.bodies.size(); ++b) {
      const double p = power(s.load.port[b], Twist{s.bodies[b].w_WB, s.bodies[b].v_WC});
      given += p, size += std::abs(p);
    }
    // Steps of 1e-5 s leave (1e-5 a/v)⁴ of truncation and 1e-16/1e-5 of the energy as round-off. A stop is smooth only on one
    // side: where its edge falls into the step the error is stiffness times depth times speed, below 500 (1e-5 v)² / 1e-5.
    const double scale =
        1 + size + std::abs(dissipation) + std::abs(total(0)) + accelerated(s.bodies, verdict.accelerations, 1)[0].v_WC.norm();
    EXPECT_NEAR(derivative(total, 1e-5), given - dissipation, 2e-7 * scale) << seed << ": " << describe(s.mechanism.spec);
  }
}

TEST(Judge, JointAccelerationsAreTheDerivativeOfJointRates) {
  for (std::uint64_t seed = kFirst; seed < kFirst + kCases; ++seed) {
    const Sample s = draw(seed);
    if (s.model.nv() == 0) continue;
    const Judgement verdict = judge(s.model, s.bodies, s.load);
    VecX vdot;
    joint_accelerations(s.model, s.bodies, verdict.accelerations, vdot);
    const auto rates = [&](double t) -> VecX {
      VecX q, v;
      joint_coordinates(s.model, accelerated(s.bodies, verdict.accelerations, t), q, v);
      return v;
    };
    const VecX difference = derivative(rates, 1e-4) - vdot;
    // The rates along p + t v, v + t a are those of the motion to first order; truncation t⁴, round-off 1e-16/1e-4.
    EXPECT_LT(difference.cwiseAbs().maxCoeff(), 1e-7 * (1 + vdot.cwiseAbs().maxCoeff()))
        << seed << ": " << describe(s.mechanism.spec);
  }
}

TEST(Judge, RedundantReactionsCarryNoSelfStress) {
  int redundant = 0;
  for (std::uint64_t seed = kFirst; seed < kFirst + kCases; ++seed) {
    const Sample s = draw(seed);
    const DenseKkt k = assemble(s.model, s.bodies, s.load.port, total_efforts(s.model, s.bodies, s.load));
    const Judgement verdict = judge(s.model, k, s.bodies);
    if (verdict.self_stress.cols() == 0) continue;
    ++redundant;
    const VecX F = k.row_length.cwiseProduct(verdict.multipliers);
    EXPECT_LT((verdict.self_stress.transpose() * F).norm(), 1e-12 * F.norm()) << seed;
    EXPECT_LT((k.J.transpose() * k.row_length.cwiseInverse().asDiagonal() * verdict.self_stress).norm(), 1e-11) << seed;
    // A rank is only worth something when there is a gap.
    EXPECT_LT(verdict.largest_dropped, 1e-12) << seed << ": " << describe(s.mechanism.spec);
    EXPECT_GT(verdict.smallest_kept, 1e-7) << seed << ": " << describe(s.mechanism.spec);
  }
  EXPECT_GT(redundant, 10);
}

}  // namespace
}  // namespace invar::testing
