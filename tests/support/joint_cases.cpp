// SPDX-License-Identifier: Apache-2.0
#include "support/joint_cases.hpp"

#include <cmath>

#include "invar/io/model_file.hpp"
#include "invar/mech/constrained_inverse.hpp"
#include "invar/mech/kinematics.hpp"
#include "support/campaign.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/places.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// A loop that moves in all its positions, with other bodies: mass properties are drawn, velocities are zero.
JointCase drawn_loop(int k) {
  static const char* const kNames[] = {"four_bar",     "hydraulic_crane",       "six_bar",
                                       "slider_crank", "series_parallel_plant", "stewart"};
  const std::string name = kNames[k % 6];
  Random random(9101, static_cast<std::uint64_t>(k));
  JointCase out{*read_model_file(source_path("models/") + name + ".toml"), shipped(name).start, std::to_string(k) + ": " + name};
  for (std::size_t b = 0; b < out.spec.bodies.size(); ++b) {
    Inertia& inertia = out.spec.bodies[b].inertia;
    BodyState& at = out.start[b];
    const Vec3 origin = at.p_WC - at.q_WB * inertia.p_BC;
    if (inertia.mass > 0) inertia = random_inertia(random, inertia.mass * std::pow(10, random.uniform(-1, 1)), 0.3);
    at.p_WC = origin + at.q_WB * inertia.p_BC;
    at.v_WC = at.w_WB = Vec3::Zero();
  }
  return out;
}

}  // namespace

JointCase drawn_joint_case(int k, bool passive) {
  if (k % 3 == 2) return drawn_loop(k / 3);
  MechanismOptions o;
  o.bodies = 2 + k % 5;
  o.passive = passive, o.locked = false;
  o.mass_ratio = k % 2 == 0 ? 10 : 1e3;
  o.reach = k % 4 == 1 ? 50 : 0.5;
  o.kinds = {JointKind::Revolute, JointKind::Prismatic, JointKind::Cylindrical, JointKind::Universal};
  const Sample s = random_sample(seed(9100) + static_cast<std::uint64_t>(k), o);
  JointCase out{s.mechanism.spec, s.bodies, std::to_string(k) + ": " + describe(s.mechanism.spec)};
  for (JointSpec& j : out.spec.joints) j.armature.clear();
  return out;
}

std::vector<JointAim> independent_aims(const Model& model, const Bodies& bodies) {
  ConstrainedInverse inverse(model);
  Accelerations w(model.bodies().size());
  VecX unit = VecX::Zero(model.nv()), rates = unit;
  MatX G = MatX::Zero(model.nv(), model.nv());
  if (!inverse.at(bodies).ok()) return {};
  for (Eigen::Index k = 0; k < unit.size(); ++k) {
    unit[k] = 1;
    if (!inverse.apply(nullptr, &unit, w).ok()) return {};
    inverse.rates(w, rates);
    G.col(k) = rates, unit[k] = 0;
  }
  std::vector<JointAim> aims;
  const VecX at_first = G.diagonal();
  while (static_cast<int>(aims.size()) < inverse.freedoms()) {
    Eigen::Index best = -1;
    int joint = 0, freedom = 0;
    for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
      const Joint& each = model.joints()[static_cast<std::size_t>(j)];
      for (int k = 0; k < each.nv && each.nq == each.nv; ++k)
        if (const Eigen::Index i = each.v0 + k;
            G(i, i) > 1e-3 * at_first[i] && (best < 0 || G(i, i) / at_first[i] > G(best, best) / at_first[best]))
          best = i, joint = j, freedom = k;
    }
    if (best < 0) return {};
    const VecX column = G.col(best) / std::sqrt(G(best, best));
    G -= column * column.transpose();
    aims.push_back({joint, freedom, {}});
  }
  return aims;
}

std::vector<JointAim> aims_from(const Model& model, const Bodies& start, bool moving) {
  std::vector<JointAim> out = independent_aims(model, start);
  VecX q(model.nq()), v(model.nv());
  joint_coordinates(model, start, q, v);
  for (JointAim& aim : out) {
    const Joint& joint = model.joints()[static_cast<std::size_t>(aim.joint)];
    const double q0 = q[joint.q0 + aim.freedom], v0 = moving ? v[joint.v0 + aim.freedom] : 0.0;
    const double swing = moving ? 0.02 : 0.0;
    aim.path = [=](Instant at) {
      const double sine = std::sin(3 * at.t), cosine = std::cos(3 * at.t);
      return Jet{q0 + v0 / 3 * sine + swing * (1 - cosine), v0 * cosine + 3 * swing * sine, -3 * v0 * sine + 9 * swing * cosine};
    };
  }
  return out;
}

}  // namespace invar::testing
