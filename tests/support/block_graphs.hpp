// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <vector>

#include "invar/base/random.hpp"
#include "invar/mech/kkt_problem.hpp"

/// Mechanisms given by points and axes, turned into KktProblems directly: for tests and benchmarks of the graph solver.
/// Lengths in m, masses in kg; the KktProblem is scaled by ℓ (rms distance of joint points from centres) and m0 (mean mass).
namespace invar::graphs {

inline constexpr int kGround = -1;

/// Kinds of joints by what they block, in a frame whose z axis is the axis of the joint.
enum class Kind { Fixed, Revolute, Prismatic, Cylindrical, Universal, Ball, Planar, Line, Support, Axle };

/// Rows on (v, ω) of the joint point, orthonormal.
inline MatX rows_of(Kind kind, const Vec3& axis) {
  const Vec3 z = axis.normalized(), x = any_perpendicular(z), y = z.cross(x);
  std::vector<Vec3> v, w;
  switch (kind) {
    case Kind::Fixed: v = {x, y, z}, w = {x, y, z}; break;
    case Kind::Revolute: v = {x, y, z}, w = {x, y}; break;
    case Kind::Prismatic: v = {x, y}, w = {x, y, z}; break;
    case Kind::Cylindrical: v = {x, y}, w = {x, y}; break;
    case Kind::Universal: v = {x, y, z}, w = {z}; break;
    case Kind::Ball: v = {x, y, z}; break;
    case Kind::Planar: v = {z}, w = {x, y}; break;
    case Kind::Line: v = {x, y}; break;
    case Kind::Support: v = {z}; break;
    case Kind::Axle: w = {z}; break;
  }
  MatX c = MatX::Zero(static_cast<Eigen::Index>(v.size() + w.size()), 6);
  Eigen::Index r = 0;
  for (const Vec3& d : v) c.row(r++).head<3>() = d;
  for (const Vec3& d : w) c.row(r++).tail<3>() = d;
  return c;
}

struct Graph {
  struct Body {
    Vec3 centre;
    double mass = 1;
    Mat3 inertia = 0.1 * Mat3::Identity();
  };
  struct Joint {
    int a, b;  // kGround for none
    Vec3 point;
    MatX rows;            // r x 6 on (v, ω) of b relative to a
    double armature = 0;  // > 0: the rows carry inertia instead of blocking
  };
  std::vector<Body> bodies;
  std::vector<Joint> joints;

  int body(const Vec3& centre, double mass = 1) {
    bodies.push_back({centre, mass, 0.1 * mass * Mat3::Identity()});
    return static_cast<int>(bodies.size()) - 1;
  }
  void joint(Kind kind, int a, int b, const Vec3& point, const Vec3& axis = Vec3::UnitZ()) {
    joints.push_back({a, b, point, rows_of(kind, axis), 0});
  }
  const Vec3& centre(int i) const { return bodies[static_cast<std::size_t>(i)].centre; }

  double length() const {
    double sum = 0, count = 0;
    for (const Joint& j : joints)
      for (int i : {j.a, j.b})
        if (i != kGround) {
          sum += (j.point - centre(i)).squaredNorm();
          ++count;
        }
    return count > 0 && sum > 0 ? std::sqrt(sum / count) : 1.0;
  }
  double mean_mass() const {
    double sum = 0;
    for (const Body& b : bodies) sum += b.mass;
    return sum > 0 ? sum / static_cast<double>(bodies.size()) : 1.0;
  }

  KktProblem problem() const {
    const double l = length(), m0 = mean_mass();
    KktStructure s(static_cast<int>(bodies.size()));
    for (const Joint& j : joints) {
      std::vector<int> touched;
      for (int i : {j.a, j.b})
        if (i != kGround) touched.push_back(i);
      s.add(static_cast<int>(j.rows.rows()), touched);
    }
    KktProblem p(s);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      p.mass[i].setZero();
      p.mass[i].topLeftCorner<3, 3>() = bodies[i].mass / m0 * Mat3::Identity();
      p.mass[i].bottomRightCorner<3, 3>() = bodies[i].inertia / (m0 * l * l);
    }
    for (int k = 0; k < s.blocks(); ++k) {
      const Joint& j = joints[static_cast<std::size_t>(k)];
      int touch = 0;
      for (int i : {j.a, j.b}) {
        if (i == kGround) continue;
        Mat6 shift = Mat6::Identity();
        shift.topRightCorner<3, 3>() = -hat(j.point - centre(i)) / l;
        p.jac(k, touch++).topRows(j.rows.rows()) = (i == j.a ? -1.0 : 1.0) * j.rows * shift;
      }
      if (j.armature > 0) p.compliance.segment(s.block(k).first_row, s.block(k).rows).setConstant(m0 * l * l / j.armature);
    }
    return p;
  }
};

inline Vec3 random_vector(Random& random, double size = 1) {
  return size * Vec3(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
}

/// Symmetric positive definite with the triangle inequality: a random cloud of points.
inline Mat3 random_inertia(Random& random, double mass) {
  Mat3 sum = Mat3::Zero();
  for (int k = 0; k < 6; ++k) {
    const Vec3 r = random_vector(random, 0.5);
    sum += mass / 6 * (r.squaredNorm() * Mat3::Identity() - r * r.transpose());
  }
  return sum;
}

/// Revolute chain from the ground, alternating axes, slightly irregular.
inline Graph chain(int n, std::uint64_t seed = 1) {
  Random random(seed);
  Graph g;
  for (int i = 0; i < n; ++i) {
    g.body(Vec3(i, 0, 0) + random_vector(random, 0.1));
    g.joint(Kind::Revolute, i - 1, i, Vec3(i - 0.5, 0, 0) + random_vector(random, 0.1), random_vector(random));
  }
  return g;
}

/// Revolute binary tree from the ground.
inline Graph binary_tree(int n, std::uint64_t seed = 1) {
  Random random(seed);
  Graph g;
  for (int i = 0; i < n; ++i) {
    const Vec3 parent = i > 0 ? g.centre((i - 1) / 2) : Vec3::Zero();
    g.body(parent + random_vector(random));
    g.joint(Kind::Revolute, i > 0 ? (i - 1) / 2 : kGround, i, 0.5 * (parent + g.centre(i)) + random_vector(random, 0.1),
            random_vector(random));
  }
  return g;
}

/// Two rails and rungs between them, ball joints: 3 bodies and 4 joints per rung.
inline Graph ladder(int rungs, std::uint64_t seed = 1) {
  Random random(seed);
  Graph g;
  for (int k = 0; k < rungs; ++k) {
    const int left = g.body(Vec3(k, 0, 0) + random_vector(random, 0.1));
    const int right = g.body(Vec3(k, 2, 0) + random_vector(random, 0.1));
    const int rung = g.body(Vec3(k, 1, 0) + random_vector(random, 0.1));
    g.joint(Kind::Ball, k > 0 ? left - 3 : kGround, left, Vec3(k - 0.5, 0, 0) + random_vector(random, 0.1));
    g.joint(Kind::Ball, k > 0 ? right - 3 : kGround, right, Vec3(k - 0.5, 2, 0) + random_vector(random, 0.1));
    g.joint(Kind::Ball, left, rung, Vec3(k, 0.5, 0) + random_vector(random, 0.1));
    g.joint(Kind::Ball, right, rung, Vec3(k, 1.5, 0) + random_vector(random, 0.1));
  }
  return g;
}

/// Square net of k x k bodies; all joints of one kind, axes z, points irregular so that the net is generic in its plane.
inline Graph net(int k, Kind kind = Kind::Ball, std::uint64_t seed = 1) {
  Random random(seed);
  Graph g;
  const auto wobble = [&] {
    return Vec3(random.uniform(-0.1, 0.1), random.uniform(-0.1, 0.1), kind == Kind::Ball ? random.uniform(-0.1, 0.1) : 0.0);
  };
  for (int i = 0; i < k * k; ++i) g.body(Vec3(i % k, i / k, 0));
  for (int y = 0; y < k; ++y)
    for (int x = 0; x < k; ++x) {
      const int i = x + k * y;
      if (x + 1 < k) g.joint(kind, i, i + 1, Vec3(x + 0.5, y, 0) + wobble());
      if (y + 1 < k) g.joint(kind, i, i + k, Vec3(x, y + 0.5, 0) + wobble());
    }
  return g;
}

/// Cubic crystal of n³ bodies with a ball to the ground at its first body; irregular points and axes.
inline Graph crystal(int n, Kind kind = Kind::Line, std::uint64_t seed = 1) {
  Random random(seed);
  Graph g;
  for (int i = 0; i < n * n * n; ++i) g.body(Vec3(i % n, i / n % n, i / n / n));
  g.joint(Kind::Ball, kGround, 0, Vec3(-0.5, 0, 0));
  for (int z = 0; z < n; ++z)
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) {
        const int i = x + n * (y + n * z);
        const auto link = [&](bool inside, int other, const Vec3& way) {
          if (inside) g.joint(kind, i, other, g.centre(i) + 0.5 * way + random_vector(random, 0.2), random_vector(random));
        };
        link(x + 1 < n, i + 1, Vec3::UnitX());
        link(y + 1 < n, i + n, Vec3::UnitY());
        link(z + 1 < n, i + n * n, Vec3::UnitZ());
      }
  return g;
}

/// A leaf on two hinges one above the other.
inline Graph door() {
  Graph g;
  g.body(Vec3(0.5, 0, 0));
  g.joint(Kind::Revolute, kGround, 0, Vec3(0, 0, 0.5));
  g.joint(Kind::Revolute, kGround, 0, Vec3(0, 0, -0.5));
  return g;
}

/// Planar four-bar with unequal links; the last joint may be a ball.
inline Graph four_bar(Kind last = Kind::Revolute) {
  Graph g;
  const Vec3 a(0, 0, 0), b(0.3, 1, 0), c(2.2, 1.5, 0), d(2, 0, 0);
  g.body(0.5 * (a + b));
  g.body(0.5 * (b + c));
  g.body(0.5 * (c + d));
  g.joint(Kind::Revolute, kGround, 0, a);
  g.joint(Kind::Revolute, 0, 1, b);
  g.joint(Kind::Revolute, 1, 2, c);
  g.joint(last, 2, kGround, d);
  return g;
}

/// Six bars along edges of a cube, hinges perpendicular to both neighbours; the last bar is the ground.
inline Graph bricard() {
  Graph g;
  const Vec3 p[6] = {{1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 1, 1}, {0, 0, 1}, {1, 0, 1}};
  for (int i = 0; i < 5; ++i) g.body(0.5 * (p[i] + p[i + 1]));
  for (int i = 0; i < 6; ++i) {
    const Vec3 before = p[i] - p[(i + 5) % 6], after = p[(i + 1) % 6] - p[i];
    g.joint(Kind::Revolute, i > 0 ? i - 1 : kGround, i < 5 ? i : kGround, p[i], before.cross(after));
  }
  return g;
}

/// Two (or three) parallel cranks of length 1 at angle theta from the flat position, coupler of length 2. Slender rods of
/// mass 1: inertia 1/12 m l² across, a little along, so that no direction is idle.
inline Graph parallelogram(double theta, bool third_crank = false) {
  Graph g;
  const Vec3 crank(std::cos(theta), std::sin(theta), 0);
  const auto rod = [&](const Vec3& centre, const Vec3& along) {
    const double l2 = along.squaredNorm();
    const Vec3 u = along.normalized();
    const int i = g.body(centre);
    g.bodies.back().inertia = l2 / 12 * (Mat3::Identity() - u * u.transpose()) + 1e-3 * u * u.transpose();
    return i;
  };
  const int coupler = rod(crank + Vec3(1, 0, 0), Vec3(2, 0, 0));
  for (double x : third_crank ? std::vector<double>{0, 2, 1} : std::vector<double>{0, 2}) {
    const int i = rod(Vec3(x, 0, 0) + 0.5 * crank, crank);
    g.joint(Kind::Revolute, kGround, i, Vec3(x, 0, 0));
    g.joint(Kind::Revolute, i, coupler, Vec3(x, 0, 0) + crank);
  }
  return g;
}

/// A square plate on four legs at its corners.
inline Graph table(Kind leg) {
  Graph g;
  g.body(Vec3::Zero());
  for (double x : {-1.0, 1.0})
    for (double y : {-1.0, 1.0}) g.joint(leg, kGround, 0, Vec3(x, y, -0.5));
  return g;
}

/// A random graph: a random tree with random kinds, extra joints, joints doubled in place, joints with parallel axes.
inline Graph random_graph(Random& random, int bodies, double mass_decades) {
  Graph g;
  const Kind kinds[] = {Kind::Fixed,     Kind::Revolute, Kind::Prismatic, Kind::Cylindrical,
                        Kind::Universal, Kind::Ball,     Kind::Planar,    Kind::Line};
  const Vec3 common = random_vector(random);
  const auto add = [&](int a, int b) {
    const Kind kind = kinds[random.below(8)];
    g.joint(kind, a, b, g.centre(b) + random_vector(random), random.chance(0.4) ? common : random_vector(random));
  };
  for (int i = 0; i < bodies; ++i) {
    const double mass = std::pow(10.0, random.uniform(-0.5, 0.5) * mass_decades);
    g.body(random_vector(random, 3), mass);
    g.bodies.back().inertia = random_inertia(random, mass);
    if (i > 0 || random.chance(0.7)) add(i > 0 && random.chance(0.9) ? random.below(i) : kGround, i);
  }
  const int extra = random.below(bodies + 1);
  for (int k = 0; k < extra; ++k) {
    const int a = random.below(bodies), b = random.below(bodies);
    if (a != b) add(a, b);
  }
  const int doubles = random.below(3);
  for (int k = 0; k < doubles && !g.joints.empty(); ++k)
    g.joints.push_back(g.joints[static_cast<std::size_t>(random.below(static_cast<int>(g.joints.size())))]);
  return g;
}

/// J and the full KKT matrix, dense: for oracles.
inline MatX dense_jacobian(const KktProblem& p) {
  MatX j = MatX::Zero(p.structure.rows(), 6 * p.structure.bodies());
  for (int k = 0; k < p.structure.blocks(); ++k) {
    const KktBlock& block = p.structure.block(k);
    for (int t = 0; t < block.touches; ++t)
      j.block(block.first_row, 6 * p.structure.body(block.first_touch + t), block.rows, 6) = p.jac(k, t).topRows(block.rows);
  }
  return j;
}

inline MatX dense_mass(const KktProblem& p) {
  const int n = p.structure.bodies();
  MatX m = MatX::Zero(6 * n, 6 * n);
  for (int i = 0; i < n; ++i) m.block<6, 6>(6 * i, 6 * i) = p.mass[static_cast<std::size_t>(i)];
  return m;
}

inline MatX dense_kkt(const KktProblem& p) {
  const MatX j = dense_jacobian(p);
  const Eigen::Index n = j.cols(), r = j.rows();
  MatX k = MatX::Zero(n + r, n + r);
  k.topLeftCorner(n, n) = dense_mass(p);
  k.topRightCorner(n, r) = j.transpose();
  k.bottomLeftCorner(r, n) = j;
  k.bottomRightCorner(r, r).diagonal() = -p.compliance;
  return k;
}

inline VecX random_entries(Random& random, int n) {
  VecX v(n);
  for (int i = 0; i < n; ++i) v[i] = random.uniform(-1, 1);
  return v;
}

}  // namespace invar::graphs
