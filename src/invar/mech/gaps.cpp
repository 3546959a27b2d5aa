// SPDX-License-Identifier: Apache-2.0
//
// A row turns with its bodies, and open joints turn and displace them by no more than their gaps. What is left of a row once
// others are taken from it is that over their sine, which is a hundredth or more where rows were chosen well; ten times more is
// left for curvature. What rows ask of accelerations is quadratic in velocities: those that miss their rows by a part e of the
// speeds (at the nodes of steppers, which keep G v = 0 in the middle of steps, by O(h²)) disagree by 2 e, over the same sine.
#include "invar/mech/gaps.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "invar/base/index.hpp"
#include "invar/base/largest.hpp"
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {
namespace {

constexpr double kStandOut = 1e3;
constexpr double kRatesStandOut = 200;
constexpr double kMostOfRates =
    1;  // accelerations that disagree by more than all of themselves are contradictory, whatever rates do

// The residual of a coupling where nobody tells on which turn its driven freedom is: the nearest.
double residual_of(const Model& model, int c, const Bodies& bodies, const VecX* coupling_q) {
  const Coupling& coupling = model.couplings()[size(c)];
  const auto coordinate = [&](int j, int freedom) {
    const Joint& joint = model.joints()[size(j)];
    double q[7];
    const Pose X_FM = joint_pose(model, j, bodies);
    joint.facts->measure(X_FM, q);
    return q[freedom];
  };
  const double driving = coupling_q ? (*coupling_q)[c] : coordinate(coupling.of, coupling.of_freedom);
  const double residual = coordinate(coupling.joint, coupling.freedom) - driven_by(coupling, driving).value;
  const bool turning = model.joints()[size(coupling.joint)].winds(coupling.freedom);
  return turning ? std::remainder(residual, 2 * std::numbers::pi) : residual;
}

}  // namespace

// Rows on angles come first: one for each axis about which a joint does not turn.
double gap_of_joint(const Model& model, const Scales& scales, int j, const Bodies& bodies) {
  const Joint& joint = model.joints()[size(j)];
  const Residual gap = joint_residual(model, j, bodies);
  if (gap.size() == 0) return 0;
  int angles = 3;
  for (int k = 0; k < joint.nv; ++k) angles -= joint.turns(k) ? 1 : 0;
  const double per_length = 1 / scales.length_at(joint.child);
  double largest = 0;
  for (Eigen::Index i = 0; i < gap.size(); ++i) keep_largest(largest, std::abs(gap[i]) * (i < angles ? 1 : per_length));
  return largest;
}

double gap_of_coupling(const Model& model, const Scales& scales, int c, double residual) {
  const Coupling& coupling = model.couplings()[size(c)];
  const Joint& driven = model.joints()[size(coupling.joint)];
  return std::abs(residual) / (driven.turns(coupling.freedom) ? 1 : scales.length_at(driven.child));
}

double noise_of_gaps(const Model& model, const Scales& scales, const Piece& piece, const Bodies& bodies, const VecX* coupling_q) {
  double largest = 0;
  for (const int j : piece.joints) keep_largest(largest, gap_of_joint(model, scales, j, bodies));
  for (const int c : piece.couplings)
    keep_largest(largest, gap_of_coupling(model, scales, c, residual_of(model, c, bodies, coupling_q)));
  return kStandOut * largest;
}

namespace {

// The rate of a freedom of a joint, rad/s or lengths of its part per second.
double rate_of(const Scales& scales, const Joint& joint, int freedom, const JointAt& at) {
  return at.v[freedom] / (joint.turns(freedom) ? 1 : scales.length_at(joint.child));
}

// How far rates miss the rows of joints and couplings, in parts of the largest rate of rotation or of a joint. (At rest rows ask
// for nothing.)
double rates_apart(const Model& model, const Scales& scales, const Piece& piece, const Bodies& bodies, const VecX* coupling_q) {
  double largest = 0, fastest = 0;
  JointAt at;
  for (const int b : piece.bodies) fastest = std::max(fastest, bodies[size(b)].w_WB.norm());
  for (const int j : piece.joints) {
    const Joint& joint = model.joints()[size(j)];
    int angles = 3;
    for (int k = 0; k < joint.nv; ++k) angles -= joint.turns(k) ? 1 : 0;
    const Residual rate = joint_residual_rate(model, j, bodies);
    for (Eigen::Index i = 0; i < rate.size(); ++i)
      keep_largest(largest, std::abs(rate[i]) / (i < angles ? 1 : scales.length_at(joint.child)));
    joint_at(model, j, bodies, true, at);
    for (int k = 0; k < joint.nv; ++k) fastest = std::max(fastest, std::abs(rate_of(scales, joint, k, at)));
  }
  for (const int c : piece.couplings) {
    const Coupling& coupling = model.couplings()[size(c)];
    const Joint& joint = model.joints()[size(coupling.joint)];
    joint_at(model, coupling.of, bodies, true, at);
    const double q = coupling_q ? (*coupling_q)[c] : at.q[coupling.of_freedom], driving = at.v[coupling.of_freedom];
    joint_at(model, coupling.joint, bodies, true, at);
    const double off = at.v[coupling.freedom] - driven_by(coupling, q).slope * driving;
    keep_largest(largest, std::abs(off) / (joint.turns(coupling.freedom) ? 1 : scales.length_at(joint.child)));
  }
  return fastest > 0 ? largest / fastest : 0;
}

}  // namespace

Contradiction::Contradiction(const Model& model, const Scales& scales, const Piece& piece, const Bodies& bodies,
                             const VecX* coupling_q, double accelerations)
    : model_(model), scales_(scales), piece_(piece), bodies_(bodies), coupling_q_(coupling_q) {
  double centripetal = 0;
  for (const int b : piece.bodies) centripetal = std::max(centripetal, scales.length_at(b) * bodies[size(b)].w_WB.squaredNorm());
  scale_ = accelerations + centripetal;
}

bool Contradiction::proven_by(double off) {
  const double part = off / scale_;
  if (!(part > kContradiction)) return false;
  if (noise_ < 0)
    noise_ = noise_of_gaps(model_, scales_, piece_, bodies_, coupling_q_) +
             std::min(kMostOfRates, kRatesStandOut * rates_apart(model_, scales_, piece_, bodies_, coupling_q_));
  return part > kContradiction + noise_;
}

}  // namespace invar
