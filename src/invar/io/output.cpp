// SPDX-License-Identifier: Apache-2.0
#include "invar/io/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>

#include "invar/io/file_lock.hpp"
#include "invar/io/log.hpp"
#include "invar/io/regular_file.hpp"

namespace invar {

namespace fs = std::filesystem;

namespace {

// How many bytes of the first word of a log a file begins with, all that it has or the whole word; -1: it begins otherwise.
int begins_like_a_log(const std::string& path) {
  const auto file = open_regular(path);
  if (!file) return -1;
  char head[8] = {};
  const std::size_t got = std::fread(head, 1, sizeof head, file->get());
  return std::string_view("INVARLOG").substr(0, got) == std::string_view(head, got) ? static_cast<int>(got) : -1;
}

// What a run leaves that is killed at its first write: a log that was just begun, and files that were not finished.
bool holds_beginnings_only(const Output& output) {
  std::error_code trouble;
  for (const auto& entry : fs::directory_iterator(output.directory, trouble)) {
    const std::string name = entry.path().filename().string();
    if (name != "run.log" && name.find(".part") == name.npos) return false;
  }
  return !trouble;
}

// A log is the one file that every run leaves behind, finished or killed. One that is shorter than its first word may be
// anybody's.
Found look(const Output& output) {
  std::error_code trouble;
  if (!fs::exists(output.directory, trouble)) return Found::Nothing;
  if (fs::is_empty(output.directory, trouble)) return Found::Empty;
  const int begun = begins_like_a_log(output.log());
  return begun == 8 || (begun >= 0 && holds_beginnings_only(output)) ? Found::EarlierOutput : Found::OtherFiles;
}

// Whether files of a run can take the place of what is there: asked before anything is removed. Links are replaced, but a log is
// not written through one.
Result<void> replaceable(const Output& output) {
  struct stat there{};
  for (const std::string& old : {output.hdf5(), output.result(), output.page()})
    if (::lstat(old.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode))
      return fail(ErrorKind::File, "is no regular file; it is left as it is", old);
  if (::lstat(output.log().c_str(), &there) != 0) return {};
  if (!S_ISREG(there.st_mode)) return fail(ErrorKind::File, "is no regular file; a log cannot be written there", output.log());
  const int fd = ::open(output.log().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return fail(ErrorKind::File, fmt::format("cannot write the log: {}", std::strerror(errno)), output.log());
  ::close(fd);
  return {};
}

// Not every file system locks directories: there the lock of the log has to do.
bool hold(Output& output) {
  const int fd = ::open(output.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return true;
  output.held = std::shared_ptr<const void>(nullptr, [fd](const void*) { ::close(fd); });
  return take_lock(fd, Share::Exclusive);
}

}  // namespace

Result<Output> prepare_output(const std::string& directory, bool force, Found* found) {
  Output output{directory.empty() ? "." : directory};
  std::error_code trouble;
  if (fs::exists(output.directory, trouble) && !fs::is_directory(output.directory, trouble))
    return fail(ErrorKind::File, "is a file, not a directory", output.directory);
  const Found what = look(output);
  if (found != nullptr) *found = what;
  if (what == Found::OtherFiles && !force)
    return fail(ErrorKind::File,
                "the directory holds files that are not the output of an earlier run; choose another, or say --force",
                output.directory);
  if (what == Found::OtherFiles && fs::symlink_status(output.log(), trouble).type() != fs::file_type::not_found)
    return fail(ErrorKind::File, "is there and is no log of a run; it is left as it is", output.log());
  if (auto fine = replaceable(output); !fine) return tl::unexpected(fine.error());
  if (being_written(output.log())) return fail(ErrorKind::File, "another run is writing here", output.log());

  fs::create_directories(output.directory, trouble);
  if (trouble) return fail(ErrorKind::File, fmt::format("cannot create the directory: {}", trouble.message()), output.directory);
  if (::access(output.directory.c_str(), W_OK | X_OK) != 0)
    return fail(ErrorKind::File, "the directory is not writable", output.directory);
  if (!hold(output)) return fail(ErrorKind::File, "another run is writing here", output.directory);
  for (const std::string& old : {output.hdf5(), output.result(), output.page()}) {
    fs::remove(old, trouble);
    if (trouble) return fail(ErrorKind::File, fmt::format("cannot remove the old file: {}", trouble.message()), old);
  }
  return output;
}

Result<void> not_an_input(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  std::error_code ignored;
  for (const std::string& output : outputs)
    for (const std::string& input : inputs)
      if (fs::equivalent(output, input, ignored))
        return fail(ErrorKind::Option, "is read here, and would be written over: name another output", output);
  return {};
}

double free_bytes(const std::string& directory) {
  const Output output{directory.empty() ? "." : directory};
  std::error_code trouble;
  fs::path there = fs::absolute(output.directory, trouble);
  while (!there.empty() && there != there.root_path() && !fs::exists(there, trouble)) there = there.parent_path();
  struct statvfs system{};
  if (::statvfs(there.c_str(), &system) != 0 || system.f_blocks == 0) return std::numeric_limits<double>::infinity();
  double out = static_cast<double>(system.f_bavail) * static_cast<double>(system.f_frsize);
  for (const std::string& old : {output.log(), output.hdf5(), output.result(), output.page()})
    if (const auto size = fs::file_size(old, trouble); !trouble) out += static_cast<double>(size);
  return out;
}

}  // namespace invar
