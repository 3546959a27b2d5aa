// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "console.hpp"
#include "invar/io/chosen_loop.hpp"
#include "invar/learn/learned.hpp"

namespace invar::cli {

/// What `invar learn --advise` is asked.
struct AdviseArguments {
  std::string scenario, controller;
  int budget = 40, threads = 1;
  double after = -1;  ///< s; negative: half of the run
};

/// What was found, for whoever prints it.
struct Advised {
  Advice advice;
  std::string words;
  std::vector<std::string> table;  ///< lines of a [[control]] table; empty where nothing is taken
};

/// Searches gains for every way to control that scenario, with progress and Ctrl-C. A model that learned nothing leaves the
/// classical ways. `path` is that of its file.
Result<Advised> advise_on(const AdviseArguments& args, const Learned& learned, const std::string& path, Context& context);

void print_advice(const Advised& advised);
nlohmann::ordered_json to_json(const Advised& advised);

}  // namespace invar::cli
