// SPDX-License-Identifier: Apache-2.0
//
// A tree grows body by body: draw a joint, its coordinates and its two frames, and the pose of the new body follows. A joint
// beyond the tree is drawn the other way round: both bodies have their poses, so frame M is put where the drawn coordinates
// want it. Whatever is drawn is closed by construction, and general apart from that.
#include "support/random_mechanism.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/faces/kinds.hpp"

namespace invar::testing {

Vec3 random_vector(Random& random, double size) {
  const double x = random.normal(), y = random.normal(), z = random.normal();
  return size * Vec3(x, y, z);
}

Vec3 random_unit(Random& random) { return random_vector(random, 1.0).normalized(); }

Quat random_attitude(Random& random) {
  const double w = random.normal();
  const Vec3 v = random_vector(random, 1.0);
  return normalized(Quat(w, v.x(), v.y(), v.z()));
}

Pose random_pose(Random& random, double size) {
  const Quat q = random_attitude(random);
  return {q, random_vector(random, size)};
}

Inertia random_inertia(Random& random, double mass, double size) {
  // Second moments Σ ρ x xᵀ are any positive definite matrix; I = tr Σ - Σ obeys the triangle inequality.
  Mat3 A;
  for (int i = 0; i < 3; ++i) A.col(i) = random_vector(random, 1.0);
  const Mat3 second = A * A.transpose() + 0.2 * Mat3::Identity();
  Inertia inertia;
  inertia.mass = mass;
  inertia.p_BC = random_vector(random, 0.5 * size);
  inertia.I_C = 0.1 * mass * size * size * (second.trace() * Mat3::Identity() - second);
  return inertia;
}

namespace {

Quat about(const Vec3& axis, double angle) { return exp_so3(angle * axis); }

std::vector<double> quaternion(const Quat& q) { return {q.w(), q.x(), q.y(), q.z()}; }

/// A list with one number per freedom, most of the time.
std::vector<double> draw_list(Random& random, JointKind kind, double low, double high) {
  std::vector<double> list;
  if (random.chance(0.5)) return list;
  for (int k = 0; k < freedoms(kind); ++k) list.push_back(random.uniform(low, high));
  return list;
}

std::vector<double> draw_coordinates(Random& random, JointKind kind) {
  if (kind == JointKind::Spherical) return quaternion(random_attitude(random));
  std::vector<double> q;
  for (int k = 0; k < std::min(3, freedoms(kind)); ++k) q.push_back(random.uniform(-1.5, 1.5));
  if (kind == JointKind::Free)
    for (const double x : quaternion(random_attitude(random))) q.push_back(x);
  return q;
}

void draw_passive(Random& random, const std::vector<double>& q, JointSpec& joint) {
  const JointKind kind = joint.kind;
  constexpr SpringLaw laws[] = {SpringLaw::RotationVector, SpringLaw::Euler, SpringLaw::EulerPrinted};
  joint.spring.law = laws[random.below(3)];
  joint.spring.stiffness = draw_list(random, kind, 1, 20);
  if (!joint.spring.stiffness.empty()) joint.spring.rest = draw_list(random, kind, -0.5, 0.5);
  joint.damping = draw_list(random, kind, 0, 0.5);
  joint.friction = draw_list(random, kind, 0, 0.3);
  joint.friction_velocity = 0.05;
  if (kind != JointKind::Free) joint.armature = draw_list(random, kind, 0, 0.2);
  // Stops that are touched: an upper limit a little below the drawn coordinate.
  if (kind != JointKind::Spherical && kind != JointKind::Free && freedoms(kind) > 0 && random.chance(0.3)) {
    for (const double x : q) joint.limits.upper.push_back(x - random.uniform(-0.02, 0.02));
    joint.limits.stiffness = 500;
    joint.limits.damping = 0.2;
  }
}

class Builder {
 public:
  Builder(Random& random, const MechanismOptions& options) : random_(random), options_(options) {}

  Mechanism build() {
    const Vec3 down = 9.81 * random_unit(random_);
    m_.spec.gravity = down;
    m_.spec.name = "drawn";
    for (int b = 0; b < options_.bodies; ++b) add_body(b);
    for (int l = 0; l < options_.loops; ++l) close_loop();
    for (int r = 0; r < options_.redundant; ++r) double_joint();
    if (options_.massless) lighten();
    for (int c = 0; c < options_.couplings; ++c) couple();
    shuffle();
    return std::move(m_);
  }

 private:
  JointKind draw_kind() {
    if (options_.planar) return JointKind::Revolute;
    if (!options_.kinds.empty())
      return options_.kinds[static_cast<std::size_t>(random_.below(static_cast<int>(options_.kinds.size())))];
    return static_cast<JointKind>(random_.below(kJointKinds));
  }

  Pose pose_of_body(int b) const { return b == kWorld ? Pose{} : m_.X_WB[static_cast<std::size_t>(b)]; }
  std::string name_of_body(int b) const { return b == kWorld ? "world" : m_.spec.bodies[static_cast<std::size_t>(b)].name; }

  /// A joint of this kind with everything but its bodies and frames.
  JointSpec draw_joint(JointKind kind, std::vector<double>& q) {
    JointSpec joint;
    joint.name = "j" + std::to_string(m_.spec.joints.size());
    joint.kind = kind;
    joint.axis = random_.chance(0.3) ? Vec3(Vec3::UnitZ()) : random_unit(random_);
    if (kind == JointKind::Universal) joint.axis2 = joint.axis.cross(random_unit(random_)).normalized();
    if (kind == JointKind::Screw) joint.pitch = random_.uniform(0.05, 0.3);
    q = draw_coordinates(random_, kind);
    if (options_.passive) draw_passive(random_, q, joint);
    if (options_.locked && random_.chance(0.05)) {
      joint.locked = true;
      joint.locked_at = q;
    }
    return joint;
  }

  /// Frame F on a body: anywhere near it; in planar mechanisms z is that of World.
  Pose draw_frame(int body) {
    Pose at = random_pose(random_, options_.reach);
    if (options_.planar) at.q = pose_of_body(body).q.conjugate() * about(Vec3::UnitZ(), random_.uniform(-1, 1));
    return at;
  }

  void add_body(int b) {
    BodySpec body;
    body.name = "b" + std::to_string(b);
    const double span = 0.5 * std::log(options_.mass_ratio);
    body.inertia = random_inertia(random_, std::exp(random_.uniform(-span, span)), options_.reach);
    m_.spec.bodies.push_back(body);
    m_.X_WB.push_back({});
    int inner = b == 0 ? kWorld : random_.below(b);
    if (b > 0 && !options_.floating && random_.chance(0.1)) inner = kWorld;
    JointKind kind = draw_kind();
    if (options_.floating && inner == kWorld) kind = JointKind::Free;
    // The root of a floating system may as well have no joint at all.
    if (options_.floating && inner == kWorld && random_.chance(0.5)) {
      m_.X_WB.back() = random_pose(random_, 1.0);
      return;
    }
    attach(b, inner, kind);
  }

  /// Joins the new body to one that has its pose; the pose of the new one follows from the drawn coordinates.
  void attach(int b, int inner, JointKind kind) {
    std::vector<double> q;
    JointSpec joint = draw_joint(kind, q);
    if (options_.planar) joint.axis = Vec3::UnitZ();
    const Pose inner_frame = draw_frame(inner);
    Pose outer_frame = random_pose(random_, options_.reach);
    const bool reversed = inner != kWorld && random_.chance(0.3);
    const Pose X_FM = pose_of(joint, q);
    const Pose X = pose_of_body(inner) * inner_frame * (reversed ? X_FM.inverse() : X_FM);
    m_.X_WB[static_cast<std::size_t>(b)] = X * outer_frame.inverse();
    if (reversed)
      joint.parent = name_of_body(b), joint.child = name_of_body(inner), joint.at_parent = outer_frame,
      joint.at_child = inner_frame;
    else
      joint.parent = name_of_body(inner), joint.child = name_of_body(b), joint.at_parent = inner_frame,
      joint.at_child = outer_frame;
    push(joint, q, reversed ? b : inner, reversed ? inner : b);
  }

  void push(const JointSpec& joint, const std::vector<double>& q, int parent, int child) {
    m_.spec.joints.push_back(joint);
    m_.coordinates.push_back(q);
    ends_.push_back({parent, child});
  }

  /// A joint between two bodies that have their poses: M is put where the joint is satisfied.
  void close_between(JointSpec joint, const std::vector<double>& q, int parent, int child) {
    joint.name = "j" + std::to_string(m_.spec.joints.size());
    joint.parent = name_of_body(parent), joint.child = name_of_body(child);
    joint.at_child = pose_of_body(child).inverse() * (pose_of_body(parent) * joint.at_parent * pose_of(joint, q));
    push(joint, q, parent, child);
  }

  void close_loop() {
    if (options_.bodies < 2) return;
    const int child = random_.below(options_.bodies);
    int parent = random_.below(options_.bodies);
    if (parent == child) parent = (parent + 1) % options_.bodies;
    if (!options_.floating && random_.chance(0.3)) parent = kWorld;
    std::vector<double> q;
    JointSpec joint = draw_joint(draw_kind(), q);
    if (options_.planar) joint.axis = Vec3::UnitZ();
    joint.at_parent = draw_frame(parent);
    joint.cut = random_.chance(0.2);
    close_between(joint, q, parent, child);
  }

  /// The same joint once more, or a second hinge further along the same axis.
  void double_joint() {
    if (m_.spec.joints.empty()) return;
    const auto i = static_cast<std::size_t>(random_.below(static_cast<int>(m_.spec.joints.size())));
    JointSpec joint = m_.spec.joints[i];
    joint.spring = {}, joint.limits = {}, joint.damping.clear(), joint.friction.clear(), joint.armature.clear();
    const bool hinge = joint.kind == JointKind::Revolute && !joint.locked;
    if (hinge && random_.chance(0.7)) joint.at_parent.p += joint.at_parent.q * (random_.uniform(0.2, 1.0) * joint.axis);
    close_between(joint, m_.coordinates[i], ends_[i].parent, ends_[i].child);
  }

  /// Takes the mass of links that hang between two joints of few freedoms, and makes rods of some others.
  void lighten() {
    const auto slim = [](const JointSpec& j) {
      return !j.locked && (j.kind == JointKind::Revolute || j.kind == JointKind::Universal || j.kind == JointKind::Screw);
    };
    std::vector<bool> light(m_.spec.bodies.size(), false);
    for (int b = 0; b < options_.bodies; ++b) {
      int joints = 0, good = 0;
      for (std::size_t j = 0; j < ends_.size(); ++j) {
        if (ends_[j].parent != b && ends_[j].child != b) continue;
        const int other = ends_[j].parent == b ? ends_[j].child : ends_[j].parent;
        ++joints;
        good += slim(m_.spec.joints[j]) && (other == kWorld || !light[static_cast<std::size_t>(other)]) ? 1 : 0;
      }
      Inertia& inertia = m_.spec.bodies[static_cast<std::size_t>(b)].inertia;
      if (joints == 2 && good == 2 && random_.chance(0.7)) {
        inertia.mass = 0;
        inertia.I_C.setZero();
        light[static_cast<std::size_t>(b)] = true;
      } else if (joints == 1 && good == 1 && random_.chance(0.5)) {
        const Vec3 axis = random_unit(random_);
        inertia.I_C = 0.1 * inertia.mass * (Mat3::Identity() - axis * axis.transpose());
      }
    }
  }

  /// A polynomial between scalar freedoms of two joints that holds at the drawn coordinates.
  void couple() {
    std::vector<int> scalar;
    for (std::size_t j = 0; j < m_.spec.joints.size(); ++j) {
      const JointSpec& joint = m_.spec.joints[j];
      const bool ball = joint.kind == JointKind::Spherical || joint.kind == JointKind::Free;
      if (!ball && !joint.locked && freedoms(joint.kind) > 0) scalar.push_back(static_cast<int>(j));
    }
    if (scalar.size() < 2) return;
    const auto at = [&](int i) { return static_cast<std::size_t>(scalar[static_cast<std::size_t>(i)]); };
    const int i = random_.below(static_cast<int>(scalar.size()));
    const int k = (i + 1 + random_.below(static_cast<int>(scalar.size()) - 1)) % static_cast<int>(scalar.size());
    const JointSpec &driven = m_.spec.joints[at(i)], &driving = m_.spec.joints[at(k)];
    CouplingSpec c;
    c.name = "c" + std::to_string(m_.spec.couplings.size());
    c.joint = driven.name, c.of = driving.name;
    c.freedom = random_.below(freedoms(driven.kind)), c.of_freedom = random_.below(freedoms(driving.kind));
    c.coefficients = {0.0, random_.uniform(-2, 2)};
    if (random_.chance(0.5))
      c.coefficients.push_back(random_.uniform(-0.5, 0.5)), c.coefficients.push_back(random_.uniform(-0.2, 0.2));
    const double x = m_.coordinates[at(k)][static_cast<std::size_t>(c.of_freedom)];
    double value = 0;
    for (std::size_t e = c.coefficients.size(); e-- > 0;) value = value * x + c.coefficients[e];
    c.coefficients[0] = m_.coordinates[at(i)][static_cast<std::size_t>(c.freedom)] - value;
    m_.spec.couplings.push_back(c);
  }

  std::vector<std::size_t> permutation(std::size_t n) {
    std::vector<std::size_t> p(n);
    std::iota(p.begin(), p.end(), std::size_t{0});
    for (std::size_t i = n; i > 1; --i) std::swap(p[i - 1], p[static_cast<std::size_t>(random_.below(static_cast<int>(i)))]);
    return p;
  }

  /// Bodies and joints in an order that tells nothing of the tree.
  void shuffle() {
    const Mechanism in = m_;
    std::size_t i = 0;
    for (const std::size_t p : permutation(in.spec.bodies.size()))
      m_.spec.bodies[i] = in.spec.bodies[p], m_.X_WB[i++] = in.X_WB[p];
    i = 0;
    for (const std::size_t p : permutation(in.spec.joints.size()))
      m_.spec.joints[i] = in.spec.joints[p], m_.coordinates[i++] = in.coordinates[p];
  }

  struct Ends {
    int parent, child;
  };
  Random& random_;
  const MechanismOptions& options_;
  Mechanism m_;
  std::vector<Ends> ends_;
};

}  // namespace

Pose pose_of(const JointSpec& joint, const std::vector<double>& q) {
  const Vec3& a = joint.axis;
  const Vec3 x = any_perpendicular(a);
  switch (joint.kind) {
    case JointKind::Fixed: return {};
    case JointKind::Revolute: return {about(a, q[0]), Vec3::Zero()};
    case JointKind::Prismatic: return {Quat::Identity(), q[0] * a};
    case JointKind::Screw: return {about(a, q[0]), joint.pitch * q[0] * a};
    case JointKind::Cylindrical: return {about(a, q[0]), q[1] * a};
    case JointKind::Universal: return {normalized(about(a, q[0]) * about(joint.axis2, q[1])), Vec3::Zero()};
    case JointKind::Spherical: return {Quat(q[0], q[1], q[2], q[3]), Vec3::Zero()};
    case JointKind::Planar: return {about(a, q[2]), q[0] * x + q[1] * a.cross(x)};
    case JointKind::Free: return {Quat(q[3], q[4], q[5], q[6]), Vec3(q[0], q[1], q[2])};
  }
  return {};
}

Mechanism random_mechanism(Random& random, const MechanismOptions& options) { return Builder(random, options).build(); }

}  // namespace invar::testing
