// SPDX-License-Identifier: Apache-2.0
//
// [[control]]: a law, its nominal model, what is to be followed, gains. See docs/control.md.
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <filesystem>

#include "invar/control/controller.hpp"
#include "invar/control/impedance_law.hpp"
#include "invar/io/control_parts.hpp"
#include "invar/io/model_file.hpp"

namespace invar {
namespace {

const std::vector<std::string> kLaws = {"body_velocity", "body_pose",       "task",       "slotine_li",
                                        "robust",        "computed_torque", "pd_gravity", "impedance"};

}  // namespace

double positive(const TomlTable& t, const char* key, double fallback, bool zero) {
  const double x = t.number(key, fallback);
  if (!(zero ? x >= 0 : x > 0)) t.refuse(key, fmt::format("'{}' must be {}, not {:g}", key, zero ? "at least 0" : "positive", x));
  return x;
}

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

bool read_freedom(const TomlTable& t, const Model& model, int& joint, int& freedom) {
  const std::string name = t.string("joint");
  const auto j = model.find_joint(name);
  freedom = t.integer("freedom", 0);
  if (!j) {
    t.refuse("joint", fmt::format("the nominal model has no joint '{}'{}", name, did_you_mean(name, names_of(model.joints()))));
    return false;
  }
  joint = *j;
  const Joint& found = model.joints()[static_cast<std::size_t>(joint)];
  if (freedom >= 0 && freedom < found.nv && found.nq == found.nv) return true;
  t.refuse("freedom", found.nq != found.nv ? fmt::format("joint '{}' has an attitude, not an angle", name)
                                           : fmt::format("joint '{}' has {} freedoms", name, found.nv));
  return false;
}

std::optional<PoseReference> read_path(const TomlTable& t, const ControlTable& r, int body, const Pose& X_BE, bool position,
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

namespace {

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

// Whether the run asks for loads over whole steps and gets what the law says, at once and as it is.
bool asked_over_steps(const ControlTable& r) {
  const Method& method = r.scenario.method;
  return (method.integrator == "discrete_gradient" || method.integrator == "conserving") &&
         method.options.stepper.composition == Composition::None && !(r.table.number("period", 0) > 0) &&
         !r.table.has("actuators");
}

}  // namespace

MakeLaw read_impedance(const ControlTable& r) {
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
  const bool filtered = r.table.choice("velocity", {"measured", "filtered"}, 0) == 1;
  if (filtered)
    spec.filter = positive(r.table, "filter", 100);
  else if (r.table.has("filter"))
    r.table.refuse("filter", "measured velocities need no filter; say velocity = \"filtered\"");
  spec.over_steps = asked_over_steps(r);
  return [spec](const Model& m) { return std::make_unique<ImpedanceLaw>(m, spec); };
}

namespace {

MakeLaw read_law(const ControlTable& r) {
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

std::optional<LiveModel> read_nominal(const TomlTable& t, const Scenario& s, const std::string& folder) {
  const std::vector<TomlTable> edits = t.tables("nominal_edits");
  const std::string path =
      t.has("nominal") ? (std::filesystem::path(folder) / t.string("nominal")).lexically_normal().string() : s.model_path;
  auto spec = t.has("nominal") ? read_model_file(path) : Result<ModelSpec>(*s.spec);
  auto live = spec ? LiveModel::build(*spec) : Result<LiveModel>(tl::unexpected(spec.error()));
  if (!live) return t.refuse("nominal", live.error().text()), std::nullopt;
  for (const TomlTable& e : edits)
    if (const auto done = live->apply(read_edit(e, path)); !done) return e.refuse("", done.error().what), std::nullopt;
  return std::move(*live);
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
    spec.where = t.where();
    const bool own = t.has("nominal") || t.has("nominal_edits");
    const auto live = own || t.has("learned") ? read_nominal(t, s, folder) : std::nullopt;
    if ((own || t.has("learned")) && !live) continue;
    const std::shared_ptr<const Model> told = own ? std::make_shared<const Model>(*live->model()) : s.model;
    const std::optional<LearnedTable> learned = read_learned(t, s, *told, folder);
    spec.nominal = learned ? with_learned(t, *learned, *live) : told;
    if (!spec.nominal) continue;
    if (learned) spec.learned_file = learned->whole_file, spec.learned_elsewhere = learned->elsewhere;
    spec.actuators = read_actuators(t, *told);
    read_sampled(t, spec);
    spec.law = read_law({t, s, *told, folder, learned});
    if (!root.sound()) continue;
    // Everything that can be known before the run: names, freedoms, dependence.
    const auto controller = Controller::build(spec, *s.model, s.start_time);
    if (!controller) {
      t.refuse("", controller.error().what);
      continue;
    }
    if (const auto bodies = bodies_at(*s.model, s.start))
      if (const std::string why = (*controller)->objection(s.start_time, *bodies); !why.empty()) t.refuse("law", why);
    out.push_back(std::move(spec));
  }
  return out;
}

}  // namespace invar
