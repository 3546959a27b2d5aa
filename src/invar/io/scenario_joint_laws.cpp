// SPDX-License-Identifier: Apache-2.0
//
// [[control]]: laws in independent freedoms, paper B's and those to compare with. See docs/control.md.
#include <fmt/format.h>

#include "invar/control/controller.hpp"
#include "invar/control/joint_path.hpp"
#include "invar/io/control_parts.hpp"

namespace invar {
namespace {

// Where a reference takes a joint beyond its limits.
void check_limits(const TomlTable& t, const ControlTable& r, const Joint& joint, int freedom, const Reference& reference) {
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

// Gains of a freedom; what is not said is as given. With a rate of the whole law a freedom needs no gain of its own.
JointAim read_joint_gains(const TomlTable& t, JointAim aim) {
  aim.rate = positive(t, "rate", aim.rate);
  aim.gain = positive(t, "gain", aim.gain, aim.gain == 0);
  aim.robust = positive(t, "robust", aim.robust, true);
  aim.layer = positive(t, "layer", aim.layer);
  aim.stiffness = positive(t, "stiffness", aim.stiffness, true);
  aim.damping = positive(t, "damping", aim.damping, true);
  aim.integral = positive(t, "integral", aim.integral, true);
  aim.most = positive(t, "most", aim.most);
  return aim;
}

// gains = { rate = κ }: K_d = κ Γ; gains of single freedoms come on top of it.
double read_rate(const ControlTable& r, JointLawSpec::Kind kind, bool model_based, JointAim& common) {
  const auto t = r.table.table("gains");
  if (!t) return 0;
  const double rate = t->has("rate") ? positive(*t, "rate", 0) : 0.0;
  if (!t->has("rate")) t->refuse("", "'gains' of a law in freedoms have a 'rate', 1/s; other gains are those of its 'joints'");
  if (kind == JointLawSpec::Kind::ComputedTorque)
    t->refuse("rate", "computed torque has stiffness and damping per unit of inertia already: they are its rates");
  if (!model_based) t->refuse("rate", "a rate needs the inertias of the model: leave out model_based = false, or give a 'gain'");
  if (kind == JointLawSpec::Kind::PdGravity)
    common.damping = 0;
  else
    common.gain = 0;
  return rate;
}

// References of all joints that carry a frame along its path, by inverse kinematics from where the run starts.
std::vector<JointAim> read_tip(const TomlTable& t, const ControlTable& r, JointAim common) {
  const std::string frame = t.string("frame");
  JointPathOptions options;
  options.attitude = t.choice("follow", {"pose", "position"}, 0) == 0;
  options.spacing = positive(t, "spacing", options.spacing);
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

}  // namespace

MakeLaw read_joint_law(const ControlTable& r, JointLawSpec::Kind kind) {
  JointLawSpec spec;
  spec.kind = kind;
  spec.model = r.table.boolean("model_based", true);
  JointAim common;
  spec.rate = read_rate(r, kind, spec.model, common);
  const LoopParts parts = read_loop_parts(r);
  spec.observer = parts.observer, spec.bound = parts.bound, spec.known = parts.known;
  if (const auto tip = r.table.table("tip")) {
    if (r.table.has("joints")) r.table.refuse("tip", "'tip' tells all joints what to do: leave out 'joints'");
    spec.aims = read_tip(*tip, r, common);
    return [spec](const Model& m) { return std::make_unique<JointLaw>(m, spec); };
  }
  for (const TomlTable& t : r.table.tables("joints")) {
    JointAim aim = common;
    const bool found = read_freedom(t, r.nominal, aim.joint, aim.freedom);
    const auto reference = read_reference(t, "reference", r.folder);
    aim = read_joint_gains(t, aim);
    if (!found) continue;
    if (!reference) {
      if (!t.has("reference")) t.refuse("", "a joint needs a 'reference' to follow");
      continue;
    }
    check_limits(t, r, r.nominal.joints()[static_cast<std::size_t>(aim.joint)], aim.freedom, *reference);
    aim.path = path(*reference);
    spec.aims.push_back(std::move(aim));
  }
  if (spec.aims.empty()) r.table.refuse("joints", "this law needs its 'joints', as many as there are freedoms");
  return [spec](const Model& m) { return std::make_unique<JointLaw>(m, spec); };
}

}  // namespace invar
