// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <memory>
#include <string>

#include "invar/base/error.hpp"

namespace invar {

struct FileCloser {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using OpenFile = std::unique_ptr<std::FILE, FileCloser>;

/// A regular file for reading. Directories, pipes, sockets and devices are refused by name, without waiting for whoever is, or
/// is not, at their other end.
Result<OpenFile> open_regular(const std::string& path);

}  // namespace invar
