// SPDX-License-Identifier: Apache-2.0
//
// Paper C, section 3.4 and Table 2: energies of the elastic couplings at the stretched start. Each spring is 1 m long and relaxed
// at 0.2 m. docs/papers.md C2: (37) as printed turns the fastenings clockwise, below the links, while the first one stays above.
#include <gtest/gtest.h>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/tendons.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

ModelSpec spec(const std::string& name) { return *read_model_file(source_path("models/paper_c_") + name + ".toml"); }

double stored(const ModelSpec& s) {
  const Model model = *Model::build(s);
  return tendon_energy(model, place(model, JointState::initial(model)));
}

TEST(PaperC, MonoArticularSpringsStoreThreeTimesTheEnergyOfOne) {
  EXPECT_NEAR(stored(spec("springs")), 3 * 0.5 * 0.8 * 0.8, 1e-15);  // 0.96
}

TEST(PaperC, TheMultiArticularTendonIsStrainedAsAWhole) { EXPECT_NEAR(stored(spec("tendon")), 0.5 * 2.4 * 2.4, 1e-15); }

TEST(PaperC, AsPrintedTheFirstSpringCrossesTheLink) {
  ModelSpec printed = spec("springs");
  for (TendonSpec& tendon : printed.tendons)
    for (PointSpec& point : tendon.points)
      if (point.body != "world") point.p.y() *= -1;
  EXPECT_NEAR(stored(printed), 1.223875, 5e-7);  // six decimals in docs/papers.md
}

}  // namespace
}  // namespace invar::testing
