// SPDX-License-Identifier: Apache-2.0
#include "invar/report/drawing.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>

#include "invar/report/json_text.hpp"
#include "invar/report/packed.hpp"

namespace invar {
namespace {

using Json = nlohmann::ordered_json;
using Corners = Drawing::Corners;

Vec3 vec3(const Json& j) { return {j.at(0).get<double>(), j.at(1).get<double>(), j.at(2).get<double>()}; }
Pose pose(const Json& j) {
  const Json& q = j.at("q");
  return {normalized(Quat(q.at(0).get<double>(), q.at(1).get<double>(), q.at(2).get<double>(), q.at(3).get<double>())),
          vec3(j.at("p"))};
}

void add_quad(Corners& out, const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
  for (const Vec3& p : {a, b, c, a, c, d}) out.push_back(p);
}

// A surface of revolution about z: radius and height from one pole to the other.
void add_turned(Corners& out, const std::vector<std::pair<double, double>>& profile) {
  constexpr int kSides = 24;
  const auto at = [](double radius, double z, int side) {
    const double angle = 2 * std::numbers::pi * side / kSides;
    return Vec3(radius * std::cos(angle), radius * std::sin(angle), z);
  };
  for (std::size_t i = 0; i + 1 < profile.size(); ++i) {
    const auto [r0, z0] = profile[i];
    const auto [r1, z1] = profile[i + 1];
    for (int side = 0; side < kSides; ++side)
      add_quad(out, at(r0, z0, side), at(r0, z0, side + 1), at(r1, z1, side + 1), at(r1, z1, side));
  }
}

// A ball that is cut at its equator and pulled apart by `length`: a capsule; without its caps a cylinder.
Corners capsule(double radius, double length) {
  constexpr int kRings = 8;
  std::vector<std::pair<double, double>> profile;
  for (int k = -kRings; k <= kRings; ++k) {
    const double angle = 0.5 * std::numbers::pi * k / kRings;
    profile.emplace_back(radius * std::cos(angle), radius * std::sin(angle) + (k < 0 ? -0.5 : 0.5) * length);
    if (k == 0) profile.insert(profile.end() - 1, {radius, -0.5 * length});
  }
  Corners out;
  add_turned(out, profile);
  return out;
}

Corners cylinder(double radius, double length) {
  Corners out;
  add_turned(out, {{0, -0.5 * length}, {radius, -0.5 * length}, {radius, 0.5 * length}, {0, 0.5 * length}});
  return out;
}

Corners box(const Vec3& size) {
  Corners out;
  for (int axis = 0; axis < 3; ++axis)
    for (const double side : {-0.5, 0.5}) {
      const Vec3 n = side * size[axis] * Vec3::Unit(axis), u = 0.5 * size[(axis + 1) % 3] * Vec3::Unit((axis + 1) % 3),
                 v = (side < 0 ? -0.5 : 0.5) * size[(axis + 2) % 3] * Vec3::Unit((axis + 2) % 3);
      add_quad(out, n - u - v, n + u - v, n + u + v, n - u + v);
    }
  return out;
}

void add_moved(Corners& out, const Corners& corners, const Pose& X) {
  for (const Vec3& p : corners) out.push_back(X * p);
}

// A thin capsule between two points.
void add_rod(Corners& out, const Vec3& from, const Vec3& to, double radius) {
  const Vec3 along = to - from;
  const Quat turn = Quat::FromTwoVectors(Vec3::UnitZ(), along.norm() > 0 ? along : Vec3(Vec3::UnitZ()));
  add_moved(out, capsule(radius, along.norm()), {turn, 0.5 * (from + to)});
}

void add_mesh(Corners& out, const Json& shape, const Pose& X) {
  const std::vector<double> p = unpacked(shape.at("vertices"));
  for (const Json& corner : shape.at("triangles")) {
    const auto number = corner.get<double>();  // of any size
    if (!(number >= 0 && 3 * number + 2 < static_cast<double>(p.size()))) return;
    const auto i = static_cast<std::size_t>(number);
    out.push_back(X * Vec3(p[3 * i], p[3 * i + 1], p[3 * i + 2]));
  }
}

void add_shape(Corners& out, const Json& shape) {
  const std::string kind = shape.at("kind");
  Pose X = pose(shape);
  const auto about = [&] {
    const int axis = shape.value("axis", 2);
    X.q = X.q * Quat::FromTwoVectors(Vec3::UnitZ(), Vec3(Vec3::Unit(std::min(2, std::max(0, axis)))));
  };
  if (kind == "box") add_moved(out, box(vec3(shape.at("size"))), X);
  if (kind == "sphere") add_moved(out, capsule(shape.at("radius"), 0), X);
  if (kind == "cylinder") about(), add_moved(out, cylinder(shape.at("radius"), shape.at("length")), X);
  if (kind == "mesh" && shape.contains("vertices")) add_mesh(out, shape, X);
  if (kind == "capsule") about(), add_moved(out, capsule(shape.at("radius"), shape.at("length")), X);
}

// What has no shape is drawn from where its joints are.
void add_plain(Drawing& out, const Json& joints) {
  std::vector<bool> bare;
  for (const Drawing::Body& b : out.bodies) bare.push_back(b.corners.empty());
  for (const Json& j : joints)
    for (const bool child : {false, true}) {
      const int body = j.at(child ? "child" : "parent");
      if (body < 0 || body >= static_cast<int>(out.bodies.size()) || !bare[static_cast<std::size_t>(body)]) continue;
      Drawing::Body& b = out.bodies[static_cast<std::size_t>(body)];
      add_rod(b.corners, b.com, vec3(j.at(child ? "at_child" : "at_parent").at("p")), 0.02 * out.length);
    }
  for (std::size_t b = 0; b < bare.size(); ++b)
    if (bare[b]) add_moved(out.bodies[b].corners, capsule(0.04 * out.length, 0), {Quat::Identity(), out.bodies[b].com});
}

Drawing read(const Json& scene) {
  Drawing out;
  out.length = scene.value("length", 1.0);
  if (!(out.length > 0)) out.length = 1;
  const auto list = [&](const char* key) { return scene.value(key, Json::array()); };  // any of them may be missing
  for (const Json& b : list("bodies")) {
    Drawing::Body body{b.at("name"), vec3(b.at("com")), {}};
    constexpr double kEver = std::numeric_limits<double>::infinity();
    for (const Json& shape : b.value("shapes", Json::array())) {
      if (!shape.contains("payload")) {
        add_shape(body.corners, shape);
        continue;
      }
      body.loads.push_back({shape.value("from", -kEver), shape.value("until", kEver), {}});
      add_shape(body.loads.back().corners, shape);
    }
    for (const Json& w : b.value("weighed", Json::array()))
      body.later.emplace_back(w.at("from").get<double>(), vec3(w.at("com")));
    out.bodies.push_back(std::move(body));
  }
  add_plain(out, list("joints"));
  for (const Json& t : list("tendons")) {
    out.tendons.emplace_back();
    for (const Json& p : t.at("points")) {
      const int body = p.at("body");
      if (body < static_cast<int>(out.bodies.size())) out.tendons.back().push_back({body, vec3(p.at("p"))});
    }
  }
  for (const Json& o : list("obstacles")) {
    const std::string kind = o.at("kind");
    const double radius = std::max(o.at("radius").get<double>(), 0.02 * out.length);
    if (kind == "sphere") add_rod(out.obstacles, vec3(o.at("a")), vec3(o.at("a")), radius);
    if (kind == "capsule") add_rod(out.obstacles, vec3(o.at("a")), vec3(o.at("b")), radius);
  }
  return out;
}

}  // namespace

Result<Drawing> drawing_of(const std::string& scene) {
  if (scene.empty()) return fail(ErrorKind::Syntax, "the recording does not say what the mechanism looks like");
  try {
    return read(object_of(scene));
  } catch (const Json::exception&) {
    return fail(ErrorKind::Syntax, "the scene of the recording cannot be read");
  }
}

}  // namespace invar
