// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/term/features.hpp"

#include <algorithm>
#include <cmath>

namespace invar {

// Of the amplitude: from 1 to 2 it falls like 1 - s²(3 - 2s).
double faded(double leverage) {
  const double s = std::clamp(std::sqrt(leverage) - 1, 0.0, 1.0);
  return 1 - s * s * (3 - 2 * s);
}

FeatureTerm::FeatureTerm(const Model& model, std::vector<int> bodies, Sharing sharing, std::shared_ptr<const Features> features,
                         FeatureScales scales, FeatureDomain domain)
    : bodies_(std::move(bodies)), features_(std::move(features)), scales_(scales), domain_(std::move(domain)) {
  std::vector<std::string> names;
  for (const int b : bodies_) names.push_back(model.body_name(b));
  classes_ = classes_of(names, sharing, "all bodies");
}

std::string FeatureTerm::label(int k) const {
  constexpr const char* kDirections[] = {"force x", "force y", "force z", "moment x", "moment y", "moment z"};
  const int per_class = 6 * features_->count();
  return features_->label(k % per_class / 6) + " in " + kDirections[k % 6] + " of '" +
         classes_.names[static_cast<std::size_t>(k / per_class)] + "'";
}

Vec6 FeatureTerm::seen(const Bodies& bodies, const Surroundings& around, std::size_t n) const {
  const BodyState& at = bodies[static_cast<std::size_t>(bodies_[n])];
  Vec6 x;
  x << at.q_WB.conjugate() * (at.v_WC - around.flow) / scales_.v, at.q_WB.conjugate() * at.w_WB / scales_.w;
  return x;
}

double FeatureTerm::values_at(const Bodies& bodies, const Surroundings& around, std::size_t n, const Mat3& R,
                              double* values) const {
  const BodyState& at = bodies[static_cast<std::size_t>(bodies_[n])];
  Vec6 x;
  x << R.transpose() * (at.v_WC - around.flow) / scales_.v, R.transpose() * at.w_WB / scales_.w;
  const double fade = domain_.empty() ? 1.0 : faded(domain_.leverage(classes_.of[n], x));
  if (fade > 0)
    features_->at(x.data(), values);
  else
    std::fill(values, values + features_->count(), 0.0);
  return fade;
}

void FeatureTerm::add(const Bodies& bodies, const Surroundings& around, const double* coefficients, Port& port) const {
  double values[Features::kMost];
  const int count = features_->count();
  for (std::size_t n = 0; n < bodies_.size(); ++n) {
    const auto b = static_cast<std::size_t>(bodies_[n]);
    const Mat3 R = bodies[b].q_WB.toRotationMatrix();
    const double fade = values_at(bodies, around, n, R, values);
    const double* c = coefficients + 6 * count * classes_.of[n];
    Vec6 sum = Vec6::Zero();
    for (int i = 0; i < count; ++i, c += 6) sum += values[i] * Eigen::Map<const Vec6>(c);
    port[b].force += R * (fade * sum.head<3>());
    port[b].moment += R * (fade * sum.tail<3>());
  }
}

double FeatureTerm::leverage(const Bodies& bodies, const Surroundings& around) const {
  double largest = 0;
  for (std::size_t n = 0; n < bodies_.size() && !domain_.empty(); ++n)
    largest = std::max(largest, domain_.leverage(classes_.of[n], seen(bodies, around, n)));
  return std::sqrt(largest);
}

}  // namespace invar
