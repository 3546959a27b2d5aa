// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/term/drag.hpp"

namespace invar {

Drag::Drag(const Model& model, std::vector<int> bodies, Sharing sharing) : bodies_(std::move(bodies)) {
  std::vector<std::string> names;
  for (const int b : bodies_) names.push_back(model.body_name(b));
  classes_ = classes_of(names, sharing, "all bodies");
}

std::string Drag::label(int k) const {
  constexpr const char* kSizes[] = {"", " times |v|", " times |w|"};
  constexpr const char* kAxes[] = {"x", "y", "z"};
  const int column = k % kPerBody;
  return std::string(column % 6 < 3 ? "drag force " : "drag moment ") + kAxes[column % 3] + kSizes[column / 6] + " of '" +
         classes_.names[static_cast<std::size_t>(k / kPerBody)] + "'";
}

std::string Drag::unit(int k) const {
  constexpr const char* kUnits[] = {"N s/m", "N m s/rad", "N s²/m²", "N s²/rad", "N s²/(m rad)", "N m s²/rad²"};
  const int column = k % kPerBody;
  return kUnits[2 * (column / 6) + (column % 6 < 3 ? 0 : 1)];
}

void Drag::add(const Bodies& bodies, const Surroundings& around, const double* coefficients, Port& port) const {
  for (std::size_t n = 0; n < bodies_.size(); ++n) {
    const auto b = static_cast<std::size_t>(bodies_[n]);
    const BodyState& at = bodies[b];
    const Mat3 R = at.q_WB.toRotationMatrix();
    const Vec3 u = R.transpose() * (at.v_WC - around.flow), w = R.transpose() * at.w_WB;
    const Eigen::Map<const Eigen::Matrix<double, 6, 3>> c(coefficients + kPerBody * classes_.of[n]);
    const Vec6 sum = c * Vec3(1.0, u.norm(), w.norm());
    port[b].force -= R * sum.head<3>().cwiseProduct(u);
    port[b].moment -= R * sum.tail<3>().cwiseProduct(w);
  }
}

}  // namespace invar
