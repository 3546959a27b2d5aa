// SPDX-License-Identifier: Apache-2.0
#include "invar/io/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "invar/io/model_parts.hpp"
#include "invar/io/regular_file.hpp"

// One function per kind of table; each reads its keys in the order of docs/model-file.md.
namespace invar {
namespace {

const std::vector<std::string> kAxes{"x", "y", "z"};
const std::vector<std::string> kShapes{"box", "cylinder", "capsule", "sphere", "mesh"};
const std::vector<std::string> kSpringLaws{"rotation_vector", "euler", "euler_printed"};

/// A limit beyond this is none: files cannot say infinity.
constexpr double kNoLimit = 1e300;

const std::vector<std::string>& joint_kinds() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all;
    for (int k = 0; k < kJointKinds; ++k) all.emplace_back(name(static_cast<JointKind>(k)));
    return all;
  }();
  return words;
}

/// Places of a joint and of its keys; those of inner tables under "key.inner".
Where joint_places(const TomlTable& t) {
  Where w = t.places();
  for (const char* key : {"spring", "limits"}) {
    if (t.type(key) != TomlTable::Type::Table) continue;
    for (const auto& [inner, place] : t.table(key)->places().fields) w.fields.emplace(std::string(key) + "." + inner, place);
  }
  return w;
}

double not_negative(const TomlTable& t, const char* key) {
  const double x = t.number(key);
  if (x < 0) t.refuse(key, fmt::format("'{}' is {}; sizes cannot be negative", key, x));
  return x;
}

// A mesh that is not there is not drawn; what is there and is no file is a mistake.
std::string read_mesh_name(const TomlTable& t, const std::string& folder) {
  const std::string name = t.string("file");
  const auto path = std::filesystem::path(folder) / name;
  std::error_code trouble;
  if (name.empty() || !std::filesystem::exists(path, trouble) || std::filesystem::is_regular_file(path, trouble)) return name;
  if (const auto opened = open_regular(path.string()); !opened)
    t.refuse("file", fmt::format("the mesh '{}' {}", name, opened.error().what));
  return name;
}

ShapeSpec read_shape(const TomlTable& t, const std::string& folder) {
  ShapeSpec s;
  s.kind = static_cast<ShapeSpec::Kind>(t.choice("kind", kShapes));
  switch (s.kind) {
    case ShapeSpec::Kind::Box:
      s.size = t.vec3("size");
      if (s.size.minCoeff() < 0) t.refuse("size", "'size' has a negative edge");
      break;
    case ShapeSpec::Kind::Cylinder:
    case ShapeSpec::Kind::Capsule:
      s.axis = t.choice("axis", kAxes, s.axis);
      s.radius = not_negative(t, "radius");
      s.length = not_negative(t, "length");
      break;
    case ShapeSpec::Kind::Sphere: s.radius = not_negative(t, "radius"); break;
    case ShapeSpec::Kind::Mesh: s.file = read_mesh_name(t, folder); break;
  }
  s.at = t.pose("at");
  return s;
}

/// The uniform solid of this mass, in the body frame.
Inertia solid(double mass, const ShapeSpec& s) {
  Inertia i;
  switch (s.kind) {
    case ShapeSpec::Kind::Box: i = solid_box(mass, s.size); break;
    case ShapeSpec::Kind::Cylinder: i = solid_cylinder(mass, s.radius, s.length, s.axis); break;
    case ShapeSpec::Kind::Capsule: i = solid_capsule(mass, s.radius, s.length, s.axis); break;
    case ShapeSpec::Kind::Sphere: i = solid_sphere(mass, s.radius); break;
    case ShapeSpec::Kind::Mesh: break;
  }
  if (s.at.q.vec() != Vec3::Zero()) {
    const Mat3 I = s.at.R() * i.I_C * s.at.R().transpose();
    i.I_C = 0.5 * (I + I.transpose());
  }
  i.p_BC = s.at.p;
  return i;
}

Mat3 read_inertia(const TomlTable& t) {
  const double xx = t.number("xx"), yy = t.number("yy"), zz = t.number("zz");
  const double xy = t.number("xy", 0), xz = t.number("xz", 0), yz = t.number("yz", 0);
  Mat3 I;
  I << xx, xy, xz, xy, yy, yz, xz, yz, zz;
  return I;
}

}  // namespace

std::string mesh_folder(const std::string& model_path) { return std::filesystem::path(model_path).parent_path().string(); }

void read_mass(const TomlTable& t, const std::string& folder, BodySpec& b) {
  b.inertia.mass = t.number("mass");
  b.inertia.p_BC = t.vec3("com", Vec3::Zero());
  if (const auto inertia = t.table("inertia")) b.inertia.I_C = read_inertia(*inertia);
  if (const auto shape = t.table("shape")) {
    ShapeSpec s = read_shape(*shape, folder);
    if (t.has("inertia"))
      t.refuse("shape", "'shape' gives the inertia, but there is 'inertia' too; a shape for drawing only goes into 'shapes'");
    if (s.kind == ShapeSpec::Kind::Mesh) t.refuse("shape", "a mesh gives no inertia; put it into 'shapes' and give 'inertia'");
    if (t.has("com") && shape->has("at"))
      t.refuse("com", "the place of the centre of mass follows from 'at' of the shape; leave out 'com' or 'at'");
    if (!shape->has("at")) s.at.p = b.inertia.p_BC;
    b.inertia = solid(b.inertia.mass, s);
    b.shapes.push_back(s);
  }
  for (const TomlTable& shape : t.tables("shapes")) b.shapes.push_back(read_shape(shape, folder));
}

BodySpec read_body(const TomlTable& t, const std::string& folder) {
  BodySpec b;
  b.where = t.places();
  b.name = t.string("name");
  read_mass(t, folder, b);
  return b;
}

std::vector<double> read_coordinates(const TomlTable& t, const std::string& key) {
  if (t.type(key) != TomlTable::Type::Table) return t.numbers(key);
  const Pose X = t.pose(key);
  return {X.p.x(), X.p.y(), X.p.z(), X.q.w(), X.q.x(), X.q.y(), X.q.z()};
}

std::vector<double> read_map(const TomlTable& t) {
  const std::vector<double> polynomial = t.numbers("polynomial");
  if (!t.has("polynomial")) return {t.number("offset", 0), t.number("ratio")};
  if (t.has("ratio") || t.has("offset"))
    t.refuse("polynomial", "'polynomial' = [c0, c1, ..] contains offset c0 and ratio c1; leave out 'ratio' and 'offset'");
  return polynomial;
}

namespace {

LimitSpec read_limits(const TomlTable& t) {
  LimitSpec l;
  l.lower = t.numbers("lower");
  l.upper = t.numbers("upper");
  for (double& x : l.lower) x = x <= -kNoLimit ? -std::numeric_limits<double>::infinity() : x;
  for (double& x : l.upper) x = x >= kNoLimit ? std::numeric_limits<double>::infinity() : x;
  l.stiffness = t.number("stiffness", l.stiffness);
  l.damping = t.number("damping", l.damping);
  return l;
}

}  // namespace

JointSpec read_joint(const TomlTable& t) {
  JointSpec j;
  j.where = joint_places(t);
  j.name = t.string("name");
  j.kind = static_cast<JointKind>(t.choice("kind", joint_kinds()));
  j.parent = t.string("parent", j.parent);
  j.child = t.string("child");
  j.at_parent = t.pose("at_parent");
  j.at_child = t.pose("at_child");
  j.axis = t.vec3("axis", j.axis);
  j.axis2 = t.vec3("axis2", j.axis2);
  j.pitch = t.number("pitch", j.pitch);
  if (const auto spring = t.table("spring")) {
    j.spring.law = static_cast<SpringLaw>(spring->choice("law", kSpringLaws, 0));
    j.spring.stiffness = spring->numbers("stiffness");
    j.spring.rest = spring->numbers("rest");
  }
  if (const auto limits = t.table("limits")) j.limits = read_limits(*limits);
  j.damping = t.numbers("damping");
  j.friction = t.numbers("friction");
  j.friction_velocity = t.number("friction_velocity", j.friction_velocity);
  j.armature = t.numbers("armature");
  j.locked = t.boolean("locked", j.locked);
  j.locked_at = read_coordinates(t, "locked_at");
  j.cut = t.boolean("cut", j.cut);
  j.independent = t.boolean("independent", j.independent);
  return j;
}

namespace {

CouplingSpec read_coupling(const TomlTable& t) {
  CouplingSpec c;
  c.where = t.places();
  c.name = t.string("name");
  c.joint = t.string("joint");
  c.freedom = t.integer("freedom", 0);
  c.of = t.string("of");
  c.of_freedom = t.integer("of_freedom", 0);
  c.coefficients = read_map(t);
  return c;
}

FrameSpec read_frame(const TomlTable& t) {
  FrameSpec f;
  f.where = t.places();
  f.name = t.string("name");
  f.body = t.string("body", f.body);
  f.at = t.pose("at");
  return f;
}

TendonSpec read_tendon(const TomlTable& t) {
  TendonSpec d;
  d.where = t.places();
  d.name = t.string("name");
  for (const TomlTable& point : t.tables("points")) {
    PointSpec p;
    if (point.has("frame") && point.has("body")) point.refuse("frame", "a point is on a 'body' or on a 'frame', not on both");
    p.body = point.string("body", p.body);
    p.frame = point.string("frame", p.frame);
    p.p = point.vec3("p", p.p);
    d.points.push_back(p);
  }
  d.stiffness = t.number("stiffness", d.stiffness);
  d.length = t.number("length");
  d.pretension = t.number("pretension", d.pretension);
  d.damping = t.number("damping", d.damping);
  d.tension_only = t.boolean("tension_only", d.tension_only);
  return d;
}

PayloadSpec read_payload(const TomlTable& t, const std::string& folder) {
  PayloadSpec p;
  p.where = t.places();
  p.name = t.string("name");
  p.body = t.string("body");
  BodySpec body;
  read_mass(t, folder, body);
  p.inertia = body.inertia;
  p.shapes = std::move(body.shapes);
  return p;
}

Result<ModelSpec> read_spec(const TomlTable& file, const std::string& folder) {
  const std::vector<std::string> keys = file.keys();
  const auto present = [&keys](const char* key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
  if (present("model") && present("integrator") && !present("body"))
    return fail(ErrorKind::Syntax, "this is a scenario; a model file is wanted, such as the one that its key 'model' names",
                file.where("model"));
  ModelSpec m;
  m.where = file.places();
  const int format = file.integer("format", kModelFormat);
  if (format < 1 || format > kModelFormat)
    file.refuse("format", fmt::format("model format {} is not known; this program reads format 1 to {}", format, kModelFormat));
  m.name = file.string("name", m.name);
  m.gravity = file.vec3("gravity", m.gravity);
  for (const TomlTable& t : file.tables("body")) m.bodies.push_back(read_body(t, folder));
  for (const TomlTable& t : file.tables("joint")) m.joints.push_back(read_joint(t));
  for (const TomlTable& t : file.tables("coupling")) m.couplings.push_back(read_coupling(t));
  for (const TomlTable& t : file.tables("frame")) m.frames.push_back(read_frame(t));
  for (const TomlTable& t : file.tables("tendon")) m.tendons.push_back(read_tendon(t));
  for (const TomlTable& t : file.tables("payload")) m.payloads.push_back(read_payload(t, folder));
  if (const auto initial = file.table("initial"))
    for (const std::string& joint : initial->keys()) {
      m.initial[joint] = read_coordinates(*initial, joint);
      m.where.fields["initial." + joint] = initial->where(joint);
    }
  if (const auto done = file.finish(); !done) return tl::unexpected(done.error());
  return m;
}

}  // namespace

Result<ModelSpec> read_model_file(const std::string& path) {
  const auto file = load_toml(path);
  return file ? read_spec(*file, mesh_folder(path)) : tl::unexpected(file.error());
}

Result<Model> read_model(const std::string& path, std::vector<std::string>* warnings, ModelSpec* spec) {
  auto read = read_model_file(path);
  if (!read) return tl::unexpected(read.error());
  auto model = Model::build(*read, warnings);
  if (spec != nullptr) *spec = std::move(*read);
  return model;
}

std::string start_place(const ModelSpec& spec, const std::string& sentence) {
  const auto named = [&](const char* kind, const std::string& name) {
    return sentence.find(fmt::format("{} '{}'", kind, name)) != sentence.npos;
  };
  for (const JointSpec& j : spec.joints)
    if (named("joint", j.name)) return j.where.item;
  for (const BodySpec& b : spec.bodies)
    if (named("body", b.name)) return b.where.item;
  if (spec.where.fields.contains("initial")) return spec.where.of("initial");
  if (!spec.joints.empty()) return spec.joints.front().where.item;
  return spec.bodies.empty() ? spec.where.item : spec.bodies.front().where.item;
}

Result<ModelSpec> parse_model(std::string_view text, const std::string& name) {
  const auto file = parse_toml(text, name);
  return file ? read_spec(*file, mesh_folder(name)) : tl::unexpected(file.error());
}

}  // namespace invar
