// SPDX-License-Identifier: Apache-2.0
#include "invar/run/start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/joint_tree.hpp"
#include "invar/run/start_names.hpp"

namespace invar {

namespace {

// Whether a start is [initial] and nothing else.
bool is_initial(const Model& model, const Start& start) {
  return std::none_of(start.named.begin(), start.named.end(), [](bool named) { return named; }) &&
         start.joints.q == model.initial_q() && start.joints.v.isZero(0);
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

// From an [initial] that is singular itself: each group of loops that is goes along the one branch that is as named. Nothing
// where no group is singular, or loops do not let what is named be so.
Result<std::optional<Bodies>> from_singular(const Model& model, const Start& start, const Bodies& initial) {
  const std::optional<Bodies> none;
  const std::vector<int> leaders = named_freedoms(model, start);
  Loops loops(model, leaders);
  loops.measure_lengths(initial);
  const VecX wound = wound_of(model, Start(model), initial);
  VecX q, v;
  loops.tree().measure(initial, wound, q, v);
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
Result<std::optional<Bodies>> from_regular(const Model& model, const Start& start, const Bodies& from, const VecX& wound) {
  const std::vector<int> leaders = named_freedoms(model, start);
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
  const auto as_told = [&](const Bodies& bodies) { return wound_of(model, start, bodies); };
  if (const auto initial = assembled_initial(model, start.tolerance)) {
    auto named = from_singular(model, start, *initial);
    if (!named) return tl::unexpected(named.error());
    if (!*named) named = from_regular(model, start, *initial, wound_of(model, Start(model), *initial));
    if (!named) return tl::unexpected(named.error());
    first = std::move(*named);
    if (first && off_names(model, start, *first, as_told(*first)) <= AsNamed::kBound) return *first;
  }
  // From what is named, as far as loops let it.
  const Bodies guess = place(model, start.joints, start.follows);
  auto assembled = make_consistent(model, guess, start.tolerance, as_told(guess));
  if (!assembled) return first ? Result<Bodies>(*first) : assembled;
  auto named = from_regular(model, start, *assembled, as_told(*assembled));
  if (!named) return tl::unexpected(named.error());
  if (*named && off_names(model, start, **named, as_told(**named)) <= AsNamed::kBound) return **named;
  // A ball that closes a loop leads nothing.
  if (off_names(model, start, *assembled, as_told(*assembled)) <= AsNamed::kBound) return *assembled;
  // Names contradict each other: rates give way before positions, and both on the branch of [initial] unless elsewhere positions
  // are nearer to what is named.
  const Start places = without_rates(start);
  const auto off = [&](const Bodies& bodies) {
    return std::max(AsNamed::kBound, off_names(model, places, bodies, as_told(bodies)));
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
  const VecX wound = wound_of(model, start, bodies);
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
  const VecX wound = wound_of(model, start, bodies);
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
  const bool named = !start.by_bodies && !(named_freedoms(model, start).empty() && named_attitudes(model, start).empty());
  if (start.project && named && JointTree(model).rows() > 0) {
    auto bodies = named_bodies(model, start);
    return bodies ? on_branches(model, start, std::move(*bodies)) : bodies;
  }
  Bodies guess = start.by_bodies ? start.bodies : place(model, start.joints, start.follows);
  const VecX turns = start.by_bodies ? VecX() : wound_of(model, start, guess);
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
Result<Start> with_places(const Model& model, Start start) {
  if (start.by_bodies || !start.project) return start;
  Start places = without_rates(start);
  places.motion = false;
  places.joints.known = model.initial_named();
  places.joints.v.setZero();
  bool all = true;
  for (std::size_t j = 0; j < start.no_place.size(); ++j)
    if (start.no_place[j]) places.named[j] = false, all = false;
  if (all) return start;
  places.joints.name(model, places.named);
  start.no_place.clear();
  const auto bodies = bodies_of(model, places);
  if (!bodies) return tl::unexpected(bodies.error());
  VecX q, v;
  joint_coordinates(model, *bodies, q, v);
  unwind(model, wound_of(model, places, *bodies), q);
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
  unwind(model, wound_of(model, start, bodies), q);
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

Result<Bodies> bodies_at(const Model& model, const Start& given) {
  const auto start = with_places(model, given);
  return start ? bodies_of(model, *start) : tl::unexpected(start.error());
}

Result<State> state_at(Formulation& formulation, const Start& given) {
  const Model& model = formulation.model();
  const auto refused = [&](Error error) {
    if (error.where.empty()) error.where = given.place ? given.place(error.what) : given.where;
    return tl::unexpected(error);
  };
  const auto start = with_places(model, given);
  if (!start) return refused(start.error());
  auto bodies = bodies_of(model, *start);
  if (bodies && start->motion) bodies = expect_drives(model, *start, std::move(*bodies));
  if (!bodies) return refused(bodies.error());
  const VecX wound = wound_of(model, *start, *bodies);
  if (start->project)
    if (const auto fine = expect_couplings(model, *bodies, wound); !fine) return refused(fine.error());
  State x;
  formulation.set(*bodies, x, wound);
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
  const auto placed = with_places(model, given);
  if (!placed) return out;
  const Start& start = *placed;
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
