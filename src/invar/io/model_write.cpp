// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "invar/io/model_file.hpp"

// Numbers are written with the fewest digits that read back as the same number; what equals its default is left out.
namespace invar {
namespace {

std::string text(double x) {
  if (std::isinf(x)) return x > 0 ? "1e308" : "-1e308";  // limits only: the reader takes them for none
  if (x == 0 && std::signbit(x)) return "-0.0";
  return fmt::format("{}", x);
}

std::string text(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(byte));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string text(const std::vector<double>& list) {
  std::string out;
  for (const double x : list) out += (out.empty() ? "" : ", ") + text(x);
  return "[" + out + "]";
}

std::string text(const Vec3& v) { return text(std::vector<double>{v.x(), v.y(), v.z()}); }

bool same(const Vec3& a, const Vec3& b) { return a == b && a.array().isFinite().all(); }

std::string text(const Pose& X) {
  const bool turned = X.q.coeffs() != Quat::Identity().coeffs();
  const std::string q = turned ? ", q = " + text(std::vector<double>{X.q.w(), X.q.x(), X.q.y(), X.q.z()}) : "";
  return "{ p = " + text(X.p) + q + " }";
}

bool is_identity(const Pose& X) { return same(X.p, Vec3::Zero()) && X.q.coeffs() == Quat::Identity().coeffs(); }

/// One line "key = value".
template <class T>
void put(std::string& out, const char* key, const T& value) {
  out += fmt::format("{} = {}\n", key, text(value));
}

void put_list(std::string& out, const char* key, const std::vector<double>& list) {
  if (!list.empty()) put(out, key, list);
}

std::string text(const ShapeSpec& s) {
  const char axis = "xyz"[std::clamp(s.axis, 0, 2)];
  std::string out;
  switch (s.kind) {
    case ShapeSpec::Kind::Box: out = "kind = \"box\", size = " + text(s.size); break;
    case ShapeSpec::Kind::Cylinder:
    case ShapeSpec::Kind::Capsule:
      out = fmt::format("kind = \"{}\", axis = \"{}\", radius = {}, length = {}",
                        s.kind == ShapeSpec::Kind::Cylinder ? "cylinder" : "capsule", axis, text(s.radius), text(s.length));
      break;
    case ShapeSpec::Kind::Sphere: out = "kind = \"sphere\", radius = " + text(s.radius); break;
    case ShapeSpec::Kind::Mesh: out = "kind = \"mesh\", file = " + text(s.file); break;
  }
  return "{ " + out + (is_identity(s.at) ? "" : ", at = " + text(s.at)) + " }";
}

void put_inertia(std::string& out, const Inertia& inertia) {
  put(out, "mass", inertia.mass);
  put(out, "com", inertia.p_BC);
  const Mat3& I = inertia.I_C;
  out += fmt::format("inertia = {{ xx = {}, yy = {}, zz = {}, xy = {}, xz = {}, yz = {} }}\n", text(I(0, 0)), text(I(1, 1)),
                     text(I(2, 2)), text(I(0, 1)), text(I(0, 2)), text(I(1, 2)));
}

void put_shapes(std::string& out, const std::vector<ShapeSpec>& all) {
  std::string shapes;
  for (const ShapeSpec& s : all) shapes += (shapes.empty() ? "" : ", ") + text(s);
  if (!shapes.empty()) out += "shapes = [" + shapes + "]\n";
}

void put_body(std::string& out, const BodySpec& b) {
  out += "\n[[body]]\n";
  put(out, "name", b.name);
  put_inertia(out, b.inertia);
  put_shapes(out, b.shapes);
}

void put_spring(std::string& out, const SpringSpec& s) {
  if (s.stiffness.empty() && s.rest.empty() && s.law == SpringLaw::RotationVector) return;
  const char* laws[] = {"rotation_vector", "euler", "euler_printed"};
  out += fmt::format("spring = {{ law = \"{}\"", laws[static_cast<int>(s.law)]);
  if (!s.stiffness.empty()) out += ", stiffness = " + text(s.stiffness);
  if (!s.rest.empty()) out += ", rest = " + text(s.rest);
  out += " }\n";
}

void put_limits(std::string& out, const LimitSpec& l) {
  const LimitSpec none;
  if (l.lower.empty() && l.upper.empty() && l.stiffness == none.stiffness && l.damping == none.damping) return;
  out += fmt::format("limits = {{ stiffness = {}, damping = {}", text(l.stiffness), text(l.damping));
  if (!l.lower.empty()) out += ", lower = " + text(l.lower);
  if (!l.upper.empty()) out += ", upper = " + text(l.upper);
  out += " }\n";
}

void put_joint(std::string& out, const JointSpec& j) {
  const JointSpec usual;
  out += "\n[[joint]]\n";
  put(out, "name", j.name);
  put(out, "kind", std::string(name(j.kind)));
  put(out, "parent", j.parent);
  put(out, "child", j.child);
  if (!is_identity(j.at_parent)) put(out, "at_parent", j.at_parent);
  if (!is_identity(j.at_child)) put(out, "at_child", j.at_child);
  if (!same(j.axis, usual.axis)) put(out, "axis", j.axis);
  if (!same(j.axis2, usual.axis2)) put(out, "axis2", j.axis2);
  if (j.pitch != 0) put(out, "pitch", j.pitch);
  put_spring(out, j.spring);
  put_limits(out, j.limits);
  put_list(out, "damping", j.damping);
  put_list(out, "friction", j.friction);
  if (j.friction_velocity != usual.friction_velocity) put(out, "friction_velocity", j.friction_velocity);
  put_list(out, "armature", j.armature);
  if (j.locked) out += "locked = true\n";
  put_list(out, "locked_at", j.locked_at);
  if (j.cut) out += "cut = true\n";
  if (j.independent) out += "independent = true\n";
}

void put_coupling(std::string& out, const CouplingSpec& c) {
  out += "\n[[coupling]]\n";
  put(out, "name", c.name);
  put(out, "joint", c.joint);
  if (c.freedom != 0) out += fmt::format("freedom = {}\n", c.freedom);
  put(out, "of", c.of);
  if (c.of_freedom != 0) out += fmt::format("of_freedom = {}\n", c.of_freedom);
  put(out, "polynomial", c.coefficients);
}

void put_tendon(std::string& out, const TendonSpec& t) {
  out += "\n[[tendon]]\n";
  put(out, "name", t.name);
  out += "points = [";
  for (std::size_t k = 0; k < t.points.size(); ++k) {
    const PointSpec& p = t.points[k];
    out += fmt::format("{}{{ {} = {}, p = {} }}", k == 0 ? "" : ", ", p.frame.empty() ? "body" : "frame",
                       text(p.frame.empty() ? p.body : p.frame), text(p.p));
  }
  out += "]\n";
  put(out, "stiffness", t.stiffness);
  put(out, "length", t.length);
  if (t.pretension != 0) put(out, "pretension", t.pretension);
  if (t.damping != 0) put(out, "damping", t.damping);
  if (t.tension_only) out += "tension_only = true\n";
}

}  // namespace

std::string write_model(const ModelSpec& spec) {
  std::string out = fmt::format("format = {}\n", kModelFormat);
  put(out, "name", spec.name);
  put(out, "gravity", spec.gravity);
  for (const BodySpec& b : spec.bodies) put_body(out, b);
  for (const JointSpec& j : spec.joints) put_joint(out, j);
  for (const CouplingSpec& c : spec.couplings) put_coupling(out, c);
  for (const FrameSpec& f : spec.frames) {
    out += "\n[[frame]]\n";
    put(out, "name", f.name);
    put(out, "body", f.body);
    put(out, "at", f.at);
  }
  for (const TendonSpec& t : spec.tendons) put_tendon(out, t);
  for (const PayloadSpec& p : spec.payloads) {
    out += "\n[[payload]]\n";
    put(out, "name", p.name);
    put(out, "body", p.body);
    put_inertia(out, p.inertia);
    put_shapes(out, p.shapes);
  }
  if (!spec.initial.empty()) out += "\n[initial]\n";
  for (const auto& [joint, q] : spec.initial)
    if (!q.empty()) out += text(joint) + " = " + text(q) + "\n";
  return out;
}

}  // namespace invar
