// SPDX-License-Identifier: Apache-2.0
//
// Spatial problems of the field with accepted values: every formulation that takes one meets its digits. Natural coordinates:
// natural_test.cpp.
#include "invar/io/result_json.hpp"
#include "support/case.hpp"
#include "support/outcome.hpp"

namespace invar::testing {
namespace {

// A corner of a body: where a point of its frame is.
Vec3 point(const Memory& recording, const std::string& body, std::size_t k, const Vec3& from_com) {
  const VecX p = recording.at("bodies/" + body + "/p", k), q = recording.at("bodies/" + body + "/q", k);
  return Vec3(p) + Quat(q[0], q[1], q[2], q[3]) * from_com;
}

// Brüls, Cardona, Arnold 2012: the attitude after 0.2 s. It spins at 150 rad/s; dopri5 at 1e-12 takes a thousand steps.
TEST(ReferenceTop, HasTheAttitudeOfTheLiterature) {
  for (const char* formulation : {"augmented", "minimal"}) {
    Scenario s = read_case("reference", "heavy_top_s", formulation);
    s.end_time = 0.2;
    Memory recording;
    const Outcome out = outcome_of(s, &recording);
    EXPECT_STREQ(status_word(out), "ok") << formulation << " " << out.words << out.unresolved;
    VecX q = recording.last("bodies/top/q");
    const double expected[4] = {-0.70827915297, 0.43878108813, 0.54572839615, 0.08939975282};
    if (q[0] * expected[0] < 0) q = -q;
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(q[i], expected[i], 1e-8) << formulation << " " << i;
  }
}

// P3 after 1 s from rest, for both sections that are in use. rk4 at 1 ms, rates below 10 rad/s: (w h)⁴ of some radians.
TEST(ReferenceBricard, IsWhereOthersFindIt) {
  const struct {
    const char* name;
    Vec3 corner;
  } sections[] = {{"a04_bricard_s", {0.5105014612, -1.6491675994, 0.1401231146}},
                  {"a04_bricard_slender_s", {0.5086647602, -1.6498270632, 0.1390353307}}};
  for (const auto& section : sections)
    for (const char* formulation : {"augmented", "minimal"}) {
      Scenario s = read_case("reference", section.name, formulation);
      s.end_time = 1;
      Memory recording;
      const Outcome out = outcome_of(s, &recording);
      EXPECT_STREQ(status_word(out), "ok") << formulation << " " << out.words << out.unresolved;
      const Vec3 corner = point(recording, "rod3", recording.size() - 1, Vec3(0, 0, 0.5));
      EXPECT_LT((corner - section.corner).norm(), 1e-8) << section.name << " " << formulation << " " << corner.transpose();
    }
}

// The governor: radau at 1e-9 leaves its tolerance in each of some thousand steps of a damped motion.
TEST(ReferenceGovernor, ReachesItsHeight) {
  for (const char* formulation : {"augmented", "minimal"}) {
    Memory recording;
    const Outcome out = outcome_of(read_case("reference", "a05_flyball_s", formulation), &recording);
    EXPECT_STREQ(status_word(out), "ok") << formulation << " " << out.words << out.unresolved;
    EXPECT_NEAR(recording.last("joints/slide/q")[0], 0.6196229171, 1e-7) << formulation;
  }
}

// Bennett's closed form along the whole motion, and where the motion under gravity is after 5 s.
TEST(ReferenceBennett, KeepsItsClosedForm) {
  for (const char* formulation : {"augmented", "minimal"}) {
    Memory recording;
    const Outcome out = outcome_of(read_case("reference", "bennett_s", formulation), &recording);
    EXPECT_STREQ(status_word(out), "ok") << formulation << " " << out.words << out.unresolved;
    EXPECT_EQ(metric(out, "singular_passages"), 0) << formulation << ": its rank is 17 everywhere";
    for (std::size_t k = 0; k < recording.size(); ++k) {
      const double a = recording.at("joints/j1/q", k)[0], b = recording.at("joints/j2/q", k)[0];
      EXPECT_NEAR(std::tan(0.5 * a) * std::tan(0.5 * b), 3.9209518668856, 1e-8) << recording.time(k);
    }
    EXPECT_NEAR(recording.last("joints/j1/q")[0], 1.597119259072, 1e-8) << formulation;
  }
}

// Spatial slider-crank, 5 s: formulations agree; crank angle over all turns.
TEST(ReferenceSliderCrank, IsWhereAllFormulationsFindIt) {
  for (const char* formulation : {"augmented", "minimal"}) {
    Memory recording;
    const Outcome out = outcome_of(read_case("reference", "slider_crank_3d_s", formulation), &recording);
    EXPECT_STREQ(status_word(out), "ok") << formulation << " " << out.words << out.unresolved;
    EXPECT_NEAR(recording.last("joints/guide/q")[0], 0.2249255151, 1e-8) << formulation;
    EXPECT_NEAR(recording.last("joints/crank_pin/q")[0], 54.6347750817, 1e-7) << formulation;
  }
}

}  // namespace
}  // namespace invar::testing
