// SPDX-License-Identifier: Apache-2.0
#include "invar/io/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "invar/io/file_lock.hpp"

// A name beside the file is taken by locking it. Between opening and locking, its former owner may have renamed it: then what was
// opened is that owner's finished file, which must not be touched, and the name is tried again.
namespace invar {
namespace {

constexpr int kWriters = 8;               // of one path at the same time
constexpr int kTries = 100;               // to take a name that is renamed again and again
constexpr std::size_t kLeastRoom = 4096;  // bytes: less keeps nothing

bool same_file(int fd, const std::string& name) {
  struct stat opened{}, named{};
  return ::fstat(fd, &opened) == 0 && ::lstat(name.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev && S_ISREG(opened.st_mode);
}

// A descriptor that owns `name`, emptied; -1 with errno where the system refuses, -2 where somebody else owns it.
int take(const std::string& name) {
  for (int k = 0; k < kTries; ++k) {
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0) return -1;
    const bool locked = take_lock(fd, Share::Exclusive);
    if (locked && same_file(fd, name)) {
      if (::ftruncate(fd, 0) == 0) return fd;
      const int error = errno;
      ::close(fd);
      errno = error;
      return -1;
    }
    ::close(fd);
    if (!locked) return -2;
  }
  return -2;
}

// The name itself reaches the disk with its directory; not every file system lets a directory be synchronised.
void sync_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

// A file without a name: its blocks are given back when it is closed, however the program ends. Where the file system has none,
// a name is taken and removed at once.
int nameless_file(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  std::string name = directory + "/room.partXXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

Result<WholeFile> WholeFile::create(const std::string& path) {
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    return fail(ErrorKind::File,
                S_ISDIR(there.st_mode) ? "is a directory, not a file" : "is no regular file; it is left as it is", path);
  for (int k = 1; k <= kWriters; ++k) {
    const std::string name = path + ".part" + (k == 1 ? "" : std::to_string(k));
    const int fd = take(name);
    if (fd >= 0) return WholeFile(path, name, fd);
    if (fd == -1) return fail(ErrorKind::File, fmt::format("cannot create the file: {}", std::strerror(errno)), path);
  }
  return fail(ErrorKind::File, "others are writing this file", path);
}

WholeFile::WholeFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

WholeFile::WholeFile(WholeFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      error_(other.error_),
      end_(other.end_) {}

WholeFile::~WholeFile() {
  if (fd_ < 0) return;
  ::unlink(temporary_.c_str());
  ::close(fd_);
}

void WholeFile::keep(int error) {
  if (error_ == 0) error_ = error;
}

tl::unexpected<Error> WholeFile::trouble() const {
  return fail(ErrorKind::File, fmt::format("cannot write the file: {}", std::strerror(error_)), path_);
}

void WholeFile::write(std::string_view bytes) {
  write_at(end_, bytes.data(), bytes.size());
  end_ += bytes.size();
}

void WholeFile::write_at(std::size_t offset, const void* bytes, std::size_t size) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0 && good()) {
    const ssize_t n = ::pwrite(fd_, from, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return keep(n < 0 ? errno : EIO);
    from += n, offset += static_cast<std::size_t>(n), size -= static_cast<std::size_t>(n);
  }
}

void WholeFile::read_at(std::size_t offset, void* bytes, std::size_t size) const {
  char* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t n = ::pread(fd_, to, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    to += n, offset += static_cast<std::size_t>(n), size -= static_cast<std::size_t>(n);
  }
  std::memset(to, 0, size);
}

void WholeFile::resize(std::size_t size) {
  if (good() && ::ftruncate(fd_, static_cast<off_t>(size)) != 0) keep(errno);
}

Result<void> WholeFile::finish() {
  if (good() && ::fsync(fd_) != 0 && errno != EINVAL && errno != ENOTSUP) keep(errno);
  if (!good()) return trouble();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    keep(errno);
    return trouble();
  }
  const bool closed = ::close(std::exchange(fd_, -1)) == 0;
  if (!closed) {
    keep(errno);
    return trouble();
  }
  sync_directory(path_);
  return {};
}

KeptRoom::KeptRoom(const std::string& directory, std::size_t bytes) : fd_(nameless_file(directory)) {
  for (; fd_ >= 0 && bytes >= kLeastRoom; bytes /= 2) {
    if (::posix_fallocate(fd_, 0, static_cast<off_t>(bytes)) == 0) {
      bytes_ = bytes;
      return;
    }
    if (::ftruncate(fd_, 0) != 0) break;
  }
  release();
}

void KeptRoom::release() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  bytes_ = 0;
}

Result<void> write_text(const std::string& path, const std::string& text) {
  auto file = WholeFile::create(path);
  if (!file) return tl::unexpected(file.error());
  file->write(text);
  return file->finish();
}

}  // namespace invar
