// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "invar/base/error.hpp"
#include "invar/io/text_file.hpp"
#include "invar/model/spec.hpp"

namespace invar {

struct TomlNode;
struct TomlDocument;

/// A table of a TOML file, with the place of everything in it. A reader is written straight down: every getter returns a
/// usable value (the fallback, zero, an empty list) even when the file has something else there; the document keeps what
/// was wrong, and finish(), called once at the end, hands out the error. In this order of importance: a value of the wrong type
/// or refused by the reader; a key that nobody asked for (with the nearest key that somebody did); a key that is missing.
/// Tables are handles: copies and sub-tables speak of the same document and keep it alive.
///
///   auto file = load_toml(path);
///   if (!file) return tl::unexpected(file.error());
///   spec.h = file->number("step");              // required
///   spec.t_end = file->number("end", 10.0);     // optional
///   if (auto solver = file->table("solver")) spec.kind = solver->choice("kind", {"rk4", "dopri5"});
///   if (auto done = file->finish(); !done) return tl::unexpected(done.error());
class TomlTable {
 public:
  enum class Type { None, Boolean, Integer, Number, String, Date, Array, Table };

  /// "file:line:column" of this table, or of the value of a key (of this table where the key is absent).
  std::string where() const;
  std::string where(std::string_view key) const;
  /// The places of this table and of all its keys.
  Where places() const;

  /// What the file has under a key; None where it has nothing. Counts as having asked for the key.
  Type type(std::string_view key) const;
  bool has(std::string_view key) const { return type(key) != Type::None; }
  /// All keys of this table in the order of the file; does not count as having asked for them.
  std::vector<std::string> keys() const;
  /// Everything in this table down to single values, as "tasks[0].rates.position" and "8"; does not count as having asked for it.
  std::vector<std::pair<std::string, std::string>> scalars() const;

  /// Without a fallback the key is required. Integers are numbers too; NaN and infinities are refused everywhere.
  double number(std::string_view key) const;
  double number(std::string_view key, double fallback) const;
  int integer(std::string_view key) const;
  int integer(std::string_view key, int fallback) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string string(std::string_view key) const;
  std::string string(std::string_view key, std::string_view fallback) const;
  /// Index of the word among `words`; anything else is refused with the list and the nearest word.
  int choice(std::string_view key, const std::vector<std::string>& words) const;
  int choice(std::string_view key, const std::vector<std::string>& words, int fallback) const;

  Vec3 vec3(std::string_view key) const;
  Vec3 vec3(std::string_view key, const Vec3& fallback) const;
  /// Four numbers, scalar first; normalised when within 1e-6 of unit length, else refused.
  Quat quaternion(std::string_view key, const Quat& fallback = Quat::Identity()) const;
  /// { p = [..], rpy = [..] } or { p = [..], q = [..] }; absent: identity. rpy is roll, pitch, yaw in rad, see from_zyx.
  Pose pose(std::string_view key) const;
  /// A list of numbers, or one bare number; empty where the key is absent. With `size`, any other length is refused.
  std::vector<double> numbers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key, std::size_t size) const;
  std::vector<std::string> strings(std::string_view key) const;

  std::optional<TomlTable> table(std::string_view key) const;
  /// [[key]] or key = [{..}, {..}]; empty where the key is absent.
  std::vector<TomlTable> tables(std::string_view key) const;

  /// Records an error of the reader's own at the value of `key` (empty: at the table); the first one wins.
  void refuse(std::string_view key, std::string sentence) const;
  /// The same at the first of `keys` that the sentence names in 'quotes' and the table has; false: there is none.
  bool refuse_named(std::initializer_list<const char*> keys, const std::string& sentence) const;
  /// Whether nothing was wrong or missing so far, in the whole document.
  bool sound() const;
  /// Marks everything under a key as asked for.
  void accept(std::string_view key) const;

  /// The verdict on the whole document, whichever of its tables is asked.
  [[nodiscard]] Result<void> finish() const;

 private:
  TomlTable(std::shared_ptr<TomlDocument> document, TomlNode* node) : document_(std::move(document)), node_(node) {}
  TomlNode* entry(std::string_view key) const;
  TomlNode* find(std::string_view key, bool required) const;
  std::string place(const TomlNode& node) const;
  void wrong(const TomlNode& node, std::string sentence) const;
  std::optional<double> finite(const TomlNode& node) const;
  std::vector<double> list(const TomlNode& node) const;

  std::shared_ptr<TomlDocument> document_;
  TomlNode* node_;

  friend Result<TomlTable> parse_toml(std::string_view text, const std::string& name);
};

/// The root table of a text; `name` stands for the file in places.
Result<TomlTable> parse_toml(std::string_view text, const std::string& name);

/// The root table of a file of at most `max_bytes`.
Result<TomlTable> load_toml(const std::string& path, std::size_t max_bytes = kLargestText);

}  // namespace invar
