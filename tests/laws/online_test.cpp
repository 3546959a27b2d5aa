// SPDX-License-Identifier: Apache-2.0
//
// Learning while the loop runs: what recursive least squares keeps, and what it does for the reference loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "invar/learn/adaptive_load.hpp"
#include "invar/learn/term/inertia.hpp"
#include "support/campaign.hpp"
#include "support/reference_loop.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

MatX drawn(Random& random, Eigen::Index rows, Eigen::Index columns) {
  MatX out(rows, columns);
  for (Eigen::Index i = 0; i < out.size(); ++i) out.data()[i] = random.normal();
  return out;
}

// Without forgetting, and with a noise that stays as it is, look by look gives the ridge estimate of all rows at once: both solve
// (HᵀH/σ² + P₀⁻¹) c = Hᵀy/σ², whose condition is some 1e4 here.
TEST(RecursiveFit, IsTheRidgeEstimateOfAllRows) {
  Random random(seed(17700));
  RecursiveSpec spec;
  spec.prior = VecX::LinSpaced(9, 0.5, 3), spec.noise = 0.3, spec.keep = 1, spec.learning = 0;
  spec.surprise = 1e9;
  RecursiveFit fit(spec, 4);
  const VecX truth = drawn(random, 9, 1);
  MatX N = MatX(spec.prior.cwiseAbs2().cwiseInverse().asDiagonal());
  VecX b = VecX::Zero(9);
  for (int k = 0; k < 40; ++k) {
    const MatX H = drawn(random, 4, 9);
    const VecX y = H * truth + 0.3 * drawn(random, 4, 1);
    EXPECT_FALSE(fit.look(H, y));
    N += H.transpose() * H / 0.09, b += H.transpose() * y / 0.09;
  }
  EXPECT_LT((fit.coefficients() - N.ldlt().solve(b)).norm(), 1e-10);
  EXPECT_LT((fit.covariance() - N.inverse()).norm(), 1e-10);
  EXPECT_EQ((fit.covariance() - fit.covariance().transpose()).norm(), 0);
}

// What nothing excites stays at its prior, however long it is forgotten; what is excited follows a drift.
TEST(RecursiveFit, ForgetsWithinItsPrior) {
  Random random(seed(17710));
  RecursiveSpec spec;
  spec.prior = VecX::Constant(3, 2), spec.noise = 0.01, spec.keep = 0.9;
  RecursiveFit fit(spec, 2);
  for (int k = 0; k < 500; ++k) {
    MatX H = drawn(random, 2, 3);
    H.col(2).setZero();
    const VecX truth = Vec3(1 + 1e-4 * k, -1, 5);
    fit.look(H, H * truth + 0.01 * drawn(random, 2, 1));
    for (int i = 0; i < 3; ++i) ASSERT_LE(fit.covariance()(i, i), 4 * (1 + 1e-12));
  }
  EXPECT_NEAR(fit.coefficients()[0], 1.05, 0.03);
  EXPECT_EQ(fit.coefficients()[2], 0);
  EXPECT_NEAR(fit.covariance()(2, 2), 4, 1e-9);
}

// A jump is noticed at the third look and found at once; a single wild look is not believed, whatever it says.
TEST(RecursiveFit, NoticesAChangeAndIgnoresASingleWildLook) {
  Random random(seed(17720));
  RecursiveSpec spec;
  spec.prior = VecX::Constant(4, 3), spec.noise = 0.02;
  RecursiveFit fit(spec, 6);
  Eigen::Vector4d truth(1, -0.5, 0.3, 2);
  int noticed = 0;
  const auto look = [&](double wild) {
    const MatX H = drawn(random, 6, 4);
    return fit.look(H, H * truth + VecX::Constant(6, wild) + 0.02 * drawn(random, 6, 1));
  };
  for (int k = 0; k < 200; ++k) noticed += look(0) ? 1 : 0;
  EXPECT_EQ(noticed, 0);
  const VecX before = fit.coefficients();
  EXPECT_FALSE(look(50));
  EXPECT_EQ((fit.coefficients() - before).norm(), 0);
  for (int k = 0; k < 20; ++k) noticed += look(0) ? 1 : 0;
  EXPECT_EQ(noticed, 0);
  truth += Eigen::Vector4d(1, 1, -2, 0);
  EXPECT_FALSE(look(0));
  EXPECT_FALSE(look(0));
  EXPECT_TRUE(look(0));
  for (int k = 0; k < 3; ++k) EXPECT_FALSE(look(0));
  EXPECT_LT((fit.coefficients() - truth).norm(), 0.1);
}

// ---- in the loop

AdaptSpec payload_friction_drag() {
  AdaptSpec out;
  for (const TermKind kind : {TermKind::Inertia, TermKind::JointViscous, TermKind::JointCoulomb, TermKind::Drag}) {
    TermSpec t;
    t.kind = kind, t.sharing = usual_sharing(kind);
    if (kind == TermKind::Inertia) t.on = {"body5"};
    if (kind == TermKind::JointCoulomb) t.smoothing = {0.03, 0.08};
    out.terms.push_back(t);
  }
  return out;
}

ReferenceLoop online() {
  ReferenceLoop loop;
  loop.speed = 2.5, loop.end = 7;
  loop.gains.integral_linear = 150, loop.gains.integral_angular = 15;
  loop.gains.known.make = [](const Model& m) -> std::unique_ptr<KnownLoad> {
    auto made = AdaptiveLoad::build(m, nullptr, payload_friction_drag(), nullptr, {});
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    return std::move(*made);
  };
  return loop;
}

double at(Readings& r, const std::string& name, double t) {
  for (std::size_t i = 0; i < r.t().size(); ++i)
    if (r.t()[i] >= t - 1e-9) return r.of(name)[i];
  return std::numeric_limits<double>::quiet_NaN();
}

// From nothing at 100 Hz, without accelerations: the bars of the reference case. The payload is let go at 6 s.
TEST(Online, FindsThePayloadAndNoticesThatItIsLetGo) {
  ReferenceLoop loop = online();
  Scenario s = loop.scenario();
  s.edits = {{6.0, {Detach{"load"}}}};
  Watched w;
  ASSERT_TRUE(watch(s, w)) << w.outcome.words;
  EXPECT_EQ(w.outcome.unresolved, "");
  Readings& r = w.readings;
  const auto found = [&](double t) {
    return std::pair(at(r, "adapted mass of 'body5'", t),
                     Vec3(at(r, "adapted first moment x of 'body5'", t), at(r, "adapted first moment y of 'body5'", t),
                          at(r, "adapted first moment z of 'body5'", t)));
  };
  const double mass = loop.load.payload.mass;
  const auto [m, h] = found(0.5);
  std::printf(
      "after 0.5 s: mass %.4f of %.1f kg, moment off by %.4f kg m; let go, after 0.5 s: %.4f kg; tip %.2f mm from 5 s to 6 s, "
      "%.2f mm after\n",
      m, mass, (h - mass * loop.load.payload.p_BC).norm(), found(6.5).first, 1e3 * largest_of(r, "error_tip.position", 5),
      1e3 * largest_of(r, "error_tip.position", 6));
  EXPECT_NEAR(m, mass, 0.02 * mass);
  EXPECT_LT((h - mass * loop.load.payload.p_BC).norm(), 0.01);
  EXPECT_LT(largest_of(r, "error_tip.position", 5), 2e-3);  // the payload's end included
  EXPECT_LT(std::abs(found(6.5).first), 0.03);
  // Noticed: said, and soon.
  std::string note;
  for (const std::string& n : w.outcome.notes)
    if (n.find("learned anew") != std::string::npos) note = n;
  ASSERT_NE(note.find("controller 'arm': t = 6.0"), std::string::npos) << note;
  const double noticed = std::stod(note.substr(note.find("t = ") + 4));
  EXPECT_LE(noticed, 6.05);
}

// Let go at other times, where the path bends otherwise: noticed as soon; after 0.5 s the mass is known to 0.03 kg, at 7.3 s by
// 0.0005 kg. The tip stays within 2 mm.
TEST(Online, NoticesThatThePayloadIsLetGoAtOtherTimes) {
  for (const double let_go : {5.0, 7.3}) {
    ReferenceLoop loop = online();
    loop.end = let_go + 0.6;
    Scenario s = loop.scenario();
    s.edits = {{let_go, {Detach{"load"}}}};
    Watched w;
    ASSERT_TRUE(watch(s, w)) << w.outcome.words;
    EXPECT_EQ(w.outcome.unresolved, "");
    std::string note;
    for (const std::string& n : w.outcome.notes)
      if (n.find("learned anew") != std::string::npos) note = n;
    ASSERT_NE(note.find("t = "), std::string::npos);
    const double noticed = std::stod(note.substr(note.find("t = ") + 4)) - let_go,
                 mass = at(w.readings, "adapted mass of 'body5'", let_go + 0.5),
                 tip = largest_of(w.readings, "error_tip.position", let_go);
    std::printf("let go at %.1f s: noticed after %.3f s, mass after 0.5 s %.4f kg, tip %.2f mm\n", let_go, noticed, mass,
                1e3 * tip);
    EXPECT_GT(noticed, 0);
    EXPECT_LE(noticed, 0.05 + 1e-9);
    EXPECT_LT(std::abs(mass), 0.03);
    EXPECT_LT(tip, 2e-3);
  }
}

// The same run, the same bits.
TEST(Online, GivesTheSameBitsAgain) {
  ReferenceLoop loop = online();
  loop.end = 0.5;
  Watched a, b;
  ASSERT_TRUE(watch(loop.scenario(), a));
  ASSERT_TRUE(watch(loop.scenario(), b));
  for (const char* name : {"adapted mass of 'body5'", "innovation", "V"})
    EXPECT_EQ(a.readings.of(name), b.readings.of(name)) << name;
}

/// Lets a load adapt in its loop, and writes down what it is shown.
class Overheard final : public KnownLoad {
 public:
  struct Look {
    double t;
    Bodies bodies;
    Load acted;
    std::vector<double> found;  // by the load in the loop
  };
  Overheard(std::unique_ptr<KnownLoad> load, std::vector<Look>& looks) : load_(std::move(load)), looks_(looks) {}

  void add(const LoadMotion& motion, Port& port) const override { load_->add(motion, port); }
  double period() const override { return load_->period(); }
  bool look(const LoadLook& now) override {
    const bool changed = load_->look(now);
    const std::span<const double> c = coefficients();
    looks_.push_back({now.t, now.bodies, now.acted, {c.begin(), c.end()}});
    return changed;
  }
  std::span<const double> coefficients() const override { return load_->coefficients(); }
  std::string label(int k) const override { return load_->label(k); }
  std::string unit(int k) const override { return load_->unit(k); }

 private:
  std::unique_ptr<KnownLoad> load_;
  std::vector<Look>& looks_;
};

std::vector<double> kept(AdaptiveLoad& load) {
  Recall memory;
  load.remember(memory);
  return memory.numbers();
}

// What adapts in a loop is stopped after any of its looks, before it has three of them and while a change is being noticed too;
// one that is newly built and takes its snapshot finds the same as the one that goes on, to the bit, until the end.
TEST(Online, GoesOnFromWhatItRemembersToTheBit) {
  ReferenceLoop loop = online();
  loop.end = 0.8;
  std::vector<Overheard::Look> looks;
  const Model model = build(loop.nominal);
  loop.gains.known.make = [&looks, make = loop.gains.known.make](const Model& m) -> std::unique_ptr<KnownLoad> {
    return std::make_unique<Overheard>(make(m), looks);
  };
  Scenario s = loop.scenario();
  s.edits = {{0.5, {Detach{"load"}}}};
  Watched w;
  ASSERT_TRUE(watch(s, w));
  ASSERT_GT(looks.size(), 70u);

  const auto built = [&] {
    auto made = AdaptiveLoad::build(model, nullptr, payload_friction_drag(), nullptr, {});
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    return std::move(*made);
  };
  const auto shown = [](AdaptiveLoad& load, const Overheard::Look& l) { return load.look({l.t, l.bodies, l.acted}); };
  const std::unique_ptr<AdaptiveLoad> first = built();
  std::vector<std::vector<double>> snapshots = {kept(*first)};
  std::vector<bool> noticed;
  for (const Overheard::Look& l : looks) noticed.push_back(shown(*first, l)), snapshots.push_back(kept(*first));
  ASSERT_EQ(std::count(noticed.begin(), noticed.end(), true), 1) << "the load that is let go";
  const std::span<const double> end = first->coefficients();
  ASSERT_TRUE(std::equal(end.begin(), end.end(), looks.back().found.begin())) << "not what the loop has found";
  for (std::size_t stop = 0; stop < looks.size(); ++stop) {
    const std::unique_ptr<AdaptiveLoad> again = built();
    Recall memory(snapshots[stop]);
    again->remember(memory);
    for (std::size_t k = stop; k < looks.size(); ++k) {
      ASSERT_EQ(shown(*again, looks[k]), noticed[k]) << stop << " " << k;
      ASSERT_EQ(kept(*again), snapshots[k + 1]) << stop << " " << k;
    }
    ASSERT_TRUE(std::equal(end.begin(), end.end(), again->coefficients().begin())) << stop;
    ASSERT_EQ(again->innovation(), first->innovation());
  }
}

// In a sampled loop, with what reached the bodies in the place of what was commanded: 200 Hz, delay, lag, noise. Velocities are
// known to 2e-3 m/s, accelerations over 0.1 s to 0.03 m/s² then, and a second has some fifty independent looks. Without noise the
// mass is 0.607 kg; columns at reference velocities in the place of measured ones would make 0.656 kg of it.
TEST(Online, KnowsDelayAndLag) {
  ReferenceLoop loop = online();
  loop.gains = PortGains{};
  loop.gains.linear = loop.gains.angular = 0, loop.gains.rate = 20;
  loop.end = 4;
  AdaptSpec spec = payload_friction_drag();
  loop.gains.known.make = [spec](const Model& m) -> std::unique_ptr<KnownLoad> {
    return std::move(*AdaptiveLoad::build(m, nullptr, spec, nullptr, {}));
  };
  for (const bool noisy : {false, true}) {
    Scenario s = loop.scenario();
    ControllerSpec& c = s.controllers[0];
    c.period = 0.005, c.delay = 0.005, c.lag = 0.01, c.with_body = true;
    if (noisy) c.noise = {2e-4, 2e-4, 2e-3, 5e-3};
    Watched w, without;
    ASSERT_TRUE(watch(s, w)) << w.outcome.words;
    ReferenceLoop blind = loop;
    blind.gains.known = {};
    Scenario plain = blind.scenario();
    ControllerSpec there = c;
    there.law = plain.controllers[0].law, there.nominal = plain.controllers[0].nominal;
    plain.controllers[0] = there;
    ASSERT_TRUE(watch(plain, without));
    const double m = at(w.readings, "adapted mass of 'body5'", 3);
    std::printf("sampled%s: mass %.3f kg, tip rms after 2 s %.2f mm, without %.2f mm\n", noisy ? ", noise" : "", m,
                1e3 * rms_of(w.readings, "error_tip.position", 2), 1e3 * rms_of(without.readings, "error_tip.position", 2));
    EXPECT_NEAR(m, 0.6, noisy ? 0.15 : 0.05);
    EXPECT_LT(rms_of(w.readings, "error_tip.position", 2), 0.5 * rms_of(without.readings, "error_tip.position", 2));
  }
}

// Ten numbers that no body has are not used: what is used has a mass and moments of one.
TEST(Online, UsesInertiasThatBodiesCanHave) {
  ReferenceLoop loop = online();
  loop.end = 1.5;
  Scenario s = loop.scenario();
  s.edits = {{0.7, {Detach{"load"}}}};
  Watched w;
  ASSERT_TRUE(watch(s, w));
  const Inertia own = build(loop.nominal).bodies()[4].inertia;
  const char* const names[] = {"mass",       "first moment x", "first moment y", "first moment z", "inertia xx",
                               "inertia yy", "inertia zz",     "inertia xy",     "inertia xz",     "inertia yz"};
  for (std::size_t i = 0; i < w.readings.t().size(); i += 7) {
    double ten[10];
    for (int k = 0; k < 10; ++k) ten[k] = w.readings.of(std::string("adapted ") + names[k] + " of 'body5'")[i];
    const Inertia now = with_added(own, ten);
    // Round-off of moments over the smallest of them.
    EXPECT_TRUE(flaw(now).empty() || (nearest_physical(now, 1).I_C - now.I_C).norm() < 1e-12) << flaw(now);
  }
}

// A light body among heavy ones, all of which share what is found beyond their inertias. Bodies that move as drawn and feel
// nothing seem to have no mass, so that less than the light one has is found; what is used makes bodies of all of them.
TEST(Online, SharedInertiasMakeBodiesOfAllThatShareThem) {
  const UnknownLoad load = UnknownLoad::reference();
  ModelSpec spec = load.nominal;
  spec.bodies[1].inertia.mass *= 0.1, spec.bodies[1].inertia.I_C *= 0.1;
  const Model model = build(spec);
  AdaptSpec adapt;
  adapt.terms.emplace_back().kind = TermKind::Inertia;
  adapt.terms[0].sharing = Sharing::All;
  auto made = AdaptiveLoad::build(model, nullptr, adapt, nullptr, {});
  ASSERT_TRUE(made) << made.error().text();
  const DataSet data = excited(load, seed(17730), 1, 40, 0);
  const Load nothing(model);
  int judged = 0;
  for (std::size_t k = 0; k < data.runs[0].samples.size(); ++k) {
    (*made)->look({0.01 * static_cast<double>(k), data.runs[0].samples[k].bodies, nothing});
    const std::span<const double> ten = (*made)->coefficients();
    ASSERT_EQ(ten.size(), 10u);
    for (const Body& b : model.bodies()) {
      const Inertia now = with_added(b.inertia, ten.data()), body = nearest_physical(now, model.length());
      // Round-off of the sums that moments are, 1e-12 of each.
      const double size = b.inertia.I_C.norm() + now.I_C.norm() + now.mass * (now.p_BC - b.inertia.p_BC).squaredNorm();
      EXPECT_EQ(body.mass, now.mass);
      EXPECT_LT((body.I_C - now.I_C).norm(), 1e-11 * size) << b.name << ", look " << k;
    }
    judged += ten[0] < 0 ? 1 : 0;
  }
  EXPECT_GT(judged, 20);
}

}  // namespace
}  // namespace invar::testing
