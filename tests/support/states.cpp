// SPDX-License-Identifier: Apache-2.0
#include "support/states.hpp"

#include <Eigen/Dense>

#include "support/dense_kkt.hpp"

namespace invar::testing {

Model build(const ModelSpec& spec) {
  Result<Model> model = Model::build(spec);
  if (!model) std::fprintf(stderr, "a test drew a bad model: %s\n", model.error().text().c_str()), std::abort();
  return std::move(*model);
}

Bodies at_rest(const Model& model, const std::vector<Pose>& X_WB) {
  Bodies bodies(X_WB.size());
  for (std::size_t b = 0; b < X_WB.size(); ++b) {
    bodies[b].q_WB = normalized(X_WB[b].q);
    bodies[b].p_WC = X_WB[b] * model.bodies()[b].inertia.p_BC;
  }
  return bodies;
}

void draw_velocities(Random& random, const Model& model, Bodies& bodies, double linear, double angular) {
  for (BodyState& b : bodies) {
    b.v_WC = random_vector(random, linear);
    b.w_WB = random_vector(random, angular);
  }
  MatX J = constraint_jacobian(model, bodies);
  if (J.rows() == 0) return;
  const Eigen::Index n = J.cols() / 2;
  J.rightCols(n) /= model.length();
  VecX nu = stacked_velocity(bodies);
  nu.tail(n) *= model.length();
  // Orthogonal projection on ker J, twice: the second pass removes what round-off left.
  Eigen::CompleteOrthogonalDecomposition<MatX> cod(J);
  cod.setThreshold(1e-10);
  for (int pass = 0; pass < 2; ++pass) nu -= cod.solve(J * nu);
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const auto i = static_cast<Eigen::Index>(b);
    bodies[b].v_WC = nu.segment<3>(3 * i);
    bodies[b].w_WB = nu.segment<3>(n + 3 * i) / model.length();
  }
}

Load random_load(Random& random, const Model& model, double size) {
  Load load(model);
  const double force = size * model.mean_mass();
  for (Wrench& w : load.port) {
    w.force = random_vector(random, force);
    w.moment = random_vector(random, force * model.length());
  }
  for (double& e : load.efforts) e = force * model.length() * random.normal();
  return load;
}

Sample random_sample(std::uint64_t seed, const MechanismOptions& options) {
  Random random(seed);
  Mechanism mechanism = random_mechanism(random, options);
  Model model = build(mechanism.spec);
  Bodies bodies = at_rest(model, mechanism.X_WB);
  draw_velocities(random, model, bodies);
  Load load = random_load(random, model);
  return {std::move(mechanism), std::move(model), std::move(bodies), std::move(load)};
}

std::string describe(const ModelSpec& spec) {
  std::string text = std::to_string(spec.bodies.size()) + " bodies;";
  for (const JointSpec& j : spec.joints)
    text += " " + j.parent + "-" + name(j.kind) + (j.locked ? "(locked)" : "") + "-" + j.child;
  for (const CouplingSpec& c : spec.couplings) text += " coupling " + c.joint + "/" + c.of;
  return text;
}

}  // namespace invar::testing
