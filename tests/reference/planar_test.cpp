// SPDX-License-Identifier: Apache-2.0
//
// Planar problems of the field with accepted values (IFToMM benchmark library, IVP test set): every formulation that takes one
// meets its digits. Natural coordinates: natural_test.cpp.
#include "invar/io/result_json.hpp"
#include "support/case.hpp"
#include "support/outcome.hpp"

namespace invar::testing {
namespace {

// Elliptic functions: the angle is known to all digits. dopri5 at 1e-13 over 10 s leaves a few 1e-11.
TEST(ReferencePendulum, IsWhereEllipticFunctionsSay) {
  for (const char* formulation : {"augmented", "minimal", "natural"}) {
    Memory recording;
    const Outcome out = outcome_of(read_case("reference", "a01_pendulum_s", formulation), &recording);
    EXPECT_STREQ(status_word(out), "ok") << formulation << " " << out.words << out.unresolved;
    const VecX p = recording.last("bodies/bob/p");
    EXPECT_NEAR(p[0], 0.27508746257611686, 1e-10) << formulation;
    EXPECT_NEAR(p[1], -0.96141920509912506, 1e-10) << formulation;
  }
}

// IVP test set, andrews: beta(0.03 s) after two turns and a half. 15.810771195154 is good to all its digits; dopri5 leaves some
// 1e3 steps of 1e-12 rad, by which neighbouring motions move apart a hundredfold at rates of up to 1500 rad/s.
TEST(ReferenceSqueezer, TurnsAsFarAsPublished) {
  for (const char* formulation : {"augmented", "minimal"}) {
    Memory recording;
    const Outcome out = outcome_of(read_case("reference", "a03_andrews_s", formulation), &recording);
    EXPECT_STREQ(status_word(out), "ok") << formulation << " " << out.words << out.unresolved;
    EXPECT_NEAR(recording.last("joints/beta/q")[0], 15.810771195154, 5e-8) << formulation;
  }
}

// IVP test set, caraxis, t = 3 s: left and right end of the chassis and their velocities, printed to 20 digits. The suspension
// swings at 45 rad/s; dopri5 leaves some 1e4 steps of 1e-12.
TEST(ReferenceCarAxis, IsWhereTheTestSetSays) {
  for (const char* formulation : {"augmented", "minimal"}) {
    Memory recording;
    const Outcome out = outcome_of(read_case("reference", "car_axis_s", formulation), &recording);
    EXPECT_STREQ(status_word(out), "ok") << formulation << " " << out.words << out.unresolved;
    EXPECT_EQ(metric(out, "singular_passages"), 0) << formulation << ": its rank is 27 everywhere";
    const VecX p = recording.last("bodies/chassis/p"), v = recording.last("bodies/chassis/v");
    const VecX q = recording.last("bodies/chassis/q"), w = recording.last("bodies/chassis/w");
    const Quat q_WB(q[0], q[1], q[2], q[3]);
    const Vec3 arm = q_WB * Vec3(0.5, 0, 0), turning = Vec3(w).cross(arm);
    const double expected[8] = {0.493455784275402809122e-1, 0.496989460230171153861,     1.04174252488542151681,
                                0.373911027265361256927,    -0.770583684040972357970e-1, 0.744686658723778553466e-2,
                                0.175568157537232222276e-1, 0.770341043779251976443};
    const double found[8] = {p[0] - arm[0],     p[1] - arm[1],     p[0] + arm[0],     p[1] + arm[1],
                             v[0] - turning[0], v[1] - turning[1], v[0] + turning[0], v[1] + turning[1]};
    for (int i = 0; i < 8; ++i) EXPECT_NEAR(found[i], expected[i], 1e-8) << formulation << " " << i;
  }
}

}  // namespace
}  // namespace invar::testing
