// SPDX-License-Identifier: Apache-2.0
// The verbs `equilibrium`, `modes` and `stiffness`: where a mechanism rests, how it moves about there, how a point of it yields.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numbers>

#include "console.hpp"
#include "invar/io/model_file.hpp"
#include "invar/io/state_json.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/equilibrium.hpp"
#include "invar/mech/minimal/tip_stiffness.hpp"
#include "invar/run/words.hpp"

namespace invar::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string model, state, frame;
  bool json = false, find = false;
};

constexpr std::size_t kFreedoms = 1500;

/// A mechanism at a state, in minimal coordinates.
struct Placed {
  Model model;
  Minimal minimal;
  State x;
  explicit Placed(Model&& m) : model(std::move(m)), minimal(model) {}
};

// What follows is dense in the freedoms: an eigenvalue problem of twice their number, or Newton's method with full matrices.
Result<void> small_enough(const Placed& p, const Arguments& args) {
  const std::size_t n = p.minimal.tree().independent().size();
  if (n <= kFreedoms) return {};
  return fail(
      ErrorKind::Option,
      fmt::format("{} freedoms are too many: derivatives and modes are dense matrices, taken up to {} freedoms", n, kFreedoms),
      args.model);
}

Result<std::unique_ptr<Placed>> placed_at(const Arguments& args, Context& context) {
  std::vector<std::string> warnings;
  ModelSpec spec;
  auto model = read_model(args.model, &warnings, &spec);
  warn(warnings, context);
  if (!model) return tl::unexpected(model.error());
  auto placed = std::make_unique<Placed>(std::move(*model));
  Start start(placed->model);
  const std::string source = args.state == "-" ? "stdin" : args.state;
  if (!args.state.empty()) {
    auto text = read_text(args.state);
    if (!text) return tl::unexpected(text.error());
    auto read = start_from_json(placed->model, *text, source);
    if (!read) return tl::unexpected(read.error());
    start = std::move(*read);
  }
  auto x = state_at(placed->minimal, start);
  if (!x) return fail(x.error().kind, x.error().what, args.state.empty() ? start_place(spec, x.error().what) : source);
  for (const std::string& sentence : displaced(placed->minimal, start, *x)) say("note: " + sentence, context);
  placed->x = std::move(*x);
  if (const auto fits = small_enough(*placed, args); !fits) return tl::unexpected(fits.error());
  return placed;
}

std::string why_not(const Equilibrium& e, const Model& model) {
  std::string acting = "no equilibrium was found from here";
  if (!e.freedom.empty())
    acting += fmt::format(": after {} {:.3g} N or N m are still acting on '{}'",
                          counted(static_cast<std::size_t>(e.iterations), "step", "steps"), std::abs(e.force), e.freedom);
  if (e.tendon >= 0)
    return fmt::format("{}, and tendon '{}' has drawn its ends together: where they touch it has no direction", acting,
                       model.tendons()[static_cast<std::size_t>(e.tendon)].name);
  if (e.held)
    return fmt::format(
        "{}, and loops{} leave no motion, but stand in or beside a singular configuration, where no reactions balance it", acting,
        e.stopped.joint < 0 ? "" : fmt::format(" at joint '{}'", model.joints()[static_cast<std::size_t>(e.stopped.joint)].name));
  if (!e.stuck) return acting + ", which nothing holds";
  if (e.stopped.ok()) return acting + ", and no step lowers the energy any more";
  return fmt::format("{}, and the way on is barred: {}; another start, or another choice of independent joints, may lead on",
                     acting, words(e.stopped, model));
}

Result<Equilibrium> equilibrium_of(Placed& p, const Arguments& args) {
  Equilibrium out;
  if (const Verdict verdict = find_equilibrium(p.minimal, Load(p.model), {}, p.x, out); !verdict.ok())
    return fail(ErrorKind::Numerics, words(verdict, p.model), args.model);
  if (!out.found) return fail(ErrorKind::Numerics, why_not(out, p.model), args.model);
  return out;
}

// By joints, turns and all, where they place everything; otherwise by bodies.
Json state_of(const Placed& p) {
  Bodies bodies;
  p.minimal.bodies(p.x, bodies);
  const auto list = [](const auto& v) { return std::vector<double>(v.data(), v.data() + v.size()); };
  bool floats = false;
  for (const JointTree::Node& n : p.minimal.tree().nodes()) floats = floats || n.joint < 0;
  Json out;
  if (floats) {
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      const Quat& q = bodies[b].q_WB;
      out["bodies"][p.model.bodies()[b].name] = {{"p", list(bodies[b].p_WC)}, {"q", {q.w(), q.x(), q.y(), q.z()}}};
    }
    return out;
  }
  VecX q, v;
  joint_coordinates(p.model, bodies, q, v);
  unwind(p.model, p.x.wound, q);
  out["joints"] = Json::object();
  for (const Joint& joint : p.model.joints())
    if (joint.nq > 0) out["joints"][joint.name] = {{"q", list(VecX(q.segment(joint.q0, joint.nq)))}};
  return out;
}

void equilibrium_verb(const Arguments& args, Context& context) {
  auto placed = placed_at(args, context);
  if (!placed) return report(placed.error(), context);
  auto found = equilibrium_of(**placed, args);
  if (!found) return report(found.error(), context);
  say(fmt::format("{} equilibrium, {}", name(found->stability),
                  counted(static_cast<std::size_t>(found->iterations), "step", "steps")),
      context);
  print_json(state_of(**placed));
}

struct Part {
  std::string name;
  std::complex<double> value;
  double unit;  // 1 rad, or the model's length
};

// A free joint to the ground names the freedoms of its body.
bool named_by_a_joint(const Model& model, int body) {
  return std::any_of(model.joints().begin(), model.joints().end(),
                     [&](const Joint& joint) { return joint.facts->is_free() && joint.parent == kWorld && joint.child == body; });
}

// What a mode does to every freedom of the model, and to floating bodies.
std::vector<Part> parts_of(const Placed& p, const Linear& linear, const Mode& mode) {
  std::vector<Part> out;
  for (const Joint& joint : p.model.joints())
    for (int k = 0; k < joint.nv; ++k)
      out.push_back({joint.nv == 1 ? joint.name : fmt::format("{}.{}", joint.name, k), mode.joints[joint.v0 + k],
                     joint.turns(k) ? 1.0 : p.model.length()});
  const JointTree& tree = p.minimal.tree();
  for (std::size_t i = 0; i < tree.independent().size(); ++i) {
    const int freedom = tree.independent()[i];
    const JointTree::Node& node = tree.nodes()[tree.node_of_freedom(freedom)];
    if (node.joint < 0 && !named_by_a_joint(p.model, node.body))
      out.push_back({linear.coordinates[i], mode.shape[static_cast<Eigen::Index>(i)],
                     node.facts->turns(freedom - node.v0) ? 1.0 : p.model.length()});
  }
  return out;
}

Json json_of(const Placed& p, const Linear& linear, const Modes& modes) {
  Json out;
  out["stability"] = name(stability_of(modes));
  out["symmetric"] = modes.symmetric;
  out["acceleration"] = linear.vdot.size() > 0 ? linear.vdot.lpNorm<Eigen::Infinity>() : 0.0;
  out["coordinates"] = linear.coordinates;
  out["modes"] = Json::array();
  for (const Mode& mode : modes.modes) {
    Json shape = Json::object();
    for (const Part& part : parts_of(p, linear, mode)) shape[part.name] = {part.value.real() + 0.0, part.value.imag() + 0.0};
    out["modes"].push_back({{"value", {mode.value.real(), mode.value.imag()}},
                            {"frequency", mode.frequency()},
                            {"natural_frequency", mode.natural_frequency()},
                            {"damping_ratio", mode.damping_ratio()},
                            {"zero", modes.is_zero(mode)},
                            {"shape", shape}});
  }
  return out;
}

// The three freedoms that move most, with the side to which they move.
std::string shape_of(std::vector<Part> parts) {
  // Rounding must not decide between equals.
  const auto size = [](const Part& part) { return std::abs(part.value) / part.unit; };
  std::stable_sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) { return size(a) > size(b) * (1 + 1e-9); });
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, parts.size()); ++i) {
    const auto c = parts[i].value;
    if (size(parts[i]) < 1e-3) continue;
    const bool straight = std::abs(c.imag()) < 1e-6 * std::abs(c);
    out += fmt::format("{}{} {:.3g}{}", out.empty() ? "" : ", ", parts[i].name, straight ? c.real() : std::abs(c),
                       straight ? "" : fmt::format(" at {:.0f}°", std::arg(c) * 180 / std::numbers::pi + 0.0));
  }
  return out;
}

void print_modes(const Placed& p, const Linear& linear, const Modes& modes) {
  print("{:>14} {:>14} {:>12} {:>14}  {}\n", "frequency [Hz]", "natural [Hz]", "damping", "decay [1/s]", "moves most");
  for (const Mode& mode : modes.modes) {
    if (modes.is_zero(mode)) {
      print("{:>14} {:>14} {:>12} {:>14}  {}\n", "none", "", "", "", shape_of(parts_of(p, linear, mode)));
      continue;
    }
    print("{:>14.6g} {:>14.6g} {:>12.4g} {:>14.4g}  {}\n", mode.frequency(), mode.natural_frequency(), mode.damping_ratio() + 0.0,
          0.0 - mode.value.real(), shape_of(parts_of(p, linear, mode)));
  }
  print("{}\n", name(stability_of(modes)));
}

void modes_verb(const Arguments& args, Context& context) {
  auto placed = placed_at(args, context);
  if (!placed) return report(placed.error(), context);
  Placed& p = **placed;
  if (args.find)
    if (const auto found = equilibrium_of(p, args); !found) return report(found.error(), context);
  Linear linear;
  if (const Verdict verdict = linearize(p.minimal.tree(), p.x.q, p.x.v, p.x.wound, Load(p.model), linear); !verdict.ok())
    return report(Error{ErrorKind::Numerics, words(verdict, p.model), args.model}, context);
  const Modes modes = modes_of(p.minimal.tree(), linear);
  const double left = linear.vdot.size() > 0 ? linear.vdot.lpNorm<Eigen::Infinity>() : 0.0;
  if (left > 1e-6)
    say(fmt::format(
            "note: this is no equilibrium, accelerations are up to {:.3g}: the modes are those of the motion beside the one "
            "that starts here (--equilibrium looks for one first)",
            left),
        context);
  if (args.json) return print_json(json_of(p, linear, modes));
  print_modes(p, linear, modes);
}

Json json_of(const TipStiffness& tip, const std::string& frame) {
  const auto list = [](const Vec3& v) { return std::vector<double>(v.data(), v.data() + 3); };
  Json out;
  out["frame"] = frame;
  out["axes"] = Json::array();
  for (int k = 0; k < 3; ++k) {
    // JSON knows no infinity.
    const bool rigid = std::isinf(tip.stiffness[k]);
    out["axes"].push_back(
        {{"stiffness", rigid ? Json(nullptr) : Json(tip.stiffness[k])}, {"rigid", rigid}, {"along", list(tip.axes.col(k))}});
  }
  for (int k = 0; k < 3; ++k) out["compliance"].push_back(list(tip.compliance.row(k)));
  for (std::size_t k = 0; k < tip.coordinates.size(); ++k)
    out["missing"][tip.coordinates[k]] = tip.missing[static_cast<Eigen::Index>(k)];
  return out;
}

void print_stiffness(const TipStiffness& tip) {
  print("{:>16} {:>16}  {}\n", "stiffness [N/m]", "gives [m/N]", "along (World)");
  for (int k = 0; k < 3; ++k) {
    const double s = tip.stiffness[k];
    const std::string words = s == 0 ? "free" : (std::isinf(s) ? "rigid" : fmt::format("{:.6g}", s));
    const std::string gives = s == 0 || std::isinf(s) ? "" : fmt::format("{:.6g}", 1 / s);
    const Vec3 a = tip.axes.col(k);
    print("{:>16} {:>16}  {:.4f} {:.4f} {:.4f}\n", words, gives, a.x() + 0.0, a.y() + 0.0, a.z() + 0.0);
  }
}

void stiffness_verb(const Arguments& args, Context& context) {
  auto placed = placed_at(args, context);
  if (!placed) return report(placed.error(), context);
  Placed& p = **placed;
  const auto frame = p.model.find_frame(args.frame);
  if (!frame || p.model.frames()[static_cast<std::size_t>(*frame)].body == kWorld)
    return report(
        Error{ErrorKind::Option,
              fmt::format("no body has a frame '{}'{}", args.frame, did_you_mean(args.frame, names_of(p.model.frames()))),
              args.model},
        context);
  if (args.find)
    if (const auto found = equilibrium_of(p, args); !found) return report(found.error(), context);
  const Frame& at = p.model.frames()[static_cast<std::size_t>(*frame)];
  TipStiffness tip;
  if (const Verdict verdict = tip_stiffness(p.minimal.tree(), p.x.q, p.x.wound, Load(p.model), at.body, at.X_BE.p, tip);
      !verdict.ok())
    return report(Error{ErrorKind::Numerics, words(verdict, p.model), args.model}, context);
  if (tip.largest > 1e-6)
    say(fmt::format(
            "note: this is no equilibrium, up to {:.3g} N are missing (moments over {:.3g} m): the stiffness is that with "
            "them held on the independent freedoms (--equilibrium looks for one first)",
            tip.largest, p.model.length()),
        context);
  if (args.json) return print_json(json_of(tip, args.frame));
  print_stiffness(tip);
}

constexpr const char* kState = "State by bodies or by joints, JSON file or - for stdin; default: [initial] of the model, at rest";

}  // namespace

void add_equilibrium(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("equilibrium", "Where the mechanism rests under gravity and springs, as a state in JSON");
  auto args = std::make_shared<Arguments>();
  verb->add_option("model", args->model, "Model file")->required();
  verb->add_option("--state", args->state, kState);
  verb->footer("Example: invar equilibrium models/pendulum.toml | invar eval models/pendulum.toml --state -");
  verb->callback([args, &context] { equilibrium_verb(*args, context); });
}

void add_modes(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("modes", "Frequencies, damping and shapes of small motions about a state");
  auto args = std::make_shared<Arguments>();
  verb->add_option("model", args->model, "Model file")->required();
  verb->add_option("--state", args->state, kState);
  verb->add_flag("--equilibrium", args->find, "Look for an equilibrium from there first");
  verb->add_flag("--json", args->json, "All values and shapes as JSON");
  verb->footer("Example: invar modes models/double_pendulum.toml --equilibrium --json");
  verb->callback([args, &context] { modes_verb(*args, context); });
}

void add_stiffness(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("stiffness", "How a frame yields to a force that springs, tendons and gravity hold");
  auto args = std::make_shared<Arguments>();
  verb->add_option("model", args->model, "Model file")->required();
  verb->add_option("frame", args->frame, "Frame of a body: its origin is the point")->required();
  verb->add_option("--state", args->state, kState);
  verb->add_flag("--equilibrium", args->find, "Look for an equilibrium from there first");
  verb->add_flag("--json", args->json, "Axes, compliance and what is missing as JSON");
  verb->footer("Example: invar stiffness models/paper_c_springs.toml tcp --equilibrium");
  verb->callback([args, &context] { stiffness_verb(*args, context); });
}

}  // namespace invar::cli
