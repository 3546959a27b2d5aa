// SPDX-License-Identifier: Apache-2.0
// Damaged model files and states. Law: whatever the bytes, the answer is a refusal in words or a mechanism whose numbers are
// finite; never a crash, a hang or NaN. `./dev test` replays fixed seeds and the kept corpus, `./dev campaign` draws fresh ones.
#include <gtest/gtest.h>

#include "invar/io/model_file.hpp"
#include "invar/io/state_json.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/exactness.hpp"
#include "support/campaign.hpp"
#include "support/damage.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

std::vector<std::string> all_models() {
  std::vector<std::string> texts;
  for (const std::string& path : model_paths()) texts.push_back(file_text(path));
  return texts;
}

bool all_finite(const Evaluation& e) {
  for (const BodyAcceleration& a : e.accelerations)
    if (!a.a_WC.allFinite() || !a.alpha_WB.allFinite()) return false;
  for (const Wrench& w : e.reactions)
    if (!w.force.allFinite() || !w.moment.allFinite()) return false;
  return true;
}

// Everything that `check`, `info` and `eval` do with a model, at a start that may be anything.
void use(const Model& model, const Start& start, const Load& load, const std::string& what) {
  const auto bodies = start.by_bodies ? Result<Bodies>(start.bodies) : bodies_at(model, start);
  if (!bodies) {
    EXPECT_FALSE(bodies.error().what.empty()) << what;
    return;
  }
  exactness(model, *bodies);
  Augmented dynamics(model);
  State x;
  dynamics.set(*bodies, x);
  Evaluation e;
  const Verdict verdict = dynamics.evaluate(x, load, e);
  // What the program prints is finite, or it says that it is not.
  if (verdict.ok() && evaluation_json(model, e, false)) {
    EXPECT_TRUE(all_finite(e)) << what;
  }
}

enum class Fate { Refused, Accepted };

Fate read_and_use(const std::string& text) {
  const auto spec = parse_model(text, "damaged");
  const auto model = spec ? Model::build(*spec) : tl::unexpected(spec.error());
  if (!model) {
    EXPECT_FALSE(model.error().what.empty());
    EXPECT_EQ(model.error().where.rfind("damaged", 0), 0u) << model.error().text();
    return Fate::Refused;
  }
  // What was accepted holds finite numbers only and can be written and read again.
  EXPECT_TRUE(model->initial_q().allFinite()) << text;
  for (const Joint& j : model->joints()) EXPECT_TRUE(j.X_PF.p.allFinite() && j.X_CM.q.coeffs().allFinite());
  const std::string written = write_model(*spec);
  const auto again = parse_model(written, "again");
  EXPECT_TRUE(again) << again.error().text();
  if (again) {
    EXPECT_EQ(write_model(*again), written);
  }
  if (model->bodies().size() <= 10) use(*model, Start(*model), Load(*model), text);
  return Fate::Accepted;
}

TEST(FuzzModels, DamagedFilesAreRefusedInWordsOrUsedButNeverCrash) {
  Random random(seed(20240501));
  const std::vector<std::string> texts = all_models();
  int refused = 0, accepted = 0;
  for (const std::string& text : texts)
    for (int k = 0; k < cases(100); ++k) ++(read_and_use(drawn(text, texts, random)) == Fate::Refused ? refused : accepted);
  // Both outcomes must occur often, or the damage was of no use.
  EXPECT_GT(refused, 2 * cases(100));
  EXPECT_GT(accepted, 2 * cases(100));
}

TEST(FuzzModels, KeptFilesAreRefusedInWordsOrUsedButNeverCrash) {
  for (const auto& [name, text] : corpus("model")) {
    SCOPED_TRACE(name);
    read_and_use(text);
  }
}

// A state, a port and efforts for every body and joint of a model, as JSON texts.
struct Texts {
  std::string bodies = R"({"bodies": {)", joints = R"({"joints": {)", port = "{", efforts = "{";
  explicit Texts(const Model& model) {
    const char* comma = "";
    for (const Body& b : model.bodies()) {
      bodies += comma + ("\"" + b.name) + R"(": {"p": [0.1, 0.2, 0.3], "q": [1, 0, 0, 0], "v": [0, 1, 0], "w": [0, 0, 1]})";
      port += comma + ("\"" + b.name) + R"(": {"force": [1, 2, 3], "moment": [0, 0, 1]})";
      comma = ", ";
    }
    comma = "";
    for (const Joint& j : model.joints()) {
      const auto list = [](int n, double last) {
        std::string out = "[";
        for (int i = 0; i < n; ++i) out += (i > 0 ? ", " : "") + std::to_string(i == n - 1 ? last : 0.0);
        return out + "]";
      };
      joints +=
          comma + ("\"" + j.name) + R"(": {"q": )" + list(j.nq, j.nq > j.nv ? 1.0 : 0.1) + R"(, "v": )" + list(j.nv, 0.2) + "}";
      efforts += comma + ("\"" + j.name) + "\": " + list(j.nv, 1.5);
      comma = ", ";
    }
    bodies += "}}", joints += "}}", port += "}", efforts += "}";
  }
};

Fate read_and_use_state(const Model& model, const std::string& state, const std::string& port, const std::string& efforts) {
  const auto start = start_from_json(model, state, "damaged");
  Load load(model);
  Result<void> loaded = port_from_json(model, port, "damaged", load);
  if (loaded) loaded = efforts_from_json(model, efforts, "damaged", load);
  if (!start || !loaded) {
    const Error& error = start ? loaded.error() : start.error();
    EXPECT_FALSE(error.what.empty());
    EXPECT_EQ(error.where.rfind("damaged", 0), 0u) << error.text();
    return Fate::Refused;
  }
  use(model, *start, load, state + port + efforts);
  return Fate::Accepted;
}

TEST(FuzzStates, DamagedStatesPortsAndEffortsAreRefusedInWordsOrUsedButNeverCrash) {
  Random random(seed(20240502));
  int refused = 0, accepted = 0;
  for (const char* file : {"all_joints", "bricard", "door", "paper_a_chain"}) {
    const auto model = read_model(source_path("models/") + file + ".toml");
    ASSERT_TRUE(model) << model.error().text();
    const Texts texts(*model);
    const std::vector<std::string> others = {texts.bodies, texts.joints, texts.port, texts.efforts};
    ASSERT_EQ(read_and_use_state(*model, texts.joints, texts.port, texts.efforts), Fate::Accepted) << "undamaged";
    for (int k = 0; k < cases(150); ++k) {
      std::string parts[] = {random.chance(0.5) ? texts.bodies : texts.joints, texts.port, texts.efforts};
      std::string& victim = parts[random.below(3)];
      victim = drawn(victim, others, random);
      ++(read_and_use_state(*model, parts[0], parts[1], parts[2]) == Fate::Refused ? refused : accepted);
    }
  }
  EXPECT_GT(refused, cases(150) / 3);
  EXPECT_GT(accepted, cases(150) / 3);
}

TEST(FuzzStates, KeptStatesPortsAndEffortsAreRefusedInWordsOrUsedButNeverCrash) {
  const auto model = read_model(source_path("models/pendulum.toml"));
  ASSERT_TRUE(model);
  for (const char* kind : {"state", "port", "efforts"})
    for (const auto& [name, text] : corpus(kind)) {
      SCOPED_TRACE(name);
      const std::string which = kind;
      read_and_use_state(*model, which == "state" ? text : R"({"joints": {}})", which == "port" ? text : "{}",
                         which == "efforts" ? text : "{}");
    }
}

TEST(FuzzStates, DeepNestingIsRefused) {
  const auto model = read_model(source_path("models/pendulum.toml"));
  ASSERT_TRUE(model);
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_FALSE(start_from_json(*model, deep, "deep"));
  EXPECT_FALSE(start_from_json(*model, R"({"bodies": )" + deep + "}", "deep"));
  std::string objects;
  for (int i = 0; i < 200000; ++i) objects += R"({"joints":)";
  EXPECT_FALSE(start_from_json(*model, objects, "deep"));
}

}  // namespace
}  // namespace invar::testing
