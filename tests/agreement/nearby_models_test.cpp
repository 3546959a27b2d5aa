// SPDX-License-Identifier: Apache-2.0
// Every model file of models/, and of the folders in INVAR_EXTRA_MODELS (separated by colons), against the dense judge:
// accelerations and reactions, in the bound of expect_agreement.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "support/agreement.hpp"
#include "support/places.hpp"

namespace invar::testing {

namespace {

std::vector<std::string> model_files() {
  std::string folders = source_path("models");
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

    expect_agreement(*spec, *model, *bodies, Load(*model), file);
  }
}

}  // namespace invar::testing
