// SPDX-License-Identifier: Apache-2.0
//
// Fits: what they find, what they say they cannot know, and what they refuse.
#include <gtest/gtest.h>

#include "invar/learn/domain.hpp"
#include "invar/learn/learn.hpp"
#include "invar/learn/learned_load.hpp"
#include "support/campaign.hpp"
#include "support/linkages.hpp"
#include "support/states.hpp"
#include "support/unknown_load.hpp"

namespace invar::testing {
namespace {

TermSpec term(TermKind kind) {
  TermSpec t;
  t.kind = kind, t.sharing = usual_sharing(kind);
  return t;
}

// Inertias and friction with the smoothing of the plant, no water: then the terms contain the truth.
UnknownLoad dry() {
  UnknownLoad u = UnknownLoad::reference();
  u.across = u.everywhere = u.along = 0;
  return u;
}
std::vector<TermSpec> inertias_and_friction() {
  return {term(TermKind::Inertia), term(TermKind::JointViscous), term(TermKind::JointCoulomb)};
}

struct Fitted {
  Model model;
  DataSet data;
  Terms terms;
  Gram training, held_out;
  Fit fit;
};

Fitted fitted(const UnknownLoad& u, const std::vector<TermSpec>& specs, const FitOptions& options, double noise,
              std::uint64_t at = 17200) {
  Fitted f{build(u.nominal), excited(u, seed(at), 5, 40, noise), {}, {}, {}, {}};
  f.terms = *Terms::build(f.model, specs);
  f.training = *gram_of(f.model, f.terms, f.data, {0, 1, 2, 3});
  f.held_out = *gram_of(f.model, f.terms, f.data, {4});
  auto done = fit(f.terms, f.training, f.held_out, options);
  EXPECT_TRUE(done) << (done ? "" : done.error().text());
  if (done) f.fit = *done;
  return f;
}

// Edits of the nominal model: with the truth among the terms and no noise the edited model moves like the plant.
TEST(Fit, OfWhatTheTermsContainMakesTheModelThePlant) {
  const UnknownLoad u = dry();
  FitOptions options;
  options.strengths = {1e-12, 1e-12, 1e-12};
  const Fitted f = fitted(u, inertias_and_friction(), options, 0);
  EXPECT_LT(f.fit.held_out, 1e-5);
  const auto learned = conclude(u.nominal, f.model, f.terms, f.fit, f.data, {});
  ASSERT_TRUE(learned) << learned.error().text();
  EXPECT_TRUE(learned->terms.empty());
  const auto spec = edited(u.nominal, learned->edits);
  ASSERT_TRUE(spec);
  for (const JointSpec& j : spec->joints)
    if (j.kind == JointKind::Spherical)
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(j.damping[static_cast<std::size_t>(k)], u.damping, 1e-4);
        EXPECT_NEAR(j.friction[static_cast<std::size_t>(k)], u.friction, 1e-4);
        EXPECT_EQ(j.friction_velocity, u.smoothing);
      }
  // What the edited model leaves over of an unseen run, seen by the motion: nothing.
  const DataSet unseen = excited(u, seed(17201), 1, 20, 0);
  const Model better = build(*spec);
  double before = 0, after = 0;
  for (const DataSample& s : unseen.runs[0].samples) {
    MotionFactor nominal(f.model), improved(better);
    nominal.at(s.bodies), nominal.factor();
    Bodies moved = s.bodies;
    Accelerations a = s.accelerations;
    Port known = s.port, d(moved.size());
    for (std::size_t b = 0; b < moved.size(); ++b) {
      // The same motion at the centres of mass of the edited bodies.
      const Vec3 arm = moved[b].q_WB * (better.bodies()[b].inertia.p_BC - f.model.bodies()[b].inertia.p_BC);
      moved[b].p_WC += arm, moved[b].v_WC += moved[b].w_WB.cross(arm);
      a[b].a_WC += a[b].alpha_WB.cross(arm) + moved[b].w_WB.cross(moved[b].w_WB.cross(arm));
      known[b] = known[b].about(-arm);
    }
    left_over(nominal.inverse(), s.accelerations, s.port, s.efforts, d);
    VecX rows = VecX::Zero(nominal.rows());
    for (std::size_t b = 0; b < d.size(); ++b) nominal.add(static_cast<int>(b), d[b], rows);
    before += rows.squaredNorm();
    improved.at(moved), improved.factor();
    left_over(improved.inverse(), a, known, s.efforts, d);
    rows.setZero(improved.rows());
    for (std::size_t b = 0; b < d.size(); ++b) improved.add(static_cast<int>(b), d[b], rows);
    after += rows.squaredNorm();
  }
  // Inertias that had to be made physical cost a little: directions that the data do not know are free to choose.
  EXPECT_LT(std::sqrt(after / before), 1e-3);
}

TEST(Fit, ChoosesStrengthsOnHeldOutRunsAndBeatsFixedOnes) {
  const UnknownLoad u = UnknownLoad::reference();
  const std::vector<TermSpec> specs = {term(TermKind::Inertia), term(TermKind::JointViscous), term(TermKind::JointCoulomb),
                                       term(TermKind::Drag)};
  const Fitted chosen = fitted(u, specs, {}, 0.05);
  for (const double strength : {1e-8, 1e-5, 1e-2, 1.0}) {
    FitOptions fixed;
    fixed.strengths.assign(specs.size(), strength);
    const auto other = fit(chosen.terms, chosen.training, chosen.held_out, fixed);
    ASSERT_TRUE(other);
    EXPECT_LE(chosen.fit.held_out, other->held_out * (1 + 1e-6)) << strength;
  }
  EXPECT_TRUE(chosen.fit.learned);
  EXPECT_LT(chosen.fit.held_out, 0.2);
}

// Every body has a strength of its own: that of the one that carries a load is the weakest, those of the others hold their
// inertias back. Strengths are chosen on two runs that were held out, in decades: now and then a draw prefers another.
TEST(Fit, WeighsEachBodyOnItsOwn) {
  UnknownLoad u = dry();
  u.damping = u.friction = 0;
  const Model model = build(u.nominal);
  const auto terms = Terms::build(model, {term(TermKind::JointViscous), term(TermKind::Inertia), term(TermKind::Drag)});
  ASSERT_TRUE(terms);
  ASSERT_EQ(terms->groups(), 1 + 5 + 3);
  EXPECT_EQ(terms->group_of(terms->first_column(1) + 43), 1 + 4);
  EXPECT_EQ(terms->group_of(terms->columns() - 1), 1 + 5 + 2);
  int held_back = 0;
  for (int k = 0; k < 5; ++k) {
    const DataSet data = excited(u, seed(17205) + static_cast<std::uint64_t>(k), 5, 10, 0.05);
    const auto training = gram_of(model, *terms, data, {0, 1, 2}), held_out = gram_of(model, *terms, data, {3, 4});
    ASSERT_TRUE(training && held_out);
    const auto done = fit(*terms, *training, *held_out);
    ASSERT_TRUE(done);
    ASSERT_EQ(done->strengths.size(), 9u);
    for (std::size_t b = 1; b < 5; ++b) held_back += done->strengths[b] > done->strengths[5];
    // The same strengths, told: the same fit.
    FitOptions told;
    told.strengths = done->strengths;
    const auto again = fit(*terms, *training, *held_out, told);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->coefficients, done->coefficients);
  }
  EXPECT_GE(held_back, 17) << "of 20";
}

// Two links that are welded together and slide, under drawn loads.
struct Welded {
  Model model;
  DataSet data;
};
Welded welded() {
  ModelSpec spec;
  Random random(seed(17210));
  for (const char* name : {"link2", "link3"}) {
    BodySpec body;
    body.name = name, body.inertia = random_inertia(random, 2, 0.3);
    spec.bodies.push_back(body);
  }
  JointSpec rail, weld;
  rail.name = "rail", rail.kind = JointKind::Prismatic, rail.child = "link2", rail.axis = random_unit(random);
  weld.name = "weld", weld.kind = JointKind::Fixed, weld.parent = "link2", weld.child = "link3";
  spec.joints = {rail, weld};
  const Model model = build(spec);
  DataSet data;
  data.runs.push_back({"one", {}});
  for (int i = 0; i < 30; ++i) {
    DataSample s;
    s.t = i;
    s.bodies = at_rest(model, {Pose{}, Pose{}});
    draw_velocities(random, model, s.bodies);
    for (int b = 0; b < 2; ++b) s.accelerations.push_back({random_vector(random, 3), random_vector(random, 5)});
    s.port = random_load(random, model).port;
    s.efforts = VecX::Zero(model.nv());
    data.runs[0].samples.push_back(std::move(s));
  }
  return {model, data};
}

// Welded links move as one: the sum of their masses shows, and nothing else. Measured accelerations break that only by what
// joints forbid, and that is taken away first.
TEST(Fit, SaysInWordsWhatTheDataDoNotTellApart) {
  const Welded w = welded();
  const auto terms = Terms::build(w.model, {term(TermKind::Inertia)});
  ASSERT_TRUE(terms);
  const auto gram = gram_of(w.model, *terms, w.data);
  ASSERT_TRUE(gram) << gram.error().text();
  const Determined found = determined_by(*terms, *gram);
  EXPECT_EQ(found.rank, 1);
  ASSERT_EQ(found.words.size(), 19u);
  EXPECT_EQ(found.words[0], "first moment x of 'link2' is not excited");
  EXPECT_TRUE(found.words.back() == "mass of 'link2' and 'link3' only as a sum" ||
              found.words.back() == "mass of 'link3' and 'link2' only as a sum")
      << found.words.back();
}

// Without ridge what the data do not tell apart stays nominal, as it does with a ridge that is weak: of two columns that are
// alike both get half. A ridge of 1e-6 takes 5e-7 away, and leaves round-off of 1e-16 over it. Fits that need a choice there make
// it (sparse), or say so (passive).
TEST(Fit, WithoutRidgeStaysInTheDirectionsThatTheDataDetermine) {
  const Welded w = welded();
  const auto terms = Terms::build(w.model, {term(TermKind::Inertia)});
  const auto gram = gram_of(w.model, *terms, w.data);
  ASSERT_TRUE(terms && gram);
  FitOptions weak, none;
  weak.strengths = {1e-6};
  const auto held = fit(*terms, *gram, *gram, weak);
  ASSERT_TRUE(held);
  const double size = held->coefficients.norm();
  for (const double strength : {0.0, 1e-16}) {
    none.strengths = {strength};
    const auto free = fit(*terms, *gram, *gram, none);
    ASSERT_TRUE(free) << free.error().text();
    EXPECT_LT((free->coefficients - held->coefficients).norm(), 1e-6 * size) << strength;
    EXPECT_NEAR(free->coefficients[0], free->coefficients[10], 1e-9 * size) << strength;
    EXPECT_TRUE(std::isfinite(free->deviations.minCoeff()));
  }
  FitOptions sparse = none, passive = none;
  sparse.method = FitOptions::Method::Sparse, passive.passive = true;
  const auto one = fit(*terms, *gram, *gram, sparse);
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(std::count(one->kept.begin(), one->kept.end(), true), 1);
  EXPECT_NEAR(one->coefficients.sum(), held->coefficients.sum(), 1e-6 * size);
  const auto refused = fit(*terms, *gram, *gram, passive);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("give every term a strength above 0"), std::string::npos) << refused.error().text();
}

TEST(Fit, OfDataThatExciteNothingSaysSo) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  DataSet data = excited(u, seed(17220), 2, 10, 0);
  for (DataRun& run : data.runs)
    for (DataSample& s : run.samples) {
      for (BodyState& b : s.bodies) b.v_WC = b.w_WB = Vec3::Zero();
      for (BodyAcceleration& a : s.accelerations) a = {};
      ConstrainedInverse inverse(model);
      inverse.at(s.bodies);
      left_over(inverse, s.accelerations, Port(s.bodies.size()), s.efforts, s.port);
    }
  const auto terms = Terms::build(model, {term(TermKind::Inertia), term(TermKind::JointViscous), term(TermKind::Drag)});
  const auto gram = gram_of(model, *terms, data, {0}), other = gram_of(model, *terms, data, {1});
  ASSERT_TRUE(gram && other);
  const auto done = fit(*terms, *gram, *other);
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->learned);
  const auto learned = conclude(u.nominal, model, *terms, *done, data, {});
  ASSERT_TRUE(learned);
  EXPECT_FALSE(learned->learned);
  EXPECT_TRUE(learned->edits.empty() && learned->terms.empty());
  EXPECT_EQ(learned->notes, std::vector<std::string>{kNothingExplained});
  EXPECT_GE(learned->undetermined.size(), 10u);
}

// Passive: no coefficient of a dissipative column is negative, however the noise falls; and nothing better is among those.
TEST(Fit, ThatIsPassiveNeverGivesEnergy) {
  UnknownLoad u = UnknownLoad::reference();
  u.along = 0, u.damping = 0;
  const std::vector<TermSpec> specs = {term(TermKind::Inertia), term(TermKind::JointViscous), term(TermKind::JointCoulomb),
                                       term(TermKind::Drag)};
  FitOptions options;
  options.strengths.assign(4, 1e-6);
  const Fitted free = fitted(u, specs, options, 0.3);
  options.passive = true;
  const auto passive = fit(free.terms, free.training, free.held_out, options);
  ASSERT_TRUE(passive);
  int negative = 0;
  for (int k = 0; k < free.terms.columns(); ++k)
    if (free.terms.dissipates(k)) {
      negative += free.fit.coefficients[k] < 0 ? 1 : 0;
      EXPECT_GE(passive->coefficients[k], 0) << free.terms.label(k);
    }
  EXPECT_GT(negative, 0) << "the law was not tried";
  EXPECT_GE(passive->training, free.fit.training);
  EXPECT_LT(passive->training, 2 * free.fit.training);
}

TEST(Fit, ThatIsSparseKeepsFewColumnsAndIsAboutAsGood) {
  const UnknownLoad u = dry();
  std::vector<TermSpec> specs = inertias_and_friction();
  specs.push_back(term(TermKind::Drag));
  const Fitted full = fitted(u, specs, {}, 0.05);
  FitOptions options;
  options.method = FitOptions::Method::Sparse;
  const auto sparse = fit(full.terms, full.training, full.held_out, options);
  ASSERT_TRUE(sparse);
  const auto kept = [&](const Fit& f) { return std::count(f.kept.begin(), f.kept.end(), true); };
  EXPECT_LT(kept(*sparse), kept(full.fit) / 2);
  EXPECT_LE(sparse->held_out, 1.021 * full.fit.held_out);
  for (int k = 0; k < full.terms.columns(); ++k)
    if (!sparse->kept[static_cast<std::size_t>(k)]) {
      EXPECT_EQ(sparse->coefficients[k], 0);
    }
}

TEST(Fit, RefusesWhatNobodyCanKnow) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  const DataSet data = excited(u, seed(17250), 1, 2, 0.05);
  const auto terms = Terms::build(model, inertias_and_friction());
  const auto gram = gram_of(model, *terms, data);
  ASSERT_TRUE(gram);
  Gram none;
  auto refused = fit(*terms, *gram, none);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("one run only"), std::string::npos);
  FitOptions options;
  options.strengths = {0, 1, 1};
  refused = fit(*terms, *gram, *gram, options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("without ridge"), std::string::npos);
  options.strengths = {1e-3};
  EXPECT_FALSE(fit(*terms, *gram, *gram, options));
  // Without runs that were held out nothing is said about them, and no column is taken away.
  options.strengths = {1e-3, 1e-3, 1e-3};
  const auto alone = fit(*terms, *gram, none, options);
  ASSERT_TRUE(alone);
  EXPECT_TRUE(std::isnan(alone->held_out));
  options.method = FitOptions::Method::Sparse;
  refused = fit(*terms, *gram, none, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, kSparseNeedsHeldOut);
}

TEST(DataSets, AreRefusedWithRunAndSample) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  const DataSet good = excited(u, seed(17260), 2, 3, 0.05);
  ASSERT_TRUE(check(good, model));
  const auto refusal = [&](auto&& spoil) {
    DataSet bad = good;
    spoil(bad);
    const auto done = check(bad, model);
    return done ? std::string("accepted") : done.error().what;
  };
  EXPECT_NE(refusal([](DataSet& d) { d.runs[1].samples[2].t = -1; }).find("sample 3 of run 'run2': time runs"),
            std::string::npos);
  EXPECT_NE(refusal([](DataSet& d) { d.runs[0].samples[1].bodies[2].v_WC.x() = std::nan(""); }).find("sample 2 of run 'run1'"),
            std::string::npos);
  EXPECT_NE(refusal([](DataSet& d) { d.runs[0].samples[0].bodies[1].q_WB.coeffs() *= 2; }).find("'body2' has norm 2"),
            std::string::npos);
  EXPECT_NE(refusal([](DataSet& d) { d.runs.clear(); }).find("no runs"), std::string::npos);
  EXPECT_NE(refusal([](DataSet& d) { d.runs[0].samples[0].bodies.pop_back(); }).find("4 bodies, the model 5"), std::string::npos);
  EXPECT_NE(good.hash(), excited(u, seed(17261), 2, 3, 0.05).hash());
  EXPECT_EQ(good.hash(), excited(u, seed(17260), 2, 3, 0.05).hash());
}

// Quadratics are met exactly; of a sine h² n² ω³/10 is left for long windows.
TEST(DataSets, AreDifferentiatedByTheQuadraticThatFitsBest) {
  DataSet data;
  data.runs.push_back({"one", {}});
  const double h = 0.01;
  for (int i = 0; i < 40; ++i) {
    DataSample s;
    s.t = i * h;
    s.bodies.resize(1);
    s.bodies[0].v_WC = Vec3(3 + 2 * s.t - 5 * s.t * s.t, 0, 1);
    s.bodies[0].w_WB = Vec3(0, std::sin(2 * s.t), 0);
    data.runs[0].samples.push_back(s);
  }
  ASSERT_TRUE(differentiate(data, 4));
  ASSERT_EQ(data.runs[0].samples.size(), 32u);
  for (const DataSample& s : data.runs[0].samples) {
    EXPECT_NEAR(s.accelerations[0].a_WC.x(), 2 - 10 * s.t, 1e-11);
    EXPECT_NEAR(s.accelerations[0].alpha_WB.y(), 2 * std::cos(2 * s.t), h * h * 16 * 8 / 5.0);
  }
  DataSet uneven = data;
  uneven.runs[0].samples[5].t += 0.004;
  const auto refused = differentiate(uneven, 2);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("equal steps"), std::string::npos);
  EXPECT_FALSE(differentiate(data, 20));
}

// What was learned, on the nominal model and on the edited one, is the same load on the same motion; at a reference velocity it
// is that of a machine that moves so.
TEST(LearnedLoad, ActsWhereItWasLearnedOnEditedModelsToo) {
  const UnknownLoad u = UnknownLoad::reference();
  std::vector<TermSpec> specs = inertias_and_friction();
  specs.push_back(term(TermKind::Drag));
  specs.push_back(term(TermKind::Fourier));
  specs.back().cosines = 10;
  const Fitted f = fitted(u, specs, {}, 0.05);
  const auto learned = conclude(u.nominal, f.model, f.terms, f.fit, f.data, {});
  ASSERT_TRUE(learned);
  EXPECT_EQ(learned->terms.size(), 2u);
  const auto shared = std::make_shared<const Learned>(*learned);
  const auto nominal = std::make_shared<const Model>(f.model);
  const auto better = std::make_shared<const Model>(build(*edited(u.nominal, learned->edits)));
  const auto a = LearnedLoad::build(nominal, shared), b = LearnedLoad::build(better, shared);
  ASSERT_TRUE(a && b);
  const Bodies& here = f.data.runs[0].samples[7].bodies;
  Bodies there = here;
  for (std::size_t i = 0; i < here.size(); ++i) {
    const Vec3 arm = here[i].q_WB * (better->bodies()[i].inertia.p_BC - nominal->bodies()[i].inertia.p_BC);
    there[i].p_WC += arm, there[i].v_WC += here[i].w_WB.cross(arm);
  }
  ASSERT_GT((there[4].p_WC - here[4].p_WC).norm(), 0.05) << "the load on body 5 was not found";
  Load la(*nominal), lb(*better);
  a->add(0.0, here, la), b->add(0.0, there, lb);
  for (std::size_t i = 0; i < here.size(); ++i) {
    const Wrench back = lb.port[i].about(there[i].p_WC - here[i].p_WC);
    EXPECT_LT((back.force - la.port[i].force).norm() + (back.moment - la.port[i].moment).norm(),
              1e-12 * (1 + la.port[i].force.norm()));
  }
  // Reference velocities in the place of measured ones.
  Accelerations reference;
  for (const BodyState& s : f.data.runs[1].samples[3].bodies) reference.push_back({s.v_WC, s.w_WB});
  Bodies moving = here;
  for (std::size_t i = 0; i < here.size(); ++i) moving[i].v_WC = reference[i].a_WC, moving[i].w_WB = reference[i].alpha_WB;
  Port at_reference(here.size());
  Load direct(*nominal);
  a->add_at_reference(here, reference, at_reference);
  a->add(0.0, moving, direct);
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_EQ(at_reference[i].force, direct.port[i].force);
}

// Terms that overlap say the sum of what each says. Coefficients are told, not fitted: what comes of them, edits and load, does
// what the terms do. Inertias of one body add up; of two rates of friction in one joint the model takes one, the other stays.
TEST(Learned, TermsThatOverlapAddUp) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  std::vector<TermSpec> specs = {term(TermKind::Inertia), term(TermKind::Inertia), term(TermKind::JointCoulomb),
                                 term(TermKind::JointCoulomb)};
  specs[0].on = {"body5"}, specs[1].on = {"body5", "body4"};
  specs[2].smoothing = {0.05}, specs[3].smoothing = {0.2};
  const auto terms = Terms::build(model, specs);
  ASSERT_TRUE(terms) << terms.error().text();
  Fit told;
  told.coefficients = VecX::Zero(terms->columns()), told.strengths.assign(4, 0), told.learned = true;
  told.coefficients[terms->first_column(0)] = 0.4, told.coefficients[terms->first_column(1)] = 0.2;
  told.coefficients.segment(terms->first_column(2), terms->term(2).columns()).setConstant(0.3);
  told.coefficients.segment(terms->first_column(3), terms->term(3).columns()).setConstant(0.7);
  const DataSet data = excited(u, seed(17230), 1, 1, 0);
  const auto learned = conclude(u.nominal, model, *terms, told, data, {});
  ASSERT_TRUE(learned) << learned.error().text();
  const auto spec = edited(u.nominal, learned->edits);
  ASSERT_TRUE(spec);
  const Model better = build(*spec);
  EXPECT_NEAR(better.bodies()[4].inertia.mass, model.bodies()[4].inertia.mass + 0.6, 1e-12);
  ASSERT_EQ(learned->terms.size(), 1u);
  EXPECT_EQ(learned->terms[0].smoothing, specs[3].smoothing);
  EXPECT_TRUE((learned->coefficients.array() == 0.7).all());
  for (const JointSpec& j : spec->joints)
    if (j.kind == JointKind::Spherical) {
      EXPECT_EQ(j.friction, (std::vector<double>(3, 0.3)));
      EXPECT_EQ(j.friction_velocity, 0.05);
    }
}

// What identification knows is all that joints do, friction at several rates as well: without water and generic terms it is the
// load that was learned, coefficient by coefficient, and with them it is that load less theirs. Sums of the same few products.
TEST(Learned, IdentifiedKeepsWhatJointsDoAndDropsTheRest) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  std::vector<TermSpec> specs = {term(TermKind::Drag), term(TermKind::JointCoulomb), term(TermKind::Fourier),
                                 term(TermKind::JointOffset), term(TermKind::Inertia)};
  specs[1].smoothing = {0.02, 0.15};
  specs[2].cosines = 3;
  const auto terms = Terms::build(model, specs);
  ASSERT_TRUE(terms) << terms.error().text();
  Fit told;
  told.strengths.assign(specs.size(), 0), told.learned = true;
  told.coefficients = VecX::LinSpaced(terms->columns(), 0.1, 0.2);
  told.coefficients.tail(terms->term(4).columns()).setZero();
  const DataSet data = excited(u, seed(17231), 1, 1, 0);
  const auto all = conclude(u.nominal, model, *terms, told, data, {});
  ASSERT_TRUE(all) << all.error().text();
  const Learned known = identified(*all);
  ASSERT_EQ(known.terms.size(), 2u);
  EXPECT_EQ(known.terms[0].smoothing, specs[1].smoothing);
  EXPECT_EQ(known.edits.size(), all->edits.size());
  EXPECT_EQ(known.labels.size(), static_cast<std::size_t>(known.coefficients.size()));
  EXPECT_EQ(known.units.size(), known.labels.size());
  const auto joints = Terms::build(model, {specs[1], specs[3]}), others = Terms::build(model, {specs[0], specs[2]});
  ASSERT_TRUE(joints && others);
  ASSERT_EQ(known.coefficients.size(), joints->columns());
  for (int k = 0; k < joints->columns(); ++k) EXPECT_EQ(known.labels[static_cast<std::size_t>(k)], joints->label(k));
  const auto shared = std::make_shared<const Model>(model);
  const auto whole = LearnedLoad::build(shared, std::make_shared<const Learned>(*all)),
             part = LearnedLoad::build(shared, std::make_shared<const Learned>(known));
  ASSERT_TRUE(whole && part);
  VecX rest(others->columns());
  rest << told.coefficients.head(terms->term(0).columns()),
      told.coefficients.segment(terms->first_column(2), terms->term(2).columns());
  const Bodies& here = data.runs[0].samples[0].bodies;
  Load a(model), b(model);
  whole->add(0.0, here, a), part->add(0.0, here, b);
  others->add(here, {Vec3::Zero(), {}, {}, nullptr}, rest.data(), b.port);
  double size = 0;
  for (std::size_t i = 0; i < here.size(); ++i) size = std::max({size, a.port[i].force.norm(), a.port[i].moment.norm()});
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_LT((a.port[i].force - b.port[i].force).norm(), 1e-12 * size);
    EXPECT_LT((a.port[i].moment - b.port[i].moment).norm(), 1e-12 * size);
  }
}

// A bound belongs to the loop that has the whole load.
TEST(Learned, IdentifiedHasNoBound) {
  Learned learned;
  learned.bound = RemainderBound{.most = 1, .after = 1, .confidence = 0.9, .runs = 20};
  EXPECT_FALSE(identified(learned).bound);
}

TEST(Learned, TakesOneNetworkAndRefusesASecond) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  LearnSpec spec;
  spec.terms = {term(TermKind::Network), term(TermKind::Network)};
  spec.terms[0].on = {"body5"}, spec.terms[1].on = {"body4"};
  const auto refused = learn(u.nominal, model, excited(u, seed(17231), 2, 5, 0), spec);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("two terms 'network'"), std::string::npos) << refused.error().text();
}

TEST(LearnedLoad, IsRefusedByOtherBodies) {
  const UnknownLoad u = UnknownLoad::reference();
  const Fitted f = fitted(u, {term(TermKind::Drag)}, {}, 0.05);
  const auto learned = conclude(u.nominal, f.model, f.terms, f.fit, f.data, {});
  ASSERT_TRUE(learned);
  ModelSpec other = u.nominal;
  other.bodies[2].name = "other";
  for (JointSpec& j : other.joints)
    for (std::string* end : {&j.parent, &j.child})
      if (*end == "body3") *end = "other";
  const auto refused = LearnedLoad::build(std::make_shared<const Model>(build(other)), std::make_shared<const Learned>(*learned));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("'body3', which the model has not; learn anew"), std::string::npos);
}

// Inside the training data nothing fades, to the bit; a body that is twice as far outside is without generic terms; in between
// their size falls as the fading says. The motion of one sample, faster and faster: leverages grow along. Drag beside is that of
// the whole motion, however far.
TEST(LearnedLoad, FadesGenericTermsOutsideOfItsData) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  const DataSet data = excited(u, seed(17290), 3, 30, 0);
  TermSpec fourier = term(TermKind::Fourier);
  fourier.cosines = 10, fourier.scales = scales_of(data, model.length());
  const auto endless = Terms::build(model, {fourier}), drag = Terms::build(model, {term(TermKind::Drag)});
  ASSERT_TRUE(endless && drag);
  fourier.domain = domain_of(static_cast<const FeatureTerm&>(endless->term(0)), data);
  const auto both = Terms::build(model, {fourier, term(TermKind::Drag)});
  ASSERT_TRUE(both);
  const auto& seen = static_cast<const FeatureTerm&>(both->term(0));
  const VecX ones = VecX::Ones(both->columns());
  double farthest = 0;
  int inside = 0, between = 0, gone = 0;
  for (const DataRun& run : data.runs)
    for (const DataSample& here : run.samples)
      for (const double faster : {1.0, 1.5, 2.0, 3.0}) {
        DataSample s = here;
        for (BodyState& b : s.bodies) b.v_WC *= faster, b.w_WB *= faster;
        const Surroundings around = data.around(s);
        const std::size_t n = s.bodies.size();
        Port whole(n), water(n), unfaded(n);
        both->add(s.bodies, around, ones.data(), whole);
        drag->add(s.bodies, around, ones.data(), water);
        endless->add(s.bodies, around, ones.data(), unfaded);
        double most = 0;
        for (std::size_t b = 0; b < n; ++b) {
          const double leverage = std::sqrt(fourier.domain.leverage(seen.classes().of[b], seen.seen(s.bodies, around, b)));
          most = std::max(most, leverage);
          const Wrench generic = whole[b] - water[b];
          const double left = generic.force.norm() + generic.moment.norm(),
                       full = unfaded[b].force.norm() + unfaded[b].moment.norm(),
                       off = (generic.force - unfaded[b].force).norm() + (generic.moment - unfaded[b].moment).norm(),
                       rounding = 1e-14 * (full + whole[b].force.norm() + whole[b].moment.norm());
          EXPECT_GT(water[b].force.norm(), 0);
          if (leverage <= 1 - 1e-12) {
            EXPECT_LT(off, rounding);
            ++inside;
          } else if (leverage >= 2 + 1e-12) {
            EXPECT_LT(left, rounding) << leverage;
            ++gone;
          } else if (leverage > 1.01 && leverage < 1.99) {
            // 1 - x²(3 - 2x) of the way from 1 to 2.
            const double x = leverage - 1, part = 1 - x * x * (3 - 2 * x);
            EXPECT_NEAR(left, part * full, 10 * rounding) << leverage;
            ++between;
          }
        }
        EXPECT_NEAR(both->leverage(s.bodies, around), most, 1e-14 * most);
        if (faster == 1) farthest = std::max(farthest, most);
      }
  EXPECT_NEAR(farthest, 1, 1e-12);
  EXPECT_GT(inside, 400);
  EXPECT_GT(between, 20);
  EXPECT_GT(gone, 20);
}

// What is learned does not depend on how many threads learn: sums, strengths, coefficients and hidden layers, to the bit.
TEST(Learn, HasTheSameBitsOnAnyNumberOfThreads) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  const DataSet data = excited(u, seed(17295), 4, 40, 0.05);
  LearnSpec spec;
  spec.terms = {term(TermKind::Inertia), term(TermKind::Drag), term(TermKind::Network)};
  spec.terms[2].width = 6, spec.train.epochs = 4;
  std::optional<LearnResult> alone;
  for (const int threads : {1, 2, 3, 5}) {
    spec.threads = threads;
    auto result = learn(u.nominal, model, data, spec);
    ASSERT_TRUE(result) << result.error().text();
    if (!alone) {
      alone = std::move(*result);
      continue;
    }
    EXPECT_EQ(result->fit.coefficients, alone->fit.coefficients) << threads;
    EXPECT_EQ(result->fit.strengths, alone->fit.strengths);
    EXPECT_EQ(result->learned.coefficients, alone->learned.coefficients);
    EXPECT_EQ(result->terms[2].layers.W1, alone->terms[2].layers.W1);
    EXPECT_EQ(result->terms[2].layers.W2, alone->terms[2].layers.W2);
    EXPECT_EQ(result->terms[2].layers.b2, alone->terms[2].layers.b2);
    EXPECT_EQ(result->written, alone->written);
  }
}

// Whoever stops a training gets the layers of the best epoch until then, to the bit those of a training that was stopped right
// after it; what is fitted with them has all samples. Steps are large here, so that errors rise now and then.
TEST(Learn, KeepsTheBestLayersOfATrainingThatIsStopped) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  const DataSet data = excited(u, seed(17296), 4, 40, 0.05);
  LearnSpec spec;
  spec.terms = {term(TermKind::Drag), term(TermKind::Network)};
  spec.terms[1].width = 6, spec.train.epochs = 60, spec.train.rate = 0.1;
  std::vector<double> errors;
  const auto stopped_after = [&](int epochs) {
    std::atomic<bool> stop = false;
    LearnSpec there = spec;
    there.stop = &stop;
    errors.clear();
    there.progress = [&](const std::string& doing, double part) {
      if (doing.rfind("hidden layers", 0) != 0) return;
      errors.push_back(std::stod(doing.substr(doing.find("error ") + 6)));
      stop = static_cast<int>(std::lround(part * spec.train.epochs)) >= epochs;
    };
    auto result = learn(u.nominal, model, data, there);
    EXPECT_TRUE(result) << (result ? "" : result.error().text());
    return std::move(*result);
  };
  const LearnResult whole = stopped_after(1000);
  EXPECT_FALSE(whole.interrupted);
  ASSERT_EQ(errors.size(), 60u);
  // Stopped where the error is well above the least one before; errors are told to three digits.
  std::size_t best = 0, end = 0;
  for (std::size_t i = 1; i < errors.size() && end == 0; ++i) {
    if (errors[i] < errors[best] - 2e-3) best = i;
    if (best > 0 && errors[i] > errors[best] + 2e-3) end = i;
  }
  ASSERT_GT(end, best) << "the error never rose";
  const auto lowest = std::min_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(end));
  best = static_cast<std::size_t>(lowest - errors.begin());
  const LearnResult late = stopped_after(static_cast<int>(end) + 1), early = stopped_after(static_cast<int>(best) + 1);
  EXPECT_TRUE(late.interrupted && early.interrupted);
  EXPECT_EQ(errors.size(), best + 1);
  EXPECT_EQ(late.terms[1].layers.W1, early.terms[1].layers.W1);
  EXPECT_EQ(late.terms[1].layers.W2, early.terms[1].layers.W2);
  EXPECT_EQ(late.fit.coefficients, early.fit.coefficients);
  EXPECT_EQ(late.learned.from.samples, whole.learned.from.samples);
  EXPECT_TRUE(late.learned.learned);
}

}  // namespace
}  // namespace invar::testing
