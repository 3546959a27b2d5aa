// SPDX-License-Identifier: Apache-2.0
//
// The regression in the metric of motion: what its rows are, what they do not see, and that nobody's threads change a bit.
#include <gtest/gtest.h>

#include "invar/learn/fit.hpp"
#include "invar/mech/augmented.hpp"
#include "support/campaign.hpp"
#include "support/linkages.hpp"
#include "support/states.hpp"
#include "support/unknown_load.hpp"

namespace invar::testing {
namespace {

Sample drawn(std::uint64_t at, int k) {
  MechanismOptions o;
  o.bodies = 2 + k % 5;
  o.loops = k % 3 == 2 ? 1 : 0;
  o.redundant = k % 6 == 4 ? 1 : 0;
  o.couplings = k % 4 == 1 ? 1 : 0;
  o.floating = k % 5 == 3;
  o.massless = k % 7 == 5;
  o.passive = false;
  o.mass_ratio = 30;
  return random_sample(at + static_cast<std::uint64_t>(k), o);
}

// The largest number of a field; loads of this test would give free bodies a few m/s², so what is far below is round-off.
double size(const Accelerations& x, double length) {
  double largest = 1;
  for (const BodyAcceleration& a : x) largest = std::max({largest, a.a_WC.norm(), length * a.alpha_WB.norm()});
  return largest;
}

// B (Bᵀ d) = A d. Pivots end at 1e-11 of the largest, so that much of |A||d| may be missing; |A| is that of the lightest body.
TEST(MotionFactor, GivesTheMotionOfEveryLoad) {
  int judged = 0, massless = 0;
  for (int k = 0; k < cases(70); ++k) {
    const Sample s = drawn(seed(17100), k);
    MotionFactor B(s.model);
    ASSERT_TRUE(B.at(s.bodies).ok());
    if (!B.factor().ok()) continue;
    Random random(17101, static_cast<std::uint64_t>(k));
    const Load f = random_load(random, s.model);
    Accelerations w(s.bodies.size());
    if (B.unanswered(f.port) >= 0 || !B.inverse().apply(&f.port, nullptr, w).ok()) continue;
    VecX rows = VecX::Zero(B.rows());
    for (std::size_t b = 0; b < f.port.size(); ++b) B.add(static_cast<int>(b), f.port[b], rows);
    const VecX back = B.Bt().transpose() * rows;
    const double length = s.model.length(), scale = size(w, length) + rows.norm() * B.Bt().norm();
    for (std::size_t b = 0; b < w.size(); ++b) {
      const auto at = 6 * static_cast<Eigen::Index>(b);
      EXPECT_LT((back.segment<3>(at) - w[b].a_WC).norm(), 1e-9 * scale) << describe(s.mechanism.spec);
      EXPECT_LT(length * (back.segment<3>(at + 3) - w[b].alpha_WB).norm(), 1e-9 * scale) << describe(s.mechanism.spec);
    }
    EXPECT_LE(B.rows(), B.inverse().freedoms());
    ++judged, massless += k % 7 == 5 ? 1 : 0;
  }
  EXPECT_GT(judged, cases(70) * 7 / 10);
  EXPECT_GT(massless, 0);
}

// Motions of a drawn mechanism with drawn accelerations (what joints forbid of them is taken away) under drawn loads.
DataSet drawn_data(const Sample& s, Random& random, int samples) {
  DataSet data;
  data.runs.push_back({"drawn", {}});
  for (int i = 0; i < samples; ++i) {
    DataSample d;
    d.t = i;
    d.bodies = s.bodies;
    draw_velocities(random, s.model, d.bodies);
    for (std::size_t b = 0; b < d.bodies.size(); ++b)
      d.accelerations.push_back({random_vector(random, 3), random_vector(random, 5)});
    d.port = random_load(random, s.model).port;
    d.efforts = VecX::Zero(s.model.nv());
    data.runs.back().samples.push_back(std::move(d));
  }
  return data;
}

// The model's own motion under a known load, springs and friction included: Newton and Euler leave over what joints carry, and
// motion sees nothing of it. Terms of the equations are of the size of M a; solves are good to 1e-16 times conditions of 1e4.
TEST(LeftOver, OfTheModelsOwnMotionIsWhatJointsCarry) {
  int judged = 0;
  for (int k = 0; k < cases(40); ++k) {
    MechanismOptions o;
    o.bodies = 2 + k % 4;
    o.loops = k % 3 == 2 ? 1 : 0;
    o.mass_ratio = 30;
    Sample s = random_sample(seed(17160) + static_cast<std::uint64_t>(k), o);
    for (JointSpec& j : s.mechanism.spec.joints) j.armature.clear();
    const Model model = build(s.mechanism.spec);
    Augmented own(model);
    Accelerations a(s.bodies.size());
    std::vector<Wrench> reactions(model.joints().size());
    if (!own.solve(s.bodies, s.load, a, reactions).ok()) continue;
    MotionFactor B(model);
    ASSERT_TRUE(B.at(s.bodies).ok());
    if (!B.factor().ok()) continue;
    Port d(s.bodies.size());
    left_over(B.inverse(), a, s.load.port, s.load.efforts, d);
    VecX rows = VecX::Zero(B.rows());
    double scale = 0;
    for (std::size_t b = 0; b < d.size(); ++b) {
      B.add(static_cast<int>(b), d[b], rows);
      scale += d[b].force.norm() + d[b].moment.norm() / model.length() + model.bodies()[b].inertia.mass * a[b].a_WC.norm();
    }
    EXPECT_LE(rows.norm(), 1e-9 * B.Bt().norm() * scale) << describe(s.mechanism.spec);
    ++judged;
  }
  EXPECT_GT(judged, cases(40) * 7 / 10);
}

std::vector<TermSpec> dictionary(bool friction = true) {
  TermSpec inertia, viscous, coulomb, drag;
  inertia.kind = TermKind::Inertia, inertia.sharing = Sharing::Each;
  viscous.kind = TermKind::JointViscous, coulomb.kind = TermKind::JointCoulomb, drag.kind = TermKind::Drag;
  coulomb.smoothing = {0.02, 0.15};
  return friction ? std::vector<TermSpec>{inertia, viscous, coulomb, drag} : std::vector<TermSpec>{inertia, drag};
}

TEST(Gram, IsTheSameBySolvesAndByRows) {
  int judged = 0;
  for (int k = 0; k < cases(30); ++k) {
    const Sample s = drawn(seed(17110), k);
    Random random(17111, static_cast<std::uint64_t>(k));
    const DataSet data = drawn_data(s, random, 3);
    const auto terms = Terms::build(s.model, dictionary(false));
    ASSERT_TRUE(terms);
    GramOptions rows, solves;
    rows.way = GramOptions::Way::Factor, solves.way = GramOptions::Way::Solve;
    const auto a = gram_of(s.model, *terms, data, {}, rows), b = gram_of(s.model, *terms, data, {}, solves);
    if (!a || !b || a->rows == 0) continue;  // a rigid one shows nothing
    ++judged;
    // Pivots end at 1e-11 of the largest: amplitudes agree to some 1e-6 of what is larger, squares to 1e-11 of the largest.
    const double most = b->G.diagonal().maxCoeff();
    for (int i = 0; i < terms->columns(); ++i) {
      const double at = std::sqrt(b->G(i, i));
      EXPECT_NEAR(a->b[i], b->b[i], 1e-8 * at * std::sqrt(b->dd) + 1e-10 * std::sqrt(most * b->dd)) << describe(s.mechanism.spec);
      for (int j = 0; j < terms->columns(); ++j)
        EXPECT_NEAR(a->G(i, j), b->G(i, j), 1e-8 * at * std::sqrt(b->G(j, j)) + 1e-10 * most);
    }
    EXPECT_NEAR(a->dd, b->dd, 1e-8 * b->dd);
    EXPECT_EQ(a->rows, b->rows);
  }
  EXPECT_GT(judged, cases(30) / 2);
}

// An ideal rod on a ball at the end of a link turns about itself without inertia: no load says how. Both ways refuse it, whatever
// pushes there, in the same words.
TEST(Gram, RefusesBodiesThatAreFreeWithoutInertiaBothWays) {
  Random random(seed(17150));
  ModelSpec spec = hinge_chain(1);
  BodySpec rod;
  rod.name = "rod", rod.inertia.mass = 1, rod.inertia.I_C = Vec3(0.1, 0.1, 0).asDiagonal();
  JointSpec ball;
  ball.name = "ball", ball.kind = JointKind::Spherical, ball.parent = spec.bodies[0].name, ball.child = "rod";
  ball.at_child.p = Vec3(0, 0, 0.5);
  spec.bodies.push_back(rod), spec.joints.push_back(ball);
  const Model model = build(spec);
  TermSpec drag;
  drag.kind = TermKind::Drag, drag.on = {spec.bodies[0].name};
  const auto terms = Terms::build(model, {drag});
  ASSERT_TRUE(terms);
  const Sample s{{}, model, at_rest(model, {Pose{}, Pose{Quat::Identity(), Vec3(0, 0, -0.5)}}), Load(model)};
  const DataSet noisy = drawn_data(s, random, 2);
  DataSet quiet = noisy;
  for (DataSample& d : quiet.runs[0].samples)
    for (Wrench& w : d.port) w.moment.setZero();
  GramOptions rows, solves;
  rows.way = GramOptions::Way::Factor, solves.way = GramOptions::Way::Solve;
  for (const DataSet* data : {&noisy, static_cast<const DataSet*>(&quiet)}) {
    const auto a = gram_of(model, *terms, *data, {}, rows), b = gram_of(model, *terms, *data, {}, solves);
    ASSERT_FALSE(a || b);
    EXPECT_EQ(a.error().what, b.error().what);
    EXPECT_NE(a.error().what.find("body 'rod' is free along a direction in which it has no inertia"), std::string::npos)
        << a.error().what;
  }
}

// What joints carry: wrenches on both bodies along the rows of a joint, opposite at the joint point.
TEST(Gram, ForgetsWhatJointsCarry) {
  int judged = 0;
  for (int k = 0; k < cases(40); ++k) {
    const Sample s = drawn(seed(17120), k);
    Random random(17121, static_cast<std::uint64_t>(k));
    const DataSet data = drawn_data(s, random, 4);
    DataSet carried = data;
    for (DataSample& d : carried.runs[0].samples) {
      ConstrainedInverse inverse(s.model);
      inverse.at(d.bodies);
      std::vector<Wrench> reactions(s.model.joints().size());
      for (std::size_t j = 0; j < reactions.size(); ++j) {
        const Rows& C = inverse.joint(static_cast<int>(j)).C;
        Vec6 w = Vec6::Zero();
        for (int r = 0; r < C.rows(); ++r) w += 20 * random.normal() * C.row(r).transpose();
        reactions[j] = {w.head<3>(), w.tail<3>()};
      }
      inverse.add_reactions(reactions, d.port);
    }
    const auto terms = Terms::build(s.model, dictionary(false));
    ASSERT_TRUE(terms);
    const auto a = gram_of(s.model, *terms, data), b = gram_of(s.model, *terms, carried);
    if (!a || !b) continue;
    FitOptions options;
    options.strengths = {1e-3, 1e-3};
    const auto fa = fit(*terms, *a, *a, options), fb = fit(*terms, *b, *b, options);
    ASSERT_TRUE(fa && fb);
    // Solves leave 1e-16 times the condition of closures (1e4) of loads ten times as large, and the ridge divides by 1e-3.
    for (int i = 0; i < terms->columns(); ++i) {
      const double unit = std::sqrt(std::max(a->G(i, i), 1e-20 * a->G.diagonal().maxCoeff()) / static_cast<double>(a->samples));
      EXPECT_NEAR(fa->coefficients[i] * unit, fb->coefficients[i] * unit, 1e-7 * std::sqrt(a->dd))
          << terms->label(i) << ", " << describe(s.mechanism.spec);
    }
    ++judged;
  }
  EXPECT_GT(judged, cases(40) / 2);
}

bool same_bits(const Gram& a, const Gram& b) { return a.G == b.G && a.b == b.b && a.dd == b.dd && a.rows == b.rows; }

TEST(Gram, HasTheSameBitsOnAnyNumberOfThreads) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  const DataSet data = excited(u, seed(17130), 3, 61, 0.05);
  const auto terms = Terms::build(model, dictionary());
  ASSERT_TRUE(terms);
  ASSERT_EQ(terms->columns(), 71);
  GramOptions one, two, five;
  two.threads = 2, five.threads = 5;
  const auto a = gram_of(model, *terms, data, {}, one), b = gram_of(model, *terms, data, {}, two),
             c = gram_of(model, *terms, data, {}, five);
  ASSERT_TRUE(a && b && c);
  EXPECT_TRUE(same_bits(*a, *b));
  EXPECT_TRUE(same_bits(*a, *c));
  EXPECT_EQ(a->samples, 183);
  EXPECT_EQ(a->rows, 183 * 18);
}

// Trained in another World on the turned data: the same coefficients, and the same error, to round-off. Coefficients in
// directions that the data hardly determine carry round-off divided by the ridge; what they explain does not.
TEST(Gram, IsTheSameInATurnedWorld) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  const DataSet data = excited(u, seed(17140), 4, 25, 0.05);
  const auto terms = Terms::build(model, dictionary());
  const auto here = gram_of(model, *terms, data);
  ASSERT_TRUE(here);
  Random random(17141);
  for (int k = 0; k < 3; ++k) {
    const Quat q = random_attitude(random);
    const Model there_model = build(turned(u.nominal, q));
    const auto there_terms = Terms::build(there_model, dictionary());
    const auto there = gram_of(there_model, *there_terms, turned(data, q));
    ASSERT_TRUE(there);
    for (int i = 0; i < terms->columns(); ++i)
      for (int j = 0; j < terms->columns(); ++j)
        EXPECT_NEAR(here->G(i, j), there->G(i, j), 1e-12 * std::sqrt(here->G(i, i) * here->G(j, j)));
    FitOptions options;
    options.strengths.assign(4, 1e-4);
    const auto a = fit(*terms, *here, *here, options), b = fit(*terms, *there, *there, options);
    ASSERT_TRUE(a && b);
    const VecX apart = a->coefficients - b->coefficients;
    EXPECT_LT(std::sqrt(apart.dot(here->G * apart)), 1e-12 * std::sqrt(here->dd));
    EXPECT_NEAR(a->training, b->training, 1e-12);
  }
}

TEST(Gram, RefusesRotorsAndMotionsThatAreNone) {
  ModelSpec spec = hinge_chain(2);
  spec.joints[0].armature = {0.1};
  const Model model = build(spec);
  const auto terms = Terms::build(model, dictionary(false));
  ASSERT_TRUE(terms);
  DataSet data;
  const auto refused = gram_of(model, *terms, data);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("armature"), std::string::npos);
}

}  // namespace
}  // namespace invar::testing
