// SPDX-License-Identifier: Apache-2.0
#include "invar/io/mesh_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include "invar/io/text_file.hpp"

namespace invar {
namespace {

// Corners that are the same to the bit are one.
class Corners {
 public:
  explicit Corners(Mesh& mesh) : mesh_(mesh) {}
  void add(const std::array<double, 3>& p) {
    if (!std::isfinite(p[0] + p[1] + p[2])) {  // refused in the end; no key of a map
      mesh_.vertices.assign(3, std::nan(""));
      return;
    }
    const auto [it, fresh] = known_.emplace(p, static_cast<int>(known_.size()));
    if (fresh) mesh_.vertices.insert(mesh_.vertices.end(), p.begin(), p.end());
    mesh_.triangles.push_back(it->second);
  }

 private:
  Mesh& mesh_;
  std::map<std::array<double, 3>, int> known_;
};

// 80 bytes of anything, the number n of triangles, and of each a normal, three corners and two more bytes.
std::size_t binary_triangles(const std::string& bytes) {
  std::uint32_t n = 0;
  if (bytes.size() < 84) return 0;
  std::memcpy(&n, bytes.data() + 80, 4);
  return bytes.size() == 84 + 50 * std::size_t{n} ? n : 0;
}

Mesh binary_stl(const std::string& bytes, std::size_t n) {
  Mesh out;
  Corners corners(out);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < 3; ++k) {
      float p[3];
      std::memcpy(p, bytes.data() + 84 + 50 * i + 12 + 12 * k, 12);
      corners.add({p[0], p[1], p[2]});
    }
  return out;
}

Mesh text_stl(const std::string& text) {
  Mesh out;
  Corners corners(out);
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    if (word != "vertex") continue;
    std::array<double, 3> p{};
    if (!(in >> p[0] >> p[1] >> p[2])) p[0] = std::nan(""), in.clear();
    corners.add(p);
  }
  return out;
}

// Polygons are fans of triangles; negative numbers count from the last corner so far.
Mesh obj(const std::string& text) {
  Mesh out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "v") {
      std::array<double, 3> p{};
      if (!(in >> p[0] >> p[1] >> p[2])) p[0] = std::nan("");
      out.vertices.insert(out.vertices.end(), p.begin(), p.end());
    }
    if (word != "f") continue;
    std::vector<int> face;
    while (in >> word) {
      const long i = std::strtol(word.c_str(), nullptr, 10), n = static_cast<long>(out.vertices.size() / 3);
      face.push_back(static_cast<int>(std::clamp(i < 0 ? n + i : i - 1, -1l, 1l << 30)));
    }
    for (std::size_t k = 2; k < face.size(); ++k)
      for (const int corner : {face[0], face[k - 1], face[k]}) out.triangles.push_back(corner);
  }
  return out;
}

}  // namespace

Result<Mesh> read_mesh_file(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  if (ending != ".stl" && ending != ".obj")
    return fail(ErrorKind::File, fmt::format("meshes are read from .stl and .obj, not from '{}'", ending), path);
  const auto bytes = read_text_file(path);
  if (!bytes) return tl::unexpected(bytes.error());
  Mesh out;
  const std::size_t n = binary_triangles(*bytes);
  if (ending == ".stl" && n == 0 && bytes->rfind("solid", 0) != 0)
    return fail(ErrorKind::File, "is neither a whole binary STL nor one in text", path);
  if (ending == ".obj")
    out = obj(*bytes);
  else
    out = n > 0 ? binary_stl(*bytes, n) : text_stl(*bytes);
  if (out.triangles.size() > 3 * kMostTriangles)
    return fail(ErrorKind::File,
                fmt::format("has {} triangles; more than {} are too many for a page", out.triangles.size() / 3, kMostTriangles),
                path);
  if (!std::all_of(out.vertices.begin(), out.vertices.end(), [](double x) { return std::isfinite(x); }))
    return fail(ErrorKind::File, "a corner is no three finite numbers", path);
  if (out.triangles.empty() || out.triangles.size() % 3 != 0) return fail(ErrorKind::File, "holds no whole triangles", path);
  const int corners = static_cast<int>(out.vertices.size() / 3);
  if (!std::all_of(out.triangles.begin(), out.triangles.end(), [&](int i) { return i >= 0 && i < corners; }))
    return fail(ErrorKind::File, "a face names a corner that is not there", path);
  return out;
}

}  // namespace invar
