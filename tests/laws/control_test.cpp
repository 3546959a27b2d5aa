// SPDX-License-Identifier: Apache-2.0
//
// What certificates say about control laws, on drawn mechanisms, paths and gains: V falls as promised, its derivative is the
// derivative of V, references are motions that joints allow, and nothing depends on World.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "invar/control/body_law.hpp"
#include "invar/control/disturbance.hpp"
#include "invar/control/impedance_law.hpp"
#include "invar/control/joint_law.hpp"
#include "invar/control/task_law.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/planar_chain.hpp"
#include "support/campaign.hpp"
#include "support/controlled.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/recorded.hpp"

namespace invar::testing {
namespace {

TEST(TaskLaw, FallsAsPromisedWhateverTheMechanismPathAndGains) {
  constexpr double h = 1e-3;
  int judged = 0;
  for (int k = 0; k < cases(24); ++k) {
    Sample s = drawn_mechanism(seed(5100) + static_cast<std::uint64_t>(k), k);
    Random random(5101, static_cast<std::uint64_t>(k));
    const int body = static_cast<int>(s.bodies.size()) - 1;
    const BodyState& at = s.bodies[static_cast<std::size_t>(body)];
    const Pose offset = random_pose(random, 0.2);
    const Vec3 point = s.model.bodies()[static_cast<std::size_t>(body)].inertia.p_BC;
    const PosePath wanted = drawn_path(random, at.p_WC + at.q_WB * (offset.p - point) + random_vector(random, 0.1),
                                       exp_so3(random_vector(random, 0.3)) * at.q_WB * offset.q);
    const PosePath aside = drawn_path(random, s.bodies[0].p_WC + random_vector(random, 0.1), s.bodies[0].q_WB);
    const PortGains gains{random.uniform(1, 10), random.uniform(0.2, 2), random.uniform(0, 3)};
    const auto made = [=](const Model& m, bool position, bool attitude) {
      TaskLawSpec spec;
      spec.gains = gains;
      // What is left for the first body is little, or nothing.
      spec.tasks = {Task{.name = "tip", .body = body, .X_BE = offset, .path = wanted, .position = position, .attitude = attitude},
                    Task{.name = "root", .body = 0, .X_BE = {}, .path = aside, .damping = 1e-2}};
      Obstacle o;
      o.a = Vec3(0.3, 0.2, -0.1), o.strength = 0.5, o.width = 0.5;
      return std::make_unique<TaskLaw>(m, spec, Repulsion(m, {o}, {{0, Vec3(0.1, 0, 0), 0.05, Vec3(0.2, -0.3, 0.4)}}),
                                       LimitRepulsion(m, limits_about(m, s.bodies, 1.0), 0.2, 0.4));
    };
    // The most that the mechanism can do: pose, position or attitude. A law that would be refused is not run.
    bool position = true, attitude = true, can = made(s.model, true, true)->objection(0.0, s.bodies).empty();
    if (!can) attitude = false, can = made(s.model, true, false)->objection(0.0, s.bodies).empty();
    if (!can) position = false, attitude = true, can = made(s.model, false, true)->objection(0.0, s.bodies).empty();
    if (!can) continue;
    ControllerSpec c;
    c.law = [=](const Model& m) { return made(m, position, attitude); };
    Watched w;
    if (!watch(controlled(s.mechanism.spec, s.bodies, 0.1, h, c), w)) continue;
    ++judged;
    const std::string what = std::to_string(k) + ": " + describe(s.mechanism.spec);
    EXPECT_TRUE(clause(w.outcome, "law_is_defined").held()) << what;
    // Round-off times the condition of loops (1e4 at most) and speeds of some m/s.
    for (const char* name : {"reference_is_allowed", "V_dot_as_promised", "disturbance_is_absent"})
      EXPECT_TRUE(clause(w.outcome, name).held()) << what << ", " << name << ": " << clause(w.outcome, name).text();
    // Differences of V leave h⁴ V⁽⁵⁾/30: where a draw is too quick for h, a quarter of it leaves much less.
    const double gap = derivative_gap(w.readings, h);
    if (gap < 2e-5) continue;
    Watched finer;
    ASSERT_TRUE(watch(controlled(s.mechanism.spec, s.bodies, 0.1, h / 4, c), finer)) << what;
    EXPECT_LT(derivative_gap(finer.readings, h / 4), std::max(2e-5, gap / 16)) << what;
  }
  EXPECT_GT(judged, cases(24) / 2);
}

// An arm on a slide, hinges parallel: its tip has two of the three rates of a position, in whatever plane it lies, and also where
// attitudes are known to 1e-6 rad only. With its elbow out of the plane it has all three.
TEST(TaskLaw, AsksNoPlaneForWhatIsAcrossIt) {
  Random random(seed(8200));
  int in_planes = 0, in_space = 0;
  for (int k = 0; k < cases(20); ++k) {
    Quat turn(random.normal(), random.normal(), random.normal(), random.normal());
    turn.normalize();
    if (k == 0) turn = Quat::Identity();
    for (const bool flat : {true, false}) {
      std::string text;
      for (const char* body : {"cart", "upper", "fore"})
        text +=
            fmt::format("[[body]]\nname = '{}'\nmass = {}\ncom = [0.2, 0, 0]\ninertia = {{ xx = 0.01, yy = 0.05, zz = 0.05 }}\n",
                        body, random.uniform(0.5, 3));
      text += fmt::format(
          "[[joint]]\nname = 'slide'\nkind = 'prismatic'\nchild = 'cart'\naxis = [1, 0, 0]\n"
          "at_parent = {{ q = [{:.17g}, {:.17g}, {:.17g}, {:.17g}] }}\n"
          "[[joint]]\nname = 'shoulder'\nkind = 'revolute'\nparent = 'cart'\nchild = 'upper'\naxis = [0, 1, 0]\n"
          "[[joint]]\nname = 'elbow'\nkind = 'revolute'\nparent = 'upper'\nchild = 'fore'\naxis = [0, {}]\n"
          "at_parent = {{ p = [0.5, 0, 0] }}\n[initial]\nshoulder = {}\nelbow = {}\n",
          turn.w(), turn.x(), turn.y(), turn.z(), flat ? "1, 0" : "0.8, 0.6", random.uniform(-1, 1), random.uniform(0.5, 2));
      const auto spec = parse_model(text, "arm");
      ASSERT_TRUE(spec) << spec.error().text();
      const Model model = build(*spec);
      const Bodies still = place(model, JointState::initial(model));
      // Rates of the tip by those of the three joints; beside a singular configuration nothing is asked.
      const auto origin = [&](int b) { return Vec3(still[b].p_WC - still[b].q_WB * Vec3(0.2, 0, 0)); };
      const Vec3 tip = origin(2) + still[2].q_WB * Vec3(0.4, 0, 0);
      const Vec3 elbow = still[1].q_WB * (flat ? Vec3(0, 1, 0) : Vec3(0, 0.8, 0.6));
      Mat3 rates;
      rates << still[0].q_WB * Vec3(1, 0, 0), (still[0].q_WB * Vec3(0, 1, 0)).cross(tip - origin(1)),
          elbow.cross(tip - origin(2));
      const Vec3 sizes = Eigen::JacobiSVD<Mat3>(rates).singularValues();
      if (sizes[flat ? 1 : 2] < 0.01) continue;
      (flat ? in_planes : in_space)++;
      Bodies noisy = still;
      for (BodyState& b : noisy) b.q_WB = exp_so3(1e-6 * Vec3(random.normal(), random.normal(), random.normal())) * b.q_WB;
      TaskLawSpec law;
      law.tasks = {
          Task{.name = "tip", .body = 2, .X_BE = {Quat::Identity(), {0.4, 0, 0}}, .path = [](Instant) { return PoseJet(); }}};
      law.tasks[0].attitude = false;
      for (const Bodies& seen : {still, noisy}) {
        const std::string objection = TaskLaw(model, law, Repulsion(model, {}, {})).objection({0}, seen);
        EXPECT_EQ(objection.find("asks for 3 rates, of which the mechanism can have 2") != std::string::npos, flat) << objection;
        EXPECT_EQ(objection.empty(), !flat) << objection;
      }
    }
  }
  EXPECT_GT(in_planes, cases(20) / 2);
  EXPECT_GT(in_space, cases(20) / 2);
}

// A truss of hinges, drawn in a plane, beside a free body: the tip of the truss has no rate at all, and a task beside it is
// followed as if it were not there.
TEST(TaskLaw, FindsNoMotionInABodyThatNothingMoves) {
  Random random(seed(8210));
  for (int k = 0; k < cases(20); ++k) {
    const Vec3 axis = random_unit(random), along = any_perpendicular(axis), across = axis.cross(along);
    const auto at = [&](double x, double y) { return Vec3(x * along + y * across); };
    const double span = random.uniform(0.5, 2), height = random.uniform(0.3, 1);
    const Vec3 ends[] = {at(0, 0), at(span, 0)}, top = at(random.uniform(0.2, 0.8) * span, height);
    ModelSpec spec;
    for (int b = 0; b < 3; ++b) {
      BodySpec body;
      body.name = "b" + std::to_string(b), body.inertia = random_inertia(random, std::pow(10, random.uniform(-3, 3)), 0.5);
      spec.bodies.push_back(body);
      if (b == 2) break;
      JointSpec joint;
      joint.name = "foot" + std::to_string(b), joint.kind = JointKind::Revolute, joint.child = body.name, joint.axis = axis;
      joint.at_parent.p = ends[b];
      spec.joints.push_back(joint);
    }
    JointSpec pin;
    pin.name = "pin", pin.kind = JointKind::Revolute, pin.parent = "b0", pin.child = "b1", pin.axis = axis;
    pin.at_parent.p = top - ends[0], pin.at_child.p = top - ends[1];
    spec.joints.push_back(pin);
    const Model model = build(spec);
    const Bodies bodies = place(model, JointState::initial(model));
    const Task held{.name = "held", .body = 1, .X_BE = pin.at_child, .path = [](Instant) { return PoseJet(); }};
    const Task free{.name = "free", .body = 2, .X_BE = {}, .path = [](Instant) { return PoseJet(); }};
    for (const bool position : {true, false}) {
      TaskLawSpec law;
      law.tasks = {held, free};
      law.tasks[0].position = position, law.tasks[0].attitude = !position;
      TaskLaw with(model, law, Repulsion(model, {}, {}));
      EXPECT_NE(with.objection({0}, bodies).find("asks for 3 rates, of which the mechanism can have 0"), std::string::npos)
          << with.objection({0}, bodies);
      law.tasks = {free};
      TaskLaw without(model, law, Repulsion(model, {}, {}));
      EXPECT_EQ(without.objection({0}, bodies), "");
      Load a(model), b(model);
      ASSERT_TRUE(with.command({0}, bodies, a).ok());
      ASSERT_TRUE(without.command({0}, bodies, b).ok());
      // What the elimination rounds, of forces of this size.
      const double size = b.port[2].force.norm() + b.port[2].moment.norm();
      EXPECT_LT((a.port[2].force - b.port[2].force).norm() + (a.port[2].moment - b.port[2].moment).norm(), 1e-10 * size);
    }
  }
}

// Which rates there are is a matter of geometry: a needle that rolls far more easily than it pitches has all three,
// the tip of a gantry too, however light it is, and two hinges have two.
TEST(TaskLaw, CountsRatesWhateverTheMasses) {
  Random random(seed(8220));
  for (int k = 0; k < cases(20); ++k) {
    const Quat turn = exp_so3(random_vector(random, 2));
    const double size = std::pow(10, random.uniform(-2, 2)), unit = std::pow(10, random.uniform(-9, 9));
    const auto body = [&](int b, const Inertia& inertia) {
      BodySpec out;
      out.name = "b" + std::to_string(b), out.inertia = inertia;
      return out;
    };
    const auto joint = [&](int b, JointKind kind, const Vec3& axis) {
      JointSpec out;
      out.name = "j" + std::to_string(b), out.kind = kind, out.axis = axis;
      out.parent = b == 0 ? "world" : "b" + std::to_string(b - 1), out.child = "b" + std::to_string(b);
      if (b == 0) out.at_parent.q = turn;
      return out;
    };
    const auto heavy = [&] { return random_inertia(random, unit * std::pow(10, random.uniform(0, 2)), size); };
    // A rod along x with little about its axis; turned off a singular pose.
    Inertia needle;
    needle.mass = unit * std::pow(10, random.uniform(-4, 0)), needle.p_BC = Vec3(0.5 * size, 0, 0);
    const double across = needle.mass * size * size / 12;
    needle.I_C = Vec3(std::pow(10, random.uniform(-5, 0)) * across, across, across).asDiagonal();
    const Vec3 wrist[] = {Vec3::UnitZ(), Vec3::UnitY(), Vec3::UnitX()};
    ModelSpec turns, slides;
    for (int b = 0; b < 3; ++b) {
      turns.bodies.push_back(body(b, b == 2 ? needle : heavy()));
      turns.joints.push_back(joint(b, JointKind::Revolute, wrist[b]));
      slides.bodies.push_back(body(b, heavy()));
      slides.joints.push_back(joint(b, JointKind::Prismatic, wrist[b]));
    }
    turns.initial["j1"] = {random.uniform(-1, 1)};
    slides.bodies.push_back(body(3, random_inertia(random, unit * std::pow(10, random.uniform(-12, 0)), size)));
    slides.joints.push_back(joint(3, JointKind::Fixed, Vec3::UnitZ()));
    const auto says = [](const ModelSpec& spec, bool position) {
      const Model model = build(spec);
      TaskLawSpec law;
      law.tasks = {Task{.name = "tip", .body = static_cast<int>(spec.bodies.size()) - 1, .X_BE = {}, .path = [](Instant) {
                          return PoseJet();
                        }}};
      law.tasks[0].position = position, law.tasks[0].attitude = !position;
      TaskLaw made(model, law, Repulsion(model, {}, {}));
      return made.objection({0}, place(model, JointState::initial(model)));
    };
    EXPECT_EQ(says(turns, false), "") << k;
    EXPECT_EQ(says(slides, true), "") << k;
    turns.joints[1].locked = true, turns.joints[1].locked_at = turns.initial["j1"], turns.initial.clear();
    slides.joints[k % 3].locked = true;
    EXPECT_NE(says(turns, false).find("asks for 3 rates, of which the mechanism can have 2"), std::string::npos) << k;
    EXPECT_NE(says(slides, true).find("asks for 3 rates, of which the mechanism can have 2"), std::string::npos) << k;
  }
}

// A constant force and moment on every body push a chain away from its target for good, unless they are integrated.
TEST(TaskLaw, IntegratesConstantDisturbancesAway) {
  for (int k = 0; k < cases(6); ++k) {
    MechanismOptions o;
    o.bodies = 2 + k % 3, o.floating = true, o.passive = false, o.locked = false, o.mass_ratio = 2;
    o.kinds = {JointKind::Spherical, JointKind::Revolute};
    const Sample s = random_sample(seed(5150) + static_cast<std::uint64_t>(k), o);
    Bodies rest = s.bodies;
    for (BodyState& b : rest) b.v_WC = b.w_WB = Vec3::Zero();
    const int last = static_cast<int>(rest.size()) - 1;
    const Pose X = rest.back().X_WB(s.model.bodies().back());
    double errors[3];
    for (const int integrates : {0, 1, 2}) {  // not at all; one gain for all bodies; one rate, K_i = κ_i M
      ControllerSpec c;
      c.law = [=](const Model& m) {
        TaskLawSpec spec;
        spec.gains = {0, 0, 8};
        if (integrates == 1) spec.gains.integral_linear = 10, spec.gains.integral_angular = 2;
        if (integrates == 2) spec.gains.integral_rate = 10;
        spec.tasks = {Task{.name = "tip", .body = last, .X_BE = {}, .path = [X](Instant) {
                             PoseJet j;
                             j.p = X.p, j.q = X.q;
                             return j;
                           }}};
        return std::make_unique<TaskLaw>(m, spec, Repulsion(m, {}, {}));
      };
      Scenario scene = controlled(s.mechanism.spec, rest, 12, 5e-3, c);
      for (std::size_t b = 0; b < rest.size(); ++b) {
        DisturbanceSpec push;
        push.body = s.model.bodies()[b].name, push.force = Vec3(0.3, -0.2, 0.4), push.moment = Vec3(0.05, 0.1, -0.02);
        scene.environments.push_back(std::make_shared<const Disturbance>(*Disturbance::build(*scene.model, push)));
      }
      Watched w;
      ASSERT_TRUE(watch(scene, w)) << w.outcome.words;
      EXPECT_LT(clause(w.outcome, "V_dot_as_promised").worst, 1e-8);
      // The trapezoids of the integral leave h² s''/4 in differences of V: s changes with 10 /s, so 6e-4 of its share.
      EXPECT_LT(derivative_gap(w.readings, 5e-3), integrates ? 1e-3 : 2e-5);
      EXPECT_EQ(clause(w.outcome, "disturbance_is_absent").held(), false);
      errors[integrates] = w.outcome.control.at(0).tracking.at(0).last;
    }
    // What is left decays with the slowest rate of the loop, some 1 /s with these gains.
    EXPECT_GT(errors[0], 1e-3) << k;
    EXPECT_LT(errors[1], 0.02 * errors[0]) << k;
    EXPECT_LT(errors[2], 0.02 * errors[0]) << k;
  }
}

TEST(BodyLaw, ProjectedFallsAsPromisedOnEveryMechanism) {
  constexpr double h = 1e-3;
  int judged = 0;
  for (int k = 0; k < cases(24); ++k) {
    const Sample s = drawn_mechanism(seed(5200) + static_cast<std::uint64_t>(k), k);
    Random random(5201, static_cast<std::uint64_t>(k));
    std::vector<PosePath> paths;
    for (std::size_t b = 0; b < s.bodies.size(); ++b) {
      const Pose X = s.bodies[b].X_WB(s.model.bodies()[b]);
      paths.push_back(drawn_path(random, X.p + random_vector(random, 0.1), exp_so3(random_vector(random, 0.2)) * X.q));
    }
    for (const bool poses : {false, true}) {
      ControllerSpec c;
      c.law = [=](const Model& m) {
        BodyLawSpec spec;
        spec.paths = paths, spec.poses = poses;
        spec.gains = {5, 1, 0};
        return std::make_unique<BodyLaw>(m, spec);
      };
      Watched w;
      if (!watch(controlled(s.mechanism.spec, s.bodies, 0.1, h, c), w)) continue;
      ++judged;
      const std::string what = std::to_string(k) + ": " + describe(s.mechanism.spec);
      for (const char* name : {"reference_is_allowed", "V_dot_as_promised"})
        EXPECT_TRUE(clause(w.outcome, name).held()) << what << ", " << name << ": " << clause(w.outcome, name).text();
      EXPECT_LT(derivative_gap(w.readings, h), 2e-5) << what;
    }
  }
  EXPECT_GT(judged, cases(24));
}

// The printed reference is no motion of the mechanism; what V̇ then has beyond its promise is what the joints do along it.
TEST(BodyLaw, AsPrintedMissesItsPromiseByThePowerOfTheJoints) {
  for (int k = 0; k < cases(8); ++k) {
    MechanismOptions o;
    o.bodies = 3 + k % 3, o.floating = true, o.passive = false, o.locked = false, o.mass_ratio = 5;
    o.kinds = {JointKind::Spherical};
    const Sample s = random_sample(seed(5300) + static_cast<std::uint64_t>(k), o);
    Random random(5301, static_cast<std::uint64_t>(k));
    std::vector<PosePath> paths;
    for (const BodyState& b : s.bodies) paths.push_back(drawn_path(random, b.p_WC, b.q_WB));
    for (const auto consistency : {BodyLawSpec::Consistency::AsPrinted, BodyLawSpec::Consistency::Outward}) {
      ControllerSpec c;
      c.law = [=](const Model& m) {
        BodyLawSpec spec;
        spec.paths = paths, spec.consistency = consistency;
        return std::make_unique<BodyLaw>(m, spec);
      };
      Watched w;
      ASSERT_TRUE(watch(controlled(s.mechanism.spec, s.bodies, 0.5, 5e-3, c), w)) << w.outcome.words;
      const bool printed = consistency == BodyLawSpec::Consistency::AsPrinted;
      const auto &V_dot = w.readings.of("V_dot"), &promised = w.readings.of("V_dot_promised"),
                 &joints = w.readings.of("V_dot_by_joints");
      double most = 0;
      for (std::size_t i = 0; i < V_dot.size(); ++i) {
        EXPECT_NEAR(V_dot[i] - promised[i], joints[i], 1e-9 * (1 + std::abs(joints[i])));
        most = std::max(most, std::abs(joints[i]));
      }
      if (printed)
        EXPECT_GT(most, 1e-3);
      else
        EXPECT_LT(most, 1e-9);
      EXPECT_EQ(clause(w.outcome, "reference_is_allowed").held(), !printed);
    }
  }
}

// 355 degrees away is 5 degrees the other way.
TEST(BodyLaw, TakesTheShorterWayRound) {
  ModelSpec spec;
  BodySpec body;
  body.name = "ball";
  body.inertia = solid_box(2, Vec3(0.3, 0.4, 0.5));
  spec.bodies = {body};
  const Model model = build(spec);
  const double target = 355 * std::numbers::pi / 180;
  ControllerSpec c;
  c.law = [=](const Model& m) {
    BodyLawSpec law;
    law.consistency = BodyLawSpec::Consistency::Outward;
    law.gains = {0, 0, 20};
    law.paths = {[=](Instant) {
      PoseJet j;
      j.q = Quat(std::cos(target / 2), 0, 0, std::sin(target / 2));
      return j;
    }};
    return std::make_unique<BodyLaw>(m, law);
  };
  Watched w;
  Scenario s = controlled(spec, Bodies(1), 6, 0.01, c);
  s.sampling.what.bodies = true;
  ASSERT_TRUE(watch(s, w));
  const Tracking& attitude = w.outcome.control.at(0).tracking.at(1);
  EXPECT_LT(std::abs(attitude.last), 1e-3);
  EXPECT_NEAR(attitude.largest, 5 * std::numbers::pi / 180, 1e-6);  // it never turns away from the target
}

// Γ by unit efforts, C by one more solve: B (24) for the plant that is the nominal mechanism, with and without disturbances.
TEST(JointLaw, SatisfiesItsEquationOnTreesAndLoops) {
  constexpr double h = 1e-3;
  for (const char* name : {"four_bar", "hydraulic_crane", "six_bar", "slider_crank", "arm", "series_parallel_plant"}) {
    const Moving start = shipped(name);
    std::vector<JointAim> aims;
    for (const char* joint : {"phi", "theta", "delta", "slew", "lift", "fold", "extend", "turn", "shoulder", "elbow", "roll",
                              "bend", "flange", "crank"})
      if (const auto j = start.model.find_joint(joint)) aims.push_back({*j, 0, {}});
    if (aims.empty()) aims.push_back({0, 0, {}});
    const JointLawSpec::Kind kinds[] = {JointLawSpec::Kind::SlotineLi, JointLawSpec::Kind::Robust};
    for (const auto kind : kinds) {
      VecX q(start.model.nq()), v(start.model.nv());
      joint_coordinates(start.model, start.start, q, v);
      JointLawSpec spec;
      spec.kind = kind;
      for (JointAim aim : aims) {
        const Joint& joint = start.model.joints()[static_cast<std::size_t>(aim.joint)];
        const double q0 = q[joint.q0] + 0.02, amplitude = 0.05;
        aim.path = [=](Instant at) {
          return Jet{q0 + amplitude * std::sin(3 * at.t), 3 * amplitude * std::cos(3 * at.t),
                     -9 * amplitude * std::sin(3 * at.t)};
        };
        aim.robust = 0, aim.rate = 4, aim.layer = 1;
        spec.aims.push_back(aim);
      }
      JointLaw law(start.model, spec);
      ASSERT_EQ(law.objection(0.0, start.start), "") << name;
      // Errors of every freedom shall decay with some 10 /s, whatever its inertia.
      for (std::size_t i = 0; i < spec.aims.size(); ++i)
        spec.aims[i].gain = 10 / law.mobility()(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(i));
      Scenario s;
      set_model(s, start.spec);
      s.start = Start(*s.model);
      s.start.by_bodies = true, s.start.bodies = start.start;
      s.end_time = 0.1, s.method.integrator = "rk4", s.method.step = h;
      ControllerSpec c;
      c.nominal = s.model;
      c.law = [=](const Model& m) { return std::make_unique<JointLaw>(m, spec); };
      s.controllers = {c};
      Watched w;
      ASSERT_TRUE(watch(s, w)) << name << ": " << w.outcome.words;
      const bool exact = kind == JointLawSpec::Kind::SlotineLi;
      EXPECT_EQ(clause(w.outcome, "V_dot_as_promised").held(), exact)
          << name << ": " << clause(w.outcome, "V_dot_as_promised").text();
      // The nominal mechanism is the plant: no disturbance but round-off.
      EXPECT_TRUE(clause(w.outcome, "disturbance_is_absent").held())
          << name << ": " << clause(w.outcome, "disturbance_is_absent").text();
      EXPECT_LT(derivative_gap(w.readings, h), 1e-5) << name;
    }
  }
}

// The weight of a load that the law does not know is learnt by the integral in each of the laws.
TEST(JointLaw, IntegratesConstantDisturbancesAway) {
  constexpr double h = 4e-3;
  const Moving start = shipped("arm");
  VecX q(start.model.nq()), v(start.model.nv());
  Bodies rest = start.start;
  for (BodyState& b : rest) b.v_WC = b.w_WB = Vec3::Zero();
  joint_coordinates(start.model, rest, q, v);
  for (const auto kind : {JointLawSpec::Kind::SlotineLi, JointLawSpec::Kind::ComputedTorque, JointLawSpec::Kind::PdGravity}) {
    double errors[2];
    for (const bool integrates : {false, true}) {
      JointLawSpec spec;
      spec.kind = kind;
      for (int j = 0; j < static_cast<int>(start.model.joints().size()); ++j)
        spec.aims.push_back({j, 0, [q0 = q[j]](Instant) { return Jet{q0, 0, 0}; }});
      JointLaw law(start.model, spec);
      ASSERT_EQ(law.objection(0.0, rest), "");
      for (JointAim& aim : spec.aims) {
        aim.rate = 3, aim.layer = 1;
        // As strong as the inertia of each joint asks for: slow poles near 3 /s, fast ones far below 1/h. What other joints add
        // to an inertia slows PD down.
        const double inertia = 1 / law.mobility()(aim.joint, aim.joint);
        aim.gain = 15 * inertia, aim.stiffness = kind == JointLawSpec::Kind::PdGravity ? 40 * inertia : 40;
        aim.damping = kind == JointLawSpec::Kind::PdGravity ? 50 * inertia : 14;
        if (integrates) aim.integral = kind == JointLawSpec::Kind::ComputedTorque ? 15 : 15 * inertia;
      }
      Scenario s;
      set_model(s, start.spec);
      s.start = Start(*s.model);
      s.start.by_bodies = true, s.start.bodies = rest;
      s.end_time = 10, s.method.integrator = "rk4", s.method.step = h;
      DisturbanceSpec load;
      load.frame = "tip", load.force = Vec3(0, 0.05, -0.1);  // gains leave it some hundredths of a radian
      s.environments.push_back(std::make_shared<const Disturbance>(*Disturbance::build(*s.model, load)));
      ControllerSpec c;
      c.nominal = s.model;
      c.law = [=](const Model& m) { return std::make_unique<JointLaw>(m, spec); };
      s.controllers = {c};
      Watched w;
      ASSERT_TRUE(watch(s, w)) << w.outcome.words;
      errors[integrates] = 0;
      for (const Tracking& t : w.outcome.control.at(0).tracking)
        errors[integrates] = std::max(errors[integrates], std::abs(t.last));
      if (kind != JointLawSpec::Kind::SlotineLi) continue;
      EXPECT_TRUE(clause(w.outcome, "V_dot_as_promised").held()) << clause(w.outcome, "V_dot_as_promised").text();
      EXPECT_LT(derivative_gap(w.readings, h), 1e-3);
    }
    EXPECT_GT(errors[0], 1e-3);
    // The slowest pole is some 0.6 /s: exp(-6) after 10 s.
    EXPECT_LT(errors[1], 0.01 * errors[0]);
  }
}

// C (44) by way of (45) and (49), on paper C's chain at drawn states.
TEST(ImpedanceLaw, IsTheForcesOfThePaperThroughItsJoints) {
  const Moving start = shipped("paper_c_springs");
  const auto chain = PlanarChain::of(start.model);
  ASSERT_TRUE(chain);
  const int tcp = *start.model.find_frame("tcp");
  for (int k = 0; k < cases(20); ++k) {
    Random random(5400, static_cast<std::uint64_t>(k));
    VecX angles(start.model.nq());
    for (double& a : angles) a = random.uniform(-1.2, 1.2);
    const VecX xi = chain->xi_from_angles(angles);
    const Vec3 target = random_vector(random, 1);
    ImpedanceSpec spec;
    spec.body = start.model.frames()[static_cast<std::size_t>(tcp)].body;
    spec.p_BE = start.model.frames()[static_cast<std::size_t>(tcp)].X_BE.p;
    spec.stiffness = 30 * Mat3::Identity(), spec.damping = 4 * Mat3::Identity();
    spec.path = [=](Instant) {
      PoseJet j;
      j.p = target;
      return j;
    };
    ImpedanceLaw law(start.model, spec);
    Start at(start.model);
    at.named.assign(start.model.joints().size(), true);
    at.joints.q = angles;
    at.joints.name(start.model, at.named);
    const auto bodies = bodies_at(start.model, at);
    ASSERT_TRUE(bodies);
    Load load(start.model);
    ASSERT_TRUE(law.command(0.0, *bodies, load).ok());
    const Eigen::Vector2d aim = chain->plane().project(target);
    const VecX F =
        chain->impedance(xi, VecX::Zero(xi.size()), aim, 30 * Eigen::Matrix2d::Identity(), 4 * Eigen::Matrix2d::Identity());
    const VecX tau = chain->torques(xi, F);
    for (int i = 0; i < chain->links(); ++i) {
      const Joint& joint = start.model.joints()[static_cast<std::size_t>(chain->joint(i))];
      EXPECT_NEAR(load.efforts[joint.v0], chain->sign(i) * tau[i], 1e-12 * (1 + tau.cwiseAbs().maxCoeff()));
    }
  }
}

}  // namespace
}  // namespace invar::testing
