// SPDX-License-Identifier: Apache-2.0
//
// What a controller step costs: one command for a motion, all derivatives included, best of several stretches of processor time.
// Bars: 15 us for law III on a floating chain of five bodies on balls, 10 us for a seven-joint arm.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "clock.hpp"
#include "invar/base/random.hpp"
#include "invar/control/joint_law.hpp"
#include "invar/control/task_law.hpp"
#include "invar/io/build_info.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/run/start.hpp"

namespace {

using namespace invar;
using bench::now;

PoseJet path(Instant at) {
  PoseJet j;
  const double s = std::sin(at.t), c = std::cos(at.t);
  j.p = {0.9 + 0.1 * s, 0.1 * c, 0.5}, j.v = {0.1 * c, -0.1 * s, 0}, j.a = {-0.1 * s, -0.1 * c, 0};
  j.q = exp_so3(Vec3(0, 0, 0.3 * s)), j.w = {0, 0, 0.3 * c}, j.alpha = {0, 0, -0.3 * s};
  return j;
}

double microseconds(ControlLaw& law, const Model& model, const Bodies& bodies) {
  Load load(model);
  law.command(0.1, bodies, load);
  double best = 1e300;
  for (int k = 0; k < 40; ++k) {
    constexpr int kCalls = 200;
    const double began = now();
    for (int i = 0; i < kCalls; ++i) {
      load.clear();
      if (!law.command(0.1 + 1e-3 * i, bodies, load).ok()) fmt::print("the law is not defined\n");
    }
    best = std::min(best, 1e6 * (now() - began) / kCalls);
  }
  return best;
}

void print(const std::string& what, double us, double bar) {
  fmt::print("| {} | {:.2f} | {} | {} |\n", what, us, bar > 0 ? fmt::format("{:g}", bar) : "-",
             bar > 0 ? fmt::format("{:.2f}", us / bar) : "-");
}

// A hinge more before the hand makes seven of six.
ModelSpec seven_joints(ModelSpec spec) {
  for (JointSpec& j : spec.joints)
    if (j.name == "flange") j.parent = "extra";
  BodySpec body = spec.bodies.back();
  body.name = "extra";
  spec.bodies.push_back(body);
  JointSpec joint = spec.joints.back();
  joint.name = "tilt", joint.parent = "wrist2", joint.child = "extra", joint.axis = Vec3::UnitZ();
  spec.joints.push_back(joint);
  return spec;
}

// Somewhere, in motion.
Bodies moving(const Model& model) {
  Start start(model);
  Random random(1, 1);
  start.named.assign(model.joints().size(), true);
  for (const Joint& j : model.joints())
    for (int k = 0; k < j.nv; ++k) {
      if (j.nq == j.nv) start.joints.q[j.q0 + k] = random.uniform(-0.5, 0.5);
      start.joints.v[j.v0 + k] = random.uniform(-0.5, 0.5);
    }
  start.joints.name(model, start.named);
  return *bodies_at(model, start);
}

void task(const std::string& what, const Model& model, int body, double bar) {
  TaskLawSpec spec;
  spec.tasks = {Task{.name = "tip", .body = body, .X_BE = Pose{}, .path = path}};
  Obstacle o;
  o.a = {2, 0.35, 0.1}, o.strength = 0.3, o.width = 0.5, o.shape = Obstacle::Shape::Gaussian;
  std::vector<Guarded> points;
  for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b)
    if (b != body) points.push_back({b, model.bodies()[static_cast<std::size_t>(b)].inertia.p_BC, 0});
  TaskLaw law(model, spec, Repulsion(model, {o}, points));
  print(what + ", law III", microseconds(law, model, moving(model)), bar);
}

void joints(const std::string& what, const Model& model, JointLawSpec::Kind kind, const char* name, double bar) {
  JointLawSpec spec;
  spec.kind = kind;
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
    JointAim aim;
    aim.joint = j;
    aim.path = [](Instant at) { return Jet{std::sin(at.t), std::cos(at.t), -std::sin(at.t)}; };
    spec.aims.push_back(aim);
  }
  JointLaw law(model, spec);
  print(what + ", " + name, microseconds(law, model, moving(model)), bar);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string models = argc > 1 ? argv[1] : INVAR_MODELS;
  const auto chain = read_model_file(models + "/paper_a_arm.toml"), arm = read_model_file(models + "/arm.toml");
  if (!chain || !arm) return fmt::print(stderr, "{}\n", (chain ? arm : chain).error().text()), 2;
  const Model five = *Model::build(*chain), seven = *Model::build(seven_joints(*arm));
  const BuildInfo build = build_info();
  fmt::print("Invar {} by {} ({}), one command\n\n| case | us | bar | over bar |\n|---|---:|---:|---:|\n", build.version,
             build.compiler, build.flags);
  task("floating chain of five", five, 4, 15);
  task("seven-joint arm", seven, static_cast<int>(seven.bodies().size()) - 2, 10);
  joints("seven-joint arm", seven, JointLawSpec::Kind::SlotineLi, "Slotine-Li", 10);
  joints("seven-joint arm", seven, JointLawSpec::Kind::ComputedTorque, "computed torque", 10);
  return 0;
}
