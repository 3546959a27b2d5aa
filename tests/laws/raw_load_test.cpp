// SPDX-License-Identifier: Apache-2.0
//
// What a certificate says of a load that was learned along axes of the World, when the machine stands another way: the bound that
// was calibrated before does not hold, and the run says so. The load that was learned along axes of the bodies keeps its bound.
#include <gtest/gtest.h>

#include "invar/learn/domain.hpp"
#include "invar/learn/learn.hpp"
#include "invar/learn/term/fourier.hpp"
#include "invar/learn/term/raw_world.hpp"
#include "invar/run/calibration.hpp"
#include "support/campaign.hpp"
#include "support/reference_loop.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// Functions of World components with coefficients of their own, as a law would know them. The model's centres of mass are those
/// that they were fitted at: only joints were edited.
class RawWorldLoad final : public KnownLoad {
 public:
  RawWorldLoad(RawWorldTerm term, VecX coefficients) : term_(std::move(term)), coefficients_(std::move(coefficients)) {}
  void add(const LoadMotion& motion, Port& port) const override {
    Bodies moved = motion.bodies;
    for (std::size_t b = 0; b < moved.size(); ++b)
      moved[b].v_WC = motion.velocities[b].a_WC, moved[b].w_WB = motion.velocities[b].alpha_WB;
    term_.add(moved, {}, coefficients_.data(), port);
  }

 private:
  RawWorldTerm term_;
  VecX coefficients_;
};

/// The reference case with a load that is known: friction and water are not, and no centre of mass is moved by what is learned.
UnknownLoad weighed() {
  UnknownLoad u = UnknownLoad::reference();
  u.payload = Inertia{};
  u.payload.mass = 1e-9, u.payload.I_C = 1e-12 * Mat3::Identity();
  return u;
}

/// What is learned from the same excited runs with friction, and drag or functions of World components for the water.
struct Taught {
  UnknownLoad load = weighed();
  Model model = build(load.nominal);
  std::shared_ptr<const Features> cosines;
  FeatureScales scales;
  std::shared_ptr<const Learned> turning, joints;  // with drag; the edits that go with the raw load
  VecX raw;

  Taught() {
    DataSet data = excited(load, seed(17630), 12, 100, 0.05);
    LearnSpec spec;
    for (const TermKind kind : {TermKind::JointViscous, TermKind::JointCoulomb, TermKind::Drag}) {
      TermSpec t;
      t.kind = kind, t.sharing = usual_sharing(kind);
      spec.terms.push_back(t);
    }
    spec.held_out = {10, 11};
    auto learned = learn(load.nominal, model, data, spec);
    EXPECT_TRUE(learned) << (learned ? "" : learned.error().text());
    turning = std::make_shared<const Learned>(learned->learned);

    const std::vector<int> training = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    scales = scales_of(data, model.length(), training);
    cosines = std::make_shared<FourierFeatures>(1, 40, 3, RawWorldTerm::inputs(1));
    spec.terms.pop_back();
    const Terms friction = *Terms::build(model, spec.terms), all = friction.with(std::make_shared<RawWorldTerm>(term(model)));
    const auto fitted = fit(all, *gram_of(model, all, data, training), *gram_of(model, all, data, spec.held_out));
    EXPECT_TRUE(fitted) << (fitted ? "" : fitted.error().text());
    Fit of_joints = *fitted;
    of_joints.coefficients = fitted->coefficients.head(friction.columns());
    raw = fitted->coefficients.tail(all.columns() - friction.columns());
    joints = std::make_shared<const Learned>(*conclude(load.nominal, model, friction, of_joints, data, {}));
    std::printf("error on held-out runs: drag %.3f, World components %.3f\n", learned->fit.held_out, fitted->held_out);
  }
  RawWorldTerm term(const Model& m) const { return {m, Sharing::Alike, cosines, scales, 1, Quat::Identity()}; }

  Scenario loop(bool along_world, const Quat& turn, double amplitude, double bound) const {
    ReferenceLoop loop;
    loop.load = load, loop.nominal = load.nominal, loop.turn = turn;
    loop.speed = 2.5, loop.amplitude = amplitude, loop.end = 6, loop.step = 0.002;
    loop.gains.linear = loop.gains.angular = 0, loop.gains.rate = 10;
    loop.gains.bound = {.most = bound, .after = 2, .confidence = 0.8, .runs = 4};
    loop.learned = along_world ? joints : turning;
    if (along_world) loop.gains.known.make = [this](const Model& m) { return std::make_unique<RawWorldLoad>(term(m), raw); };
    return loop.scenario();
  }
};

// Four runs of one family calibrate, in the World of the data; then one of them again, in a World whose axes have changed places.
// Turning makes the same motion of it up to rounding, 1e-12 or so after 6 s, for whom the axes do not matter: its score is one of
// the four, and keeps a bound that is the largest of them, with 1e-6 of it for that rounding.
TEST(RawWorldLoad, BreaksItsBoundInATurnedWorldAndIsTold) {
  const Taught taught;
  const Quat turn(0.5, 0.5, 0.5, 0.5);  // x to y to z to x
  for (const bool along_world : {false, true}) {
    std::vector<Scenario> family;
    for (const double amplitude : {0.8, 0.9, 1.0, 1.1})
      family.push_back(taught.loop(along_world, Quat::Identity(), amplitude, std::numeric_limits<double>::infinity()));
    const auto found = calibrate(family, "arm", 0.8);
    ASSERT_TRUE(found) << found.error().text();
    const double bound = (1 + 1e-6) * found->bound;
    Watched here, there;
    ASSERT_TRUE(watch(taught.loop(along_world, Quat::Identity(), 1.0, bound), here)) << here.outcome.words;
    ASSERT_TRUE(watch(taught.loop(along_world, turn, 1.0, bound), there)) << there.outcome.words;
    const double rms = rms_of(here.readings, "error_tip.position", 2), turned = rms_of(there.readings, "error_tip.position", 2);
    const Clause &before = clause(here.outcome, "remainder_within_bound"),
                 &after = clause(there.outcome, "remainder_within_bound");
    std::printf("%s: bound %.3f; tip %.3f mm, in a turned World %.3f mm, remainder there %.3f N/sqrt(kg)\n",
                along_world ? "World components" : "drag", bound, 1e3 * rms, 1e3 * turned, after.worst);
    EXPECT_TRUE(before.held()) << before.text();
    if (along_world) {
      EXPECT_FALSE(after.held());
      EXPECT_NE(after.text().find("violated"), std::string::npos) << after.text();
      EXPECT_GT(turned, 1.5 * rms);
    } else {
      EXPECT_TRUE(after.held()) << after.text();
      EXPECT_NEAR(turned, rms, 1e-9);
    }
  }
}

}  // namespace
}  // namespace invar::testing
