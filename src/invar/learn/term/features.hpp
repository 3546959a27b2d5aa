// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/learn/sharing.hpp"
#include "invar/learn/term.hpp"

namespace invar {

/// Functions of what is seen of a body: the part of a generic term that its kinds differ in. Those of terms that turn with the
/// World see x = (u/v₀, ω/ω₀) in body components, u relative to the measured flow.
class Features {
 public:
  /// The most functions that there may be: they are evaluated on the stack.
  static constexpr int kMost = 512;

  virtual ~Features() = default;
  virtual int count() const = 0;
  virtual std::string label(int k) const = 0;
  /// Their values, for as many numbers x as they were made for; no heap.
  virtual void at(const double* x, double* values) const = 0;
};

/// Sizes that make velocities pure numbers.
struct FeatureScales {
  double v = 1;  ///< m/s
  double w = 1;  ///< rad/s
};

/// How far the present motion lies outside that of the training data: the leverage xᵀ S⁻¹ x of a body in units of the largest in
/// training, its square root. S: second moments of x over the training data, per class of bodies.
struct FeatureDomain {
  std::vector<Mat6> inverse;  ///< per class: S⁻¹ over the largest leverage
  bool empty() const { return inverse.empty(); }
  double leverage(int cls, const Vec6& x) const { return x.dot(inverse[static_cast<std::size_t>(cls)] * x); }
};

/// 1 inside the data (leverage² <= 1), 0 beyond twice as far, in between a smooth step.
double faded(double leverage);

/// Generic functions times the six directions of a wrench in body axes, shared by classes of bodies:
///   (f, n) = Σ c_ik φ_i(x) e_k
/// Columns within a class: 6 i + k, forces first. Outside of the training data they fade out.
class FeatureTerm final : public TermOf<FeatureTerm> {
 public:
  FeatureTerm(const Model& model, std::vector<int> bodies, Sharing sharing, std::shared_ptr<const Features> features,
              FeatureScales scales, FeatureDomain domain);

  int columns() const override { return 6 * features_->count() * classes_.count(); }
  std::string label(int k) const override;
  std::string unit(int k) const override { return k % 6 < 3 ? "N" : "N m"; }

  template <class Emit>
  void each(const Bodies& bodies, const Surroundings& around, Emit&& emit) const {
    double values[Features::kMost];
    for (std::size_t n = 0; n < bodies_.size(); ++n) {
      const Mat3 R = bodies[static_cast<std::size_t>(bodies_[n])].q_WB.toRotationMatrix();
      const double fade = values_at(bodies, around, n, R, values);
      const int first = 6 * features_->count() * classes_.of[n];
      for (int i = 0; i < features_->count(); ++i)
        for (int k = 0; k < 3; ++k) {
          emit(first + 6 * i + k, bodies_[n], Wrench{Vec3::Zero(), fade * values[i] * R.col(k)});
          emit(first + 6 * i + 3 + k, bodies_[n], Wrench{fade * values[i] * R.col(k), Vec3::Zero()});
        }
    }
  }
  /// The same, summed in body axes first.
  void add(const Bodies& bodies, const Surroundings& around, const double* coefficients, Port& port) const override;

  /// x of the n-th body of the term, and the axes of its wrenches.
  Vec6 seen(const Bodies& bodies, const Surroundings& around, std::size_t n) const;
  Mat3 axes(const Bodies& bodies, std::size_t n) const {
    return bodies[static_cast<std::size_t>(bodies_[n])].q_WB.toRotationMatrix();
  }
  /// How far outside of the data the farthest body is: at most 1 inside.
  double leverage(const Bodies& bodies, const Surroundings& around) const override;

  const std::vector<int>& bodies() const { return bodies_; }
  const Classes& classes() const { return classes_; }
  const Features& features() const { return *features_; }

 private:
  double values_at(const Bodies& bodies, const Surroundings& around, std::size_t n, const Mat3& R, double* values) const;

  std::vector<int> bodies_;
  Classes classes_;
  std::shared_ptr<const Features> features_;
  FeatureScales scales_;
  FeatureDomain domain_;
};

}  // namespace invar
