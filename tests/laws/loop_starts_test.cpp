// SPDX-License-Identifier: Apache-2.0
//
// Starts of closed loops by drives, couplings and names: what is told is as told, the others follow the loop, in positions and
// rates, whatever computes the motion and however large the mechanism is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "invar/io/model_file.hpp"
#include "invar/mech/branch.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/loops.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/natural.hpp"
#include "invar/model/joint/table.hpp"
#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/folder.hpp"
#include "support/linkages.hpp"
#include "support/outcome.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<double> drawn_coordinates(Random& random, JointKind kind) {
  switch (kind) {
    case JointKind::Spherical: {
      const Quat q = random_attitude(random);
      return {q.w(), q.x(), q.y(), q.z()};
    }
    case JointKind::Universal: return {random.uniform(-1, 1), random.uniform(-1, 1)};
    case JointKind::Cylindrical: return {random.uniform(-1, 1), random.uniform(-0.3, 0.3)};
    case JointKind::Prismatic: return {random.uniform(-0.3, 0.3)};
    default: return {random.uniform(-1, 1)};
  }
}

/// A closed chain of drawn joints in space; [initial] is where it was drawn, closed. Its joints have `freedoms` together, six of
/// which the loop takes. The first joint has one freedom and is preferred as the independent one.
ModelSpec drawn_ring(Random& random, int freedoms) {
  std::vector<JointKind> kinds = {random.chance(0.5) ? JointKind::Revolute : JointKind::Prismatic};
  const JointKind more[] = {JointKind::Revolute, JointKind::Prismatic, JointKind::Universal, JointKind::Cylindrical,
                            JointKind::Spherical};
  for (int left = freedoms - 1; left > 0;) {
    const JointKind kind = more[random.below(5)];
    if (invar::freedoms(kind) > left) continue;
    kinds.push_back(kind), left -= invar::freedoms(kind);
  }
  ModelSpec spec;
  std::vector<Pose> X_WB = {Pose{}};  // World, then the bodies
  for (std::size_t b = 0; b + 1 < kinds.size(); ++b) {
    BodySpec body;
    body.name = "b" + std::to_string(b), body.inertia = random_inertia(random, random.uniform(1, 5), 0.5);
    spec.bodies.push_back(body), X_WB.push_back(random_pose(random, 1));
  }
  for (std::size_t j = 0; j < kinds.size(); ++j) {
    const bool closes = j + 1 == kinds.size();
    const std::size_t parent = closes ? 0 : j, child = closes ? j : j + 1;
    JointSpec joint;
    joint.name = "j" + std::to_string(j), joint.kind = kinds[j], joint.axis = random_unit(random), joint.independent = j == 0;
    if (parent > 0) joint.parent = spec.bodies[parent - 1].name;
    joint.child = spec.bodies[child - 1].name;
    if (joint.kind == JointKind::Universal) joint.axis2 = any_perpendicular(joint.axis);
    const std::vector<double> q = drawn_coordinates(random, joint.kind);
    joint.at_child = random_pose(random, 0.5);
    joint.at_parent = X_WB[parent].inverse() * (X_WB[child] * joint.at_child) * pose_of(joint, q).inverse();
    spec.initial[joint.name] = q;
    spec.joints.push_back(joint);
  }
  return spec;
}

/// Freedoms that may lead the loop: independent ones on it, with coordinates of their own. Regular configurations only.
std::vector<int> leaders_of(const Model& model) {
  std::vector<int> out;
  const Bodies bodies = place(model, JointState::initial(model));
  Minimal minimal(model);
  State x;
  minimal.set(bodies, x);
  Loops loops(model);
  loops.measure_lengths(bodies);
  for (std::size_t g = 0; g < loops.groups().size(); ++g)
    if (rank_of(loops, g, 0).sigma < 0.1) return out;
  for (const int f : minimal.tree().independent()) {
    const int j = minimal.tree().joint_of(f);
    if (j < 0 || model.joints()[static_cast<std::size_t>(j)].nq != model.joints()[static_cast<std::size_t>(j)].nv) continue;
    for (const Loops::Group& g : loops.groups()) {
      const auto in_group = [&](int of_loops) {
        return loops.tree().freedom_of_model(of_loops) == minimal.tree().freedom_of_model(f);
      };
      if (std::any_of(g.freedoms.begin(), g.freedoms.end(), in_group)) out.push_back(minimal.tree().freedom_of_model(f));
    }
  }
  return out;
}

int joint_of(const Model& model, int freedom) {
  int out = 0;
  while (freedom >= model.joints()[static_cast<std::size_t>(out)].v0 + model.joints()[static_cast<std::size_t>(out)].nv) ++out;
  return out;
}

constexpr const char* kFormulations[] = {"augmented", "minimal", "natural"};

/// The state in which a scenario begins, in every formulation that takes the model: bodies on their constraints (to what Newton's
/// method reaches, 1e-9 of metres), the same ones everywhere, and nothing has given way.
std::vector<Bodies> begun_bodies(const Scenario& s, const std::string& what) {
  std::vector<Bodies> out;
  for (const char* name : kFormulations) {
    std::unique_ptr<Formulation> formulation;
    if (name == kFormulations[0]) formulation = std::make_unique<Augmented>(*s.model);
    if (name == kFormulations[1]) formulation = std::make_unique<Minimal>(*s.model);
    if (name == kFormulations[2] && natural_objection(*s.model).empty()) formulation = std::make_unique<Natural>(*s.model);
    if (!formulation) continue;
    const auto x = state_at(*formulation, s.start);
    if (!x) {
      ADD_FAILURE() << what << ", " << name << ": " << x.error().text();
      continue;
    }
    Bodies bodies;
    formulation->bodies(*x, bodies);
    const ConstraintError error = constraint_error(*s.model, bodies, x->wound);
    EXPECT_LT(error.position, 1e-9) << what << ", " << name;
    EXPECT_LT(error.velocity, 1e-9) << what << ", " << name;
    for (const std::string& note : displaced(*formulation, s.start, *x)) ADD_FAILURE() << what << ", " << name << ": " << note;
    if (!out.empty())
      for (std::size_t b = 0; b < bodies.size(); ++b) {
        EXPECT_LT((bodies[b].p_WC - out[0][b].p_WC).norm(), 1e-9) << what << ", " << name;
        EXPECT_LT((bodies[b].v_WC - out[0][b].v_WC).norm() + (bodies[b].w_WB - out[0][b].w_WB).norm(), 1e-9)
            << what << ", " << name;
      }
    out.push_back(std::move(bodies));
  }
  return out;
}

const std::string kMethod = "[integrator]\nmethod = 'rk4'\nstep = 1e-3\n[time]\nend = 0.01\n";

/// The first of many rings of this seed for which `take(spec, model, leaders)` holds; a fifth of them or more would do.
template <class Take>
ModelSpec suitable_ring(std::uint64_t at, int freedoms, const Take& take) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    Random random(at, trial);
    ModelSpec spec = drawn_ring(random, freedoms);
    if (take(random, spec)) return spec;
  }
  ADD_FAILURE() << "200 rings of seed " << at << " do not do";
  return {};
}

// A drive begins beside [initial], at a rate of its own. Whether the file names the coordinate, too, makes no difference.
TEST(LoopStarts, OfDrivenFreedomsAreAsDrivenAndTheLoopFollows) {
  Folder folder;
  for (int k = 0; k < cases(16); ++k) {
    const auto leads = [](Random&, const ModelSpec& ring) { return !leaders_of(build(ring)).empty(); };
    const ModelSpec spec = suitable_ring(seed(9500) + static_cast<std::uint64_t>(k), 7 + k % 2, leads);
    const Model model = build(spec);
    const std::vector<int> leaders = leaders_of(model);
    ASSERT_FALSE(leaders.empty());
    Random random(seed(9600) + static_cast<std::uint64_t>(k));
    const int f = leaders[static_cast<std::size_t>(random.below(static_cast<int>(leaders.size())))];
    const Joint& joint = model.joints()[static_cast<std::size_t>(joint_of(model, f))];
    const int freedom = f - joint.v0;
    const double q = model.initial_q()[joint.q0 + freedom] + random.uniform(-0.02, 0.02), v = random.uniform(-2, 2);
    write_file(folder / "m.toml", write_model(spec));
    std::string text = "model = 'm.toml'\n" + kMethod;
    if (k % 2 == 1 && joint.nv == 1) text += fmt::format("[initial]\njoints = {{ '{}' = {{ q = [{:.17g}] }} }}\n", joint.name, q);
    text += fmt::format(
        "[[drive]]\njoint = '{}'\nfreedom = {}\nsignal = {{ kind = 'polynomial', coefficients = [{:.17g}, {:.17g}] }}\n",
        joint.name, freedom, q, v);
    const auto s = parse_scenario(text, folder / "s.toml");
    ASSERT_TRUE(s) << s.error().text() << '\n' << text;
    const std::string what = fmt::format("case {}, joint '{}'", k, joint.name);
    for (const Bodies& bodies : begun_bodies(*s, what)) {
      VecX at, rates;
      joint_coordinates(*s->model, bodies, at, rates);
      EXPECT_NEAR(joint.winds(freedom) ? nearest_turn(at[joint.q0 + freedom], q) : at[joint.q0 + freedom], q, 1e-9) << what;
      EXPECT_NEAR(rates[f], v, 1e-9) << what;
    }
  }
}

// The joint that drives a coupling is named: the driven one is where the map has it, at its rate, and the loop follows.
TEST(LoopStarts, OfCouplingsFollowTheJointThatIsNamed) {
  for (int k = 0; k < cases(16); ++k) {
    // The first joint drives a later one of one freedom, by a map that holds where the ring was drawn.
    const auto coupled = [](Random& random, ModelSpec& ring) {
      std::vector<const JointSpec*> single;
      for (const JointSpec& j : ring.joints)
        if (freedoms(j.kind) == 1) single.push_back(&j);
      if (single.size() < 2) return false;
      CouplingSpec gear;
      gear.name = "gear", gear.of = single[0]->name, gear.joint = single[1]->name;
      const double ratio = random.uniform(0.3, 1) * (random.chance(0.5) ? 1 : -1);
      gear.coefficients = {ring.initial[gear.joint][0] - ratio * ring.initial[gear.of][0], ratio};
      ring.couplings = {gear};
      const Model model = build(ring);
      const std::vector<int> leaders = leaders_of(model);
      return std::find(leaders.begin(), leaders.end(), model.joints()[0].v0) != leaders.end();
    };
    const ModelSpec spec = suitable_ring(seed(9700) + static_cast<std::uint64_t>(k), 8, coupled);
    Scenario s;
    set_model(s, spec);
    const Model& model = *s.model;
    ASSERT_EQ(model.couplings().size(), 1u);
    const Coupling& c = model.couplings()[0];
    const Joint &of = model.joints()[static_cast<std::size_t>(c.of)], &driven = model.joints()[static_cast<std::size_t>(c.joint)];
    Random random(seed(9800) + static_cast<std::uint64_t>(k));
    const double q = model.initial_q()[of.q0] + random.uniform(-0.02, 0.02), v = random.uniform(-2, 2);
    s.start = Start(model);
    s.start.named.assign(model.joints().size(), false);
    s.start.named[static_cast<std::size_t>(c.of)] = true;
    s.start.joints.q[of.q0] = q, s.start.joints.v[of.v0] = v;
    s.start.joints.name(model, s.start.named);
    const std::string what = fmt::format("case {}, joint '{}' drives '{}'", k, of.name, driven.name);
    const Driven map = driven_by(c, q);
    for (const Bodies& bodies : begun_bodies(s, what)) {
      VecX at, rates;
      joint_coordinates(model, bodies, at, rates);
      const double is = at[driven.q0 + c.freedom];
      EXPECT_NEAR(driven.winds(c.freedom) ? nearest_turn(is, map.value) : is, map.value, 1e-9) << what;
      EXPECT_NEAR(rates[of.v0], v, 1e-9) << what;
      EXPECT_NEAR(rates[driven.v0 + c.freedom], map.slope * v, 1e-8) << what;
    }
  }
}

// The joint that a coupling drives is named, not the one that drives it: the driving one is where the map comes from, on the turn
// that it takes to get there.
TEST(LoopStarts, OfCouplingsFollowTheDrivenJointThatIsNamed) {
  for (int k = 0; k < cases(30); ++k) {
    Random random(seed(9900) + static_cast<std::uint64_t>(k));
    ModelSpec spec;
    const JointKind kinds[] = {JointKind::Revolute, JointKind::Prismatic};
    for (int b = 0; b < 3; ++b) {
      BodySpec body;
      body.name = "b" + std::to_string(b), body.inertia = random_inertia(random, 1, 0.5);
      spec.bodies.push_back(body);
      JointSpec joint;
      joint.name = "j" + std::to_string(b), joint.kind = kinds[random.below(2)], joint.child = body.name;
      if (b > 0) joint.parent = spec.bodies[0].name;
      joint.axis = random_unit(random), joint.at_parent = random_pose(random, 1), joint.at_child = random_pose(random, 0.5);
      spec.joints.push_back(joint);
    }
    // j0 drives j1, j1 drives j2; the last one is named. Every third map is a cubic one that grows everywhere.
    double slopes[2];
    for (int c = 0; c < 2; ++c) {
      CouplingSpec gear;
      gear.name = "gear" + std::to_string(c), gear.of = spec.joints[static_cast<std::size_t>(c)].name;
      gear.joint = spec.joints[static_cast<std::size_t>(c) + 1].name;
      slopes[c] = random.uniform(0.05, 2) * (random.chance(0.5) ? 1 : -1);
      gear.coefficients = {random.uniform(-1, 1), slopes[c]};
      if (k % 3 == 2) gear.coefficients.insert(gear.coefficients.end(), {0, slopes[c] / 400});
      spec.couplings.push_back(gear);
    }
    Scenario s;
    set_model(s, spec);
    const Model& model = *s.model;
    // What is named comes from a driving coordinate of several turns; cubic maps make more of them.
    const double driving = random.uniform(-1, 1) * (k % 3 == 2 ? 5 : 20), rate = random.uniform(-2, 2);
    const Driven middle = driven_by(model.couplings()[0], driving), last = driven_by(model.couplings()[1], middle.value);
    const VecX q{{driving, middle.value, last.value}}, v{{rate, middle.slope * rate, last.slope * middle.slope * rate}};
    s.start = Start(model);
    s.start.named.assign(3, false);
    s.start.named[2] = true;
    s.start.joints.q[2] = q[2], s.start.joints.v[2] = v[2];
    if (k % 2 == 1) {  // its rate by that of the first joint
      s.start.no_place = s.start.no_rate = std::vector<bool>(3, false);
      s.start.no_rate[2] = s.start.no_place[0] = s.start.named[0] = true;
      s.start.joints.v[2] = 0, s.start.joints.v[0] = rate;
    }
    s.start.joints.name(model, s.start.named);
    const std::string what = fmt::format("case {}", k);
    begun_bodies(s, what);
    Augmented formulation(model);
    const auto x = state_at(formulation, s.start);
    ASSERT_TRUE(x) << what;
    Evaluation e;
    ASSERT_TRUE(formulation.evaluate(*x, Load(model), e).ok()) << what;
    for (int j = 0; j < 3; ++j) {
      EXPECT_NEAR(e.q[j], q[j], 1e-9 * (1 + std::abs(q[j]))) << what << ", joint " << j;
      EXPECT_NEAR(e.v[j], v[j], 1e-9 * (1 + std::abs(v[j]))) << what << ", joint " << j;
    }
  }
}

// A joint of a loop is named by its place, another one by its rate alone: the latter is where the loop has it, not where
// [initial] does, at the rate that is named.
TEST(LoopStarts, OfJointsNamedByRatesAloneAreWhereTheOthersPutThem) {
  Random random(seed(9960));
  int judged = 0;
  for (int k = 0; k < cases(40); ++k) {
    const double scale = std::pow(10, random.uniform(-3, 0)), angle = random.uniform(-3, 3), rate = random.uniform(-2, 2);
    ModelSpec spec = crank_rocker(random, scale);
    spec.initial = {{"a", {angle + random.uniform(-0.5, 0.5)}}};
    Scenario s;
    s.spec = std::make_shared<const ModelSpec>(spec);
    s.model = std::make_shared<const Model>(build(spec));
    const Model& model = *s.model;
    const Joint& rocker = model.joints()[3];
    s.start = Start(model);
    s.start.named.assign(model.joints().size(), false);
    s.start.no_place = s.start.no_rate = s.start.named;
    s.start.named[0] = s.start.no_rate[0] = true;
    s.start.joints.q[0] = angle;
    s.start.joints.name(model, s.start.named);
    // Where the crank alone puts the rocker, and whether that is near a dead centre, where its rate says little.
    Augmented formulation(model);
    const auto by_crank = state_at(formulation, s.start);
    ASSERT_TRUE(by_crank) << "case " << k;
    Start turning = s.start;
    turning.no_rate[0] = false, turning.joints.v[0] = 1;
    const auto turned = state_at(formulation, turning);
    ASSERT_TRUE(turned) << "case " << k;
    VecX q, v, at, rates;
    Bodies there;
    formulation.bodies(*turned, there);
    joint_coordinates(model, there, q, v);
    if (std::abs(v[rocker.v0]) < 0.05) continue;
    ++judged;
    s.start.named[3] = s.start.no_place[3] = true;
    s.start.joints.v[rocker.v0] = rate;
    s.start.joints.name(model, s.start.named);
    for (const Bodies& bodies : begun_bodies(s, fmt::format("case {}", k))) {
      joint_coordinates(model, bodies, at, rates);
      EXPECT_NEAR(nearest_turn(at[0], angle), angle, 1e-9) << "case " << k;
      EXPECT_NEAR(nearest_turn(at[rocker.q0], q[rocker.q0]), q[rocker.q0], 1e-9) << "case " << k;
      EXPECT_NEAR(rates[rocker.v0], rate, 1e-9) << "case " << k;
      EXPECT_NEAR(rates[0], rate / v[rocker.v0], 1e-9 / std::abs(v[rocker.v0]) + 1e-9 * std::abs(rates[0])) << "case " << k;
    }
  }
  EXPECT_GT(judged, cases(40) / 2);
}

/// A nut on a sleeve (angle, displacement) and a thread of the same axis: one freedom.
ModelSpec nut(Random& random, double pitch) {
  ModelSpec spec;
  BodySpec body;
  body.name = "nut", body.inertia = random_inertia(random, 1, 0.5);
  spec.bodies = {body};
  JointSpec sleeve, thread;
  sleeve.name = "sleeve", sleeve.kind = JointKind::Cylindrical, sleeve.child = "nut";
  sleeve.axis = random_unit(random), sleeve.at_parent = random_pose(random, 1), sleeve.at_child = random_pose(random, 0.5);
  thread = sleeve;
  thread.name = "thread", thread.kind = JointKind::Screw, thread.pitch = pitch, thread.cut = true;
  spec.joints = {sleeve, thread};
  return spec;
}

// The file names where a joint of two freedoms is, and no rate: that of the driven one is the drive's, the other one follows.
TEST(LoopStarts, OfDrivenJointsNamedWithoutARateFollowTheDrive) {
  Folder folder;
  Random random(seed(9900));
  for (int k = 0; k < cases(12); ++k) {
    const double pitch = random.uniform(0.05, 0.5), angle = random.uniform(-1, 1), rate = random.uniform(0.2, 2);
    const int freedom = k % 2;
    write_file(folder / "m.toml", write_model(nut(random, pitch)));
    const double q[2] = {angle, pitch * angle};
    const std::string head = "model = 'm.toml'\n" + kMethod;
    const std::string drive = fmt::format(
        "[[drive]]\njoint = 'sleeve'\nfreedom = {}\nsignal = {{ kind = 'polynomial', coefficients = [{:.17g}, {:.17g}] }}\n",
        freedom, q[freedom], rate);
    const auto named = [&](const std::string& more, double aside = 0) {
      return fmt::format("[initial]\njoints = {{ sleeve = {{ q = [{:.17g}, {:.17g}]{} }} }}\n", q[0] + aside, q[1] + aside, more);
    };
    auto s = parse_scenario(head + named("") + drive, folder / "s.toml");
    ASSERT_TRUE(s) << s.error().text();
    for (const char* formulation : {"augmented", "minimal"}) {  // a screw is nothing for natural coordinates
      s->method.formulation = formulation;
      Memory memory;
      const Outcome out = outcome_of(*s, &memory);
      ASSERT_EQ(out.end, Outcome::End::Finished) << out.words;
      EXPECT_TRUE(out.notes.empty()) << formulation << ": " << out.notes[0];
      const VecX v = memory.at("joints/sleeve/v", 0), at = memory.at("joints/sleeve/q", 0);
      EXPECT_NEAR(v[freedom], rate, 1e-12) << formulation;
      EXPECT_NEAR(v[1 - freedom], freedom == 0 ? pitch * rate : rate / pitch, 1e-10) << formulation;
      for (const int i : {0, 1}) EXPECT_NEAR(at[i], q[i], 1e-12) << formulation;
    }
    // What the file does say otherwise is refused, with that and nothing else.
    const auto other_rate = parse_scenario(head + named(", v = [0, 0]") + drive, folder / "s.toml");
    ASSERT_FALSE(other_rate);
    EXPECT_TRUE(has(other_rate.error().what, "but the start says v = 0;")) << other_rate.error().what;
    const auto other_place = parse_scenario(head + named("", 0.1) + drive, folder / "s.toml");
    ASSERT_FALSE(other_place);
    EXPECT_TRUE(has(other_place.error().what, "but the start says q = ") && !has(other_place.error().what, "says v") &&
                !has(other_place.error().what, ", v = 0;"))
        << other_place.error().what;
  }
}

/// Crank and rod with a slider, some micrometres to some hundred metres.
ModelSpec slider_crank(double r, double rod) {
  ModelSpec spec;
  for (const auto& [name, length] : {std::pair{"crank", r}, {"rod", rod}, {"slider", 0.2 * r}}) {
    BodySpec body;
    body.name = name, body.inertia = solid_box(1, {length, 0.1 * r, 0.1 * r});
    if (body.name != "slider") body.inertia.p_BC = {0.5 * length, 0, 0};
    spec.bodies.push_back(body);
  }
  const auto join = [&](const char* name, JointKind kind, const char* parent, const char* child, double on_parent,
                        double on_child) {
    JointSpec joint;
    joint.name = name, joint.kind = kind, joint.parent = parent, joint.child = child;
    joint.at_parent.p = {on_parent, 0, 0}, joint.at_child.p = {on_child, 0, 0};
    if (kind == JointKind::Prismatic) joint.axis = Vec3::UnitX();
    spec.joints.push_back(joint);
  };
  join("a", JointKind::Revolute, "world", "crank", 0, 0);
  join("b", JointKind::Revolute, "crank", "rod", r, 0);
  join("c", JointKind::Revolute, "slider", "rod", 0, rod);
  join("s", JointKind::Prismatic, "world", "slider", 0, 0);
  const double at = 0.7, tilt = std::asin(r * std::sin(at) / rod);
  spec.initial = {{"a", {at}}, {"b", {-at - tilt}}, {"c", {-tilt}}, {"s", {r * std::cos(at) + rod * std::cos(tilt)}}};
  return spec;
}

// A slider beyond its reach by a two-hundredth of the crank: told at every size. (8e-7 m are much for a mechanism of 0.2 mm.)
TEST(LoopStarts, SayWhatGivesWayAtEverySize) {
  Random random(seed(10000));
  for (int k = 0; k < cases(12); ++k) {
    const double r = std::pow(10, random.uniform(-6, 2)), rod = r * random.uniform(2, 3);
    Scenario s;
    s.spec = std::make_shared<const ModelSpec>(slider_crank(r, rod));
    s.model = std::make_shared<const Model>(build(*s.spec));
    s.start = Start(*s.model);
    const Joint& slide = s.model->joints()[3];
    s.start.named = {false, false, false, true};
    for (const double beyond : {0.005, -0.005}) {
      s.start.joints.q[slide.q0] = r + rod + beyond * r;
      s.start.joints.name(*s.model, s.start.named);
      Augmented augmented(*s.model);
      const auto x = state_at(augmented, s.start);
      ASSERT_TRUE(x) << x.error().text();
      Bodies bodies;
      augmented.bodies(*x, bodies);
      VecX q, v;
      joint_coordinates(*s.model, bodies, q, v);
      const auto notes = displaced(augmented, s.start, *x);
      if (beyond > 0) {
        ASSERT_FALSE(notes.empty()) << r << " m";
        EXPECT_TRUE(has(notes[0], "joint 's' starts with q = ")) << notes[0];
      } else {
        EXPECT_TRUE(notes.empty()) << r << " m: " << notes[0];
        EXPECT_NEAR(q[slide.q0], s.start.joints.q[slide.q0], 1e-9 * r);
      }
    }
  }
}

// A start that cannot be assembled is refused at the same place, whether a model is checked or a scenario is run that begins with
// the model's [initial]: where the joint stands that does not close.
TEST(LoopStarts, AreRefusedAtOnePlace) {
  Folder folder;
  Random random(seed(10100));
  for (int k = 0; k < cases(4); ++k) {
    ModelSpec spec = slider_crank(1, random.uniform(2, 3));
    JointSpec far = spec.joints[2];
    far.name = "far", far.kind = JointKind::Spherical, far.at_parent.p = {random.uniform(20, 30), 0, 0}, far.cut = true;
    spec.joints.push_back(far);
    write_file(folder / "m.toml", write_model(spec));
    const auto read = read_model_file(folder / "m.toml");
    ASSERT_TRUE(read);
    const Model model = build(*read);
    const auto checked = bodies_at(model, Start(model));
    ASSERT_FALSE(checked);
    const auto s = parse_scenario("model = 'm.toml'\n" + kMethod, folder / "s.toml");
    ASSERT_TRUE(s) << s.error().text();
    const auto refused = run(*s);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what, checked.error().what);
    EXPECT_EQ(refused.error().where, start_place(*read, checked.error().what));
    EXPECT_TRUE(has(refused.error().what, "joint '")) << refused.error().what;
    EXPECT_NE(refused.error().where, start_place(*read)) << "otherwise nothing is tested";
  }
}

// [initial] names the crank at any angle, and nothing else: there it starts, and loops are closed.
TEST(LoopStarts, KeepWhatInitialNames) {
  Random random(seed(9900));
  for (int k = 0; k < cases(40); ++k) {
    const double scale = std::pow(10, random.uniform(-3, 3)), angle = random.uniform(-3, 3);
    ModelSpec spec = crank_rocker(random, scale);
    spec.initial = {{"a", {angle}}};
    Scenario s;
    set_model(s, spec);
    s.start = Start(*s.model);
    const std::string what = fmt::format("case {}, crank at {} rad", k, angle);
    Augmented formulation(*s.model);
    const auto x = state_at(formulation, s.start);
    ASSERT_TRUE(x) << what << ": " << x.error().text();
    Bodies bodies;
    VecX q, v;
    formulation.bodies(*x, bodies);
    joint_coordinates(*s.model, bodies, q, v);
    EXPECT_NEAR(q[0], angle, 1e-9) << what;
    EXPECT_LT(constraint_error(*s.model, bodies, x->wound).position, 1e-9 * std::max(1.0, scale)) << what;
    for (const std::string& note : displaced(formulation, s.start, *x)) ADD_FAILURE() << what << ": " << note;
    // The rocker half a radian from where the loop has it: something gives way, and that is said.
    const int rocker = s.model->joints()[3].q0;
    spec.initial["d"] = {q[rocker] + 0.5};
    const Model contradictory = build(spec);
    Augmented other(contradictory);
    const auto y = state_at(other, Start(contradictory));
    ASSERT_TRUE(y) << what << ": " << y.error().text();
    const auto notes = displaced(other, Start(contradictory), *y);
    ASSERT_FALSE(notes.empty()) << what;
    EXPECT_TRUE(has(notes[0], "as in [initial] of the model")) << notes[0];
  }
}

// [initial] of a model names crank and rocker, the latter a little off, as values that somebody has rounded: one of them is as
// named, and the other one follows it, as far off as the loop turns the difference into. Nothing else moves away.
TEST(LoopStarts, FollowInitialWhereItsValuesAreRounded) {
  Random random(seed(9950));
  int judged = 0;
  for (int k = 0; k < cases(60); ++k) {
    const double scale = std::pow(10, random.uniform(-3, 3)), angle = random.uniform(-3, 3);
    ModelSpec spec = crank_rocker(random, scale);
    spec.initial = {{"a", {angle}}};
    const auto begins = [&](const Model& model, VecX& q, double rate) {
      Start start(model);
      if (rate != 0) {
        start.named.assign(model.joints().size(), false);
        start.named[0] = true;
        start.joints.v[0] = rate;
        start.joints.name(model, start.named);
      }
      Augmented formulation(model);
      const auto x = state_at(formulation, start);
      ASSERT_TRUE(x) << "case " << k << ": " << x.error().text();
      Bodies bodies;
      VecX v;
      formulation.bodies(*x, bodies);
      joint_coordinates(model, bodies, q, v);
      if (rate != 0) q = v;
    };
    const Model model = build(spec);
    ASSERT_EQ(model.joints()[0].name, "a");
    VecX q, v;
    begins(model, q, 0);
    begins(model, v, 1);
    if (HasFatalFailure()) return;
    const Joint& d = model.joints()[3];
    const double ratio = std::abs(v[d.v0] / v[0]);
    if (!(ratio > 0.05 && ratio < 20)) continue;  // beside a dead centre small differences turn into large ones
    const double off = std::pow(10, random.uniform(-6, -3)) * (random.chance(0.5) ? 1 : -1);
    spec.initial["d"] = {q[d.q0] + off};
    VecX at;
    const Model rounded = build(spec);
    begins(rounded, at, 0);
    if (HasFatalFailure()) return;
    const double off_a = std::abs(at[0] - angle), off_d = std::abs(at[d.q0] - q[d.q0] - off);
    EXPECT_LT(std::min(off_a, off_d), 1e-9) << "case " << k;
    EXPECT_LT(std::max(off_a, off_d), 2 * std::abs(off) * std::max(1.0, 1 / ratio) + 1e-9) << "case " << k;
    ++judged;
  }
  EXPECT_GT(judged, cases(60) / 2);
}

// The rocker is named where the loop does not have it with the crank where its drive begins: the drive begins there all the same,
// and what gives way is said, or the start is refused.
TEST(LoopStarts, ThatADriveContradictsAreRefused) {
  Folder folder;
  int refusals = 0;
  Random random(seed(9950));
  for (int k = 0; k < cases(12); ++k) {
    const ModelSpec spec = crank_rocker(random, std::pow(10, random.uniform(-2, 2)));
    write_file(folder / "m.toml", write_model(spec));
    const auto text = [&](const std::string& initial) {
      return "model = 'm.toml'\n" + kMethod + initial +
             "[[drive]]\njoint = 'a'\nsignal = { kind = 'polynomial', coefficients = [0.7, 1.5] }\n";
    };
    const auto fine = parse_scenario(text(""), folder / "s.toml");
    ASSERT_TRUE(fine) << fine.error().text();
    EXPECT_TRUE(check(*fine));
    Augmented formulation(*fine->model);
    Bodies bodies;
    VecX q, v;
    formulation.bodies(*state_at(formulation, fine->start), bodies);
    joint_coordinates(*fine->model, bodies, q, v);
    const double there = q[fine->model->joints()[3].q0];
    const auto initial = [&](double d) { return fmt::format("[initial]\njoints = {{ d = {{ q = [{:.17g}] }} }}\n", d); };
    const auto same = parse_scenario(text(initial(there)), folder / "s.toml");
    ASSERT_TRUE(same) << same.error().text();
    EXPECT_TRUE(check(*same));
    const auto other = parse_scenario(text(initial(there + 0.2)), folder / "s.toml");
    ASSERT_TRUE(other) << other.error().text();
    const auto checked = check(*other);
    if (checked) {
      formulation.bodies(*state_at(formulation, other->start), bodies);
      joint_coordinates(*fine->model, bodies, q, v);
      EXPECT_NEAR(q[0], 0.7, 1e-6);
      EXPECT_NEAR(v[0], 1.5, 1e-6);
      ASSERT_FALSE(checked->notes.empty());
      EXPECT_TRUE(has(checked->notes[0], "joint 'd' starts with q = ")) << checked->notes[0];
      continue;
    }
    ++refusals;
    EXPECT_EQ(checked.error().kind, ErrorKind::State);
    EXPECT_TRUE(has(checked.error().what, "the drive of joint 'a' begins")) << checked.error().what;
    // Where the drive stands: three lines from the end of the file, at its joint.
    EXPECT_TRUE(has(checked.error().where, "s.toml:10:9")) << checked.error().where;
  }
  EXPECT_GE(2 * refusals, cases(12));
}

// A ball or a free body beside the loop, or carrying it, is named with its attitude and rates, and the crank, too: all of it is
// taken as named.
TEST(LoopStarts, KeepAttitudesThatAreNamed) {
  Random random(seed(9960));
  for (int k = 0; k < cases(24); ++k) {
    ModelSpec spec = crank_rocker(random, 1);
    BodySpec bob;
    bob.name = "bob", bob.inertia = solid_box(2, {0.5, 0.4, 0.3});
    spec.bodies.push_back(bob);
    JointSpec j;
    j.name = "J", j.kind = k % 2 == 0 ? JointKind::Spherical : JointKind::Free, j.child = "bob", j.at_child.p = {0, 0.3, 0.4};
    spec.joints.push_back(j);
    if (k % 4 >= 2)
      for (const std::size_t i : {0u, 3u}) spec.joints[i].parent = "bob";
    const Model model = build(spec);
    Start start(model);
    start.named.assign(model.joints().size(), false);
    start.no_rate = start.named;
    const auto ball = static_cast<std::size_t>(*model.find_joint("J")), crank = static_cast<std::size_t>(*model.find_joint("a"));
    start.named[ball] = start.named[crank] = true;
    const Joint& of = model.joints()[ball];
    const Quat q = random_pose(random, 1).q;
    start.joints.q.segment<4>(of.q0 + of.nq - 4) << q.w(), q.x(), q.y(), q.z();
    if (of.kind == JointKind::Free) start.joints.q.segment<3>(of.q0) = random_vector(random, 2);
    for (int i = 0; i < of.nv; ++i) start.joints.v[of.v0 + i] = random.uniform(-2, 2);
    start.joints.q[model.joints()[crank].q0] = random.uniform(-2, 2);
    start.joints.v[model.joints()[crank].v0] = random.uniform(-2, 2);
    start.joints.name(model, start.named);
    Augmented formulation(model);
    const auto x = state_at(formulation, start);
    ASSERT_TRUE(x) << k << ": " << x.error().text();
    for (const std::string& note : displaced(formulation, start, *x)) ADD_FAILURE() << k << ": " << note;
    Bodies bodies;
    VecX at, v;
    formulation.bodies(*x, bodies);
    joint_coordinates(model, bodies, at, v);
    EXPECT_GT(std::abs(at.segment<4>(of.q0 + of.nq - 4).dot(start.joints.q.segment<4>(of.q0 + of.nq - 4))), 1 - 1e-14) << k;
    EXPECT_LT((v.segment(of.v0, of.nv) - start.joints.v.segment(of.v0, of.nv)).norm(), 1e-9) << k;
    EXPECT_NEAR(v[model.joints()[crank].v0], start.joints.v[model.joints()[crank].v0], 1e-9) << k;
    if (of.kind == JointKind::Free) {
      EXPECT_LT((at.segment<3>(of.q0) - start.joints.q.segment<3>(of.q0)).norm(), 1e-9) << k;
    }
  }
}

}  // namespace
}  // namespace invar::testing
