// SPDX-License-Identifier: Apache-2.0
//
// Meshes: the same triangles from every format, into the scene and onto the picture; nonsense is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "invar/base/random.hpp"
#include "invar/io/mesh_file.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/report/drawing.hpp"
#include "invar/report/scene.hpp"
#include "support/folder.hpp"

namespace invar::testing {
namespace {

using Triangle = std::array<Vec3, 3>;

std::vector<Triangle> drawn(int n) {
  Random random(9, static_cast<std::uint64_t>(n));
  std::vector<Triangle> out(static_cast<std::size_t>(n));
  // Numbers of single precision, which all formats keep; some corners are shared.
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t k = 0; k < 3; ++k)
      out[i][k] = i > 0 && k == 0 ? out[i - 1][2]
                                  : Vec3(static_cast<float>(random.normal()), static_cast<float>(random.normal()),
                                         static_cast<float>(random.normal()));
  return out;
}

std::string binary_stl(const std::vector<Triangle>& all) {
  std::string out(80, 's');
  const auto put = [&out](const void* p, std::size_t n) { out.append(static_cast<const char*>(p), n); };
  const auto n = static_cast<std::uint32_t>(all.size());
  put(&n, 4);
  for (const Triangle& t : all) {
    const float zero[3] = {0, 0, 0};
    put(zero, 12);
    for (const Vec3& p : t)
      for (const double x : p) {
        const auto y = static_cast<float>(x);
        put(&y, 4);
      }
    put(zero, 2);
  }
  return out;
}

std::string text_stl(const std::vector<Triangle>& all) {
  std::string out = "solid s\n";
  for (const Triangle& t : all) {
    out += "facet normal 0 0 0\n outer loop\n";
    for (const Vec3& p : t) out += fmt::format("  vertex {} {} {}\n", p.x(), p.y(), p.z());
    out += " endloop\nendfacet\n";
  }
  return out + "endsolid s\n";
}

std::string obj(const std::vector<Triangle>& all, bool backwards) {
  std::string out = "# nothing\nmtllib a.mtl\n";
  int corners = 0;
  for (const Triangle& t : all) {
    for (const Vec3& p : t) out += fmt::format("v {} {} {}\n", p.x(), p.y(), p.z());
    corners += 3;
    out += backwards ? "f -3 -2 -1\n" : fmt::format("f {}/1/2 {}//3 {}\n", corners - 2, corners - 1, corners);
  }
  return out;
}

void expect_same(const std::string& path, const std::vector<Triangle>& all) {
  const auto mesh = read_mesh_file(path);
  ASSERT_TRUE(mesh) << mesh.error().text();
  ASSERT_EQ(mesh->triangles.size(), 3 * all.size());
  for (std::size_t i = 0; i < mesh->triangles.size(); ++i) {
    const auto at = static_cast<std::size_t>(3 * mesh->triangles[i]);
    EXPECT_EQ(Vec3(mesh->vertices[at], mesh->vertices[at + 1], mesh->vertices[at + 2]), all[i / 3][i % 3]) << path;
  }
}

TEST(MeshFile, HoldsTheSameTrianglesInEveryFormat) {
  Folder folder;
  for (const int n : {1, 2, 7, 300}) {
    const std::vector<Triangle> all = drawn(n);
    write_file(folder / "a.stl", binary_stl(all));
    write_file(folder / "b.STL", text_stl(all));
    write_file(folder / "c.obj", obj(all, false));
    write_file(folder / "d.obj", obj(all, true));
    for (const char* name : {"a.stl", "b.STL", "c.obj", "d.obj"}) expect_same(folder / name, all);
    const auto shared = read_mesh_file(folder / "a.stl");
    EXPECT_EQ(shared->vertices.size(), 3u * static_cast<std::size_t>(2 * n + 1)) << "a corner of two triangles is one";
  }
}

TEST(MeshFile, TakesPolygonsApart) {
  Folder folder;
  write_file(folder / "quad.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n");
  const auto mesh = read_mesh_file(folder / "quad.obj");
  ASSERT_TRUE(mesh);
  EXPECT_EQ(mesh->triangles, (std::vector<int>{0, 1, 2, 0, 2, 3}));
}

TEST(MeshFile, RefusesNonsenseInWords) {
  Folder folder;
  const std::map<std::string, std::pair<std::string, std::string>> wrong = {
      {"a.ply", {"ply", ".stl and .obj"}},
      {"b.stl", {"", "neither a whole binary STL"}},
      {"h.stl", {"solid s\nvertex 0 oops 0\nvertex 1 0 0\nvertex 0 1 0\n", "finite"}},
      {"i.stl", {"solid s\nvertex nan 0 0\nvertex 1 0 0\nvertex 0 1 0\n", "finite"}},
      {"j.stl", {binary_stl({{Vec3(0, 0, 0), Vec3(1, std::nan(""), 0), Vec3(0, 1, 0)}}), "finite"}},
      {"k.stl", {binary_stl(drawn(2)).substr(0, 150), "neither a whole binary STL"}},
      {"c.stl", {"solid s\nvertex 0 0 0\nvertex 1 0 0\n", "no whole triangles"}},
      {"d.obj", {"v 0 0 0\nf 1 2 3\n", "not there"}},
      {"e.obj", {"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "finite"}},
      {"f.obj", {"v 0 0 0\nv 1 0\nv 0 1 0\nf 1 2 3\n", "finite"}},
      {"g.obj", {"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -9 99999999999999999999 0\n", "not there"}},
  };
  for (const auto& [name, what] : wrong) {
    write_file(folder / name, what.first);
    const auto mesh = read_mesh_file(folder / name);
    ASSERT_FALSE(mesh) << name;
    EXPECT_NE(mesh.error().text().find(what.second), std::string::npos) << mesh.error().text();
    EXPECT_NE(mesh.error().text().find(name), std::string::npos);
  }
  EXPECT_FALSE(read_mesh_file(folder / "none.stl"));
}

TEST(MeshFile, SurvivesAnyBytes) {
  Folder folder;
  Random random(4, 2);
  const std::string good[] = {binary_stl(drawn(5)), text_stl(drawn(5)), obj(drawn(5), false)};
  for (int k = 0; k < 600; ++k) {
    std::string bytes = good[k % 3];
    for (int hits = random.below(8); hits >= 0; --hits)
      bytes[static_cast<std::size_t>(random.below(static_cast<int>(bytes.size())))] = static_cast<char>(random.below(256));
    if (random.chance(0.3)) bytes.resize(static_cast<std::size_t>(random.below(static_cast<int>(bytes.size()))));
    const std::string path = folder / (k % 3 == 2 ? "x.obj" : "x.stl");
    write_file(path, bytes);
    const auto mesh = read_mesh_file(path);
    if (!mesh) continue;
    for (const int i : mesh->triangles) ASSERT_LT(static_cast<std::size_t>(3 * i + 2), mesh->vertices.size());
    for (const double x : mesh->vertices) ASSERT_TRUE(std::isfinite(x));
  }
}

// One that is too large is refused; of several that are too large together the last ones are left out, and told.
TEST(MeshFile, HasAnEnd) {
  Folder folder;
  const auto many = [](std::size_t n) { return binary_stl(std::vector<Triangle>(n, drawn(1)[0])); };
  write_file(folder / "most.stl", many(kMostTriangles));
  write_file(folder / "more.stl", many(kMostTriangles + 1));
  EXPECT_TRUE(read_mesh_file(folder / "most.stl"));
  const auto more = read_mesh_file(folder / "more.stl");
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().text().find("too many"), std::string::npos) << more.error().text();
  write_file(folder / "one.stl", many(1));
  write_file(folder / "m.toml",
             "[[body]]\nname = 'b'\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n"
             "shapes = [{ kind = 'mesh', file = 'most.stl' }, { kind = 'mesh', file = 'one.stl' }]\n");
  const auto s =
      parse_scenario("model = 'm.toml'\n[integrator]\nmethod = 'rk4'\nstep = 0.1\n[time]\nend = 1\n", folder / "s.toml");
  ASSERT_TRUE(s) << s.error().text();
  std::vector<std::string> warnings;
  const auto drawing = drawing_of(scene_json(*s, &warnings));
  ASSERT_TRUE(drawing);
  EXPECT_EQ(drawing->bodies.at(0).corners.size(), 3 * kMostTriangles);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("one.stl"), std::string::npos);
}

TEST(Scene, HoldsTheMeshesOfTheModel) {
  Folder folder;
  const std::vector<Triangle> all = drawn(4);
  write_file(folder / "part.stl", binary_stl(all));
  write_file(folder / "m.toml",
             "[[body]]\nname = 'b'\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n"
             "shapes = [{ kind = 'mesh', file = 'part.stl', at = { p = [1, 2, 3] } }, { kind = 'mesh', file = 'gone.stl' }]\n");
  const auto s =
      parse_scenario("model = 'm.toml'\n[integrator]\nmethod = 'rk4'\nstep = 0.1\n[time]\nend = 1\n", folder / "s.toml");
  ASSERT_TRUE(s) << s.error().text();
  std::vector<std::string> warnings;
  const std::string scene = scene_json(*s, &warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("gone.stl"), std::string::npos);
  const auto drawing = drawing_of(scene);
  ASSERT_TRUE(drawing) << drawing.error().text();
  ASSERT_EQ(drawing->bodies.at(0).corners.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_LT((drawing->bodies[0].corners[i] - all[i / 3][i % 3] - Vec3(1, 2, 3)).norm(), 1e-14);
}

// A mesh is looked for beside the model, whichever file names it: there it is checked, and from there it is drawn.
TEST(Scene, LooksForMeshesOfEditsBesideTheModel) {
  Folder folder;
  std::filesystem::create_directories(folder / "models");
  std::filesystem::create_directories(folder / "scenarios");
  write_file(folder / "models/part.stl", binary_stl(drawn(4)));
  write_file(folder / "models/m.toml", "[[body]]\nname = 'b'\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n");
  std::filesystem::create_directory(folder / "scenarios/part.stl");  // of no matter
  std::filesystem::create_directory(folder / "models/folder.stl");
  const auto attach = [&](const std::string& file) {
    return parse_scenario(
        "model = '../models/m.toml'\n[integrator]\nmethod = 'rk4'\nstep = 0.1\n[time]\nend = 1\n[[edit]]\nat = 0.5\nkind = "
        "'attach'\nname = 'load'\nbody = 'b'\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\nshapes = [{ kind = 'mesh', file = "
        "'" +
            file + "' }]\n",
        folder / "scenarios/s.toml");
  };
  const auto fine = attach("part.stl");
  ASSERT_TRUE(fine) << fine.error().text();
  std::vector<std::string> warnings;
  scene_json(*fine, &warnings);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  const auto wrong = attach("folder.stl");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text().find("s.toml:14:35: "), std::string::npos) << wrong.error().text();
  EXPECT_NE(wrong.error().text().find("the mesh 'folder.stl' is a directory"), std::string::npos) << wrong.error().text();
}

}  // namespace
}  // namespace invar::testing
