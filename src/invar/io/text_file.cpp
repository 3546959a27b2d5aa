// SPDX-License-Identifier: Apache-2.0
#include "invar/io/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <istream>
#include <vector>

#include "invar/io/regular_file.hpp"

namespace invar {
namespace {

// Block by block from `read`, until it gives nothing more.
template <class Read>
Result<std::string> read_all(Read read, const std::string& name, std::size_t max_bytes) {
  std::string text;
  std::vector<char> block(1u << 16);
  for (std::size_t n = 1; n > 0 && text.size() <= max_bytes;) {
    n = read(block);
    text.append(block.data(), n);
  }
  if (text.size() > max_bytes)
    return fail(ErrorKind::File, fmt::format("is larger than {} bytes, the limit for files of this kind", max_bytes), name);
  return text;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  auto file = open_regular(path);
  if (!file) return tl::unexpected(file.error());
  errno = 0;
  auto text =
      read_all([&](std::vector<char>& block) { return std::fread(block.data(), 1, block.size(), file->get()); }, path, max_bytes);
  if (std::ferror(file->get()) != 0) return fail(ErrorKind::File, fmt::format("reading failed: {}", std::strerror(errno)), path);
  return text;
}

Result<std::string> read_text_stream(std::istream& in, const std::string& name, std::size_t max_bytes) {
  auto text = read_all(
      [&](std::vector<char>& block) {
        in.read(block.data(), static_cast<std::streamsize>(block.size()));
        return static_cast<std::size_t>(in.gcount());
      },
      name, max_bytes);
  if (in.bad()) return fail(ErrorKind::File, "reading failed", name);
  return text;
}

}  // namespace invar
