// SPDX-License-Identifier: Apache-2.0
#include "invar/io/regular_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace invar {
namespace {

const char* what_is(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

tl::unexpected<Error> refused(mode_t mode, const std::string& path) {
  return fail(ErrorKind::File, fmt::format("is {}, not a file", what_is(mode)), path);
}

thread_local FilesRead* who_notes = nullptr;

}  // namespace

FilesRead::FilesRead() : before_(who_notes) { who_notes = this; }
FilesRead::~FilesRead() { who_notes = before_; }

Result<OpenFile> open_regular(const std::string& path) {
  // Looked at first, because opening a device may do something; and again when it is open, because the name may have changed.
  struct stat there{};
  if (::stat(path.c_str(), &there) != 0)
    return errno == ENOENT || errno == ENOTDIR
               ? fail(ErrorKind::File, "no such file", path)
               : fail(ErrorKind::File, fmt::format("cannot be opened for reading: {}", std::strerror(errno)), path);
  if (!S_ISREG(there.st_mode)) return refused(there.st_mode, path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return fail(ErrorKind::File, fmt::format("cannot be opened for reading: {}", std::strerror(errno)), path);
  if (::fstat(fd, &there) != 0 || !S_ISREG(there.st_mode)) {
    ::close(fd);
    return refused(there.st_mode, path);
  }
  if (OpenFile file(::fdopen(fd, "rb")); file) {
    if (who_notes != nullptr) who_notes->paths_.push_back(path);
    return file;
  }
  ::close(fd);
  return fail(ErrorKind::File, "cannot be opened for reading", path);
}

}  // namespace invar
