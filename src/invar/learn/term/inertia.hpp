// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/sharing.hpp"
#include "invar/learn/term.hpp"

namespace invar {

/// Mass, first and second moments that a body has beyond the model, about its nominal centre of mass C, body axes. What carries
/// them along acts on the nominal body as
///   f = -(m (a_C - g) + α × h + ω × (ω × h)),   h = Σ m r
///   n = -(h × (a_C - g) + I α + ω × I ω)                                                     about C
/// which is linear in the ten numbers m, h, I (xx, yy, zz, xy, xz, yz). Needs accelerations. Becomes an edit of the model, so
/// that M, C and A of whoever uses it are right.
class InertiaTerm final : public TermOf<InertiaTerm> {
 public:
  static constexpr int kPerBody = 10;

  /// The model must outlive it.
  InertiaTerm(const Model& model, std::vector<int> bodies, Sharing sharing);

  int columns() const override { return kPerBody * classes_.count(); }
  std::string label(int k) const override;
  std::string unit(int k) const override;

  /// Bodies are heavier than they were told each on its own: mostly one of them carries something.
  int groups() const override { return classes_.count(); }
  int group(int column) const override { return column / kPerBody; }

  const std::vector<int>& bodies() const { return bodies_; }
  /// First of the ten columns of the i-th body.
  int first_column(std::size_t i) const { return kPerBody * classes_.of[i]; }

  template <class Emit>
  void each(const Bodies& bodies, const Surroundings& around, Emit&& emit) const {
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      const auto b = static_cast<std::size_t>(bodies_[i]);
      const BodyAcceleration& a = (*around.accelerations)[b];
      const Mat3 R = bodies[b].q_WB.toRotationMatrix();
      const Vec3 lift = a.a_WC - model_.gravity(), w = R.transpose() * bodies[b].w_WB, alpha = R.transpose() * a.alpha_WB;
      const int first = first_column(i), body = bodies_[i];
      emit(first, body, Wrench{Vec3::Zero(), -lift});
      for (int k = 0; k < 3; ++k) {
        const Vec3 e = R.col(k), &W = bodies[b].w_WB;
        emit(first + 1 + k, body, Wrench{-e.cross(lift), -(a.alpha_WB.cross(e) + W.cross(W.cross(e)))});
      }
      constexpr int kRow[] = {0, 1, 2, 0, 0, 1}, kColumn[] = {0, 1, 2, 1, 2, 2};
      for (int k = 0; k < 6; ++k) {
        const auto times = [&](const Vec3& x) {
          Vec3 y = Vec3::Zero();
          y[kRow[k]] = x[kColumn[k]];
          if (k > 2) y[kColumn[k]] = x[kRow[k]];
          return y;
        };
        emit(first + 4 + k, body, Wrench{-(R * (times(alpha) + w.cross(times(w)))), Vec3::Zero()});
      }
    }
  }

 private:
  const Model& model_;
  std::vector<int> bodies_;
  Classes classes_;
};

/// The body with these ten numbers added to its own.
Inertia with_added(const Inertia& nominal, const double* ten);
/// The ten numbers that make this one of the nominal one.
void added_to(const Inertia& nominal, const Inertia& now, double* ten);

/// The nearest mass distribution that a rigid body can have: its 4 × 4 matrix of moments (Σ, h; hᵀ, m), lengths in parts of
/// `length`, loses its negative eigenvalues. An inertia that is physical stays as it is to round-off.
Inertia nearest_physical(const Inertia& inertia, double length);

}  // namespace invar
