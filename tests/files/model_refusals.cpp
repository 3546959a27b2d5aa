// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "invar/io/model_file.hpp"
#include "invar/model/model.hpp"
#include "support/folder.hpp"
#include "support/places.hpp"

namespace invar {
namespace {

/// The error of a text that must not become a model.
Error refusal(const std::string& text) {
  const auto spec = parse_model(text, "m.toml");
  if (!spec) return spec.error();
  const auto model = Model::build(*spec);
  if (!model) return model.error();
  ADD_FAILURE() << "accepted:\n" << text;
  return {ErrorKind::File, "", ""};
}

/// Two bodies and whatever follows; the text that is appended starts at line 5.
std::string with_bodies(const std::string& rest) {
  return "body = [\n  { name = \"crank\", mass = 1 },\n  { name = \"coupler\", mass = 1 },\n]\n" + rest;
}

/// The same with a joint of one kind on lines 5 to 8 and more keys for it from line 9 on.
std::string with_joint(const std::string& kind, const std::string& keys) {
  return with_bodies("[[joint]]\nname = \"j\"\nkind = \"" + kind + "\"\nchild = \"crank\"\n" + keys);
}

void expect_refusal(const std::string& text, const std::string& where, const std::string& fragment,
                    const std::string& hint = "") {
  SCOPED_TRACE(text);
  const Error e = refusal(text);
  EXPECT_EQ(e.where, where) << e.text();
  EXPECT_NE(e.what.find(fragment), std::string::npos) << e.text();
  EXPECT_NE(e.what.find(hint), std::string::npos) << e.text();
}

TEST(ModelFile, UnknownBodyIsNamedWithLineAndSuggestion) {
  const Error e = refusal(with_bodies("[[joint]]\nname = \"j4\"\nkind = \"revolute\"\nchild = \"cupler\"\n"));
  EXPECT_EQ(e.text(), "m.toml:8:9: joint 'j4' names body 'cupler', which does not exist; did you mean 'coupler'?");
  EXPECT_EQ(e.kind, ErrorKind::Model);
}

TEST(ModelFile, UnknownNamesAreRefusedWhereverTheyStand) {
  expect_refusal(with_joint("revolute", "parent = \"wrld\""), "m.toml:9:10", "'wrld', which does not exist",
                 "did you mean 'world'?");
  expect_refusal(with_bodies("[[frame]]\nname = \"f\"\nbody = \"Crank\""), "m.toml:7:8", "frame 'f'", "did you mean 'crank'?");
  expect_refusal(with_joint("revolute", "[initial]\njj = 1"), "m.toml:10:6", "[initial] names joint 'jj'");
  expect_refusal(with_joint("revolute", "[[coupling]]\nname = \"c\"\njoint = \"j\"\nof = \"q\"\nratio = 1"), "m.toml:12:6",
                 "coupling 'c' names joint 'q'");
}

TEST(ModelFile, TendonsThatMakeNoSenseAreRefused) {
  const auto tendon = [](const std::string& points, const std::string& keys) {
    return with_bodies("[[tendon]]\nname = \"t\"\npoints = [" + points + "]\n" + keys);
  };
  const std::string two = "{ p = [0, 0, 1] }, { body = \"crank\" }";
  EXPECT_TRUE(Model::build(*parse_model(tendon(two, "length = 1\nstiffness = 3"), "m.toml")));
  expect_refusal(tendon("{ body = \"crnk\" }, { p = [0, 0, 1] }", "length = 1\nstiffness = 3"), "m.toml:7:10",
                 "tendon 't', point 1 names body 'crnk'", "did you mean 'crank'?");
  expect_refusal(tendon("{ frame = \"f\" }, { p = [0, 0, 1] }", "length = 1\nstiffness = 3"), "m.toml:7:10", "names frame 'f'");
  expect_refusal(tendon("{ body = \"crank\" }", "length = 1\nstiffness = 3"), "m.toml:7:10", "at least two points");
  expect_refusal(tendon("{ body = \"crank\" }, { body = \"crank\", p = [1, 0, 0] }", "length = 1\nstiffness = 3"), "m.toml:7:10",
                 "all points lie on one body");
  expect_refusal(tendon(two, "length = 1\nstiffness = -3"), "m.toml:9:13", "stiffness must not be negative");
  expect_refusal(tendon(two, "length = 1\ndamping = 1\npretension = 2"), "m.toml:10:14", "pretension needs a stiffness");
  expect_refusal(tendon(two, "length = 1"), "m.toml:5:1", "neither stiffness nor damping");
  expect_refusal(tendon(two, "stiffness = 1"), "m.toml:5:1", "'length'");
}

TEST(ModelFile, FarNamesGetNoSuggestion) {
  const Error e = refusal(with_joint("revolute", "parent = \"gearbox\""));
  EXPECT_EQ(e.what.find("did you mean"), std::string::npos) << e.what;
}

TEST(ModelFile, NamesAreUsedOnceAndWorldIsTaken) {
  expect_refusal("[[body]]\nname = \"a\"\nmass = 1\n[[body]]\nname = \"a\"\nmass = 1\n", "m.toml:5:8",
                 "body name 'a' is used twice", "first at m.toml:2:8");
  expect_refusal(with_joint("fixed", "[[joint]]\nname = \"j\"\nkind = \"fixed\"\nchild = \"crank\""), "m.toml:10:8",
                 "joint name 'j' is used twice");
  expect_refusal("[[body]]\nname = \"world\"\nmass = 1\n", "m.toml:2:8", "'world'", "ground");
  expect_refusal("[[body]]\nname = \"\"\nmass = 1\n", "m.toml:2:8", "body number 1 has no name");
  expect_refusal("name = \"empty\"\n", "m.toml:1:1", "the model has no bodies");
}

TEST(ModelFile, MassesThatNoBodyHasAreRefused) {
  const std::string start = "[[body]]\nname = \"b\"\n";
  expect_refusal(start + "mass = -1\n", "m.toml:3:8", "mass is negative");
  expect_refusal(start + "mass = nan\n", "m.toml:3:8", "expected a finite number, found nan");
  expect_refusal(start + "mass = -inf\n", "m.toml:3:8", "expected a finite number, found inf");
  expect_refusal(start + "mass = 1\ninertia = { xx = 1, yy = 1, zz = 3 }\n", "m.toml:4:11", "triangle inequality",
                 "sum of the other two");
  expect_refusal(start + "mass = 1\ninertia = { xx = 1, yy = 1, zz = 1, xy = 2 }\n", "m.toml:4:11", "positive semidefinite");
  expect_refusal(start + "mass = 0\ninertia = { xx = 1, yy = 1, zz = 1 }\n", "m.toml:4:11", "without mass");
  expect_refusal(start + "mass = 1\nshape = { kind = \"sphere\", radius = -1 }\n", "m.toml:4:37", "negative");
}

TEST(ModelFile, ShapesAndInertiaDoNotContradict) {
  const std::string start = "[[body]]\nname = \"b\"\nmass = 1\nshape = { kind = \"sphere\", radius = 1 }\n";
  expect_refusal(start + "inertia = { xx = 1, yy = 1, zz = 1 }\n", "m.toml:4:9", "'shape' gives the inertia", "'shapes'");
  expect_refusal("[[body]]\nname = \"b\"\nmass = 1\nshape = { kind = \"mesh\", file = \"a.stl\" }\n", "m.toml:4:9",
                 "a mesh gives no inertia");
}

TEST(ModelFile, AxesAreUnitVectors) {
  expect_refusal(with_joint("revolute", "axis = [0, 0, 2]"), "m.toml:9:8", "not a unit vector, its length is 2",
                 "write [0, 0, 1]");
  expect_refusal(with_joint("revolute", "axis = [0, 0, 0]"), "m.toml:9:8", "its length is 0");
  expect_refusal(with_joint("revolute", "axis = [1e200, 0, 0]"), "m.toml:9:8", "not a unit vector");
  expect_refusal(with_joint("universal", "axis2 = [0, 0.6, 0.8]"), "m.toml:9:9", "perpendicular to axis", "36.8699 degrees");
  expect_refusal(with_joint("revolute", "axis2 = [1, 0, 0]"), "m.toml:9:9", "has no second axis");
}

TEST(ModelFile, AxesAlmostUnitAreNormalisedWithAWarning) {
  const auto spec = parse_model(with_joint("revolute", "axis = [0, 0, 1.0000005]"), "m.toml");
  ASSERT_TRUE(spec);
  std::vector<std::string> warnings;
  ASSERT_TRUE(Model::build(*spec, &warnings));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "m.toml:9:8: joint 'j': axis has length 1.0000005 and was normalised");
}

TEST(ModelFile, AxesUnitToRoundingGiveNoWarning) {
  const auto spec =
      parse_model(with_joint("revolute", "axis = [0.57735026918962573, 0.57735026918962573, 0.57735026918962573]"), "m.toml");
  std::vector<std::string> warnings;
  ASSERT_TRUE(Model::build(*spec, &warnings));
  EXPECT_TRUE(warnings.empty());
}

TEST(ModelFile, ListsHaveOneNumberPerFreedom) {
  expect_refusal(with_joint("spherical", "damping = 0.1"), "m.toml:9:11", "damping has 1 number, expected 3", "spherical");
  expect_refusal(with_joint("cylindrical", "friction = [1, 2, 3]"), "m.toml:9:12", "friction has 3 numbers, expected 2",
                 "angle, displacement");
  expect_refusal(with_joint("planar", "armature = [1]"), "m.toml:9:12", "expected 3");
  expect_refusal(with_joint("universal", "spring = { stiffness = 3 }"), "m.toml:9:24",
                 "spring stiffness has 1 number, expected 2");
  expect_refusal(with_joint("spherical", "spring = { stiffness = [1, 1, 1], rest = [0] }"), "m.toml:9:42",
                 "rest position has 1 number, expected 3");
  expect_refusal(with_joint("free", "spring = { stiffness = [1, 1, 1] }"), "m.toml:9:24", "expected 6");
  expect_refusal(with_joint("revolute", "limits = { lower = [0, 0] }"), "m.toml:9:20", "lower limit has 2 numbers, expected 1");
  expect_refusal(with_joint("fixed", "damping = 1"), "m.toml:9:11", "no freedom");
  expect_refusal(with_joint("revolute", "damping = []"), "m.toml:9:11", "empty list");
}

TEST(ModelFile, SignsAndOrdersThatMakeNoSenseAreRefused) {
  expect_refusal(with_joint("revolute", "damping = -0.1"), "m.toml:9:11", "damping is -0.1", "cannot be negative");
  expect_refusal(with_joint("revolute", "friction = -0.1"), "m.toml:9:12", "friction is -0.1");
  expect_refusal(with_joint("revolute", "armature = -0.1"), "m.toml:9:12", "armature is -0.1");
  expect_refusal(with_joint("revolute", "friction_velocity = 0"), "m.toml:9:21", "friction_velocity must be positive");
  expect_refusal(with_joint("revolute", "limits = { lower = 1, upper = 0 }"), "m.toml:9:10",
                 "lower limit 1 is above upper limit 0", "swap");
  expect_refusal(with_joint("revolute", "limits = { upper = 0, stiffness = -1 }"), "m.toml:9:10",
                 "must be finite and not negative");
  expect_refusal(with_joint("spherical", "limits = { lower = [0, 0, 0] }"), "m.toml:9:10", "cannot have limits");
  expect_refusal(with_joint("free", "armature = [1, 1, 1, 1, 1, 1]"), "m.toml:9:12", "cannot have armature");
  expect_refusal(with_joint("screw", ""), "m.toml:5:1", "needs a pitch");
  expect_refusal(with_joint("revolute", "pitch = 0.1"), "m.toml:9:9", "has no pitch", "screw");
  expect_refusal(with_joint("revolute", "spring = { rest = 0.1 }"), "m.toml:9:10", "no stiffness");
}

TEST(ModelFile, JointsConnectTwoDifferentBodies) {
  expect_refusal(with_joint("revolute", "parent = \"crank\""), "m.toml:8:9", "connects body 'crank' to itself");
  expect_refusal(with_bodies("[[joint]]\nname = \"j\"\nkind = \"fixed\"\nparent = \"crank\"\nchild = \"world\"\n"), "m.toml:9:9",
                 "has the world as its child", "swap parent and child");
}

TEST(ModelFile, CouplingsJoinScalarFreedomsOfTwoMovingJoints) {
  const auto text = [](const std::string& kind, const std::string& keys, const std::string& coupling) {
    return with_joint(kind, keys +
                                "\n[[joint]]\nname = \"k\"\nkind = \"revolute\"\nparent = \"crank\"\nchild = \"coupler\"\n"
                                "[[coupling]]\nname = \"gear\"\n" +
                                coupling);
  };
  expect_refusal(text("revolute", "", "joint = \"j\"\nfreedom = 1\nof = \"k\"\nratio = 2"), "m.toml:18:11",
                 "has freedoms 0 to 0, not 1");
  expect_refusal(text("revolute", "", "joint = \"j\"\nof = \"k\"\nof_freedom = -1\nratio = 2"), "m.toml:19:14", "not -1");
  expect_refusal(text("spherical", "", "joint = \"j\"\nof = \"k\"\nratio = 2"), "m.toml:17:9",
                 "spherical joint 'j' has no scalar coordinate");
  expect_refusal(text("revolute", "locked = true", "joint = \"j\"\nof = \"k\"\nratio = 2"), "m.toml:17:9", "is locked");
  expect_refusal(text("revolute", "", "joint = \"k\"\nof = \"k\"\nratio = 2"), "m.toml:18:6", "to itself");
  expect_refusal(text("revolute", "", "joint = \"j\"\nof = \"k\"\n"), "m.toml:15:1", "'ratio' is missing");
  expect_refusal(text("revolute", "", "joint = \"j\"\nof = \"k\"\npolynomial = []"), "m.toml:19:14", "empty list");
  expect_refusal(text("revolute", "", "joint = \"j\"\nof = \"k\"\npolynomial = [0, 1]\nratio = 1"), "m.toml:19:14",
                 "leave out 'ratio'");
}

TEST(ModelFile, StartCoordinatesFitTheirJoint) {
  expect_refusal(with_joint("revolute", "[initial]\nj = [1, 2]"), "m.toml:10:5",
                 "revolute joint 'j': expected 1 coordinate, found 2");
  expect_refusal(with_joint("spherical", "[initial]\nj = [1, 2]"), "m.toml:10:5", "expected 4 coordinates", "rotation vector");
  expect_refusal(with_joint("spherical", "[initial]\nj = [1, 1, 0, 0]"), "m.toml:10:5",
                 "quaternion (scalar first) is not unit, its length is 1.41421356");
  expect_refusal(with_joint("free", "[initial]\nj = { p = [0, 0, 0], q = [2, 0, 0, 0] }"), "m.toml:10:26",
                 "not a unit quaternion");
  expect_refusal(with_joint("revolute", "locked = true\nlocked_at = 0.5\n[initial]\nj = 0.1"), "m.toml:12:5", "is locked",
                 "locked_at");
}

TEST(ModelFile, WrongTypesAndSizesNameBothSides) {
  expect_refusal(with_bodies("gravity = [0, 0, -9.81]\nname = 3"), "m.toml:6:8", "'name': expected a string, found an integer");
  expect_refusal("gravity = [0, -9.81]\n", "m.toml:1:11", "'gravity': expected 3 numbers, found 2");
  expect_refusal("gravity = [0, 0, \"g\"]\n", "m.toml:1:18", "expected a number, found a string");
  expect_refusal("gravity = -9.81\n", "m.toml:1:11", "expected 3 numbers, found 1");
  expect_refusal("[[body]]\nname = \"b\"\nmass = \"1\"\n", "m.toml:3:8", "'mass': expected a number, found a string");
  expect_refusal("[[body]]\nname = \"b\"\nmass = 1\ncom = { x = 1 }\n", "m.toml:4:7",
                 "expected a list of numbers, found a table");
  expect_refusal("[body]\nname = \"b\"\nmass = 1\n", "m.toml:1:1", "write [[body]] with two brackets");
  expect_refusal("body = 3\n", "m.toml:1:8", "expected a list of tables, found an integer");
  expect_refusal(with_joint("revolute", "locked = 1"), "m.toml:9:10", "expected true or false, found an integer");
  expect_refusal(with_joint("revolute", "at_parent = { p = [0, 0, 0], q = [1, 0, 0] }"), "m.toml:9:34",
                 "expected 4 numbers, found 3");
  expect_refusal(with_joint("revolute", "at_parent = { rpy = [0, 0, 0], q = [1, 0, 0, 0] }"), "m.toml:9:21",
                 "both 'rpy' and 'q'");
  expect_refusal("format = 2\n", "m.toml:1:10", "model format 2 is not known", "1");
}

TEST(ModelFile, UnknownKeysAndWordsComeWithASuggestion) {
  expect_refusal("grvity = [0, 0, 0]\n", "m.toml:1:1", "unknown key 'grvity'", "did you mean 'gravity'?");
  expect_refusal("[[body]]\nname = \"b\"\nmas = 1\n", "m.toml:3:1", "unknown key 'mas' in 'body'", "did you mean 'mass'?");
  expect_refusal(with_joint("revolute", "spring = { stifness = 1 }"), "m.toml:9:12", "unknown key 'stifness' in 'spring'",
                 "'stiffness'");
  expect_refusal(with_joint("revolute", "color = 1"), "m.toml:9:1", "unknown key 'color'", "possible are");
  expect_refusal(with_joint("revolut", ""), "m.toml:7:8", "'kind' cannot be 'revolut'", "did you mean 'revolute'?");
  expect_refusal(with_joint("hinge", ""), "m.toml:7:8", "'kind' cannot be 'hinge'", "known are 'fixed', 'revolute'");
  expect_refusal(with_joint("spherical", "spring = { law = \"eulr\", stiffness = [1, 1, 1] }"), "m.toml:9:18", "cannot be 'eulr'",
                 "'euler'");
}

TEST(ModelFile, MissingKeysAreNamed) {
  expect_refusal("[[body]]\nname = \"b\"\n", "m.toml:1:1", "key 'mass' is missing in 'body'");
  expect_refusal(with_bodies("[[joint]]\nname = \"j\"\nkind = \"fixed\"\n"), "m.toml:5:1", "key 'child' is missing in 'joint'");
  expect_refusal("[[body]]\nname = \"b\"\nmass = 1\nshape = { kind = \"cylinder\", radius = 1 }\n", "m.toml:4:9",
                 "key 'length' is missing in 'shape'");
}

TEST(ModelFile, SyntaxErrorsHaveTheirPlace) {
  const Error e = refusal("name = \"a\"\ngravity = [0, 0\n");
  EXPECT_EQ(e.kind, ErrorKind::Syntax);
  EXPECT_EQ(e.where.rfind("m.toml:", 0), 0u) << e.where;
  expect_refusal("name = \"a\"\nname = \"b\"\n", "m.toml:2:8", "not valid TOML");
  EXPECT_EQ(refusal("name = \"\xff\xfe\"\n").kind, ErrorKind::Syntax);
}

TEST(ModelFile, UnreadableFilesSayWhy) {
  EXPECT_EQ(read_model_file("/no/such/file.toml").error().text(), "/no/such/file.toml: no such file");
  const auto directory = read_model_file(testing::source_path());
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().what.find("directory"), std::string::npos);
  // A device may be endless, and is not read at all; of a large file reading stops at the limit.
  const auto endless = read_model_file("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_NE(endless.error().what.find("is a device"), std::string::npos) << endless.error().what;
  const testing::Folder folder;
  testing::write_file(folder / "large.toml", "");
  std::filesystem::resize_file(folder / "large.toml", 100u << 20);
  const auto large = read_model_file(folder / "large.toml");
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().what.find("larger than 67108864 bytes"), std::string::npos) << large.error().what;
}

/// A program's own spec may hold numbers that no file can.
TEST(ModelSpecOfAProgram, IsRefusedWithNumbersThatAreNotFinite) {
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  const auto good = parse_model(with_joint("cylindrical", "damping = [1, 1]\n[[frame]]\nname = \"f\""), "m.toml");
  ASSERT_TRUE(good);
  ASSERT_TRUE(Model::build(*good));
  const std::vector<std::function<void(ModelSpec&, double)>> spoil{
      [](ModelSpec& s, double x) { s.gravity.y() = x; },
      [](ModelSpec& s, double x) { s.bodies[0].inertia.mass = x; },
      [](ModelSpec& s, double x) { s.bodies[0].inertia.p_BC.x() = x; },
      [](ModelSpec& s, double x) { s.bodies[0].inertia.I_C(1, 1) = x; },
      [](ModelSpec& s, double x) { s.bodies[0].shapes.emplace_back().radius = x; },
      [](ModelSpec& s, double x) { s.joints[0].at_parent.p.x() = x; },
      [](ModelSpec& s, double x) { s.joints[0].at_child.q.w() = x; },
      [](ModelSpec& s, double x) { s.joints[0].axis.x() = x; },
      [](ModelSpec& s, double x) { s.joints[0].axis2.x() = x; },
      [](ModelSpec& s, double x) { s.joints[0].pitch = x; },
      [](ModelSpec& s, double x) { s.joints[0].spring.stiffness = {1, x}; },
      [](ModelSpec& s, double x) { s.joints[0].spring = {SpringLaw::Euler, {1, 1}, {x, 0}}; },
      [](ModelSpec& s, double x) { s.joints[0].limits.lower = {x, 0}; },
      [](ModelSpec& s, double x) { s.joints[0].limits.stiffness = x; },
      [](ModelSpec& s, double x) { s.joints[0].limits.damping = x; },
      [](ModelSpec& s, double x) { s.joints[0].damping[1] = x; },
      [](ModelSpec& s, double x) { s.joints[0].friction = {x, 0}; },
      [](ModelSpec& s, double x) { s.joints[0].friction_velocity = x; },
      [](ModelSpec& s, double x) { s.joints[0].armature = {0, x}; },
      [](ModelSpec& s, double x) { s.joints[0].locked = true, s.joints[0].locked_at = {0, x}; },
      [](ModelSpec& s, double x) { s.frames[0].at.p.z() = x; },
      [](ModelSpec& s, double x) { s.initial["j"] = {x, 0}; },
  };
  for (std::size_t i = 0; i < spoil.size(); ++i)
    for (const double x : bad) {
      ModelSpec spec = *good;
      spoil[i](spec, x);
      EXPECT_FALSE(Model::build(spec)) << "spoiler " << i << " with " << x;
    }
}

TEST(Nearest, FindsSlipsOfTheFingerOnly) {
  const std::vector<std::string> words{"coupler", "crank", "rocker", "j1"};
  EXPECT_EQ(nearest("cupler", words), "coupler");    // dropped
  EXPECT_EQ(nearest("couupler", words), "coupler");  // doubled
  EXPECT_EQ(nearest("rocekr", words), "rocker");     // swapped
  EXPECT_EQ(nearest("CRANK", words), "crank");
  EXPECT_EQ(nearest("J1", words), "j1");
  EXPECT_EQ(nearest("j2", words), "");
  EXPECT_EQ(nearest("gearbox", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest(std::string(1000000, 'c'), words), "");
}

}  // namespace
}  // namespace invar
