// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "invar/base/error.hpp"

namespace invar {

struct FileCloser {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using OpenFile = std::unique_ptr<std::FILE, FileCloser>;

/// While it lives, it notes every path that this thread opens by open_regular: what was read is not written over. The one that
/// was made last notes.
class FilesRead {
 public:
  FilesRead();
  ~FilesRead();
  FilesRead(const FilesRead&) = delete;
  FilesRead& operator=(const FilesRead&) = delete;

  const std::vector<std::string>& paths() const { return paths_; }

 private:
  friend Result<OpenFile> open_regular(const std::string& path);
  std::vector<std::string> paths_;
  FilesRead* before_;
};

/// A regular file for reading. Directories, pipes, sockets and devices are refused by name, without waiting for whoever is, or
/// is not, at their other end.
Result<OpenFile> open_regular(const std::string& path);

}  // namespace invar
