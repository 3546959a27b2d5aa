// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/recall.hpp"

namespace invar {

struct RecursiveSpec {
  VecX prior;              ///< per coefficient: standard deviation before anything is seen, SI
  double noise = 0.05;     ///< of a row, at least; rows of a MotionFactor: N/sqrt(kg)
  double keep = 0.995;     ///< of the information, from one look to the next
  double surprise = 9;     ///< of the mean square innovation per row, in units of what is expected: what does not fit
  int patience = 3;        ///< successive surprises that are a change
  double learning = 0.02;  ///< of the noise, per look
};

/// Coefficients c of rows y = H c + noise, look by look, in bounded memory: least squares with forgetting. With the covariance P,
///   r = y - H c,   V = H P Hᵀ + σ² 1,   c += P Hᵀ V⁻¹ r,   P -= P Hᵀ V⁻¹ H P.
/// - Forgetting divides P by `keep` before; no variance exceeds its prior, so what is not excited stays as it was, and P bounded.
/// - σ² follows the mean of rᵀ V⁻¹ r per row towards one, so that a model with errors of its own is not surprised for ever;
///   single looks count for no more than a surprise.
/// - A look with rᵀ V⁻¹ r/rows > surprise is not believed. After `patience` of them something has changed: P is the prior again,
///   c stays where it was.
/// Laws: without forgetting it is the ridge estimate of all rows. No heap after construction for up to `most` rows.
class RecursiveFit {
 public:
  RecursiveFit(RecursiveSpec spec, int most);

  const VecX& coefficients() const { return c_; }
  const MatX& covariance() const { return P_; }
  double noise() const { return std::sqrt(variance_); }
  /// rᵀ V⁻¹ r/rows of the last look.
  double innovation() const { return innovation_; }

  /// True where a change was noticed. H: rows × coefficients.
  bool look(const Eigen::Ref<const MatX>& H, const Eigen::Ref<const VecX>& y);

  void remember(Recall& memory) { memory(c_), memory(P_), memory(variance_), memory(innovation_), memory(surprises_); }

 private:
  void forget();
  double weigh(const Eigen::Ref<const MatX>& H);
  void update(Eigen::Index rows);

  RecursiveSpec spec_;
  VecX c_;
  MatX P_;  // m × m, symmetric
  double variance_, innovation_ = 0;
  int surprises_ = 0;
  // Workspace of a look.
  MatX Ht_, PHt_;  // m × most
  MatX V_, W_;     // most × most; m × most: P Hᵀ L⁻ᵀ
  VecX r_, u_;     // most: L⁻¹ r
};

}  // namespace invar
