// SPDX-License-Identifier: Apache-2.0
//
// Joint coordinates are written the same way wherever a file or a message has some: [initial] of models and scenarios, the state
// of `eval`, what a run must end in.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "invar/io/model_file.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/io/state_json.hpp"
#include "support/folder.hpp"
#include "support/random_mechanism.hpp"

namespace invar::testing {
namespace {

// A body on a ball, one that floats, and a lever that is held at 0.4.
const char* const kModel = R"([[body]]
name = 'pan'
mass = 1
com = [0, 0, -0.2]
inertia = { xx = 0.01, yy = 0.02, zz = 0.02 }
[[body]]
name = 'boat'
mass = 2
inertia = { xx = 0.01, yy = 0.02, zz = 0.02 }
[[body]]
name = 'lever'
mass = 1
inertia = { xx = 0.01, yy = 0.02, zz = 0.02 }
[[joint]]
name = 'ball'
kind = 'spherical'
child = 'pan'
[[joint]]
name = 'base'
kind = 'free'
child = 'boat'
[[joint]]
name = 'hinge'
kind = 'revolute'
child = 'lever'
locked = true
locked_at = 0.4
)";

struct Files {
  Folder folder;

  std::string model(const std::string& initial) const {
    const std::string path = folder / "m.toml";
    write_file(path, std::string(kModel) + "[initial]\n" + initial);
    return path;
  }
  /// A scenario of the model with this text after its times; line 7 is the first of it.
  Result<Scenario> scenario(const std::string& text) const {
    model("");
    return parse_scenario("model = 'm.toml'\n[time]\nend = 1\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n" + text,
                          folder / "s.toml");
  }
};

VecX model_start(const Files& files, const std::string& initial) {
  const auto model = read_model(files.model(initial));
  EXPECT_TRUE(model) << model.error().text();
  return model ? model->initial_q() : VecX();
}
VecX scenario_start(const Files& files, const std::string& joints) {
  const auto s = files.scenario("[initial.joints]\n" + joints);
  EXPECT_TRUE(s) << s.error().text();
  return s ? s->start.joints.q : VecX();
}

std::string numbers(const Vec3& u) { return fmt::format("[{:.17g}, {:.17g}, {:.17g}]", u.x(), u.y(), u.z()); }
std::string numbers(const Eigen::Vector4d& q) {
  return fmt::format("[{:.17g}, {:.17g}, {:.17g}, {:.17g}]", q[0], q[1], q[2], q[3]);
}

// cos and sin of half the angle, from the definition: a rotation vector is axis times angle.
Eigen::Vector4d quaternion_of(const Vec3& u) {
  const double angle = u.norm();
  const Vec3 v = std::sin(angle / 2) / angle * u;
  return {std::cos(angle / 2), v.x(), v.y(), v.z()};
}

TEST(Coordinates, OfABallAreAQuaternionOrARotationVectorEverywhere) {
  const Files files;
  for (int k = 0; k < 20; ++k) {
    Random random(41, static_cast<std::uint64_t>(k));
    const Vec3 u = random_vector(random, 1.5);
    const Eigen::Vector4d q = quaternion_of(u);
    for (const std::string& text : {numbers(u), numbers(q)}) {
      const VecX of_model = model_start(files, "ball = " + text + "\n");
      EXPECT_LT((of_model.head<4>() - q).norm(), 4e-16 * (1 + u.norm()));
      EXPECT_EQ(scenario_start(files, "ball = { q = " + text + " }\n"), of_model);
      const Model model = *read_model(files.model(""));
      const auto state = start_from_json(model, R"({"joints": {"ball": {"q": )" + text + "}}}", "stdin");
      ASSERT_TRUE(state) << state.error().text();
      EXPECT_EQ(state->joints.q, of_model);
      const auto s = files.scenario("[must]\nfinal = { joint = 'ball', q = " + text + ", within = 0.1 }\n");
      ASSERT_TRUE(s) << s.error().text();
      EXPECT_EQ(Eigen::Map<const VecX>(s->laws.at(0).target.data(), 4), of_model.head<4>());
    }
  }
}

TEST(Coordinates, OfAFloatingBodyAreSevenNumbersOrAPose) {
  const Files files;
  for (const char* pose : {"{ p = [1, 2, 3], rpy = [0.1, -0.2, 0.3] }", "{ p = [1, 2, 3] }", "[1, 2, 3, 0.6, 0, 0.8, 0]"}) {
    const std::string text = pose;
    const VecX of_model = model_start(files, "base = " + text + "\n");
    EXPECT_EQ(of_model.segment<3>(4), Vec3(1, 2, 3)) << text;
    EXPECT_EQ(scenario_start(files, "base = { q = " + text + " }\n"), of_model) << text;
  }
}

TEST(Coordinates, OfALockedJointMayBeRepeated) {
  const Files files;
  EXPECT_EQ(scenario_start(files, "hinge = { q = 0.4 }\n"), model_start(files, "hinge = 0.4\n"));
  const auto elsewhere = files.scenario("[initial.joints]\nhinge = { q = 0.5 }\n");
  ASSERT_FALSE(elsewhere);
  EXPECT_NE(elsewhere.error().where.find("s.toml:8:"), std::string::npos) << elsewhere.error().text();
  EXPECT_NE(elsewhere.error().what.find("move it there with locked_at"), std::string::npos) << elsewhere.error().text();
}

TEST(Coordinates, ThatSayNothingAreRefusedWithPlaceAndRemedy) {
  const Files files;
  const std::pair<const char*, const char*> bad[] = {
      {"ball = [1, 2]", "expected 4 coordinates (a quaternion, scalar first) or 3 (a rotation vector), found 2"},
      {"ball = []", "expected numbers, found an empty list"},
      {"ball = [2, 0, 0, 0]", "is not unit, its length is 2; for this attitude write [1, 0, 0, 0]"},
      {"ball = [0, 0, 0, 0]", "its length is 0"},
      {"ball = [1e300, 0, 0]", "more than 1e6 rad"},
      {"base = [1, 2, 3, 0, 0, 0]", "expected 7 coordinates (position, then quaternion, scalar first), found 6"},
      {"base = [1, 2, 3, 1e200, 0, 0, 0]", "is not unit"},
      {"hinge = [0.4, 0]", "expected 1 coordinate, found 2"},
  };
  for (const auto& [text, words] : bad) {
    const std::string line = text;
    const auto model = read_model(files.model(line + "\n"));
    ASSERT_FALSE(model) << line;
    EXPECT_NE(model.error().text().find(words), std::string::npos) << model.error().text();
    EXPECT_NE(model.error().where.find("m.toml:29:"), std::string::npos) << model.error().text();
    const std::size_t equals = line.find('=');
    const std::string entry = line.substr(0, equals) + "= { q" + line.substr(equals - 1) + " }\n";
    const auto start = files.scenario("[initial.joints]\n" + entry);
    ASSERT_FALSE(start) << entry;
    EXPECT_NE(start.error().text().find(words), std::string::npos) << start.error().text();
    EXPECT_NE(start.error().where.find("s.toml:8:"), std::string::npos) << start.error().text();
  }
}

}  // namespace
}  // namespace invar::testing
