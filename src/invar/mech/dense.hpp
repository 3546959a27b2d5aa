// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <limits>
#include <memory>
#include <vector>

#include "invar/geom/vector.hpp"

namespace invar {

/// Decompositions of dense matrices of moderate size, compiled once: for decisions and analyses, not for every step. Functions
/// allocate; classes keep their memory and do not as long as sizes stay (about 100 rows and columns at most: products of larger
/// matrices ask for buffers).

struct Svd {
  VecX values;       ///< falling
  MatX left, right;  ///< square
};
Svd full_svd(const MatX& A);

class SvdOf {
 public:
  SvdOf(Eigen::Index rows, Eigen::Index columns);
  SvdOf(SvdOf&&) noexcept;
  SvdOf& operator=(SvdOf&&) noexcept;
  ~SvdOf();
  void compute(const MatX& A, VecX& values, MatX& left, MatX& right);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

std::vector<std::complex<double>> eigenvalues(const MatX& A);

/// Where det(A + x B) = 0, finite roots only: with A + s B regular, x = s - 1/λ for the eigenvalues λ of (A + s B)⁻¹ B.
class PencilRoots {
 public:
  explicit PencilRoots(Eigen::Index largest);
  PencilRoots(PencilRoots&&) noexcept;
  PencilRoots& operator=(PencilRoots&&) noexcept;
  ~PencilRoots();
  /// A: diagonal. Both of any size up to the largest.
  const std::vector<std::complex<double>>& compute(const Eigen::Ref<const VecX>& A, const Eigen::Ref<const MatX>& B, double s);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

/// Rows of A, the one that is most independent of those before it first.
std::vector<int> strongest_rows(const MatX& A);

/// B = Q R with Q square: the first columns span those of B, the others are orthogonal to them. B has no more columns than rows.
void orthogonal_factors(const MatX& B, MatX& Q, MatX& R);

/// Orthonormal columns that span those of A, as far as `count` directions can: the strongest ones first.
MatX leading_directions(const MatX& A, Eigen::Index count);

/// x of least norm with A x = b in the sense of least squares, over the strongest columns of A: at most `most` of them, and none
/// whose part across those before is below `threshold` of the largest column. Zero where none is left.
VecX least_norm_solution(const MatX& A, const VecX& b, double threshold,
                         Eigen::Index most = std::numeric_limits<Eigen::Index>::max());

}  // namespace invar
