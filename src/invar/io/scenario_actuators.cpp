// SPDX-License-Identifier: Apache-2.0
#include "invar/io/scenario_parts.hpp"

namespace invar {
namespace {

// An objection belongs to the key that it names in quotes, or else to what the actuator acts on.
void refuse_actuator(const TomlTable& table, const std::string& what) {
  if (table.refuse_named({"limits", "rate", "lag", "weight", "mounted", "direction", "points", "freedom", "name"}, what)) return;
  for (const char* key : {"joint", "frame", "points"})
    if (table.has(key)) return table.refuse(key, what);
  table.refuse("", what);
}

std::vector<PointSpec> read_points(const TomlTable& table) {
  std::vector<PointSpec> out;
  for (const TomlTable& point : table.tables("points")) {
    PointSpec p;
    if (point.has("frame") && point.has("body")) point.refuse("frame", "a point is on a 'body' or on a 'frame', not on both");
    p.body = point.string("body", p.body);
    p.frame = point.string("frame", p.frame);
    p.p = point.vec3("p", p.p);
    out.push_back(p);
  }
  return out;
}

// What it acts on; keys of other kinds are not asked for, so that they are refused by name.
void read_place(const TomlTable& table, ActuatorSpec& a) {
  if (a.kind == ActuatorSpec::Kind::Force || a.kind == ActuatorSpec::Kind::Thruster) {
    a.frame = table.string("frame");
    a.direction = table.vec3("direction", a.direction);
    a.axes = table.choice("axes", {"frame", "world"}, 0) == 0 ? Axes::Local : Axes::World;
  } else if (a.kind == ActuatorSpec::Kind::Cylinder && table.has("points")) {
    a.points = read_points(table);
    if (table.has("joint")) table.refuse("joint", "a cylinder has a 'joint' or two 'points' to push between, not both");
  } else {
    a.joint = table.string("joint");
    a.freedom = a.kind == ActuatorSpec::Kind::Motor ? table.integer("freedom", 0) : 0;
  }
}

ActuatorSpec read_actuator(const TomlTable& table) {
  ActuatorSpec a;
  a.kind = static_cast<ActuatorSpec::Kind>(table.choice("kind", {"motor", "cylinder", "force", "thruster"}));
  a.name = table.string("name", "");
  read_place(table, a);
  if (table.has("limits")) {
    const std::vector<double> limits = table.numbers("limits", 2);
    if (limits.size() == 2) a.lower = limits[0], a.upper = limits[1];
  }
  if (table.has("rate")) a.rate = table.number("rate");
  a.lag = table.number("lag", a.lag);
  a.weight = table.number("weight", a.weight);
  if (const auto mounted = table.table("mounted")) {
    a.mounted.gain = mounted->number("gain", a.mounted.gain);
    a.mounted.turn = mounted->vec3("turn", a.mounted.turn);
    a.mounted.shift = mounted->vec3("shift", a.mounted.shift);
    if (a.mounted.as_told()) mounted->refuse("", "it is 'mounted' as it is told: give it a 'gain', a 'turn' or a 'shift'");
  }
  return a;
}

}  // namespace

std::vector<ActuatorSpec> read_actuators(const TomlTable& control, const Model& nominal) {
  std::vector<ActuatorSpec> out;
  for (const TomlTable& table : control.tables("actuators")) {
    const ActuatorSpec a = read_actuator(table);
    if (const auto made = Actuator::build(nominal, a); !made) refuse_actuator(table, made.error().what);
    for (const ActuatorSpec& before : out)
      if (name_of(before) == name_of(a))
        refuse_actuator(table, "two actuators are called '" + name_of(a) + "': give one a 'name'");
    out.push_back(a);
  }
  return out;
}

void read_sampled(const TomlTable& control, ControllerSpec& spec) {
  spec.period = control.number("period", spec.period);
  spec.delay = control.number("delay", spec.delay);
  spec.lag = control.number("lag", spec.lag);
  spec.with_body = control.choice("hold", {"world", "body"}, 0) == 1;
  if (const auto noise = control.table("noise")) {
    spec.noise.position = noise->number("position", 0);
    spec.noise.attitude = noise->number("attitude", 0);
    spec.noise.velocity = noise->number("velocity", 0);
    spec.noise.angular_velocity = noise->number("angular_velocity", 0);
  }
  const std::string why = flaw(spec);
  if (why.empty()) return;
  if (why.starts_with("actuator")) return control.refuse("actuators", why);
  for (const char* key : {"delay", "lag", "hold", "noise", "period"})
    if (control.has(key) && why.find(std::string("'") + key + "'") != std::string::npos) return control.refuse(key, why);
  control.refuse("", why);
}

}  // namespace invar
