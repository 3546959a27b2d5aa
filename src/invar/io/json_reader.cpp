// SPDX-License-Identifier: Apache-2.0
#include "invar/io/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "invar/io/text_file.hpp"
#include "invar/model/model.hpp"

namespace invar {
namespace {

const nlohmann::ordered_json kNothing;

}  // namespace

Result<JsonReader> JsonReader::parse(const std::string& text, const std::string& name) {
  auto document = std::make_shared<Document>();
  document->name = name;
  // Of every open object: the keys so far.
  std::vector<std::set<std::string>> open;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second && twice.empty())
      twice = value.get<std::string>();
    return true;
  };
  try {
    document->root = Json::parse(text, watch);
  } catch (const nlohmann::json::parse_error& e) {
    const std::size_t stop = std::min(text.size(), e.byte > 0 ? e.byte - 1 : 0);
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(stop), '\n');
    const bool cut = stop + 1 >= text.size();
    return fail(ErrorKind::Syntax, cut ? "ends in the middle: the file was cut off; write it anew" : "is not JSON here",
                fmt::format("{}:{}", name, line));
  } catch (const nlohmann::json::exception&) {
    return fail(ErrorKind::Syntax, "holds a number that is too large", name);
  }
  if (!twice.empty()) return fail(ErrorKind::Syntax, fmt::format("the key '{}' stands twice in one object", twice), name);
  const Json* root = &document->root;
  return JsonReader(std::move(document), root, "");
}

void JsonReader::refuse(const std::string& sentence) const {
  if (document_->wrong.empty()) document_->wrong = place_.empty() ? sentence : fmt::format("{}: {}", place_, sentence);
}

bool JsonReader::has(const std::string& key) const {
  document_->asked[at_].push_back(key);
  return at_->is_object() && at_->contains(key);
}

std::string JsonReader::stray(const Json& at, const std::string& place) const {
  const std::vector<std::string>& known = document_->asked[&at];
  for (const auto& [key, value] : at.items()) {
    const std::string here = place + "/" + key;
    if (at.is_object() && std::find(known.begin(), known.end(), key) == known.end())
      return fmt::format("{}: the key is unknown{}", here, did_you_mean(key, known));
    if (!value.is_structured()) continue;
    if (std::string found = stray(value, here); !found.empty()) return found;
  }
  return {};
}

Result<void> JsonReader::finish() const {
  if (sound()) document_->wrong = stray(document_->root, "");
  if (sound()) return {};
  return fail(ErrorKind::Syntax, document_->wrong, document_->name);
}

JsonReader JsonReader::key(const std::string& key) const {
  const std::string place = place_ + "/" + key;
  if (has(key)) return {document_, &at_->at(key), place};
  refuse(fmt::format("there is no '{}'; the file was cut or edited, learn anew", key));
  return {document_, &kNothing, place};
}

std::vector<JsonReader> JsonReader::items() const {
  std::vector<JsonReader> out;
  if (!at_->is_array()) refuse(fmt::format("expected a list, found {}", at_->type_name()));
  for (std::size_t i = 0; at_->is_array() && i < at_->size(); ++i)
    out.push_back({document_, &at_->at(i), fmt::format("{}/{}", place_, i)});
  return out;
}

double JsonReader::number() const {
  if (!at_->is_number()) {
    refuse(fmt::format("expected a number, found {}{}", at_->type_name(), at_->is_null() ? " (numbers must be finite)" : ""));
    return 0;
  }
  const auto x = at_->get<double>();
  if (!std::isfinite(x)) refuse("the number is not finite");
  return x;
}

int JsonReader::integer() const {
  const double x = number();
  const bool whole = x == std::floor(x) && std::abs(x) <= std::numeric_limits<int>::max();
  if (!whole) refuse("expected a whole number");
  return whole ? static_cast<int>(x) : 0;
}

bool JsonReader::boolean() const {
  if (!at_->is_boolean()) refuse(fmt::format("expected true or false, found {}", at_->type_name()));
  return at_->is_boolean() && at_->get<bool>();
}

std::string JsonReader::text() const {
  if (at_->is_string()) return at_->get<std::string>();
  refuse(fmt::format("expected a text, found {}", at_->type_name()));
  return {};
}

std::vector<double> JsonReader::numbers() const {
  std::vector<double> out;
  for (const JsonReader& item : items()) out.push_back(item.number());
  return out;
}

std::vector<std::string> JsonReader::texts() const {
  std::vector<std::string> out;
  for (const JsonReader& item : items()) out.push_back(item.text());
  return out;
}

Vec3 JsonReader::vec3() const {
  const std::vector<double> x = numbers();
  if (x.size() != 3) {
    refuse(fmt::format("expected 3 numbers, found {}", x.size()));
    return Vec3::Zero();
  }
  return {x[0], x[1], x[2]};
}

}  // namespace invar
