// SPDX-License-Identifier: Apache-2.0
//
// A M A = A turns the objective into a distance between accelerations: with R a root of M (rotors included),
//   |τ - B u| = |R A τ - Σ R A b_i u_i|,
// a least squares problem in which forces that joints hold never enter, and neither does their round-off. Its columns are made of
// length one, x_i = |b_i| u_i. They may depend on each other (two thrusters side by side), so that steps
//   x ← argmin ½ |R A τ - X x|² + ½ ε Σ weight_i (x_i - x_i before)²
// within the limits are repeated: each removes all but ε/(λ + ε) of an error along an eigenvector of XᵀX and leaves alone what
// moves nothing. The first starts at zero, which is why inputs that fight each other stay small.
#include "invar/control/allocation.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace invar {
namespace {

constexpr double kSpare = 1e-9;     // ε
constexpr int kSteps = 5;           // with λ > 1e-6 nothing but round-off is left then
constexpr double kIdle = 1e-6;      // of what an actuator does without joints: if joints leave less, it does nothing
constexpr double kFloor = 1e-3;     // see relative_remainder
constexpr double kCostless = 1e-9;  // of the command: limits that cost less cost nothing

}  // namespace

Allocation::Allocation(const Model& model, std::vector<Actuator> actuators)
    : model_(model),
      inverse_(model),
      actuators_(std::move(actuators)),
      rotor_(VecX::Zero(model.nv())),
      box_(static_cast<int>(actuators_.size())),
      unit_(model),
      port_(model.bodies().size()),
      field_(model),
      rates_(VecX::Zero(model.nv())) {
  for (const Body& body : model.bodies()) {
    const Eigen::SelfAdjointEigenSolver<Mat3> eigen(body.inertia.I_C);
    const Vec3 moments = eigen.eigenvalues().cwiseMax(0);
    const Vec3 light = (moments.array() > 1e-12 * moments[2]).select(moments.cwiseMax(1e-300).cwiseInverse(), Vec3::Zero());
    const Mat3& axes = eigen.eigenvectors();
    root_.push_back(axes * moments.cwiseSqrt().asDiagonal() * axes.transpose());
    light_.push_back(axes * light.asDiagonal() * axes.transpose());
  }
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k) rotor_[joint.v0 + k] = std::sqrt(joint.passive[static_cast<std::size_t>(k)].armature);
  const auto n = static_cast<Eigen::Index>(actuators_.size());
  const auto m = 6 * static_cast<Eigen::Index>(model.bodies().size()) + model.nv();
  X_ = MatX::Zero(m, n);
  wanted_ = rest_ = VecX::Zero(m);
  H_ = MatX::Zero(n, n);
  size_ = lower_ = upper_ = low_ = high_ = slope_ = step_ = x_ = inputs_ = excess_ = VecX::Zero(n);
  for (Eigen::Index i = 0; i < n; ++i) inputs_[i] = limited(i, 0);
}

double Allocation::limited(Eigen::Index i, double input) const {
  const ActuatorSpec& spec = actuators_[static_cast<std::size_t>(i)].spec();
  return std::clamp(input, spec.lower, spec.upper);
}

// R A f.
Verdict Allocation::respond(const Load& load, Eigen::Ref<VecX> out) {
  if (const Verdict verdict = inverse_.apply(&load.port, &load.efforts, field_); !verdict.ok()) return verdict;
  Eigen::Index k = 0;
  for (std::size_t b = 0; b < root_.size(); ++b, k += 6) {
    const BodyAcceleration& a = field_.x[b];
    out.segment<3>(k) = std::sqrt(model_.bodies()[b].inertia.mass) * a.a_WC;
    out.segment<3>(k + 3) = root_[b] * (inverse_.bodies()[b].q_WB.conjugate() * a.alpha_WB);
  }
  inverse_.rates(field_.x, rates_);
  out.tail(rates_.size()) = rotor_.cwiseProduct(rates_);
  return {};
}

// |f| of a load without joints; what has no mass does not count.
double Allocation::free_size(const Load& load) {
  port_ = load.port;
  inverse_.add_efforts(load.efforts, port_);
  double sum = 0;
  for (std::size_t b = 0; b < port_.size(); ++b) {
    const double mass = model_.bodies()[b].inertia.mass;
    const Vec3 moment = inverse_.bodies()[b].q_WB.conjugate() * port_[b].moment;
    if (mass > 0) sum += port_[b].force.squaredNorm() / mass;
    sum += moment.dot(light_[b] * moment);
  }
  return std::sqrt(sum);
}

Verdict Allocation::columns(const Bodies& bodies, const Load& wanted) {
  if (const Verdict verdict = inverse_.at(bodies); !verdict.ok()) return verdict;
  if (const Verdict verdict = respond(wanted, wanted_); !verdict.ok()) return verdict;
  commanded_ = wanted_.norm();
  scale_ = std::max(commanded_, kFloor * free_size(wanted));
  for (Eigen::Index i = 0; i < size_.size(); ++i) {
    const Actuator& actuator = actuators_[static_cast<std::size_t>(i)];
    unit_.clear();
    actuator.add(bodies, 1, unit_);
    if (const Verdict verdict = respond(unit_, X_.col(i)); !verdict.ok()) return verdict;
    size_[i] = X_.col(i).norm();
    if (!(size_[i] > kIdle * free_size(unit_))) size_[i] = 0;
    if (size_[i] > 0)
      X_.col(i) /= size_[i], lower_[i] = size_[i] * actuator.spec().lower, upper_[i] = size_[i] * actuator.spec().upper;
    else
      X_.col(i).setZero(), lower_[i] = upper_[i] = 0;
    for (Eigen::Index k = 0; k <= i; ++k) H_(i, k) = H_(k, i) = X_.col(i).dot(X_.col(k));
    H_(i, i) = (size_[i] > 0 ? 1 : 0) + kSpare * actuator.spec().weight;
  }
  return {};
}

// Steps towards the minimum from zero, or from where limits are nearest to it; rest_ becomes R A (τ - B u).
void Allocation::improve(bool within, VecX& x) {
  x.setZero();
  if (within) x = x.cwiseMax(lower_).cwiseMin(upper_);
  for (int k = 0;; ++k) {
    rest_ = wanted_;
    rest_.noalias() -= X_ * x;
    if (k == kSteps) return;
    slope_.noalias() = X_.transpose() * rest_;
    step_.setZero();
    if (within) {
      low_ = lower_ - x, high_ = upper_ - x;
      box_.minimise(H_, slope_, low_, high_, step_);
    } else {
      box_.minimise(H_, slope_, step_);
    }
    for (Eigen::Index i = 0; i < x.size(); ++i)  // at a limit means at the very number
      x[i] = within && step_[i] <= low_[i] ? lower_[i] : within && step_[i] >= high_[i] ? upper_[i] : x[i] + step_[i];
  }
}

Verdict Allocation::solve(const Bodies& bodies, const Load& wanted) {
  for (Eigen::Index i = 0; i < inputs_.size(); ++i) inputs_[i] = limited(i, 0), excess_[i] = 0;
  commanded_ = remainder_ = scale_ = std::numeric_limits<double>::quiet_NaN();
  if (const Verdict verdict = columns(bodies, wanted); !verdict.ok()) return verdict;

  // Without limits; then within them, where that is another answer.
  improve(false, x_);
  remainder_ = rest_.norm();
  bool fine = true;
  for (Eigen::Index i = 0; i < x_.size(); ++i) {
    if (!(size_[i] > 0)) continue;
    const double u = x_[i] / size_[i];
    inputs_[i] = limited(i, u);
    excess_[i] = std::abs(u - inputs_[i]);
    fine = fine && excess_[i] == 0;
  }
  if (fine) return {};
  improve(true, x_);
  const double left = rest_.norm();
  if (left - remainder_ <= kCostless * scale_) excess_.setZero();
  remainder_ = left;
  for (Eigen::Index i = 0; i < x_.size(); ++i) {
    const ActuatorSpec& spec = actuators_[static_cast<std::size_t>(i)].spec();
    if (!(size_[i] > 0)) continue;
    inputs_[i] = x_[i] == lower_[i] ? spec.lower : x_[i] == upper_[i] ? spec.upper : limited(i, x_[i] / size_[i]);
  }
  return {};
}

}  // namespace invar
