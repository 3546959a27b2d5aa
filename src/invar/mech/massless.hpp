// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/base/status.hpp"
#include "invar/mech/kkt_problem.hpp"

namespace invar {

/// A body with idle directions, along which it has (nearly) no inertia of its own: the axis of an ideal rod, all turns of a point
/// mass, everything of a massless link. They get inertia on loan, so that M + Z λ Zᵀ can be inverted; one unknown z per
/// direction, the motion along it, takes the loan back exactly. With the body's largest inertia s: μ ≤ 1e-8 s is idle, λ = s.
struct LentBody {
  int body = -1;
  int idle = 0;                 ///< how many directions
  Mat6 axes = Mat6::Zero();     ///< first `idle` columns: Z, orthonormal eigenvectors of the mass
  Vec6 own = Vec6::Zero();      ///< first `idle` entries: μ >= 0, what the mass has along them
  double loan = 1;              ///< λ
  Mat6 inverse = Mat6::Zero();  ///< (M + Z λ Zᵀ)⁻¹
  /// κ = λ/(μ + λ): the share of a motion along direction k that is on loan.
  double share(int k) const { return loan / (own[k] + loan); }
};

/// The bodies with idle directions, and what is lent to them. A massless body borrows the mean of what its neighbours have.
std::vector<LentBody> find_idle(const KktProblem& problem);

/// The same bodies after a motion. Where the problem tells how bodies are turned, `last` turns with them; otherwise eigenvectors
/// are computed anew. No heap.
class Loans {
 public:
  /// Numbers and basis as of this problem.
  void take(const KktProblem& problem);
  /// Axes and inverses at another instant of the same bodies.
  void turn(const KktProblem& problem);

  const std::vector<LentBody>& bodies() const { return bodies_; }
  bool empty() const { return bodies_.empty(); }
  int directions() const { return directions_; }
  /// The loan of a body, or -1.
  int of_body(int body) const { return of_body_[static_cast<std::size_t>(body)]; }

 private:
  std::vector<LentBody> bodies_;  // World axes, now
  std::vector<LentBody> fixed_;   // body axes, where turns are known
  std::vector<int> of_body_;      // per body of the problem
  int directions_ = 0;
};

/// Inverse masses W: of regular bodies as they are, of bodies with idle directions with their loans. Ends with NoInertia at a
/// body that has less inertia than when the loans were found, with NotFinite where a mass is not finite.
Verdict invert_masses(const KktProblem& problem, const Loans& loans, std::vector<Mat6>& W);

}  // namespace invar
