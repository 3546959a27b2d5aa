// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "support/folder.hpp"

namespace invar::testing {

/// How a run of the program ended.
struct Ended {
  int code = -1;    ///< exit code; 128 + number when a signal ended it
  std::string out;  ///< standard output
  std::string err;  ///< standard error
};

/// Runs the built program as a child process with these arguments, `input` on its standard input.
Ended invar(const std::vector<std::string>& arguments, const std::string& input = {});

/// Starts it and does not wait; its output goes nowhere, or into these files.
pid_t start_invar(const std::vector<std::string>& arguments, const std::string& out = "/dev/null",
                  const std::string& err = "/dev/null");
/// Waits; exit code, or 128 + signal.
int wait_for(pid_t child);

/// Paths in the source tree.
std::string model(const std::string& name);
std::string scenario(const std::string& name);

/// Runs a Python program with h5py and NumPy; its standard output, or "failed: ..." with its standard error.
std::string python(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace invar::testing
