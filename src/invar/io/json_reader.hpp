// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "invar/base/error.hpp"
#include "invar/geom/vector.hpp"

// For the sources of this room only.
namespace invar {

/// A value of a JSON file with its place ("/load/2/seed"). Like TomlTable: getters return something usable whatever stands there,
/// the first thing that is wrong is kept, and finish(), called once at the end, hands it out. A key that nobody asked for and one
/// that stands twice are wrong too.
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;

  /// A text that is not JSON is refused with line and column.
  static Result<JsonReader> parse(const std::string& text, const std::string& name);

  bool has(const std::string& key) const;
  /// The value under a key; missing ones are wrong.
  JsonReader key(const std::string& key) const;
  /// The elements of a list.
  std::vector<JsonReader> items() const;

  double number() const;
  int integer() const;
  bool boolean() const;
  std::string text() const;
  std::vector<double> numbers() const;
  std::vector<std::string> texts() const;
  Vec3 vec3() const;

  /// Keeps an error of the reader's own at this place; the first one wins.
  void refuse(const std::string& sentence) const;
  bool sound() const { return document_->wrong.empty(); }
  Result<void> finish() const;

 private:
  struct Document {
    Json root;
    std::string name, wrong;
    std::map<const Json*, std::vector<std::string>> asked;  // per object: keys that were asked for
  };
  JsonReader(std::shared_ptr<Document> document, const Json* at, std::string place)
      : document_(std::move(document)), at_(at), place_(std::move(place)) {}

  // The first key that nobody asked for, as a sentence with its place; empty where there is none.
  std::string stray(const Json& at, const std::string& place) const;

  std::shared_ptr<Document> document_;
  const Json* at_;
  std::string place_;
};

}  // namespace invar
