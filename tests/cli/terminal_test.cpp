// SPDX-License-Identifier: Apache-2.0
// Names come from files, and a terminal obeys what it gets: control characters of files reach it from no verb, in no message.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "program.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Escape sequences that clear the screen and set its title, a bell, a carriage return, C1's CSI, marks that turn the direction.
const std::string kNasty =
    "\x1b[2J\x1b]0;owned\x07\r\x7f\xc2\x9b"
    "31m\xe2\x80\xae";

// As it stands in TOML.
const std::string kInToml = "\\u001b[2J\\u001b]0;owned\\u0007\\r\\u007f\\u009b31m\\u202e";

void expect_harmless(const std::string& text, const std::string& who) {
  for (const char c : text) EXPECT_FALSE((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) << who << ": " << text;
  EXPECT_FALSE(has(text, "\xc2\x9b") || has(text, "\xe2\x80\xae")) << who << ": " << text;
}

// A pendulum all of whose names are nasty; with `extra` in the model.
void write_model(const Folder& folder, const std::string& file, const std::string& extra = "") {
  write_file(
      folder / file,
      "name = \"" + kInToml + "\\n\"\n[[body]]\nname = \"b" + kInToml +
          "\\nerror: faked\"\nmass = 1\ncom = [0, 0, -0.5]\ninertia = { xx = 0.1, yy = 0.1, zz = 0.1 }\n[[joint]]\nname = \"j" +
          kInToml + "\"\nkind = \"revolute\"\nchild = \"b" + kInToml +
          "\\nerror: faked\"\naxis = [0, 1, 0]\n[[frame]]\nname = \"f" + kInToml + "\"\nbody = \"b" + kInToml +
          "\\nerror: faked\"\n" + extra);
}

void write_scenario(const Folder& folder, const std::string& rest) {
  write_file(
      folder / "s.toml",
      "name = \"s" + kInToml + "\"\nmodel = 'm.toml'\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[time]\nend = 0.1\n" + rest);
}

TEST(Terminal, GetsNoControlCharactersOfFilesFromAnyVerb) {
  Folder folder;
  write_model(folder, "m.toml");
  write_scenario(folder, "[must]\nmax_force = { joint = \"j" + kInToml + "\", below = 1e9 }\n[initial.joints.\"j" + kInToml +
                             "\"]\nq = [0.3]\n");
  const std::string m = folder / "m.toml", s = folder / "s.toml";
  const std::vector<std::vector<std::string>> verbs = {
      {"check", m},
      {"check", "--json", m},
      {"info", m},
      {"info", "--json", m},
      {"eval", m},
      {"eval", "--pretty", m},
      {"equilibrium", m},
      {"modes", "--equilibrium", m},
      {"modes", "--json", m},
      {"stiffness", m, "f" + kNasty},
      {"stiffness", "--json", m, "f" + kNasty},
      {"stiffness", m, "g" + kNasty},
      {"-v", "run", s, "-o", folder / "out"},
      {"-v", "compare", s, "--only", "rk4"},
      {"compare", s, "--only", kNasty},
      {"report", folder / "out"},
      {"report", folder / "out", "--png", folder / "still.png", "--trace", kNasty},
      {"report", folder / kNasty},
      {kNasty},
      {"check", kNasty}};
  for (const auto& verb : verbs) {
    const Ended e = invar(verb);
    EXPECT_TRUE(e.code == 0 || e.code == 2) << ::testing::PrintToString(verb) << e.err;
    expect_harmless(e.out, "stdout of " + ::testing::PrintToString(verb));
    expect_harmless(e.err, "stderr of " + ::testing::PrintToString(verb));
    EXPECT_FALSE(has("\n" + e.out + "\n" + e.err, "\nerror: faked")) << "no name begins a line: " << e.out << e.err;
  }
  // JSON still holds the names as they are.
  const auto info = nlohmann::json::parse(invar({"info", "--json", m}).out);
  EXPECT_EQ(info["bodies"][0]["name"], "b" + kNasty + "\nerror: faked");
  // So does result.json, which people look at in terminals, too.
  const std::string result = read_file(folder / "out/result.json");
  expect_harmless(result, "result.json");
  EXPECT_EQ(nlohmann::json::parse(result)["scenario"]["name"], "s" + kNasty);
}

TEST(Terminal, GetsNoControlCharactersFromRefusals) {
  Folder folder;
  write_model(folder, "m.toml");
  // Names in errors of every reader.
  const std::vector<std::string> models = {"[initial]\n\"k" + kInToml + "\" = 1\n", "\"" + kInToml + "\" = 1\n",
                                           "[[joint]]\nname = \"k\"\nkind = \"" + kInToml + "\"\nchild = 'x'\n",
                                           "[[joint]]\nname = \"k\"\nkind = 'fixed'\nchild = \"" + kInToml + "\"\n"};
  for (const std::string& extra : models) {
    write_model(folder, "bad.toml", extra);
    const Ended e = invar({"check", folder / "bad.toml"});
    EXPECT_EQ(e.code, 2);
    expect_harmless(e.err, extra);
  }
  for (const std::string& rest :
       {"[must]\nmetric = { name = \"" + kInToml + "\", below = 1 }\n", "[record]\nwhat = [\"" + kInToml + "\"]\n",
        "[[effort]]\njoint = \"" + kInToml + "\"\nvalue = [1]\n", "[initial.joints.\"" + kInToml + "\"]\nq = [0.3]\n"}) {
    write_scenario(folder, rest);
    const Ended e = invar({"run", folder / "s.toml", "-o", folder / "out"});
    EXPECT_EQ(e.code, 2) << rest;
    expect_harmless(e.err, rest);
  }
  for (const std::string& json : {std::string("{\"joints\": {\""
                                              "\\u001b[2J"
                                              "\": {}}}"),
                                  std::string("{\"\x7f\xc2\x9b\": 1}")}) {
    const Ended e = invar({"eval", folder / "m.toml", "--state", "-"}, json);
    EXPECT_EQ(e.code, 2);
    expect_harmless(e.err, json);
  }
}

// Places in files: what is refused is found again.
TEST(Refusals, OfAssemblyAndOfLawsHaveAPlace) {
  Folder folder;
  // Two hinges hold one body at points that do not fit.
  const std::string bar =
      "[[body]]\nname = 'bar'\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n"
      "[[joint]]\nname = 'a'\nkind = 'revolute'\nchild = 'bar'\naxis = [0, 1, 0]\n"
      "[[joint]]\nname = 'b'\nkind = 'revolute'\nchild = 'bar'\naxis = [0, 1, 0]\nat_parent = { p = [1, 0, 0] }\nat_child = { p "
      "= [3, 0, 0] }\n";
  write_file(folder / "m.toml", bar);
  for (const char* verb : {"check", "info", "eval", "modes", "equilibrium"}) {
    const Ended e = invar({verb, folder / "m.toml"});
    EXPECT_NE(e.code, 0) << verb;
    EXPECT_TRUE(has(e.err, "m.toml:5:1: ") || has(e.err, "m.toml:10:1: ")) << verb << e.err;
  }
  const std::string head = "model = 'm.toml'\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[time]\nend = 0.1\n";
  const auto refused = [&](const std::string& rest, const std::string& place) {
    write_file(folder / "s.toml", head + rest);
    const Ended e = invar({"run", folder / "s.toml", "-o", folder / "out"});
    EXPECT_EQ(e.code, 2) << rest;
    EXPECT_TRUE(has(e.err, place)) << rest << e.err;
    EXPECT_EQ(std::count(e.err.begin(), e.err.end(), '\n'), 1) << e.err;
  };
  refused("", "m.toml:");
  refused("[initial.joints.a]\nq = [0.3]\n", "s.toml:7:1: ");
  fs::copy_file(model("pendulum"), folder / "m.toml", fs::copy_options::overwrite_existing);
  refused("[must]\nmetric = { name = 'nosuch', below = 1 }\n", "s.toml:8:");
}

TEST(Refusals, OfPipesDevicesAndDirectoriesThatFilesName) {
  Folder folder;
  ::mkfifo((folder / "fifo.stl").c_str(), 0600);
  fs::copy_file(source_path("tests/edges/cases/fifo_mesh_model.toml"), folder / "m.toml");
  write_file(folder / "s.toml", "model = 'm.toml'\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[time]\nend = 0.1\n");
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"check", folder / "m.toml"}, {"run", folder / "s.toml", "-o", folder / "out"}, {"compare", folder / "s.toml"}}) {
    const Ended e = invar(arguments);
    EXPECT_EQ(e.code, 2) << e.err;
    EXPECT_TRUE(has(e.err, "m.toml:6:") && has(e.err, "the mesh 'fifo.stl' is a pipe, not a file")) << e.err;
  }
  ::mkfifo((folder / "fifo.toml").c_str(), 0600);
  ::mkfifo((folder / "fifo.csv").c_str(), 0600);
  write_file(folder / "t.toml", "model = 'fifo.toml'\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[time]\nend = 0.1\n");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"run", folder / "t.toml", "-o", folder / "out"},
                                             {"run", folder / "fifo.toml", "-o", folder / "out"},
                                             {"check", folder / "fifo.toml"},
                                             {"eval", model("pendulum"), "--state", folder / "fifo.toml"},
                                             {"eval", model("pendulum"), "--port", "/dev/zero"},
                                             {"modes", model("pendulum"), "--state", folder / "fifo.toml"},
                                             {"report", folder / "fifo.toml"}}) {
    const Ended e = invar(arguments);
    EXPECT_EQ(e.code, 2) << ::testing::PrintToString(arguments) << e.err;
    EXPECT_EQ(e.err.rfind("error: ", 0), 0u) << e.err;
  }
  // A directory whose log is a pipe; - stays standard input.
  fs::create_directory(folder / "run");
  ::mkfifo((folder / "run/run.log").c_str(), 0600);
  for (const char* verb : {"report", "view"}) EXPECT_EQ(invar({verb, folder / "run"}).code, 2) << verb;
  EXPECT_EQ(invar({"run", scenario("pendulum"), "-o", folder / "run", "--force"}).code, 2);
  EXPECT_EQ(invar({"eval", model("pendulum"), "--state", "-"}, R"({"joints": {"hinge": {"q": [0.3]}}})").code, 0);
}

}  // namespace
}  // namespace invar::testing
