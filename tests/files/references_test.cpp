// SPDX-License-Identifier: Apache-2.0
// References in scenario files and in tables of numbers: what is written is what is followed, and what is wrong is said where it
// is.
#include <gtest/gtest.h>

#include <limits>
#include <numbers>

#include "invar/io/csv.hpp"
#include "invar/io/scenario_parts.hpp"
#include "support/campaign.hpp"
#include "support/damage.hpp"
#include "support/folder.hpp"

namespace invar::testing {
namespace {

const char* const kSamples =
    "t, elbow, \"elbow rate\", bend, note\n# recorded by hand\n0, 0.5, 0, 0, a\n0.5,0.75,+1e0,0,b\n\n2,1.5,0,-1.5,c\n";

struct Files {
  Folder folder;
  Files() { write_file(folder / "arm.csv", kSamples); }
};

// The reader's answer and the document's.
template <class T>
struct Answer {
  std::optional<T> value;
  std::string error;  // empty: accepted
};
Answer<Reference> reference(const std::string& toml, const std::string& folder = ".") {
  auto root = parse_toml("r = " + toml, "s.toml");
  if (!root) return {std::nullopt, root.error().text()};
  Answer<Reference> out{read_reference(*root, "r", folder), ""};
  if (auto done = root->finish(); !done) out.error = done.error().text();
  return out;
}
Answer<PoseReference> pose(const std::string& toml, const std::string& folder = ".") {
  auto root = parse_toml(toml, "s.toml");
  if (!root) return {std::nullopt, root.error().text()};
  Answer<PoseReference> out{read_pose_reference(*root, "r", folder), ""};
  if (auto done = root->finish(); !done) out.error = done.error().text();
  return out;
}

void expect_jet(const Answer<Reference>& read, double t, const Jet& want) {
  ASSERT_EQ(read.error, "");
  ASSERT_TRUE(read.value);
  const Jet is = jet(*read.value, t);
  EXPECT_NEAR(is.q, want.q, 1e-14);
  EXPECT_NEAR(is.v, want.v, 1e-14);
  EXPECT_NEAR(is.a, want.a, 1e-13);
}

TEST(ReferenceFiles, SayEveryKindOfReference) {
  const Files f;
  const double w = 2 * std::numbers::pi;
  expect_jet(reference("{ kind = 'constant', value = 0.3 }"), 1, {0.3, 0, 0});
  expect_jet(reference("{ kind = 'sine', frequency = 1, amplitude = 2 }"), 0.25, {2, 0, -2 * w * w});
  expect_jet(reference("{ kind = 'polynomial', coefficients = [1, 2, 3] }"), 2, {17, 14, 6});
  expect_jet(reference("{ kind = 'minimum_jerk', times = [0, 2], values = [1, 3] }"), 1, {2, 1.875, 0});
  expect_jet(reference("{ kind = 'file', path = 'arm.csv', column = 'elbow' }", f.folder.path()), 0,
             {0.5, 0, jet(Reference(Spline({0, 0.5, 2}, {0.5, 0.75, 1.5})), 0.0).a});
  expect_jet(reference("{ kind = 'file', path = 'arm.csv', column = 'elbow', ends = 'natural', time = 't' }", f.folder.path()), 0,
             jet(Reference(Spline({0, 0.5, 2}, {0.5, 0.75, 1.5}, Spline::Ends::Natural)), 0.0));
  expect_jet(reference("{ kind = 'file', path = 'arm.csv', column = 'elbow', rate = 'elbow rate', acceleration = 'bend' }",
                       f.folder.path()),
             0.5, {0.75, 1, 0});
  const auto absent = parse_toml("", "s.toml");
  EXPECT_FALSE(read_reference(*absent, "r", "."));
  EXPECT_TRUE(absent->finish());
}

TEST(ReferenceFiles, SayEveryKindOfPose) {
  const auto at = [](const std::string& toml, double t) {
    const auto read = pose("[r]\n" + toml);
    EXPECT_EQ(read.error, "") << toml;
    return read.value ? jet(*read.value, t) : PoseJet{};
  };
  const auto near = [](const Vec3& is, const Vec3& want) { EXPECT_LE((is - want).norm(), 1e-14) << is.transpose(); };
  const double pi = std::numbers::pi;
  near(at("position = { kind = 'fixed', p = [1, 2, 3] }", 5).p, {1, 2, 3});
  near(at("position = { kind = 'components', x = { kind = 'sine', frequency = 0.25 }, z = { kind = 'constant' } }", 1).p,
       {1, 0, 1});
  near(at("position = { kind = 'waypoints', waypoints = [{ t = 0, p = [0, 0, 0] }, { t = 2, p = [2, 4, 6] }] }", 1).p, {1, 2, 3});
  const std::string circle = "position = { kind = 'circle', centre = [1, 0, 0], radius = 2, start = [1, 0, 0], ";
  near(at(circle + "period = 4 }", 1).p, {1, 2, 0});
  near(at(circle + "period = 4 }", 1).v, {-pi, 0, 0});
  near(at(circle + "normal = [0, 0, -3], period = 4 }", 1).p, {1, -2, 0});
  near(at(circle + "angle = { kind = 'constant', value = 0 } }", 1).p, {3, 0, 0});
  near(at("position = { kind = 'lissajous', centre = [1, 1, 1], amplitudes = [1, 2, 0], frequencies = [0.25, 0.5, 0] }", 1).p,
       {2, 1, 1});
  near(at("at = { p = [0, 0, 1], rpy = [0, 0, 1.5707963267948966] }\nposition = { kind = 'fixed', p = [1, 0, 0] }", 1).p,
       {0, 1, 1});
  EXPECT_NEAR(at("attitude = { kind = 'fixed', rpy = [0.5, 0, 0] }", 1).q.x(), std::sin(0.25), 1e-15);
  near(at("attitude = { kind = 'fixed', q = [0, 1, 0, 0] }", 1).q.vec(), {1, 0, 0});
  // Yaw turns with the clock; the nod that follows it is seen from the yawed frame.
  const PoseJet turns =
      at("attitude = { kind = 'rotations', rotations = [{ axis = [0, 0, 2], angle = { kind = 'constant', value = "
         "1.5707963267948966 } },"
         " { axis = [1, 0, 0], angle = { kind = 'polynomial', coefficients = [0, 0.5] } }] }",
         1);
  near(turns.w, {0, 0.5, 0});
  const PoseJet way = at("attitude = { kind = 'waypoints', waypoints = [{ t = 0 }, { t = 2, rpy = [0, 0.8, 0] }] }", 1);
  near(log_so3(way.q), {0, 0.4, 0});
}

void expect_refused(const std::string& error, const std::string& place, const std::string& words) {
  EXPECT_EQ(error.rfind(place, 0), 0u) << error;
  EXPECT_NE(error.find(words), std::string::npos) << error;
}

TEST(ReferenceFiles, AreRefusedWhereTheyAreWrong) {
  const Files f;
  const auto refused = [&](const std::string& toml, const std::string& place, const std::string& words) {
    const auto read = reference(toml, f.folder.path());
    EXPECT_NE(read.error, "") << toml;
    expect_refused(read.error, "s.toml:" + place, words);
  };
  refused("3", "1:5", "expected a table");
  refused("{ value = 3 }", "1:5", "kind");
  refused("{ kind = 'minimum_jrek', times = [0], values = [0] }", "1:14", "minimum_jerk");
  refused("{ kind = 'ramp', from = 0, to = 1 }", "1:5", "follow");
  refused("{ kind = 'sine' }", "1:5", "frequency");
  refused("{ kind = 'minimum_jerk', times = [0, 1], values = [0] }", "1:5", "one value per time");
  refused("{ kind = 'minimum_jerk', times = [1, 1], values = [0, 1] }", "1:5", "increase");
  refused("{ kind = 'minimum_jerk', times = [0, nan], values = [0, 1] }", "1:", "nan");
  refused("{ kind = 'file', path = 'arm.csv' }", "1:5", "column");
  refused("{ kind = 'file', path = 'leg.csv', column = 'elbow' }", "1:", "leg.csv: no such file");
  refused("{ kind = 'file', path = '.', column = 'elbow' }", "1:", "directory");
  refused("{ kind = 'file', path = 'arm.csv', column = 'elbwo' }",
          "1:", "arm.csv:1: there is no column 'elbwo'; did you mean 'elbow'?");
  refused("{ kind = 'file', path = 'arm.csv', column = 'hip' }", "1:", "columns are t, elbow, elbow rate, bend, note");
  refused("{ kind = 'file', path = 'arm.csv', column = 'note' }", "1:", "arm.csv:3: 'a' in column 'note' is not a number");
  refused("{ kind = 'file', path = 'arm.csv', column = 'elbow', time = 'bend' }", "1:", "arm.csv:4: times must increase");
  refused("{ kind = 'file', path = 'arm.csv', column = 'elbow', rate = 'bend' }", "1:5", "both");
  refused("{ kind = 'file', path = 'arm.csv', column = 'elbow', ends = 'free' }", "1:", "natural");
  refused("{ kind = 'file', path = 'arm.csv', column = 'elbow', colour = 'red' }", "1:", "colour");
}

TEST(ReferenceFiles, RefusePosesWhereTheyAreWrong) {
  const auto refused = [&](const std::string& toml, const std::string& place, const std::string& words) {
    const auto read = pose("[r]\n" + toml);
    EXPECT_NE(read.error, "") << toml;
    expect_refused(read.error, "s.toml:" + place, words);
  };
  refused("", "1:", "'position', an 'attitude' or both");
  refused("position = 'here'", "2:", "expected a table");
  refused("position = { kind = 'square' }", "2:", "'circle'");
  refused("position = { kind = 'circle', centre = [0, 0, 0], radius = 1 }", "2:", "'period' (s) or an 'angle'");
  refused("position = { kind = 'circle', centre = [0, 0, 0], radius = 1, period = 0 }", "2:", "positive");
  refused("position = { kind = 'circle', centre = [0, 0, 0], radius = -1, period = 1 }", "2:", "radius");
  refused("position = { kind = 'circle', centre = [0, 0, 0], radius = 1, period = 1, normal = [0, 0, 0] }", "2:", "normal");
  refused("position = { kind = 'circle', centre = [0, 0, 0], radius = 1, period = 1, start = [0, 0, 1] }",
          "2:", "along its normal");
  refused("position = { kind = 'components', x = { kind = 'step', at = 1 } }", "2:", "follow");
  refused("position = { kind = 'waypoints' }", "2:", "way-points needs at least 1");
  refused("position = { kind = 'lissajous', centre = [0, 0, 0], amplitudes = [1, 0, 0] }", "2:", "frequencies");
  refused("attitude = { kind = 'fixed', q = [1, 1, 0, 0] }", "2:", "unit quaternion");
  refused("attitude = { kind = 'fixed', q = [1, 0, 0, 0], rpy = [0, 0, 0] }", "2:", "both");
  refused("attitude = { kind = 'rotations' }", "2:", "list of rotations");
  refused("attitude = { kind = 'rotations', rotations = [{ axis = [0, 0, 1] }] }", "2:", "'angle'");
  refused("attitude = { kind = 'rotations', rotations = [{ axis = [0, 0, 0], angle = { kind = 'constant' } }] }", "2:", "axis");
  refused("attitude = { kind = 'waypoints', waypoints = [{ t = 1 }, { t = 0 }] }", "2:", "increase");
  refused("attitude = { kind = 'waypoints', waypoints = [{ t = 0 }, { t = 1, q = [0, 1, 0, 0] }] }", "2:", "half a turn");
}

TEST(Csv, IsRefusedWithTheLineThatIsWrong) {
  const auto refused = [](const std::string& text, const std::string& place, const std::string& words) {
    const auto table = CsvTable::parse(text, "x.csv");
    const auto numbers = table ? table->column("b") : Result<std::vector<double>>(tl::unexpected(table.error()));
    ASSERT_FALSE(numbers) << text;
    EXPECT_EQ(numbers.error().where, "x.csv" + place) << numbers.error().what;
    EXPECT_NE(numbers.error().what.find(words), std::string::npos) << numbers.error().what;
  };
  refused("", "", "empty");
  refused("\n# nothing\n", "", "empty");
  refused("0,1\n1,2\n", ":1", "not the names");
  refused("a,b,a\n", ":1", "called 'a'");
  refused("a,,b\n", ":1", "no name");
  refused("a,c\n1,2\n", ":1", "no column 'b'");
  refused("a,b\n1,2\n3\n", ":3", "1 fields, but the header has 2");
  refused("a,b\n1,2\n\n3,4,5\n", ":4", "3 fields");
  refused("a,b\n1,\n", ":2", "not a number");
  refused("a,b\n1,1.5x\n", ":2", "'1.5x'");
  refused("a,b\n1,+-2\n", ":2", "not a number");
  refused("a,b\n1,2;3\n", ":2", "not a number");
  refused("a,b\n1,nan\n", ":2", "not finite");
  refused("a,b\n1,-inf\n", ":2", "not finite");
  refused("a,b\n1,1e999\n", ":2", "too large");
}

TEST(Csv, TakesWhatProgramsWrite) {
  const auto table = CsvTable::parse("\xef\xbb\xbf\"a\" , b c\r\n# remark\r\n 1 , -2.5e-1\r\n\r\n+3,4", "x.csv");
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->names(), (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(*table->column("a"), (std::vector<double>{1, 3}));
  EXPECT_EQ(*table->column("b c"), (std::vector<double>{-0.25, 4}));
  EXPECT_EQ(table->where(1), "x.csv:5");
}

// Whatever the bytes: a refusal in words, or a reference that can be evaluated.
TEST(FuzzReferences, DamagedTablesAreRefusedInWordsOrFollowed) {
  Random random(seed(20240607));
  const Folder folder;
  const std::vector<std::string> others = {kSamples, "x,y\n1,2\n3,4\n"};
  const std::string toml = "{ kind = 'file', path = 'arm.csv', column = 'elbow', rate = 'elbow rate', acceleration = 'bend' }";
  int refused = 0, accepted = 0;
  for (int k = 0; k < cases(400); ++k) {
    write_file(folder / "arm.csv", drawn(kSamples, others, random));
    const auto read = reference(k % 2 == 0 ? toml : "{ kind = 'file', path = 'arm.csv', column = 'elbow' }", folder.path());
    EXPECT_EQ(read.error.empty(), read.value.has_value());
    ++(read.value ? accepted : refused);
    if (!read.value) continue;
    double t = next_event(*read.value, -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isfinite(jet(*read.value, t).q));
    for (int n = 0; n < 10 && std::isfinite(t); ++n) (void)jet(*read.value, t = next_event(*read.value, t));
  }
  EXPECT_GT(refused, cases(400) / 8);
  EXPECT_GT(accepted, cases(400) / 8);
}

TEST(FuzzReferences, DamagedPosesAreRefusedInWordsOrFollowed) {
  Random random(seed(20240608));
  const std::vector<std::string> texts = {
      "[r]\nat = { p = [0, 0, 1] }\nposition = { kind = 'circle', centre = [1, 0, 0], radius = 2, normal = [0, 0, 1], period = 4 "
      "}\n"
      "attitude = { kind = 'waypoints', waypoints = [{ t = 0 }, { t = 2, rpy = [0, 0.8, 0] }] }\n",
      "[r]\nposition = { kind = 'components', x = { kind = 'minimum_jerk', times = [0, 1], values = [0, 2] } }\n"
      "attitude = { kind = 'rotations', rotations = [{ axis = [0, 0, 2], angle = { kind = 'sine', frequency = 1 } }] }\n"};
  int refused = 0, accepted = 0;
  for (int k = 0; k < cases(400); ++k) {
    const auto read = pose(drawn(texts[static_cast<std::size_t>(k % 2)], texts, random));
    if (!read.error.empty() || !read.value) {
      ++refused;
      continue;
    }
    ++accepted;
    EXPECT_EQ(flaw(*read.value), "");
    (void)jet(*read.value, 0.5);
  }
  EXPECT_GT(refused, cases(400) / 8);
  EXPECT_GT(accepted, cases(400) / 8);
}

}  // namespace
}  // namespace invar::testing
