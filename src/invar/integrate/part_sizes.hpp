// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "invar/mech/natural_coordinates.hpp"

namespace invar {

/// Sizes of vectors of natural coordinates, one per connected part: increments are judged by the motion of their own part, so
/// what is not connected does not decide when a part has converged. No heap after construction.
class PartSizes {
 public:
  explicit PartSizes(const NaturalCoordinates& c) : c_(c), scale_(c.scales().parts.size(), 0.0), now_(scale_) {}

  int parts() const { return static_cast<int>(scale_.size()); }
  int part_of_row(int r) const {
    const NaturalForm& form = c_.row(r);
    for (const NaturalVector* a : {&form.u, &form.w, &form.minus})
      if (a->body != kWorld) return part_of(a->body);
    return 0;
  }
  double length(int part) const { return c_.scales().parts[static_cast<std::size_t>(part)].length; }

  /// The scale of a part starts as `lengths` of its length, and grows with what it is shown.
  void restart(double lengths) {
    for (int p = 0; p < parts(); ++p) scale_[static_cast<std::size_t>(p)] = lengths * length(p);
  }
  void raise(const VecX& v) {
    measure(v);
    for (std::size_t p = 0; p < scale_.size(); ++p) scale_[p] = std::max(scale_[p], now_[p]);
  }
  double scale(int part) const { return scale_[static_cast<std::size_t>(part)]; }

  /// The largest size of v in a part over the scale of that part. NaN comes through.
  double relative(const VecX& v) {
    measure(v);
    double largest = 0;
    for (std::size_t p = 0; p < scale_.size(); ++p) {
      const double here = now_[p] / scale_[p];
      if (!(here <= largest) && now_[p] != 0) largest = here;
    }
    return largest;
  }
  /// The same part by part, as it was measured last, m/s.
  double last(int part) const { return now_[static_cast<std::size_t>(part)]; }
  /// Per part the largest |p'| + l |d'|, l the length of the body.
  void measure(const VecX& v) {
    const int n = c_.per_body(), d = c_.dimension();
    std::fill(now_.begin(), now_.end(), 0.0);
    const Scales& scales = c_.scales();
    for (std::size_t b = 0; b < scales.part_of_body.size(); ++b) {
      const auto at = static_cast<Eigen::Index>(b) * n;
      const double here = v.segment(at, d).norm() + scales.body_length[b] * v.segment(at + d, n - d).norm();
      double& largest = now_[static_cast<std::size_t>(scales.part_of_body[b])];
      if (!(here <= largest)) largest = here;
    }
  }

 private:
  int part_of(int body) const { return c_.scales().part_of_body[static_cast<std::size_t>(body)]; }

  const NaturalCoordinates& c_;
  std::vector<double> scale_, now_;  // per part
};

}  // namespace invar
