// SPDX-License-Identifier: Apache-2.0
#include "invar/io/state_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "invar/geom/unit_quaternion.hpp"
#include "invar/io/text_file.hpp"
#include "invar/model/coordinates.hpp"

namespace invar {

namespace {

using Json = nlohmann::ordered_json;

tl::unexpected<Error> bad(const std::string& source, std::string what) { return fail(ErrorKind::State, std::move(what), source); }

Result<Json> parse(const std::string& text, const std::string& source) {
  if (text.size() > kLargestText) return bad(source, fmt::format("is larger than {} bytes", kLargestText));
  // Of two entries with one name the parser would keep the last without a word.
  std::vector<std::set<std::string>> open;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& key) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(key.get<std::string>()).second) twice = key.get<std::string>();
    return true;
  };
  try {
    Json out = Json::parse(text, watch);
    if (!twice.empty()) return bad(source, fmt::format("'{}' stands there twice", twice));
    return out;
  } catch (const nlohmann::json::parse_error& e) {
    // Position of the byte as line and column, as for every other file.
    const std::size_t stop = std::min(text.size(), e.byte > 0 ? e.byte - 1 : 0);
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(stop), '\n');
    const std::size_t start = stop == 0 ? std::string::npos : text.rfind('\n', stop - 1);
    const std::size_t column = start == std::string::npos ? stop + 1 : stop - start;
    return fail(ErrorKind::Syntax, "is not JSON here (NaN and Infinity are not JSON numbers)",
                fmt::format("{}:{}:{}", source, line, column));
  } catch (const nlohmann::json::exception&) {
    return bad(source, "holds a number that is too large");
  }
}

std::string numbers_text(std::size_t n) { return fmt::format("{} number{}", n, n == 1 ? "" : "s"); }

// Without a size, any number of them.
Result<std::vector<double>> numbers(const Json& json, std::optional<std::size_t> size, const std::string& what,
                                    const std::string& source) {
  std::vector<double> out;
  if (json.is_number()) {
    out.push_back(json.get<double>());
  } else if (json.is_array()) {
    for (const Json& item : json) {
      if (!item.is_number()) return bad(source, fmt::format("{}: expected numbers, found {}", what, item.type_name()));
      out.push_back(item.get<double>());
    }
  } else {
    return bad(source, fmt::format("{}: expected {}, found {}", what, size ? numbers_text(*size) : "numbers", json.type_name()));
  }
  if (size && out.size() != *size)
    return bad(source, fmt::format("{}: expected {}, found {}", what, numbers_text(*size), out.size()));
  for (const double x : out)
    if (!std::isfinite(x)) return bad(source, fmt::format("{}: a number is not finite", what));
  return out;
}

// Every key of an object must be one of `known`.
Result<void> only(const Json& json, const std::vector<std::string>& known, const std::string& what, const std::string& source) {
  if (!json.is_object()) return bad(source, fmt::format("{}: expected an object, found {}", what, json.type_name()));
  for (const auto& [key, value] : json.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return bad(source, fmt::format("{}: there is no key '{}'{}", what, key, did_you_mean(key, known)));
  return {};
}

// A 3-vector under a key; untouched where the key is absent.
Result<void> vector(const Json& json, const char* key, const std::string& what, const std::string& source, Vec3& out) {
  if (!json.contains(key)) return {};
  auto x = numbers(json[key], 3, what + " " + key, source);
  if (!x) return tl::unexpected(x.error());
  out = Vec3((*x)[0], (*x)[1], (*x)[2]);
  return {};
}

Result<void> unit(double* q, const std::string& what, const std::string& source) {
  if (const double length = make_unit(q); length != 1)
    return bad(source, fmt::format("{}: the quaternion has norm {:g}, not 1", what, length));
  return {};
}

Result<void> read_body(const Json& json, const std::string& what, const std::string& source, BodyState& out) {
  if (auto fine = only(json, {"p", "q", "v", "w"}, what, source); !fine) return fine;
  for (const char* key : {"p", "q"})
    if (!json.contains(key)) return bad(source, fmt::format("{}: missing '{}'", what, key));
  auto q = numbers(json["q"], 4, what + " q", source);
  if (!q) return tl::unexpected(q.error());
  if (auto fine = unit(q->data(), what, source); !fine) return fine;
  out.q_WB = Quat((*q)[0], (*q)[1], (*q)[2], (*q)[3]);
  for (auto [key, target] : {std::pair{"p", &out.p_WC}, std::pair{"v", &out.v_WC}, std::pair{"w", &out.w_WB}})
    if (auto fine = vector(json, key, what, source, *target); !fine) return fine;
  return {};
}

Result<Start> read_bodies(const Model& model, const Json& json, const std::string& source) {
  Start start(model);
  start.by_bodies = true;
  start.bodies.resize(model.bodies().size());
  if (auto fine = only(json, names_of(model.bodies()), "bodies", source); !fine) return tl::unexpected(fine.error());
  std::vector<std::string> missing;
  for (std::size_t b = 0; b < model.bodies().size(); ++b) {
    const std::string& name = model.bodies()[b].name;
    if (!json.contains(name)) {
      missing.push_back("'" + name + "'");
    } else if (auto fine = read_body(json[name], fmt::format("body '{}'", name), source, start.bodies[b]); !fine) {
      return tl::unexpected(fine.error());
    }
  }
  if (!missing.empty())
    return bad(source, fmt::format("the state of every body is needed; missing: {}", fmt::join(missing, ", ")));
  return start;
}

Result<Start> read_joints(const Model& model, const Json& json, const std::string& source) {
  Start start(model);
  start.named.assign(model.joints().size(), false);
  start.no_rate = start.no_place = start.named;
  if (auto fine = only(json, names_of(model.joints()), "joints", source); !fine) return tl::unexpected(fine.error());
  for (const auto& [name, entry] : json.items()) {
    const int k = *model.find_joint(name);
    const Joint& joint = model.joints()[static_cast<std::size_t>(k)];
    const std::string what = fmt::format("joint '{}'", name);
    if (auto fine = only(entry, {"q", "v"}, what, source); !fine) return tl::unexpected(fine.error());
    start.named[static_cast<std::size_t>(k)] = true;
    start.no_rate[static_cast<std::size_t>(k)] = !entry.contains("v");
    start.no_place[static_cast<std::size_t>(k)] = entry.contains("v") && !entry.contains("q");
    if (entry.contains("q")) {
      auto written = numbers(entry["q"], {}, what + " q", source);
      if (!written) return tl::unexpected(written.error());
      const auto q = written_coordinates(joint.kind, name, *written, {}, "q");
      if (!q) return bad(source, q.error().what);
      start.joints.q.segment(joint.q0, joint.nq) = *q;
    }
    if (entry.contains("v")) {
      auto v = numbers(entry["v"], static_cast<std::size_t>(joint.nv), what + " v", source);
      if (!v) return tl::unexpected(v.error());
      std::copy(v->begin(), v->end(), start.joints.v.data() + joint.v0);
    }
  }
  start.joints.name(model, start.named);
  return start;
}

}  // namespace

Result<Start> start_from_json(const Model& model, const std::string& text, const std::string& source) {
  auto json = parse(text, source);
  if (!json) return tl::unexpected(json.error());
  if (auto fine = only(*json, {"bodies", "joints"}, "the state", source); !fine) return tl::unexpected(fine.error());
  if (json->size() != 1) return bad(source, "a state has either 'bodies' or 'joints'");
  if (json->contains("bodies")) return read_bodies(model, (*json)["bodies"], source);
  return read_joints(model, (*json)["joints"], source);
}

Result<void> port_from_json(const Model& model, const std::string& text, const std::string& source, Load& load) {
  auto json = parse(text, source);
  if (!json) return tl::unexpected(json.error());
  if (auto fine = only(*json, names_of(model.bodies()), "the port", source); !fine) return fine;
  for (const auto& [name, entry] : json->items()) {
    const std::string what = fmt::format("body '{}'", name);
    if (auto fine = only(entry, {"force", "moment"}, what, source); !fine) return fine;
    Wrench w;
    if (auto fine = vector(entry, "force", what, source, w.force); !fine) return fine;
    if (auto fine = vector(entry, "moment", what, source, w.moment); !fine) return fine;
    load.port[static_cast<std::size_t>(*model.find_body(name))] += w;
  }
  return {};
}

Result<void> efforts_from_json(const Model& model, const std::string& text, const std::string& source, Load& load) {
  auto json = parse(text, source);
  if (!json) return tl::unexpected(json.error());
  if (auto fine = only(*json, names_of(model.joints()), "the efforts", source); !fine) return fine;
  for (const auto& [name, entry] : json->items()) {
    const Joint& joint = model.joints()[static_cast<std::size_t>(*model.find_joint(name))];
    auto x = numbers(entry, static_cast<std::size_t>(joint.nv), fmt::format("joint '{}'", name), source);
    if (!x) return tl::unexpected(x.error());
    for (int i = 0; i < joint.nv; ++i) load.efforts[joint.v0 + i] += (*x)[static_cast<std::size_t>(i)];
  }
  return {};
}

}  // namespace invar
