// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "invar/base/error.hpp"

namespace invar {

/// The directory of one run and the names in it.
struct Output {
  std::string directory;
  std::shared_ptr<const void> held = {};  ///< while it lives nobody else prepares this directory; null for readers

  std::string log() const { return directory + "/run.log"; }
  std::string hdf5() const { return directory + "/run.h5"; }
  std::string result() const { return directory + "/result.json"; }
  std::string page() const { return directory + "/report.html"; }
};

/// What was found where a run wants to write.
enum class Found { Nothing, Empty, EarlierOutput, OtherFiles };

/// Makes `directory` ready: creates it, or takes it when it is empty or holds the output of an earlier run, whose run.h5,
/// result.json and report.html are removed so that old and new never stand side by side; its log is replaced when the next one
/// begins. A directory with other files is refused unless `force`; those files are never touched, and a run.log among them that
/// is no log is refused all the same, as is anything in the place of a file that is none. What is refused has lost nothing. The
/// directory is held against other runs until the last copy of the result is gone.
Result<Output> prepare_output(const std::string& directory, bool force, Found* found = nullptr);

/// Refuses an output that is one of the files that are read: by its name, by a link, or by another way to it.
Result<void> not_an_input(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// Bytes that a run may write into a directory, there already or not, its earlier output replaced; infinity where the system
/// does not say.
double free_bytes(const std::string& directory);

}  // namespace invar
