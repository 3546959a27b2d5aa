// SPDX-License-Identifier: Apache-2.0
//
// [[control]]: laws that move bodies by wrenches, paper A's. See docs/control.md.
#include <fmt/format.h>

#include <algorithm>

#include "invar/control/body_law.hpp"
#include "invar/control/controller.hpp"
#include "invar/control/task_law.hpp"
#include "invar/io/control_parts.hpp"
#include "invar/mech/minimal/inverse_kinematics.hpp"

namespace invar {
namespace {

PortGains read_gains(const ControlTable& r) {
  const TomlTable& t = r.table;
  PortGains gains;
  const LoopParts parts = read_loop_parts(r, t.boolean("as_printed", false));
  gains.observer = parts.observer, gains.bound = parts.bound, gains.known = parts.known;
  if (const auto g = t.table("gains")) {
    gains.rate = positive(*g, "rate", 0, true);
    gains.linear = positive(*g, "linear", g->has("rate") ? 0 : gains.linear, true);
    gains.angular = positive(*g, "angular", g->has("rate") ? 0 : gains.angular, true);
    if (!(gains.rate > 0 || (gains.linear > 0 && gains.angular > 0)))
      g->refuse("", "these gains are not positive definite: 'rate', or both 'linear' and 'angular', must be positive");
  }
  if (const auto i = t.table("integral")) {
    gains.integral_linear = positive(*i, "linear", 0, true);
    gains.integral_angular = positive(*i, "angular", 0, true);
    gains.most_force = positive(*i, "most_force", gains.most_force);
    gains.most_moment = positive(*i, "most_moment", gains.most_moment);
    gains.integral_rate = positive(*i, "rate", 0, true);
    if (!gains.integrates()) i->refuse("", "an integral needs 'linear' (N/m), 'angular' (N m) or both, or a 'rate' (1/s²)");
    if (gains.integral_rate > 0 && (gains.integral_linear > 0 || gains.integral_angular > 0))
      i->refuse("rate", "an integral has a 'rate', which is K_i over the inertias, or 'linear' and 'angular', not both");
    if (t.boolean("as_printed", false)) t.refuse("integral", "the printed law has none");
  }
  return gains;
}

void read_rates(const TomlTable& t, double& position, double& attitude) {
  if (const auto r = t.table("rates")) {
    position = positive(*r, "position", position);
    attitude = positive(*r, "attitude", attitude);
  }
}

std::vector<Obstacle> read_obstacles(const TomlTable& table) {
  std::vector<Obstacle> out;
  for (const TomlTable& t : table.tables("obstacles")) {
    Obstacle o;
    o.kind = static_cast<Obstacle::Kind>(t.choice("kind", {"sphere", "capsule", "half_space"}));
    o.shape = static_cast<Obstacle::Shape>(t.choice("shape", {"gaussian", "exponential"}, 1));
    o.strength = positive(t, "strength", o.strength);
    o.width = positive(t, "width", o.width);
    o.a = t.vec3(o.kind == Obstacle::Kind::Capsule ? "from" : "at");
    if (o.kind == Obstacle::Kind::Capsule) {
      o.b = t.vec3("to");
      if (!((o.b - o.a).norm() > 0)) t.refuse("to", "the axis of a capsule has a length");
    }
    if (o.kind == Obstacle::Kind::HalfSpace) {
      const Vec3 n = t.vec3("normal");
      if (!(n.norm() > 0)) t.refuse("normal", "a normal is not zero");
      if (o.shape == Obstacle::Shape::Gaussian)
        t.refuse("shape", "behind a plane a gaussian would push deeper; take \"exponential\"");
      o.normal = n.stableNormalized();
    } else {
      o.radius = positive(t, "radius", 0, true);
    }
    out.push_back(o);
  }
  return out;
}

// Balls, capsules and cylinders that a body is drawn with.
void add_shapes(const TomlTable& t, const Model& model, int b, std::vector<Guarded>& out) {
  const std::size_t before = out.size();
  for (const ShapeSpec& shape : model.bodies()[static_cast<std::size_t>(b)].shapes) {
    using enum ShapeSpec::Kind;
    if (shape.kind == Sphere) out.push_back({b, shape.at.p, shape.radius});
    if (shape.kind != Capsule && shape.kind != Cylinder) continue;
    const Vec3 axis = shape.at.q * Vec3(shape.length * Vec3::Unit(shape.axis));
    out.push_back({b, shape.at.p - 0.5 * axis, shape.radius, axis});
  }
  if (out.size() == before)
    t.refuse("shapes",
             fmt::format("body '{}' has no sphere, capsule or cylinder", model.bodies()[static_cast<std::size_t>(b)].name));
}

std::vector<Guarded> read_guard(const TomlTable& table, const Model& model, const std::vector<Task>& tasks) {
  std::vector<Guarded> out;
  for (const TomlTable& t : table.tables("guard")) {
    const std::string name = t.string("body");
    const auto b = model.find_body(name);
    if (!b || *b == kWorld) {
      for (const char* key : {"shapes", "at", "from", "to", "radius"}) t.accept(key);
      t.refuse("body", fmt::format("the nominal model has no body '{}'{}", name, did_you_mean(name, names_of(model.bodies()))));
      continue;
    }
    if (t.boolean("shapes", false)) {
      add_shapes(t, model, *b, out);
      continue;
    }
    Guarded g{*b, model.bodies()[static_cast<std::size_t>(*b)].inertia.p_BC, positive(t, "radius", 0, true)};
    if (t.has("from") || t.has("to")) {
      if (t.has("at")) t.refuse("at", "a ball is 'at' a point, a capsule goes 'from' one 'to' another");
      g.p_BQ = t.vec3("from"), g.axis = t.vec3("to") - g.p_BQ;
    } else {
      g.p_BQ = t.vec3("at", g.p_BQ);
    }
    out.push_back(g);
  }
  if (!out.empty()) return out;
  // Without a word the centres of mass of all bodies that follow no task.
  for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b)
    if (std::none_of(tasks.begin(), tasks.end(), [b](const Task& task) { return task.body == b; }))
      out.push_back({b, model.bodies()[static_cast<std::size_t>(b)].inertia.p_BC, 0});
  return out;
}

// joint_limits = { strength, width, joints = [{ joint, freedom, lower, upper }] }: without 'joints' the limits of the model.
LimitRepulsion read_limits(const TomlTable& table, const Model& model) {
  const auto t = table.table("joint_limits");
  if (!t) return {};
  const double strength = positive(*t, "strength", 1), width = positive(*t, "width", 0.1);
  std::vector<LimitedFreedom> freedoms;
  for (const TomlTable& j : t->tables("joints")) {
    LimitedFreedom f;
    const double inf = std::numeric_limits<double>::infinity();
    const bool found = read_freedom(j, model, f.joint, f.freedom);
    f.lower = j.number("lower", -inf), f.upper = j.number("upper", inf);
    if (!(f.lower < f.upper) || (!j.has("lower") && !j.has("upper")))
      j.refuse("", "a limit needs 'lower', 'upper' or both, the lower below the upper");
    if (!found) continue;
    if (const std::string why = flaw(f, model); !why.empty()) j.refuse("", why);
    freedoms.push_back(f);
  }
  if (!t->has("joints")) {
    freedoms = limited_freedoms(model);
    for (const LimitedFreedom& f : freedoms)
      if (const std::string why = flaw(f, model); !why.empty()) t->refuse("", why + "; name those to keep in 'joints'");
  }
  if (freedoms.empty()) t->refuse("", "no joint of the nominal model has limits: name some in 'joints'");
  if (table.boolean("as_printed", false)) table.refuse("joint_limits", "the printed law knows none");
  return LimitRepulsion(model, freedoms, strength, width);
}

// A path that nobody can follow is refused before the run: looked at from the start at a few instants.
void check_reach(const TomlTable& t, const ControlTable& r, const Task& task, const PoseReference& path) {
  for (const Body& body : r.nominal.bodies())
    if (!r.scenario.model->find_body(body.name)) return;  // refused by the controller
  const auto start = bodies_at(*r.scenario.model, r.scenario.start);
  if (!start) return;
  const Bodies bodies = seen_as(r.nominal, *r.scenario.model, *start);
  JointTree tree(r.nominal);
  VecX q, v;
  const VecX wound = wound_at(r.nominal, bodies, {});
  tree.measure(bodies, wound, q, v);
  if (!tree.choose(q, wound).ok()) return;
  constexpr int kLooks = 24;
  const Frame frame{task.name, task.body, task.X_BE};
  for (int k = 0; k <= kLooks; ++k) {
    const double at = r.scenario.start_time + (r.scenario.end_time - r.scenario.start_time) * k / kLooks;
    const PoseJet wanted = jet(path, at);
    Reach found;
    const ReachOptions options{.attitude = task.attitude, .tolerance = 1e-6};
    if (!reach(tree, frame, {wanted.q, wanted.p}, q, wound, options, found).ok()) return;
    if (!found.reached) {
      t.refuse("path", fmt::format("at {:g} s the path leaves what can be reached: {:.3g} m and {:.3g} rad remain", at,
                                   found.position, found.attitude));
      return;
    }
    q = found.q;
  }
}

}  // namespace

MakeLaw read_task_law(const ControlTable& r) {
  TaskLawSpec spec;
  spec.gains = read_gains(r);
  spec.as_printed = r.table.boolean("as_printed", false);
  spec.avoidance = positive(r.table, "avoidance", spec.avoidance, true);
  for (const TomlTable& t : r.table.tables("tasks")) {
    Task task;
    read_rates(r.table, task.position_rate, task.attitude_rate);
    read_rates(t, task.position_rate, task.attitude_rate);
    if (!read_frame(t, r.nominal, task.name, task.body, task.X_BE)) {
      for (const char* key : {"path", "rates", "follow", "from_start", "damping", "name"}) t.accept(key);
      continue;
    }
    task.name = t.string("name", task.name);
    for (const Task& other : spec.tasks)
      if (other.name == task.name)
        t.refuse("", fmt::format("there is a task '{}' already: give one of them another 'name'", task.name));
    const int what = t.choice("follow", {"pose", "position", "attitude"}, 0);
    task.position = what != 2, task.attitude = what != 1;
    const auto path_of = read_path(t, r, task.body, task.X_BE, task.position, task.attitude);
    if (!path_of) continue;
    // What may be left undone, and what only turns, need not be reached.
    task.damping = positive(t, "damping", 0, true);
    if (task.damping > 0 && spec.tasks.empty())
      t.refuse("damping", "the first task is met as it is asked for: 'damping' is for those after it");
    if (task.damping > 0 && spec.as_printed) t.refuse("damping", "the printed law has none");
    if (task.position && task.damping == 0) check_reach(t, r, task, *path_of);
    task.path = path(*path_of);
    spec.tasks.push_back(std::move(task));
  }
  if (spec.tasks.empty()) r.table.refuse("tasks", "a task law needs at least one entry in 'tasks'");
  const auto obstacles = read_obstacles(r.table);
  const auto guard = read_guard(r.table, r.nominal, spec.tasks);
  if (obstacles.empty() && r.table.has("guard")) r.table.refuse("guard", "there are no 'obstacles' to guard from");
  for (const Obstacle& o : obstacles)
    for (const Guarded& g : guard)
      if (g.axis.norm() > Repulsion::kMostWidths * o.width)
        r.table.refuse("guard",
                       fmt::format("a capsule of {:g} m is too long for an obstacle of width {:g} m: {:g} widths at most",
                                   g.axis.norm(), o.width, Repulsion::kMostWidths));
  if (!obstacles.empty() && guard.empty()) r.table.refuse("obstacles", "every body follows a task: say what to 'guard'");
  const LimitRepulsion limits = read_limits(r.table, r.nominal);
  return [spec, obstacles, guard, limits](const Model& m) {
    return std::make_unique<TaskLaw>(m, spec, Repulsion(m, obstacles, guard), limits);
  };
}

MakeLaw read_body_law(const ControlTable& r, bool poses) {
  using enum BodyLawSpec::Consistency;
  BodyLawSpec spec;
  spec.gains = read_gains(r);
  spec.poses = poses;
  read_rates(r.table, spec.position_rate, spec.attitude_rate);
  const bool outward = BodyLaw::has_outward_way(r.nominal);
  spec.consistency = r.table.boolean("as_printed", false) ? AsPrinted : (outward ? Outward : Projection);
  if (r.table.has("consistency") && spec.consistency == AsPrinted) r.table.refuse("consistency", "the printed law has none");
  if (r.table.has("consistency")) {
    spec.consistency = static_cast<BodyLawSpec::Consistency>(r.table.choice("consistency", {"outward", "projection"}));
    if (spec.consistency == Outward && !outward)
      r.table.refuse("consistency", "an outward way needs a tree of ball joints; take \"projection\"");
  }
  spec.paths.resize(r.nominal.bodies().size());
  for (const TomlTable& t : r.table.tables("bodies")) {
    const std::string name = t.string("body");
    const auto b = r.nominal.find_body(name);
    const auto path_of = read_pose_reference(t, "path", r.folder);
    if (!b || *b == kWorld)
      t.refuse("body",
               fmt::format("the nominal model has no body '{}'{}", name, did_you_mean(name, names_of(r.nominal.bodies()))));
    else if (!path_of && !t.has("path"))
      t.refuse("", "a body needs a 'path' to follow");
    else if (path_of)
      spec.paths[static_cast<std::size_t>(*b)] = path(*path_of);
  }
  for (std::size_t b = 0; b < spec.paths.size(); ++b)
    if (!spec.paths[b])
      r.table.refuse("bodies", fmt::format("body '{}' has no path: this law moves all bodies", r.nominal.bodies()[b].name));
  return [spec](const Model& m) { return std::make_unique<BodyLaw>(m, spec); };
}

}  // namespace invar
