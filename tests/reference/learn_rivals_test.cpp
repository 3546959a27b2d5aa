// SPDX-License-Identifier: Apache-2.0
//
// What terms that turn with the World are worth beside functions of World components: the same data, the same columns beside,
// more ways than one. The reference case of learning; bars are those of its table.
#include <gtest/gtest.h>

#include "invar/learn/as_written.hpp"
#include "invar/learn/domain.hpp"
#include "invar/learn/rivals.hpp"
#include "invar/learn/term/fourier.hpp"
#include "invar/learn/term/raw_world.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"
#include "support/unknown_load.hpp"

namespace invar::testing {
namespace {

std::shared_ptr<const Terms> raw(const Model& model, double attitude, const Quat& seen_from) {
  const auto features = std::make_shared<FourierFeatures>(7, 6, 2.0, RawWorldTerm::inputs(attitude));
  TermSpec inertia;
  inertia.kind = TermKind::Inertia, inertia.sharing = Sharing::Each;
  return std::make_shared<Terms>(
      Terms::build(model, {inertia})
          ->with(std::make_shared<RawWorldTerm>(model, Sharing::Alike, features, FeatureScales{}, attitude, seen_from)));
}

// Model, bodies, loads and accelerations are turned in one case, the eyes that look at them in the other. Sums are sums of
// products of rows that agree to round-off of solves, 1e-13 of the largest.
TEST(RawWorld, SeesTurnedDataWhenItsAxesAreTurned) {
  const UnknownLoad load = UnknownLoad::reference();
  const Model model = build(load.nominal);
  const DataSet data = excited(load, seed(17410), 2, 10, 0.05);
  Random random(seed(17411));
  for (const double attitude : {0.0, 1.0}) {
    const Quat q = random_attitude(random);
    const Model there = build(turned(load.nominal, q));
    const auto by_data = gram_of(there, *raw(there, attitude, Quat::Identity()), turned(data, q));
    const auto by_eyes = gram_of(model, *raw(model, attitude, q), data);
    const auto here = gram_of(model, *raw(model, attitude, Quat::Identity()), data);
    ASSERT_TRUE(by_data && by_eyes && here);
    const double size = here->G.diagonal().maxCoeff();
    EXPECT_LT((by_data->G - by_eyes->G).cwiseAbs().maxCoeff(), 1e-11 * size);
    EXPECT_LT((by_data->b - by_eyes->b).cwiseAbs().maxCoeff(), 1e-11 * std::sqrt(size * here->dd));
    EXPECT_GT((by_data->G - here->G).cwiseAbs().maxCoeff(), 1e-3 * size);  // World components do not turn along
  }
}

// Ten runs to train, two for strengths, four without noise to judge.
struct Case {
  UnknownLoad load = UnknownLoad::reference();
  Model model = build(load.nominal);
  DataSet data;
  LearnSpec spec;
  Division division;
  std::vector<TermSpec> beside;  // what a model has a place for, on both sides

  Case(std::uint64_t at, int samples) {
    data = excited(load, at, 10, samples / 10, 0.05);
    for (const DataSet& more : {excited(load, at + 1000003, 2, 100, 0.05), excited(load, at + 2000003, 4, 50, 0)})
      data.runs.insert(data.runs.end(), more.runs.begin(), more.runs.end());
    for (int r = 0; r < 16; ++r) (r < 10 ? division.training : r < 12 ? division.held_out : division.judges).push_back(r);
    Random random(at + 3000017);
    for (int k = 0; k < 2; ++k) division.worlds.push_back(random_attitude(random));
    TermSpec inertia, viscous, coulomb;
    inertia.kind = TermKind::Inertia, inertia.sharing = Sharing::Each;
    viscous.kind = TermKind::JointViscous;
    coulomb.kind = TermKind::JointCoulomb, coulomb.smoothing = {0.03, 0.08};
    beside = {inertia, viscous, coulomb};
    spec.terms = turning();
    spec.threads = 2;
  }
  std::vector<TermSpec> turning() const {
    std::vector<TermSpec> out = beside;
    out.emplace_back().kind = TermKind::Fourier;
    return out;
  }
  Rivals comparison() const { return {load.nominal, model, data, spec, division}; }
};

Errors checked(Result<Errors> errors, const std::string& what) {
  EXPECT_TRUE(errors) << (errors ? "" : errors.error().text());
  if (!errors) return {};
  std::printf("%-66s %5ld samples: unseen %.4f, as written %.4f, in turned Worlds %.4f\n", what.c_str(), errors->samples,
              errors->regression, errors->unseen, errors->turned);
  return *errors;
}

// Cosines in body axes against the same number of cosines of the same spread in World axes, that see attitudes or do not. What is
// learned in body axes is as good in turned Worlds: sums there are the same to round-off.
TEST(ReferenceCase, FiftySamplesInBodyAxesBeatTwoThousandInWorldAxes) {
  const Case c(seed(17420), 2000);
  const Rivals comparison = c.comparison();
  const Errors few = checked(comparison.of_terms(c.turning(), 50), "100 cosines of body components");
  EXPECT_NEAR(few.turned, few.unseen, 1e-9);
  for (const double attitude : {0.0, 1.0}) {
    const RawRival rival{.functions = 100, .attitude = attitude};
    const Errors many = checked(comparison.of_raw(rival, c.beside, 0), rival.words());
    EXPECT_EQ(many.samples, 2000);
    EXPECT_LT(few.regression, many.regression);
    EXPECT_GT(many.turned, 1.2 * many.unseen);
  }
}

// Ten times fewer samples than the best of many ways to learn from World components, turned copies of the data and networks
// included: 200 against 2000 and all 34 of them in the campaign, 50 against 500 and every fifth one otherwise.
TEST(ReferenceCase, TenTimesFewerSamplesInBodyAxesBeatEveryWayInWorldAxes) {
  const bool all = cases(0) > 0;
  const Case c(seed(17430), all ? 2000 : 500);
  const Rivals comparison = c.comparison();
  const Errors mine = checked(comparison.of_terms(c.turning(), all ? 200 : 50), "100 cosines of body components");
  const auto rivals = raw_rivals(c.model, 642, 34);
  EXPECT_EQ(rivals.size(), 34u);
  double best = 1;
  for (std::size_t k = 0; k < rivals.size(); k += all ? 1 : 5)
    best = std::min(best, checked(comparison.of_raw(rivals[k], c.beside, 0), rivals[k].words()).regression);
  EXPECT_LT(mine.regression, best);
}

// The comparison that users get: contenders, curves and the sentence.
TEST(Worth, SaysWhatLearningIsWorthBesideLessAndBesideWorldComponents) {
  Case c(seed(17440), 200);
  c.spec.terms = c.beside;
  c.spec.terms.emplace_back().kind = TermKind::Drag;
  c.spec.held_out = c.division.held_out, c.spec.judges = c.division.judges;
  const auto learned = learn(c.load.nominal, c.model, c.data, c.spec);
  ASSERT_TRUE(learned) << learned.error().text();
  EXPECT_EQ(learned->training, c.division.training);
  const auto worth = worth_of(c.load.nominal, c.model, c.data, c.spec, *learned, {.points = 2, .raw = 3});
  ASSERT_TRUE(worth) << worth.error().text();
  ASSERT_EQ(worth->contenders.size(), 5u);
  const auto last = [&](std::size_t k) { return worth->contenders[k].curve.back(); };
  EXPECT_EQ(worth->judges.size(), 4u);
  EXPECT_FALSE(worth->held_out_judged);
  EXPECT_EQ(last(0).unseen, 1);
  EXPECT_LT(last(2).unseen, 0.2 * last(1).unseen);  // drag is most of what is left over
  EXPECT_NEAR(last(2).turned, last(2).unseen, 1e-9);
  EXPECT_LT(last(2).unseen, 0.5 * last(3).unseen);
  EXPECT_GT(last(3).turned, 1.1 * last(3).unseen);
  EXPECT_NE(advice(*worth).find("inertias and joints alone"), std::string::npos);
  // The same as the fit itself, on other runs.
  EXPECT_EQ(last(2).samples, learned->learned.from.samples);
  EXPECT_EQ(last(2).held_out, learned->fit.held_out);
  // What is judged is what is written.
  const auto written = error_as_written(c.load.nominal, c.model, learned->learned, c.data, c.division.judges, {});
  ASSERT_TRUE(written);
  EXPECT_NEAR(last(2).unseen, *written, 1e-12);
}

TEST(Worth, EndsEarlyWithWhatIsComplete) {
  Case c(seed(17450), 50);
  c.spec.terms = c.beside;
  const auto learned = learn(c.load.nominal, c.model, c.data, c.spec);
  ASSERT_TRUE(learned);
  std::atomic<bool> stop = false;
  c.spec.stop = &stop;
  int steps = 0;
  c.spec.progress = [&](const std::string&, double) { stop = ++steps > 0; };
  const auto worth = worth_of(c.load.nominal, c.model, c.data, c.spec, *learned, {.points = 3});
  ASSERT_TRUE(worth);
  EXPECT_TRUE(worth->interrupted);
  EXPECT_EQ(worth->contenders.size(), 2u);
  EXPECT_EQ(worth->contenders.back().curve.size(), 1u);
}

}  // namespace
}  // namespace invar::testing
