// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/scales.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "invar/base/disjoint_sets.hpp"
#include "invar/base/index.hpp"
#include "invar/model/arms.hpp"

namespace invar {
namespace {

// A body without arms is not taken for smaller than this part of its connected part: arms that are round-off (1e-16) stay far
// below the sines that count (RankTolerance).
constexpr double kSmallest = 1e-6;

// Calls add(body, joint point in the body's frame) for every end of a joint that carries reactions.
template <class Add>
void at_ends(const Model& model, const Add& add) {
  for (const Joint& joint : model.joints()) {
    if (joint.rows() == 0) continue;
    if (joint.parent != kWorld) add(joint.parent, joint.X_PF.p);
    add(joint.child, joint.X_CM.p);
  }
}

// The length of a body whose joint points all lie at its centre of mass: its radius of gyration. Nothing but its rotation is
// measured by it, so it changes no rank; with the length of a large part a small wheel would seem to have no inertia.
double without_arms(const Inertia& inertia, double whole) {
  const double square = inertia.mass > 0 ? 0.5 * inertia.I_C.trace() / inertia.mass : 0.0;
  return square > 0 ? std::max(std::sqrt(square), kSmallest * whole) : whole;
}

Piece piece_of(const Model& model, std::vector<int> bodies) {
  Piece piece{std::move(bodies), {}, {}};
  std::vector<bool> here(model.bodies().size(), false);
  for (const int b : piece.bodies) here[size(b)] = true;
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j)
    if (here[size(model.joints()[size(j)].child)]) piece.joints.push_back(j);
  for (int c = 0; c < static_cast<int>(model.couplings().size()); ++c)
    if (here[size(model.joints()[size(model.couplings()[size(c)].joint)].child)]) piece.couplings.push_back(c);
  return piece;
}

std::vector<std::vector<int>> members_of(const Scales& scales) {
  std::vector<std::vector<int>> members(scales.parts.size());
  for (std::size_t b = 0; b < scales.part_of_body.size(); ++b)
    members[size(scales.part_of_body[b])].push_back(static_cast<int>(b));
  return members;
}

}  // namespace

double power_of_two(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);  // in [1/2, 1)
  return std::ldexp(1.0, fraction > std::sqrt(0.5) ? exponent : exponent - 1);
}

Scales scales_of(const Model& model) {
  const std::size_t bodies = model.bodies().size();
  const std::vector<Joint>& joints = model.joints();
  DisjointSets connected(bodies);
  for (const Joint& j : joints)
    if (j.parent != kWorld) connected.join(j.parent, j.child);
  for (const Coupling& c : model.couplings()) connected.join(joints[size(c.joint)].child, joints[size(c.of)].child);

  Scales scales;
  scales.part_of_body.assign(bodies, -1);
  scales.body_length.assign(bodies, 1.0);
  scales.ends_of_body.assign(bodies, 0);
  std::vector<int> number(bodies, -1);
  for (std::size_t b = 0; b < bodies; ++b) {
    int& part = number[size(connected.find(static_cast<int>(b)))];
    if (part < 0) {
      part = static_cast<int>(scales.parts.size());
      scales.parts.emplace_back();
    }
    scales.part_of_body[b] = part;
    ++scales.parts[size(part)].bodies;
  }
  for (const Joint& j : joints) {
    if (j.rows() == 0) continue;
    for (const int b : {j.parent, j.child})
      if (b != kWorld) ++scales.ends_of_body[size(b)], ++scales.parts[size(scales.part_of_body[size(b)])].ends;
  }
  measure(model, scales);
  return scales;
}

void measure(const Model& model, Scales& scales) {
  const std::vector<Body>& bodies = model.bodies();
  // Sums first, in the order of the model: those of a part do not depend on what stands between.
  for (Scales::Part& part : scales.parts) part.length = part.mass = 0;
  std::fill(scales.body_length.begin(), scales.body_length.end(), 0.0);
  for (std::size_t b = 0; b < bodies.size(); ++b) scales.parts[size(scales.part_of_body[b])].mass += bodies[b].inertia.mass;
  at_ends(model, [&](int b, const Vec3& p_BJ) {
    const double square = arm_squared(p_BJ, bodies[size(b)].inertia.p_BC);
    scales.parts[size(scales.part_of_body[size(b)])].length += square;
    scales.body_length[size(b)] += square;
  });
  for (Scales::Part& part : scales.parts) {
    part.length = part.length > 0 ? std::sqrt(part.length / part.ends) : 1.0;
    part.mass = power_of_two(part.mass > 0 ? part.mass / part.bodies : 1.0);
  }
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const double whole = scales.parts[size(scales.part_of_body[b])].length;
    const double own = std::sqrt(scales.body_length[b] / std::max(1, scales.ends_of_body[b]));
    scales.body_length[b] = power_of_two(own > kNoArm * whole ? own : without_arms(bodies[b].inertia, whole));
  }
}

Piece whole_piece(const Model& model) {
  std::vector<int> all(model.bodies().size());
  std::iota(all.begin(), all.end(), 0);
  return piece_of(model, std::move(all));
}

std::vector<Piece> pieces_by_part(const Model& model, const Scales& scales) {
  std::vector<Piece> out;
  for (std::vector<int>& members : members_of(scales)) out.push_back(piece_of(model, std::move(members)));
  return out;
}

std::vector<Piece> pieces_by_loops(const Model& model, const Scales& scales) {
  if (scales.parts.size() == 1) return {whole_piece(model)};
  // A joint that holds something between bodies that are connected already closes a loop; here the ground connects.
  const int ground = static_cast<int>(model.bodies().size());
  DisjointSets connected(model.bodies().size() + 1);
  std::vector<bool> loops(scales.parts.size(), false);
  for (const Joint& joint : model.joints())
    if (joint.rows() > 0 && !connected.join(joint.parent == kWorld ? ground : joint.parent, joint.child))
      loops[size(scales.part_of_body[size(joint.child)])] = true;
  for (const Coupling& c : model.couplings()) loops[size(scales.part_of_body[size(model.joints()[size(c.joint)].child)])] = true;
  std::vector<Piece> out;
  std::vector<int> rest;
  std::vector<std::vector<int>> members = members_of(scales);
  for (std::size_t p = 0; p < members.size(); ++p) {
    if (loops[p])
      out.push_back(piece_of(model, std::move(members[p])));
    else
      rest.insert(rest.end(), members[p].begin(), members[p].end());
  }
  std::sort(rest.begin(), rest.end());
  if (!rest.empty()) out.push_back(piece_of(model, std::move(rest)));
  return out;
}

}  // namespace invar
