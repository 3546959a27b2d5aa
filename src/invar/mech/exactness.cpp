// SPDX-License-Identifier: Apache-2.0
// A joint whose frames F and M are carried along by one displacement D of the World, X_WF' = D X_WF and X_WM' = D X_WM, keeps its
// coordinates, since X_FM = X_WF⁻¹ X_WM stays. So loops stay closed while lengths and axes change: on the parent
// X_PF' = X_WP⁻¹ D X_WP X_PF, on the child likewise. The rank at a random D per joint is the generic one with probability one,
// and a self-stress that is gone shows with a singular value of the size of the displacement, 1e-3, or its square: far above the
// 1e-10 of the rank decision.
//
// The self-stresses that live in a group of joints number the trace of P over its rows, the sum of the shares; a group whose
// sum falls relies on exact dimensions.
#include "invar/mech/exactness.hpp"

#include <algorithm>

#include "invar/base/random.hpp"
#include "invar/mech/kkt_assembly.hpp"
#include "invar/mech/redundancy.hpp"

namespace invar {
namespace {

constexpr double kOff = 1e-3;  // relative displacement
constexpr std::uint64_t kSeed = 1;

Vec3 random_vector(Random& random, double size) {
  const double x = random.normal(), y = random.normal(), z = random.normal();
  return size * Vec3(x, y, z);
}

Pose body_frame(const Model& model, const Bodies& bodies, int body) {
  if (body == kWorld) return {};
  const BodyState& s = bodies[static_cast<std::size_t>(body)];
  return {s.q_WB, s.p_WC - s.q_WB * model.bodies()[static_cast<std::size_t>(body)].inertia.p_BC};
}

// The same mechanism with every joint displaced a little.
Model displaced(const Model& model, const Bodies& bodies) {
  Random random(kSeed);
  std::vector<Pose> X_PF, X_CM;
  for (const Joint& joint : model.joints()) {
    const Pose X_WP = body_frame(model, bodies, joint.parent), X_WC = body_frame(model, bodies, joint.child);
    const Vec3 at = (X_WC * joint.X_CM).p;
    const Quat turn = exp_so3(random_vector(random, kOff));
    const Pose D{turn, at + random_vector(random, kOff * model.length()) - turn * at};
    X_PF.push_back(X_WP.inverse() * D * X_WP * joint.X_PF);
    X_CM.push_back(X_WC.inverse() * D * X_WC * joint.X_CM);
  }
  return model.with_joint_frames(X_PF, X_CM);
}

Redundancy redundancy_of(const Bodies& bodies, KktAssembly& assembly) {
  assembly.fill(bodies, KktInput{});
  FrontSolver solver(assembly.problem().structure);
  return analyse(assembly.problem(), solver);
}

double self_stresses_of(const KktStructure& structure, const Redundancy& redundancy, const std::vector<int>& blocks) {
  double sum = 0;
  for (const int b : blocks) sum += redundancy.share.segment(structure.block(b).first_row, structure.block(b).rows).sum();
  return sum;
}

}  // namespace

Exactness exactness(const Model& model, const Bodies& bodies) {
  Exactness out;
  KktAssembly assembly(model);
  const Redundancy given = redundancy_of(bodies, assembly);
  const Model other = displaced(model, bodies);
  KktAssembly other_assembly(other);
  const Redundancy generic = redundancy_of(bodies, other_assembly);
  if (!given.verdict.ok() || !generic.verdict.ok()) return out;

  out.decided = true;
  out.rank = given.rank, out.mobility = given.mobility;
  out.generic_rank = std::max(given.rank, generic.rank);
  out.generic_mobility = std::min(given.mobility, generic.mobility);
  const KktStructure& structure = assembly.problem().structure;
  for (const std::vector<int>& group : given.groups) {
    // Whole numbers, but for round-off.
    if (self_stresses_of(structure, generic, group) > self_stresses_of(structure, given, group) - 0.5) continue;
    for (const int b : group)
      if (const int j = assembly.joint_of_block(b); j >= 0) out.joints.push_back(j);
  }
  std::sort(out.joints.begin(), out.joints.end());
  out.joints.erase(std::unique(out.joints.begin(), out.joints.end()), out.joints.end());
  return out;
}

}  // namespace invar
