// SPDX-License-Identifier: Apache-2.0
#include "invar/io/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace invar {

Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  std::error_code none;
  const auto status = std::filesystem::status(path, none);
  if (status.type() == std::filesystem::file_type::not_found) return fail(ErrorKind::File, "no such file", path);
  if (std::filesystem::is_directory(status)) return fail(ErrorKind::File, "is a directory, not a file", path);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(ErrorKind::File, fmt::format("cannot be opened for reading: {}", std::strerror(errno)), path);
  return read_text_stream(in, path, max_bytes);
}

Result<std::string> read_text_stream(std::istream& in, const std::string& name, std::size_t max_bytes) {
  std::string text;
  std::vector<char> block(1u << 16);
  while (in && text.size() <= max_bytes) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) return fail(ErrorKind::File, "reading failed", name);
  if (text.size() > max_bytes)
    return fail(ErrorKind::File, fmt::format("is larger than {} bytes, the limit for files of this kind", max_bytes), name);
  return text;
}

}  // namespace invar
