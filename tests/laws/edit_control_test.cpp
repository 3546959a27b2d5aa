// SPDX-License-Identifier: Apache-2.0
//
// Payloads that are taken and let go while a law is at work, which knows nothing of them.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/control/joint_law.hpp"
#include "invar/control/task_law.hpp"
#include "invar/mech/kinematics.hpp"
#include "support/controlled.hpp"
#include "support/recorded.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

ModelSpec arm() {
  ModelSpec spec;
  for (int i = 0; i < 3; ++i) {
    BodySpec body;
    body.name = "link" + std::to_string(i), body.inertia = solid_box(2.0 - 0.3 * i, {0.8, 0.1, 0.15});
    body.inertia.p_BC = Vec3(0.4, 0.02, -0.01);
    spec.bodies.push_back(body);
    JointSpec joint;
    joint.name = "j" + std::to_string(i), joint.kind = JointKind::Revolute;
    joint.parent = i == 0 ? "world" : "link" + std::to_string(i - 1), joint.child = body.name;
    if (i > 0) joint.at_parent.p = Vec3(0.8, 0, 0);
    joint.axis = i == 1 ? Vec3(0, 0.6, 0.8) : Vec3(0, 1, 0);
    spec.joints.push_back(joint);
    spec.initial[joint.name] = {0.4 + 0.2 * i};
  }
  spec.frames.push_back({"tool", "link2", {Quat::Identity(), Vec3(0.8, 0, 0)}, {}});
  return spec;
}

Attach load() {
  Inertia inertia = solid_box(1.5, {0.2, 0.3, 0.1});
  inertia.p_BC = Vec3(0.9, 0.2, -0.1);
  return {"load", "link2", inertia, {}};
}

/// The plain arm is what the law knows; a wrench on every body, at every instant, held, or through a thruster.
ControllerSpec law(const ModelSpec& nominal, double period, bool with_body) {
  ControllerSpec c;
  c.nominal = std::make_shared<const Model>(build(nominal));
  const Pose at = place(*c.nominal, JointState::initial(*c.nominal)).back().X_WB(c.nominal->bodies().back());
  TaskLawSpec spec;
  spec.gains = {20, 5, 0};
  spec.tasks = {Task{.name = "tip",
                     .body = 2,
                     .X_BE = {},
                     .path =
                         [at](Instant t) {
                           PoseJet j;
                           j.p = at.p + Vec3(0, 0, 0.1 * std::sin(t.t)), j.v = Vec3(0, 0, 0.1 * std::cos(t.t)), j.q = at.q;
                           j.a = Vec3(0, 0, -0.1 * std::sin(t.t));
                           return j;
                         },
                     .attitude = false}};
  c.law = [spec](const Model& m) { return std::make_unique<TaskLaw>(m, spec, Repulsion(m, {}, {})); };
  c.period = period, c.with_body = with_body;
  return c;
}

Scenario scenario(const ModelSpec& plant, const Bodies& start, const ControllerSpec& c, double from, double to) {
  Scenario s;
  set_model(s, plant);
  s.start = Start(*s.model);
  s.start.by_bodies = true, s.start.bodies = start;
  s.start_time = from, s.end_time = to;
  s.method.integrator = "rk4", s.method.step = 0.002;
  s.controllers = {c};
  return s;
}

/// Keeps where bodies are at the end.
class Last final : public Sink {
 public:
  explicit Last(const Model& model) : model_(model) {}
  Result<void> begin(const Layout& layout) override { return layout_ = layout, Result<void>{}; }
  Result<void> sample(std::span<const double> row) override { return row_.assign(row.begin(), row.end()), Result<void>{}; }
  Result<void> end() override { return {}; }
  Bodies bodies() const {
    Bodies out;
    for (const Body& b : model_.bodies()) {
      const auto vec = [&](const char* what) {
        const std::size_t at = place_of("bodies/" + b.name + "/" + what);
        return Vec3(row_[at], row_[at + 1], row_[at + 2]);
      };
      const std::size_t q = place_of("bodies/" + b.name + "/q");
      out.push_back({vec("p"), vec("v"), vec("w"), Quat(row_[q], row_[q + 1], row_[q + 2], row_[q + 3])});
    }
    return out;
  }

 private:
  std::size_t place_of(const std::string& path) const {
    std::size_t at = 0;
    for (const Channel& c : layout_.channels) {
      if (c.path == path) return at;
      at += static_cast<std::size_t>(c.size);
    }
    ADD_FAILURE() << path;
    return 0;
  }
  const Model& model_;
  Layout layout_;
  std::vector<double> row_;
};

Bodies end_of(const Scenario& s, Outcome* outcome = nullptr) {
  Last last(*s.model);
  auto out = judged_run(s, &last);
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  if (!out) return Bodies(s.model->bodies().size());
  EXPECT_EQ(out->end, Outcome::End::Finished) << out->words;
  if (outcome) *outcome = *out;
  return last.bodies();
}

// The same motion in two runs: with the load until 0.4 s, then another run of the plain arm from there. Ticks at 0.4 s begin anew
// in both. A restart costs round-off only, 1e-16 times rates and time.
TEST(PayloadUnderControl, LetGoGoesOnAsAPlainArmWould) {
  ModelSpec loaded = arm();
  loaded = *edited(loaded, std::vector<Edit>{load()});
  const Model with_load = build(loaded), plain = build(arm());
  const Bodies start = place(with_load, JointState::initial(with_load));
  for (const auto& [period, with_body] : {std::pair{0.0, false}, {0.01, false}, {0.01, true}}) {
    const ControllerSpec c = law(arm(), period, with_body);
    Scenario whole = scenario(loaded, start, c, 0, 0.8);
    whole.edits = {{0.4, {Detach{"load"}}}};
    Outcome outcome;
    const Bodies end = end_of(whole, &outcome);
    ASSERT_EQ(outcome.edits.size(), 1u);
    const Bodies halfway = end_of(scenario(loaded, start, c, 0, 0.4));
    const Bodies seen = seen_as(plain, with_load, halfway);
    const Bodies other = end_of(scenario(arm(), seen, c, 0.4, 0.8));
    for (std::size_t b = 0; b < end.size(); ++b) {
      // Rows have the centre of mass of the model of their time.
      EXPECT_LT((end[b].p_WC - other[b].p_WC).norm(), 1e-10) << period << with_body;
      EXPECT_LT((end[b].v_WC - other[b].v_WC).norm(), 1e-9) << period << with_body;
      EXPECT_LT((end[b].w_WB - other[b].w_WB).norm(), 1e-9) << period << with_body;
    }
    // It was a load: without it the arm would be elsewhere.
    const Bodies never = end_of(scenario(arm(), seen_as(plain, with_load, start), c, 0, 0.8));
    EXPECT_GT((never[2].p_WC - end[2].p_WC).norm(), 1e-3);
    ASSERT_EQ(outcome.control.size(), 1u);
    EXPECT_FALSE(outcome.control[0].certificate.held()) << "an unknown load is a disturbance";
  }
}

// Through thrusters, whose places are told from the body frame: a load on their body does not move them.
TEST(PayloadUnderControl, LeavesActuatorsWhereTheyAre) {
  ModelSpec spec;
  spec.gravity = Vec3::Zero();
  spec.bodies.push_back({"hull", solid_box(2, {0.6, 0.4, 0.2}), {}, {}});
  spec.frames.push_back({"nozzle", "hull", {from_zyx({0, 0, 0.3}), Vec3(-0.3, 0.1, 0)}, {}});
  const Model before = build(spec);
  Inertia inertia = solid_sphere(1, 0.1);
  inertia.p_BC = Vec3(0.3, 0, 0.1);
  const Model after = build(*edited(spec, std::vector<Edit>{Attach{"load", "hull", inertia, {}}}));
  ControllerSpec c;
  c.nominal = std::make_shared<const Model>(before);
  c.law = [](const Model& m) {
    TaskLawSpec task;
    task.tasks = {Task{.name = "hull", .body = 0, .X_BE = {}, .path = [](Instant) {
                         PoseJet j;
                         j.p = Vec3(1, 0.3, 0);
                         return j;
                       }}};
    return std::make_unique<TaskLaw>(m, task, Repulsion(m, {}, {}));
  };
  c.period = 0.1;
  ActuatorSpec a;
  a.kind = ActuatorSpec::Kind::Force, a.frame = "nozzle";
  c.actuators = {a};
  auto controller = std::move(*Controller::build(c, before, 0));
  Bodies bodies(1);
  controller->settle(0, bodies);
  Load here(before), there(after);
  controller->add(0.05, bodies, here);
  ASSERT_TRUE(controller->rebind(after));
  Bodies moved(1);
  moved[0].p_WC = after.bodies()[0].inertia.p_BC;
  controller->add(0.05, moved, there);
  EXPECT_GT(here.port[0].force.norm(), 1e-3);
  EXPECT_LT((here.port[0].force - there.port[0].force).norm(), 1e-14);
  const Wrench back = there.port[0].about(moved[0].p_WC);
  EXPECT_LT((here.port[0].moment - back.moment).norm(), 1e-14);
}

TEST(EditsUnderControl, OtherThanOfInertiaAreRefused) {
  const Model model = build(arm());
  Scenario s = scenario(arm(), place(model, JointState::initial(model)), law(arm(), 0, false), 0, 1);
  s.edits = {{0.4, {load(), Lock{"j1", {}}}}};
  const auto out = run(s);
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().what.find("not 'lock'"), std::string::npos) << out.error().text();
}

}  // namespace
}  // namespace invar::testing
