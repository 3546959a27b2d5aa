// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/term/features.hpp"

namespace invar {

/// The obvious alternative to terms that turn with the World, to compare with: functions of World components,
///   (f, n) = Σ c_ik φ_i(x) e_k,     x = (u/v₀, ω/ω₀) and, where `attitude` > 0, attitude √3 R (nine entries of unit size)
/// along World axes e_k, shared by classes of bodies. What it learns depends on where x, y and z of the World point to, so no
/// file names it. `seen_from` turns these axes: the term for World components as somebody in a turned World has them. In the
/// present World its columns are those that a turned copy of the data would give there, because wrenches and A turn along.
class RawWorldTerm final : public TermOf<RawWorldTerm> {
 public:
  RawWorldTerm(const Model& model, Sharing sharing, std::shared_ptr<const Features> features, FeatureScales scales,
               double attitude, const Quat& seen_from);

  /// How many numbers its functions see.
  static int inputs(double attitude) { return attitude > 0 ? 15 : 6; }

  int columns() const override { return 6 * features_->count() * classes_.count(); }
  std::string label(int k) const override;
  std::string unit(int k) const override { return k % 6 < 3 ? "N" : "N m"; }

  template <class Emit>
  void each(const Bodies& bodies, const Surroundings& around, Emit&& emit) const {
    double values[Features::kMost];
    for (std::size_t n = 0; n < bodies_.size(); ++n) {
      features_->at(seen(bodies, around, n).data(), values);
      const Mat3 E = axes(bodies, n);
      const int first = 6 * features_->count() * classes_.of[n];
      for (int i = 0; i < features_->count(); ++i)
        for (int k = 0; k < 3; ++k) {
          emit(first + 6 * i + k, bodies_[n], Wrench{Vec3::Zero(), values[i] * E.col(k)});
          emit(first + 6 * i + 3 + k, bodies_[n], Wrench{values[i] * E.col(k), Vec3::Zero()});
        }
    }
  }

  const std::vector<int>& bodies() const { return bodies_; }
  const Features& features() const { return *features_; }
  Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 15, 1> seen(const Bodies& bodies, const Surroundings& around, std::size_t n) const;
  Mat3 axes(const Bodies&, std::size_t) const { return turn_.transpose(); }

 private:
  std::vector<int> bodies_;  // all
  Classes classes_;
  std::shared_ptr<const Features> features_;
  FeatureScales scales_;
  double attitude_;
  Mat3 turn_;
};

}  // namespace invar
