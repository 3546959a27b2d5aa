// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "invar/base/random.hpp"
#include "invar/control/disturbance.hpp"
#include "invar/control/drive.hpp"
#include "invar/io/scenario_parts.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {

namespace {

// c times a signal is a signal of the same kind.
Signal scaled(Constant s, double c) { return s.value *= c, s; }
Signal scaled(Jump s, double c) { return s.before *= c, s.after *= c, s; }
Signal scaled(Pulse s, double c) { return s.value *= c, s; }
Signal scaled(Sinusoid s, double c) { return s.amplitude *= c, s.offset *= c, s; }
Signal scaled(Ramp s, double c) { return s.from *= c, s.to *= c, s; }
Signal scaled(Polynomial s, double c) {
  for (double& x : s.coefficients) x *= c;
  return s;
}
Signal scaled(Table s, double c) {
  for (double& x : s.values) x *= c;
  return s;
}
Signal scaled(Noise s, double c) { return s.deviation *= std::abs(c), s; }

const std::vector<std::string> kSignalKinds = {"constant", "step", "pulse", "sine", "ramp", "polynomial", "table", "random"};

constexpr auto kUnnamed = static_cast<std::uint64_t>(-1);

Signal read_kind(const TomlTable& t, int kind) {
  switch (kind) {
    case 0: return Constant{t.number("value", 1.0)};
    case 1: return Jump{t.number("at"), t.number("before", 0.0), t.number("after", 1.0)};
    case 2: return Pulse{t.number("from"), t.number("to"), t.number("value", 1.0)};
    case 3: return Sinusoid{t.number("amplitude", 1.0), t.number("frequency"), t.number("phase", 0.0), t.number("offset", 0.0)};
    case 4: return Ramp{t.number("from"), t.number("to"), t.number("before", 0.0), t.number("after", 1.0)};
    case 5: return Polynomial{t.numbers("coefficients"), t.number("origin", 0.0)};
    case 6: return Table{t.numbers("times"), t.numbers("values")};
    default: break;
  }
  Noise noise{t.number("deviation", 1.0), t.number("hold"), kUnnamed};
  if (t.has("stream")) {
    const int stream = t.integer("stream", 0);
    if (stream < 0) t.refuse("stream", "a stream is numbered from 0 on");
    noise.seed = static_cast<std::uint64_t>(stream);
  }
  return noise;
}

// Random signals are told apart by the streams that they name; those that name none have one each, by where they stand.
Signal of_run(Signal signal, std::uint64_t seed, int place) {
  if (auto* noise = std::get_if<Noise>(&signal)) {
    noise->seed = Random(seed, noise->seed != kUnnamed ? 2 * noise->seed : 2 * static_cast<std::uint64_t>(place) + 1).bits();
  }
  return signal;
}

// An error of the control room belongs to the table that was read, at the key it names if it names one.
void refuse_at(const TomlTable& table, const Error& error) {
  for (const char* key : {"signal", "correction", "freedom", "body", "frame", "joint"})
    if (error.what.find(key) != std::string::npos && table.has(key)) return table.refuse(key, error.what);
  table.refuse("", error.what);
}

using Models = std::vector<std::shared_ptr<const Model>>;

// In the first model that has what it acts on; where none has, the objection is that of the first.
template <class Acting, class Spec>
std::shared_ptr<const Environment> built(const TomlTable& table, const Models& models, const Spec& spec) {
  for (const auto& model : models)
    if (auto made = Acting::build(*model, spec)) return std::make_shared<const Acting>(std::move(*made));
  refuse_at(table, Acting::build(*models[0], spec).error());
  return nullptr;
}

std::shared_ptr<const Environment> read_disturbance(const TomlTable& table, const Models& models, std::uint64_t seed, int place) {
  DisturbanceSpec spec;
  spec.body = table.string("body", "");
  spec.frame = table.string("frame", "");
  spec.axes = table.choice("axes", {"world", "body"}, 0) == 0 ? Axes::World : Axes::Local;
  spec.force = table.vec3("force", Vec3::Zero());
  spec.moment = table.vec3("moment", Vec3::Zero());
  spec.signal = of_run(read_signal(table, "signal"), seed, place);
  if (spec.body.empty() == spec.frame.empty()) {
    table.refuse("", "a disturbance acts at a 'body' (its centre of mass) or at a 'frame': name one of them");
    return nullptr;
  }
  if (spec.force.isZero(0) && spec.moment.isZero(0)) table.refuse("", "a disturbance needs a 'force' or a 'moment'");
  return built<Disturbance>(table, models, spec);
}

std::shared_ptr<const Environment> read_effort(const TomlTable& table, const Models& models, std::uint64_t seed, int place) {
  EffortSpec spec;
  spec.joint = table.string("joint");
  spec.freedom = table.integer("freedom", 0);
  const double value = table.number("value", 1.0);
  if (!table.has("value") && !table.has("signal"))
    table.refuse("", "an effort needs a 'value', a 'signal' or both (they multiply)");
  spec.signal = of_run(std::visit([&](const auto& s) { return scaled(s, value); }, read_signal(table, "signal")), seed, place);
  if (spec.joint.empty()) return nullptr;
  return built<EffortSignal>(table, models, spec);
}

// Whether the file itself says where a joint starts, and how fast.
struct Said {
  bool q = false, v = false;
};

Said said_of(const TomlTable& root, const Start& start, const std::string& joint) {
  if (start.by_bodies) return {true, true};
  const auto initial = root.table("initial");
  const auto joints = initial ? initial->table("joints") : std::nullopt;
  const auto entry = joints && joints->has(joint) ? joints->table(joint) : std::nullopt;
  return entry ? Said{entry->has("q"), entry->has("v")} : Said{};
}

// A start that says something else than a drive is refused with what it says, and nothing that it does not say.
void expect_agreement(const TomlTable& root, const Model& model, const Drive::Aim& aim, const Start& start, double q, double v) {
  const auto j = static_cast<std::size_t>(aim.joint);
  const Joint& joint = model.joints()[j];
  const AsNamed measure(model);
  const Said said = said_of(root, start, joint.name);
  if (joint.winds(aim.freedom) && start.by_bodies) q = nearest_turn(q, aim.q);
  const bool other_q = said.q && measure.off(j, aim.freedom, q, aim.q) > AsNamed::kBound;
  const bool other_v = said.v && measure.off(j, aim.freedom, v, aim.v) > AsNamed::kBound;
  if (!other_q && !other_v) return;
  const std::string says = fmt::format("{}{}{}", other_q ? fmt::format("q = {:g}", q) : "", other_q && other_v ? ", " : "",
                                       other_v ? fmt::format("v = {:g}", v) : "");
  root.refuse("initial", fmt::format("joint '{}' is driven and begins with q = {:g}, v = {:g}, but the start says {}; leave it "
                                     "out, and it starts where its drive does",
                                     joint.name, aim.q, aim.v, says));
}

// What drives want at the start is where their joints start, unless the file says otherwise.
void place_driven(const TomlTable& root, const Model& model, const Drive& drive, double t, Start& start) {
  if (!start.by_bodies && start.named.empty()) start.named.assign(model.joints().size(), false);
  VecX q = start.joints.q, v = start.joints.v;
  if (start.by_bodies) joint_coordinates(model, start.bodies, q, v);
  for (const Drive::Aim& aim : drive.aims(t)) {
    const auto j = static_cast<std::size_t>(aim.joint);
    const Joint& joint = model.joints()[j];
    expect_agreement(root, model, aim, start, q[joint.q0 + aim.freedom], v[joint.v0 + aim.freedom]);
    if (start.by_bodies) continue;
    // Of its joint a drive names one freedom, with its rate; the others follow the loops, or are as the file names them.
    if (start.follows.empty()) start.follows.assign(static_cast<std::size_t>(model.nv()), false), start.driven = start.follows;
    if (!start.named[j])
      for (int k = 0; k < joint.nv; ++k) start.follows[static_cast<std::size_t>(joint.v0 + k)] = true;
    start.follows[static_cast<std::size_t>(joint.v0 + aim.freedom)] = false;
    start.driven[static_cast<std::size_t>(joint.v0 + aim.freedom)] = true;
    start.named[j] = true;
    if (!start.no_place.empty()) start.no_place[j] = false;
    start.joints.q[joint.q0 + aim.freedom] = aim.q;
    start.joints.v[joint.v0 + aim.freedom] = aim.v;
  }
  if (!start.by_bodies) start.joints.name(model, start.named);
}

}  // namespace

std::shared_ptr<const Environment> read_drives(const TomlTable& root, const Model& model, double t, Start& start) {
  std::vector<DriveSpec> specs;
  const std::vector<TomlTable> tables = root.tables("drive");
  for (const TomlTable& table : tables) {
    DriveSpec spec;
    spec.joint = table.string("joint");
    spec.freedom = table.integer("freedom", 0);
    spec.correction = table.number("correction", spec.correction);
    if (!table.has("signal")) table.refuse("", "a drive needs a 'signal', the coordinate of its joint as a function of time");
    spec.signal = read_signal(table, "signal");
    if (spec.joint.empty() || !table.has("signal")) return nullptr;
    specs.push_back(spec);
    // One more at a time, so that what is wrong is said where it stands.
    if (auto built = Drive::build(model, specs); !built) return refuse_at(table, built.error()), nullptr;
  }
  if (specs.empty()) return nullptr;
  const auto drive = *Drive::build(model, specs);
  place_driven(root, model, *drive, t, start);
  // A refused drive is told where it stands, anything else about the start where that does.
  std::vector<std::pair<std::string, std::string>> places;
  for (std::size_t d = 0; d < tables.size(); ++d) {
    const Drive::Aim aim = drive->aims(t)[d];
    const std::string name = freedom_name(model.joints()[static_cast<std::size_t>(aim.joint)], aim.freedom);
    places.emplace_back(fmt::format("the drive of joint '{}'", name), tables[d].where("joint"));
  }
  start.place = [places, other = start.place, where = start.where](const std::string& sentence) {
    for (const auto& [who, place] : places)
      if (sentence.starts_with(who)) return place;
    return other ? other(sentence) : where;
  };
  if (const auto bodies = bodies_at(model, start))
    if (const std::string why = drive->objection(t, *bodies); !why.empty()) tables.back().refuse("joint", why);
  return drive;
}

Signal read_signal(const TomlTable& table, const char* key) {
  const auto signal = table.table(key);
  if (!signal) return Constant{1};
  const Signal out = read_kind(*signal, signal->choice("kind", kSignalKinds));
  if (const std::string why = flaw(out); !why.empty()) signal->refuse("", why);
  return out;
}

std::vector<std::shared_ptr<const Environment>> read_environments(const TomlTable& root, const Models& models,
                                                                  std::uint64_t seed) {
  std::vector<std::shared_ptr<const Environment>> out;
  int place = 0;
  for (const TomlTable& t : root.tables("disturbance"))
    if (auto e = read_disturbance(t, models, seed, place++)) out.push_back(std::move(e));
  for (const TomlTable& t : root.tables("effort"))
    if (auto e = read_effort(t, models, seed, place++)) out.push_back(std::move(e));
  return out;
}

}  // namespace invar
