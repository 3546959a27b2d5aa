// SPDX-License-Identifier: Apache-2.0
//
// [[control]]: a law, its nominal model, what is to be followed, gains. See docs/control.md.
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <filesystem>

#include "invar/control/body_law.hpp"
#include "invar/control/impedance_law.hpp"
#include "invar/control/joint_law.hpp"
#include "invar/control/joint_path.hpp"
#include "invar/control/task_law.hpp"
#include "invar/io/model_file.hpp"
#include "invar/io/scenario_parts.hpp"
#include "invar/mech/minimal/inverse_kinematics.hpp"

namespace invar {
namespace {

using MakeLaw = std::function<std::unique_ptr<ControlLaw>(const Model&)>;

struct Reader {
  const TomlTable& table;
  const Scenario& scenario;
  const Model& nominal;
  std::string folder;
};

const std::vector<std::string> kLaws = {"body_velocity", "body_pose",       "task",       "slotine_li",
                                        "robust",        "computed_torque", "pd_gravity", "impedance"};

double positive(const TomlTable& t, const char* key, double fallback, bool zero = false) {
  const double x = t.number(key, fallback);
  if (!(zero ? x >= 0 : x > 0)) t.refuse(key, fmt::format("'{}' must be {}, not {:g}", key, zero ? "at least 0" : "positive", x));
  return x;
}

PortGains read_gains(const TomlTable& t) {
  PortGains gains;
  if (const auto g = t.table("gains")) {
    gains.rate = positive(*g, "rate", 0, true);
    gains.linear = positive(*g, "linear", g->has("rate") ? 0 : gains.linear, true);
    gains.angular = positive(*g, "angular", g->has("rate") ? 0 : gains.angular, true);
    if (!(gains.rate > 0 || (gains.linear > 0 && gains.angular > 0)))
      g->refuse("", "these gains are not positive definite: 'rate', or both 'linear' and 'angular', must be positive");
  }
  return gains;
}

void read_rates(const TomlTable& t, double& position, double& attitude) {
  if (const auto r = t.table("rates")) {
    position = positive(*r, "position", position);
    attitude = positive(*r, "attitude", attitude);
  }
}

// A body, or a frame of one, by name: { body = "b" } is its body frame.
bool read_frame(const TomlTable& t, const Model& model, std::string& name, int& body, Pose& X_BE) {
  if (t.has("frame") == t.has("body")) {
    t.refuse("", "name a 'frame' or a 'body', one of them");
    return false;
  }
  if (t.has("frame")) {
    name = t.string("frame");
    const auto f = model.find_frame(name);
    if (!f)
      return t.refuse("frame",
                      fmt::format("the nominal model has no frame '{}'{}", name, did_you_mean(name, names_of(model.frames())))),
             false;
    body = model.frames()[static_cast<std::size_t>(*f)].body;
    X_BE = model.frames()[static_cast<std::size_t>(*f)].X_BE;
    if (body == kWorld) return t.refuse("frame", fmt::format("frame '{}' rests on the ground", name)), false;
    return true;
  }
  name = t.string("body");
  const auto b = model.find_body(name);
  if (!b || *b == kWorld)
    return t.refuse("body",
                    fmt::format("the nominal model has no body '{}'{}", name, did_you_mean(name, names_of(model.bodies())))),
           false;
  body = *b;
  X_BE = Pose{};
  // "com": the centre of mass, as paper A has it.
  if (t.boolean("com", false)) X_BE.p = model.bodies()[static_cast<std::size_t>(body)].inertia.p_BC;
  return true;
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
      o.normal = n.normalized();
    } else {
      o.radius = positive(t, "radius", 0, true);
    }
    out.push_back(o);
  }
  return out;
}

std::vector<GuardedPoint> read_guard(const TomlTable& table, const Model& model, const std::vector<Task>& tasks) {
  std::vector<GuardedPoint> out;
  for (const TomlTable& t : table.tables("guard")) {
    const std::string name = t.string("body");
    const auto b = model.find_body(name);
    if (!b || *b == kWorld) {
      t.refuse("body", fmt::format("the nominal model has no body '{}'{}", name, did_you_mean(name, names_of(model.bodies()))));
      continue;
    }
    out.push_back({*b, t.vec3("at", model.bodies()[static_cast<std::size_t>(*b)].inertia.p_BC), positive(t, "radius", 0, true)});
  }
  if (!out.empty()) return out;
  // Without a word the centres of mass of all bodies that follow no task.
  for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b)
    if (std::none_of(tasks.begin(), tasks.end(), [b](const Task& task) { return task.body == b; }))
      out.push_back({b, model.bodies()[static_cast<std::size_t>(b)].inertia.p_BC, 0});
  return out;
}

// A path that nobody can follow is refused before the run: looked at from the start at a few instants.
void check_reach(const TomlTable& t, const Reader& r, int frame, const PoseReference& path, bool attitude) {
  const auto bodies = bodies_at(*r.scenario.model, r.scenario.start);
  if (!bodies || &r.nominal != r.scenario.model.get()) return;
  JointTree tree(r.nominal);
  VecX q, v;
  const VecX wound = wound_at(r.nominal, *bodies, {});
  tree.measure(*bodies, wound, q, v);
  if (!tree.choose(q, wound).ok()) return;
  constexpr int kLooks = 24;
  for (int k = 0; k <= kLooks; ++k) {
    const double at = r.scenario.start_time + (r.scenario.end_time - r.scenario.start_time) * k / kLooks;
    const PoseJet wanted = jet(path, at);
    Reach found;
    const ReachOptions options{.attitude = attitude, .tolerance = 1e-6};
    if (!reach(tree, frame, {wanted.q, wanted.p}, q, wound, options, found).ok()) return;
    if (!found.reached) {
      t.refuse("path", fmt::format("at {:g} s the path leaves what can be reached: {:.3g} m and {:.3g} rad remain", at,
                                   found.position, found.attitude));
      return;
    }
    q = found.q;
  }
}

// The path of a frame under 'path'; with from_start it is moved so that it begins where the frame is.
std::optional<PoseReference> read_path(const TomlTable& t, const Reader& r, int body, const Pose& X_BE, bool position,
                                       bool attitude) {
  auto out = read_pose_reference(t, "path", r.folder);
  if (!out && !t.has("path")) t.refuse("", "there is no 'path' to follow");
  if (const auto parts = out ? t.table("path") : std::nullopt) {
    if (position && !parts->has("position")) t.refuse("path", "the path has no 'position'");
    if (attitude && !parts->has("attitude")) t.refuse("path", "the path has no 'attitude'; give one, or follow = \"position\"");
  }
  if (!t.boolean("from_start", false) || !out) return out;
  const auto start = bodies_at(*r.scenario.model, r.scenario.start);
  const auto there = r.scenario.model->find_body(r.nominal.bodies()[static_cast<std::size_t>(body)].name);
  if (start && there) out->X_WA.p += (body_pose(*r.scenario.model, *start, *there) * X_BE).p - jet(*out, r.scenario.start_time).p;
  return out;
}

MakeLaw read_task_law(const Reader& r) {
  TaskLawSpec spec;
  spec.gains = read_gains(r.table);
  spec.as_printed = r.table.boolean("as_printed", false);
  spec.avoidance = positive(r.table, "avoidance", spec.avoidance, true);
  for (const TomlTable& t : r.table.tables("tasks")) {
    Task task;
    read_rates(r.table, task.position_rate, task.attitude_rate);
    read_rates(t, task.position_rate, task.attitude_rate);
    if (!read_frame(t, r.nominal, task.name, task.body, task.X_BE)) {
      for (const char* key : {"path", "rates", "follow", "from_start"}) t.accept(key);
      continue;
    }
    const int what = t.choice("follow", {"pose", "position", "attitude"}, 0);
    task.position = what != 2, task.attitude = what != 1;
    const auto path_of = read_path(t, r, task.body, task.X_BE, task.position, task.attitude);
    if (!path_of) continue;
    if (task.position && t.has("frame") && r.nominal.find_frame(task.name))
      check_reach(t, r, *r.nominal.find_frame(task.name), *path_of, task.attitude);
    task.path = path(*path_of);
    spec.tasks.push_back(std::move(task));
  }
  if (spec.tasks.empty()) r.table.refuse("tasks", "a task law needs at least one entry in 'tasks'");
  const auto obstacles = read_obstacles(r.table);
  const auto guard = read_guard(r.table, r.nominal, spec.tasks);
  if (!obstacles.empty() && guard.empty()) r.table.refuse("obstacles", "every body follows a task: say which points to 'guard'");
  return [spec, obstacles, guard](const Model& m) { return std::make_unique<TaskLaw>(m, spec, Repulsion(m, obstacles, guard)); };
}

MakeLaw read_body_law(const Reader& r, bool poses) {
  using enum BodyLawSpec::Consistency;
  BodyLawSpec spec;
  spec.gains = read_gains(r.table);
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

// Where a reference takes a joint beyond its limits.
void check_limits(const TomlTable& t, const Reader& r, const Joint& joint, int freedom, const Reference& reference) {
  const Passive& p = joint.passive[static_cast<std::size_t>(freedom)];
  constexpr int kLooks = 400;
  for (int k = 0; k <= kLooks && p.has_stops(); ++k) {
    const double at = r.scenario.start_time + (r.scenario.end_time - r.scenario.start_time) * k / kLooks;
    const double q = jet(reference, at).q;
    if (q >= p.lower && q <= p.upper) continue;
    t.refuse("reference", fmt::format("at {:g} s it takes joint '{}' to {:g}, beyond its limit of {:g}", at, joint.name, q,
                                      q < p.lower ? p.lower : p.upper));
    return;
  }
}

// Gains of a freedom; what is not said is as given.
JointAim read_joint_gains(const TomlTable& t, JointAim aim) {
  aim.rate = positive(t, "rate", aim.rate);
  aim.gain = positive(t, "gain", aim.gain);
  aim.robust = positive(t, "robust", aim.robust, true);
  aim.layer = positive(t, "layer", aim.layer);
  aim.stiffness = positive(t, "stiffness", aim.stiffness, true);
  aim.damping = positive(t, "damping", aim.damping, true);
  return aim;
}

// References of all joints that carry a frame along its path, by inverse kinematics from where the run starts.
std::vector<JointAim> read_tip(const TomlTable& t, const Reader& r) {
  const std::string frame = t.string("frame");
  JointPathOptions options;
  options.attitude = t.choice("follow", {"pose", "position"}, 0) == 0;
  options.spacing = positive(t, "spacing", options.spacing);
  JointAim common;
  common = read_joint_gains(t, common);
  const auto f = r.nominal.find_frame(frame);
  if (!f || r.nominal.frames()[static_cast<std::size_t>(*f)].body == kWorld) {
    for (const char* key : {"path", "from_start"}) t.accept(key);
    t.refuse("frame",
             fmt::format("the nominal model has no frame '{}'{}", frame, did_you_mean(frame, names_of(r.nominal.frames()))));
    return {};
  }
  for (const Body& body : r.nominal.bodies())
    if (!r.scenario.model->find_body(body.name)) return {};  // refused by the controller
  const auto start = bodies_at(*r.scenario.model, r.scenario.start);
  const auto path_of = read_path(t, r, r.nominal.frames()[static_cast<std::size_t>(*f)].body,
                                 r.nominal.frames()[static_cast<std::size_t>(*f)].X_BE, true, options.attitude);
  if (!path_of || !start) return {};
  const Bodies bodies = seen_as(r.nominal, *r.scenario.model, *start);
  JointTree tree(r.nominal);
  VecX q, v;
  const VecX wound = wound_at(r.nominal, bodies, {});
  tree.measure(bodies, wound, q, v);
  tree.choose(q, wound);
  const auto joints = joint_path(tree, frame, *path_of, r.scenario.start_time, r.scenario.end_time, q, wound, options);
  if (!joints) return t.refuse("path", joints.error().what), std::vector<JointAim>{};
  std::vector<JointAim> aims;
  for (const JointPath::Freedom& freedom : joints->freedoms) {
    JointAim aim = common;
    aim.joint = freedom.joint, aim.freedom = freedom.freedom, aim.path = path(freedom.reference);
    aims.push_back(std::move(aim));
  }
  return aims;
}

MakeLaw read_joint_law(const Reader& r, JointLawSpec::Kind kind) {
  JointLawSpec spec;
  spec.kind = kind;
  spec.model = r.table.boolean("model_based", true);
  if (const auto tip = r.table.table("tip")) {
    if (r.table.has("joints")) r.table.refuse("tip", "'tip' tells all joints what to do: leave out 'joints'");
    spec.aims = read_tip(*tip, r);
    return [spec](const Model& m) { return std::make_unique<JointLaw>(m, spec); };
  }
  for (const TomlTable& t : r.table.tables("joints")) {
    JointAim aim;
    const std::string name = t.string("joint");
    const auto j = r.nominal.find_joint(name);
    aim.freedom = t.integer("freedom", 0);
    const auto reference = read_reference(t, "reference", r.folder);
    aim = read_joint_gains(t, aim);
    if (!j) {
      t.refuse("joint",
               fmt::format("the nominal model has no joint '{}'{}", name, did_you_mean(name, names_of(r.nominal.joints()))));
      continue;
    }
    const Joint& joint = r.nominal.joints()[static_cast<std::size_t>(*j)];
    if (aim.freedom < 0 || aim.freedom >= joint.nv || joint.nq != joint.nv) {
      t.refuse("freedom", joint.nq != joint.nv ? fmt::format("joint '{}' has an attitude, not an angle", name)
                                               : fmt::format("joint '{}' has {} freedoms", name, joint.nv));
      continue;
    }
    if (!reference) {
      if (!t.has("reference")) t.refuse("", "a joint needs a 'reference' to follow");
      continue;
    }
    check_limits(t, r, joint, aim.freedom, *reference);
    aim.joint = *j;
    aim.path = path(*reference);
    spec.aims.push_back(std::move(aim));
  }
  if (spec.aims.empty()) r.table.refuse("joints", "this law needs its 'joints', as many as there are freedoms");
  return [spec](const Model& m) { return std::make_unique<JointLaw>(m, spec); };
}

Mat3 read_matrix(const TomlTable& t, const char* key, double fallback) {
  const std::vector<double> x = t.numbers(key);
  Mat3 out = fallback * Mat3::Identity();
  if (x.size() == 1) out = x[0] * Mat3::Identity();
  if (x.size() == 3) out = Vec3(x[0], x[1], x[2]).asDiagonal();
  if (!x.empty() && x.size() != 1 && x.size() != 3) t.refuse(key, "one number, or three along the World axes");
  if (!(Eigen::SelfAdjointEigenSolver<Mat3>(out, Eigen::EigenvaluesOnly).eigenvalues()[0] >= 0))
    t.refuse(key, fmt::format("'{}' must be positive semidefinite", key));
  return out;
}

MakeLaw read_impedance(const Reader& r) {
  ImpedanceSpec spec;
  Pose X_BE;
  const bool found = read_frame(r.table, r.nominal, spec.name, spec.body, X_BE);
  spec.p_BE = X_BE.p;
  const auto path_of = found ? read_path(r.table, r, spec.body, X_BE, true, false) : std::nullopt;
  if (path_of) spec.path = path(*path_of);
  spec.stiffness = read_matrix(r.table, "stiffness", 100);
  spec.damping = read_matrix(r.table, "damping", 10);
  spec.joint_damping = positive(r.table, "joint_damping", 0, true);
  spec.through_joints = r.table.choice("through", {"joints", "port"}, 0) == 0;
  return [spec](const Model& m) { return std::make_unique<ImpedanceLaw>(m, spec); };
}

MakeLaw read_law(const Reader& r) {
  using Kind = JointLawSpec::Kind;
  const int which = r.table.choice("law", kLaws);
  if (!r.table.has("law")) return {};
  switch (which) {
    case 0: return read_body_law(r, false);
    case 1: return read_body_law(r, true);
    case 2: return read_task_law(r);
    case 3: return read_joint_law(r, Kind::SlotineLi);
    case 4: return read_joint_law(r, Kind::Robust);
    case 5: return read_joint_law(r, Kind::ComputedTorque);
    case 6: return read_joint_law(r, Kind::PdGravity);
    default: return read_impedance(r);
  }
}

std::shared_ptr<const Model> read_nominal(const TomlTable& t, const Scenario& s, const std::string& folder) {
  const std::vector<TomlTable> edits = t.tables("nominal_edits");
  if (!t.has("nominal") && edits.empty()) return s.model;
  auto spec = t.has("nominal")
                  ? read_model_file((std::filesystem::path(folder) / t.string("nominal")).lexically_normal().string())
                  : Result<ModelSpec>(*s.spec);
  auto live = spec ? LiveModel::build(*spec) : Result<LiveModel>(tl::unexpected(spec.error()));
  if (!live) return t.refuse("nominal", live.error().text()), nullptr;
  for (const TomlTable& e : edits)
    if (const auto done = live->apply(read_edit(e)); !done) return e.refuse("", done.error().what), nullptr;
  return std::make_shared<const Model>(*live->model());
}

}  // namespace

std::vector<ControllerSpec> read_controllers(const TomlTable& root, const Scenario& s) {
  std::vector<ControllerSpec> out;
  const std::string folder = std::filesystem::path(s.path).parent_path().string();
  for (const TomlTable& t : root.tables("control")) {
    ControllerSpec spec;
    spec.name = t.string("name", out.empty() ? "control" : fmt::format("control{}", out.size() + 1));
    for (const ControllerSpec& other : out)
      if (other.name == spec.name) t.refuse("name", fmt::format("there is a controller '{}' already", spec.name));
    spec.nominal = read_nominal(t, s, folder);
    if (!spec.nominal) continue;
    spec.actuators = read_actuators(t, *spec.nominal);
    read_sampled(t, spec);
    spec.law = read_law({t, s, *spec.nominal, folder});
    if (!root.sound()) continue;
    // Everything that can be known before the run: names, freedoms, dependence.
    const auto controller = Controller::build(spec, *s.model, s.start_time);
    if (!controller) {
      t.refuse("", controller.error().what);
      continue;
    }
    if (const auto bodies = bodies_at(*s.model, s.start))
      if (const std::string why = (*controller)->objection(*bodies); !why.empty()) t.refuse("law", why);
    out.push_back(std::move(spec));
  }
  return out;
}

}  // namespace invar
