// SPDX-License-Identifier: Apache-2.0
//
// Minimal coordinates at branches, dead points, singular configurations and stops: whatever the step, a motion stays on its
// branch or ends with a status; coordinates that are used up are exchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/run/run.hpp"
#include "support/march.hpp"
#include "support/outcome.hpp"
#include "support/places.hpp"
#include "support/recorded.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Lengths of crank, coupler, rocker and ground, m. The crank of the first two turns fully, that of the third does not.
using Lengths = std::array<double, 4>;
constexpr Lengths kCrankRocker = {0.4, 0.9, 0.8, 1.0}, kLongCrank = {0.9, 1.0, 1.05, 1.1}, kDoubleRocker = {0.5, 0.5, 0.6, 0.45};

/// In the x-z plane, hinges about -y. The two ways to assemble it (`side` of the line from the crank's pin to the rocker's) never
/// meet.
ModelSpec four_bar(const Lengths& l, int side, const std::string& independent) {
  const double at = 1.0;
  const char* names[3] = {"crank", "coupler", "rocker"};
  ModelSpec spec;
  for (std::size_t i = 0; i < 3; ++i) {
    BodySpec body;
    body.name = names[i], body.inertia = solid_box(1, {l[i], 0.05, 0.05}), body.inertia.p_BC = {0.5 * l[i], 0, 0};
    spec.bodies.push_back(body);
  }
  const auto hinge = [&](const char* name, const char* parent, const char* child, double on_parent, double on_child, double q) {
    JointSpec joint;
    joint.name = name, joint.kind = JointKind::Revolute, joint.parent = parent, joint.child = child;
    joint.at_parent.p = {on_parent, 0, 0}, joint.at_child.p = {on_child, 0, 0}, joint.axis = -Vec3::UnitY();
    joint.cut = joint.name == "knee", joint.independent = joint.name == independent;
    spec.joints.push_back(joint);
    spec.initial[name] = {q};
  };
  // From the crank's pin: the rocker's pin is at the distance d in the direction `line`, the coupler's end `corner` beside it.
  const double x = l[3] - l[0] * std::cos(at), z = -l[0] * std::sin(at), d = std::hypot(x, z), line = std::atan2(z, x);
  const double corner = std::acos((d * d + l[1] * l[1] - l[2] * l[2]) / (2 * d * l[1])), coupler = line + side * corner;
  const double rocker = std::atan2(l[1] * std::sin(coupler) - z, l[1] * std::cos(coupler) - x);
  hinge("crank", "world", "crank", 0, 0, at);
  hinge("pin", "crank", "coupler", l[0], 0, coupler - at);
  hinge("rocker", "world", "rocker", l[3], 0, rocker);
  hinge("knee", "coupler", "rocker", l[1], l[2], rocker - coupler);
  return spec;
}

/// The start of the model with one joint moving, and what closes loops with it.
Start thrown(const Model& model, const std::string& joint, double rate) {
  Start start(model);
  start.named.assign(model.joints().size(), false);
  for (std::size_t j = 0; j < model.joints().size(); ++j)
    if (model.joints()[j].name == joint) start.named[j] = true, start.joints.v[model.joints()[j].v0] = rate;
  return start;
}

Vec3 along(const Bodies& bodies, std::size_t b) { return bodies[b].q_WB * Vec3::UnitX(); }

/// Positive where the second link lies to one side of the first, seen along y.
double side_of(const Bodies& bodies, std::size_t first, std::size_t second) {
  return along(bodies, first).cross(along(bodies, second)).y();
}

/// How often runs came to their end, and how often they said that they could not.
struct Tried {
  int finished = 0, singular = 0, otherwise = 0;
};

/// Goes on for two seconds; `stays(bodies)` must hold after every step that is done.
template <class Stays>
void throw_it(const ModelSpec& spec, const Model& model, const std::string& joint, double rate, double h, Tried& tried,
              Stays&& stays) {
  const std::string what = joint + " at " + std::to_string(rate) + " rad/s, step " + std::to_string(h);
  Minimal minimal(model);
  System system(minimal);
  const auto start = bodies_at(model, thrown(model, joint, rate));
  ASSERT_TRUE(start) << start.error().text();
  State x;
  minimal.set(*start, x);
  bool stayed = true;
  const auto rk4 = std::move(*make_integrator("rk4"));
  const March m = march(spec, system, *rk4, 0, 2, h, x, [&](double t, double) {
    Bodies bodies;
    minimal.bodies(x, bodies);
    if (stayed && !stays(bodies)) stayed = false, ADD_FAILURE() << what << ": another branch after t = " << t;
  });
  if (m.verdict.ok()) {
    ++tried.finished;
    return;
  }
  ++(m.verdict.status == Status::Singular ? tried.singular : tried.otherwise);
  EXPECT_TRUE(m.verdict.status == Status::Singular || m.verdict.status == Status::NotConverged ||
              m.verdict.status == Status::StepTooLarge)
      << what << ": " << name(m.verdict.status);
}

// Steps of up to three turns of the crank: Newton's method lands anywhere. The sine between coupler and rocker has one sign on
// each of the two branches of a crank-rocker.
TEST(Branches, FourBarStaysOnItsOwnWhateverTheStepOrSaysThatItCannot) {
  Tried tried;
  for (const int side : {1, -1})
    for (const char* independent : {"", "crank"}) {
      const ModelSpec spec = four_bar(kCrankRocker, side, independent);
      const Model model = build(spec);
      const double sign = side_of(place(model, JointState::initial(model)), 1, 2);
      for (const double rate : {2.0, -7.0, 15.0, 40.0, -90.0})
        for (const double h : {0.002, 0.01, 0.03, 0.07, 0.2})
          throw_it(spec, model, "crank", rate, h, tried, [&](const Bodies& bodies) { return side_of(bodies, 1, 2) * sign > 0; });
    }
  EXPECT_GT(tried.finished, 20);
  EXPECT_GT(tried.singular, 5);
}

// Lying flat is where parallelogram and antiparallelogram meet: steps that resolve it pass on their branch, longer ones end with
// a status. Cranks are parallel up to rounding over the sine of their angle to the ground, 1e-13 with a safe factor. Next to the
// flat position, too: all joint angles are those of the crank there, so that the branch is straight in them, the complement of
// its tangent constant, and what replaces the rows exact; rounding enters over the sine of the nodes, 0.05 at least. On the other
// branch cranks would differ by twice the sine.
TEST(Branches, ParallelogramNeverBecomesAnAntiparallelogram) {
  ModelSpec spec = *read_model_file(source_path("models/parallelogram.toml"));
  Tried tried;
  for (const double theta : {-1.2, 0.5}) {
    spec.initial = {{"a", {-theta}}, {"b", {theta}}, {"c", {theta}}, {"d", {-theta}}};
    const Model model = build(spec);
    for (const double rate : {0.0, 0.7, -1.3, 5.0, -12.0, 35.0, 80.0})
      for (const double h : {0.001, 0.01, 0.03, 0.07, 0.2})
        throw_it(spec, model, "a", rate, h, tried, [&](const Bodies& bodies) {
          const double sine = std::max(0.05, std::abs(side_of(bodies, 1, 2)));
          return (along(bodies, 0) - along(bodies, 2)).norm() * sine < 1e-12;
        });
  }
  EXPECT_GT(tried.finished, 20);
  EXPECT_GT(tried.singular + tried.otherwise, 8) << "steps of more than half a radian";
}

/// Keeps one number of every sample.
class Seen final : public Sink {
 public:
  explicit Seen(std::string path) : path_(std::move(path)) {}
  Result<void> begin(const Layout& layout) override {
    for (std::size_t at = 0; const Channel& c : layout.channels) {
      if (c.path == path_) place_ = at;
      at += static_cast<std::size_t>(c.size);
    }
    return {};
  }
  Result<void> sample(std::span<const double> row) override { return values.push_back(row[place_]), Result<void>{}; }
  Result<void> end() override { return {}; }

  std::vector<double> values;

 private:
  std::string path_;
  std::size_t place_ = 0;
};

Scenario turning(const Lengths& l, const std::string& independent, double rate, double step, double end) {
  Scenario s;
  s.spec = std::make_shared<const ModelSpec>(four_bar(l, 1, independent));
  s.model = std::make_shared<const Model>(build(*s.spec));
  s.start = thrown(*s.model, "crank", rate);
  s.method.formulation = "minimal", s.method.integrator = "rk4", s.method.step = step;
  s.end_time = end;
  return s;
}

Outcome outcome_of(const Scenario& s, Sink* sink = nullptr) {
  const Result<Outcome> outcome = judged_run(s, sink);
  if (!outcome) ADD_FAILURE() << outcome.error().text();
  return outcome ? *outcome : Outcome{};
}

// The angle between crank and coupler, chosen at the start, turns back where a long crank has gone round; the crank serves from
// then on. With other lengths nothing turns fully and no coordinate serves everywhere. Links turn at 30 rad/s or less; where
// others move ten times as fast as the coordinates errors are those of 300 rad/s, for a twentieth of the time: (w h)⁵/120 over
// 500 steps of 0.2 ms is 3e-6 of the energy at worst.
TEST(Charts, AreChangedWhereTheyEndAndTheMotionGoesOn) {
  for (const auto& [lengths, least_changes] : {std::pair{kLongCrank, 1}, {kDoubleRocker, 4}}) {
    Seen crank("joints/crank/q");
    const Outcome out = outcome_of(turning(lengths, "", 12, 2e-4, 2), &crank);
    ASSERT_EQ(out.end, Outcome::End::Finished) << out.words;
    int changes = 0;
    for (const std::string& note : out.notes) {
      if (!has(note, "independent coordinates are now ")) continue;
      const std::size_t times = note.find(" times, first at ");  // repetitions are counted in one sentence
      changes += times == std::string::npos ? 1 : std::stoi(note.substr(note.rfind(' ', times - 1)));
    }
    EXPECT_GE(changes, least_changes);
    EXPECT_LT(metric(out, "energy_drift"), 3e-6 * metric(out, "kinetic_max"));
    // All positions: the sum of what the crank turns from sample to sample.
    double turned = 0;
    for (std::size_t k = 1; k < crank.values.size(); ++k)
      turned += std::remainder(crank.values[k] - crank.values[k - 1], 2 * std::numbers::pi);
    EXPECT_TRUE(lengths != kLongCrank || turned > 4 * std::numbers::pi) << turned;
  }
}

TEST(Charts, OfNamedCoordinatesThatServeEverywhereStay) {
  const Outcome out = outcome_of(turning(kCrankRocker, "crank", 12, 1e-3, 1));
  EXPECT_EQ(out.end, Outcome::End::Finished) << out.words;
  EXPECT_TRUE(out.notes.empty()) << out.notes[0];
}

// The rocker turns back where crank and coupler are in line: it cannot tell there in which of two ways they go on. Others take
// over before, and the crank goes round.
TEST(Charts, OfNamedCoordinatesThatTurnBackAreLeftInTime) {
  for (const double step : {1e-2, 1e-3, 1e-4}) {
    Seen crank("joints/crank/q");
    const Outcome out = outcome_of(turning(kCrankRocker, "rocker", 6, step, 2), &crank);
    ASSERT_EQ(out.end, Outcome::End::Finished) << step << ": " << out.words;
    ASSERT_FALSE(out.notes.empty()) << step;
    EXPECT_TRUE(has(out.notes.front(), "independent coordinates are now ")) << out.notes.front();
    double turned = 0;
    for (std::size_t k = 1; k < crank.values.size(); ++k)
      turned += std::remainder(crank.values[k] - crank.values[k - 1], 2 * std::numbers::pi);
    EXPECT_GT(turned, 2 * std::numbers::pi) << step;
    // Links turn at 15 rad/s or less: (w h)⁵/60 of the energies at every step, and (4 w h)⁵/120 in those (20) before a coordinate
    // is left, where others move up to four times as fast as it does.
    const double share = 2 / step * std::pow(15 * step, 5) / 60 + 20 * std::pow(60 * step, 5) / 120 + 1e-9;
    EXPECT_LT(metric(out, "energy_drift"), share * metric(out, "kinetic_max")) << step;
  }
}

// Paper B's manipulator falls until its cylinder is at its end, in every view of it; steps end within 1e-3 s beyond.
TEST(Stops, EndARunIfItSaysSo) {
  const auto read = read_scenario_file(source_path("scenarios/series_parallel.toml"));
  ASSERT_TRUE(read) << read.error().text();
  for (const char* formulation : {"augmented", "natural", "minimal"}) {
    Scenario s = *read;
    s.laws.clear();
    s.method.formulation = formulation;
    EXPECT_EQ(outcome_of(s).end, Outcome::End::Finished) << formulation;
    s.end_at_stops = true;
    Seen time("time"), delta("joints/delta/q");
    const Outcome out = outcome_of(s, &delta);
    outcome_of(s, &time);
    ASSERT_EQ(out.end, Outcome::End::Failed) << formulation;
    EXPECT_EQ(out.verdict.status, Status::JointStop) << formulation;
    EXPECT_TRUE(has(out.words, "a stop was reached at joint 'delta'")) << out.words;
    ASSERT_FALSE(out.notes.empty());
    EXPECT_TRUE(has(out.notes.back(), "joint 'delta' reached its ")) << out.notes.back();
    // The last sample is the first one at or beyond the limits 0 and 0.2 m.
    const double last = delta.values.back(), before = delta.values[delta.values.size() - 2];
    EXPECT_TRUE(last <= 0 || last >= 0.2) << last;
    EXPECT_TRUE(before > 0 && before < 0.2) << before;
    EXPECT_LT(time.values.back(), 1.5) << formulation;
  }
}

TEST(Stops, AreReadFromScenarioFiles) {
  const std::string text = "model = '" + source_path("models/series_parallel_plant.toml") +
                           "'\n[integrator]\nmethod = 'rk4'\nstep = 1e-3\n[time]\nend = 1\n";
  EXPECT_FALSE(parse_scenario(text, "s.toml")->end_at_stops);
  EXPECT_FALSE(parse_scenario(text + "stops = 'push'\n", "s.toml")->end_at_stops);
  EXPECT_TRUE(parse_scenario(text + "stops = 'end'\n", "s.toml")->end_at_stops);
  const auto refused = parse_scenario(text + "stops = 'stop'\n", "s.toml");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(has(refused.error().text(), "neither \"push\" nor \"end\"")) << refused.error().text();
}

// Through the flat position, where both branches meet, and away from it: the sides of a parallelogram stay parallel, so opposite
// cranks have one angle. [initial] has them at -0.5; a start that names one of them travels from there.
TEST(Branch, OfAStartIsThatOfInitial) {
  const Model model = std::move(*Model::build(*read_model_file(source_path("models/parallelogram.toml"))));
  const auto a = static_cast<std::size_t>(*model.find_joint("a")), d = static_cast<std::size_t>(*model.find_joint("d"));
  for (const double angle : {-2.0, -1.2, -0.1, 0.1, 0.8, 1.2, 2.0}) {
    Start start(model);
    start.named.assign(model.joints().size(), false);
    start.named[a] = true;
    start.joints.q[model.joints()[a].q0] = angle;
    start.joints.name(model, start.named);
    Minimal minimal(model);
    const auto x = state_at(minimal, start);
    ASSERT_TRUE(x) << angle;
    Bodies bodies;
    minimal.bodies(*x, bodies);
    VecX q, v;
    joint_coordinates(model, bodies, q, v);
    EXPECT_NEAR(q[model.joints()[a].q0], angle, 1e-12);
    EXPECT_NEAR(q[model.joints()[d].q0], angle, 1e-9) << angle;
  }
}

}  // namespace
}  // namespace invar::testing
