// SPDX-License-Identifier: Apache-2.0
#include "invar/run/trace.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "invar/base/check.hpp"
#include "invar/base/largest.hpp"
#include "invar/mech/augmented.hpp"

namespace invar {
namespace {

constexpr std::size_t kBody = 13, kJoint = 6, kKinetic = 0, kTotal = 3;  // numbers per body and joint; places among energies
constexpr double kSameTime = 1e-9;                                       // of the time between samples
constexpr double kShare = 1e-9;                                          // of a component that self-stress may take

Vec3 vec(const double* at) { return {at[0], at[1], at[2]}; }

// Projector on the directions along which self-stress takes nothing.
Mat3 determined(const Mat3& shares) {
  const Eigen::SelfAdjointEigenSolver<Mat3> principal(shares);
  Mat3 out = Mat3::Zero();
  for (int k = 0; k < 3; ++k)
    if (principal.eigenvalues()[k] <= kShare)
      out += principal.eigenvectors().col(k) * principal.eigenvectors().col(k).transpose();
  return out;
}

}  // namespace

RecordChoice Trace::choice() {
  RecordChoice choice;
  for (const char* word : kRecordGroups) *group(choice, word) = false;
  choice.bodies = choice.reactions = choice.energy = true;
  return choice;
}

Result<void> Trace::begin(const Layout& layout) {
  width_ = static_cast<std::size_t>(layout.width());
  return {};
}

Result<void> Trace::sample(std::span<const double> row) {
  INVAR_CHECK(row.size() == width_, "a row fills its channels");
  rows_.insert(rows_.end(), row.begin(), row.end());
  return {};
}

BodyState Trace::body(std::size_t k, std::size_t b) const {
  const double* at = row(k) + 1 + kBody * b;
  return {vec(at), vec(at + 7), vec(at + 10), Quat(at[3], at[4], at[5], at[6])};
}

Wrench Trace::reaction(std::size_t k, std::size_t bodies, std::size_t j) const {
  const double* at = row(k) + 1 + kBody * bodies + kJoint * j;
  return {vec(at + 3), vec(at)};
}

double Trace::total_energy(std::size_t k, std::size_t bodies, std::size_t joints) const {
  return row(k)[1 + kBody * bodies + kJoint * joints + kTotal];
}

double Trace::kinetic_energy(std::size_t k, std::size_t bodies, std::size_t joints) const {
  return row(k)[1 + kBody * bodies + kJoint * joints + kKinetic];
}

DeterminedAxes::DeterminedAxes(const Model& model, const Start& start) : model_(model) {
  Augmented formulation(model);
  Evaluation e;
  const std::size_t n = model.joints().size();
  force_.assign(n, Mat3::Zero()), moment_ = force_;
  const auto x = state_at(formulation, start);
  if (!x || !formulation.evaluate(*x, Load(model), e).ok()) return;
  for (std::size_t j = 0; j < n; ++j) force_[j] = determined(e.verdicts[j].force), moment_[j] = determined(e.verdicts[j].moment);
}

Wrench DeterminedAxes::part(std::size_t j, const Wrench& W, const Quat& q_WP) const {
  const Joint& joint = model_.joints()[j];
  const Quat q_FW = (q_WP * joint.X_PF.q * joint.turn.conjugate()).conjugate();
  return {moment_[j] * (q_FW * W.moment), force_[j] * (q_FW * W.force)};
}

namespace {

Quantities differences_at(const Trace& a, std::size_t i, const Trace& b, std::size_t k, const DeterminedAxes& axes) {
  const Model& model = axes.model();
  const std::size_t bodies = model.bodies().size(), joints = model.joints().size();
  Quantities d{};
  for (std::size_t n = 0; n < bodies; ++n) {
    const BodyState x = a.body(i, n), y = b.body(k, n);
    keep_largest(d[kPosition], (x.p_WC - y.p_WC).norm());
    keep_largest(d[kAttitude], log_so3(x.q_WB.conjugate() * y.q_WB).norm());
    keep_largest(d[kVelocity], (x.v_WC - y.v_WC).norm());
    keep_largest(d[kAngularRate], (x.w_WB - y.w_WB).norm());
  }
  for (std::size_t j = 0; j < joints; ++j) {
    const int parent = model.joints()[j].parent;
    const Quat q_a = parent == kWorld ? Quat::Identity() : a.body(i, static_cast<std::size_t>(parent)).q_WB;
    const Quat q_b = parent == kWorld ? Quat::Identity() : b.body(k, static_cast<std::size_t>(parent)).q_WB;
    const Wrench x = axes.part(j, a.reaction(i, bodies, j), q_a), y = axes.part(j, b.reaction(k, bodies, j), q_b);
    keep_largest(d[kForce], (x.force - y.force).norm());
    keep_largest(d[kMoment], (x.moment - y.moment).norm());
  }
  d[kEnergy] = std::abs(a.total_energy(i, bodies, joints) - b.total_energy(k, bodies, joints));
  return d;
}

}  // namespace

void for_common_instants(const Trace& a, const Trace& b, const DeterminedAxes& axes, const Visit& visit) {
  const double same = a.size() > 1 ? kSameTime * (a.time(a.size() - 1) - a.time(0)) / static_cast<double>(a.size() - 1) : 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    if (a.time(i) < b.time(k) - same) {
      ++i;
    } else if (b.time(k) < a.time(i) - same) {
      ++k;
    } else {
      visit(i, k, differences_at(a, i, b, k, axes));
      ++i, ++k;
    }
  }
}

Quantities size_of(const Trace& trace, const Model& model) {
  const std::size_t bodies = model.bodies().size(), joints = model.joints().size();
  const double length = model.length();
  double speed = 0, force = 0, kinetic = 0;
  for (std::size_t k = 0; k < trace.size(); ++k) {
    for (std::size_t b = 0; b < bodies; ++b) {
      const BodyState s = trace.body(k, b);
      speed = std::max({speed, s.v_WC.norm(), length * s.w_WB.norm()});
    }
    for (std::size_t j = 0; j < joints; ++j) {
      const Wrench W = trace.reaction(k, bodies, j);
      force = std::max({force, W.force.norm(), W.moment.norm() / length});
    }
    kinetic = std::max(kinetic, trace.kinetic_energy(k, bodies, joints));
  }
  const auto or_one = [](double x) { return x > 0 ? x : 1.0; };
  return {length, 1, or_one(speed), or_one(speed) / length, or_one(force), or_one(force) * length, or_one(kinetic)};
}

}  // namespace invar
