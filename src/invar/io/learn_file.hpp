// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/io/data_files.hpp"
#include "invar/learn/learn.hpp"

namespace invar {

/// What `invar learn` is asked for (TOML, docs/learning.md), with model and data read.
struct LearnFile {
  std::string output;               ///< where the learned model goes
  std::vector<std::string> inputs;  ///< files that were read: this one, the model, data
  ModelSpec nominal;
  std::shared_ptr<const Model> model;
  std::vector<Actuator> actuators;
  DataSet data;
  LearnSpec spec;
};

/// Refuses with file, line and column: unknown keys and words, terms on what is not there, data that are none. Files are looked
/// for from the folder of this one.
Result<LearnFile> read_learn_file(const std::string& path, std::vector<std::string>* warnings = nullptr);

}  // namespace invar
