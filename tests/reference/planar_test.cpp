// SPDX-License-Identifier: Apache-2.0
//
// Planar problems of the field with accepted values (IFToMM benchmark library, IVP test set): every formulation that takes one
// meets its digits.
#include "support/case.hpp"

namespace invar::testing {
namespace {

// Elliptic functions: the angle is known to all digits. dopri5 at 1e-13 over 10 s leaves a few 1e-11.
TEST(ReferencePendulum, IsWhereEllipticFunctionsSay) {
  for (const char* formulation : {"augmented", "minimal", "natural"}) {
    Memory recording;
    outcome_of(read_case("reference", "a01_pendulum_s", formulation), &recording);
    const VecX p = recording.last("bodies/bob/p");
    EXPECT_NEAR(p[0], 0.27508746257611686, 1e-10) << formulation;
    EXPECT_NEAR(p[1], -0.96141920509912506, 1e-10) << formulation;
  }
}

}  // namespace
}  // namespace invar::testing
