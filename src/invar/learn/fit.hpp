// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/gram.hpp"

namespace invar {

/// How coefficients are found from the sums of the training runs, and chosen by those of runs that were held out.
struct FitOptions {
  enum class Method {
    Ridge,   ///< all columns, each group with a strength of its own: a term, a body of inertias, a size of drag
    Sparse,  ///< then columns are taken away one after the other, the least useful first
  };
  Method method = Method::Ridge;
  bool passive = false;           ///< columns that dissipate get coefficients that are not negative: they never give energy
  std::vector<double> strengths;  ///< one per term, or per group; empty: chosen on the held-out runs. 0: no ridge
};

/// Coefficients, and what the data say about them.
struct Fit {
  VecX coefficients;                  ///< SI, one per column
  VecX deviations;                    ///< standard deviation of each, from what is left over; infinite where it is not determined
  std::vector<bool> kept;             ///< per column: took part
  std::vector<double> strengths;      ///< per group of the terms, on columns scaled to unit mean square
  double training = 1, held_out = 1;  ///< √(Σe²/Σd²) in the metric of motion; held_out is NaN where no runs were held out
  double noise = 0;                   ///< N/√kg per freedom: what is left over in training
  std::vector<std::string> undetermined;  ///< which coefficients the data do not tell apart, in words
  bool learned = false;  ///< some coefficient is determined, and the held-out runs are explained better than by nothing
};

/// What chance explains of noise stays below this: a model that leaves more of the loads than that is none.
inline constexpr double kWorthIt = 0.99;

/// What a sparse fit says without held-out runs.
inline constexpr const char* kSparseNeedsHeldOut =
    "which columns can go is judged on runs that were held out, and there are none; record another run, or take method = "
    "\"ridge\"";

/// Where a strength is 0, coefficients lie in the directions that the data determine, the others stay nominal; a sparse fit keeps
/// independent columns. Refused: fewer rows than columns then, and `passive` where the data leave directions open; a sparse fit
/// without held-out runs.
Result<Fit> fit(const Terms& terms, const Gram& training, const Gram& held_out, const FitOptions& options = {});

/// Which directions of the coefficients the data do not determine. Columns that others explain to 1e-9 of their mean square are
/// told with them: "mass of 'link2' and 'link3' only as a sum". Columns that never acted: "drag … is not excited".
/// Columns of generic terms are counted only.
struct Determined {
  std::vector<bool> excited;  ///< per column: it acted at all
  std::vector<bool> free;     ///< per column: not a combination of columns before it
  std::vector<std::string> words;
  int rank = 0;
  MatX factor;  ///< excited columns × rank: products of columns of unit mean square are factor factorᵀ to 1e-9
};
Determined determined_by(const Terms& terms, const Gram& gram);

}  // namespace invar
