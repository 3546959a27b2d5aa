// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "invar/io/scenario_file.hpp"
#include "support/places.hpp"

namespace invar {
namespace {

// Scenarios are read as if they lay in scenarios/, so that "../models" is where it should be.
const std::string kPath = testing::source_path("scenarios/test.toml");

std::string scenario(const std::string& rest, const std::string& integrator = "method = 'rk4'\nstep = 0.01\n") {
  return "model = '../models/pendulum.toml'\n" + rest + "\n[integrator]\n" + integrator;
}

const std::string kTime = "[time]\nend = 2\n";

TEST(ScenarioFile, SmallestScenarioTakesDefaults) {
  auto s = parse_scenario(scenario(kTime), kPath);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(s->name, "test") << "that of the file";
  EXPECT_EQ(s->method.formulation, "augmented");
  EXPECT_TRUE(s->method.project);
  EXPECT_EQ(s->method.step, 0.01);
  EXPECT_EQ(s->start_time, 0);
  EXPECT_EQ(s->end_time, 2);
  EXPECT_EQ(s->sampling.steps, 1);
  EXPECT_TRUE(s->laws.empty());
  EXPECT_EQ(s->model->name(), "pendulum");
  EXPECT_EQ(s->start.joints.q[0], 0.5) << "the model's [initial]";
}

TEST(ScenarioFile, DrivenJointsStartWhereTheirDrivesDo) {
  auto s = parse_scenario(scenario("[time]\nstart = 1\nend = 2\n[[drive]]\njoint = 'hinge'\n"
                                   "signal = { kind = 'polynomial', coefficients = [0.1, 2] }\n"),
                          kPath);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(s->start.joints.q[0], 2.1);
  EXPECT_EQ(s->start.joints.v[0], 2);
  EXPECT_EQ(s->environments.size(), 1u);
}

TEST(ScenarioFile, RecordsTheGroupsThatAreNamedAndNoOthers) {
  for (const char* named : kRecordGroups) {
    auto s = parse_scenario(scenario(kTime + "[record]\nwhat = ['" + named + "']\n"), kPath);
    ASSERT_TRUE(s) << s.error().text();
    for (const char* word : kRecordGroups) EXPECT_EQ(*group(s->sampling.what, word), std::string(word) == named) << word;
  }
}

TEST(ScenarioFile, ReadsEveryTable) {
  auto s = parse_scenario(scenario(kTime + R"(
[initial]
joints = { hinge = { q = 0.25, v = [1.5] } }
consistent = "refuse"
[[disturbance]]
frame = "tip"
force = [1, 0, 0]
axes = "body"
signal = { kind = "pulse", from = 0.5, to = 1 }
[[effort]]
joint = "hinge"
value = 3
signal = { kind = "sine", frequency = 2 }
[record]
every = 5
what = ["energy", "joints"]
[must]
energy_drift = { below = 1e-6, relative_to = "absolute" }
max_force = [{ below = 10 }, { joint = "hinge", above = 1, from = 0.5, to = 1 }]
final = { body = "rod", p = [0, 0, -0.5], v = [0, 0, 0], within = 3 }
)"),
                          kPath);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(s->start.joints.q[0], 0.25);
  EXPECT_EQ(s->start.joints.v[0], 1.5);
  EXPECT_FALSE(s->start.project);
  EXPECT_EQ(s->environments.size(), 2u);
  EXPECT_EQ(s->environments[0]->next_event(0), 0.5);
  EXPECT_EQ(s->sampling.steps, 5);
  EXPECT_TRUE(s->sampling.what.energy && s->sampling.what.joints && !s->sampling.what.bodies);
  ASSERT_EQ(s->laws.size(), 5u);
  EXPECT_EQ(s->laws[0].scale, Scale::Absolute);
  EXPECT_EQ(s->laws[2].sense, Law::Sense::Above);
  EXPECT_EQ(s->laws[2].joint, 0);
  EXPECT_EQ(s->laws[4].field, "v");
}

TEST(ScenarioFile, BaumgarteStandsAloneUnlessAskedOtherwise) {
  auto s = parse_scenario(scenario(kTime, "method = 'rk4'\nstep = 0.1\nbaumgarte = [5, 25]\n"), kPath);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_FALSE(s->method.project);
  EXPECT_EQ(s->method.baumgarte_beta, 25);
}

std::string natural(const std::string& integrator, const std::string& model = "four_bar") {
  return "model = '../models/" + model + ".toml'\nformulation = 'natural'\n" + kTime + "[integrator]\n" + integrator;
}

TEST(ScenarioFile, NaturalTakesItsDefaultMethod) {
  auto s = parse_scenario(natural("step = 0.01\n"), kPath);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(s->method.formulation, "natural");
  EXPECT_EQ(s->method.integrator, "conserving");
  EXPECT_EQ(s->method.options.stepper.composition, Composition::None);
}

TEST(ScenarioFile, NaturalTakesEveryFlowAndEveryStepper) {
  for (const std::string& name : integrator_names()) {
    const bool adaptive = (*make_integrator(name))->adaptive();
    auto s = parse_scenario(natural("method = '" + name + "'\n" + (adaptive ? "" : "step = 0.01\n")), kPath);
    ASSERT_TRUE(s) << s.error().text();
    EXPECT_EQ(s->method.integrator, name);
  }
}

TEST(ScenarioFile, ReadsTheOptionsOfSteppers) {
  auto s = parse_scenario(natural("method = 'petrov_galerkin'\nstep = 0.01\ndegree = 2\nquadrature = 4\nstabilised = true\n"
                                  "composition = 'suzuki'\n"),
                          kPath);
  ASSERT_TRUE(s) << s.error().text();
  const StepperOptions& o = s->method.options.stepper;
  EXPECT_EQ(o.degree, 2);
  EXPECT_EQ(o.quadrature, 4);
  EXPECT_TRUE(o.stabilised);
  EXPECT_EQ(o.gradient, Gradient::Gauss);
  EXPECT_EQ(o.composition, Composition::Suzuki);
  EXPECT_EQ((*make_integrator(s->method.integrator, s->method.options))->order(), 8);
  s = parse_scenario(natural("method = 'petrov_galerkin'\nstep = 0.01\ngradient = 'discrete'\n"), kPath);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(s->method.options.stepper.gradient, Gradient::Discrete);
}

std::string edit(const std::string& keys) { return scenario(kTime + "[[edit]]\nat = 1\n" + keys); }

TEST(ScenarioFile, ReadsEveryKindOfEdit) {
  auto s = parse_scenario(scenario(kTime + R"(
[[edit]]
at = 1.5
kind = "detach"
name = "bob"
[[edit]]
at = 0.5
kind = "attach"
name = "bob"
body = "rod"
mass = 2
shape = { kind = "sphere", radius = 0.1, at = { p = [0, 0, -1] } }
[[edit]]
at = 0.5
kind = "set_tool"
frame = "tip"
pose = { p = [0, 0, -1.1] }
[[edit]]
at = 0.6
kind = "set_inertia"
body = "rod"
mass = 3
com = [0, 0, -0.4]
inertia = { xx = 1, yy = 1, zz = 0.1 }
[[edit]]
at = 0.7
kind = "set_joint_frame"
joint = "hinge"
at_parent = { p = [0, 0, 1] }
[[edit]]
at = 0.8
kind = "lock"
joint = "hinge"
[[edit]]
at = 0.9
kind = "unlock"
joint = "hinge"
[[edit]]
at = 1.0
kind = "add_body"
q = 0.2
v = [0.1]
[edit.body]
name = "second"
mass = 1
inertia = { xx = 1, yy = 1, zz = 1 }
[edit.joint]
name = "elbow"
kind = "revolute"
parent = "rod"
child = "second"
at_parent = { p = [0, 0, -1] }
axis = [0, 1, 0]
[[edit]]
at = 1.1
kind = "close"
within = 0.5
[edit.joint]
name = "tie"
kind = "spherical"
child = "second"
[[edit]]
at = 1.2
kind = "cut"
joint = "tie"
[[edit]]
at = 1.3
kind = "remove_body"
body = "second"
whole = true
[[effort]]
joint = "elbow"
value = 1
)"),
                          kPath);
  ASSERT_TRUE(s) << s.error().text();
  ASSERT_EQ(s->edits.size(), 10u) << "those of one instant together, in order of time";
  EXPECT_EQ(s->edits[0].at, 0.5);
  ASSERT_EQ(s->edits[0].edits.size(), 2u);
  const auto& bob = std::get<Attach>(s->edits[0].edits[0]);
  EXPECT_EQ(bob.inertia.mass, 2);
  EXPECT_EQ(bob.inertia.p_BC, Vec3(0, 0, -1));
  EXPECT_EQ(std::get<SetTool>(s->edits[0].edits[1]).at.p, Vec3(0, 0, -1.1));
  EXPECT_EQ(std::get<SetInertia>(s->edits[1].edits[0]).inertia.I_C(2, 2), 0.1);
  EXPECT_EQ(std::get<SetJointFrame>(s->edits[2].edits[0]).at_parent->p, Vec3(0, 0, 1));
  EXPECT_FALSE(std::get<SetJointFrame>(s->edits[2].edits[0]).at_child);
  EXPECT_FALSE(std::get<Lock>(s->edits[3].edits[0]).at) << "where it stands";
  const auto& second = std::get<AddBody>(s->edits[5].edits[0]);
  EXPECT_EQ(second.joint.at_parent.p, Vec3(0, 0, -1));
  EXPECT_EQ(second.q, std::vector<double>{0.2});
  EXPECT_EQ(std::get<CloseLoop>(s->edits[6].edits[0]).within, 0.5);
  EXPECT_TRUE(std::get<RemoveBody>(s->edits[8].edits[0]).whole);
  EXPECT_EQ(s->environments.size(), 1u) << "an effort on a joint that an edit brings";
}

struct Bad {
  std::string text;
  const char* place;  // ":line:column" or ""
  const char* sentence;
};

class ScenarioRefused : public ::testing::TestWithParam<Bad> {};

TEST_P(ScenarioRefused, WithPlaceAndSentence) {
  auto s = parse_scenario(GetParam().text, kPath);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().where.rfind(kPath + GetParam().place, 0), 0u) << s.error().text();
  EXPECT_NE(s.error().what.find(GetParam().sentence), std::string::npos) << s.error().text();
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ScenarioRefused,
    ::testing::Values(
        Bad{edit("kind = 'atach'\n"), ":6:8", "did you mean 'attach'"},
        Bad{edit("kind = 'attach'\nname = 'x'\nbody = 'rot'\nmass = 1\n"), ":8:8", "did you mean 'rod'"},
        Bad{edit("kind = 'attach'\nname = 'x'\nbody = 'rod'\nmass = -1\n"), ":9:8", "negative"},
        Bad{edit("kind = 'attach'\nname = 'x'\nbody = 'rod'\n"), ":4:1", "mass"},
        Bad{edit("kind = 'attach'\nname = 'x'\nmass = 1\n"), ":4:1", "body"},
        Bad{edit("kind = 'detach'\nname = 'x'\n"), ":7:8", "no payload 'x'"},
        Bad{edit("kind = 'lock'\njoint = 'hing'\n"), ":7:9", "did you mean 'hinge'"},
        Bad{edit("kind = 'lock'\njoint = 'hinge'\nq = [1, 2]\n"), ":8:5", "coordinate"},
        Bad{edit("kind = 'unlock'\njoint = 'hinge'\n"), ":7:9", "not locked"},
        Bad{edit("kind = 'cut'\njoint = 'hinge'\nwhole = 1\n"), ":8:9", "whole"},
        Bad{edit("kind = 'set_tool'\nframe = 'tipp'\npose = { p = [0, 0, 0] }\n"), ":7:9", "did you mean 'tip'"},
        Bad{edit("kind = 'remove_body'\nbody = 'rod'\n"), ":7:8", "only one"}, Bad{edit("kind = 'close'\n"), ":4:1", "joint"},
        Bad{edit("kind = 'set_map'\ncoupling = 'gear'\nratio = 2\n"), ":7:12", "no coupling 'gear'"},
        Bad{edit("kind = 'set_joint_frame'\njoint = 'hinge'\n"), ":7:9", "at_parent"},
        Bad{edit("kind = 'lock'\njoint = 'hinge'\nwhy = 1\n"), ":8:", "'why'"},
        Bad{scenario(kTime + "[[edit]]\nat = 2\nkind = 'lock'\njoint = 'hinge'\n"), ":5:6", "before its end"},
        Bad{scenario(kTime + "[[edit]]\nkind = 'lock'\njoint = 'hinge'\n"), ":4:1", "at"}, Bad{"", "", "missing"},
        Bad{"model = ", ":1:", ""}, Bad{scenario(""), "", "[time]"}, Bad{scenario("[time]\n"), ":2:1", "end"},
        Bad{scenario("[time]\nend = -1\n"), ":3:7", "after it begins"}, Bad{scenario("[time]\nend = nan\n"), ":3:7", "finite"},
        Bad{scenario("[time]\nend = '2'\n"), ":3:7", "number"}, Bad{scenario("[time]\nend = 2\nsteps = 3\n"), ":4:", "'steps'"},
        Bad{"model = '../models/pendulum.toml'\n" + kTime, "", "[integrator]"},
        Bad{scenario(kTime, "method = 'rk5'\nstep = 1\n"), ":6:10", "did you mean 'rk4'"},
        Bad{scenario(kTime, "method = 'rk4'\n"), ":5:1", "step"},
        Bad{scenario(kTime, "method = 'rk4'\nstep = 0\n"), ":7:8", "positive"},
        Bad{scenario(kTime, "method = 'rk4'\nstep = 1\ntolerance = 1e-6\n"), ":8:13", "fixed length"},
        Bad{scenario(kTime, "method = 'dopri5'\nstep = 1\n"), ":7:8", "max_step"},
        Bad{scenario(kTime, "method = 'dopri5'\ntolerance = -1\n"), ":7:13", "positive"},
        Bad{scenario("format = 2\n" + kTime), ":2:10", "format 2"},
        Bad{scenario(kTime, "method = 'conserving'\nstep = 0.1\n"), ":6:10", "natural"},
        Bad{scenario(kTime, "method = 'rk4'\nstep = 0.1\ncomposition = 'suzuki'\n"), ":8:15", "no symmetric stepper"},
        Bad{scenario(kTime, "method = 'rk4'\nstep = 0.1\ndegree = 1\n"), ":8:10", "petrov_galerkin has"},
        Bad{natural("method = 'conserving'\nstep = 0.1\ndegree = 1\n"), ":8:10", "petrov_galerkin has"},
        Bad{natural("method = 'conserving'\nstep = 0.1\nbaumgarte = [1, 1]\n"), ":8:13", "nothing to stabilise"},
        Bad{natural("method = 'conserving'\nstep = 0.1\nproject = false\n"), ":8:11", "nothing to project"},
        Bad{natural("method = 'conserving'\nstep = 0.1\nproject = true\n"), ":8:11", "nothing to project"},
        Bad{natural("step = 0.1\nproject = true\n"), ":7:11", "leave 'project' out"},
        Bad{natural("method = 'rk4'\nstep = 0.1\nbaumgarte = [1, 1]\n"), ":8:13", "no Baumgarte"},
        Bad{natural("method = 'conserving'\nstep = 0.1\ncomposition = 'suzuky'\n"), ":8:15", "did you mean 'suzuki'"},
        Bad{natural("method = 'petrov_galerkin'\nstep = 0.1\ndegree = 4\n"), ":8:10", "0, 1, 2 or 3, not 4"},
        Bad{natural("method = 'petrov_galerkin'\nstep = 0.1\ndegree = -1\n"), ":8:10", "0, 1, 2 or 3, not -1"},
        Bad{natural("method = 'petrov_galerkin'\nstep = 0.1\nquadrature = 9\n"), ":8:14", "1 to 8, not 9"},
        Bad{natural("method = 'petrov_galerkin'\nstep = 0.1\nquadrature = 2\ngradient = 'discrete'\n"), ":8:14", "no quadrature"},
        Bad{natural("method = 'dopri5'\nmin_step = 0.1\nmax_step = 0.01\n"), ":8:12", "below min_step"},
        Bad{natural("method = 'petrov_galerkin'\nstep = 0.1\nquadrature = 0\n"), ":8:14", "1 to 8, not 0"},
        Bad{natural("method = 'petrov_galerkin'\nstep = 0.1\ndegree = 1\ngradient = 'discrete'\n"), ":9:12", "degree 0"},
        Bad{natural("method = 'conserving'\ntolerance = 1e-6\nstep = 0.1\n"), ":7:13", "fixed length"},
        Bad{natural("method = 'rk4'\nstep = 0.1\n", "all_joints"), ":6:10", "armature"},
        Bad{natural("step = 0.1\nmethod = 'midpoint'\n", "all_joints"), ":7:10", "armature"},
        Bad{scenario("formulation = 'lagrangian'\n" + kTime), ":2:15", "lagrangian"},
        Bad{scenario(kTime + "[initial]\njoints = { hing = { q = 0 } }\n"), ":5:", "did you mean 'hinge'"},
        Bad{scenario(kTime + "[initial]\njoints = { hinge = { q = [0, 1] } }\n"), ":5:", ""},
        Bad{scenario(kTime + "[initial]\nbodies = { }\n"), ":5:", "missing: 'rod'"},
        Bad{scenario(kTime + "[[disturbance]]\nforce = [1, 0, 0]\n"), ":4:1", "name one"},
        Bad{scenario(kTime + "[[disturbance]]\nbody = 'rad'\nforce = [1, 0, 0]\n"), ":5:8", "did you mean 'rod'"},
        Bad{scenario(kTime + "[[disturbance]]\nbody = 'rod'\nforce = [1, 0]\n"), ":6:9", ""},
        Bad{scenario(kTime + "[[disturbance]]\nbody = 'rod'\nforce = [1, 0, 0]\nsignal = { kind = 'pulse', from = 2, to = 1 }\n"),
            ":7:10", "pulse"},
        Bad{scenario(kTime + "[[effort]]\njoint = 'hinge'\nfreedom = 1\nvalue = 1\n"), ":6:11", "freedom"},
        Bad{scenario(kTime + "[[drive]]\njoint = 'hinge'\n"), ":4:1", "'signal'"},
        Bad{scenario(kTime + "[[drive]]\njoint = 'hing'\nsignal = { kind = 'constant' }\n"), ":5:9", "did you mean 'hinge'"},
        Bad{scenario(kTime + "[[drive]]\njoint = 'hinge'\nsignal = { kind = 'ramp', from = 0, to = 1 }\n"), ":", "follow"},
        Bad{scenario(kTime + "[initial]\njoints = { hinge = { q = 0.25 } }\n[[drive]]\njoint = 'hinge'\n"
                             "signal = { kind = 'constant', value = 1 }\n"),
            ":", "starts where its drive does"},
        Bad{scenario(kTime + "[record]\nwhat = ['energie']\n"), ":5:8", "did you mean 'energy'"},
        Bad{scenario(kTime + "[record]\nevery = 0\n"), ":5:9", "whole number"},
        Bad{scenario(kTime + "[must]\nenergy_drft = { below = 1 }\n"), ":5:", "energy_drift"},
        Bad{scenario(kTime + "[must]\nenergy_drift = { }\n"), ":5:", "below or above"},
        Bad{scenario(kTime + "[must]\njoint_gap = { below = 1, relative_to = 'kinetic' }\n"), ":5:", "kinetic"},
        Bad{scenario(kTime + "[must]\nmax_force = { joint = 'hing', below = 1 }\n"), ":5:", "did you mean 'hinge'"},
        Bad{scenario(kTime, "method = 'rk4'\nstep = 1\nbaumgarte = [1, -1]\n"), ":8:13", "not negative"},
        Bad{scenario(kTime + "[must]\nfinal = { body = 'rod', q = [1, 1, 0, 0], within = 1 }\n"), ":5:", "its length is 1.41421"},
        Bad{scenario(kTime + "[must]\nfinal = { joint = 'hinge', within = 1 }\n"), ":5:", "values to be reached"}));

TEST(ScenarioFile, MissingModelFileIsNamedWithWhoAskedForIt) {
  auto s = parse_scenario("model = 'nowhere.toml'\n[integrator]\nmethod = 'rk4'\nstep = 1\n" + kTime, kPath);
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().where.find("scenarios/nowhere.toml"), std::string::npos) << s.error().text();
  EXPECT_NE(s.error().what.find("test.toml:1:"), std::string::npos) << s.error().text();
}

}  // namespace
}  // namespace invar
