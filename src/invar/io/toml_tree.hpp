// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "invar/io/toml_table.hpp"

// The tree behind TomlTable, for the sources of this room only.
namespace invar {

/// One value of a TOML file, where it stood, and who asked for it. A table's entries are items with a key, sorted by key.
struct TomlNode {
  TomlTable::Type type = TomlTable::Type::None;
  bool asked = false;   ///< somebody wanted this value
  bool opened = false;  ///< somebody reads this table key by key: its own keys must be asked for as well
  std::uint32_t line = 0, column = 0;
  std::uint32_t key_line = 0, key_column = 0;
  double number = 0;         ///< integers as well
  std::int64_t integer = 0;  ///< booleans as 0 and 1
  std::string key;
  std::string text;
  std::vector<TomlNode> items;
  std::set<std::string, std::less<>> known;  ///< keys that somebody asked for, present or not

  bool before(const TomlNode& other) const {
    return key_line != other.key_line ? key_line < other.key_line : key_column < other.key_column;
  }
};

/// Deepest nesting by dots (a.b.c = 1) that is read. Brackets are limited by toml++.
inline constexpr int kDeepestKey = 64;

/// "file:line:column", or the file alone where there is no line.
std::string toml_place(const std::string& file, std::uint32_t line, std::uint32_t column);

/// The tree of a text; `name` stands for the file in places.
Result<TomlNode> parse_tree(std::string_view text, const std::string& name);

/// The first key, in the order of the file, that nobody asked for, and the table it stands in; null where there is none.
struct Unasked {
  const TomlNode* entry = nullptr;
  const TomlNode* table = nullptr;
};
Unasked first_unasked(const TomlNode& node);

}  // namespace invar
