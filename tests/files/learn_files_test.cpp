// SPDX-License-Identifier: Apache-2.0
//
// Files of learning: models that were learned, tables of measurements, recordings, and what is to be learned.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "invar/io/hdf5.hpp"
#include "invar/io/learn_file.hpp"
#include "invar/io/learned_file.hpp"
#include "invar/io/regular_file.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/learn/as_written.hpp"
#include "invar/learn/learned_load.hpp"
#include "invar/learn/motion_factor.hpp"
#include "invar/learn/rivals.hpp"
#include "invar/run/run.hpp"
#include "support/campaign.hpp"
#include "support/damage.hpp"
#include "support/folder.hpp"
#include "support/places.hpp"
#include "support/random_mechanism.hpp"
#include "support/states.hpp"
#include "support/unknown_load.hpp"

namespace invar::testing {
namespace {

TermSpec term(TermKind kind) {
  TermSpec t;
  t.kind = kind, t.sharing = usual_sharing(kind);
  t.cosines = 5, t.width = 4;
  return t;
}

// Everything that a file may hold: edits, terms of several kinds, a bound.
const Learned& example() {
  static const Learned learned = [] {
    const UnknownLoad u = UnknownLoad::reference();
    const Model model = build(u.nominal);
    DataSet data = excited(u, 17400, 3, 15, 0.05);
    data.obstacle_names = {"post"}, data.obstacles = {Vec3(1, 2, 0)};
    LearnSpec spec;
    spec.terms = {term(TermKind::Inertia),  term(TermKind::JointViscous), term(TermKind::JointCoulomb), term(TermKind::Drag),
                  term(TermKind::Obstacle), term(TermKind::Fourier),      term(TermKind::Network)};
    spec.terms[2].smoothing = {0.02, 0.1};
    spec.terms[4].reach = 3;
    spec.train.epochs = 3;
    auto result = learn(u.nominal, model, data, spec);
    EXPECT_TRUE(result) << (result ? "" : result.error().text());
    result->learned.bound = RemainderBound{.most = 1.5, .after = 4, .confidence = 0.9, .runs = 20};
    result->learned.largest_remainder = 1.75;
    return result->learned;
  }();
  return learned;
}

TEST(LearnedFile, KeepsEveryBit) {
  const Learned& a = example();
  ASSERT_TRUE(a.learned);
  const std::string text = write_learned(a);
  const auto b = parse_learned(text, "here");
  ASSERT_TRUE(b) << b.error().text();
  EXPECT_EQ(write_learned(*b), text);
  ASSERT_EQ(a.coefficients.size(), b->coefficients.size());
  for (Eigen::Index k = 0; k < a.coefficients.size(); ++k) EXPECT_EQ(a.coefficients[k], b->coefficients[k]);
  EXPECT_EQ(a.from.data, b->from.data);
  EXPECT_EQ(b->largest_remainder, 1.75);
  EXPECT_EQ(b->nominal.ends.size(), b->joints.size());
  EXPECT_EQ(a.terms.back().layers.W2, b->terms.back().layers.W2);
  // The load of the file is that of the fit, to the bit.
  const auto model = std::make_shared<const Model>(build(UnknownLoad::reference().nominal));
  auto before = LearnedLoad::build(model, std::make_shared<const Learned>(a));
  auto after = LearnedLoad::build(model, std::make_shared<const Learned>(*b));
  ASSERT_TRUE(before && after);
  const std::vector<Vec3> posts = {Vec3(1, 2, 0)};
  before->set_around({Vec3(0.1, 0, 0), posts, {}, nullptr}), after->set_around({Vec3(0.1, 0, 0), posts, {}, nullptr});
  const DataSet data = excited(UnknownLoad::reference(), 17401, 1, 3, 0);
  for (const DataSample& s : data.runs[0].samples) {
    Load x(*model), y(*model);
    before->add(0.0, s.bodies, x), after->add(0.0, s.bodies, y);
    for (std::size_t i = 0; i < x.port.size(); ++i) EXPECT_EQ(x.port[i].force, y.port[i].force);
  }
}

std::string refusal(const std::string& text) {
  const auto read = parse_learned(text, "file.json");
  return read ? "accepted" : read.error().text();
}

std::string replaced(std::string text, const std::string& old, const std::string& with) {
  const auto at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), with);
}

// Whatever a scenario was read from is noted, what is taken of it or not.
TEST(FilesRead, AreThoseThatAScenarioNames) {
  const Folder folder;
  ASSERT_TRUE(write_learned_file(folder / "arm.json", example()));
  write_file(folder / "nominal.toml", read_file(source_path("models/paper_a_arm.toml")));
  write_file(folder / "model.toml", read_file(source_path("models/paper_a_arm.toml")));
  const std::string text =
      "model = 'model.toml'\n[time]\nend = 1\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[[control]]\nname = "
      "'c'\nlaw = 'task'\nnominal = 'nominal.toml'\nlearned = { file = 'arm.json', load = false }\n"
      "tasks = [{ body = 'body5', follow = 'position', path = { position = { kind = 'fixed', p = [3, 0, 0] } "
      "} }]\n";
  write_file(folder / "s.toml", text);
  const FilesRead read;
  const auto scenario = read_scenario_file(folder / "s.toml");
  EXPECT_TRUE(scenario) << scenario.error().text();
  for (const char* name : {"s.toml", "model.toml", "nominal.toml", "arm.json"})
    EXPECT_EQ(std::count_if(read.paths().begin(), read.paths().end(),
                            [&](const std::string& path) { return std::filesystem::path(path).filename() == name; }) > 0,
              true)
        << name;
}

TEST(LearnedFile, IsRefusedWithPlaceAndRemedy) {
  const std::string good = write_learned(example());
  ASSERT_EQ(refusal(good), "accepted");
  EXPECT_NE(refusal(good.substr(0, good.size() / 2)).find("the file was cut off; write it anew"), std::string::npos)
      << refusal(good.substr(0, good.size() / 2));
  EXPECT_NE(refusal(replaced(good, "\"invar_learned\": 2", "\"invar_learned\": 1"))
                .find("is of version 1, this program reads version 2; learn anew"),
            std::string::npos);
  EXPECT_NE(refusal("{}").find("is not a learned model"), std::string::npos);
  EXPECT_NE(refusal(replaced(good, "\"drag\"", "\"drug\"")).find("/load/1/kind: 'drug' is unknown to this version"),
            std::string::npos)
      << refusal(replaced(good, "\"drag\"", "\"drug\""));
  EXPECT_NE(
      refusal(replaced(good, "\"noise\": ", "\"noise\": null, \"was\": ")).find("/from/noise: expected a number, found null"),
      std::string::npos);
  EXPECT_NE(refusal(replaced(good, "\"noise\": ", "\"nois\": 0, \"noise\": "))
                .find("/from/nois: the key is unknown; did you mean 'noise'?"),
            std::string::npos)
      << refusal(replaced(good, "\"noise\": ", "\"nois\": 0, \"noise\": "));
  EXPECT_NE(
      refusal(replaced(good, "\"noise\": ", "\"noise\": 7, \"noise\": ")).find("the key 'noise' stands twice in one object"),
      std::string::npos);
  EXPECT_NE(refusal(replaced(good, "\"runs\": 20", "\"runs\": 2")).find("0.9 takes 9 runs"), std::string::npos);
  EXPECT_NE(refusal(replaced(good, "\"settling\": 4", "\"settling\": -4")).find("no negative time"), std::string::npos);
  EXPECT_NE(refusal(replaced(good, "\"coefficients\": [", "\"coefficients\": [1, ")).find("labels"), std::string::npos);
  EXPECT_NE(refusal(replaced(good, "\"learned\": true", "\"learned\": false"))
                .find("/learned: it says that nothing was learned, beside edits or a load"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(good, "\"kinds\": [", "\"kinds\": [\"free\", ")).find("one kind per joint"), std::string::npos);
}

// What files did not tell in the beginning: where joints are, gravity, the largest remainder of a calibration; and an error on
// held-out runs where there were none.
TEST(LearnedFile, OfLessIsRead) {
  Learned less = example();
  less.nominal.ends.clear(), less.nominal.kinds.clear(), less.largest_remainder = std::nan("");
  less.from.held_out.clear(), less.from.held_out_error = std::nan("");
  const std::string text = write_learned(less);
  for (const char* key : {"\"ends\"", "\"largest\"", "\"held_out_error\"", "null"})
    EXPECT_EQ(text.find(key), std::string::npos) << key;
  const auto read = parse_learned(text, "here");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(write_learned(*read), text);
  EXPECT_TRUE(std::isnan(read->from.held_out_error) && std::isnan(read->largest_remainder) && read->nominal.ends.empty());
}

// Cut anywhere, a file is refused, and no byte of it is believed.
TEST(LearnedFile, CutAnywhereIsRefused) {
  const std::string good = write_learned(example());
  for (std::size_t n = 0; n + 2 < good.size(); n += 97) EXPECT_NE(refusal(good.substr(0, n)), "accepted") << n;
}

TEST(FuzzLearnedFiles, AreRefusedInWordsOrUsable) {
  const std::string good = write_learned(example());
  const auto model = std::make_shared<const Model>(build(UnknownLoad::reference().nominal));
  const DataSet data = excited(UnknownLoad::reference(), 17402, 1, 1, 0);
  Random random(seed(17410));
  int refused = 0;
  for (int k = 0; k < cases(300); ++k) {
    const std::string text = k % 2 == 0 ? damaged(good, good, random) : with_other_number(good, random);
    const auto read = parse_learned(text, "damaged");
    if (!read) {
      EXPECT_FALSE(read.error().what.empty());
      ++refused;
      continue;
    }
    auto load = LearnedLoad::build(model, std::make_shared<const Learned>(*read));
    if (!load) {
      EXPECT_FALSE(load.error().what.empty());
      continue;
    }
    const std::vector<Vec3> posts(read->obstacles.size(), Vec3(1, 2, 0));
    load->set_around({Vec3::Zero(), posts, {}, nullptr});
    Load acting(*model);
    load->add(0.0, data.runs[0].samples[0].bodies, acting);
  }
  EXPECT_GT(refused, 0);
}

// A table of one run as somebody would write it.
std::string table_of(const Model& model, const DataRun& run, bool accelerations = true) {
  std::string head = "time", rows;
  const char* axes[] = {"x", "y", "z"};
  for (const Body& b : model.bodies()) {
    head += fmt::format(",{0}.qw,{0}.qx,{0}.qy,{0}.qz", b.name);
    for (const char* what : {"p", "v", "w", "f", "m"})
      for (const char* axis : axes) head += fmt::format(",{}.{}{}", b.name, what, axis);
    for (const char* what : {"a", "alpha"})
      for (const char* axis : axes)
        if (accelerations) head += fmt::format(",{}.{}{}", b.name, what, axis);
  }
  for (const DataSample& s : run.samples) {
    rows += fmt::format("{}", s.t);
    for (std::size_t b = 0; b < s.bodies.size(); ++b) {
      const BodyState& at = s.bodies[b];
      rows += fmt::format(",{},{},{},{}", at.q_WB.w(), at.q_WB.x(), at.q_WB.y(), at.q_WB.z());
      std::vector<Vec3> list = {at.p_WC, at.v_WC, at.w_WB, s.port[b].force, s.port[b].moment};
      if (accelerations) list.push_back(s.accelerations[b].a_WC), list.push_back(s.accelerations[b].alpha_WB);
      for (const Vec3& v : list) rows += fmt::format(",{},{},{}", v.x(), v.y(), v.z());
    }
    rows += "\n";
  }
  return head + "\n" + rows;
}

struct Written {
  Folder folder;
  UnknownLoad load = UnknownLoad::reference();
  Model model = build(load.nominal);
  DataSet data = excited(load, 17420, 3, 12, 0.05);

  explicit Written(const std::string& more = "") {
    for (std::size_t r = 0; r < data.runs.size(); ++r)
      write_file(folder / fmt::format("run{}.csv", r + 1), table_of(model, data.runs[r]));
    toml(more);
  }
  void toml(const std::string& terms, const std::string& top = "", const std::string& third = "run3.csv") const {
    write_file(folder / "arm.toml", fmt::format("model = \"{}/models/paper_a_arm.toml\"\n{}\n[[data]]\nfile = \"run1.csv\"\n"
                                                "[[data]]\nfile = \"run2.csv\"\n[[data]]\nfile = \"{}\"\nheld_out = true\n{}",
                                                source_path(), top, third, terms));
  }
  std::string refusal() const {
    const auto read = read_learn_file(folder / "arm.toml");
    return read ? "accepted" : read.error().text();
  }
};

constexpr const char* kDrag = "[[term]]\nkind = \"drag\"\n";

TEST(LearnFile, ReadsTablesToTheBit) {
  const Written w(kDrag);
  const auto file = read_learn_file(w.folder / "arm.toml");
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_EQ(file->data.runs.size(), 3u);
  EXPECT_EQ(file->spec.held_out, std::vector<int>{2});
  EXPECT_EQ(file->data.hash(), w.data.hash());
}

TEST(LearnFile, RefusesWithPlaceAndRemedy) {
  Written w("[[term]]\nkind = \"drug\"\n");
  EXPECT_NE(w.refusal().find("did you mean 'drag'"), std::string::npos) << w.refusal();
  w.toml("[[term]]\nkind = \"drag\"\non = [\"body7\"]\n");
  EXPECT_NE(w.refusal().find("arm.toml:12:6"), std::string::npos) << w.refusal();
  EXPECT_NE(w.refusal().find("there is no body 'body7'"), std::string::npos);
  w.toml("[[term]]\nkind = \"drag\"\non = [\"body2\", \"body1\", \"body2\"]\n");
  EXPECT_NE(w.refusal().find("arm.toml:12:6: term 'drag': body 'body2' is named twice"), std::string::npos) << w.refusal();
  w.toml("");
  EXPECT_NE(w.refusal().find("no [[term]]"), std::string::npos) << w.refusal();
  w.toml(kDrag, "window = 4");
  EXPECT_NE(w.refusal().find("3, 5, 7"), std::string::npos) << w.refusal();
  w.toml(kDrag, "windw = 5");
  EXPECT_NE(w.refusal().find("did you mean 'window'"), std::string::npos) << w.refusal();
  w.toml(kDrag, "", "nowhere.csv");
  EXPECT_NE(w.refusal().find("nowhere.csv"), std::string::npos) << w.refusal();
  // Tables without accelerations need a window; a column that is missing is named with its file and line.
  write_file(w.folder / "run3.csv", table_of(w.model, w.data.runs[2], false));
  w.toml(kDrag);
  EXPECT_NE(w.refusal().find(
                "run3.csv:1: there is no column 'body1.ax': accelerations are measured, or made from velocities by a 'window'"),
            std::string::npos)
      << w.refusal();
  write_file(w.folder / "run3.csv", replaced(table_of(w.model, w.data.runs[2]), "body3.vx", "body3.speed"));
  EXPECT_NE(w.refusal().find("there is no column 'body3.vx'"), std::string::npos) << w.refusal();
  std::string nan = table_of(w.model, w.data.runs[2]);
  nan.replace(nan.rfind(','), std::string::npos, ",nan\n");
  write_file(w.folder / "run3.csv", nan);
  EXPECT_NE(w.refusal().find("run3.csv:13"), std::string::npos) << w.refusal();
}

// A vector with components missing is none, whatever would be taken for the rest; columns that nothing reads are named.
TEST(DataFiles, TablesHaveWholeVectorsAndNoStrangers) {
  const Written w(kDrag);
  const std::string good = table_of(w.model, w.data.runs[2]);
  const auto read = [&](const std::string& text) {
    write_file(w.folder / "table.csv", text);
    return read_run(w.model, w.folder / "table.csv", {});
  };
  const auto whole = read(good);
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(whole->remark, "");
  const auto half = read(replaced(good, "body3.fy", "body3.lateral"));
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().text().find("table.csv:1: there is a column 'body3.fx', but none 'body3.fy'"), std::string::npos)
      << half.error().text();
  std::string without = good;
  for (const char* axis : {"x", "y", "z"})
    without = replaced(without, fmt::format("body3.f{}", axis), fmt::format("body3.F{}", axis));
  const auto strange = read(without);
  ASSERT_TRUE(strange) << strange.error().text();
  EXPECT_NE(strange->remark.find("has columns that say nothing here: 'body3.Fx', 'body3.Fy', 'body3.Fz'"), std::string::npos)
      << strange->remark;
  EXPECT_NE(strange->remark.find("did you mean"), std::string::npos) << strange->remark;
  EXPECT_EQ(strange->samples[0].port[2].force.norm(), 0);
  const auto description = read_run(w.model, w.folder / "arm.toml", {});
  ASSERT_FALSE(description);
  EXPECT_NE(description.error().text().find("name the directory that `invar run` wrote"), std::string::npos)
      << description.error().text();
}

// What no measurement of this mechanism can be is refused with run and sample, before anything is learned from it.
TEST(DataSets, AreRefusedWithRunAndSample) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  const DataSet good = excited(u, 17433, 2, 6, 0.05);
  ASSERT_TRUE(check(good, model));
  const auto refused = [&](auto&& change) {
    DataSet data = good;
    data.runs[1].name = "second";
    change(data);
    const auto fine = check(data, model);
    return fine ? std::string("accepted") : fine.error().text();
  };
  const auto expect = [&](const char* words, auto&& change) {
    const std::string said = refused(change);
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  EXPECT_EQ(refused([](DataSet&) {}), "accepted");
  expect("there are no runs to learn from", [](DataSet& d) { d.runs.clear(); });
  expect("'second'", [](DataSet& d) { d.runs[1].samples.clear(); });
  expect("sample 4 of run 'second': time runs from",
         [](DataSet& d) { std::swap(d.runs[1].samples[2].t, d.runs[1].samples[3].t); });
  expect("sample 2 of run 'second': a number is not finite",
         [](DataSet& d) { d.runs[1].samples[1].port[3].moment.y() = std::nan(""); });
  expect("sample 2 of run 'second': a number is beyond 1e15",
         [](DataSet& d) { d.runs[1].samples[1].accelerations[3].a_WC.y() = -1e16; });
  expect("the quaternion of body 'body2' has norm", [](DataSet& d) { d.runs[1].samples[1].bodies[1].q_WB.coeffs() *= 1.01; });
  expect("efforts, the model", [](DataSet& d) { d.runs[1].samples[1].efforts.conservativeResize(3); });
  // Poses of another mechanism: a body half of its own length away.
  expect("sample 5 of run 'second': joint '", [](DataSet& d) { d.runs[1].samples[4].bodies[3].p_WC.x() += 0.4; });
  // A run counts once.
  expect("are the same, number by number", [](DataSet& d) { d.runs[1].samples = d.runs[0].samples; });
}

// Joints that noise of measured poses opens a little are learned from, and that is said.
TEST(DataSets, OpenJointsAreSaid) {
  const Written w;
  DataSet data = w.data;
  const auto notes = [&] {
    LearnSpec spec;
    spec.terms = {term(TermKind::Drag)};
    const auto result = learn(w.load.nominal, w.model, data, spec);
    EXPECT_TRUE(result) << (result ? "" : result.error().text());
    return result ? result->learned.notes : std::vector<std::string>();
  };
  const auto says_open = [](const std::vector<std::string>& all) {
    return std::any_of(all.begin(), all.end(),
                       [](const std::string& s) { return s.find("is open by up to") != std::string::npos; });
  };
  EXPECT_FALSE(says_open(notes()));
  data.runs[1].samples[3].bodies[2].p_WC.z() += 0.02;
  EXPECT_TRUE(says_open(notes()));
}

// Velocities that joints forbid are not of this mechanism: units, signs, centres. Noise of a few parts in a hundred is said, and
// that of a mechanism that rests is no reason to refuse, however large a part of its velocities it is.
TEST(DataSets, VelocitiesThatJointsForbidAreRefusedOrSaid) {
  const Written w;
  const auto said = [&](const DataSet& data) {
    LearnSpec spec;
    spec.terms = {term(TermKind::Drag)};
    const auto result = learn(w.load.nominal, w.model, data, spec);
    return result ? fmt::format("{}", fmt::join(result->learned.notes, "; ")) : result.error().text();
  };
  const auto changed = [&](auto&& change) {
    DataSet data = w.data;
    data.runs[1].name = "second";
    for (DataSample& s : data.runs[1].samples) change(s);
    return data;
  };
  EXPECT_EQ(said(w.data).find("forbid"), std::string::npos) << said(w.data);
  for (const double factor : {180 / 3.14159265358979, -1.0}) {
    const std::string why = said(changed([&](DataSample& s) { s.bodies[2].w_WB *= factor; }));
    EXPECT_NE(why.find("of run 'second': joint 'joint"), std::string::npos) << why;
    EXPECT_NE(why.find("is torn open at"), std::string::npos) << why;
  }
  Random random(17460);
  const auto drawn = [&] { return Vec3(random.normal(), random.normal(), random.normal()); };
  double fastest = 0;
  for (const DataRun& run : w.data.runs) fastest = std::max(fastest, torn(run, w.model).moving);
  const std::string note = said(changed([&](DataSample& s) {
    for (BodyState& x : s.bodies) x.v_WC += 0.05 * fastest * drawn(), x.w_WB += 0.05 * fastest * drawn();
  }));
  EXPECT_NE(note.find("second: joints forbid"), std::string::npos) << note;
  EXPECT_EQ(note.find("torn open"), std::string::npos) << note;
  DataSet still = w.data;
  for (DataRun& run : still.runs)
    for (DataSample& s : run.samples)
      for (BodyState& x : s.bodies) x.v_WC = 1e-3 * fastest * drawn(), x.w_WB = 1e-3 * fastest * drawn();
  const Torn t = torn(still.runs[1], w.model);
  EXPECT_GT(t.forbidden, 0.5 * t.moving) << "noise alone";
  EXPECT_EQ(said(still).find("torn open"), std::string::npos) << said(still);
}

// Two drawn arms on the ground that a gear or a curved coupling connects, each in a plane of its own.
struct Geared {
  ModelSpec spec;
  double ratio, bend;

  explicit Geared(Random& random) : ratio(random.uniform(0.5, 2)), bend(random.uniform(-0.3, 0.3)) {
    spec.name = "gear";
    for (const char* name : {"a", "b"}) {
      BodySpec body;
      body.name = name, body.inertia = random_inertia(random, random.uniform(0.5, 2), 0.5);
      if (random.uniform(0, 1) < 0.5) body.inertia.p_BC.setZero();
      spec.bodies.push_back(body);
      JointSpec joint;
      joint.name = std::string("j") + name, joint.kind = JointKind::Revolute, joint.child = name;
      joint.axis = random_unit(random), joint.at_parent.p = random_vector(random, 1);
      spec.joints.push_back(joint);
    }
    CouplingSpec coupling;
    coupling.name = "g", coupling.joint = "jb", coupling.of = "ja", coupling.coefficients = {0, ratio, bend};
    spec.couplings.push_back(coupling);
  }
  // Three swings; the rate of the driven arm is `factor` times what the coupling asks for.
  DataSet data(const Model& model, double factor) const {
    DataSet out;
    for (int r = 0; r < 3; ++r) {
      DataRun& run = out.runs.emplace_back();
      run.name = "run" + std::to_string(r + 1);
      for (int i = 0; i < 30; ++i) {
        JointState joints = JointState::initial(model);
        const double t = 0.1 * i, a = std::sin((1 + 0.2 * r) * t), rate = (1 + 0.2 * r) * std::cos((1 + 0.2 * r) * t);
        joints.q = VecX{{a, ratio * a + bend * a * a}}, joints.v = VecX{{rate, factor * (ratio + 2 * bend * a) * rate}};
        joints.known = {true, true};
        DataSample& s = run.samples.emplace_back();
        s.t = t, s.bodies = place(model, joints);
        s.accelerations.resize(2), s.port.resize(2), s.efforts = VecX::Zero(2);
        for (std::size_t b = 0; b < 2; ++b) s.port[b].moment = (1 + rate) * s.bodies[b].w_WB;
      }
    }
    return out;
  }
};

// No joint is torn by rates that contradict a coupling, which is named, whatever rounding leaves on the rows of joints.
TEST(DataSets, RatesThatContradictACouplingAreRefusedByItsName) {
  Random random(17470);
  for (int k = 0; k < cases(12); ++k) {
    const Geared g(random);
    const Model model = build(g.spec);
    EXPECT_TRUE(check(g.data(model, 1), model)) << k;
    for (const double factor : {5.0, -1.0}) {
      const auto bad = check(g.data(model, factor), model);
      ASSERT_FALSE(bad) << k << " " << factor;
      EXPECT_NE(bad.error().what.find("coupling 'g' is torn open at"), std::string::npos) << bad.error().text();
    }
    // A little is said: the nearest rates forbid a part of 0.08 of the driven ones that the masses decide.
    LearnSpec spec;
    spec.terms = {term(TermKind::JointViscous)};
    const auto little = learn(g.spec, model, g.data(model, 1.1), spec);
    ASSERT_TRUE(little) << little.error().text();
    const std::string notes = fmt::format("{}", fmt::join(little->learned.notes, "; "));
    const Torn t = torn(g.data(model, 1.1).runs[0], model);
    EXPECT_EQ(t.coupling, 0);
    const bool much = t.forbidden > 0.015 * t.moving;
    EXPECT_TRUE(!much || notes.find("most at coupling 'g'") != std::string::npos) << notes;
  }
}

// What is much of a velocity all runs say together. Slow ones that were taken so, noise of theirs and all, are compared, too.
TEST(DataSets, SlowRunsAreComparedLikeAllOthers) {
  const Written w;
  Random random(17480);
  const auto drawn = [&] { return Vec3(random.normal(), random.normal(), random.normal()); };
  DataSet data = w.data;
  double fastest = 0;
  for (const DataRun& run : data.runs) fastest = std::max(fastest, torn(run, w.model).moving);
  for (const std::size_t r : {0u, 1u})
    for (DataSample& s : data.runs[r].samples)
      for (BodyState& x : s.bodies) x.v_WC = 0.02 * fastest * drawn(), x.w_WB = 0.02 * fastest * drawn();
  ASSERT_TRUE(check(data, w.model));
  DataSet slow = data;
  slow.runs.pop_back();
  ASSERT_FALSE(check(slow, w.model)) << "alone they are nothing but noise";
  LearnSpec spec;
  spec.terms = {term(TermKind::Drag)};
  spec.held_out = {1}, spec.judges = {2};
  const Rivals comparison(w.load.nominal, w.model, data, spec, {.training = {0}, .held_out = {1}, .judges = {2}, .worlds = {}},
                          {});
  const auto done = comparison.of_terms(spec.terms, 0);
  EXPECT_TRUE(done) << done.error().text();
}

// A body that the fit takes all mass from is not what was learned: it stays nominal, and that is said.
TEST(Learned, BodiesKeepTheirMass) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  TermSpec inertias = term(TermKind::Inertia);
  inertias.on = {"body2", "body5"};
  const auto terms = Terms::build(model, {inertias});
  ASSERT_TRUE(terms);
  Fit found;
  found.coefficients = VecX::Zero(terms->columns()), found.learned = true;
  found.coefficients[0] = 0.5, found.coefficients[10] = -6;
  const auto learned = conclude(u.nominal, model, *terms, found, {}, {});
  ASSERT_TRUE(learned) << learned.error().text();
  ASSERT_EQ(learned->edits.size(), 1u);
  EXPECT_EQ(std::get<SetInertia>(learned->edits[0]).body, "body2");
  ASSERT_FALSE(learned->notes.empty());
  EXPECT_NE(learned->notes.back().find("mass of 'body5' would be -"), std::string::npos) << learned->notes.back();
}

TEST(LearnFile, LearnsWhatItIsToldAndSaysHowWell) {
  const Written w("[[term]]\nkind = \"inertia\"\n[[term]]\nkind = \"joint_viscous\"\n[[term]]\nkind = \"joint_coulomb\"\n" +
                  std::string(kDrag) + "[fit]\npassive = true\n");
  auto file = read_learn_file(w.folder / "arm.toml");
  ASSERT_TRUE(file) << file.error().text();
  const auto result = learn(file->nominal, *file->model, file->data, file->spec, file->actuators);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_LT(result->fit.held_out, 0.3);
  EXPECT_GT(result->identified, result->fit.held_out);
  EXPECT_EQ(result->learned.terms.size(), 1u);
  EXPECT_EQ(result->learned.edits.size(), 9u);
}

// Numbers that every sample of a recording has beside the bodies.
struct Beside {
  std::string path;
  std::vector<double> value;
};

// A recording of the bodies, with or without the wrenches on them, and of what is told beside.
void write_log(const std::string& path, const Model& model, const DataRun& run, const std::string& scene,
               const std::vector<Beside>& beside = {}, bool wrenches = true) {
  Layout layout;
  layout.channels = {{"time", "s", "", 1}};
  const std::pair<const char*, int> parts[] = {{"p", 3}, {"q", 4},     {"v", 3},     {"w", 3},
                                               {"a", 3}, {"alpha", 3}, {"force", 3}, {"moment", 3}};
  for (const Body& b : model.bodies())
    for (const auto& [part, size] : parts)
      if (wrenches || (std::string_view(part) != "force" && std::string_view(part) != "moment"))
        layout.channels.push_back({"bodies/" + b.name + "/" + part, "1", "", size});
  for (const Beside& more : beside) layout.channels.push_back({more.path, "1", "", static_cast<int>(more.value.size())});
  LogWriter log(path, scene);
  ASSERT_TRUE(log.begin(layout));
  for (const DataSample& s : run.samples) {
    std::vector<double> row = {s.t};
    const auto add = [&](const Vec3& v) { row.insert(row.end(), v.data(), v.data() + 3); };
    for (std::size_t b = 0; b < s.bodies.size(); ++b) {
      const BodyState& at = s.bodies[b];
      add(at.p_WC);
      for (const double x : {at.q_WB.w(), at.q_WB.x(), at.q_WB.y(), at.q_WB.z()}) row.push_back(x);
      add(at.v_WC), add(at.w_WB), add(s.accelerations[b].a_WC), add(s.accelerations[b].alpha_WB);
      if (wrenches) add(s.port[b].force), add(s.port[b].moment);
    }
    for (const Beside& more : beside) row.insert(row.end(), more.value.begin(), more.value.end());
    ASSERT_TRUE(log.sample(row));
  }
  ASSERT_TRUE(log.end());
}

// What a log holds and what is made of it are the same run.
TEST(DataFiles, ReadLogsAndHdf5Alike) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  const DataSet data = excited(u, 17430, 1, 7, 0);
  Folder folder;
  write_log(folder / "run.log", model, data.runs[0], {});
  auto reader = LogReader::open(folder / "run.log");
  ASSERT_TRUE(reader);
  ASSERT_TRUE(write_hdf5(*reader, folder / "run.h5"));
  for (const std::string& path : {folder.path(), folder / "run.log", folder / "run.h5"}) {
    const auto run = read_run(model, path, {});
    ASSERT_TRUE(run) << run.error().text();
    DataSet read;
    read.runs = {*run};
    EXPECT_EQ(read.hash(), data.hash()) << path;
  }
  DataFileOptions unknown;
  unknown.loads = false;
  const auto bare = read_run(model, folder / "run.h5", unknown);
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->samples[0].port[0].force.norm(), 0);
  write_file(folder / "cut.h5", read_file(folder / "run.h5").substr(0, 700));
  const auto cut = read_run(model, folder / "cut.h5", {});
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().text().find("invar report"), std::string::npos);
}

// A plant records its own centres of mass, which a payload moves, from an edit on elsewhere; what is read speaks of the nominal
// ones. The origin of a body's frame moves the same, and the wrench about it is the same.
TEST(DataFiles, RecordedCentresOfMassAreThoseOfThePlant) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  const DataRun recorded = excited(u, 17431, 1, 7, 0).runs[0];
  const Vec3 first(0.3, -0.2, 0.1), then(-0.1, 0.4, 0.2);
  const double edit = 0.5 * (recorded.samples[2].t + recorded.samples[3].t);
  Folder folder;
  write_log(
      folder / "run.log", model, recorded,
      fmt::format(
          R"({{"bodies": [{{"name": "body5", "com": [0.3, -0.2, 0.1], "weighed": [{{"from": {}, "com": [-0.1, 0.4, 0.2]}}]}}]}})",
          edit));
  auto reader = LogReader::open(folder / "run.log");
  ASSERT_TRUE(reader);
  ASSERT_TRUE(write_hdf5(*reader, folder / "run.h5"));
  for (const char* file : {"run.log", "run.h5"}) {
    const auto run = read_run(model, folder / file, {});
    ASSERT_TRUE(run) << run.error().text();
    EXPECT_EQ(run->remark, "");
    ASSERT_EQ(run->samples.size(), recorded.samples.size());
    for (std::size_t i = 0; i < run->samples.size(); ++i) {
      const DataSample &was = recorded.samples[i], &is = run->samples[i];
      EXPECT_EQ(is.bodies[0].p_WC, was.bodies[0].p_WC);
      const auto origin = [](const DataSample& s, const Vec3& com) {
        const BodyState& x = s.bodies[4];
        const Vec3 arm = -(x.q_WB * com);
        Eigen::Matrix<double, 12, 1> out;
        out << x.p_WC + arm, x.v_WC + x.w_WB.cross(arm),
            s.accelerations[4].a_WC + s.accelerations[4].alpha_WB.cross(arm) + x.w_WB.cross(x.w_WB.cross(arm)),
            s.port[4].moment - arm.cross(s.port[4].force);
        return out;
      };
      const auto as_recorded = origin(was, was.t < edit ? first : then);
      EXPECT_LE((origin(is, model.bodies()[4].inertia.p_BC) - as_recorded).norm(), 1e-14 * (1 + as_recorded.norm())) << i;
    }
  }
  std::filesystem::remove(folder / "run.log");
  const auto alone = read_run(model, folder / "run.h5", {});
  ASSERT_TRUE(alone);
  EXPECT_NE(alone->remark.find("does not say where its centres of mass are"), std::string::npos);
}

struct Recorded {
  Folder folder;
  UnknownLoad load = UnknownLoad::reference();
  Model model = build(load.nominal);
  DataRun run = excited(load, 17432, 1, 3, 0).runs[0];

  DataRun read(const std::vector<Beside>& beside, bool wrenches = true, const DataFileOptions& options = {}) const {
    const Vec3& com = model.bodies()[4].inertia.p_BC;
    const std::string scene =
        fmt::format(R"({{"bodies": [{{"name": "body5", "com": [{}, {}, {}]}}]}})", com.x(), com.y(), com.z());
    write_log(folder / "run.log", model, run, scene, beside, wrenches);
    const auto out = read_run(model, folder / "run.log", options);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out.value_or(DataRun{});
  }
  std::string refusal(const std::vector<Beside>& beside) const {
    write_log(folder / "run.log", model, run, {}, beside);
    const auto out = read_run(model, folder / "run.log", {});
    return out ? "read" : out.error().text();
  }
};

// Drag is learned relative to what a meter says of the water. A flow that nobody measured is not used, and that is said.
TEST(DataFiles, FlowOfARecordingIsTheMeasuredOne) {
  const Recorded r;
  const Beside truth{"flow/velocity", {0.3, -0.2, 0.1}}, meter{"flow/measured", {0.31, -0.19, 0.1}};
  const DataRun measured = r.read({truth, meter}), unmeasured = r.read({truth}), still = r.read({{"flow/velocity", {0, 0, 0}}});
  EXPECT_EQ(measured.samples[1].flow, Vec3(0.31, -0.19, 0.1));
  EXPECT_EQ(measured.remark, "");
  EXPECT_EQ(unmeasured.samples[1].flow, Vec3(0, 0, 0));
  EXPECT_NE(unmeasured.remark.find("nobody measured it"), std::string::npos) << unmeasured.remark;
  EXPECT_EQ(still.remark, "");
}

// What a recording leaves open is said; where nothing is left open nothing is said.
TEST(DataFiles, WhatARecordingLeavesOpenIsSaid) {
  const Recorded r;
  const auto says = [](const DataRun& run, const char* what) { return run.remark.find(what) != std::string::npos; };
  const Beside work{"energy/work", {0.5}}, rest{"energy/work", {0}};
  EXPECT_TRUE(says(r.read({work}, false), "has no wrenches on its bodies"));
  EXPECT_EQ(r.read({rest}, false).remark, "");
  DataFileOptions unknown;
  unknown.loads = false;
  EXPECT_EQ(r.read({work}, false, unknown).remark, "");

  // An effort without an input of the same name: whose it is cannot be told.
  const Joint& joint = *std::find_if(r.model.joints().begin(), r.model.joints().end(), [](const Joint& j) { return j.nv == 3; });
  const Beside effort{"joints/" + joint.name + "/effort", {0, 1.5, 0}};
  const Beside idle{"joints/" + joint.name + "/effort", {0, 0, 0}};
  const Beside input{"control/arm/input_" + freedom_name(joint, 1), {1.25}},
      second{"control/hand/input_" + freedom_name(joint, 1), {0.5}};
  EXPECT_TRUE(says(r.read({effort}), ("what motors do in '" + joint.name + "'").c_str()));
  EXPECT_EQ(r.read({idle}).remark, "");
  const DataRun resolved = r.read({effort, input, second});
  EXPECT_EQ(resolved.remark, "");
  EXPECT_EQ(resolved.samples[0].efforts[joint.v0 + 1], 1.75);
  const DataRun both = r.read({work, effort}, false);
  EXPECT_TRUE(says(both, "; does not tell")) << both.remark;
  // A law that commands efforts without actuators records no input.
  EXPECT_TRUE(says(r.read({{"control/arm/V", {1}}}), "what motors do in"));
}

// Inputs of laws in freedoms that nobody recorded would be learned as loads. Laws that follow bodies push on these, which
// wrenches tell, and a law with actuators records inputs by their names.
TEST(DataFiles, LawsInFreedomsWithoutInputsAreRefused) {
  const Recorded r;
  const Joint& joint = *std::find_if(r.model.joints().begin(), r.model.joints().end(), [](const Joint& j) { return j.nv == 3; });
  const Beside wanted{"control/arm/reference_" + freedom_name(joint, 1), {0.5}}, input{"control/arm/input_winch", {1}},
      elsewhere{"control/hand/input_winch", {1}}, point{"control/arm/reference_" + freedom_name(joint, 1), {0.5, 0, 0}};
  EXPECT_EQ(r.refusal({wanted, input}), "read");
  EXPECT_EQ(r.refusal({point}), "read");
  for (const std::vector<Beside>& beside : {std::vector<Beside>{wanted}, {wanted, elsewhere}}) {
    const std::string why = r.refusal(beside);
    EXPECT_NE(why.find("a controller commands joint '" + joint.name + "', but its input is not recorded"), std::string::npos)
        << why;
    EXPECT_NE(why.find("run.log: "), std::string::npos) << why;
  }
}

// A log that just stops is learned from, and that is said.
TEST(DataFiles, LogsThatWereCutOffAreSaid) {
  const Recorded r;
  const DataRun whole = r.read({});
  const std::string log = read_file(r.folder / "run.log");
  write_file(r.folder / "run.log", log.substr(0, log.size() * 3 / 4));
  const auto cut = read_run(r.model, r.folder / "run.log", {});
  ASSERT_TRUE(cut) << cut.error().text();
  EXPECT_LT(cut->samples.size(), whole.samples.size());
  EXPECT_NE(cut->remark.find(fmt::format("was cut off behind {:g} s", cut->samples.back().t)), std::string::npos) << cut->remark;
}

// Actuators of the options do what their recorded inputs ask for, as they are told, wherever the recording itself does not tell
// their wrenches: otherwise the whole push would be learned as a gain.
TEST(DataFiles, ActuatorsActWithTheirRecordedInputs) {
  const Recorded r;
  const Joint& joint = *std::find_if(r.model.joints().begin(), r.model.joints().end(), [](const Joint& j) { return j.nv == 3; });
  ActuatorSpec motor, line;
  motor.name = "drive", motor.joint = joint.name, motor.freedom = 2;
  line.kind = ActuatorSpec::Kind::Cylinder, line.name = "winch";
  line.points = {PointSpec{"body1", "", Vec3(0.1, 0, 0)}, PointSpec{"body5", "", Vec3(0, 0.2, 0)}};
  DataFileOptions options;
  auto actuators = build_actuators(r.model, {motor, line});
  ASSERT_TRUE(actuators) << actuators.error().text();
  options.actuators = *actuators;
  const std::vector<Beside> inputs = {{"control/arm/input_drive", {0.75}}, {"control/arm/input_winch", {4}}};
  const DataRun known = r.read(inputs, true, options);
  options.loads = false;
  const DataRun unknown = r.read(inputs, true, options);
  for (std::size_t i = 0; i < known.samples.size(); ++i) {
    EXPECT_EQ(known.samples[i].efforts[joint.v0 + 2], 0.75);
    EXPECT_EQ(unknown.samples[i].efforts[joint.v0 + 2], 0.75);
    EXPECT_EQ(known.samples[i].inputs, (std::vector<double>{0.75, 4}));
    Load push(r.model);
    options.actuators[1].add(unknown.samples[i].bodies, 4, push);
    for (std::size_t b = 0; b < push.port.size(); ++b) {
      EXPECT_EQ(unknown.samples[i].port[b].force, push.port[b].force);
      EXPECT_EQ(unknown.samples[i].port[b].moment, push.port[b].moment);
    }
    // The recording's own wrenches have the pushes in them.
    EXPECT_EQ(known.samples[i].port[0].force, r.run.samples[i].port[0].force);
  }
  EXPECT_GT(unknown.samples[0].port[0].force.norm(), 3.9);
}

// A nozzle that gives four fifths of what it is told, in a run of its own: the gain is found where wrenches are unknown. Known
// wrenches have the error in them, so that nothing would be found: refused.
TEST(LearnFile, FindsTheGainOfAMountedActuatorFromARecording) {
  const Folder folder;
  const std::string model = fmt::format("model = \"{}/models/pendulum.toml\"\n", source_path());
  const std::string nozzle = "kind = \"force\", frame = \"tip\", direction = [1, 0, 0]";
  for (const char* frequency : {"0.31", "0.47"}) {
    const auto s = parse_scenario(
        model + fmt::format("[integrator]\nmethod = \"dopri5\"\n[time]\nend = 2\n[record]\nevery = 0.05\nwhat = [\"bodies\", "
                            "\"accelerations\", \"loads\"]\n"
                            "[[control]]\nname = \"arm\"\nlaw = \"computed_torque\"\nnominal = \"{}/models/pendulum.toml\"\n"
                            "actuators = [{{ {}, mounted = {{ gain = 0.8 }} }}]\n[[control.joints]]\njoint = \"hinge\"\n"
                            "reference = {{ kind = \"sine\", amplitude = 0.6, frequency = {} }}\nrate = 3\ndamping = 6\n",
                            source_path(), nozzle, frequency),
        folder / "here.toml");
    ASSERT_TRUE(s) << s.error().text();
    LogWriter log(folder / fmt::format("{}.log", frequency), "");
    RunOptions options;
    options.sink = &log;
    const auto done = run(*s, options);
    ASSERT_TRUE(done) << done.error().text();
  }
  const auto told = [&](const char* loads) {
    write_file(folder / "gain.toml",
               model + fmt::format("actuators = [{{ {0} }}]\n[[data]]\nfile = \"0.31.log\"\nloads = \"{1}\"\n"
                                   "[[data]]\nfile = \"0.47.log\"\nloads = \"{1}\"\n"
                                   "[[term]]\nkind = \"actuator_gain\"\n",
                                   nozzle, loads));
    return read_learn_file(folder / "gain.toml");
  };
  const auto file = told("unknown");
  ASSERT_TRUE(file) << file.error().text();
  const auto found = learn(file->nominal, *file->model, file->data, file->spec, file->actuators);
  ASSERT_TRUE(found) << found.error().text();
  // Ridge of 1e-9 of the column's mean square takes 2e-10 away; the rest is room for round-off of accelerations.
  EXPECT_NEAR(found->fit.coefficients[0], -0.2, 1e-8);
  const auto refused = told("known");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("gain.toml:5:9: recorded wrenches"), std::string::npos) << refused.error().text();
  EXPECT_NE(refused.error().text().find("say loads = \"unknown\""), std::string::npos) << refused.error().text();
}

// A nozzle that points elsewhere, in a run of its own. On a hinge only its component across the rod shows: the one turn is found
// to first order, cos δ - sin δ - 1 for -δ where it points 45° off, and of the other it is said that nothing shows.
TEST(LearnFile, FindsTheMisalignmentOfAMountedActuatorFromARecording) {
  const Folder folder;
  const std::string model = fmt::format("model = \"{}/models/pendulum.toml\"\n", source_path());
  const std::string nozzle = "kind = \"force\", frame = \"tip\", direction = [1, 0, -1]";
  for (const char* frequency : {"0.31", "0.47"}) {
    const auto s = parse_scenario(
        model + fmt::format("[integrator]\nmethod = \"dopri5\"\n[time]\nend = 2\n[record]\nevery = 0.05\nwhat = [\"bodies\", "
                            "\"accelerations\", \"loads\"]\n"
                            "[[control]]\nname = \"arm\"\nlaw = \"computed_torque\"\nnominal = \"{}/models/pendulum.toml\"\n"
                            "actuators = [{{ {}, mounted = {{ turn = [0, 0.1, 0] }} }}]\n[[control.joints]]\njoint = \"hinge\"\n"
                            "reference = {{ kind = \"sine\", amplitude = 0.6, frequency = {} }}\nrate = 3\ndamping = 6\n",
                            source_path(), nozzle, frequency),
        folder / "here.toml");
    ASSERT_TRUE(s) << s.error().text();
    LogWriter log(folder / fmt::format("{}.log", frequency), "");
    RunOptions options;
    options.sink = &log;
    const auto done = run(*s, options);
    ASSERT_TRUE(done) << done.error().text();
  }
  write_file(folder / "turn.toml",
             model + fmt::format("actuators = [{{ {} }}]\n[[data]]\nfile = \"0.31.log\"\nloads = \"unknown\"\n"
                                 "[[data]]\nfile = \"0.47.log\"\nloads = \"unknown\"\n[[term]]\n"
                                 "kind = \"actuator_misalignment\"\n",
                                 nozzle));
  const auto file = read_learn_file(folder / "turn.toml");
  ASSERT_TRUE(file) << file.error().text();
  const auto found = learn(file->nominal, *file->model, file->data, file->spec, file->actuators);
  ASSERT_TRUE(found) << found.error().text();
  // The second axis is d × (1, 0, 1)/√2 = -y, hence the sign. Tolerance as for gains.
  EXPECT_NEAR(found->fit.coefficients[1], std::cos(0.1) - std::sin(0.1) - 1, 1e-8);
  EXPECT_EQ(found->fit.coefficients[0], 0);
  ASSERT_EQ(found->learned.undetermined.size(), 1u);
  EXPECT_NE(found->learned.undetermined[0].find("misalignment 1 of actuator"), std::string::npos)
      << found->learned.undetermined[0];
}

// A regression over directions that the data do not determine may have inertias that no rigid body has; the nearest are written,
// and what these leave over is another number. Where the terms are what is unknown, both are the same.
TEST(LearnFile, ErrorIsThatOfWhatIsWritten) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  DataSet data = excited(u, 17440, 3, 12, 0);
  LearnSpec spec;
  spec.terms = {TermSpec{.kind = TermKind::Inertia, .on = {"body5"}, .sharing = Sharing::Each},
                TermSpec{.kind = TermKind::JointViscous}, TermSpec{.kind = TermKind::JointCoulomb},
                TermSpec{.kind = TermKind::Drag}};
  spec.fit.strengths = {1e-10, 1e-10, 1e-10, 1e-10};
  spec.held_out = {2};
  const auto fine = learn(u.nominal, model, data, spec);
  ASSERT_TRUE(fine) << fine.error().text();
  EXPECT_LT(fine->fit.held_out, 0.1);
  EXPECT_NEAR(fine->written, fine->fit.held_out, 0.02 * fine->fit.held_out);
  for (const std::string& note : fine->learned.notes) EXPECT_EQ(note.find("what is written"), std::string::npos) << note;

  // Known wrenches that leave over a share of what masses and moments of inertia take: bodies three times as heavy; of moments
  // below zero, which no rigid ones have: the nearest has none, which is half of what two less would do; of masses below zero,
  // which are not written: nothing was learned then.
  for (const auto& [mass_share, share] : {std::pair(2.0, 2.0), {0.0, -2.0}, {-2.0, -2.0}}) {
    ConstrainedInverse inverse(model);
    Port left(model.bodies().size());
    for (DataRun& run : data.runs)
      for (DataSample& s : run.samples) {
        ASSERT_TRUE(inverse.at(s.bodies).ok());
        left_over(inverse, s.accelerations, s.port, s.efforts, left);
        for (std::size_t b = 0; b < s.bodies.size(); ++b) {
          const Inertia& inertia = model.bodies()[b].inertia;
          const BodyState& x = s.bodies[b];
          const Mat3 R = x.q_WB.toRotationMatrix(), I = R * inertia.I_C * R.transpose();
          const Vec3 spin = I * s.accelerations[b].alpha_WB + x.w_WB.cross(I * x.w_WB);
          const Vec3 push = inertia.mass * (s.accelerations[b].a_WC - model.gravity());
          s.port[b].force += left[b].force + mass_share * push, s.port[b].moment += left[b].moment + share * spin;
        }
      }
    spec.terms.resize(1), spec.fit.strengths.resize(1);
    spec.terms[0].on = {};
    const auto made = learn(u.nominal, model, data, spec);
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_LT(made->fit.held_out, 1e-3);
    const auto noted = [&](const char* what) {
      return std::any_of(made->learned.notes.begin(), made->learned.notes.end(),
                         [&](const std::string& note) { return note.find(what) != std::string::npos; });
    };
    const bool learned = mass_share >= 0;
    if (share > 0) {
      EXPECT_LT(made->written, 1e-6);
    } else {
      EXPECT_NEAR(made->written, learned ? 0.5 : 1, 0.1);
    }
    EXPECT_EQ(noted("what is written leaves"), learned && share < 0);
    EXPECT_EQ(noted("what could be written leaves 1 of the held-out loads"), !learned);
    EXPECT_EQ(noted("what could be written explains nothing of the data"), !learned);
    EXPECT_EQ(noted("its inertia stays the nominal one"), !learned);
    EXPECT_EQ(made->learned.learned, learned);
    EXPECT_EQ(made->learned.edits.empty(), !learned);
    // Table and sentence judge the same.
    const auto worth = worth_of(u.nominal, model, data, spec, *made, {.points = 1, .raw = 0});
    ASSERT_TRUE(worth) << worth.error().text();
    EXPECT_EQ(worth->contenders.back().name, "all terms");
    EXPECT_NEAR(worth->contenders.back().curve.back().unseen, made->written, 1e-9);
    EXPECT_NEAR(worth->contenders.back().curve.back().turned, made->written, 1e-9);
    EXPECT_EQ(pays(*worth), learned);
    EXPECT_EQ(advice(*worth).find("keep the nominal model") != std::string::npos, !learned);
  }
  // Runs that nobody names judge nothing.
  const auto none = error_as_written(u.nominal, model, fine->learned, data, {}, {});
  ASSERT_TRUE(none);
  EXPECT_TRUE(std::isnan(*none));
}

}  // namespace
}  // namespace invar::testing
