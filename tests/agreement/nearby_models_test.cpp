// SPDX-License-Identifier: Apache-2.0
// Every model file of models/, and of the folders in INVAR_EXTRA_MODELS (separated by colons), against the dense judge.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "support/dense_kkt.hpp"
#include "support/states.hpp"

namespace invar::testing {

namespace {

std::vector<std::string> model_files() {
  std::string folders = INVAR_SOURCE_DIR "/models";
  if (const char* extra = std::getenv("INVAR_EXTRA_MODELS"))
    folders.append(1, ':').append(extra);
  else
    std::puts("INVAR_EXTRA_MODELS is not set: only the models of the tree are tried");
  std::vector<std::string> files;
  std::istringstream list(folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

/// Largest difference of accelerations over their largest value; a metre and a radian per second squared count alike.
double difference(const Accelerations& a, const Accelerations& b, double gravity) {
  double apart = 0, size = gravity;  // of a rigid mechanism nothing moves: then gravity is the measure
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart = std::max({apart, (a[i].a_WC - b[i].a_WC).norm(), (a[i].alpha_WB - b[i].alpha_WB).norm()});
    size = std::max({size, b[i].a_WC.norm(), b[i].alpha_WB.norm()});
  }
  return size > 0 ? apart / size : apart;
}

}  // namespace

TEST(EveryModelFile, AgreesWithTheDenseJudgeAtItsStartInMotion) {
  const std::vector<std::string> files = model_files();
  ASSERT_GE(files.size(), 10u);
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const auto spec = read_model_file(file);
    ASSERT_TRUE(spec) << spec.error().text();
    const auto model = Model::build(*spec);
    ASSERT_TRUE(model) << model.error().text();
    auto bodies = make_consistent(*model, place(*model, JointState::initial(*model)), 1e-12);
    ASSERT_TRUE(bodies) << bodies.error().text();
    Random random(7);
    draw_velocities(random, *model, *bodies);

    const Load load(*model);
    Accelerations accelerations(model->bodies().size());
    std::vector<Wrench> reactions(model->joints().size());
    ASSERT_TRUE(Augmented(*model).solve(*bodies, load, accelerations, reactions).ok());
    const Judgement truth = judge(*model, *bodies, load);
    // Both solutions carry round-off amplified by the condition number, some 1e-15 times it; a few bits more for the sums.
    const double allowed = std::max(1e-12, 1e-15 * truth.condition);
    EXPECT_LE(difference(accelerations, truth.accelerations, model->gravity().norm()), allowed);
  }
}

}  // namespace invar::testing
