// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "invar/base/error.hpp"

namespace invar {

/// A file that appears under its name only when it is whole: it is written under another name beside it (`path`.part), brought
/// to the disk, and renamed. Until `finish` has returned without an error, `path` is what it was before. Two writers of one
/// path do not disturb each other: the later one takes another name, and the last to finish wins. What is not finished is
/// removed again.
/// Every error of the system is kept from the first write on (a full disk may show as late as at `fsync`), so a writer that
/// looks at `finish` alone misses nothing.
class WholeFile {
 public:
  /// Refused where `path` is there and is no regular file: a directory, a pipe, a device.
  static Result<WholeFile> create(const std::string& path);
  WholeFile(WholeFile&& other) noexcept;
  WholeFile& operator=(WholeFile&&) = delete;
  ~WholeFile();

  /// At the end of what `write` has written so far.
  void write(std::string_view bytes);
  /// At a byte offset.
  void write_at(std::size_t offset, const void* bytes, std::size_t size);
  /// What was written there; zeros where nothing was.
  void read_at(std::size_t offset, void* bytes, std::size_t size) const;
  /// Makes it this long.
  void resize(std::size_t size);
  /// Whether all writes so far were taken by the system.
  bool good() const { return error_ == 0; }
  /// Counts as a failure of the system, an errno: the file will not be finished.
  void spoil(int error) { keep(error); }

  /// To the disk, and then to its name. Afterwards nothing more is written.
  Result<void> finish();

 private:
  WholeFile(std::string path, std::string temporary, int fd);
  void keep(int error);
  tl::unexpected<Error> trouble() const;

  std::string path_, temporary_;
  int fd_ = -1;
  int error_ = 0;  // errno of the first failure
  std::size_t end_ = 0;
};

/// Room on the disk of a directory that is kept for a file which has to be written when everything else has failed. It has no
/// name: nothing is left of it when the program ends, however it does. Where there is less of it than was asked for, half as
/// much is kept, or a quarter, and so on.
class KeptRoom {
 public:
  KeptRoom(const std::string& directory, std::size_t bytes);
  KeptRoom(const KeptRoom&) = delete;
  KeptRoom& operator=(const KeptRoom&) = delete;
  ~KeptRoom() { release(); }
  /// How much is kept; 0: none.
  std::size_t bytes() const { return bytes_; }
  void release();

 private:
  int fd_ = -1;
  std::size_t bytes_ = 0;
};

/// Writes a text so that `path` is either what it was or whole.
Result<void> write_text(const std::string& path, const std::string& text);

}  // namespace invar
