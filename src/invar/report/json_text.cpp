// SPDX-License-Identifier: Apache-2.0
#include "invar/report/json_text.hpp"

#include <nlohmann/json.hpp>

namespace invar {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

nlohmann::ordered_json object_of(const std::string& text) {
  constexpr int kDeepest = 64;
  bool deep = false;
  const auto look = [&deep](int depth, Json::parse_event_t, Json&) { return deep = deep || depth > kDeepest, !deep; };
  Json out = Json::parse(text, look, false);
  return deep || !out.is_object() ? Json(nullptr) : out;
}

}  // namespace invar
