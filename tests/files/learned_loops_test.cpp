// SPDX-License-Identifier: Apache-2.0
//
// learned = { … } of control tables: read as meant, refused in words with place and remedy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "invar/io/chosen_loop.hpp"
#include "invar/io/learned_file.hpp"
#include "invar/io/loop_figures.hpp"
#include "invar/io/model_file.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/io/toml_table.hpp"
#include "invar/learn/learned_load.hpp"
#include "invar/run/calibration.hpp"
#include "support/campaign.hpp"
#include "support/folder.hpp"
#include "support/places.hpp"
#include "support/recorded.hpp"
#include "support/reference_loop.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

std::string scenario(const std::string& control, const std::string& more = "", const std::string& model = "paper_a_arm") {
  return fmt::format(
      "model = '{}/models/{}.toml'\n[time]\nend = 0.5\n[integrator]\nmethod = 'rk4'\nstep = 0.002\n{}\n[[control]]\nname = "
      "'arm'\n{}\n",
      source_path(), model, more, control);
}
std::string task(const std::string& learned, const std::string& more = "") {
  return "law = 'task'\ngains = { rate = 10 }\n" + learned + "\n" + more +
         "\ntasks = [{ body = 'body5', com = true, path = { position = { kind = 'fixed', p = [3.9, 0, 0] }, attitude = { kind = "
         "'fixed', q = [1, 0, 0, 0] } } }]";
}

struct Written {
  Folder folder;
  UnknownLoad load = UnknownLoad::reference();
  Learned drag = learned_from(load, 17800, 60), generic = learned_from(load, 17800, 60, TermKind::Fourier);

  Written() {
    drag.bound = RemainderBound{.most = 3, .after = 0.1, .confidence = 0.9, .runs = 20};
    drag.bound_loop = {"gains.rate = 10", "law = task"};  // that of task()
    EXPECT_TRUE(write_learned_file(folder / "drag.json", drag));
    EXPECT_TRUE(write_learned_file(folder / "generic.json", generic));
    const std::string text = read_file(folder / "drag.json");
    write_file(folder / "cut.json", text.substr(0, text.size() / 2));
    const std::string version = "\"invar_learned\": 2";
    write_file(folder / "future.json", std::string(text).replace(text.find(version), version.size(), "\"invar_learned\": 9"));
    Learned inputs = drag;
    inputs.terms[0].kind = TermKind::ActuatorGain;
    EXPECT_TRUE(write_learned_file(folder / "inputs.json", inputs));
    inputs = drag, inputs.bound_loop.clear();
    EXPECT_TRUE(write_learned_file(folder / "nowhere_said.json", inputs));
    Learned beside = drag;
    beside.obstacles = {"post", "wall"};
    EXPECT_TRUE(write_learned_file(folder / "beside.json", beside));
  }
  std::string place() const { return folder / "here.toml"; }
  std::string refusal(const std::string& text) const {
    const auto read = parse_scenario(text, place());
    return read ? "accepted" : read.error().text();
  }
};

// Edits go into the law's model, the load into what it knows, the bound of the file is that of the loop, and a frame that is
// told by its centre of mass stays where the nominal model has it.
TEST(LearnedLoops, TakeTheFileAsItIs) {
  const Written w;
  const auto s = parse_scenario(scenario(task("learned = { file = 'drag.json' }")), w.place());
  ASSERT_TRUE(s) << s.error().text();
  const ControllerSpec& c = s->controllers[0];
  const auto edited_nominal = edited(w.load.nominal, w.drag.edits);
  ASSERT_TRUE(edited_nominal);
  EXPECT_EQ(c.nominal->bodies()[4].inertia.mass, build(*edited_nominal).bodies()[4].inertia.mass);
  EXPECT_NE(c.nominal->bodies()[4].inertia.mass, s->model->bodies()[4].inertia.mass);
  const auto law = c.law(*c.nominal);
  EXPECT_EQ(law->remainder()->bound().most, 3);
  EXPECT_EQ(law->marks()[0].X_BE.p, s->model->bodies()[4].inertia.p_BC);
  Watched watched;
  ASSERT_TRUE(watch(*s, watched)) << watched.outcome.words;
  EXPECT_GT(largest_of(watched.readings, "learned", 0), 0);
  EXPECT_GT(clause(watched.outcome, "remainder_within_bound").looks, 0);
  // It is of a loop with this load, not of one that adapts on top of it or leaves it out.
  for (const char* other : {"load = false", "adapt = { terms = [{ kind = 'drag' }] }"}) {
    const auto changed = parse_scenario(scenario(task(fmt::format("learned = {{ file = 'drag.json', {} }}", other))), w.place());
    ASSERT_TRUE(changed) << changed.error().text();
    const ControllerSpec& without = changed->controllers[0];
    const auto its = without.law(*without.nominal);
    EXPECT_TRUE(its->remainder() == nullptr || !its->remainder()->bound().known()) << other;
  }
  // A bound that the scenario tells stands above that of the file, and so does its wish to have none yet: runs that calibrate.
  std::vector<Scenario> family;
  for (const double rate : {0.8, 1.0, 1.2}) {
    auto one = parse_scenario(scenario(task("learned = { file = 'drag.json' }",
                                            fmt::format("rates = {{ position = {} }}\nbound = {{ after = 0.2 }}", rate))),
                              w.place());
    ASSERT_TRUE(one) << one.error().text();
    family.push_back(std::move(*one));
  }
  const auto found = calibrate(family, "", 0.7);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_GT(found->bound, 0);
}

// A bound is of the loop that it was found in: another law, gain, time or noise has none of it, and the note names what differs.
// What is followed may be another one, and so may what says nothing.
TEST(LearnedLoops, TakeABoundInItsOwnLoopOnly) {
  const Written w;
  struct Read {
    bool known = false;
    std::string notes;
  };
  const auto read = [&](std::string text) {
    Read out;
    const auto s = parse_scenario(text, w.place());
    EXPECT_TRUE(s) << (s ? "" : s.error().text());
    if (!s) return out;
    const auto law = s->controllers[0].law(*s->controllers[0].nominal);
    out.known = law->remainder()->bound().known();
    out.notes = fmt::format("{}", fmt::join(law->notes(), "; "));
    return out;
  };
  const std::string learned = "learned = { file = 'drag.json' }";
  for (const char* same : {"", "period = 0", "lag = 0.0\nhold = 'world'"}) {
    const Read r = read(scenario(task(learned, same)));
    EXPECT_TRUE(r.known) << same << r.notes;
    EXPECT_EQ(r.notes.find("none is known"), std::string::npos) << same << r.notes;
  }
  for (const auto& [more, words] : std::vector<std::pair<std::string, std::string>>{
           {"period = 0.01", "period is not told there and 0.01 here"},
           {"integral = { rate = 4 }", "integral.rate is not told there and 4 here"},
           {"observer = { rate = 20 }", "observer.rate is not told there and 20 here"},
           {"rates = { position = 2 }", "rates.position is not told there and 2 here"},
           {"period = 0.01\nnoise = { velocity = 1e-3 }", "noise.velocity is not told there and 0.001 here"}}) {
    const Read r = read(scenario(task(learned, more)));
    EXPECT_FALSE(r.known) << more;
    EXPECT_NE(r.notes.find("its bound was found in another loop"), std::string::npos) << r.notes;
    EXPECT_NE(r.notes.find(words), std::string::npos) << r.notes;
  }
  std::string faster = scenario(task(learned));
  faster.replace(faster.find("rate = 10"), 9, "rate = 20");
  EXPECT_NE(read(faster).notes.find("gains.rate is 10 there and 20 here"), std::string::npos) << read(faster).notes;
  EXPECT_FALSE(read(faster).known);
  const Read silent = read(scenario(task("learned = { file = 'nowhere_said.json' }")));
  EXPECT_FALSE(silent.known);
  EXPECT_NE(silent.notes.find("does not say in which loop"), std::string::npos) << silent.notes;
  // What a family draws is no figure of its loop: how actuators really sit, and what is followed.
  const auto figures = [](const std::string& drawn) {
    return loop_figures(*parse_toml("law = 'task'\nactuators = [{ name = 'a', lag = 0.1, mounted = { gain = " + drawn +
                                        " } }]\ntasks = [{ rates = { position = 2 }, path = { p = [" + drawn + "] } }]",
                                    "s.toml"));
  };
  EXPECT_EQ(figures("1.1"), figures("0.9"));
  EXPECT_EQ(figures("1.1"),
            (LoopFigures{"actuators[0].lag = 0.1", "actuators[0].name = a", "law = task", "tasks[0].rates.position = 2"}));
  // The scenario's own bound is its own affair.
  EXPECT_EQ(read(scenario(task(learned, "period = 0.01\nbound = { remainder = 2 }"))).notes, "");
}

// Identified inertias and friction are there without the load, whatever the load has to know.
TEST(LearnedLoops, LeaveALoadOutThatTheyCouldNotTake) {
  const Written w;
  EXPECT_NE(w.refusal(scenario(task("learned = { file = 'inputs.json' }"))).find("speaks of inputs"), std::string::npos);
  EXPECT_EQ(w.refusal(scenario(task("learned = { file = 'inputs.json', load = false }"))), "accepted");
}

// Terms on different bodies are recorded apart though they are alike; two of the same on the same cannot be, and neither can two
// tasks of one name.
TEST(LearnedLoops, RecordEveryCoefficientInAPlaceOfItsOwn) {
  const Written w;
  const auto s =
      parse_scenario(scenario(task("learned = { adapt = { terms = [{ kind = 'drag', on = ['body1'] }, { kind = 'drag', on "
                                   "= ['body2'] }] } }")),
                     w.place());
  ASSERT_TRUE(s) << s.error().text();
  const auto made = Controller::build(s->controllers[0], *s->model, 0);
  ASSERT_TRUE(made) << made.error().text();
  int first = 0, second = 0;
  for (const Reading& r : (*made)->readings())
    first += r.name == "adapted drag force x of 'body1'", second += r.name == "adapted drag force x of 'body2'";
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  const std::string twice = w.refusal(
      scenario(task("learned = { adapt = { terms = [{ kind = 'joint_coulomb', smoothing = [0.02] }, { kind = 'joint_coulomb', "
                    "smoothing = [0.15] }] } }")));
  EXPECT_NE(twice.find("would be recorded as 'friction of"), std::string::npos) << twice;
  EXPECT_EQ(w.refusal(scenario(task("learned = { adapt = { terms = [{ kind = 'joint_coulomb', smoothing = [0.02, 0.15] }] } }"))),
            "accepted");
  const std::string path = "path = { position = { kind = 'fixed', p = [3.9, 0, 0] } }";
  const std::string tasks =
      w.refusal(scenario(fmt::format("law = 'task'\ntasks = [{{ body = 'body5', name = 'a', follow = 'position', {0} }}, {{ body "
                                     "= 'body4', name = 'a', follow = "
                                     "'position', damping = 1e-3, {0} }}]",
                                     path)));
  EXPECT_NE(tasks.find("'a"), std::string::npos) << tasks;
  EXPECT_NE(tasks, "accepted");
}

// What was learned is the rest of the nominal model that it was learned on: beside another one it is said which number differs.
TEST(LearnedLoops, SayThatTheNominalModelIsAnotherOne) {
  const Written w;
  const auto remarks = [&](auto&& change) {
    Learned other = w.drag;
    change(other.nominal);
    EXPECT_TRUE(write_learned_file(w.folder / "other.json", other));
    const auto s = parse_scenario(scenario(task("learned = { file = 'other.json' }")), w.place());
    EXPECT_TRUE(s) << (s ? "" : s.error().text());
    if (!s) return std::string();
    // What is said here is what calibration refuses.
    EXPECT_EQ(s->controllers[0].learned_elsewhere, other_number(other, *s->model));
    return fmt::format("{}", fmt::join(s->controllers[0].law(*s->controllers[0].nominal)->notes(), "; "));
  };
  const auto expect = [&](const char* words, auto&& change) {
    const std::string said = remarks(change);
    EXPECT_NE(said.find("it was learned on another nominal model"), std::string::npos) << said;
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  EXPECT_EQ(remarks([](NominalNumbers&) {}).find("another nominal model"), std::string::npos);
  expect("'body2' weighs", [](NominalNumbers& n) { n.inertias[1].mass *= 1.01; });
  expect("the centre of mass of 'body3'", [](NominalNumbers& n) { n.inertias[2].p_BC.y() += 1e-3; });
  expect("the moments of inertia of 'body4'", [](NominalNumbers& n) { n.inertias[3].I_C(0, 0) *= 1.001; });
  expect("the damping of joint", [](NominalNumbers& n) {
    for (auto& joint : n.passives)
      if (!joint.empty()) return void(joint[0].damping += 0.1);
  });
  // Rates of friction count where there is friction, in the model or in what it was learned with.
  EXPECT_EQ(remarks([](NominalNumbers& n) {
              for (auto& joint : n.passives)
                for (Passive& p : joint) p.friction_velocity *= 2;
            }).find("another nominal model"),
            std::string::npos);
  expect("friction", [](NominalNumbers& n) {
    for (auto& joint : n.passives)
      for (Passive& p : joint) p.friction = 1e-3;
  });
  // Links of another length, axes along other directions; the places of joints in the World turn along.
  expect("of its child body than there", [](NominalNumbers& n) { n.ends[2].in_child.p.x() += 1e-3; });
  expect("of its child body than there", [](NominalNumbers& n) { n.ends[2].in_child.q = exp_so3(Vec3(0, 1e-3, 0)); });
  expect("of its parent body than there", [](NominalNumbers& n) { n.ends[3].in_parent.p.z() += 1e-3; });
  expect("gravity is", [](NominalNumbers& n) { n.gravity += 0.01; });
  expect("how long its links were is not told", [](NominalNumbers& n) { n.ends.clear(); });
}

// The same machine has the same numbers in a turned World, and another one where it rubs at another rate.
TEST(LearnedLoops, CompareNominalModelsInAnyWorld) {
  const ModelSpec spec = UnknownLoad::reference().rubbing();
  const Model model = build(spec);
  Learned learned;
  learned.bodies = names_of(model.bodies()), learned.joints = names_of(model.joints()), learned.nominal = numbers_of(model);
  Random random(17810);
  EXPECT_EQ(other_number(learned, build(turned(spec, random_attitude(random)))), "");
  ModelSpec other = spec;
  for (JointSpec& j : other.joints) j.friction_velocity *= 2;
  EXPECT_NE(other_number(learned, build(other)).find("friction_velocity"), std::string::npos)
      << other_number(learned, build(other));
}

// A joint about a reversed axis turns the other way, and one of another kind has another freedom: the first is said, the second
// refused. Axes are drawn: none is that of a kind's own frame.
TEST(LearnedLoops, KnowAxesAndKindsOfJoints) {
  Random random(17820);
  int reversed = 0, slid = 0;
  for (int k = 0; k < cases(20); ++k) {
    ModelSpec spec = *read_model_file(source_path("models/pendulum.toml"));
    spec.joints[0].axis = k == 0 ? Vec3::UnitY() : random_attitude(random) * Vec3::UnitX();
    const auto here = std::make_shared<const Model>(build(spec));
    auto learned = std::make_shared<Learned>();
    learned->bodies = names_of(here->bodies()), learned->joints = names_of(here->joints()), learned->nominal = numbers_of(*here);
    EXPECT_EQ(other_number(*learned, *here), "");
    EXPECT_TRUE(LearnedLoad::build(here, learned));
    ModelSpec back = spec, slides = spec;
    back.joints[0].axis = -spec.joints[0].axis, slides.joints[0].kind = JointKind::Prismatic;
    reversed += other_number(*learned, build(back)).find("along other axes") != std::string::npos;
    const auto refused = LearnedLoad::build(std::make_shared<const Model>(build(slides)), learned);
    slid += !refused && refused.error().what.find("joint 'hinge' is prismatic here and was revolute") != std::string::npos;
  }
  EXPECT_EQ(reversed, cases(20));
  EXPECT_EQ(slid, cases(20));
}

// Loops that are tried have the gains that are told about them: none is changed on the way.
TEST(LearnedLoops, AreTriedWithTheGainsThatAreTold) {
  const Written w;
  const std::string text = scenario(task("", "period = 0.004"));
  const auto tried = [&](double observer) {
    return scenario_with(text, w.place(), {"arm", 0.1, ""}, {LoopWay::Knows::Nominal, false, true}, {20, 8, 0, observer});
  };
  const auto fine = tried(250), fast = tried(251);
  EXPECT_TRUE(fine) << fine.error().text();
  ASSERT_FALSE(fast);
  EXPECT_NE(fast.error().text().find("faster than ticks"), std::string::npos) << fast.error().text();
}

// The line that is printed belongs into the scenario that it is for, wherever the file lies, whatever it is called, and with the
// obstacles that the scenario places.
TEST(LearnedLoops, AreWrittenDownInALineThatReadsTheSame) {
  const Written w;
  std::filesystem::create_directories(w.folder / "deep/er");
  std::filesystem::create_directories(w.folder / "aside");
  const std::string posts = "learned = { obstacles = [{ name = 'post', at = [1, 0, -1.5] }, { name = 'wall', at = [0, 2, 0] }] }";
  for (const char* place : {"here.toml", "deep/er/here.toml"})
    for (const char* name : {"plain.json", "aside/qu\"ote's.json", "back\\slash.json"})
      for (const LoopWay::Knows knows : {LoopWay::Knows::Learned, LoopWay::Knows::Identified}) {
        write_file(w.folder / name, read_file(w.folder / "beside.json"));
        const std::string path = w.folder / place, text = scenario(task(posts));
        const std::string line = learned_line(text, path, {"arm", 0.1, w.folder / name}, {knows, false, false});
        const auto read = parse_scenario(scenario(task(line)), path);
        ASSERT_TRUE(read) << line << "\n" << read.error().text();
        EXPECT_EQ(read->controllers[0].learned_file.empty(), knows == LoopWay::Knows::Identified) << line;
        EXPECT_EQ(line.find(w.folder.path()), std::string::npos) << line;
        EXPECT_NE(line.find("wall"), std::string::npos) << line;
      }
}

TEST(LearnedLoops, AdaptAsToldAndRecordIt) {
  const Written w;
  const std::string adapt = "adapt = { terms = [{ kind = 'inertia', on = ['body5'] }, { kind = 'drag' }], memory = 3 }";
  for (const std::string& learned : {"learned = { " + adapt + " }", "learned = { file = 'generic.json', " + adapt + " }"}) {
    const auto s = parse_scenario(scenario(task(learned)), w.place());
    ASSERT_TRUE(s) << s.error().text();
    Watched watched;
    ASSERT_TRUE(watch(*s, watched)) << watched.outcome.words;
    EXPECT_EQ(watched.readings.of("adapted mass of 'body5'").size(), watched.readings.t().size());
    EXPECT_NE(watched.readings.of("adapted mass of 'body5'").back(), 0);
  }
}

// The crane's shipped file holds the load that the shipped scenario hangs on it. Its recordings have the tolerance of their
// integrator, 1e-8 of what acts; turns and accelerations of a few sines leave a hundred times that of the inertia.
TEST(LearnedLoops, ShippedLoadOfTheCraneIsTheOneItCarries) {
  const auto s = read_scenario_file(source_path("scenarios/crane_unknown_load.toml"));
  ASSERT_TRUE(s) << s.error().text();
  const auto told = read_learned_file(source_path("learn/crane_load.learned.json"));
  ASSERT_TRUE(told) << told.error().text();
  EXPECT_TRUE(told->terms.empty() && told->notes.empty() && told->undetermined.empty());
  const auto plant = edited(*s->spec, s->edits.at(0).edits), known = edited(*s->spec, told->edits);
  ASSERT_TRUE(plant && known);
  const Model carries = build(*plant), thinks = build(*known);
  const auto b = static_cast<std::size_t>(carries.find_body("telescope").value());
  const Inertia &real = carries.bodies()[b].inertia, &learned = thinks.bodies()[b].inertia;
  EXPECT_GT(real.mass, s->model->bodies()[b].inertia.mass + 700);
  EXPECT_NEAR(learned.mass, real.mass, 1e-6 * real.mass);
  EXPECT_LT((learned.p_BC - real.p_BC).norm(), 1e-6 * carries.length());
  EXPECT_LT((learned.I_C - real.I_C).norm(), 1e-6 * real.I_C.norm());
}

// What a run cannot know is said: a flow that nobody measures, data that said nothing.
TEST(LearnedLoops, SayWhatTheyDoNotKnow) {
  const Written w;
  const auto s = parse_scenario(scenario(task("learned = { file = 'drag.json' }"), "[flow]\nvelocity = [0.1, 0, 0]"), w.place());
  ASSERT_TRUE(s) << s.error().text();
  const auto out = testing::judged_run(*s);
  ASSERT_TRUE(out);
  bool said = false;
  for (const std::string& note : out->notes) said = said || note.find("nobody measures the flow") != std::string::npos;
  EXPECT_TRUE(said);
}

TEST(LearnedLoops, AreRefusedWithPlaceAndRemedy) {
  const Written w;
  const auto expect = [&](const std::string& control, const char* sentence, const std::string& more = "") {
    const std::string text = w.refusal(scenario(control, more));
    EXPECT_NE(text.find(sentence), std::string::npos) << control << "\n" << text;
    EXPECT_EQ(text.rfind(w.place() + ":", 0), 0u) << text;
  };
  expect(task("learned = { file = 'nowhere.json' }"), "nowhere.json");
  expect(task("learned = { file = 'cut.json' }"), "the file was cut off");
  expect(task("learned = { file = 'future.json' }"), "is of version 9");
  expect(task("learned = { file = 'inputs.json' }"), "speaks of inputs");
  expect(task("learned = { }"), "name the 'file'");
  expect(task("learned = { file = '' }"), "it names no file");
  expect(task("learned = { file = '', adapt = { terms = [{ kind = 'drag' }] } }"), "it names no file");
  expect(task("learned = { file = 'drag.json', patience = 1 }"), "say fallback = true");
  expect(task("learned = { file = 'drag.json', fallback = true }"), "of which the file has none");
  expect(task("learned = { file = 'generic.json', fallback = true, patience = 0 }"), "must be positive");
  expect(task("learned = { file = 'drag.json' }\nas_printed = true"), "knows its model only");
  expect(task("learned = { file = 'drag.json' }"), "give a 'period'",
         "[flow]\nvelocity = [1, 0, 0]\nmeasured = { deviation = 0.1 }");
  expect(
      "law = 'impedance'\nbody = 'body5'\nthrough = 'port'\npath = { position = { kind = 'fixed', p = [4, 0, 0] } }\n"
      "learned = { file = 'drag.json' }",
      "no reference velocities");
  expect(task("learned = { adapt = { } }"), "say which 'terms' adapt");
  expect(task("learned = { adapt = { terms = [{ kind = 'drug' }] } }"), "did you mean 'drag'");
  expect(task("learned = { adapt = { terms = [{ kind = 'drag', on = ['body7'] }] } }"), "there is no body 'body7'");
  expect(task("learned = { adapt = { terms = [{ kind = 'fourier' }] } }"), "learned from recordings");
  expect(task("learned = { adapt = { terms = [{ kind = 'actuator_gain' }] } }"), "speaks of inputs");
  // Nobody said where the obstacles of a file stand, and only what adapts sees them; those that it does not see may stay away.
  const std::string sees = "learned = { file = 'beside.json', load = false, adapt = { terms = [{ kind = 'obstacle'";
  expect(task(sees + " }] } }"), "it sees the obstacle 'post' of the file: say where that stands");
  const std::string wall = ", obstacles = [{ name = 'wall', at = [1, 2, 3] }] }";
  expect(task(sees + " }] }" + wall), "it sees the obstacle 'post' of the file");
  EXPECT_EQ(w.refusal(scenario(task(sees + ", obstacles = ['wall'] }] }" + wall))), "accepted");
  expect(task("learned = { adapt = { terms = [{ kind = 'drag' }], memory = 0.05 } }"), "less than ten looks");
  expect(task("learned = { adapt = { terms = [{ kind = 'drag' }], period = 0.005 } }", "period = 0.01"),
         "cannot adapt more often");
  expect(task("learned = { adapt = { terms = [{ kind = 'drag' }], period = 1e-9 } }"), "see rounding only");
  expect(task("learned = { adapt = { terms = [{ kind = 'drag' }], noise = 1e-300 } }"), "surprise it");
  expect(task("learned = { adapt = { terms = [{ kind = 'drag' }], prior = 1e300 } }"), "leaves nothing of the digits");
  const std::string other = w.refusal(scenario(
      "law = 'task'\nlearned = { file = 'drag.json' }\ntasks = [{ frame = 'tip', follow = 'position', from_start = true, path "
      "= { position = { kind = 'fixed', p = [0, 0, 0] } } }]",
      "", "arm"));
  EXPECT_NE(other.find("learned for a mechanism with body 'body1'"), std::string::npos) << other;
}

}  // namespace
}  // namespace invar::testing
