// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <numbers>

#include "invar/io/csv.hpp"
#include "invar/io/scenario_parts.hpp"

namespace invar {
namespace {

// Signals first, so that one that cannot be followed is told why.
const std::vector<std::string> kReferenceKinds = {"constant",   "step",  "pulse",        "sine", "ramp",
                                                  "polynomial", "table", "minimum_jerk", "file"};
constexpr int kMinimumJerk = 7, kFile = 8;

// A column of the file that a table names, or what stands in the way, at the key that asks for it.
std::optional<std::vector<double>> column(const TomlTable& t, const CsvTable& csv, const char* key, const std::string& name) {
  auto numbers = csv.column(name);
  if (numbers) return std::move(*numbers);
  t.refuse(key, numbers.error().text());
  return std::nullopt;
}

// Samples need two rows at least, and their times increase.
bool in_order(const TomlTable& t, const CsvTable& csv, const std::vector<double>& times) {
  if (times.size() < 2) {
    t.refuse("path", fmt::format("the file has {} {} of samples; at least 2 are needed", times.size(),
                                 times.size() == 1 ? "row" : "rows"));
    return false;
  }
  for (std::size_t i = 1; i < times.size(); ++i)
    if (!(times[i - 1] < times[i])) {
      t.refuse("path", fmt::format("{}: times must increase, but {} s comes after {} s", csv.where(i), times[i], times[i - 1]));
      return false;
    }
  return true;
}

// { kind = "file", path, column, time, ends } or with columns of rates and accelerations.
std::optional<Reference> read_file(const TomlTable& t, const std::string& folder) {
  const std::string path = t.string("path"), name = t.string("column"), time = t.string("time", "");
  const std::string rate = t.string("rate", ""), acceleration = t.string("acceleration", "");
  const bool natural = t.choice("ends", {"rest", "natural"}, 0) == 1, exact = !rate.empty();
  if (rate.empty() != acceleration.empty()) t.refuse("", "name both columns, 'rate' and 'acceleration', or neither of them");
  if (exact && t.has("ends")) t.refuse("ends", "samples with rates need no 'ends'");
  if (path.empty() || name.empty() || rate.empty() != acceleration.empty()) return std::nullopt;
  const auto csv = CsvTable::read((std::filesystem::path(folder) / path).lexically_normal().string());
  if (!csv) return t.refuse("path", csv.error().text()), std::nullopt;
  auto times = column(t, *csv, "time", time.empty() ? csv->names()[0] : time), values = column(t, *csv, "column", name);
  if (!times || !values || !in_order(t, *csv, *times)) return std::nullopt;
  if (!exact) return Spline(std::move(*times), std::move(*values), natural ? Spline::Ends::Natural : Spline::Ends::Rest);
  const auto rates = column(t, *csv, "rate", rate), second = column(t, *csv, "acceleration", acceleration);
  if (!rates || !second) return std::nullopt;
  std::vector<Jet> jets;
  for (std::size_t i = 0; i < values->size(); ++i) jets.push_back({(*values)[i], (*rates)[i], (*second)[i]});
  return Quintic(std::move(*times), jets);
}

// q (scalar first) or rpy, as poses have them.
Quat read_attitude_numbers(const TomlTable& t) {
  const bool by_angles = t.has("rpy");
  if (by_angles && t.has("q")) t.refuse("rpy", "there are both 'rpy' and 'q'; give one of them");
  return by_angles ? from_zyx(t.vec3("rpy", Vec3::Zero())) : t.quaternion("q");
}

// Once around in a period, or an angle over time.
std::optional<PositionReference> read_circle(const TomlTable& t, const std::string& folder) {
  Circle out;
  out.centre = t.vec3("centre");
  out.normal = t.vec3("normal", Vec3::UnitZ());
  out.radius = t.number("radius");
  const double length = out.normal.norm();
  out.start = t.vec3("start", length > 0 ? any_perpendicular(out.normal / length) : Vec3::UnitX());
  if (t.has("period") == t.has("angle")) {
    t.refuse("", "a circle needs a 'period' (s) or an 'angle' over time: give one of them");
    return std::nullopt;
  }
  if (t.has("angle")) {
    const auto angle = read_reference(t, "angle", folder);
    if (!angle) return std::nullopt;
    out.angle = *angle;
    return out;
  }
  const double period = t.number("period"), phase = t.number("phase", 0.0);
  if (!(period > 0)) return t.refuse("period", fmt::format("a period must be positive, not {} s", period)), std::nullopt;
  out.angle = Polynomial{{phase, 2 * std::numbers::pi / period}, 0};
  return out;
}

std::optional<PositionReference> read_components(const TomlTable& t, const std::string& folder) {
  Components out;
  const char* const keys[] = {"x", "y", "z"};
  Reference* const parts[] = {&out.x, &out.y, &out.z};
  for (int k = 0; k < 3; ++k) {
    if (!t.has(keys[k])) continue;
    const auto part = read_reference(t, keys[k], folder);
    if (!part) return std::nullopt;
    *parts[k] = *part;
  }
  return out;
}

std::optional<PositionReference> read_position(const TomlTable& t, const std::string& folder) {
  switch (t.choice("kind", {"fixed", "components", "waypoints", "circle", "lissajous"})) {
    case 0: {
      const Vec3 p = t.vec3("p");
      return Components{Constant{p.x()}, Constant{p.y()}, Constant{p.z()}};
    }
    case 1: return read_components(t, folder);
    case 2: {
      std::vector<double> times;
      std::vector<Vec3> points;
      for (const TomlTable& w : t.tables("waypoints")) times.push_back(w.number("t")), points.push_back(w.vec3("p"));
      return through_points(times, points);
    }
    case 3: return read_circle(t, folder);
    default: return Lissajous{t.vec3("centre"), t.vec3("amplitudes"), t.vec3("frequencies"), t.vec3("phases", Vec3::Zero())};
  }
}

std::optional<AttitudeReference> read_attitude(const TomlTable& t, const std::string& folder) {
  const int kind = t.choice("kind", {"fixed", "rotations", "waypoints"});
  if (kind == 2) {
    std::vector<double> times;
    std::vector<Quat> attitudes;
    for (const TomlTable& w : t.tables("waypoints"))
      times.push_back(w.number("t")), attitudes.push_back(read_attitude_numbers(w));
    return AttitudeWaypoints(std::move(times), std::move(attitudes));
  }
  Rotations out;
  out.q0 = read_attitude_numbers(t);
  if (kind == 0) return out;
  for (const TomlTable& turn : t.tables("rotations")) {
    const Vec3 axis = turn.vec3("axis");
    const auto angle = read_reference(turn, "angle", folder);
    if (!turn.has("angle")) turn.refuse("", "a rotation needs an 'angle', a function of time (rad)");
    if (!angle) return std::nullopt;
    out.turns.push_back({axis, *angle});
  }
  if (out.turns.empty()) t.refuse("rotations", "a list of rotations, each with 'axis' and 'angle', is needed");
  return out;
}

// What is wrong with one part alone is said at its table.
bool sound(const TomlTable& t, const PoseReference& part) {
  const std::string why = flaw(part);
  if (!why.empty()) t.refuse("", why);
  return why.empty();
}

}  // namespace

std::optional<Reference> read_reference(const TomlTable& table, const char* key, const std::string& folder) {
  const auto t = table.table(key);
  if (!t) return std::nullopt;
  std::optional<Reference> out;
  switch (t->choice("kind", kReferenceKinds)) {
    case kMinimumJerk: out = MinimumJerk{t->numbers("times"), t->numbers("values")}; break;
    case kFile: out = read_file(*t, folder); break;
    default: out = read_signal(table, key);
  }
  if (!out) return std::nullopt;
  if (const std::string why = flaw(*out); !why.empty()) return t->refuse("", why), std::nullopt;
  return out;
}

std::optional<PoseReference> read_pose_reference(const TomlTable& table, const char* key, const std::string& folder) {
  const auto t = table.table(key);
  if (!t) return std::nullopt;
  PoseReference out;
  out.X_WA = t->pose("at");
  const auto position = t->table("position"), attitude = t->table("attitude");
  if (!t->has("position") && !t->has("attitude")) t->refuse("", "a pose needs a 'position', an 'attitude' or both");
  if (!position && !attitude) return std::nullopt;
  if (position) {
    const auto read = read_position(*position, folder);
    if (!read || !sound(*position, {*read, Rotations{}, {}})) return std::nullopt;
    out.position = *read;
  }
  if (attitude) {
    const auto read = read_attitude(*attitude, folder);
    if (!read || !sound(*attitude, {Components{}, *read, {}})) return std::nullopt;
    out.attitude = *read;
  }
  return out;
}

}  // namespace invar
