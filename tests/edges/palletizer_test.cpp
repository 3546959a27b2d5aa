// SPDX-License-Identifier: Apache-2.0
//
// A machine whose controller knows it and starts on its reference: nothing is wrong, and its certificate says so.
#include "invar/io/model_file.hpp"
#include "support/case.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

void expect_all_clauses(const Outcome& outcome, const std::string& what) {
  ASSERT_EQ(outcome.end, Outcome::End::Finished) << what << ": " << outcome.words;
  ASSERT_FALSE(outcome.control.empty());
  EXPECT_TRUE(outcome.control[0].certificate.held()) << what;
  for (const Clause& c : outcome.control[0].certificate.clauses())
    EXPECT_TRUE(c.held()) << what << ": " << c.name << ' ' << c.text();
}

TEST(Palletizer, OnItsReferenceHasAPerfectCertificate) {
  for (const char* formulation : {"augmented", "minimal"}) {
    const Scenario s = read_case("edges", "palletizer", formulation);
    ASSERT_TRUE(s.model);
    const Outcome outcome = outcome_of(s);
    expect_all_clauses(outcome, formulation);
    // rk4 leaves h⁴ times fifth derivatives, some 60 rad/s⁵ · 100: below 1e-9.
    for (const Tracking& t : outcome.control.at(0).tracking) EXPECT_LT(t.largest, 1e-9) << formulation << ' ' << t.name;
    for (const Clause& c : outcome.control.at(0).certificate.clauses())
      EXPECT_EQ(c.name.find("kappa"), std::string::npos) << "computed torque has no κ";
  }
}

// A load of a tenth of a milligram on a flange of ten kilograms is told: allowances of round-off hide nothing that a user could
// mean.
TEST(Palletizer, TellsALoadThatItsControllerDoesNotKnow) {
  Scenario s = read_case("edges", "palletizer");
  ASSERT_TRUE(s.model);
  ModelSpec loaded = *read_model_file(source_path("tests/edges/cases/palletizer_model.toml"));
  loaded.payloads.push_back({"dust", "flange", Inertia{1e-7, Vec3(0.1, 0, -0.1), Mat3::Zero()}, {}});
  s.model = std::make_shared<const Model>(*Model::build(loaded));
  s.spec = std::make_shared<const ModelSpec>(loaded);
  const Outcome outcome = outcome_of(s);
  ASSERT_EQ(outcome.end, Outcome::End::Finished) << outcome.words;
  bool told = false;
  for (const Clause& c : outcome.control.at(0).certificate.clauses())
    told = told || (c.name == "disturbance_is_absent" && !c.held());
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace invar::testing
