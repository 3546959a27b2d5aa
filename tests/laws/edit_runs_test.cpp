// SPDX-License-Identifier: Apache-2.0
//
// Motions that go on while their mechanism is edited.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "invar/integrate/make.hpp"
#include "invar/mech/carry.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/run/run.hpp"
#include "support/campaign.hpp"
#include "support/outcome.hpp"
#include "support/recorded.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// Keeps all rows.
class Rows final : public Sink {
 public:
  Result<void> begin(const Layout& layout) override { return layout_ = layout, Result<void>{}; }
  Result<void> sample(std::span<const double> row) override { return rows.emplace_back(row.begin(), row.end()), Result<void>{}; }
  Result<void> end() override { return {}; }

  std::vector<std::vector<double>> rows;

  std::size_t place(const std::string& path) const {
    std::size_t at = 0;
    for (const Channel& c : layout_.channels) {
      if (c.path == path) return at;
      at += static_cast<std::size_t>(c.size);
    }
    ADD_FAILURE() << "no channel " << path;
    return 0;
  }
  Vec3 vec(std::size_t row, const std::string& path) const {
    const double* at = rows[row].data() + place(path);
    return {at[0], at[1], at[2]};
  }
  BodyState body(std::size_t row, const std::string& name) const {
    const double* q = rows[row].data() + place("bodies/" + name + "/q");
    return {vec(row, "bodies/" + name + "/p"), vec(row, "bodies/" + name + "/v"), vec(row, "bodies/" + name + "/w"),
            Quat(q[0], q[1], q[2], q[3])};
  }

 private:
  Layout layout_;
};

/// Three links in a row, hinged to the ground about axes that are not parallel; a tool on the last.
ModelSpec arm(bool floating = false) {
  ModelSpec spec;
  for (int i = 0; i < 3; ++i) {
    BodySpec body;
    body.name = "link" + std::to_string(i);
    body.inertia = solid_box(2.0 - 0.3 * i, {0.8, 0.1, 0.15});
    body.inertia.p_BC = Vec3(0.4, 0.02, -0.01);
    spec.bodies.push_back(body);
    if (i == 0 && floating) continue;
    JointSpec joint;
    joint.name = "j" + std::to_string(i);
    joint.kind = JointKind::Revolute;
    joint.parent = i == 0 ? "world" : "link" + std::to_string(i - 1);
    joint.child = body.name;
    if (i > 0) joint.at_parent.p = Vec3(0.8, 0, 0);
    joint.axis = i == 1 ? Vec3(0, 0.6, 0.8) : Vec3(0, 1, 0);
    spec.joints.push_back(joint);
    spec.initial[joint.name] = {0.4 + 0.2 * i};
  }
  spec.frames.push_back({"tool", "link2", {Quat::Identity(), Vec3(0.8, 0, 0)}, {}});
  return spec;
}

Scenario scenario_of(const ModelSpec& spec, const char* formulation, const char* method, double step) {
  Scenario s;
  set_model(s, spec);
  s.start = Start(*s.model);
  for (int k = 0; k < s.model->nv(); ++k) s.start.joints.v[k] = 0.5 - 0.4 * k;
  s.method.formulation = formulation;
  s.method.integrator = method;
  s.method.step = step;
  s.end_time = 0.4;
  return s;
}

Outcome outcome_of(const Scenario& s, Sink* sink = nullptr) {
  const Result<Outcome> outcome = judged_run(s, sink);
  if (!outcome) ADD_FAILURE() << outcome.error().text();
  return outcome ? *outcome : Outcome{};
}

const Inertia& gripper() {
  static const Inertia inertia = [] {
    Inertia i = solid_sphere(0.7, 0.1);
    i.p_BC = Vec3(0.85, 0.05, 0);
    return i;
  }();
  return inertia;
}

}  // namespace

// An inner impulse acts on two bodies with opposite wrenches: both momenta stay, to rounding of sums of a few bodies. What it
// takes is the energy of the change of velocities, T(v- - v+), and that of the rotor that it stops.
TEST(EditEvent, LockingAJointOfAFloatingMechanismKeepsMomenta) {
  int locked = 0;
  for (int k = 0; k < cases(40); ++k) {
    MechanismOptions options{.bodies = 3 + k % 4, .kinds = {}};
    options.floating = true, options.mass_ratio = 10, options.loops = k % 3 == 2 ? 1 : 0, options.locked = false;
    const Sample sample = random_sample(seed(5000) + static_cast<std::uint64_t>(k), options);
    const auto pick = std::find_if(
        sample.mechanism.spec.joints.begin(), sample.mechanism.spec.joints.end(),
        [](const JointSpec& j) { return j.kind != JointKind::Fixed && j.kind != JointKind::Free && j.parent != "world"; });
    if (pick == sample.mechanism.spec.joints.end()) continue;
    auto live = LiveModel::build(sample.mechanism.spec);
    ASSERT_TRUE(live);
    const Model before = *live->model();
    const VecX wound = wound_at(before, sample.bodies, {});
    const std::vector<Edit> edits = {Lock{pick->name, {}}};
    ASSERT_TRUE(live->apply(standing(edits, before, sample.bodies, wound)));
    const auto carried = carry(before, sample.bodies, wound, *live->model(), edits);
    ASSERT_TRUE(carried) << carried.error().text();
    locked += carried->taken() > 0 ? 1 : 0;  // loops may hold it already
    const std::string what = describe(sample.mechanism.spec) + ", locked " + pick->name;
    double size = 0, arm = 0;
    for (std::size_t b = 0; b < sample.bodies.size(); ++b) {
      const Inertia& inertia = before.bodies()[b].inertia;
      arm = std::max(arm, sample.bodies[b].p_WC.norm() + before.length());
      size += inertia.mass * (sample.bodies[b].v_WC.norm() + before.length() * sample.bodies[b].w_WB.norm());
    }
    EXPECT_LT((carried->momentum_after.linear - carried->momentum_before.linear).norm(), 1e-11 * size) << what;
    EXPECT_LT((carried->momentum_after.angular - carried->momentum_before.angular).norm(), 1e-11 * size * arm) << what;

    VecX q, v;
    joint_coordinates(before, sample.bodies, q, v);
    const Joint& joint = before.joints()[static_cast<std::size_t>(*before.find_joint(pick->name))];
    double rotor = 0;
    for (int i = 0; i < joint.nv; ++i)
      rotor += 0.5 * joint.passive[static_cast<std::size_t>(i)].armature * v[joint.v0 + i] * v[joint.v0 + i];
    Bodies jump = carried->bodies;
    for (std::size_t b = 0; b < jump.size(); ++b) jump[b].v_WC -= sample.bodies[b].v_WC, jump[b].w_WB -= sample.bodies[b].w_WB;
    VecX jump_q, jump_v;
    joint_coordinates(*live->model(), jump, jump_q, jump_v);
    const double of_jump = energy(*live->model(), jump, jump_q, jump_v).kinetic;
    const double scale = carried->before.kinetic;
    EXPECT_NEAR(carried->taken(), of_jump, 1e-10 * scale) << what;
    EXPECT_NEAR(carried->before.kinetic - carried->after.kinetic, of_jump + rotor, 1e-10 * scale) << what;
    EXPECT_GE(carried->taken(), -1e-14 * scale) << what;
    EXPECT_LT(
        constraint_error(*live->model(), carried->bodies, wound_at(*live->model(), carried->bodies, carried->turns)).velocity,
        1e-10 * (1 + arm))
        << what;
  }
  EXPECT_GT(locked, cases(40) / 2);
}

// A payload has the twist of its body: nothing jumps, and the energy added is that of the payload alone.
TEST(EditEvent, AttachingKeepsEveryVelocity) {
  const ModelSpec spec = arm();
  auto live = LiveModel::build(spec);
  ASSERT_TRUE(live);
  const Model before = *live->model();
  JointState joints = JointState::initial(before);
  joints.v << 1, -2, 3;
  const Bodies bodies = place(before, joints);
  const std::vector<Edit> edits = {Attach{"gripper", "link2", gripper()}};
  ASSERT_TRUE(live->apply(edits));
  const Model& after = *live->model();
  const auto carried = carry(before, bodies, wound_at(before, bodies, {}), after, edits);
  ASSERT_TRUE(carried);
  for (std::size_t b = 0; b < 2; ++b) EXPECT_EQ(carried->bodies[b].p_WC, bodies[b].p_WC) << "untouched";
  const BodyState &old = bodies[2], &now = carried->bodies[2];
  EXPECT_EQ(now.q_WB.coeffs(), old.q_WB.coeffs());
  EXPECT_EQ(now.w_WB, old.w_WB);
  EXPECT_LT((now.X_WB(after.bodies()[2]).p - old.X_WB(before.bodies()[2]).p).norm(), 1e-15);
  EXPECT_LT((now.velocity_at(old.p_WC) - old.v_WC).norm(), 1e-14);
  const Vec3 c = old.X_WB(before.bodies()[2]) * gripper().p_BC, v = old.velocity_at(c), w = old.q_WB.conjugate() * old.w_WB;
  const double kinetic = 0.5 * (gripper().mass * v.squaredNorm() + w.dot(gripper().I_C * w));
  EXPECT_NEAR(carried->edited.kinetic - carried->before.kinetic, kinetic, 1e-13 * carried->edited.kinetic);
  EXPECT_NEAR(carried->added(), kinetic + gripper().mass * 9.81 * c.z(), 1e-12 * carried->edited.kinetic);
  EXPECT_EQ(carried->taken(), 0);
}

// Two runs, the second from where the first ended: the same bits, whatever computes the motion.
TEST(EditEvent, IsWhereTwoRunsAreGlued) {
  const std::pair<const char*, const char*> ways[] = {{"augmented", "rk4"},
                                                      {"minimal", "rk4"},
                                                      {"natural", "rk4"},
                                                      {"augmented", "dopri5"},
                                                      {"natural", "conserving"},
                                                      {"natural", "rattle"},
                                                      {"natural", "petrov_galerkin"},
                                                      {"minimal", "semi_implicit_euler"}};
  const std::vector<std::vector<Edit>> lists = {
      {Attach{"gripper", "link2", gripper()}},
      {Lock{"j1", {}}},
      {SetJointFrame{"j1", Pose{Quat::Identity(), Vec3(0.9, 0, 0)}, {}}, Lock{"j2", {}}}};
  for (const auto& [formulation, method] : ways)
    for (const std::vector<Edit>& edits : lists) {
      const std::string what = std::string(formulation) + "/" + method + ", " + words(edits[0]);
      Scenario whole = scenario_of(arm(), formulation, method, 0.01);
      whole.sampling.interval = 0.01;
      whole.edits = {{0.2, edits}};
      Rows glued, first, second;
      const Outcome outcome = outcome_of(whole, &glued);
      ASSERT_EQ(outcome.end, Outcome::End::Finished) << what << ": " << outcome.words;

      Scenario a = whole;
      a.edits.clear(), a.end_time = 0.2;
      outcome_of(a, &first);
      Bodies end;
      for (const Body& body : a.model->bodies()) end.push_back(first.body(first.rows.size() - 1, body.name));
      const VecX wound = wound_at(*a.model, end, {});
      auto live = LiveModel::build(*a.spec);
      ASSERT_TRUE(live && live->apply(standing(edits, *a.model, end, wound)));
      const auto carried = carry(*a.model, end, wound, *live->model(), edits);
      ASSERT_TRUE(carried);
      Scenario b = whole;
      b.edits.clear(), b.start_time = 0.2, b.model = live->model(), b.spec = std::make_shared<const ModelSpec>(live->spec());
      b.start = Start(*b.model);
      b.start.by_bodies = true, b.start.project = false, b.start.bodies = carried->bodies;
      b.start.tolerance = 1;  // steppers with rates in the middle of steps leave them off the constraints at the ends
      outcome_of(b, &second);
      ASSERT_GT(second.rows.size(), 10u) << what;
      for (std::size_t k = 1; k <= second.rows.size(); ++k)
        // Dense output of both at the same time only: grids of samples are counted from the start of a run.
        for (const Body& body : b.model->bodies()) {
          if (k > 1 && glued.rows[glued.rows.size() - k][0] != second.rows[second.rows.size() - k][0]) continue;
          const BodyState x = glued.body(glued.rows.size() - k, body.name), y = second.body(second.rows.size() - k, body.name);
          ASSERT_EQ(x.p_WC, y.p_WC) << what << ", sample " << k << " from the end";
          ASSERT_EQ(x.v_WC, y.v_WC) << what;
          ASSERT_EQ(x.w_WB, y.w_WB) << what;
        }
    }
}

// Events are no drift: the balance of energy goes on over them as if nothing had happened (rk4 at this step leaves some 1e-8 of
// the kinetic energy, a payload alone brings half of it), and the accounts say what edits added.
TEST(EditEvent, IsNoDriftOfEnergy) {
  for (const char* formulation : {"augmented", "minimal", "natural"}) {
    ModelSpec spec = arm();
    for (JointSpec& joint : spec.joints) joint.damping = {0.3};
    Scenario s = scenario_of(spec, formulation, "rk4", 0.002);
    s.edits = {{0.1, {Attach{"gripper", "link2", gripper()}}}, {0.2, {Lock{"j2", {}}}}, {0.3, {Unlock{"j2"}, Detach{"gripper"}}}};
    Rows rows;
    const Outcome outcome = outcome_of(s, &rows);
    ASSERT_EQ(outcome.end, Outcome::End::Finished) << outcome.words;
    ASSERT_EQ(outcome.edits.size(), 3u);
    const double kinetic = metric(outcome, "kinetic_max");
    EXPECT_LT(metric(outcome, "power_balance"), 1e-6 * kinetic) << formulation;
    EXPECT_NEAR(metric(outcome, "energy_gain"), -metric(outcome, "dissipated"), 1e-6 * kinetic) << formulation;
    EXPECT_GT(metric(outcome, "dissipated"), 1e-2 * kinetic) << "otherwise nothing is tested";
    double added = 0;
    for (const EditAccount& e : outcome.edits) added += e.motion.added() - e.motion.taken();
    EXPECT_NEAR(metric(outcome, "energy_edited"), added, 1e-9 * kinetic);
    EXPECT_GT(std::abs(added), 0.01 * kinetic) << "otherwise nothing is tested";
    EXPECT_GT(outcome.edits[1].motion.taken(), 1e-3 * kinetic);
    EXPECT_EQ(rows.rows.back()[rows.place("energy/edited")], metric(outcome, "energy_edited"));
    // The locked joint has no coordinate while it is locked.
    for (const auto& row : rows.rows)
      EXPECT_EQ(std::isnan(row[rows.place("joints/j2/q")]), row[0] >= 0.2 && row[0] < 0.3 - 1e-12) << "t = " << row[0];
  }
}

// A chain that floats and turns: cutting, closing, attaching inside keeps both momenta of what stays, whatever computes it.
TEST(EditEvent, KeepsMomentaOfAFloatingChainUnderEveryFormulation) {
  const std::pair<const char*, const char*> ways[] = {{"augmented", "rk4"}, {"minimal", "rk4"}, {"natural", "conserving"}};
  for (const auto& [formulation, method] : ways) {
    ModelSpec spec = arm(true);
    spec.gravity = Vec3::Zero();
    Scenario s = scenario_of(spec, formulation, method, 0.002);
    s.edits = {{0.1, {Lock{"j1", {}}}}, {0.2, {CutLoop{"j2", false}}}};
    const Outcome outcome = outcome_of(s);
    ASSERT_EQ(outcome.end, Outcome::End::Finished) << outcome.words;
    for (const EditAccount& e : outcome.edits) {
      const Carried& m = e.motion;
      const double size = metric(outcome, "momentum_max") + metric(outcome, "angular_momentum_max");
      EXPECT_LT((m.momentum_after.linear - m.momentum_before.linear).norm(), 1e-12 * size) << formulation << ", " << e.what;
      EXPECT_LT((m.momentum_after.angular - m.momentum_before.angular).norm(), 1e-12 * size) << formulation << ", " << e.what;
    }
    EXPECT_EQ(metric(outcome, "freedoms"), 12) << formulation;
  }
}

// Angles are counted over all turns before, at and after edits, while the joint is locked included.
TEST(EditEvent, KeepsTheTurnsOfJoints) {
  for (const char* formulation : {"augmented", "minimal", "natural"}) {
    Scenario s = scenario_of(arm(), formulation, "rk4", 0.002);
    s.start.joints.v[2] = 40;
    s.edits = {{0.2, {Attach{"gripper", "link1", gripper()}}}, {0.25, {Lock{"j2", {}}}}, {0.3, {Unlock{"j2"}}}};
    Rows rows;
    const Outcome outcome = outcome_of(s, &rows);
    ASSERT_EQ(outcome.end, Outcome::End::Finished) << outcome.words;
    double last = 0.8;
    for (const auto& row : rows.rows) {
      const double q = row[rows.place("joints/j2/q")];
      if (std::isnan(q)) continue;
      EXPECT_LT(std::abs(q - last), 0.5) << formulation << ", t = " << row[0];  // 0.2 s at most 40 rad/s, far from a turn
      last = q;
    }
    EXPECT_GT(last, 7) << formulation << ": more than a turn";
  }
}

// A joint that is locked elsewhere takes what lies beyond it along; all other coordinates stay. A map that begins where things
// are moves nothing, and from then on the coupling holds.
TEST(EditEvent, MovesWhatItIsToldToMove) {
  ModelSpec spec = arm();
  JointState at = JointState::initial(build(spec));
  spec.couplings.push_back({"gear", "j2", 0, "j0", 0, {at.q[2] - 2 * at.q[0], 2}, {}});
  Scenario s = scenario_of(spec, "augmented", "rk4", 0.002);
  s.edits = {{0.1, {SetMap{"gear", {0, -1}, true}}}, {0.2, {Lock{"j1", std::vector<double>{1.2}}}}};
  Rows rows;
  const Outcome outcome = outcome_of(s, &rows);
  ASSERT_EQ(outcome.end, Outcome::End::Finished) << outcome.words;
  EXPECT_LT(metric(outcome, "joint_gap"), 1e-9);
  const std::size_t j0 = rows.place("joints/j0/q"), j2 = rows.place("joints/j2/q");
  const auto row_at = [&](double t) -> const std::vector<double>& {
    return *std::find_if(rows.rows.begin(), rows.rows.end(), [&](const auto& row) { return row[0] >= t - 1e-9; });
  };
  const std::vector<double>&a = row_at(0.1), &b = row_at(0.2), &c = rows.rows.back(), &earlier = row_at(0.098);
  EXPECT_NEAR(a[j2] - earlier[j2], 2 * (a[j0] - earlier[j0]), 1e-9) << "nothing has moved at the event";
  EXPECT_NEAR(c[j2] + c[j0], a[j2] + a[j0], 1e-9) << "the new map";
  EXPECT_GT(std::abs(c[j2] - a[j2]), 0.01);
  const std::vector<double>& before_lock = row_at(0.198);
  EXPECT_NEAR(b[j0], before_lock[j0], 0.02) << "other coordinates stay";
  const std::size_t last = rows.rows.size() - 1;
  const Quat turn = rows.body(last, "link0").q_WB.conjugate() * rows.body(last, "link1").q_WB;
  EXPECT_LT((log_so3(turn) - 1.2 * Vec3(0, 0.6, 0.8)).norm(), 1e-9);
}

// Bodies come and go, loops open and close.
TEST(EditEvent, ChangesTheTopologyOfARunningMechanism) {
  BodySpec bucket;
  bucket.name = "bucket";
  bucket.inertia = solid_sphere(0.5, 0.1);
  JointSpec pin;
  pin.name = "pin", pin.kind = JointKind::Spherical, pin.parent = "link2", pin.child = "bucket";
  pin.at_parent.p = Vec3(0.8, 0, 0), pin.at_child.p = Vec3(0, 0, 0.2);
  for (const char* formulation : {"augmented", "minimal", "natural"}) {
    Scenario s = scenario_of(arm(), formulation, "rk4", 0.002);
    s.edits = {{0.1, {AddBody{bucket, pin, {}, {}}}}, {0.3, {RemoveBody{"bucket", false}}}};
    Rows rows;
    const Outcome outcome = outcome_of(s, &rows);
    ASSERT_EQ(outcome.end, Outcome::End::Finished) << outcome.words;
    EXPECT_LT(metric(outcome, "power_balance"), 1e-6 * metric(outcome, "kinetic_max"));
    EXPECT_LT(metric(outcome, "joint_gap"), 1e-9);
    const std::size_t p = rows.place("bodies/bucket/p");
    for (const auto& row : rows.rows)
      EXPECT_EQ(std::isnan(row[p]), row[0] < 0.1 - 1e-12 || row[0] >= 0.3 - 1e-12) << "t = " << row[0];
  }
}

// What a new joint may pull together without being told: a thousandth, of a radian or of the length, at every size.
TEST(EditEvent, ClosesJointsThatAreNearAtEverySize) {
  Random random(seed(5600));
  for (int k = 0; k < cases(12); ++k) {
    const double size = std::pow(10, random.uniform(-4, 3));
    ModelSpec spec;
    for (const char* name : {"one", "two"}) {
      BodySpec body;
      body.name = name, body.inertia = random_inertia(random, 1, size);
      spec.bodies.push_back(body);
    }
    auto live = LiveModel::build(spec);
    ASSERT_TRUE(live);
    const Model before = *live->model();
    const Bodies bodies = at_rest(before, {random_pose(random, size), random_pose(random, size)});
    const VecX wound = wound_at(before, bodies, {});
    CloseLoop close;
    close.joint.name = "weld", close.joint.kind = JointKind::Fixed, close.joint.parent = "one", close.joint.child = "two";
    close.joint.at_child.p = size * random_unit(random);
    const Pose one = bodies[0].X_WB(before.bodies()[0]), two = bodies[1].X_WB(before.bodies()[1]);
    const Pose there = one.inverse() * two * close.joint.at_child;
    for (const double part : {0.5e-3, 2e-3})
      for (const bool turned : {true, false}) {
        close.joint.at_parent = there;
        if (turned) close.joint.at_parent.q = close.joint.at_parent.q * exp_so3(part * Vec3(Vec3::UnitX()));
        auto after = LiveModel::build(spec);
        ASSERT_TRUE(after->apply(std::vector<Edit>{close}));
        if (!turned) close.joint.at_parent.p += part * after->model()->length() * (close.joint.at_parent.q * Vec3::UnitX());
        auto edited = LiveModel::build(spec);
        ASSERT_TRUE(edited->apply(std::vector<Edit>{close}));
        const auto carried = carry(before, bodies, wound, *edited->model(), std::vector<Edit>{close});
        const std::string what = std::to_string(size) + (turned ? " m, turned by " : " m, moved by ") + std::to_string(part);
        EXPECT_EQ(carried.has_value(), part < 1e-3) << what << (carried ? "" : ": " + carried.error().what);
        const std::string unit = turned ? " rad apart" : " m apart";
        EXPECT_TRUE(carried || carried.error().what.find(unit) != std::string::npos) << carried.error().what;
      }
  }
}

TEST(EditEvent, EndsTheRunWhereItCannotBeDone) {
  JointSpec far;
  far.name = "far", far.kind = JointKind::Spherical, far.parent = "world", far.child = "link2";
  far.at_parent.p = Vec3(5, 5, 5);
  Scenario s = scenario_of(arm(), "augmented", "rk4", 0.01);
  s.edits = {{0.2, {CloseLoop{far, 0}}}};
  // Its last sample is that of the mechanism before, so the judge knows no edit.
  Scenario before_edit = s;
  before_edit.edits.clear();
  s.sampling.what.accelerations = s.sampling.what.loads = s.sampling.what.efforts = true;
  JudgedSink judged(before_edit, nullptr);
  const auto ended = run(s, {.sink = &judged, .stop = nullptr, .progress = {}});
  ASSERT_TRUE(ended) << ended.error().text();
  judged.judge().expect_all("before the edit that is refused");
  EXPECT_EQ(judged.judge().samples(), 21);
  Outcome outcome = *ended;
  EXPECT_EQ(outcome.end, Outcome::End::Failed);
  EXPECT_EQ(outcome.verdict.status, Status::EditRefused);
  EXPECT_NE(outcome.words.find("joint 'far' cannot be closed here"), std::string::npos) << outcome.words;
  EXPECT_EQ(metric(outcome, "time"), 0.2);
  // Within reach, and told that it may be pulled: the gap closes, and the loop holds from then on.
  s.edits.clear(), s.end_time = 0.2;
  Rows before;
  outcome_of(s, &before);
  const BodyState last = before.body(before.rows.size() - 1, "link2");
  far.at_child.p = Vec3(0.8, 0, 0);
  far.at_parent.p = last.X_WB(s.model->bodies()[2]) * far.at_child.p + Vec3(-0.02, 0.01, 0.01);
  s.edits = {{0.2, {CloseLoop{far, 0.05}}}}, s.end_time = 0.4;
  outcome = outcome_of(s);
  EXPECT_EQ(outcome.end, Outcome::End::Finished) << outcome.words;
  EXPECT_EQ(metric(outcome, "freedoms"), 0);
  // Edits of the wrong time, or of something that is not there, are refused before anything runs.
  s.edits = {{0.7, {CutLoop{"j2", false}}}};
  EXPECT_FALSE(run(s));
  s.edits = {{0.1, {CutLoop{"j2", false}}}, {0.2, {Lock{"j2", {}}}}};
  EXPECT_NE(run(s).error().what.find("no joint 'j2'"), std::string::npos);
}

}  // namespace invar::testing
