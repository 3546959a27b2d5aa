// SPDX-License-Identifier: Apache-2.0
#include "invar/io/toml_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/geom/unit_quaternion.hpp"
#include "invar/io/text_file.hpp"
#include "invar/io/toml_tree.hpp"
#include "invar/model/model.hpp"

namespace invar {

struct TomlDocument {
  std::string name;
  TomlNode root;
  std::optional<Error> wrong, missing;
};

namespace {

const char* word(TomlTable::Type type) {
  switch (type) {
    case TomlTable::Type::None: return "nothing";
    case TomlTable::Type::Boolean: return "a boolean";
    case TomlTable::Type::Integer: return "an integer";
    case TomlTable::Type::Number: return "a number";
    case TomlTable::Type::String: return "a string";
    case TomlTable::Type::Date: return "a date or time";
    case TomlTable::Type::Array: return "an array";
    case TomlTable::Type::Table: return "a table";
  }
  return "something";
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "'" : ", '") + w + "'";
  return all;
}

/// The end of a sentence that refuses a word: the nearest of the words that would do, or all of them.
std::string hint(std::string_view found, const std::vector<std::string>& words, const char* introduction) {
  if (const std::string near = did_you_mean(found, words); !near.empty()) return near;
  return words.empty() ? std::string() : fmt::format("; {} {}", introduction, joined(words));
}

}  // namespace

std::string TomlTable::place(const TomlNode& node) const { return toml_place(document_->name, node.line, node.column); }

std::string TomlTable::where() const { return place(*node_); }

std::string TomlTable::where(std::string_view key) const {
  const TomlNode* item = entry(key);
  return item ? place(*item) : where();
}

Where TomlTable::places() const {
  Where w{where(), {}};
  for (const TomlNode& item : node_->items) w.fields.emplace(item.key, place(item));
  return w;
}

std::vector<std::string> TomlTable::keys() const {
  std::vector<const TomlNode*> items;
  for (const TomlNode& item : node_->items) items.push_back(&item);
  std::sort(items.begin(), items.end(), [](const TomlNode* x, const TomlNode* y) { return x->before(*y); });
  std::vector<std::string> all;
  for (const TomlNode* item : items) all.push_back(item->key);
  return all;
}

namespace {

void add_scalars(const TomlNode& node, const std::string& path, std::vector<std::pair<std::string, std::string>>& out) {
  using Type = TomlTable::Type;
  if (node.type == Type::Table)
    for (const TomlNode& item : node.items) add_scalars(item, path.empty() ? item.key : path + "." + item.key, out);
  else if (node.type == Type::Array)
    for (std::size_t k = 0; k < node.items.size(); ++k) add_scalars(node.items[k], fmt::format("{}[{}]", path, k), out);
  else if (node.type == Type::Integer || node.type == Type::Number)
    out.emplace_back(path, fmt::format("{}", node.number));
  else
    out.emplace_back(path, node.type == Type::Boolean ? (node.integer != 0 ? "true" : "false") : node.text);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> TomlTable::scalars() const {
  std::vector<std::pair<std::string, std::string>> out;
  add_scalars(*node_, {}, out);
  return out;
}

TomlNode* TomlTable::entry(std::string_view key) const {
  const auto before = [](const TomlNode& item, std::string_view k) { return item.key < k; };
  const auto it = std::lower_bound(node_->items.begin(), node_->items.end(), key, before);
  return it != node_->items.end() && it->key == key ? &*it : nullptr;
}

TomlNode* TomlTable::find(std::string_view key, bool required) const {
  node_->known.emplace(key);
  if (TomlNode* item = entry(key)) {
    item->asked = true;
    return item;
  }
  if (required && !document_->missing) {
    const std::string table = node_->key.empty() ? "" : fmt::format(" in '{}'", node_->key);
    document_->missing = Error{ErrorKind::Syntax, fmt::format("key '{}' is missing{}", key, table), where()};
  }
  return nullptr;
}

void TomlTable::wrong(const TomlNode& node, std::string sentence) const {
  if (!document_->wrong) document_->wrong = Error{ErrorKind::Syntax, std::move(sentence), place(node)};
}

void TomlTable::refuse(std::string_view key, std::string sentence) const {
  if (!document_->wrong) document_->wrong = Error{ErrorKind::Syntax, std::move(sentence), key.empty() ? where() : where(key)};
}

bool TomlTable::refuse_named(std::initializer_list<const char*> keys, const std::string& sentence) const {
  for (const char* key : keys)
    if (has(key) && sentence.find(std::string("'") + key + "'") != std::string::npos) return refuse(key, sentence), true;
  return false;
}

bool TomlTable::sound() const { return !document_->wrong && !document_->missing; }

void TomlTable::accept(std::string_view key) const { find(key, false); }

TomlTable::Type TomlTable::type(std::string_view key) const {
  const TomlNode* node = find(key, false);
  return node ? node->type : Type::None;
}

std::optional<double> TomlTable::finite(const TomlNode& node) const {
  const std::string name = node.key.empty() ? "" : fmt::format("'{}': ", node.key);
  if (node.type != Type::Number && node.type != Type::Integer) {
    wrong(node, fmt::format("{}expected a number, found {}", name, word(node.type)));
    return std::nullopt;
  }
  if (!std::isfinite(node.number)) {
    wrong(node, fmt::format("{}expected a finite number, found {}", name, std::isnan(node.number) ? "nan" : "inf"));
    return std::nullopt;
  }
  return node.number;
}

double TomlTable::number(std::string_view key) const {
  const TomlNode* node = find(key, true);
  return node ? finite(*node).value_or(0.0) : 0.0;
}

double TomlTable::number(std::string_view key, double fallback) const {
  const TomlNode* node = find(key, false);
  return node ? finite(*node).value_or(fallback) : fallback;
}

int TomlTable::integer(std::string_view key) const {
  find(key, true);
  return integer(key, 0);
}

int TomlTable::integer(std::string_view key, int fallback) const {
  const TomlNode* node = find(key, false);
  if (!node) return fallback;
  if (node->type != Type::Integer) {
    wrong(*node, fmt::format("'{}': expected an integer, found {}", key, word(node->type)));
    return fallback;
  }
  if (node->integer < std::numeric_limits<int>::min() || node->integer > std::numeric_limits<int>::max()) {
    wrong(*node, fmt::format("'{}': {} is out of range", key, node->integer));
    return fallback;
  }
  return static_cast<int>(node->integer);
}

bool TomlTable::boolean(std::string_view key, bool fallback) const {
  const TomlNode* node = find(key, false);
  if (node && node->type != Type::Boolean)
    wrong(*node, fmt::format("'{}': expected true or false, found {}", key, word(node->type)));
  return node && node->type == Type::Boolean ? node->integer != 0 : fallback;
}

std::string TomlTable::string(std::string_view key) const {
  find(key, true);
  return string(key, "");
}

std::string TomlTable::string(std::string_view key, std::string_view fallback) const {
  const TomlNode* node = find(key, false);
  if (node && node->type != Type::String) wrong(*node, fmt::format("'{}': expected a string, found {}", key, word(node->type)));
  return node && node->type == Type::String ? node->text : std::string(fallback);
}

int TomlTable::choice(std::string_view key, const std::vector<std::string>& words) const {
  find(key, true);
  return choice(key, words, 0);
}

int TomlTable::choice(std::string_view key, const std::vector<std::string>& words, int fallback) const {
  const TomlNode* node = find(key, false);
  if (!node) return fallback;
  const std::string found = string(key, "");
  const auto it = std::find(words.begin(), words.end(), found);
  if (it != words.end()) return static_cast<int>(it - words.begin());
  wrong(*node, fmt::format("'{}' cannot be '{}'{}", key, found, hint(found, words, "known are")));
  return fallback;
}

std::vector<double> TomlTable::list(const TomlNode& node) const {
  std::vector<double> all;
  if (node.type != Type::Array) {
    if (node.type == Type::Number || node.type == Type::Integer) {
      if (const auto x = finite(node)) all.push_back(*x);
    } else {
      wrong(node, fmt::format("'{}': expected a list of numbers, found {}", node.key, word(node.type)));
    }
    return all;
  }
  if (node.items.empty()) wrong(node, fmt::format("'{}': expected numbers, found an empty list", node.key));
  all.reserve(node.items.size());
  for (const TomlNode& item : node.items) all.push_back(finite(item).value_or(0.0));
  return all;
}

std::vector<double> TomlTable::numbers(std::string_view key) const {
  const TomlNode* node = find(key, false);
  return node ? list(*node) : std::vector<double>{};
}

std::vector<double> TomlTable::numbers(std::string_view key, std::size_t size) const {
  const TomlNode* node = find(key, false);
  if (!node) return {};
  std::vector<double> all = list(*node);
  if (all.size() != size)
    wrong(*node, fmt::format("'{}': expected {} number{}, found {}", key, size, size == 1 ? "" : "s", all.size()));
  all.resize(size, 0.0);
  return all;
}

Vec3 TomlTable::vec3(std::string_view key) const {
  find(key, true);
  return vec3(key, Vec3::Zero());
}

Vec3 TomlTable::vec3(std::string_view key, const Vec3& fallback) const {
  const std::vector<double> x = numbers(key, 3);
  return x.empty() ? fallback : Vec3(x[0], x[1], x[2]);
}

Quat TomlTable::quaternion(std::string_view key, const Quat& fallback) const {
  std::vector<double> x = numbers(key, 4);
  if (x.empty()) return fallback;
  if (const double length = make_unit(x.data()); length != 1) {
    refuse(key, fmt::format("'{}' is not a unit quaternion (scalar first): its length is {:.9g}", key, length));
    return fallback;
  }
  return Quat(x[0], x[1], x[2], x[3]);
}

Pose TomlTable::pose(std::string_view key) const {
  Pose pose;
  const auto at = table(key);
  if (!at) return pose;
  pose.p = at->vec3("p", Vec3::Zero());
  const bool turned_by_angles = at->has("rpy");
  if (turned_by_angles && at->has("q")) at->refuse("rpy", fmt::format("'{}' has both 'rpy' and 'q'; give one of them", key));
  pose.q = turned_by_angles ? from_zyx(at->vec3("rpy", Vec3::Zero())) : at->quaternion("q");
  return pose;
}

std::vector<std::string> TomlTable::strings(std::string_view key) const {
  std::vector<std::string> all;
  const TomlNode* node = find(key, false);
  if (!node) return all;
  if (node->type == Type::String) return {node->text};
  if (node->type != Type::Array) wrong(*node, fmt::format("'{}': expected a list of strings, found {}", key, word(node->type)));
  for (const TomlNode& item : node->items) {
    if (item.type != Type::String) wrong(item, fmt::format("expected a string, found {}", word(item.type)));
    all.push_back(item.text);
  }
  return all;
}

std::optional<TomlTable> TomlTable::table(std::string_view key) const {
  TomlNode* node = find(key, false);
  if (!node) return std::nullopt;
  if (node->type != Type::Table) {
    wrong(*node, fmt::format("'{}': expected a table, found {}", key, word(node->type)));
    return std::nullopt;
  }
  node->opened = true;
  return TomlTable(document_, node);
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) const {
  std::vector<TomlTable> all;
  TomlNode* node = find(key, false);
  if (!node) return all;
  if (node->type == Type::Table) {
    wrong(*node, fmt::format("'{}' is a list of tables; write [[{}]] with two brackets", key, key));
  } else if (node->type != Type::Array) {
    wrong(*node, fmt::format("'{}': expected a list of tables, found {}", key, word(node->type)));
  } else {
    for (TomlNode& item : node->items) {
      if (item.type != Type::Table) {
        wrong(item, fmt::format("'{}': expected a list of tables, found {} in it", key, word(item.type)));
        continue;
      }
      item.opened = true;
      item.key = key;
      all.push_back(TomlTable(document_, &item));
    }
  }
  return all;
}

Result<void> TomlTable::finish() const {
  if (document_->wrong) return tl::unexpected(*document_->wrong);
  if (const auto [entry, table] = first_unasked(document_->root); entry) {
    std::vector<std::string> free;
    for (const std::string& k : table->known)
      if (std::none_of(table->items.begin(), table->items.end(), [&](const TomlNode& i) { return i.key == k; }))
        free.push_back(k);
    const std::string in = table->key.empty() ? "" : fmt::format(" in '{}'", table->key);
    return fail(ErrorKind::Syntax, fmt::format("unknown key '{}'{}{}", entry->key, in, hint(entry->key, free, "possible are")),
                toml_place(document_->name, entry->key_line, entry->key_column));
  }
  if (document_->missing) return tl::unexpected(*document_->missing);
  return {};
}

Result<TomlTable> parse_toml(std::string_view text, const std::string& name) {
  auto root = parse_tree(text, name);
  if (!root) return tl::unexpected(root.error());
  const auto document = std::make_shared<TomlDocument>(TomlDocument{name, std::move(*root), {}, {}});
  return TomlTable(document, &document->root);
}

Result<TomlTable> load_toml(const std::string& path, std::size_t max_bytes) {
  const auto text = read_text_file(path, max_bytes);
  if (!text) return tl::unexpected(text.error());
  return parse_toml(*text, path);
}

}  // namespace invar
