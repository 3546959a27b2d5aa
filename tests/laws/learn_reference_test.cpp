// SPDX-License-Identifier: Apache-2.0
//
// The reference case of learning, shortened: how well unseen runs are explained in the metric of motion, from how many samples.
#include <gtest/gtest.h>

#include "invar/learn/domain.hpp"
#include "invar/learn/learn.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"
#include "support/unknown_load.hpp"

namespace invar::testing {
namespace {

constexpr int kTraining = 10, kHeldOut = 2, kJudges = 4;

// Runs with noise to learn from, and runs without to be judged by.
struct Case {
  UnknownLoad load = UnknownLoad::reference();
  Model model = build(load.nominal);
  DataSet training, held_out, judges;

  Case(std::uint64_t at, int samples) {
    training = excited(load, at, kTraining, samples / kTraining, 0.05);
    held_out = excited(load, at + 1000003, kHeldOut, 100, 0.05);
    judges = excited(load, at + 2000003, kJudges, 50, 0);
  }
};

std::vector<TermSpec> dictionary() {
  TermSpec inertia, viscous, coulomb, drag;
  inertia.kind = TermKind::Inertia, inertia.sharing = Sharing::Each;
  viscous.kind = TermKind::JointViscous, coulomb.kind = TermKind::JointCoulomb, drag.kind = TermKind::Drag;
  coulomb.smoothing = {0.03, 0.08};  // the plant's is not among them
  return {inertia, viscous, coulomb, drag};
}

TermSpec fourier(const Case& c) {
  TermSpec t;
  t.kind = TermKind::Fourier, t.scales = scales_of(c.training, c.model.length());
  return t;
}

// The error on runs that nobody saw.
double error_of(const Case& c, const std::vector<TermSpec>& specs) {
  const auto terms = Terms::build(c.model, specs);
  const auto training = gram_of(c.model, *terms, c.training), held_out = gram_of(c.model, *terms, c.held_out),
             judges = gram_of(c.model, *terms, c.judges);
  EXPECT_TRUE(training && held_out && judges);
  const auto done = fit(*terms, *training, *held_out);
  EXPECT_TRUE(done);
  return judges->error(done->coefficients);
}

// Five fixed seeds, whatever the campaign draws: errors of single ones reach from .05 to .08, so that means of five drawn ones
// fall on either side of the bars for the dictionary alone. From 20 samples the mean of forty keeps its bar, too; from 50 it is
// as large as the bar (docs/learning.md).
const std::vector<std::uint64_t> kSeeds = {17301, 17302, 17303, 17304, 17305};

TEST(ReferenceCase, DictionaryExplainsUnseenRunsFromTwentySamples) {
  double few = 0, more = 0;
  for (const std::uint64_t s : kSeeds) {
    few += error_of(Case(s, 20), dictionary()) / 5;
    more += error_of(Case(s, 50), dictionary()) / 5;
  }
  std::printf("71 columns: 20 samples %.4f, 50 samples %.4f\n", few, more);
  EXPECT_LT(few, 0.07);
  EXPECT_LT(more, 0.065);
  double forty = 0;
  for (std::uint64_t k = 0; k < 40; ++k) forty += error_of(Case(43000 + k, 20), dictionary()) / 40;
  std::printf("mean of forty from 20 samples: %.4f\n", forty);
  EXPECT_LT(forty, 0.07);
}

// Four counts and five seeds take half a minute: the campaign asserts all bars on the means. In short it is the first two counts
// with one seed, which keeps the bars of the means.
TEST(ReferenceCase, GenericTermsExplainTheRestFromAFewHundred) {
  const bool whole = cases(0) > 0;
  const int samples[] = {50, 200, 500, 2000};
  const double bars[] = {0.065, 0.035, 0.028, 0.025};
  const std::vector<std::uint64_t> seeds = whole ? kSeeds : std::vector<std::uint64_t>{17310};
  for (int i = 0; i < (whole ? 4 : 2); ++i) {
    double plain = 0, generic = 0;
    for (const std::uint64_t s : seeds) {
      const Case c(s, samples[i]);
      std::vector<TermSpec> specs = dictionary();
      plain += error_of(c, specs) / static_cast<double>(seeds.size());
      specs.push_back(fourier(c));
      const double error = error_of(c, specs);
      std::printf("713 columns: %d samples, seed %d: %.4f\n", samples[i], static_cast<int>(s), error);
      generic += error / static_cast<double>(seeds.size());
    }
    std::printf("%d samples, mean of %zu: 71 columns %.4f, 713 columns %.4f\n", samples[i], seeds.size(), plain, generic);
    EXPECT_LT(generic, bars[i]) << samples[i] << " samples";
  }
}

// Two tanh layers in the cosines' place, trained on what the dictionary leaves over, explain part of it.
TEST(ReferenceCase, NetworksLearnWhatTheDictionaryLeavesOver) {
  const Case c(seed(17320), 200);
  DataSet all = c.training;
  all.runs.insert(all.runs.end(), c.held_out.runs.begin(), c.held_out.runs.end());
  LearnSpec spec;
  spec.terms = dictionary();
  spec.held_out = {kTraining, kTraining + 1};
  const auto plain = learn(c.load.nominal, c.model, all, spec);
  TermSpec network;
  network.kind = TermKind::Network, network.width = 16;
  spec.terms.push_back(network);
  spec.train.epochs = 60;
  const auto deep = learn(c.load.nominal, c.model, all, spec);
  ASSERT_TRUE(plain && deep) << (deep ? "" : deep.error().text());
  std::printf("held out: %.4f without, %.4f with a network\n", plain->fit.held_out, deep->fit.held_out);
  EXPECT_LT(deep->fit.held_out, 0.9 * plain->fit.held_out);
}

}  // namespace
}  // namespace invar::testing
