// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "invar/base/tangents.hpp"
#include "invar/learn/term/joint_columns.hpp"

namespace invar {

/// Coulomb friction in joints: the effort -tanh(v/u) per freedom and per smoothing rate u, as the model has it. With one
/// smoothing rate coefficients add to `friction` of the model; several of them together fit one that is not known.
class JointCoulomb final : public TermOf<JointCoulomb> {
 public:
  JointCoulomb(const Model& model, const std::vector<int>& joints, Sharing sharing, std::vector<double> smoothing)
      : on_(model, joints, sharing), smoothing_(std::move(smoothing)) {}

  int columns() const override { return on_.classes().count() * static_cast<int>(smoothing_.size()); }
  std::string label(int k) const override;
  std::string unit(int k) const override { return on_.unit(k % on_.classes().count(), "N m", "N"); }
  bool dissipates(int) const override { return true; }
  const FreedomClasses& classes() const { return on_.classes(); }
  const std::vector<double>& smoothing() const { return smoothing_; }

  template <class Emit>
  void each(const Bodies& bodies, const Surroundings&, Emit&& emit) const {
    on_.each(
        bodies,
        [this](const FreedomColumn& f, const Joint&, const JointAt& at, auto&& push) {
          for (std::size_t s = 0; s < smoothing_.size(); ++s)
            push(f.column + static_cast<int>(s) * on_.classes().count(), -std::tanh(at.v[f.freedom] / smoothing_[s]));
        },
        emit);
  }

  /// The same with all rates summed before an effort becomes wrenches, and tangents many at a time.
  void add(const Bodies& bodies, const Surroundings& around, const double* coefficients, Port& port) const override;

 private:
  JointColumns on_;
  std::vector<double> smoothing_;  // rad/s or m/s
};

inline void JointCoulomb::add(const Bodies& bodies, const Surroundings&, const double* coefficients, Port& port) const {
  on_.add(
      bodies,
      [&](std::span<const FreedomColumn> freedoms, const double* v, double* efforts) {
        const auto n = static_cast<Eigen::Index>((freedoms.size() + 7) / 8 * 8);
        for (std::size_t s = 0; s < smoothing_.size(); ++s) {
          alignas(64) double x[JointColumns::kBatch];
          Eigen::Map<Eigen::ArrayXd>(x, n) = Eigen::Map<const Eigen::ArrayXd>(v, n) / smoothing_[s];
          hyperbolic_tangents(x, n);
          const double* const c = coefficients + static_cast<int>(s) * on_.classes().count();
          for (std::size_t k = 0; k < freedoms.size(); ++k) efforts[k] -= c[freedoms[k].column] * x[k];
        }
      },
      port);
}

inline std::string JointCoulomb::label(int k) const {
  const int n = on_.classes().count();
  std::string text = "friction of '" + on_.classes().names[static_cast<std::size_t>(k % n)] + "'";
  if (smoothing_.size() > 1) {
    std::string rate = std::to_string(smoothing_[static_cast<std::size_t>(k / n)]);
    rate.erase(rate.find_last_not_of('0') + 1);
    text += " smoothed over " + rate;
  }
  return text;
}

}  // namespace invar
