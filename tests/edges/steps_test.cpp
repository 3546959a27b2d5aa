// SPDX-License-Identifier: Apache-2.0
// Does a run say what its steps did, and step over what changes its law?
#include "invar/io/result_json.hpp"
#include "support/case.hpp"
#include "support/outcome.hpp"

namespace invar::testing {
namespace {

// A damped rope pulls with 2 N s/m × 3.13 m/s from the instant on in which it is taut.
TEST(DampedRope, GetsTautAtEveryTolerance) {
  for (const char* formulation : {"augmented", "minimal", "natural"})
    for (const char* method : {"dopri5", "radau"})
      for (const double tol : {1e-3, 1e-6, 1e-9, 1e-12}) {
        Scenario s = read_case("edges", "slack_damped", formulation, method);
        ErrorControl& o = s.method.options.dopri5;
        o.relative_tolerance = o.position_tolerance = o.velocity_tolerance = o.auxiliary_tolerance = tol;
        const Outcome out = outcome_of(s);
        EXPECT_EQ(out.end, Outcome::End::Finished) << formulation << " " << method << " " << tol << ": " << out.words;
        // Energy, work and loss are components of one solution: each step leaves at most its tolerance in every one of them,
        // times the largest derivative of the energy by a velocity, m v = 3.2 N s, by a position, k s + m g = 70 N.
        EXPECT_LT(metric(out, "power_balance"), metric(out, "steps") * tol * (1 + 3.2 * 4.2 + 70) + 1e-13) << tol;
      }
}

TEST(UnresolvedStop, IsTold) {
  const Scenario s = read_case("edges", "s_stop");
  const Outcome out = outcome_of(s);
  EXPECT_EQ(out.end, Outcome::End::Finished);
  EXPECT_STREQ(status_word(out), "unresolved");
  // 1 kg on 1e9 N/m: 31623 rad/s, 31.6 per step of a millisecond; energy appears from nowhere.
  EXPECT_NE(out.unresolved.find("the stop of joint 's'"), std::string::npos) << out.unresolved;
  EXPECT_NE(out.unresolved.find("step x rate = 31.6"), std::string::npos) << out.unresolved;
  EXPECT_NE(out.unresolved.find("appeared or vanished"), std::string::npos) << out.unresolved;
  EXPECT_NE(result_json(s, out).find("\"unresolved\": \"the run is not resolved: "), std::string::npos);
}

TEST(UnresolvedStop, IsToldBesideABrokenLawWhichOutranksIt) {
  Scenario s = read_case("edges", "s_stop");
  Law law;
  law.name = "power_balance", law.bound = 1e-6, law.scale = Scale::Kinetic;
  s.laws.push_back(law);
  const Outcome out = outcome_of(s);
  EXPECT_STREQ(status_word(out), "law_broken");
  EXPECT_FALSE(out.unresolved.empty());
}

TEST(UnresolvedStop, IsResolvedByErrorControlAndByShortSteps) {
  EXPECT_STREQ(status_word(outcome_of(read_case("edges", "s_stop", "", "dopri5"))), "ok");
  EXPECT_STREQ(status_word(outcome_of(read_case("edges", "s_stop", "", "radau"))), "ok");
  EXPECT_STREQ(status_word(outcome_of(read_case("edges", "s_stop", "", "", 1e-6))), "ok");
}

}  // namespace
}  // namespace invar::testing
