// SPDX-License-Identifier: Apache-2.0
// Which mechanisms owe their mobility to exact dimensions. Ranks are counted by hand: in space k hinges in a loop hold
// min(5k, 6 bodies) rows when nothing is special about them.
#include "invar/mech/exactness.hpp"

#include <gtest/gtest.h>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "support/places.hpp"

namespace invar {
namespace {

ModelSpec spec_of(const std::string& name) {
  const auto spec = read_model_file(testing::source_path("models/") + name + ".toml");
  EXPECT_TRUE(spec);
  return *spec;
}

Exactness exactness_of(const ModelSpec& spec) {
  const auto model = Model::build(spec);
  EXPECT_TRUE(model);
  const auto bodies = make_consistent(*model, place(*model, JointState::initial(*model)));
  EXPECT_TRUE(bodies) << bodies.error().text();
  return exactness(*model, *bodies);
}

struct Case {
  const char* model;
  int rank, generic_rank;
  std::size_t joints;  // that rely on it
};
class Mechanisms : public ::testing::TestWithParam<Case> {};

TEST_P(Mechanisms, AreToldApartByWhatRestsOnExactDimensions) {
  const Exactness e = exactness_of(spec_of(GetParam().model));
  ASSERT_TRUE(e.decided);
  EXPECT_EQ(e.rank, GetParam().rank);
  EXPECT_EQ(e.generic_rank, GetParam().generic_rank);
  EXPECT_EQ(e.mobility - e.generic_mobility, e.generic_rank - e.rank);
  EXPECT_EQ(e.relies(), GetParam().generic_rank > GetParam().rank);
  EXPECT_EQ(e.joints.size(), GetParam().joints);
}

// Generic: the legs of a table between balls may have any length, a tree and a spatial ring hold all their rows. Special: two
// hinges of a door in line, planar linkages in space, Bricard's linkage.
INSTANTIATE_TEST_SUITE_P(Models, Mechanisms,
                         ::testing::Values(Case{"table", 30, 30, 0}, Case{"ring7", 38, 38, 0}, Case{"stewart", 108, 108, 0},
                                           Case{"pendulum", 5, 5, 0}, Case{"door", 5, 6, 2}, Case{"four_bar", 17, 18, 4},
                                           Case{"parallelogram", 17, 18, 4}, Case{"bricard", 29, 30, 6}),
                         [](const auto& each) { return each.param.model; });

// Rank is geometry: masses do not enter, and neither does the order of bodies and joints.
TEST(Exactness, DependsOnNeitherMassesNorOrder) {
  ModelSpec spec = spec_of("bricard");
  double factor = 1e-3;
  for (BodySpec& b : spec.bodies) b.inertia.mass *= factor, b.inertia.I_C *= factor, factor *= 10;
  EXPECT_EQ(exactness_of(spec).generic_rank, 30);
  std::reverse(spec.bodies.begin(), spec.bodies.end());
  std::rotate(spec.joints.begin(), spec.joints.begin() + 2, spec.joints.end());
  const Exactness e = exactness_of(spec);
  EXPECT_EQ(e.rank, 29);
  EXPECT_EQ(e.generic_rank, 30);
}

// The same gear twice is redundant whatever the dimensions of the mechanism are: couplings speak of coordinates.
TEST(Exactness, OfARepeatedCouplingIsNotInQuestion) {
  ModelSpec spec = spec_of("crane");
  CouplingSpec again = spec.couplings.at(0);
  again.name = "again";
  spec.couplings.push_back(again);
  const Exactness e = exactness_of(spec);
  ASSERT_TRUE(e.decided);
  EXPECT_FALSE(e.relies()) << e.rank << " to " << e.generic_rank;
}

}  // namespace
}  // namespace invar
