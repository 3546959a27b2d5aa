// SPDX-License-Identifier: Apache-2.0
#include "invar/io/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "invar/io/log.hpp"

namespace invar {

namespace fs = std::filesystem;

namespace {

bool begins_with_magic(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char head[8] = {};
  file.read(head, sizeof head);
  return file.gcount() == 8 && std::string(head, 8) == "INVARLOG";
}

// A log is the one file that every run leaves behind, finished or killed.
Found look(const Output& output) {
  std::error_code trouble;
  if (!fs::exists(output.directory, trouble)) return Found::Nothing;
  if (fs::is_empty(output.directory, trouble)) return Found::Empty;
  return begins_with_magic(output.log()) ? Found::EarlierOutput : Found::OtherFiles;
}

}  // namespace

Result<Output> prepare_output(const std::string& directory, bool force, Found* found) {
  const Output output{directory.empty() ? "." : directory};
  std::error_code trouble;
  if (fs::exists(output.directory, trouble) && !fs::is_directory(output.directory, trouble))
    return fail(ErrorKind::File, "is a file, not a directory", output.directory);
  const Found what = look(output);
  if (found != nullptr) *found = what;
  if (what == Found::OtherFiles && !force)
    return fail(ErrorKind::File,
                "the directory holds files that are not the output of an earlier run; choose another, or say --force",
                output.directory);
  if (being_written(output.log())) return fail(ErrorKind::File, "another run is writing here", output.log());

  fs::create_directories(output.directory, trouble);
  if (trouble) return fail(ErrorKind::File, fmt::format("cannot create the directory: {}", trouble.message()), output.directory);
  if (::access(output.directory.c_str(), W_OK | X_OK) != 0)
    return fail(ErrorKind::File, "the directory is not writable", output.directory);
  for (const std::string& old : {output.hdf5(), output.result(), output.page()}) {
    fs::remove(old, trouble);
    if (trouble) return fail(ErrorKind::File, fmt::format("cannot remove the old file: {}", trouble.message()), old);
  }
  return output;
}

}  // namespace invar
