// SPDX-License-Identifier: Apache-2.0
#include "invar/io/printable.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace invar {
namespace {

struct Letter {
  std::uint32_t code = 0;
  std::size_t size = 0;  // bytes; 0: what stands here is not UTF-8
};

// The letter at the front: shortest form only, no surrogates, nothing beyond U+10FFFF.
Letter letter_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xF0 ? 4 : (first >= 0xE0 ? 3 : 2);
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return {};
  std::uint32_t code = first & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  const std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {code, size};
}

// C0, DEL and C1; marks of direction; separators of lines and paragraphs; the byte order mark.
bool is_obeyed(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x61C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

std::string escaped(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  return code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{{{:04x}}}", code);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Letter letter = letter_of(text);
    if (letter.size == 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(text[0])));
    else if (is_obeyed(letter.code))
      out += escaped(letter.code);
    else
      out += text.substr(0, letter.size);
    text.remove_prefix(letter.size == 0 ? 1 : letter.size);
  }
  return out;
}

std::string printable_json(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    const Letter letter = letter_of(json);
    if (letter.size == 0)
      out += "\\ufffd";
    else if (letter.code != '\n' && is_obeyed(letter.code))
      out += fmt::format("\\u{:04x}", letter.code);
    else
      out += json.substr(0, letter.size);
    json.remove_prefix(letter.size == 0 ? 1 : letter.size);
  }
  return out;
}

}  // namespace invar
