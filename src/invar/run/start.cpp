// SPDX-License-Identifier: Apache-2.0
#include "invar/run/start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/joint_tree.hpp"
#include "invar/mech/travel.hpp"

namespace invar {

namespace {

constexpr int kLegs = 64;  // on the way to what was named

// Bodies in which the joints that were named are as named, and what closes loops follows, from assembled ones nearby. Nothing
// where they are too many, or loops do not let them go there: coordinates travel from where they are, so a branch is kept.
std::optional<Bodies> as_named(const Model& model, const Start& start, const Bodies& assembled, const VecX& turns) {
  std::vector<int> freedoms;
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (start.named[j] && joint.nq != joint.nv) return {};
    for (int k = 0; start.named[j] && k < joint.nv; ++k)
      if (start.names(model, j, k)) freedoms.push_back(joint.v0 + k);
  }
  JointTree tree(model, freedoms);
  if (tree.rows() == 0 || freedoms.empty()) return {};
  const VecX wound = wound_at(model, assembled, turns);
  VecX q, v;
  tree.measure(assembled, wound, q, v);
  if (!tree.choose(q, wound).ok()) return {};
  VecX u = VecX::Zero(tree.nv());
  std::size_t held = 0;
  for (const int i : tree.independent()) {
    const int of_model = tree.freedom_of_model(i);
    if (of_model < 0 || std::find(freedoms.begin(), freedoms.end(), of_model) == freedoms.end()) continue;
    ++held;
    const Joint& joint = model.joints()[static_cast<std::size_t>(tree.joint_of(i))];
    u[i] = start.joints.q[joint.q0 + of_model - joint.v0] - q[tree.coordinate_of(i)];
    v[i] = start.joints.v[of_model];
  }
  if (held != freedoms.size()) return {};
  Bodies bodies;
  VecX next;
  MatX E;
  Travel travel(model, freedoms, assembled, wound);
  const auto leads = [&](int i) { return tree.freedom_of_model(i) == freedoms[0]; };
  for (double done = 0; done < 1;) {
    // What depends is sent ahead along the motion: near a singular configuration, where branches meet, it would go astray.
    const double leg = 1 - done < 1.5 / kLegs ? 1 - done : 1.0 / kLegs;
    VecX ahead = u;
    tree.place(q, v, bodies);
    if (tree.motions(bodies, wound, E).ok()) {
      ahead.setZero();
      for (std::size_t i = 0; i < tree.independent().size(); ++i)
        ahead += u[tree.independent()[i]] * E.col(static_cast<Eigen::Index>(i));
    }
    // Through a singular configuration along its branch, where one freedom leads.
    if (const auto lead = std::find_if(tree.independent().begin(), tree.independent().end(), leads); held == 1 && u[*lead] != 0) {
      const int i = *lead;
      const double aim = q[tree.coordinate_of(i)] + (1 - done) * u[i];
      const Travel::Way way = travel.step((1 - done) * ahead, leg / (1 - done), i, (1 - done) * u[i], v[i], q, v);
      if (way == Travel::Way::Arrived) {
        tree.place(q, v, bodies);
        return bodies;
      }
      if (way == Travel::Way::Passed) {
        done = 1 - (aim - q[tree.coordinate_of(i)]) / u[i];
        v[i] = start.joints.v[freedoms[0]];
        if (!tree.choose(q, wound).ok() || std::none_of(tree.independent().begin(), tree.independent().end(), leads)) return {};
        continue;
      }
    }
    tree.retract(q, leg * ahead, next);
    q = next;
    if (!tree.complete(q, v, wound, bodies).ok()) return {};
    done = leg == 1 - done ? 1 : done + leg;
  }
  return bodies;
}

// Where a start stands in a singular configuration: rank there against rank where [initial] closes.
std::vector<std::string> where_branches_meet(const Model& model, const Bodies& bodies, const VecX& wound) {
  const JointState initial = JointState::initial(model);
  const VecX turns = initial.turns(model);
  const auto assembled = make_consistent(model, place(model, initial), 1e-9, turns);
  if (!assembled) return {};
  Loops loops(model);
  loops.measure_lengths(bodies);
  const auto ranks = [&](const Bodies& at, const VecX& on, int& rank) {
    VecX q, v;
    loops.tree().measure(at, on, q, v);
    loops.place(q, on);
    rank = loops.tree_rows();
    for (std::size_t g = 0; g < loops.groups().size(); ++g) rank += rank_of(loops, g, 0).rank;
  };
  int here = 0, regular = 0;
  ranks(bodies, wound, here);
  ranks(*assembled, wound_at(model, *assembled, turns), regular);
  if (here >= regular) return {};
  return {
      fmt::format("starts in a singular configuration, where rank is {} and mobility {}: branches meet there, and the one that "
                  "[initial] lies on was taken",
                  here, 6 * static_cast<int>(model.bodies().size()) - here)};
}

}  // namespace

Result<Bodies> bodies_at(const Model& model, const Start& start) {
  Bodies guess = start.by_bodies ? start.bodies : place(model, start.joints);
  const VecX turns = start.turns(model);
  // From [initial], where it closes: what was named may lie far away, where the nearest assembly is on another branch.
  if (start.project && !start.by_bodies && !start.named.empty()) {
    const JointState initial = JointState::initial(model);
    const VecX there = initial.turns(model);
    if (const auto assembled = make_consistent(model, place(model, initial), start.tolerance, there))
      if (auto named = as_named(model, start, *assembled, there)) return *named;
  }
  if (start.project) {
    auto assembled = make_consistent(model, std::move(guess), start.tolerance, turns);
    if (!assembled || start.by_bodies || start.named.empty()) return assembled;
    if (auto named = as_named(model, start, *assembled, turns)) return *named;
    return assembled;
  }
  if (auto fine = expect_consistent(model, guess, start.tolerance, turns); !fine) {
    Error error = fine.error();
    error.what += "; say consistent = \"project\" to move the start onto the joints";
    return tl::unexpected(error);
  }
  return guess;
}

Result<State> state_at(Formulation& formulation, const Start& start) {
  auto bodies = bodies_at(formulation.model(), start);
  if (!bodies) return tl::unexpected(bodies.error());
  State x;
  formulation.set(*bodies, x, start.turns(formulation.model()));
  return x;
}

std::vector<std::string> displaced(const Formulation& formulation, const Start& start, const State& x) {
  std::vector<std::string> out;
  if (start.by_bodies || start.named.empty()) return out;
  const Model& model = formulation.model();
  Bodies bodies;
  formulation.bodies(x, bodies);
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  unwind(model, x.wound, q);
  out = where_branches_meet(model, bodies, x.wound);
  const auto compare = [&](const Joint& joint, const char* what, double named, double is) {
    if (std::abs(is - named) > 1e-6 * (1 + std::abs(named)))
      out.push_back(
          fmt::format("joint '{}' starts with {} = {:.6g}, not {:.6g} as named: loops or couplings do not allow it with the "
                      "other joints as they are",
                      joint.name, what, is, named));
  };
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (!start.named[j]) continue;
    // Attitudes are not numbers to compare one by one.
    for (int k = 0; k < joint.nq && joint.nq == joint.nv; ++k)
      if (start.names(model, j, k)) compare(joint, "q", start.joints.q[joint.q0 + k], q[joint.q0 + k]);
    for (int k = 0; k < joint.nv; ++k)
      if (start.names(model, j, k)) compare(joint, "v", start.joints.v[joint.v0 + k], v[joint.v0 + k]);
  }
  return out;
}

}  // namespace invar
