// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "invar/control/flow.hpp"
#include "invar/control/known_load.hpp"
#include "invar/learn/motion_factor.hpp"
#include "invar/learn/recursive_fit.hpp"
#include "invar/learn/terms.hpp"

namespace invar {

struct AdaptSpec {
  std::vector<TermSpec> terms;
  double period = 0.01;  ///< s between looks
  double memory = 2;     ///< s; what was seen so long ago counts e⁻¹
  double noise = 0.02;   ///< N/sqrt(kg) per freedom, at least
  double prior = 3;      ///< of coefficients, in units of natural_size
};

/// Sizes of coefficients that are usual on a mechanism with the mean mass m and the length ℓ of this model, at rates of 1/s and
/// speeds of ℓ per s: m, m ℓ, m ℓ² of inertias, m ℓ² N m s of dampers, and so on.
VecX natural_size(const Model& model, const Terms& terms);

/// A load that is learned while the loop runs: recursive least squares on chosen terms, from nothing or on top of what a file
/// says. Of three looks h apart the middle one is explained,
///   d = M a + C ν - F_known - τ,   a = (ν₊ - ν₋)/2h,
/// with the mean of what acted: no accelerations are measured, and the error is of second order in h. Rows are Bᵀ d = Bᵀ φ c, in
/// the metric of motion (motion_factor.hpp), so that what joints carry changes nothing. Columns are those of the measured motion,
/// because d is what acted there; the law takes their sum at its reference. Inertias are the nearest that all bodies
/// of a class can have before they are used. Coefficients change in looks only: the same run gives the same bits. No heap after
/// construction.
class AdaptiveLoad final : public KnownLoad {
 public:
  /// `base`: what is known before, or null. Refuses terms that are not there, and those that need the inputs of actuators. The
  /// model outlives it.
  static Result<std::unique_ptr<AdaptiveLoad>> build(const Model& model, std::unique_ptr<KnownLoad> base, const AdaptSpec& spec,
                                                     std::shared_ptr<const Flow> flow, std::vector<Vec3> obstacles,
                                                     const std::vector<std::string>& obstacle_names = {});

  void add(const LoadMotion& motion, Port& port) const override;
  bool has_generic() const override { return base_ && base_->has_generic(); }
  void add_generic(const LoadMotion& motion, Port& port) const override;
  void drop_generic() override;
  double leverage(const LoadMotion& motion) const override;

  double period() const override { return spec_.period; }
  bool look(const LoadLook& now) override;
  std::span<const double> coefficients() const override { return {used_.data(), static_cast<std::size_t>(used_.size())}; }
  std::string label(int k) const override { return terms_.label(k); }
  std::string unit(int k) const override { return terms_.unit(k); }
  double innovation() const override { return fit_.innovation(); }
  void remember(Recall& memory) override;

 private:
  AdaptiveLoad(const Model& model, std::unique_ptr<KnownLoad> base, const AdaptSpec& spec, std::shared_ptr<const Flow> flow,
               std::vector<Vec3> obstacles, Terms terms);
  struct Seen {
    double t;
    Bodies bodies;
    Load acted;  // mean since the look before
  };
  Surroundings around(Instant at, const Accelerations* accelerations) const;
  bool explain(const Seen& before, const Seen& middle, const Seen& after);
  void make_physical();

  const Model& model_;
  std::unique_ptr<KnownLoad> base_;
  AdaptSpec spec_;
  std::shared_ptr<const Flow> flow_;
  std::vector<Vec3> obstacles_;
  Terms terms_;
  RecursiveFit fit_;
  VecX used_;  // coefficients, physical
  MotionFactor motion_;
  std::array<Seen, 3> seen_;
  int looks_ = 0;
  // Workspace.
  mutable Bodies moved_;
  Accelerations measured_, a_, velocities_;
  Port known_, d_;
  VecX efforts_, six_, y_;
  MatX H_;
  std::vector<ColumnEntry> entries_;
};

}  // namespace invar
