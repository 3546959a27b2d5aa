// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/domain.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

namespace invar {
namespace {

template <class Visit>
void each_sample(const DataSet& data, const std::vector<int>& runs, Visit&& visit) {
  for (int r = 0; r < static_cast<int>(data.runs.size()); ++r)
    if (runs.empty() || std::find(runs.begin(), runs.end(), r) != runs.end())
      for (const DataSample& s : data.runs[static_cast<std::size_t>(r)].samples) visit(s);
}

}  // namespace

FeatureScales scales_of(const DataSet& data, double length, const std::vector<int>& runs) {
  double sum = 0;
  long n = 0;
  each_sample(data, runs, [&](const DataSample& s) {
    for (const BodyState& b : s.bodies) sum += (b.v_WC - s.flow).squaredNorm() + length * length * b.w_WB.squaredNorm(), n += 3;
  });
  const double v = sum > 0 ? std::sqrt(sum / static_cast<double>(n)) : 1.0;
  return {v, v / length};
}

FeatureDomain domain_of(const FeatureTerm& term, const DataSet& data, const std::vector<int>& runs) {
  const auto classes = static_cast<std::size_t>(term.classes().count());
  std::vector<Mat6> second(classes, Mat6::Zero());
  std::vector<long> count(classes, 0);
  each_sample(data, runs, [&](const DataSample& s) {
    for (std::size_t n = 0; n < term.bodies().size(); ++n) {
      const auto c = static_cast<std::size_t>(term.classes().of[n]);
      const Vec6 x = term.seen(s.bodies, data.around(s), n);
      second[c] += x * x.transpose(), ++count[c];
    }
  });
  FeatureDomain out;
  std::vector<double> largest(classes, 0);
  for (std::size_t c = 0; c < classes; ++c) {
    const Mat6 S = second[c] / static_cast<double>(std::max(1l, count[c]));
    const double mean = S.trace() > 0 ? S.trace() / 6 : 1.0;
    out.inverse.push_back((S + 1e-6 * mean * Mat6::Identity()).inverse());
  }
  each_sample(data, runs, [&](const DataSample& s) {
    for (std::size_t n = 0; n < term.bodies().size(); ++n) {
      const auto c = static_cast<std::size_t>(term.classes().of[n]);
      largest[c] = std::max(largest[c], out.leverage(static_cast<int>(c), term.seen(s.bodies, data.around(s), n)));
    }
  });
  for (std::size_t c = 0; c < classes; ++c)
    if (largest[c] > 0) out.inverse[c] /= largest[c];
  return out;
}

}  // namespace invar
