// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "invar/io/log.hpp"
#include "invar/model/model.hpp"
#include "invar/run/run.hpp"
#include "printed.hpp"
#include "verbs.hpp"

namespace invar::cli {

/// Prints "error: where: what" and sets the exit code that belongs to its kind.
void report(const Error& error, Context& context);
/// The exit code that belongs to its kind.
int exit_code(const Error& error);
/// Prints "warning: ..." unless quiet.
void warn(const std::vector<std::string>& warnings, const Context& context);
/// Prints a line to stderr unless quiet.
void say(const std::string& line, const Context& context);

/// The verbs that look at a model file: its path, and whether the answer is JSON.
struct ModelArguments {
  std::string model;
  bool json = false;
};
/// Adds such a verb with its help and an example.
void add_model_verb(CLI::App& app, const char* name, const char* help, const char* example, Context& context,
                    void (*verb)(const ModelArguments&, Context&));

/// "1 body", "2 bodies".
std::string counted(std::size_t n, const char* one, const char* many);

/// Refuses what is no positive number, with what was given and what is allowed.
CLI::Validator positive_number();
/// The same, or zero.
CLI::Validator no_negative_number();

/// Prints JSON, indented; bytes that are not UTF-8 are replaced.
void print_json(const nlohmann::ordered_json& json);

/// The whole of a file, or of standard input for "-"; at most 64 MiB.
Result<std::string> read_text(const std::string& path);

/// The log in an output directory; errors name the directory where there is none.
Result<LogReader> open_log(const std::string& directory);

/// From now on the first Ctrl-C, SIGTERM or SIGHUP sets this flag, so that a run ends after its step; the second one is not
/// caught. What the caller of the program told it to ignore (nohup) stays ignored.
const std::atomic<bool>& stop_on_signal();

/// Progress of a run on stderr: one line that rewrites itself on a terminal, a plain line every few seconds otherwise.
class ProgressLine {
 public:
  explicit ProgressLine(const Context& context);
  void show(const Progress& progress);
  /// The same with words of the caller's in place of times and steps.
  void show(const Progress& progress, const std::string& what);
  void clear();

 private:
  bool enabled_, terminal_, drawn_ = false;
  double last_ = 0;  // s of wall clock
};

}  // namespace invar::cli
