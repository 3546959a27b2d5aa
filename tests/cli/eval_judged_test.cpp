// SPDX-License-Identifier: Apache-2.0
//
// What `invar eval` prints, read back as a stranger would: Newton and Euler hold for every body of every shipped model, with
// reactions moved from the joint points of the documents, in every formulation.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "invar/io/model_file.hpp"
#include "program.hpp"
#include "support/newton_euler.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

using nlohmann::json;

double number(const json& j, std::size_t i) { return j.at(i).get<double>(); }
Vec3 vector(const json& j) { return Vec3(number(j, 0), number(j, 1), number(j, 2)); }

void append(const json& numbers, VecX& out) {
  for (const json& x : numbers) {
    out.conservativeResize(out.size() + 1);
    out[out.size() - 1] = x.get<double>();
  }
}

Evaluation evaluation_of(const ModelSpec& spec, const json& out) {
  Evaluation e;
  for (const BodySpec& body : spec.bodies) {
    const json& b = out.at("bodies").at(body.name);
    const json& q = b.at("q");
    e.bodies.push_back(
        {vector(b.at("p")), vector(b.at("v")), vector(b.at("w")), Quat(number(q, 0), number(q, 1), number(q, 2), number(q, 3))});
    e.accelerations.push_back({vector(b.at("a")), vector(b.at("alpha"))});
  }
  for (const JointSpec& joint : spec.joints) {
    const json& j = out.at("joints").at(joint.name);
    e.reactions.push_back({vector(j.at("moment")), vector(j.at("force"))});
    append(j.at("q"), e.q), append(j.at("v"), e.v), append(j.at("vdot"), e.vdot), append(j.at("effort"), e.efforts);
  }
  for (const CouplingSpec& c : spec.couplings) append(json::array({out.at("couplings").at(c.name).at("effort")}), e.couplings);
  return e;
}

TEST(Eval, PrintsReactionsThatBalanceEveryBodyAtTheJointPointsOfTheDocuments) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("models"))) files.push_back(entry.path());
  for (const char* name : {"locked_slider", "unlocked_slider", "drive_start_model", "slack_damped_model"})
    files.emplace_back(source_path("tests/edges/cases/") + name + ".toml");
  int judged = 0;
  for (const auto& path : files) {
    if (path.extension() != ".toml") continue;
    const auto spec = read_model_file(path.string());
    if (!spec) continue;
    for (const char* formulation : {"augmented", "minimal", "natural"}) {
      const Ended e = invar({"eval", path.string(), "--formulation", formulation});
      if (e.code == 2) continue;  // natural coordinates do not take every mechanism
      ASSERT_EQ(e.code, 0) << path << formulation << e.err;
      const Evaluation said = evaluation_of(*spec, json::parse(e.out));
      // Numbers are printed to the last bit, so the bound of the judge holds.
      expect_balance(*spec, said, Port(spec->bodies.size()), path.string() + " " + formulation);
      ++judged;
    }
  }
  EXPECT_GT(judged, 60);
}

}  // namespace
}  // namespace invar::testing
