// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/term/raw_world.hpp"

#include <cmath>

namespace invar {

RawWorldTerm::RawWorldTerm(const Model& model, Sharing sharing, std::shared_ptr<const Features> features, FeatureScales scales,
                           double attitude, const Quat& seen_from)
    : features_(std::move(features)), scales_(scales), attitude_(attitude), turn_(seen_from.toRotationMatrix()) {
  std::vector<std::string> names;
  for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b) bodies_.push_back(b), names.push_back(model.body_name(b));
  classes_ = classes_of(names, sharing, "all bodies");
}

std::string RawWorldTerm::label(int k) const {
  const int per_class = 6 * features_->count();
  return "World function " + std::to_string(k % per_class / 6 + 1) + " of '" +
         classes_.names[static_cast<std::size_t>(k / per_class)] + "'";
}

Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 15, 1> RawWorldTerm::seen(const Bodies& bodies, const Surroundings& around,
                                                                      std::size_t n) const {
  const BodyState& at = bodies[static_cast<std::size_t>(bodies_[n])];
  Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 15, 1> x(inputs(attitude_));
  x.head<3>() = turn_ * (at.v_WC - around.flow) / scales_.v;
  x.segment<3>(3) = turn_ * at.w_WB / scales_.w;
  if (attitude_ > 0) {
    const Mat3 R = turn_ * at.q_WB.toRotationMatrix();
    x.tail<9>() = attitude_ * std::sqrt(3.0) * R.reshaped();
  }
  return x;
}

}  // namespace invar
