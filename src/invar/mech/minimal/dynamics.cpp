// SPDX-License-Identifier: Apache-2.0
//
// The wrench that a body needs, about the origin of its frame B and in its axes, is linear in mass, first moments s and inertia I
// about that origin, with a the acceleration of the origin less gravity:
//   f = m a + α × s + ω × (ω × s),     n = I α + ω × I ω + s × a
#include "invar/mech/minimal/dynamics.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

#include "invar/base/check.hpp"

namespace invar {
namespace {

// I u as a matrix on (xx, xy, xz, yy, yz, zz).
Eigen::Matrix<double, 3, 6> on_inertia(const Vec3& u) {
  Eigen::Matrix<double, 3, 6> out;
  out << u.x(), u.y(), u.z(), 0, 0, 0,  //
      0, u.x(), 0, u.y(), u.z(), 0,     //
      0, 0, u.x(), 0, u.y(), u.z();
  return out;
}

// A frame seen from the centre of mass of its body.
Pose from_centre(const Model& model, const Frame& frame) {
  return {frame.X_BE.q, frame.X_BE.p - model.bodies()[static_cast<std::size_t>(frame.body)].inertia.p_BC};
}

}  // namespace

VecX inverse_dynamics(const Partition& p, const VecX& vdot) { return p.Gamma * vdot + p.h - p.Q; }

// Rows of the others hold without efforts: Γ_ff v̇_f = Q_f - h_f - Γ_fd v̇_d; those of the driven ones tell the efforts.
DrivenMotion driven(const Partition& p, const std::vector<int>& which, const VecX& accelerations) {
  const auto k = static_cast<Eigen::Index>(which.size());
  INVAR_CHECK(accelerations.size() == k, "one acceleration per driven freedom");
  DrivenMotion out{VecX::Zero(p.v.size()), VecX(k)};
  std::vector<int> others;
  for (int i = 0; i < static_cast<int>(p.v.size()); ++i)
    if (std::find(which.begin(), which.end(), i) == which.end()) others.push_back(i);
  for (Eigen::Index i = 0; i < k; ++i) out.vdot[which[static_cast<std::size_t>(i)]] = accelerations[i];
  const VecX missing = inverse_dynamics(p, out.vdot);
  const auto f = static_cast<Eigen::Index>(others.size());
  MatX Gamma(f, f);
  VecX right(f);
  for (Eigen::Index i = 0; i < f; ++i) {
    right[i] = -missing[others[static_cast<std::size_t>(i)]];
    for (Eigen::Index j = 0; j < f; ++j)
      Gamma(i, j) = p.Gamma(others[static_cast<std::size_t>(i)], others[static_cast<std::size_t>(j)]);
  }
  if (f > 0) right = Gamma.ldlt().solve(right);
  for (Eigen::Index i = 0; i < f; ++i) out.vdot[others[static_cast<std::size_t>(i)]] = right[i];
  const VecX total = inverse_dynamics(p, out.vdot);
  for (Eigen::Index i = 0; i < k; ++i) out.efforts[i] = total[which[static_cast<std::size_t>(i)]];
  return out;
}

MatX frame_jacobian(const Model& model, const Partition& p, int frame) {
  const Frame& f = model.frames()[static_cast<std::size_t>(frame)];
  if (f.body == kWorld) return MatX::Zero(6, p.v.size());
  return at_frame(p.J[static_cast<std::size_t>(f.body)], from_centre(model, f));
}

Vec6 frame_bias(const Model& model, const Partition& p, int frame) {
  const Frame& f = model.frames()[static_cast<std::size_t>(frame)];
  if (f.body == kWorld) return Vec6::Zero();
  // The frame is fixed in its body, so the map from one to the other is constant.
  return at_frame(p.J_dot[static_cast<std::size_t>(f.body)] * p.v, from_centre(model, f));
}

MatX centroidal_momentum(const Model& model, const Partition& p) {
  Vec3 centre = Vec3::Zero();
  double mass = 0;
  for (std::size_t b = 0; b < p.bodies.size(); ++b) {
    centre += model.bodies()[b].inertia.mass * p.bodies[b].p_WC;
    mass += model.bodies()[b].inertia.mass;
  }
  if (mass > 0) centre /= mass;
  MatX out = MatX::Zero(6, p.v.size());
  for (std::size_t b = 0; b < p.bodies.size(); ++b) {
    const Mat3 R = p.bodies[b].q_WB.toRotationMatrix();
    const MatX momentum = spatial_inertia(model.bodies()[b]) * p.J[b], linear = R * momentum.bottomRows<3>();
    out.topRows<3>() += R * momentum.topRows<3>() + hat(p.bodies[b].p_WC - centre) * linear;
    out.bottomRows<3>() += linear;
  }
  return out;
}

VecX inertial_parameters(const Model& model) {
  VecX out(10 * static_cast<Eigen::Index>(model.bodies().size()));
  for (std::size_t b = 0; b < model.bodies().size(); ++b) {
    const Inertia& i = model.bodies()[b].inertia;
    const Mat3 c = hat(i.p_BC), I = i.I_C - i.mass * c * c;
    out.segment<10>(10 * static_cast<Eigen::Index>(b)) << i.mass, i.mass * i.p_BC, I(0, 0), I(0, 1), I(0, 2), I(1, 1), I(1, 2),
        I(2, 2);
  }
  return out;
}

MatX regressor(const Model& model, const Partition& p, const VecX& vdot) {
  INVAR_CHECK(vdot.size() == p.v.size(), "one acceleration per independent freedom");
  MatX out(p.v.size(), 10 * static_cast<Eigen::Index>(model.bodies().size()));
  for (std::size_t b = 0; b < model.bodies().size(); ++b) {
    const Vec3 c = model.bodies()[b].inertia.p_BC;
    const Vec6 V = p.J[b] * p.v, A = p.J[b] * vdot + p.J_dot[b] * p.v;
    const Vec3 w = V.head<3>(), alpha = A.head<3>();
    const Vec3 a_C = A.tail<3>() + w.cross(Vec3(V.tail<3>()));
    const Vec3 a = a_C - alpha.cross(c) - w.cross(w.cross(c)) - p.bodies[b].q_WB.conjugate() * model.gravity();
    Eigen::Matrix<double, 6, 10> wrench = Eigen::Matrix<double, 6, 10>::Zero();
    wrench.block<3, 1>(3, 0) = a;
    wrench.block<3, 3>(3, 1) = hat(alpha) + hat(w) * hat(w);
    wrench.block<3, 3>(0, 1) = -hat(a);
    wrench.block<3, 6>(0, 4) = on_inertia(alpha) + hat(w) * on_inertia(w);
    out.middleCols<10>(10 * static_cast<Eigen::Index>(b)) = at_frame(p.J[b], Pose{Quat::Identity(), -c}).transpose() * wrench;
  }
  return out;
}

}  // namespace invar
