// SPDX-License-Identifier: Apache-2.0
//
// Starts of mechanisms with several loops, of couplings over many turns, and of what stands beside loops: what nobody names
// stays, every loop is where it is named, and no turn breaks a coupling.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "invar/io/model_file.hpp"
#include "invar/mech/kinematics.hpp"
#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/folder.hpp"
#include "support/linkages.hpp"
#include "support/outcome.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// Newton's method leaves 1e-9 of metres and radians at most.
constexpr double kClosed = 1e-9;

struct Begun {
  VecX q, v;
  std::vector<std::string> notes;
  double coupling = 0;  // the largest residual
};

/// Where a start begins: coordinates on their turns, what gave way, how well couplings hold.
std::optional<Begun> begun(const Model& model, const Start& start, const std::string& what) {
  Augmented formulation(model);
  const auto x = state_at(formulation, start);
  if (!x) {
    ADD_FAILURE() << what << ": " << x.error().text();
    return {};
  }
  Begun out;
  Bodies bodies;
  formulation.bodies(*x, bodies);
  joint_coordinates(model, bodies, out.q, out.v);
  unwind(model, x->wound, out.q);
  out.notes = displaced(formulation, start, *x);
  for (int c = 0; c < static_cast<int>(model.couplings().size()); ++c)
    out.coupling = std::max(out.coupling, std::abs(coupling_residual(model, c, out.q)));
  EXPECT_LT(constraint_error(model, bodies, x->wound).position, kClosed) << what;
  return out;
}

const Joint& joint_of(const Model& model, const std::string& name) {
  return model.joints()[static_cast<std::size_t>(*model.find_joint(name))];
}

/// A start that names joints by their places, each with one coordinate.
Start named(const Model& model, const std::vector<std::pair<std::string, double>>& places) {
  Start start(model);
  start.named.assign(model.joints().size(), false);
  start.no_rate = start.no_place = start.named;
  for (const auto& [name, q] : places) {
    const auto j = static_cast<std::size_t>(*model.find_joint(name));
    start.named[j] = start.no_rate[j] = true;
    start.joints.q[model.joints()[j].q0] = q;
  }
  start.joints.name(model, start.named);
  return start;
}

void name_rate(const Model& model, const std::string& name, double v, Start& start) {
  const auto j = static_cast<std::size_t>(*model.find_joint(name));
  start.named[j] = start.no_place[j] = true;
  start.no_rate[j] = false;
  start.joints.v[model.joints()[j].v0] = v;
  start.joints.name(model, start.named);
}

BodySpec disc(const std::string& name, double size = 0.2) {
  BodySpec body;
  body.name = name, body.inertia = solid_box(1, {size, size, 0.3 * size}), body.inertia.p_BC = {0.3 * size, 0, 0};
  return body;
}

JointSpec hinge(const std::string& name, const std::string& parent, const std::string& child, const Vec3& at) {
  JointSpec joint;
  joint.name = name, joint.kind = JointKind::Revolute, joint.parent = parent, joint.child = child, joint.at_parent.p = at;
  return joint;
}

/// A four-bar on `ground`, with names of its own.
void add_four_bar(Random& random, const std::string& suffix, const std::string& ground, ModelSpec& spec) {
  ModelSpec one = crank_rocker(random, 1);
  for (BodySpec& b : one.bodies) b.name += suffix, spec.bodies.push_back(b);
  for (JointSpec& j : one.joints) {
    j.name += suffix, j.child += suffix;
    j.parent = j.parent == "world" ? ground : j.parent + suffix;
    spec.joints.push_back(j);
  }
}

// Several four-bars, each of whose cranks is named together with the angle between coupler and rocker, on a drawn branch. Every
// one is as named, however many there are, on the ground or on one table that swings. Hinges that nobody names stay at zero: of a
// pendulum beside them, of one that hangs on a rocker, of the table.
TEST(StartParts, AreEachOnTheBranchThatIsNamed) {
  int others = 0;
  for (int k = 0; k < cases(12); ++k) {
    Random random(seed(12100) + static_cast<std::uint64_t>(k));
    const int loops = 1 + k % 12;
    const bool together = k % 2 == 1;
    ModelSpec spec;
    spec.bodies.push_back(disc("table", 1));
    spec.joints.push_back(hinge("table", "world", "table", {0, 0.1, 0}));
    for (int i = 0; i < loops; ++i) add_four_bar(random, std::to_string(i), together ? "table" : "world", spec);
    for (int i = 0; i < loops; ++i) spec.initial["a" + std::to_string(i)] = {random.uniform(-3, 3)};
    for (const char* name : {"beside", "on"}) spec.bodies.push_back(disc(name));
    spec.joints.push_back(hinge("beside", "world", "beside", {0, 0, 2}));
    spec.joints.push_back(hinge("on", "rocker0", "on", {0.3, 0, 0.2}));
    const std::string what = fmt::format("{} loops", loops);
    const Model cranks = build(spec);
    const auto one_way = begun(cranks, Start(cranks), what);
    ASSERT_TRUE(one_way);
    for (int i = 0; i < loops; ++i) {
      const std::string c = "c" + std::to_string(i);
      const bool other = random.chance(0.5);
      others += other ? 1 : 0;
      spec.initial[c] = {one_way->q[joint_of(cranks, c).q0] * (other ? -1 : 1)};
    }
    const Model model = build(spec);
    const auto begins = begun(model, Start(model), what);
    ASSERT_TRUE(begins);
    for (const std::string& note : begins->notes) ADD_FAILURE() << what << ": " << note;
    for (const auto& [name, q] : spec.initial)
      EXPECT_NEAR(begins->q[joint_of(model, name).q0], q[0], 1e-8) << what << ", joint " << name;
    for (const char* name : {"beside", "on", "table"})
      EXPECT_NEAR(begins->q[joint_of(model, name).q0], 0, 1e-11) << what << ", joint " << name;
  }
  EXPECT_GT(others, cases(12) / 2);
}

// Crank and coupler angle contradict each other: one of them is as named, exactly, and the loop is on the branch that is meant.
TEST(StartParts, TakeOneOfTwoNamesThatContradictEachOther) {
  int judged = 0;
  for (int k = 0; k < cases(40); ++k) {
    Random random(seed(12200) + static_cast<std::uint64_t>(k));
    ModelSpec spec = crank_rocker(random, 1);
    const double angle = random.uniform(-3, 3);
    spec.initial = {{"a", {angle}}};
    const std::string what = fmt::format("case {}", k);
    const Model crank = build(spec);
    const auto there = begun(crank, Start(crank), what);
    ASSERT_TRUE(there);
    const double side = random.chance(0.5) ? 1 : -1, c = side * there->q[joint_of(crank, "c").q0];
    if (std::abs(c) < 0.4 || std::abs(c) > 2.7) continue;  // where the branches are near each other
    ++judged;
    spec.initial["c"] = {c + random.uniform(0.02, 0.1) * (random.chance(0.5) ? 1 : -1)};
    const Model model = build(spec);
    const auto begins = begun(model, Start(model), what);
    ASSERT_TRUE(begins);
    const double off_a = std::abs(begins->q[joint_of(model, "a").q0] - angle),
                 off_c = std::abs(begins->q[joint_of(model, "c").q0] - spec.initial["c"][0]);
    EXPECT_LT(std::min(off_a, off_c), 1e-8) << what;
    EXPECT_GT(begins->q[joint_of(model, "c").q0] * c, 0) << what;
    EXPECT_FALSE(begins->notes.empty()) << what;
  }
  EXPECT_GT(judged, cases(40) / 2);
}

// [initial] names the crank and the branch, the start nothing but a rate: of the crank, or of the rocker, which [initial] does
// not name. All of it is where [initial] has it.
TEST(StartParts, ThatNameRatesOnlyAreWhereInitialIs) {
  int judged = 0;
  for (int k = 0; k < cases(24); ++k) {
    Random random(seed(12300) + static_cast<std::uint64_t>(k));
    ModelSpec spec = crank_rocker(random, 1);
    spec.initial = {{"a", {random.uniform(-3, 3)}}};
    const std::string what = fmt::format("case {}", k);
    const Model crank = build(spec);
    const auto there = begun(crank, Start(crank), what);
    ASSERT_TRUE(there);
    spec.initial["c"] = {(random.chance(0.5) ? 1 : -1) * there->q[joint_of(crank, "c").q0]};
    const Model model = build(spec);
    const auto initial = begun(model, Start(model), what);
    Start turning = named(model, {});
    name_rate(model, "a", 1, turning);
    const auto turns = begun(model, turning, what);
    ASSERT_TRUE(initial && turns);
    EXPECT_TRUE(turns->notes.empty()) << what << ": " << turns->notes[0];
    EXPECT_LT((turns->q - initial->q).lpNorm<Eigen::Infinity>(), 1e-8) << what;
    const double ratio = turns->v[joint_of(model, "d").v0], rate = random.uniform(-1, 1);
    if (std::abs(ratio) < 0.05) continue;  // beside a dead centre
    ++judged;
    Start rocking = named(model, {});
    name_rate(model, "d", rate, rocking);
    const auto rocks = begun(model, rocking, what);
    ASSERT_TRUE(rocks);
    EXPECT_TRUE(rocks->notes.empty()) << what << ": " << rocks->notes[0];
    EXPECT_LT((rocks->q - initial->q).lpNorm<Eigen::Infinity>(), 1e-8) << what;
    EXPECT_NEAR(rocks->v[joint_of(model, "a").v0], rate / ratio, 1e-7 / std::abs(ratio)) << what;
  }
  EXPECT_GT(judged, cases(24) / 2);
}

// A wheel that a joint of the loop drives, many turns to one; or that drives it. The crank is named up to a radian from
// [initial], which names the wheel, too, or leaves it to the coupling. The wheel goes along, as many turns as it takes.
TEST(StartParts, OfCouplingsTurnAsOftenAsTheyMust) {
  int turned = 0;
  for (int k = 0; k < cases(32); ++k) {
    Random random(seed(12400) + static_cast<std::uint64_t>(k));
    ModelSpec spec = crank_rocker(random, 1);
    spec.initial = {{"a", {random.uniform(-3, 3)}}};
    const std::string what = fmt::format("case {}", k);
    const Model crank = build(spec);
    const auto there = begun(crank, Start(crank), what);
    ASSERT_TRUE(there);
    for (const char* name : {"b", "c", "d"}) spec.initial[name] = {there->q[joint_of(crank, name).q0]};
    const double ratio = random.uniform(20, 60) * (random.chance(0.5) ? 1 : -1), d = spec.initial["d"][0];
    spec.bodies.push_back(disc("wheel"));
    spec.joints.push_back(hinge("w", "world", "wheel", {0, 0, 2}));
    CouplingSpec gear;
    gear.name = "gear", gear.joint = "w", gear.of = "d", gear.coefficients = {-ratio * d, ratio};
    if (k % 4 >= 2) gear.joint = "d", gear.of = "w", gear.coefficients = {d, 1 / ratio};
    spec.couplings = {gear};
    if (k % 2 == 0) spec.initial["w"] = {0};
    const Model model = build(spec);
    const double angle = spec.initial["a"][0] + random.uniform(-1, 1);
    const auto begins = begun(model, named(model, {{"a", angle}}), what);
    ASSERT_TRUE(begins);
    for (const std::string& note : begins->notes) ADD_FAILURE() << what << ": " << note;
    EXPECT_NEAR(begins->q[joint_of(model, "a").q0], angle, 1e-8) << what;
    EXPECT_LT(begins->coupling, std::abs(ratio) * kClosed) << what;
    const double w = begins->q[joint_of(model, "w").q0];
    EXPECT_NEAR(w, ratio * (begins->q[joint_of(model, "d").q0] - d), std::abs(ratio) * kClosed) << what;
    turned += std::abs(w) > std::numbers::pi ? 1 : 0;
  }
  EXPECT_GT(turned, cases(32) / 8) << "otherwise nothing is tested";
}

/// Two hinges, the second of which the first one drives.
ModelSpec geared(const std::vector<double>& polynomial) {
  ModelSpec spec;
  spec.bodies = {disc("a"), disc("b")};
  spec.joints = {hinge("a", "world", "a", {0, 0, 0}), hinge("b", "world", "b", {1, 0, 0})};
  CouplingSpec gear;
  gear.name = "gear", gear.joint = "b", gear.of = "a", gear.coefficients = polynomial;
  spec.couplings = {gear};
  return spec;
}

// [initial] names the driving joint, the start the driven one, as far away as it likes: the driving one goes along.
TEST(StartParts, MoveTheDrivingJointThatInitialNames) {
  for (int k = 0; k < cases(24); ++k) {
    Random random(seed(12500) + static_cast<std::uint64_t>(k));
    const double ratio = random.uniform(0.05, 3) * (random.chance(0.5) ? 1 : -1), b = random.uniform(-10, 10);
    ModelSpec spec = geared({random.uniform(-1, 1), ratio});
    spec.initial = {{"a", {random.uniform(-8, 8)}}};
    const Model model = build(spec);
    const std::string what = fmt::format("case {}, ratio {}, b = {}", k, ratio, b);
    const auto begins = begun(model, named(model, {{"b", b}}), what);
    ASSERT_TRUE(begins);
    for (const std::string& note : begins->notes) ADD_FAILURE() << what << ": " << note;
    EXPECT_NEAR(begins->q[1], b, 1e-8) << what;
    EXPECT_NEAR(begins->q[0], (b - spec.couplings[0].coefficients[0]) / ratio, 1e-8 / std::abs(ratio)) << what;
  }
}

// A driven joint that is named whole turns from where the driving one, which is named, too, puts it gives way, and that is said.
TEST(StartParts, GiveWayWhereTheirTurnsBreakACoupling) {
  for (int k = 0; k < cases(24); ++k) {
    Random random(seed(12600) + static_cast<std::uint64_t>(k));
    const double ratio = random.uniform(0.05, 0.3), a = random.uniform(-1, 1);
    const Model model = build(geared({0, ratio}));
    const int turns = 1 + random.below(3);
    const std::string what = fmt::format("case {}, {} turns", k, turns);
    const double b = ratio * a + (random.chance(0.5) ? 1 : -1) * turns * 2 * std::numbers::pi;
    const auto begins = begun(model, named(model, {{"a", a}, {"b", b}}), what);
    ASSERT_TRUE(begins);
    EXPECT_LT(begins->coupling, kClosed) << what;
    EXPECT_FALSE(begins->notes.empty()) << what;
  }
}

// b = c a^n is level where the driving joint is at zero, and [initial] leaves it there. b is named all the same.
TEST(StartParts, LeaveLevelPlacesOfACoupling) {
  for (int k = 0; k < cases(24); ++k) {
    Random random(seed(12700) + static_cast<std::uint64_t>(k));
    const int n = 2 + k % 2;
    const double c = std::pow(10, random.uniform(-1, 1)), a = random.uniform(0.2, 2.5), b = c * std::pow(a, n);
    std::vector<double> polynomial(static_cast<std::size_t>(n) + 1, 0.0);
    polynomial.back() = c;
    ModelSpec spec = geared(polynomial);
    if (k % 4 >= 2) spec.initial = {{"a", {0}}};
    const Model model = build(spec);
    const std::string what = fmt::format("case {}, b = {}", k, b);
    const auto begins = begun(model, named(model, {{"b", b}}), what);
    ASSERT_TRUE(begins);
    for (const std::string& note : begins->notes) ADD_FAILURE() << what << ": " << note;
    EXPECT_NEAR(begins->q[1], b, 1e-8 * (1 + b)) << what;
    EXPECT_NEAR(std::abs(begins->q[0]), a, 1e-8) << what;
  }
}

// A free body or a ball that carries the loop, or stands beside it, is all that a start names: the loop is as in [initial].
TEST(StartParts, KeepLoopsWhereOnlyAttitudesAreNamed) {
  for (int k = 0; k < cases(24); ++k) {
    Random random(seed(12800) + static_cast<std::uint64_t>(k));
    ModelSpec spec = crank_rocker(random, 1);
    spec.bodies.push_back(disc("base", 1));
    JointSpec j;
    j.name = "J", j.kind = k % 2 == 0 ? JointKind::Free : JointKind::Spherical, j.child = "base";
    spec.joints.push_back(j);
    if (k % 4 >= 2)
      for (const std::size_t i : {0u, 3u}) spec.joints[i].parent = "base";
    const double angle = random.uniform(-3, 3);
    spec.initial = {{"a", {angle}}};
    const Model model = build(spec);
    Start start = named(model, {});
    const auto at = static_cast<std::size_t>(*model.find_joint("J"));
    const Joint& joint = model.joints()[at];
    start.named[at] = start.no_rate[at] = true;
    const Quat turn = random_pose(random, 1).q;
    start.joints.q.segment<4>(joint.q0 + joint.nq - 4) << turn.w(), turn.x(), turn.y(), turn.z();
    if (joint.kind == JointKind::Free) start.joints.q.segment<3>(joint.q0) = random_vector(random, 2);
    start.joints.name(model, start.named);
    const std::string what = fmt::format("case {}", k);
    const auto begins = begun(model, start, what);
    ASSERT_TRUE(begins);
    for (const std::string& note : begins->notes) ADD_FAILURE() << what << ": " << note;
    EXPECT_NEAR(begins->q[joint_of(model, "a").q0], angle, 1e-8) << what;
  }
}

// A drive names one of the two freedoms of a joint, both of which a slide drives, every other time by a square that is level
// where the slide begins: the other freedom and the slide go along, however many turns it takes.
TEST(StartParts, LetTheOtherFreedomOfADrivenJointFollowItsCoupling) {
  Folder folder;
  for (int k = 0; k < cases(12); ++k) {
    Random random(seed(12900) + static_cast<std::uint64_t>(k));
    const double fast = random.uniform(5, 80), slow = random.uniform(0.5, 2), b = random.uniform(0.1, 0.5);
    const bool square = k % 2 == 1;
    const double at = slow * (square ? b * b : b);
    ModelSpec spec;
    spec.bodies = {disc("a"), disc("b")};
    spec.joints = {hinge("a", "world", "a", {0, 0, 0}), hinge("b", "world", "b", {1, 0, 0})};
    spec.joints[0].kind = JointKind::Cylindrical, spec.joints[1].kind = JointKind::Prismatic;
    for (const int freedom : {0, 1}) {
      CouplingSpec c;
      c.name = "c" + std::to_string(freedom), c.joint = "a", c.freedom = freedom, c.of = "b";
      c.coefficients = {0, freedom == 0 ? fast : slow};
      if (square && freedom == 1) c.coefficients = {0, 0, slow};
      spec.couplings.push_back(c);
    }
    write_file(folder / "m.toml", write_model(spec));
    const auto s = parse_scenario(
        fmt::format("model = 'm.toml'\n[integrator]\nmethod = 'rk4'\nstep = 1e-3\n[time]\nend = 0.01\n[[drive]]\njoint = 'a'\n"
                    "freedom = 1\nsignal = {{ kind = 'constant', value = {:.17g} }}\n",
                    at),
        folder / "s.toml");
    ASSERT_TRUE(s) << s.error().text();
    const std::string what = fmt::format("case {}, {} rad/m", k, fast);
    const auto begins = begun(*s->model, s->start, what);
    ASSERT_TRUE(begins);
    EXPECT_NEAR(begins->q[1], at, 1e-9) << what;
    EXPECT_NEAR(square ? std::abs(begins->q[2]) : begins->q[2], b, 1e-8) << what;
    EXPECT_NEAR(begins->q[0], fast * begins->q[2], 1e-7) << what;
  }
}

}  // namespace
}  // namespace invar::testing
