// SPDX-License-Identifier: Apache-2.0
//
// Ruler and compass close a loop, and on the branch on which it stands. A linkage is drawn closed, then each of its freedoms is
// moved by up to 0.3 rad or a tenth of a metre; the closed form has to bring its point back, and the freedoms to where they were:
// the other solution lies far away. Errors: the lengths carry some u, angles u times a few, over the sine of the corner they come
// from, which is kept above 0.1: 1e-13 in all.
#include "invar/mech/minimal/closed_form.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "invar/base/random.hpp"
#include "invar/geom/rotation.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

using closed_form::Freedom;

// The freedoms of a linkage as they are moved, outermost first, in place: M or F, and whatever lies beyond.
struct Linkage {
  std::vector<Freedom> freedoms;  // inner ones first
  Vec3 M, F;

  void move(std::size_t i, double by) {
    const Freedom f = freedoms[i];
    const Quat q = exp_so3(by * f.axis);
    const auto moved = [&](const Vec3& p) { return f.turns ? Vec3(f.point + q * (p - f.point)) : Vec3(p + by * f.axis); };
    for (std::size_t k = i + 1; k < freedoms.size(); ++k)
      if (freedoms[k].side == f.side) {
        freedoms[k].point = moved(freedoms[k].point);
        if (f.turns) freedoms[k].axis = q * freedoms[k].axis;
      }
    (f.side > 0 ? M : F) = moved(f.side > 0 ? M : F);
  }
};

Vec3 in_plane(Random& random, const Quat& q) { return q * Vec3(random.uniform(-1, 1), random.uniform(-1, 1), 0); }

// The sine between two vectors is not small.
bool apart(const Vec3& a, const Vec3& b) {
  return a.cross(b).norm() > 0.3 * a.norm() * b.norm() && a.norm() > 0.2 && b.norm() > 0.2;
}

TEST(ClosedForm, ClosesDyadsOnTheirOwnBranch) {
  int seen = 0;
  for (int k = 0; k < cases(2000); ++k) {
    Random random(seed(9100), static_cast<std::uint64_t>(k));
    const Quat q = exp_so3(Vec3(random.normal(), random.normal(), random.normal()));
    const Vec3 n = q * Vec3::UnitZ();
    Linkage l;
    const bool turns[2] = {k % 3 != 1, k % 3 != 2};
    for (int i = 0; i < 2; ++i) {
      const double sign = random.uniform(0, 1) < 0.5 ? -1 : 1;
      l.freedoms.push_back({turns[i] ? Vec3(sign * n) : in_plane(random, q).normalized(), in_plane(random, q), turns[i],
                            random.uniform(0, 1) < 0.5 ? -1 : 1});
    }
    l.M = l.F = in_plane(random, q);
    // Away from where two solutions meet: the corner at the elbow, or the slider square to the reach.
    const Freedom &a = l.freedoms[0], &b = l.freedoms[1];
    if (turns[0] && turns[1]) {
      if (!apart(a.point - b.point, l.M - b.point) || !apart(a.point - b.point, l.M - a.point)) continue;
    } else {
      const Freedom &hinge = turns[0] ? a : b, &slider = turns[0] ? b : a;
      const Vec3 reach = l.M - hinge.point;
      if (!(reach.norm() > 0.5) || !(std::abs(reach.dot(slider.axis)) > 0.5 * reach.norm())) continue;
    }
    const double away[2] = {random.uniform(-0.1, 0.1), random.uniform(-0.1, 0.1)};
    for (std::size_t i = 2; i-- > 0;) l.move(i, away[i]);
    double by[2];
    ASSERT_TRUE(closed_form::dyad(l.freedoms[0], l.freedoms[1], l.M, l.F, by)) << k;
    // Freedoms of one side: the outer one first, as it stands.
    for (std::size_t i = 2; i-- > 0;) l.move(i, by[i]);
    EXPECT_LE((l.M - l.F).norm(), 1e-13) << k;
    EXPECT_NEAR(by[0], -away[0], 1e-12) << k;
    EXPECT_NEAR(by[1], -away[1], 1e-12) << k;
    ++seen;
  }
  EXPECT_GT(seen, cases(2000) / 5);
}

TEST(ClosedForm, ClosesLegs) {
  int seen = 0;
  for (int k = 0; k < cases(1000); ++k) {
    Random random(seed(9200), static_cast<std::uint64_t>(k));
    const Quat q = exp_so3(Vec3(random.normal(), random.normal(), random.normal()));
    const Vec3 a = q * Vec3::UnitX(), b = q * Vec3::UnitY(), O(random.normal(), random.normal(), random.normal());
    const double slope = random.uniform(-1.2, 1.2);
    const Vec3 e = q * Vec3(std::sin(slope), 0, std::cos(slope));
    Linkage l;
    l.freedoms = {{a, O + 0.7 * a, true, 1}, {b, O, true, 1}, {e, O, false, 1}};
    l.M = l.F = O + random.uniform(0.5, 2) * (k % 2 == 0 ? 1 : -1) * e;
    const double away[3] = {random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2), random.uniform(-0.1, 0.1)};
    for (std::size_t i = 3; i-- > 0;) l.move(i, away[i]);
    double by[3];
    if (!closed_form::leg(l.freedoms[0], l.freedoms[1], l.freedoms[2], l.M, l.F, by)) continue;
    for (std::size_t i = 3; i-- > 0;) l.move(i, by[i]);
    EXPECT_LE((l.M - l.F).norm(), 1e-13) << k;
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(by[i], -away[i], 1e-12) << k << " " << i;
    ++seen;
  }
  EXPECT_GT(seen, cases(1000) * 9 / 10);
}

TEST(ClosedForm, SaysWhereItHasNone) {
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY(), z = Vec3::UnitZ(), o = Vec3::Zero();
  double by[3];
  // Out of reach.
  EXPECT_FALSE(closed_form::dyad({z, o, true, 1}, {z, x, true, 1}, 2 * x, 3 * y, by));
  // Axes that are not parallel, sliders that leave the plane, two sliders.
  EXPECT_FALSE(closed_form::dyad({z, o, true, 1}, {y, x, true, 1}, 2 * x, x + y, by));
  EXPECT_FALSE(closed_form::dyad({z, o, true, 1}, {(x + z).normalized(), x, false, 1}, 2 * x, x + y, by));
  EXPECT_FALSE(closed_form::dyad({x, o, false, 1}, {y, x, false, 1}, 2 * x, x + y, by));
  // Hinges of a leg that miss each other, a point beside the slider's line.
  EXPECT_FALSE(closed_form::leg({x, y, true, 1}, {y, o, true, 1}, {z, o, false, 1}, z, x + z, by));
  EXPECT_FALSE(closed_form::leg({x, o, true, 1}, {y, o, true, 1}, {z, o, false, 1}, z + 0.1 * x, x + z, by));
}

}  // namespace
}  // namespace invar::testing
