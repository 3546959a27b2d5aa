// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <numbers>

#include "invar/base/random.hpp"
#include "support/faces/kinds.hpp"

namespace invar::testing {

/// The identities of model/joint/face.hpp for one kind, at random coordinates. A new kind is done when it passes.
///   rows · motion = 0        dualᵀ · motion = 1        measure(pose(q)) = q
///   d/dt pose = motion v     d/dt (motion v) = bias    rows are orthonormal (not asked of screws)
/// JointAt holds one configuration; h is the step of its central differences.
template <class Kind>
class JointAt {
 public:
  static constexpr bool kHasQuaternion = Kind::nq == Kind::nv + 1;
  static constexpr double h = 1e-5;
  /// Differences err by h²/6 |v|³ (v below 1: 2e-11) and by rounding over h (4 eps/h: 1e-10).
  static constexpr double kDifferences = 1e-9;
  static constexpr double kRounding = 1e-14;

  JointAt(Random& random, double pitch, double turns) : pitch_(pitch) {
    for (int k = 0; k < Kind::nq; ++k) q_[k] = random.uniform(-turns, turns) * std::numbers::pi;
    for (int k = 0; k < Kind::nv; ++k) v_[k] = random.uniform(-1, 1);
    if constexpr (kHasQuaternion) {
      const Quat r = exp_so3(random.uniform(0, std::numbers::pi) * direction(random));
      double* at = q_ + Kind::nq - 4;
      at[0] = r.w(), at[1] = r.x(), at[2] = r.y(), at[3] = r.z();
    }
  }

  void expect_rows_and_dual() const {
    Columns S, D;
    Rows C;
    Kind::motion(q_, pitch_, S);
    Kind::dual(q_, pitch_, D);
    Kind::rows(q_, pitch_, C);
    ASSERT_EQ(S.cols(), Kind::nv);
    ASSERT_EQ(C.rows(), 6 - Kind::nv);
    EXPECT_LE(largest(C * S), kRounding);
    EXPECT_LE(largest(D.transpose() * S - MatX::Identity(Kind::nv, Kind::nv)), kRounding);
    const double skew = largest(C * C.transpose() - MatX::Identity(C.rows(), C.rows()));
    EXPECT_LE(pitch_ == 0 ? skew : 0.0, kRounding);
    // Together they span all twists: nothing is both free and unguarded.
    MatX all(6, 6);
    all << MatX(S), MatX(C.transpose());
    EXPECT_GT(std::abs(all.determinant()), 0.1);
  }

  void expect_measure() const {
    double back[7] = {};
    Kind::measure(Kind::pose(q_, pitch_), pitch_, back);
    // atan2 and the products of half angles lose a few units in the last place of a number up to `turns` pi.
    for (int k = 0; k < Kind::nq; ++k) EXPECT_NEAR(back[k], q_[k], 2e-14 * std::max(1.0, std::abs(q_[k]))) << "coordinate " << k;
  }

  void expect_velocity() const {
    const Pose before = moved(-h), after = moved(h);
    Vec6 V;
    V << log_so3(after.q * before.q.conjugate()), after.p - before.p;
    Columns S;
    Kind::motion(q_, pitch_, S);
    EXPECT_LE(largest(V / (2 * h) - S * velocity()), kDifferences);
  }

  void expect_bias() const {
    Columns before, after;
    double q[7];
    step(-h, q);
    Kind::motion(q, pitch_, before);
    step(h, q);
    Kind::motion(q, pitch_, after);
    const Vec6 rate = (after - before) * velocity() / (2 * h);
    EXPECT_LE(largest(rate - Kind::bias(q_, v_)), kDifferences);
  }

 private:
  static Vec3 direction(Random& random) { return Vec3(random.normal(), random.normal(), random.normal()).normalized(); }

  template <class M>
  static double largest(const M& m) {
    return m.size() == 0 ? 0.0 : MatX(m).cwiseAbs().maxCoeff();
  }

  Eigen::Matrix<double, Kind::nv, 1> velocity() const {
    Eigen::Matrix<double, Kind::nv, 1> v;
    for (int k = 0; k < Kind::nv; ++k) v[k] = v_[k];
    return v;
  }

  /// Coordinates after the time t at constant v; a quaternion is turned from the left (rates in components of F).
  void step(double t, double* q) const {
    constexpr int scalars = kHasQuaternion ? Kind::nq - 4 : Kind::nq;
    for (int k = 0; k < scalars; ++k) q[k] = q_[k] + t * v_[k];
    if constexpr (kHasQuaternion) {
      const Quat r = turned(Quat(q_[scalars], q_[scalars + 1], q_[scalars + 2], q_[scalars + 3]),
                            t * Vec3(v_[scalars], v_[scalars + 1], v_[scalars + 2]));
      q[scalars] = r.w(), q[scalars + 1] = r.x(), q[scalars + 2] = r.y(), q[scalars + 3] = r.z();
    }
  }
  Pose moved(double t) const {
    double q[7];
    step(t, q);
    return Kind::pose(q, pitch_);
  }

  double q_[7] = {}, v_[6] = {};
  double pitch_;
};

/// All identities at `count` random configurations with angles (and displacements) in ±turns pi.
template <class Kind>
void expect_joint(Random random, int count, double pitch = 0, double turns = 0.99) {
  for (int i = 0; i < count; ++i) {
    SCOPED_TRACE(i);
    const JointAt<Kind> joint(random, pitch, turns);
    joint.expect_rows_and_dual();
    joint.expect_measure();
    joint.expect_velocity();
    joint.expect_bias();
  }
}

}  // namespace invar::testing
