// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>

#include "invar/base/error.hpp"

/// The program `invar`: one file per verb. Exit codes: 0 fine, 1 a stated law was broken, 2 bad input or output, 3 the numerics
/// failed, 130 interrupted by Ctrl-C (SIGINT), SIGTERM or SIGHUP.
namespace invar::cli {

inline constexpr int kFine = 0, kLawBroken = 1, kBadInput = 2, kNumericsFailed = 3, kInterrupted = 130;

/// Options that every verb takes, and the exit code that the verb leaves behind.
struct Context {
  bool quiet = false;
  bool verbose = false;
  int exit_code = kFine;
};

void add_check(CLI::App& app, Context& context);
void add_info(CLI::App& app, Context& context);
void add_eval(CLI::App& app, Context& context);
void add_equilibrium(CLI::App& app, Context& context);
void add_modes(CLI::App& app, Context& context);
void add_stiffness(CLI::App& app, Context& context);
void add_run(CLI::App& app, Context& context);
void add_compare(CLI::App& app, Context& context);
void add_learn(CLI::App& app, Context& context);
void add_margin(CLI::App& app, Context& context);
void add_calibrate(CLI::App& app, Context& context);
void add_report(CLI::App& app, Context& context);
void add_view(CLI::App& app, Context& context);

}  // namespace invar::cli
