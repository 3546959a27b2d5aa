// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace invar::testing {

/// How a run of the program ended.
struct Ended {
  int code = -1;    ///< exit code; 128 + number when a signal ended it
  std::string out;  ///< standard output
  std::string err;  ///< standard error
};

/// Runs the built program as a child process with these arguments, `input` on its standard input.
Ended invar(const std::vector<std::string>& arguments, const std::string& input = {});

/// Starts it and does not wait; its output goes nowhere.
pid_t start_invar(const std::vector<std::string>& arguments);
/// Waits; exit code, or 128 + signal.
int wait_for(pid_t child);

/// An empty directory that disappears with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

void write_file(const std::string& path, const std::string& text);
std::string read_file(const std::string& path);

/// Paths in the source tree.
std::string model(const std::string& name);
std::string scenario(const std::string& name);

/// Runs a Python program with h5py and NumPy; its standard output, or "failed: ..." with its standard error.
std::string python(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace invar::testing
