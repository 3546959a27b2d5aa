// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/run/compare.hpp"

// What compare() keeps of a run, for the sources of this room only.
namespace invar {

/// A run in memory: times, bodies, reactions, energies.
class Trace final : public Sink {
 public:
  /// The groups that a run has to record for it.
  static RecordChoice choice();

  Result<void> begin(const Layout& layout) override;
  Result<void> sample(std::span<const double> row) override;
  Result<void> end() override { return {}; }

  std::size_t size() const { return rows_.size() / width_; }
  double time(std::size_t k) const { return row(k)[0]; }
  BodyState body(std::size_t k, std::size_t b) const;
  Wrench reaction(std::size_t k, std::size_t bodies, std::size_t j) const;
  double total_energy(std::size_t k, std::size_t bodies, std::size_t joints) const;
  double kinetic_energy(std::size_t k, std::size_t bodies, std::size_t joints) const;

 private:
  const double* row(std::size_t k) const { return rows_.data() + k * width_; }

  std::size_t width_ = 1;
  std::vector<double> rows_;
};

/// Along which directions of F joint reactions follow from the motion: decided where the motion starts.
class DeterminedAxes {
 public:
  DeterminedAxes(const Model& model, const Start& start);

  const Model& model() const { return model_; }
  /// The part of a wrench that is determined, in F; the attitude of the parent is given.
  Wrench part(std::size_t joint, const Wrench& W, const Quat& q_WP) const;

 private:
  const Model& model_;
  std::vector<Mat3> force_, moment_;  // per joint: projectors on the directions that are determined
};

/// Walks over the instants that two traces have in common, in order of time: their places in a and in b, and the differences
/// there.
using Visit = std::function<void(std::size_t in_a, std::size_t in_b, const Quantities& differences)>;
void for_common_instants(const Trace& a, const Trace& b, const DeterminedAxes& axes, const Visit& visit);

/// The size of a motion, by which differences are measured: length of the model, a radian, largest speed (of points at that
/// length, too), largest reaction, largest kinetic energy. Never zero.
Quantities size_of(const Trace& trace, const Model& model);

}  // namespace invar
