// SPDX-License-Identifier: Apache-2.0
#include "invar/run/start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "invar/base/random.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/joint_tree.hpp"
#include "invar/run/start_names.hpp"

namespace invar {

namespace {

// [initial], assembled, and the turns its angles are on.
struct Initial {
  std::optional<Bodies> bodies;
  VecX turns;
};

// The start that names what [initial] names.
Start named_by_initial(const Model& model) {
  Start out(model);
  out.named = model.initial_named();
  return without_rates(std::move(out));
}

// Whether a start is [initial] and nothing else.
bool is_initial(const Model& model, const Start& start) {
  return std::none_of(start.named.begin(), start.named.end(), [](bool named) { return named; }) &&
         start.joints.q == model.initial_q() && start.joints.v.isZero(0);
}

// Closed bodies, and how far from names they are.
struct Closed {
  Bodies bodies;
  double off;
};

// Joints that [initial] names lead from closed bodies to where it has them, as far as loops let them. Where names contradict each
// other, those that lead are as named, and the others follow.
Closed led_to_initial(const Model& model, Bodies near, const VecX& turns) {
  const Start names = named_by_initial(model);
  const std::vector<int> leaders = named_freedoms(model, names);
  if (leaders.empty() || JointTree(model).rows() == 0) return {std::move(near), 0};
  const VecX wound = wound_at(model, near, turns);
  const double off = off_names(model, names, near, wound);
  if (off <= AsNamed::kBound) return {std::move(near), off};
  Travel travel(model, leaders, near, wound, named_attitudes(model, names));
  if (!travel.go(names.joints.q, named_rates(model, names))) return {std::move(near), off};
  const double there = off_names(model, names, travel.bodies(), wound);
  return there < off ? Closed{travel.bodies(), there} : Closed{std::move(near), off};
}

// What values of [initial] that somebody has rounded may be off by, rad or parts of the length.
constexpr double kRounded = 1e-3;

// Loops closed as [initial] says. Joints that it does not name begin at zero; where loops do not close from there (links that lie
// in one line resist every way out to first order), or close on another branch than the one that is named, they are tried
// elsewhere, further away each time; always the same places.
Result<Bodies> assembled_initial(const Model& model, double tolerance) {
  constexpr int kTries = 24;
  const JointState initial = JointState::initial(model);
  const VecX turns = initial.turns(model);
  auto first = make_consistent(model, place(model, initial), tolerance, turns);
  if (!first && first.error().kind != ErrorKind::State) return first;
  std::optional<Closed> best;
  if (first) best = led_to_initial(model, std::move(*first), turns);
  const AsNamed measure(model);
  Random random(1);
  for (int k = 0; k < kTries && !(best && best->off <= kRounded); ++k) {
    JointState joints = initial;
    const double far = 0.1 * std::exp2(0.25 * k);  // rad, or lengths: up to a turn
    bool moved = false;
    for (std::size_t j = 0; j < model.joints().size(); ++j) {
      const Joint& joint = model.joints()[j];
      for (int i = 0; i < joint.nv && joint.nq == joint.nv && !model.initial_named()[j]; ++i, moved = true)
        joints.q[joint.q0 + i] += far * measure.unit(j, i) * random.uniform(-1, 1);
    }
    if (!moved) break;
    auto other = make_consistent(model, place(model, joints), tolerance, turns);
    if (!other) continue;
    Closed led = led_to_initial(model, std::move(*other), turns);
    if (!best || led.off < best->off) best = std::move(led);
  }
  return best ? Result<Bodies>(std::move(best->bodies)) : first;
}

Initial initial_of(const Model& model, double tolerance) {
  Initial out{{}, JointState::initial(model).turns(model)};
  if (auto assembled = assembled_initial(model, tolerance)) out.bodies = std::move(*assembled);
  return out;
}

std::string configuration(const Loops& loops, const Meeting& m) {
  int rank = loops.tree_rows() + m.rank;
  for (std::size_t g = 0; g < loops.groups().size(); ++g)
    if (g != m.group) rank += rank_of(loops, g, 0).rank;
  return fmt::format("rank is {} and mobility {}", rank, 6 * static_cast<int>(loops.model().bodies().size()) - rank);
}

tl::unexpected<Error> undecided(const NamedBranches& branches, const std::string& why) {
  return fail(ErrorKind::State, fmt::format("{}: {}, and nothing that is named chooses one; rates would choose ({})", why,
                                            branches.count(), branches.words()));
}

// Rates that the rows allow where they are singular, and no motion has.
tl::unexpected<Error> on_no_branch(const NamedBranches& branches, const std::string& where) {
  if (branches.size() == 0 && !branches.several())
    return fail(ErrorKind::State, fmt::format("the start is a singular configuration, where {}, but no motion leaves it: loops "
                                              "resist the rates that are named to second order",
                                              where));
  return fail(ErrorKind::State,
              fmt::format("the start is a singular configuration, where {}: {}, and none has the rates as "
                          "named{}",
                          where, branches.count(), branches.size() == 0 ? "" : "; they have (" + branches.words() + ")"));
}

// The freedoms and rates of one group, out of another state of the tree.
void take_group(const Loops& loops, std::size_t group, const VecX& q_from, const VecX& v_from, VecX& q, VecX& v) {
  for (const int f : loops.groups()[group].freedoms) {
    const JointNode& n = loops.tree().nodes()[loops.tree().node_of_freedom(f)];
    q.segment(n.q0, n.nq) = q_from.segment(n.q0, n.nq);
    v[f] = v_from[f];
  }
}

// From an [initial] that is singular itself: each group of loops that is goes along the one branch that is as named. Nothing
// where no group is singular, or loops do not let what is named be so.
Result<std::optional<Bodies>> from_singular(const Model& model, const Start& start, const Initial& initial) {
  const std::optional<Bodies> none;
  const std::vector<int> leaders = named_freedoms(model, start);
  Loops loops(model, leaders);
  loops.measure_lengths(*initial.bodies);
  const VecX wound = wound_at(model, *initial.bodies, initial.turns);
  VecX q, v;
  loops.tree().measure(*initial.bodies, wound, q, v);
  v.setZero();
  const VecX q0 = q;
  std::vector<std::size_t> taken;
  for (std::size_t g = 0; g < loops.groups().size(); ++g) {
    NamedBranches branches(loops, leaders, g, q0, wound, start);
    if (!branches.several()) continue;
    auto reached = branches.reached();
    if (reached.empty()) {
      // Rates that contradict each other give way on the branch that positions choose.
      reached = branches.reached(NamedBranches::By::Positions);
      if (reached.size() != 1) return none;
    }
    if (reached.size() > 1) {
      if (!start.motion) return none;
      return undecided(branches, "[initial] is a singular configuration, where " + configuration(loops, branches.meeting()));
    }
    take_group(loops, g, reached[0].q, reached[0].v, q, v);
    taken.push_back(g);
  }
  if (taken.empty()) return none;
  Bodies bodies(model.bodies().size());
  loops.tree().place(q, v, bodies);
  // What else is named, in loops that are regular and outside of them.
  Travel travel(model, leaders, bodies, wound, named_attitudes(model, start));
  for (const std::size_t g : taken) travel.keep(g);
  if (travel.go(start.joints.q, named_rates(model, start))) return travel.bodies();
  return off_names(model, start, bodies, wound) <= AsNamed::kBound ? std::optional<Bodies>(bodies) : none;
}

// From a regular configuration, or one that nobody has asked about. Where loops arrive next to a singular configuration and rates
// are not as named, another branch through it may have them.
Result<std::optional<Bodies>> from_regular(const Model& model, const Start& start, const Bodies& from, const VecX& turns) {
  const std::vector<int> leaders = named_freedoms(model, start);
  const VecX wound = wound_at(model, from, turns);
  Travel travel(model, leaders, from, wound, named_attitudes(model, start));
  if (!travel.go(start.joints.q, named_rates(model, start))) return std::optional<Bodies>();
  if (off_names(model, start, travel.bodies(), wound) <= AsNamed::kBound) return travel.bodies();
  VecX q, v;
  Loops loops(model, leaders);
  loops.measure_lengths(from);
  loops.tree().measure(travel.bodies(), wound, q, v);
  for (std::size_t g = 0; g < travel.beside().size(); ++g) {
    if (!travel.beside()[g]) continue;
    NamedBranches branches(loops, leaders, g, *travel.beside()[g], wound, start);
    const auto reached = branches.reached();
    if (reached.size() == 1) take_group(loops, g, reached[0].q, reached[0].v, q, v);
    if (reached.size() > 1 && start.motion) return undecided(branches, "[initial] does not lie on a branch that is as named");
  }
  Bodies bodies(model.bodies().size());
  loops.tree().place(q, v, bodies);
  return bodies;
}

Result<Bodies> named_bodies(const Model& model, const Start& start) {
  // From [initial], where it closes: what was named may lie far away, where the nearest assembly is on another branch.
  std::optional<Bodies> first;
  if (const Initial initial = initial_of(model, start.tolerance); initial.bodies) {
    auto named = from_singular(model, start, initial);
    if (!named) return tl::unexpected(named.error());
    if (!*named) named = from_regular(model, start, *initial.bodies, initial.turns);
    if (!named) return tl::unexpected(named.error());
    first = std::move(*named);
    if (first && off_names(model, start, *first, wound_at(model, *first, start.turns(model))) <= AsNamed::kBound) return *first;
  }
  // From what is named, as far as loops let it.
  const VecX turns = start.turns(model);
  auto assembled = make_consistent(model, place(model, start.joints), start.tolerance, turns);
  if (!assembled) return first ? Result<Bodies>(*first) : assembled;
  auto named = from_regular(model, start, *assembled, turns);
  if (!named) return tl::unexpected(named.error());
  if (*named && off_names(model, start, **named, wound_at(model, **named, turns)) <= AsNamed::kBound) return **named;
  // Names contradict each other: rates give way before positions, and both on the branch of [initial] unless elsewhere positions
  // are nearer to what is named.
  const Start places = without_rates(start);
  const auto off = [&](const Bodies& bodies) {
    return std::max(AsNamed::kBound, off_names(model, places, bodies, wound_at(model, bodies, turns)));
  };
  const Bodies* best = first ? &*first : nullptr;
  for (const Bodies* other : {*named ? &**named : nullptr, &*assembled})
    if (other != nullptr && (best == nullptr || off(*other) < off(*best))) best = other;
  return *best;
}

// Where the rows of loops are singular they allow rates that no motion has: the one branch that is as named is taken instead.
// Rates that are not as named there are not those of any branch.
Result<Bodies> on_branches(const Model& model, const Start& start, Bodies bodies) {
  const std::vector<int> leaders = named_freedoms(model, start);
  Loops loops(model, leaders);
  loops.measure_lengths(bodies);
  const VecX wound = wound_at(model, bodies, start.turns(model));
  VecX q, v;
  loops.tree().measure(bodies, wound, q, v);
  bool any = false;
  for (std::size_t g = 0; g < loops.groups().size(); ++g) {
    NamedBranches branches(loops, leaders, g, q, wound, start);
    if (!branches.without(v) && !branches.contradicted(q, v)) continue;
    const std::string where = configuration(loops, branches.meeting());
    const auto reached = branches.reached();
    if (reached.size() > 1) return undecided(branches, "the start is a singular configuration, where " + where);
    if (reached.empty()) return on_no_branch(branches, where);
    take_group(loops, g, reached[0].q, reached[0].v, q, v);
    any = true;
  }
  if (any) loops.tree().place(q, v, bodies);
  return bodies;
}

// Asks about the branches that meet at given bodies, group by group, where nothing is named that could choose.
template <class Ask>
Result<void> ask_where_branches_meet(const Model& model, const Start& start, const Bodies& bodies, const Ask& ask) {
  Loops loops(model);
  loops.measure_lengths(bodies);
  const VecX wound = wound_at(model, bodies, start.turns(model));
  VecX q, v;
  loops.tree().measure(bodies, wound, q, v);
  for (std::size_t g = 0; g < loops.groups().size(); ++g) {
    NamedBranches branches(loops, {}, g, q, wound, start);
    if (Result<void> fine = ask(loops, branches, v); !fine) return fine;
  }
  return {};
}

// The same for rates that bodies were given.
Result<void> expect_on_branches(const Model& model, const Start& start, const Bodies& bodies) {
  return ask_where_branches_meet(model, start, bodies, [](Loops& loops, NamedBranches& branches, const VecX& v) -> Result<void> {
    if (!branches.without(v)) return {};
    return on_no_branch(branches, configuration(loops, branches.meeting()));
  });
}

// A motion from [initial] at rest.
Result<void> expect_one_branch(const Model& model, const Start& start, const Bodies& bodies) {
  return ask_where_branches_meet(model, start, bodies, [](Loops& loops, NamedBranches& branches, const VecX&) -> Result<void> {
    if (!branches.several()) return {};
    return undecided(branches, "[initial] is a singular configuration, where " + configuration(loops, branches.meeting()));
  });
}

// Where a start stands in a singular configuration: which of the branches that meet there was taken, and why.
std::vector<std::string> where_branches_meet(const Model& model, const Start& start, const Bodies& bodies, const VecX& wound) {
  std::vector<std::string> out;
  const std::vector<int> leaders = named_freedoms(model, start);
  Loops loops(model, leaders);
  loops.measure_lengths(bodies);
  VecX q, v;
  loops.tree().measure(bodies, wound, q, v);
  for (std::size_t g = 0; g < loops.groups().size(); ++g) {
    NamedBranches branches(loops, leaders, g, q, wound, start);
    if (!branches.several()) continue;
    const std::string where = configuration(loops, branches.meeting());
    const std::size_t as_named = branches.reached().size();
    const char* taken[] = {"none has what is named", "the one that has the rates as named was taken",
                           "the one that [initial] lies on was taken"};
    out.push_back(fmt::format("starts in a singular configuration, where {}: {}, and {}", where, branches.count(),
                              taken[std::min<std::size_t>(as_named, 2)]));
  }
  return out;
}

// The bodies of a start whose joints are all named by their places, if by anything.
Result<Bodies> bodies_of(const Model& model, const Start& start) {
  const bool named = !start.by_bodies && !named_freedoms(model, start).empty();
  if (start.project && named && JointTree(model).rows() > 0) {
    auto bodies = named_bodies(model, start);
    return bodies ? on_branches(model, start, std::move(*bodies)) : bodies;
  }
  const VecX turns = start.turns(model);
  Bodies guess = start.by_bodies ? start.bodies : place(model, start.joints);
  if (start.project) {
    const bool initial = !start.by_bodies && is_initial(model, start);
    auto assembled =
        initial ? assembled_initial(model, start.tolerance) : make_consistent(model, std::move(guess), start.tolerance, turns);
    if (!assembled) return assembled;
    guess = std::move(*assembled);
    if (start.motion && !start.by_bodies && !named)
      if (auto fine = expect_one_branch(model, start, guess); !fine) return tl::unexpected(fine.error());
  } else if (auto fine = expect_consistent(model, guess, start.tolerance, turns); !fine) {
    Error error = fine.error();
    error.what += "; say consistent = \"project\" to move the start onto the joints";
    return tl::unexpected(error);
  }
  if (start.motion)
    if (auto fine = expect_on_branches(model, start, guess); !fine) return tl::unexpected(fine.error());
  return guess;
}

// Joints that are named by their rates alone are where the others put them, on the turn that couplings give them.
Start with_places(const Model& model, Start start) {
  if (start.by_bodies || !start.project) return start;
  Start places = without_rates(start);
  places.motion = false;
  places.joints.known = model.initial_named();
  bool all = true;
  for (std::size_t j = 0; j < start.no_place.size(); ++j)
    if (start.no_place[j]) places.named[j] = false, all = false;
  if (all) return start;
  places.joints.name(model, places.named);
  start.no_place.clear();
  const auto bodies = bodies_of(model, places);
  if (!bodies) return start;
  VecX q, v;
  joint_coordinates(model, *bodies, q, v);
  unwind(model, wound_at(model, *bodies, places.turns(model)), q);
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (start.named[j] && !places.named[j]) start.joints.q.segment(joint.q0, joint.nq) = q.segment(joint.q0, joint.nq);
  }
  return start;
}

// A drive that does not begin where the mechanism does would throw it there within the first step.
Result<Bodies> expect_drives(const Model& model, const Start& start, Bodies bodies) {
  if (start.driven.empty()) return bodies;
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  unwind(model, wound_at(model, bodies, start.turns(model)), q);
  const AsNamed measure(model);
  double most = AsNamed::kBound;
  std::string worst;
  const auto compare = [&](std::size_t j, int k, double drive, double is, const char* what, const char* per) {
    if (const double off = measure.off(j, k, is, drive); off > most) {
      const Joint& joint = model.joints()[j];
      const char* unit = joint.turns(k) ? "rad" : "m";
      most = off;
      worst = fmt::format(
          "the drive of joint '{}' begins {} {:.6g} {}{}, but loops, couplings and the joints that are named give "
          "{:.6g} {}{}: name fewer joints, or what agrees with the drive",
          freedom_name(joint, k), what, drive, unit, per, is, unit, per);
    }
  };
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    for (int k = 0; k < joint.nv && joint.nq == joint.nv; ++k) {
      if (!start.driven[static_cast<std::size_t>(joint.v0 + k)]) continue;
      compare(j, k, start.joints.q[joint.q0 + k], q[joint.q0 + k], "at", "");
      compare(j, k, start.joints.v[joint.v0 + k], v[joint.v0 + k], "with", "/s");
    }
  }
  return worst.empty() ? Result<Bodies>(std::move(bodies)) : fail(ErrorKind::State, worst);
}

}  // namespace

Result<Bodies> bodies_at(const Model& model, const Start& start) { return bodies_of(model, with_places(model, start)); }

Result<State> state_at(Formulation& formulation, const Start& given) {
  const Start start = with_places(formulation.model(), given);
  auto bodies = bodies_of(formulation.model(), start);
  if (bodies && start.motion) bodies = expect_drives(formulation.model(), start, std::move(*bodies));
  if (!bodies) {
    Error error = bodies.error();
    if (error.where.empty()) error.where = start.place ? start.place(error.what) : start.where;
    return tl::unexpected(error);
  }
  State x;
  formulation.set(*bodies, x, start.turns(formulation.model()));
  return x;
}

namespace {

// Where [initial] contradicts the loops by more than values that somebody has rounded do.
std::vector<std::string> off_initial(const Model& model, const VecX& q) {
  std::vector<std::string> out;
  const Start names = named_by_initial(model);
  const AsNamed measure(model);
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    for (int k = 0; k < joint.nq && joint.nq == joint.nv; ++k) {
      const double named = names.joints.q[joint.q0 + k], is = q[joint.q0 + k];
      if (names.names(model, j, k) && measure.off(j, k, is, named) > kRounded)
        out.push_back(
            fmt::format("joint '{}' starts with q = {:.6g}, not {:.6g} as in [initial] of the model: loops or couplings "
                        "do not allow it with the other joints that are named there",
                        joint.name, is, named));
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> displaced(const Formulation& formulation, const Start& given, const State& x) {
  std::vector<std::string> out;
  const Model& model = formulation.model();
  if (given.by_bodies) return out;
  const Start start = with_places(model, given);
  Bodies bodies;
  formulation.bodies(x, bodies);
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  unwind(model, x.wound, q);
  if (is_initial(model, start)) return off_initial(model, q);
  if (start.named.empty()) return out;
  out = where_branches_meet(model, start, bodies, x.wound);
  const AsNamed measure(model);
  const auto compare = [&](std::size_t j, int k, const char* what, double named, double is) {
    if (measure.off(j, k, is, named) > AsNamed::kBound)
      out.push_back(
          fmt::format("joint '{}' starts with {} = {:.6g}, not {:.6g} as named: loops or couplings do not allow it with the "
                      "other joints as they are",
                      model.joints()[j].name, what, is, named));
  };
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (!start.named[j]) continue;
    // Attitudes are not numbers to compare one by one.
    if (joint.nq != joint.nv)
      if (const double off = measure.off_pose(j, q, start.joints.q); start.names(model, j, 0) && off > AsNamed::kBound)
        out.push_back(
            fmt::format("joint '{}' starts {:.3g} rad (or parts of the length) from where it is named: in loops attitudes "
                        "follow the other joints",
                        joint.name, off));
    for (int k = 0; k < joint.nq && joint.nq == joint.nv; ++k)
      if (start.names(model, j, k)) compare(j, k, "q", start.joints.q[joint.q0 + k], q[joint.q0 + k]);
    for (int k = 0; k < joint.nv; ++k)
      if (start.names_rate(model, j, k)) compare(j, k, "v", start.joints.v[joint.v0 + k], v[joint.v0 + k]);
  }
  return out;
}

}  // namespace invar
