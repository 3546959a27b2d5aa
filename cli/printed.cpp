// SPDX-License-Identifier: Apache-2.0
#include "printed.hpp"

#include <cerrno>

namespace invar::cli {
namespace {

int failed = 0;  // errno of the first failure of stdout

}  // namespace

void put(std::FILE* to, std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), to) != text.size() && to == stdout && failed == 0)
    failed = errno == 0 ? EIO : errno;
}

int unwritten() {
  errno = 0;
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && failed == 0) failed = errno == 0 ? EIO : errno;
  return failed;
}

}  // namespace invar::cli
