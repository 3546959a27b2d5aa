// SPDX-License-Identifier: Apache-2.0
//
// A joint is its facts: all that follows from a path and from forms, for every kind, every mask of a generic joint, and paths
// that no kind has (slides behind turns).
#include "invar/model/joint/facts.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <functional>
#include <numbers>

#include "invar/base/dual.hpp"
#include "invar/model/joint/kind/constant_velocity.hpp"
#include "invar/model/joint/kind/cylindrical.hpp"
#include "invar/model/joint/kind/distance.hpp"
#include "invar/model/joint/kind/fixed.hpp"
#include "invar/model/joint/kind/free.hpp"
#include "invar/model/joint/kind/generic.hpp"
#include "invar/model/joint/kind/planar.hpp"
#include "invar/model/joint/kind/point_in_plane.hpp"
#include "invar/model/joint/kind/point_on_line.hpp"
#include "invar/model/joint/kind/prismatic.hpp"
#include "invar/model/joint/kind/revolute.hpp"
#include "invar/model/joint/kind/screw.hpp"
#include "invar/model/joint/kind/spherical.hpp"
#include "invar/model/joint/kind/universal.hpp"
#include "invar/model/joint/motion.hpp"
#include "support/campaign.hpp"
#include "support/faces/kinds.hpp"
#include "support/random_mechanism.hpp"

namespace invar::testing {
namespace {

struct Named {
  std::string name;
  Facts facts;
};

std::vector<Named> kinds() {
  std::vector<Named> out;
  for (const Facts& f : {kind::fixed(), kind::revolute(), kind::prismatic(), kind::screw(0.3), kind::screw(-0.02),
                         kind::cylindrical(), kind::universal(), kind::spherical(), kind::planar(), kind::free(),
                         kind::constant_velocity(), kind::point_in_plane(), kind::point_on_line()})
    out.push_back({f.word(), f});
  return out;
}

std::vector<Named> masks() {
  std::vector<Named> out;
  for (int mask = 0; mask < 64; ++mask) {
    std::array<bool, 3> slides{}, turns{};
    for (int i = 0; i < 3; ++i) {
      slides[static_cast<std::size_t>(i)] = (mask >> i) & 1;
      turns[static_cast<std::size_t>(i)] = (mask >> (3 + i)) & 1;
    }
    out.push_back({"mask " + std::to_string(mask), kind::generic(slides, turns)});
  }
  return out;
}

// Slides behind turns, sharing, turns that are no shape of their own: no kind has them.
std::vector<Named> test_paths() {
  return {{"polar", FactsOf("polar").turn(Axis::Z, 0).slide(Axis::X, 1).facts()},
          {"crane", FactsOf("crane").turn(Axis::Z, 0).turn(Axis::Y, 1).slide(Axis::X, 2).facts()},
          {"elbow", FactsOf("elbow").turn(Axis::Z, 0).slide(Axis::X, 1).turn(Axis::Y, 2).facts()},
          {"mast", FactsOf("mast").slide(Axis::Z, 0).turn(Axis::Z, 1).slide(Axis::X, 2).facts()},
          {"cam", FactsOf("cam").turn(Axis::Y, 0, "angle").slide(Axis::X, 0, 0.4).slide(Axis::Z, 1).facts()}};
}

std::vector<Named> all() {
  std::vector<Named> out = kinds();
  for (const auto& more : {masks(), test_paths()}) out.insert(out.end(), more.begin(), more.end());
  return out;
}

struct At {
  double q[7] = {}, v[6] = {};
};
At drawn(const Facts& f, Random& random) {
  At out;
  for (int k = 0; k < f.nv(); ++k) {
    out.v[k] = random.uniform(-1, 1);
    if (f.is_scalar(k)) out.q[k] = random.uniform(-1, 1) * (f.turns(k) ? 0.9 * std::numbers::pi : 1.0);
  }
  if (f.ball() >= 0) {
    const Quat r = random_attitude(random);
    double* c = out.q + f.ball();
    c[0] = r.w(), c[1] = r.x(), c[2] = r.y(), c[3] = r.z();
  }
  return out;
}
/// After the time t at constant rates; a ball is turned from the left of its own motion.
At moved(const Facts& f, const At& at, double t) {
  At out = at;
  for (int k = 0; k < f.nv(); ++k)
    if (f.is_scalar(k)) out.q[k] += t * at.v[k];
  if (f.ball() >= 0) {
    double* c = out.q + f.ball();
    const double* w = at.v + f.ball();
    const Quat r = turned(Quat(c[0], c[1], c[2], c[3]), t * Vec3(w[0], w[1], w[2]));
    c[0] = r.w(), c[1] = r.x(), c[2] = r.y(), c[3] = r.z();
  }
  return out;
}

double largest(const MatX& m) { return m.size() == 0 ? 0.0 : m.cwiseAbs().maxCoeff(); }
VecX rates(const Facts& f, const At& at) { return Eigen::Map<const VecX>(at.v, f.nv()); }

void for_all(const std::vector<Named>& joints, int count, const std::function<void(const Facts&, const At&)>& law) {
  for (const Named& joint : joints) {
    Random random(seed(1800), static_cast<std::uint64_t>(&joint - joints.data()));
    for (int i = 0; i < count; ++i) {
      SCOPED_TRACE(joint.name + ", " + std::to_string(i));
      law(joint.facts, drawn(joint.facts, random));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Columns of a crane or an elbow are up to 1.5 long, and E up to 1/|slide| of them: some twenty roundings.
constexpr double kRounding = 3e-15;
// Central differences at h = 1e-5 err by h²/6 times third derivatives (up to 20 here: a product of three rates and arms) and by
// rounding over h.
constexpr double h = 1e-5, kDifferences = 2e-9;

TEST(Facts, RowsAndDualsComplementTheMotion) {
  for_all(all(), cases(40), [](const Facts& f, const At& at) {
    Columns S, D;
    Rows C;
    f.motion(at.q, S), f.dual(at.q, D), f.rows(at.q, C);
    ASSERT_EQ(S.cols(), f.nv());
    ASSERT_EQ(C.rows(), f.rows());
    EXPECT_LE(largest(C * S), kRounding);
    EXPECT_LE(largest(D.transpose() * S - MatX::Identity(f.nv(), f.nv())), kRounding);
    MatX whole(6, 6);
    whole << MatX(S), MatX(C.transpose());
    EXPECT_GT(std::abs(whole.determinant()), 1e-3);
  });
}

TEST(Facts, MeasureIsTheInverseOfThePose) {
  for_all(all(), cases(40), [](const Facts& f, const At& at) {
    double back[7] = {};
    f.measure(f.pose(at.q), back);
    double sign = 1;
    if (f.ball() >= 0) {
      double along = 0;
      for (int i = 0; i < 4; ++i) along += back[f.ball() + i] * at.q[f.ball() + i];
      sign = along < 0 ? -1 : 1;
    }
    for (int k = 0; k < f.nq(); ++k) EXPECT_NEAR((f.is_scalar(k) ? 1 : sign) * back[k], at.q[k], 2e-14) << "coordinate " << k;
  });
}

TEST(Facts, ScrewsCountTheirTurns) {
  Random random(seed(1810));
  for (int i = 0; i < cases(100); ++i) {
    const Facts f = kind::screw(random.uniform(0.01, 1) * (i % 2 == 0 ? 1 : -1));
    const double q = random.uniform(-60, 60);
    double back = 0;
    f.measure(f.pose(&q), &back);
    EXPECT_NEAR(back, q, 1e-13 * (1 + std::abs(q)));
  }
}

TEST(Facts, MotionIsTheRateOfThePose) {
  for_all(all(), cases(20), [](const Facts& f, const At& at) {
    const Pose before = f.pose(moved(f, at, -h).q), after = f.pose(moved(f, at, h).q);
    VecX V(6);
    V << log_so3(after.q * before.q.conjugate()), after.p - before.p;
    Columns S;
    f.motion(at.q, S);
    EXPECT_LE(largest(V / (2 * h) - S * rates(f, at)), kDifferences);
  });
}

TEST(Facts, BiasIsTheRateOfTheMotionAtConstantRates) {
  for_all(all(), cases(20), [](const Facts& f, const At& at) {
    Columns before, after;
    f.motion(moved(f, at, -h).q, before), f.motion(moved(f, at, h).q, after);
    EXPECT_LE(largest((after - before) * rates(f, at) / (2 * h) - f.bias(at.q, at.v)), kDifferences);
    if (f.steady()) {
      EXPECT_EQ(largest(after - before), 0);
      EXPECT_EQ(largest(f.bias(at.q, at.v)), 0);
    }
  });
}

// Forms, stated or generated, vanish on the path, span the same rows as the motion leaves, and are kept by the bias.
TEST(Facts, FormsAreTheConditionsOfThePath) {
  int judged = 0;
  for_all(all(), cases(20), [&](const Facts& f, const At& at) {
    if (!f.quadratic()) return;
    ++judged;
    const Pose X = f.pose(at.q);
    const Mat3 R = X.R();
    Columns S;
    Rows C;
    f.motion(at.q, S), f.rows(at.q, C);
    const Vec6 V = S * rates(f, at), gamma = f.bias(at.q, at.v);
    MatX G(f.rows(), 6);
    for (int i = 0; i < f.rows(); ++i) {
      const Form& form = f.forms()[static_cast<std::size_t>(i)];
      EXPECT_LE(std::abs(form.value(R, X.p)), kRounding);
      G.row(i) = form.row(R, X.p).transpose();
      EXPECT_LE(std::abs(G.row(i).dot(gamma) + form.velocity_part(R, X.p, V.head<3>(), V.tail<3>())), 2 * kRounding);
    }
    EXPECT_LE(largest(G * S), kRounding);
    const MatX onto = C.transpose() * (C * C.transpose()).inverse() * C;
    EXPECT_LE(largest(G - G * onto), 4 * kRounding);
    EXPECT_EQ(f.rows() > 0 ? Eigen::FullPivLU<MatX>(G).rank() : 0, f.rows());
  });
  EXPECT_GT(judged, 0);
}

TEST(Facts, ADistanceIsOneForm) {
  Random random(seed(1820));
  for (int i = 0; i < cases(100); ++i) {
    const double length = random.uniform(0.1, 3);
    const Facts f = kind::distance(length);
    ASSERT_EQ(f.rows(), 1);
    EXPECT_FALSE(f.has_path());
    const Form& form = f.forms()[0];
    const Mat3 R = random_attitude(random).toRotationMatrix();
    const Vec3 n = random_unit(random), w = random_vector(random, 1), v = random_vector(random, 1), a = random_vector(random, 1);
    EXPECT_LE(std::abs(form.value(R, length * n)), 1e-15 * (1 + length));
    const auto along = [&](double t) { return form.value(R, length * n + t * v + 0.5 * t * t * a); };
    Vec6 A, V;
    A << Vec3::Zero(), a;
    V << w, v;
    const double step = 1e-4;
    EXPECT_NEAR(form.row(R, length * n).dot(V), (along(step) - along(-step)) / (2 * step), 1e-6 * (1 + 1 / length));
    EXPECT_NEAR(form.row(R, length * n).dot(A) + form.velocity_part(R, length * n, w, v),
                (along(step) - 2 * along(0) + along(-step)) / (step * step), 1e-5 * (1 + 1 / length));
  }
}

// Forms of all 17 coefficients along any motion: value, row and velocity part are its derivatives.
TEST(Facts, OfAnyFormGiveItsDerivatives) {
  Random random(seed(1825));
  for (int i = 0; i < cases(100); ++i) {
    Form form;
    for (int k = 0; k < 9; ++k) form.A(k / 3, k % 3) = random.normal();
    form.b = random_vector(random, 1), form.d = random_vector(random, 1), form.e = random.normal(), form.c = random.normal();
    const Quat q = random_attitude(random);
    const Vec3 p = random_vector(random, 1), w = random_vector(random, 1), v = random_vector(random, 1);
    const Vec3 alpha = random_vector(random, 1), a = random_vector(random, 1);
    // To second order: R(t) = exp(t w + t²/2 α) R.
    const auto along = [&](double t) {
      const Quat turn = exp_so3(t * w + 0.5 * t * t * alpha);
      return form.value((turn * q).toRotationMatrix(), p + t * v + 0.5 * t * t * a);
    };
    const Mat3 R = q.toRotationMatrix();
    Vec6 V, A;
    V << w, v;
    A << alpha, a;
    const double step = 1e-4, size = 100;  // of third and fourth derivatives, at most
    EXPECT_NEAR(form.row(R, p).dot(V), (along(step) - along(-step)) / (2 * step), size * step * step);
    EXPECT_NEAR(form.row(R, p).dot(A) + form.velocity_part(R, p, w, v),
                (along(step) - 2 * along(0) + along(-step)) / (step * step), size * step * step + 1e-6);
  }
}

// The same templates over dual numbers: derivatives of motion, rows and duals along each scalar coordinate.
TEST(Facts, DualNumbersGiveTheDerivatives) {
  using D1 = Dual<1>;
  for_all(all(), cases(10), [](const Facts& f, const At& at) {
    for (int along = 0; along < f.nv(); ++along) {
      if (!f.is_scalar(along)) continue;
      D1 q[7];
      for (int k = 0; k < f.nq(); ++k) q[k] = at.q[k];
      q[along].d[0] = 1;
      const PathMotion<D1> walk(f, q, nullptr);
      const PathRows<D1> across(f, walk);
      At before = at, after = at;
      before.q[along] -= h, after.q[along] += h;
      Columns S0, S1, dual0, dual1;
      Rows C0, C1;
      f.motion(before.q, S0), f.motion(after.q, S1);
      f.dual(before.q, dual0), f.dual(after.q, dual1);
      f.rows(before.q, C0), f.rows(after.q, C1);
      for (int k = 0; k < f.nv(); ++k)
        for (int i = 0; i < 3; ++i) {
          const auto n = static_cast<std::size_t>(k);
          EXPECT_NEAR(walk.angular[n][i].d[0], (S1(i, k) - S0(i, k)) / (2 * h), kDifferences);
          EXPECT_NEAR(walk.linear[n][i].d[0], (S1(3 + i, k) - S0(3 + i, k)) / (2 * h), kDifferences);
          EXPECT_NEAR(across.dual_angular[n][i].d[0], (dual1(i, k) - dual0(i, k)) / (2 * h), 10 * kDifferences);
          EXPECT_NEAR(across.dual_linear[n][i].d[0], (dual1(3 + i, k) - dual0(3 + i, k)) / (2 * h), 10 * kDifferences);
        }
      for (int k = 0; k < f.rows(); ++k)
        for (int i = 0; i < 3; ++i) {
          const auto n = static_cast<std::size_t>(k);
          EXPECT_NEAR(across.row_angular[n][i].d[0], (C1(k, i) - C0(k, i)) / (2 * h), 10 * kDifferences);
          EXPECT_NEAR(across.row_linear[n][i].d[0], (C1(k, 3 + i) - C0(k, 3 + i)) / (2 * h), 10 * kDifferences);
        }
    }
  });
}

// What the hand-written faces of nine kinds say.
TEST(Facts, SayWhatFacesSay) {
  const std::pair<JointKind, Facts> pairs[] = {{JointKind::Fixed, kind::fixed()},
                                               {JointKind::Revolute, kind::revolute()},
                                               {JointKind::Prismatic, kind::prismatic()},
                                               {JointKind::Screw, kind::screw(0.3)},
                                               {JointKind::Cylindrical, kind::cylindrical()},
                                               {JointKind::Universal, kind::universal()},
                                               {JointKind::Spherical, kind::spherical()},
                                               {JointKind::Planar, kind::planar()},
                                               {JointKind::Free, kind::free()}};
  Random random(seed(1830));
  for (const auto& [kind, f] : pairs) {
    EXPECT_EQ(std::string(f.word()), name(kind));
    ASSERT_EQ(f.nq(), coordinates(kind)) << f.word();
    ASSERT_EQ(f.nv(), freedoms(kind)) << f.word();
    for (int k = 0; k < f.nv(); ++k) {
      EXPECT_EQ(f.turns(k), turns(kind, k)) << f.word() << ' ' << k;
      EXPECT_EQ(f.winds(k), winds(kind, k)) << f.word() << ' ' << k;
    }
    for (int i = 0; i < cases(100); ++i) {
      const At at = drawn(f, random);
      Columns S, D, S0, D0;
      Rows C, C0;
      Pose X0;
      Vec6 b0;
      double q0[7] = {}, q[7] = {};
      f.motion(at.q, S), f.dual(at.q, D), f.rows(at.q, C);
      with_kind(kind, [&](auto face) {
        using K = decltype(face);
        K::motion(at.q, 0.3, S0), K::dual(at.q, 0.3, D0), K::rows(at.q, 0.3, C0);
        X0 = K::pose(at.q, 0.3), b0 = K::bias(at.q, at.v);
        K::measure(X0, 0.3, q0);
      });
      f.measure(X0, q);
      EXPECT_LE(largest(S - S0), 2.3e-16) << f.word();
      EXPECT_LE(largest(D - D0), 4.5e-16) << f.word();
      EXPECT_LE(largest(C - C0), 4.5e-16) << f.word();
      EXPECT_LE(largest(f.bias(at.q, at.v) - b0), 2.3e-16) << f.word();
      const Pose X = f.pose(at.q);
      EXPECT_LE((X.p - X0.p).norm(), 2.3e-16) << f.word();
      EXPECT_LE(largest(X.R() - X0.R()), 3e-15) << f.word();
      for (int k = 0; k < f.nq(); ++k) EXPECT_NEAR(q[k], q0[k], 2e-15 * (1 + std::abs(q0[k]))) << f.word() << ' ' << k;
    }
  }
}

}  // namespace
}  // namespace invar::testing
