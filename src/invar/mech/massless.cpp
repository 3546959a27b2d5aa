// SPDX-License-Identifier: Apache-2.0
// With a loan, M̃ = M + Z λ Zᵀ, the equations M x + Jᵀ F = f read M̃ x + Jᵀ F − Z λ z = f with z = Zᵀ x. Z being eigenvectors,
// M̃⁻¹ Z λ = Z κ with κ = λ/(μ + λ), so
//     x = M̃⁻¹ (f − Jᵀ F) + Z κ z,      −κ Zᵀ Jᵀ F − κ μ z = −κ Zᵀ f
// together with J x = γ: a symmetric system in (F, z) with S = J M̃⁻¹ Jᵀ, columns −J Z κ, and −κ μ on the diagonal, which is
// exactly zero where the body has nothing. The answer does not depend on λ.
#include "invar/mech/massless.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "invar/base/index.hpp"

namespace invar {
namespace {

constexpr double kZeroInertia = 1e-14;  // of the largest that it was computed with: round-off
constexpr double kIdle = 1e-8;          // of the body's largest: small enough to be dear without a loan

// Inverse of a symmetric positive definite 3x3 by Cholesky; false if a pivot is not positive.
bool invert3(const Mat6& m, int o, Mat6& w) {
  const double a = m(o, o), b = m(o + 1, o), c = m(o + 2, o), d = m(o + 1, o + 1), e = m(o + 2, o + 1), f = m(o + 2, o + 2);
  const double ia = 1.0 / a, l1 = b * ia, l2 = c * ia;
  const double p = d - l1 * b, q = e - l1 * c, ip = 1.0 / p, l3 = q * ip;
  const double r = f - l2 * c - l3 * q, ir = 1.0 / r;
  if (!(a > 0 && p > kZeroInertia * d && r > kZeroInertia * f)) return false;
  // Columns of L⁻¹: (1, −l1, l1 l3 − l2), (0, 1, −l3), (0, 0, 1).
  const double g = l1 * l3 - l2;
  w(o, o) = ia + l1 * l1 * ip + g * g * ir;
  w(o + 1, o) = w(o, o + 1) = -l1 * ip - g * l3 * ir;
  w(o + 2, o) = w(o, o + 2) = g * ir;
  w(o + 1, o + 1) = ip + l3 * l3 * ir;
  w(o + 2, o + 1) = w(o + 1, o + 2) = -l3 * ir;
  w(o + 2, o + 2) = ir;
  return true;
}

// The same for 6x6; bodies by themselves do not couple force and moment about the centre of mass.
bool invert(const Mat6& m, Mat6& w) {
  if (m.bottomLeftCorner<3, 3>().isZero(0)) {
    w.bottomLeftCorner<3, 3>().setZero();
    w.topRightCorner<3, 3>().setZero();
    return invert3(m, 0, w) && invert3(m, 3, w);
  }
  Mat6 l = Mat6::Zero();
  Vec6 inverse;
  for (int k = 0; k < 6; ++k) {
    const double d = m(k, k) - l.row(k).head(k).squaredNorm();
    if (!(d > kZeroInertia * m(k, k))) return false;
    inverse[k] = 1.0 / std::sqrt(d);
    for (int r = k + 1; r < 6; ++r) l(r, k) = (m(r, k) - l.row(r).head(k).dot(l.row(k).head(k))) * inverse[k];
  }
  // Columns of L⁻¹, then W = L⁻ᵀ L⁻¹.
  Mat6 g = Mat6::Zero();
  for (int c = 0; c < 6; ++c) {
    g(c, c) = inverse[c];
    for (int r = c + 1; r < 6; ++r) g(r, c) = -l.row(r).segment(c, r - c).dot(g.col(c).segment(c, r - c)) * inverse[r];
  }
  w.noalias() = g.transpose() * g;
  return true;
}

// Eigenvalues and eigenvectors in ascending order, turns and shifts by themselves where the mass does not couple them.
struct Principal {
  Vec6 values;
  Mat6 vectors;
  Vec6 among;  // the largest of those that were computed together
};

Principal principal(const Mat6& m) {
  Principal out;
  if (m.bottomLeftCorner<3, 3>().isZero(0)) {
    out.vectors.setZero();
    for (const int o : {0, 3}) {
      const Mat3 block = m.block<3, 3>(o, o);
      Eigen::SelfAdjointEigenSolver<Mat3> eigen;
      if (block.isDiagonal(0) && block(0, 0) == block(1, 1) && block(1, 1) == block(2, 2)) {
        out.values.segment<3>(o) = block.diagonal();
        out.vectors.block<3, 3>(o, o).setIdentity();
      } else {
        eigen.compute(block);
        out.values.segment<3>(o) = eigen.eigenvalues();
        out.vectors.block<3, 3>(o, o) = eigen.eigenvectors();
      }
      out.among.segment<3>(o).setConstant(out.values.segment<3>(o).maxCoeff());
    }
    return out;
  }
  const Eigen::SelfAdjointEigenSolver<Mat6> eigen(m);
  out.values = eigen.eigenvalues();
  out.vectors = eigen.eigenvectors();
  out.among.setConstant(out.values.maxCoeff());
  return out;
}

// Splits a body into what it has and what it borrows; `loan` counts where it has nothing at all.
void split(const Mat6& m, double loan, LentBody& out) {
  const Principal p = principal(m);
  const double largest = p.values.maxCoeff();
  out.loan = largest > 0 ? largest : loan;
  out.idle = 0;
  Mat6 rest = Mat6::Zero();
  for (int k = 0; k < 6; ++k) {
    const Vec6 axis = p.vectors.col(k);
    const bool idle = !(p.values[k] > kIdle * largest);
    if (idle) {
      out.axes.col(out.idle) = axis;
      // What eigenvalues tell from zero: moments of inertia round by the largest of them, however heavy the body is.
      out.own[out.idle] = p.values[k] > kZeroInertia * p.among[k] ? p.values[k] : 0.0;
      rest += axis * axis.transpose() / (out.own[out.idle] + out.loan);
      ++out.idle;
    } else {
      rest += axis * axis.transpose() / p.values[k];
    }
  }
  out.inverse = rest;
}

// Both halves of the columns turned.
Mat6 turned(const Mat3& R, const Mat6& m) {
  Mat6 out;
  out.topRows<3>().noalias() = R * m.topRows<3>();
  out.bottomRows<3>().noalias() = R * m.bottomRows<3>();
  return out;
}

}  // namespace

std::vector<LentBody> find_idle(const KktProblem& problem) {
  const KktStructure& s = problem.structure;
  std::vector<LentBody> out;
  std::vector<double> sum(size(s.bodies()), 0.0);
  std::vector<int> count(size(s.bodies()), 0);
  for (int j = 0; j < s.blocks(); ++j)
    for (int t = s.block(j).first_touch; t < s.block(j).first_touch + s.block(j).touches; ++t)
      for (int o = s.block(j).first_touch; o < s.block(j).first_touch + s.block(j).touches; ++o) {
        const double mass = problem.mass[size(s.body(o))].diagonal().maxCoeff();
        if (o != t && mass > 0) sum[size(s.body(t))] += mass, ++count[size(s.body(t))];
      }
  for (int i = 0; i < s.bodies(); ++i) {
    LentBody lent;
    split(problem.mass[size(i)], count[size(i)] > 0 ? sum[size(i)] / count[size(i)] : 1.0, lent);
    lent.body = i;
    if (lent.idle > 0) out.push_back(lent);
  }
  return out;
}

void Loans::take(const KktProblem& problem) {
  bodies_ = fixed_ = find_idle(problem);
  of_body_.assign(size(problem.structure.bodies()), -1);
  directions_ = 0;
  for (std::size_t k = 0; k < bodies_.size(); ++k) {
    of_body_[size(bodies_[k].body)] = static_cast<int>(k);
    directions_ += bodies_[k].idle;
    if (problem.turn.empty()) continue;
    const Mat3 back = problem.turn[size(bodies_[k].body)].transpose();
    fixed_[k].axes = turned(back, bodies_[k].axes);
    fixed_[k].inverse = turned(back, turned(back, bodies_[k].inverse).transpose());
  }
}

void Loans::turn(const KktProblem& problem) {
  for (std::size_t k = 0; k < bodies_.size(); ++k) {
    LentBody& lent = bodies_[k];
    if (problem.turn.empty()) {
      split(problem.mass[size(lent.body)], lent.loan, lent);
      continue;
    }
    const Mat3& R = problem.turn[size(lent.body)];
    lent.axes = turned(R, fixed_[k].axes);
    lent.inverse = turned(R, turned(R, fixed_[k].inverse).transpose());
  }
}

Verdict invert_masses(const KktProblem& problem, const Loans& loans, std::vector<Mat6>& W) {
  for (std::size_t i = 0; i < W.size(); ++i) {
    if (const int k = loans.of_body(static_cast<int>(i)); k >= 0)
      W[i] = loans.bodies()[size(k)].inverse;
    else if (!invert(problem.mass[i], W[i]))
      return {problem.mass[i].allFinite() ? Status::NoInertia : Status::NotFinite, static_cast<int>(i), -1,
              problem.mass[i].diagonal().minCoeff()};
  }
  return {};
}

}  // namespace invar
