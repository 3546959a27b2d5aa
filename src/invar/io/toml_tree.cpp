// SPDX-License-Identifier: Apache-2.0
#include "invar/io/toml_tree.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

// toml++ parses; the tree is then copied into plain nodes. Nothing of toml++ is seen outside this file, and its exceptions end
// here. It recurses along dotted keys without limit, on the stack, so their depth is looked at before.
namespace invar {
namespace {

/// Walks over a text far enough to know what is inside strings and comments and what is not.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  /// The line with more than `limit` dots between two separators outside strings; 0 where there is none.
  std::uint32_t line_deeper_than(int limit) {
    int dots = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') skip_to_line_end();
      if (c == '.' && ++dots > limit) return line_;
      if (c == '\n' || c == '=' || c == ',' || c == '[' || c == ']' || c == '{' || c == '}' || c == '#') dots = 0;
      step();
    }
    return 0;
  }

 private:
  void step() {
    if (at_ < text_.size() && text_[at_] == '\n') ++line_;
    ++at_;
  }
  void skip_to_line_end() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }
  bool has(std::string_view word) const { return text_.substr(std::min(at_, text_.size()), word.size()) == word; }

  /// From an opening quote to behind the closing one; a string of one line ends with its line at the latest.
  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool many_lines = has(three);
    at_ += many_lines ? 3 : 1;
    while (at_ < text_.size()) {
      if (many_lines ? has(three) : text_[at_] == quote || text_[at_] == '\n') break;
      if (quote == '"' && text_[at_] == '\\') step();
      step();
    }
    if (many_lines || (at_ < text_.size() && text_[at_] == quote)) at_ += many_lines ? 3 : 1;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

void copy(const toml::node& from, TomlNode& to);

void copy_table(const toml::table& from, TomlNode& to) {
  to.items.reserve(from.size());
  for (const auto& [key, value] : from) {
    TomlNode& entry = to.items.emplace_back();
    copy(value, entry);
    entry.key = key.str();
    entry.key_line = static_cast<std::uint32_t>(key.source().begin.line);
    entry.key_column = static_cast<std::uint32_t>(key.source().begin.column);
  }
}

void copy_array(const toml::array& from, TomlNode& to) {
  to.items.reserve(from.size());
  for (const toml::node& item : from) copy(item, to.items.emplace_back());
}

void copy(const toml::node& from, TomlNode& to) {
  using Type = TomlTable::Type;
  to.line = static_cast<std::uint32_t>(from.source().begin.line);
  to.column = static_cast<std::uint32_t>(from.source().begin.column);
  switch (from.type()) {
    case toml::node_type::boolean: to.type = Type::Boolean, to.integer = from.as_boolean()->get() ? 1 : 0; break;
    case toml::node_type::string: to.type = Type::String, to.text = from.as_string()->get(); break;
    case toml::node_type::floating_point: to.type = Type::Number, to.number = from.as_floating_point()->get(); break;
    case toml::node_type::integer:
      to.type = Type::Integer, to.integer = from.as_integer()->get(), to.number = static_cast<double>(to.integer);
      break;
    case toml::node_type::array: to.type = Type::Array, copy_array(*from.as_array(), to); break;
    case toml::node_type::table: to.type = Type::Table, copy_table(*from.as_table(), to); break;
    default: to.type = Type::Date;
  }
}

}  // namespace

std::string toml_place(const std::string& file, std::uint32_t line, std::uint32_t column) {
  return line == 0 ? file : fmt::format("{}:{}:{}", file, line, column);
}

Result<TomlNode> parse_tree(std::string_view text, const std::string& name) {
  if (const std::uint32_t line = Walk(text).line_deeper_than(kDeepestKey); line > 0)
    return fail(ErrorKind::Syntax, fmt::format("a key has more than {} dots", kDeepestKey), toml_place(name, line, 1));
  TomlNode root;
  try {
    copy(toml::parse(text, std::string_view(name)), root);
  } catch (const toml::parse_error& e) {
    const auto& at = e.source().begin;
    return fail(ErrorKind::Syntax, fmt::format("not valid TOML: {}", e.description()), toml_place(name, at.line, at.column));
  } catch (const std::exception& e) {
    return fail(ErrorKind::Syntax, fmt::format("cannot be read as TOML: {}", e.what()), name);
  }
  root.opened = true;
  return root;
}

Unasked first_unasked(const TomlNode& node) {
  Unasked first;
  for (const TomlNode& item : node.items) {
    Unasked found;
    if (node.type == TomlTable::Type::Table && !item.asked) {
      found = {&item, &node};
    } else if (item.opened || item.type == TomlTable::Type::Array) {
      found = first_unasked(item);
    }
    if (found.entry && (!first.entry || found.entry->before(*first.entry))) first = found;
  }
  return first;
}

}  // namespace invar
