// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/model/model.hpp"
#include "invar/run/run.hpp"
#include "verbs.hpp"

namespace invar::cli {

/// Prints "error: where: what" and sets the exit code that belongs to its kind.
void report(const Error& error, Context& context);
/// Prints "warning: ..." unless quiet.
void warn(const std::vector<std::string>& warnings, const Context& context);
/// Prints a line to stderr unless quiet.
void say(const std::string& line, const Context& context);

/// A model file, read and checked.
Result<Model> load_model(const std::string& path, std::vector<std::string>& warnings);

/// The whole of a file, or of standard input for "-".
Result<std::string> read_text(const std::string& path);

/// Progress of a run on stderr: one line that rewrites itself on a terminal, a plain line every few seconds otherwise.
class ProgressLine {
 public:
  explicit ProgressLine(const Context& context);
  void show(const Progress& progress);
  void clear();

 private:
  bool enabled_, terminal_, drawn_ = false;
  double last_ = 0;  // s of wall clock
};

}  // namespace invar::cli
