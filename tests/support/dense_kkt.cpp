// SPDX-License-Identifier: Apache-2.0
//
// Joint j sees V = R_FW (w_C - w_P;  v_C + w_C × r_C - v_P - w_P × r_P) = B ν, r from the centres of mass to the joint point
// p_M, which the parent shares. Differentiating, V' = B ν' + b with the velocity products
//   b = R_FW (-w_P × w_C;  w_C × (w_C × r_C) - w_P × (w_P × r_P) - 2 w_P × v_rel).
// Rows C V = 0 give C B ν' = -C b - C' V. A freedom's rate is u = d·V, so u' = d·(B ν' + b) + d'·V. A rotor of inertia a on it
// adds a (Bᵀd)(Bᵀd)ᵀ to M and -a (d·b + d'·V) Bᵀd to the force. A coupling u_1 = p'(q_2) u_2 is a row made of two freedoms, with
// p'' u_2² on its right side. C and d turn with q only in the universal joint: x' = q0' y, y' = -q0' x.
#include "support/dense_kkt.hpp"

#include <array>
#include <cmath>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/passive.hpp"
#include "support/faces/kinds.hpp"

namespace invar::testing {

namespace {

struct View {
  const Joint& joint;
  std::array<double, 7> q{};
  Mat3 R_WF;
  Eigen::Matrix<double, 6, 12> B;  // on (v_P, w_P, v_C, w_C)
  Vec6 V, b;
  Rows C, C_rate;
  Columns dual, dual_rate;
};

View view(const Model& model, const Joint& joint, const Bodies& bodies) {
  View s{joint, {}, Mat3::Identity(), {}, {}, {}, {}, {}, {}, {}};
  const BodyState& P = body_state(bodies, joint.parent);
  const BodyState& C = body_state(bodies, joint.child);
  const Pose X_WF = body_pose(model, bodies, joint.parent) * joint.X_PF;
  const Pose X_WM = body_pose(model, bodies, joint.child) * joint.X_CM;
  const Mat3 R_FW = X_WF.R().transpose();
  const Vec3 r_P = X_WM.p - P.p_WC, r_C = X_WM.p - C.p_WC;
  // The relative twist as a matrix, and its velocity products.
  const Mat3 O = Mat3::Zero();
  s.R_WF = X_WF.R();
  s.B << O, -R_FW, O, R_FW, -R_FW, R_FW * hat(r_P), R_FW, -R_FW * hat(r_C);
  s.V = s.B * (Eigen::Matrix<double, 12, 1>() << P.v_WC, P.w_WB, C.v_WC, C.w_WB).finished();
  const Vec3 v_rel = C.velocity_at(X_WM.p) - P.velocity_at(X_WM.p);
  s.b << R_FW * -P.w_WB.cross(C.w_WB),
      R_FW * (C.w_WB.cross(C.w_WB.cross(r_C)) - P.w_WB.cross(P.w_WB.cross(r_P)) - 2.0 * P.w_WB.cross(v_rel));
  // Faces of the kind at the measured coordinates, and how they turn.
  with_kind(joint.kind, [&](auto kind) {
    kind.measure(X_WF.inverse() * X_WM, joint.pitch, s.q.data());
    kind.rows(s.q.data(), joint.pitch, s.C);
    kind.dual(s.q.data(), joint.pitch, s.dual);
  });
  s.C_rate = Rows::Zero(s.C.rows(), 6);
  s.dual_rate = Columns::Zero(6, s.dual.cols());
  if (joint.kind == JointKind::Universal) {
    const Vec3 x(std::cos(s.q[0]), std::sin(s.q[0]), 0), y(-x.y(), x.x(), 0);
    s.C_rate.row(0).head<3>() = -s.V[2] * x.transpose();
    s.dual_rate.col(1).head<3>() = s.V[2] * y;
  }
  return s;
}

/// Adds rows on the twists of P and C to a matrix on the stacked ν.
template <class Block>
void scatter(const View& s, int bodies, const Eigen::Matrix<double, Eigen::Dynamic, 12>& rows, Block&& out) {
  const auto put = [&](int body, int from) {
    if (body == kWorld) return;
    out.middleCols(3 * body, 3) += rows.middleCols(from, 3);
    out.middleCols(3 * (bodies + body), 3) += rows.middleCols(from + 3, 3);
  };
  put(s.joint.parent, 0);
  put(s.joint.child, 6);
}

/// Freedom k of a joint as a row on ν, and the velocity products of its rate.
struct FreedomRow {
  MatX row;  // 1 x 6N
  double product = 0, rate = 0, q = 0;
};
FreedomRow freedom_row(const View& s, int bodies, int k) {
  FreedomRow f;
  f.row = MatX::Zero(1, 6 * bodies);
  scatter(s, bodies, s.dual.col(k).transpose() * s.B, f.row);
  f.product = s.dual.col(k).dot(s.b) + s.dual_rate.col(k).dot(s.V);
  f.rate = s.dual.col(k).dot(s.V);
  f.q = s.q[static_cast<std::size_t>(k)];
  return f;
}

double power_of(double x, std::size_t k) { return k == 0 ? 1.0 : x * power_of(x, k - 1); }

}  // namespace

std::vector<double> part_lengths(const Model& model) {
  const std::size_t n = model.bodies().size();
  std::vector<std::size_t> part(n);
  for (std::size_t b = 0; b < n; ++b) part[b] = b;
  const auto join = [&](int a, int b) {
    if (a == kWorld || b == kWorld) return;
    const std::size_t from = part[static_cast<std::size_t>(a)], to = part[static_cast<std::size_t>(b)];
    for (std::size_t& p : part)
      if (p == from) p = to;
  };
  for (const Joint& j : model.joints()) join(j.parent, j.child);
  for (const Coupling& c : model.couplings())
    join(model.joints()[static_cast<std::size_t>(c.joint)].child, model.joints()[static_cast<std::size_t>(c.of)].child);
  std::vector<double> sum(n, 0), count(n, 0), out;
  const auto add = [&](int b, const Vec3& point) {
    if (b == kWorld) return;
    const auto at = static_cast<std::size_t>(b);
    sum[part[at]] += (point - model.bodies()[at].inertia.p_BC).squaredNorm();
    count[part[at]] += 1;
  };
  for (const Joint& j : model.joints())
    if (j.rows() > 0) add(j.parent, j.X_PF.p), add(j.child, j.X_CM.p);
  for (const Joint& j : model.joints()) {
    const std::size_t p = part[static_cast<std::size_t>(j.child)];
    out.push_back(sum[p] > 0 ? std::sqrt(sum[p] / count[p]) : 1.0);
  }
  return out;
}

namespace {

/// Rows of joints and couplings with their right side.
void assemble_rows(const Model& model, const Bodies& bodies, const std::vector<View>& views, DenseKkt& out) {
  const int n = static_cast<int>(bodies.size());
  out.first_row.assign(1, 0);
  for (const View& s : views) out.first_row.push_back(out.first_row.back() + static_cast<int>(s.C.rows()));
  for (std::size_t c = 0; c < model.couplings().size(); ++c) out.first_row.push_back(out.first_row.back() + 1);
  const int rows = out.first_row.back();
  out.J = MatX::Zero(rows, 6 * n);
  out.gamma = VecX::Zero(rows);
  out.row_length = VecX::Zero(rows);
  int at = 0;
  const std::vector<double> length = part_lengths(model);
  for (std::size_t j = 0; j < views.size(); ++j) {
    const View& s = views[j];
    const int m = static_cast<int>(s.C.rows());
    scatter(s, n, s.C * s.B, out.J.middleRows(at, m));
    out.gamma.segment(at, m) = -s.C * s.b - s.C_rate * s.V;
    for (int i = 0; i < m; ++i)
      out.row_length[at + i] = std::hypot(s.C.row(i).tail<3>().norm(), s.C.row(i).head<3>().norm() / length[j]);
    at += m;
  }
  for (const Coupling& c : model.couplings()) {
    const View& driven = views[static_cast<std::size_t>(c.joint)];
    const FreedomRow f = freedom_row(driven, n, c.freedom);
    const FreedomRow g = freedom_row(views[static_cast<std::size_t>(c.of)], n, c.of_freedom);
    double slope = 0, curve = 0;
    for (std::size_t k = 1; k < c.coefficients.size(); ++k) {
      const auto e = static_cast<double>(k);
      slope += e * c.coefficients[k] * power_of(g.q, k - 1);
      if (k > 1) curve += e * (e - 1) * c.coefficients[k] * power_of(g.q, k - 2);
    }
    out.J.row(at) = f.row - slope * g.row;
    out.gamma[at] = -f.product + slope * g.product + curve * g.rate * g.rate;
    out.row_length[at] = driven.dual.col(c.freedom).head<3>().norm() > 0 ? 1 / length[static_cast<std::size_t>(c.joint)] : 1.0;
    ++at;
  }
}

std::vector<View> views_of(const Model& model, const Bodies& bodies) {
  std::vector<View> views;
  for (const Joint& joint : model.joints()) views.push_back(view(model, joint, bodies));
  return views;
}

}  // namespace

VecX stacked_velocity(const Bodies& bodies) {
  const auto n = static_cast<Eigen::Index>(bodies.size());
  VecX nu(6 * n);
  for (Eigen::Index b = 0; b < n; ++b) {
    nu.segment<3>(3 * b) = bodies[static_cast<std::size_t>(b)].v_WC;
    nu.segment<3>(3 * (n + b)) = bodies[static_cast<std::size_t>(b)].w_WB;
  }
  return nu;
}

MatX constraint_jacobian(const Model& model, const Bodies& bodies) {
  DenseKkt out;
  assemble_rows(model, bodies, views_of(model, bodies), out);
  return out.J;
}

VecX total_efforts(const Model& model, const Bodies& bodies, const Load& load) {
  VecX q, v, efforts = load.efforts;
  double dissipation = 0;
  joint_coordinates(model, bodies, q, v);
  add_passive_efforts(model, q, v, efforts, dissipation);
  return efforts;
}

// What tendons add at the centres of mass, from their definition: points by body frames, tension along every segment.
void add_tendons_plainly(const Model& model, const Bodies& bodies, VecX& force) {
  const int n = static_cast<int>(bodies.size());
  for (const Tendon& tendon : model.tendons()) {
    std::vector<Vec3> p, v;
    for (const Tendon::Point& point : tendon.points) {
      if (point.body == kWorld) {
        p.push_back(point.p_BP), v.push_back(Vec3::Zero());
        continue;
      }
      const BodyState& s = bodies[static_cast<std::size_t>(point.body)];
      const Vec3 p_BC = model.bodies()[static_cast<std::size_t>(point.body)].inertia.p_BC;
      const Vec3 p_WB = s.p_WC - s.q_WB.toRotationMatrix() * p_BC;
      p.push_back(p_WB + s.q_WB.toRotationMatrix() * point.p_BP);
      v.push_back(s.v_WC + s.w_WB.cross(p.back() - s.p_WC));
    }
    double length = 0, rate = 0;
    for (std::size_t k = 1; k < p.size(); ++k) {
      length += (p[k] - p[k - 1]).norm();
      rate += (p[k] - p[k - 1]).dot(v[k] - v[k - 1]) / (p[k] - p[k - 1]).norm();
    }
    double tension = tendon.stiffness * (length - tendon.rest) + tendon.damping * rate;
    if (tendon.tension_only && (length <= tendon.rest || tension < 0)) tension = 0;
    const auto pull = [&](std::size_t k, const Vec3& f) {
      const int b = tendon.points[k].body;
      if (b == kWorld) return;
      force.segment<3>(3 * b) += f;
      force.segment<3>(3 * (n + b)) += (p[k] - bodies[static_cast<std::size_t>(b)].p_WC).cross(f);
    };
    for (std::size_t k = 1; k < p.size(); ++k) {
      const Vec3 f = tension * (p[k] - p[k - 1]).normalized();
      pull(k - 1, f), pull(k, -f);
    }
  }
}

DenseKkt assemble(const Model& model, const Bodies& bodies, const Port& port, const VecX& efforts) {
  DenseKkt out;
  const int n = static_cast<int>(bodies.size());
  const std::vector<View> views = views_of(model, bodies);
  assemble_rows(model, bodies, views, out);
  out.nu = stacked_velocity(bodies);
  out.M = MatX::Zero(6 * n, 6 * n);
  out.force = VecX::Zero(6 * n);
  // Bodies: A (49)-(51) and A (55).
  for (int b = 0; b < n; ++b) {
    const Inertia& inertia = model.bodies()[static_cast<std::size_t>(b)].inertia;
    const BodyState& s = bodies[static_cast<std::size_t>(b)];
    const Mat3 R = s.q_WB.toRotationMatrix();
    const Mat3 I = R * inertia.I_C * R.transpose();
    const Wrench& w = port[static_cast<std::size_t>(b)];
    out.M.block<3, 3>(3 * b, 3 * b) = inertia.mass * Mat3::Identity();
    out.M.block<3, 3>(3 * (n + b), 3 * (n + b)) = I;
    out.force.segment<3>(3 * b) = w.force + inertia.mass * model.gravity();
    out.force.segment<3>(3 * (n + b)) = w.moment - s.w_WB.cross(I * s.w_WB);
  }
  add_tendons_plainly(model, bodies, out.force);
  // Freedoms: efforts and rotors.
  for (const View& s : views)
    for (int k = 0; k < s.joint.nv; ++k) {
      const FreedomRow f = freedom_row(s, n, k);
      const double a = s.joint.passive[static_cast<std::size_t>(k)].armature;
      out.force += f.row.transpose() * (efforts[s.joint.v0 + k] - a * f.product);
      if (a > 0) out.M += a * f.row.transpose() * f.row;
    }
  return out;
}

Bodies moved(const Bodies& bodies, double t) {
  Bodies out = bodies;
  for (BodyState& s : out) {
    s.p_WC += t * s.v_WC;
    s.q_WB = turned(s.q_WB, t * s.w_WB);
  }
  return out;
}

VecX gamma_by_differences(const Model& model, const Bodies& bodies) {
  const VecX nu = stacked_velocity(bodies);
  const auto slope = [&](double t) -> VecX {
    return (constraint_jacobian(model, moved(bodies, t)) - constraint_jacobian(model, moved(bodies, -t))) * nu / (2 * t);
  };
  // Two extrapolations: what is left is t^6 times a seventh derivative (1e-12 of rates near 1/s) and round-off 1e-16/t.
  const double t = 1e-2;
  const VecX a = slope(t), b = slope(t / 2), c = slope(t / 4);
  const VecX ab = (4 * b - a) / 3, bc = (4 * c - b) / 3;
  return -(16 * bc - ab) / 15;
}

std::vector<Wrench> wrenches(const Model& model, const DenseKkt& kkt, const Bodies& bodies, const VecX& multipliers) {
  std::vector<Wrench> out;
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const View v = view(model, model.joints()[j], bodies);
    const Vec6 w = v.C.transpose() * multipliers.segment(kkt.first_row[j], v.C.rows());
    out.push_back({v.R_WF * w.head<3>(), v.R_WF * w.tail<3>()});
  }
  return out;
}

}  // namespace invar::testing
