// SPDX-License-Identifier: Apache-2.0
#include "invar/io/learned_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/io/json_reader.hpp"
#include "invar/io/text_file.hpp"
#include "invar/io/whole_file.hpp"
#include "invar/run/calibration.hpp"

namespace invar {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSharings[] = {"each", "alike", "all"};

Json flat(const double* x, Eigen::Index n) { return std::vector<double>(x, x + n); }
template <class Numbers>
Json flat(const Numbers& m) {
  return flat(m.data(), m.size());
}
std::string hex(std::uint64_t x) { return fmt::format("{:016x}", x); }

// ---- writing

Json json_of(const Inertia& i) {
  const Mat3& I = i.I_C;
  return {{"mass", i.mass}, {"com", flat(i.p_BC)}, {"inertia", {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)}}};
}

Json json_of(const SetInertia& e) {
  Json out = {{"kind", "set_inertia"}, {"body", e.body}};
  out.update(json_of(e.inertia));
  return out;
}

Json json_of(const Pose& X) { return {X.p.x(), X.p.y(), X.p.z(), X.q.w(), X.q.x(), X.q.y(), X.q.z()}; }

// Inertias per body; stiffness, rest, damping and friction of every freedom of every joint; beside them rates of friction, where
// joints are in their bodies, and gravity.
Json json_of(const NominalNumbers& n) {
  Json out = {{"inertias", Json::array()}, {"passives", Json::array()}};
  for (const Inertia& i : n.inertias) out["inertias"].push_back(json_of(i));
  for (const auto& joint : n.passives) {
    Json numbers = Json::array();
    for (const Passive& p : joint)
      for (const double x : {p.stiffness, p.rest, p.damping, p.friction}) numbers.push_back(x);
    out["passives"].push_back(std::move(numbers));
  }
  if (n.ends.empty()) return out;
  Json rates = Json::array(), ends = Json::array();
  for (const auto& joint : n.passives) {
    Json& numbers = rates.emplace_back(Json::array());
    for (const Passive& p : joint) numbers.push_back(p.friction_velocity);
  }
  for (const NominalNumbers::Ends& e : n.ends)
    ends.push_back({{"in_parent", json_of(e.in_parent)}, {"in_child", json_of(e.in_child)}});
  out["friction_velocities"] = std::move(rates), out["ends"] = std::move(ends), out["gravity"] = n.gravity;
  if (!n.kinds.empty()) out["kinds"] = n.kinds;
  return out;
}

Json json_of(const SetPassive& e) {
  Json out = {{"kind", "set_passive"}, {"joint", e.joint}};
  if (e.stiffness) out["stiffness"] = *e.stiffness;
  if (e.rest) out["rest"] = *e.rest;
  if (e.damping) out["damping"] = *e.damping;
  if (e.friction) out["friction"] = *e.friction;
  if (e.friction_velocity) out["friction_velocity"] = *e.friction_velocity;
  return out;
}

void add_generic(const TermSpec& t, Json& out) {
  out["seed"] = hex(t.seed);
  out["scale_v"] = t.scales.v, out["scale_w"] = t.scales.w;
  Json domain = Json::array();
  for (const Mat6& m : t.domain.inverse) domain.push_back(flat(m));
  out["domain"] = domain;
  if (t.kind == TermKind::Fourier) {
    out["cosines"] = t.cosines, out["spread"] = t.spread;
    return;
  }
  out["width"] = t.width;
  if (t.layers.width() > 0)
    out["layers"] =
        Json{{"W1", flat(t.layers.W1)}, {"b1", flat(t.layers.b1)}, {"W2", flat(t.layers.W2)}, {"b2", flat(t.layers.b2)}};
}

Json json_of(const TermSpec& t) {
  Json out = {{"kind", name(t.kind)}, {"on", t.on}, {"share", kSharings[static_cast<int>(t.sharing)]}};
  if (t.kind == TermKind::JointCoulomb) out["smoothing"] = t.smoothing;
  if (t.kind == TermKind::Obstacle) out["obstacles"] = t.obstacles, out["bumps"] = t.bumps, out["reach"] = t.reach;
  if (is_generic(t.kind)) add_generic(t, out);
  return out;
}

// Without held-out runs there is no error on them.
Json json_of(const Provenance& p) {
  Json out = {{"data", hex(p.data)},  {"seed", hex(p.seed)}, {"training", p.training},   {"held_out", p.held_out},
              {"samples", p.samples}, {"window", p.window},  {"strengths", p.strengths}, {"training_error", p.training_error},
              {"noise", p.noise}};
  if (!p.held_out.empty()) out["held_out_error"] = p.held_out_error;
  return out;
}

// ---- reading

std::uint64_t hex_of(const JsonReader& r) {
  const std::string text = r.text();
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    r.refuse("expected 16 hexadecimal digits");
    return 0;
  }
  return std::stoull(text, nullptr, 16);
}

MatX matrix_of(const JsonReader& r, Eigen::Index rows, Eigen::Index columns) {
  const std::vector<double> x = r.numbers();
  if (static_cast<Eigen::Index>(x.size()) != rows * columns) {
    r.refuse(fmt::format("expected {} numbers, found {}", rows * columns, x.size()));
    return MatX::Zero(rows, columns);
  }
  return Eigen::Map<const MatX>(x.data(), rows, columns);
}

template <class Words>
int choice(const JsonReader& r, const Words& words) {
  const std::string word = r.text();
  const auto at = std::find(std::begin(words), std::end(words), word);
  if (at != std::end(words)) return static_cast<int>(at - std::begin(words));
  r.refuse(fmt::format("'{}' is unknown to this version", word));
  return 0;
}

Inertia inertia_of(const JsonReader& r) {
  Inertia out;
  out.mass = r.key("mass").number();
  out.p_BC = r.key("com").vec3();
  const MatX I = matrix_of(r.key("inertia"), 6, 1);
  out.I_C << I(0), I(3), I(4), I(3), I(1), I(5), I(4), I(5), I(2);
  return out;
}

Pose pose_of(const JsonReader& r) {
  const MatX x = matrix_of(r, 7, 1);
  Pose out{Quat(x(3), x(4), x(5), x(6)), x.topRows<3>()};
  if (std::abs(out.q.norm() - 1) > 1e-9) {
    r.refuse("numbers four to seven are a unit quaternion");
    out.q = Quat::Identity();
  }
  return out;
}

// What files did not tell in the beginning.
void read_ends(const JsonReader& r, NominalNumbers& out) {
  const JsonReader rates = r.key("friction_velocities"), ends = r.key("ends");
  const std::vector<JsonReader> per_joint = rates.items();
  if (per_joint.size() != out.passives.size()) return rates.refuse("there is one list per joint");
  for (std::size_t j = 0; j < per_joint.size(); ++j) {
    const std::vector<double> x = per_joint[j].numbers();
    if (x.size() != out.passives[j].size()) return per_joint[j].refuse("there is one number per freedom");
    for (std::size_t k = 0; k < x.size(); ++k) out.passives[j][k].friction_velocity = x[k];
  }
  for (const JsonReader& e : ends.items()) out.ends.push_back({pose_of(e.key("in_parent")), pose_of(e.key("in_child"))});
  if (out.ends.size() != out.passives.size()) ends.refuse("there are the ends of every joint");
  out.gravity = r.key("gravity").number();
  if (!r.has("kinds")) return;
  out.kinds = r.key("kinds").texts();
  if (out.kinds.size() != out.passives.size()) r.key("kinds").refuse("there is one kind per joint");
}

NominalNumbers nominal_of(const JsonReader& r, const Learned& of) {
  NominalNumbers out;
  const JsonReader inertias = r.key("inertias"), passives = r.key("passives");
  for (const JsonReader& i : inertias.items()) out.inertias.push_back(inertia_of(i));
  if (out.inertias.size() != of.bodies.size()) inertias.refuse("there is one inertia per body");
  for (const JsonReader& j : passives.items()) {
    const std::vector<double> x = j.numbers();
    if (x.size() % 4 != 0) j.refuse("there are four numbers per freedom");
    auto& joint = out.passives.emplace_back(x.size() / 4);
    for (std::size_t k = 0; k < joint.size(); ++k)
      joint[k].stiffness = x[4 * k], joint[k].rest = x[4 * k + 1], joint[k].damping = x[4 * k + 2],
      joint[k].friction = x[4 * k + 3];
  }
  if (out.passives.size() != of.joints.size()) passives.refuse("there is one list per joint");
  if (r.has("ends")) read_ends(r, out);
  return out;
}

Edit edit_of(const JsonReader& r) {
  const char* const kinds[] = {"set_inertia", "set_passive"};
  if (choice(r.key("kind"), kinds) == 0) {
    const Inertia inertia = inertia_of(r);
    if (const std::string why = flaw(inertia); !why.empty()) r.refuse(why);
    return SetInertia{r.key("body").text(), inertia};
  }
  SetPassive out{r.key("joint").text(), {}, {}, {}, {}, {}};
  for (const auto& [key, numbers] : {std::pair("stiffness", &out.stiffness), std::pair("rest", &out.rest),
                                     std::pair("damping", &out.damping), std::pair("friction", &out.friction)})
    if (r.has(key)) *numbers = r.key(key).numbers();
  if (r.has("friction_velocity")) out.friction_velocity = r.key("friction_velocity").number();
  return out;
}

// Widths and counts are bounded before anything is made of them.
void read_generic(const JsonReader& r, TermSpec& t) {
  t.seed = hex_of(r.key("seed"));
  t.scales = {r.key("scale_v").number(), r.key("scale_w").number()};
  for (const JsonReader& m : r.key("domain").items()) t.domain.inverse.push_back(matrix_of(m, 6, 6));
  if (t.kind == TermKind::Fourier) {
    t.cosines = r.key("cosines").integer(), t.spread = r.key("spread").number();
    return;
  }
  t.width = r.key("width").integer();
  if (t.width < 1 || t.width >= Features::kMost) {
    r.refuse(fmt::format("'width' lies between 1 and {}", Features::kMost - 1));
    t.width = 1;
  }
  if (!r.has("layers")) return;
  const JsonReader layers = r.key("layers");
  t.layers = {matrix_of(layers.key("W1"), t.width, 6), matrix_of(layers.key("W2"), t.width, t.width),
              matrix_of(layers.key("b1"), t.width, 1), matrix_of(layers.key("b2"), t.width, 1)};
}

TermSpec term_of(const JsonReader& r) {
  TermSpec t;
  t.kind = static_cast<TermKind>(choice(r.key("kind"), term_names()));
  t.on = r.key("on").texts();
  t.sharing = static_cast<Sharing>(choice(r.key("share"), kSharings));
  if (t.kind == TermKind::JointCoulomb) t.smoothing = r.key("smoothing").numbers();
  if (t.kind == TermKind::Obstacle)
    t.obstacles = r.key("obstacles").texts(), t.bumps = r.key("bumps").integer(), t.reach = r.key("reach").number();
  if (is_generic(t.kind)) read_generic(r, t);
  return t;
}

Provenance provenance_of(const JsonReader& r) {
  Provenance p;
  p.data = hex_of(r.key("data")), p.seed = hex_of(r.key("seed"));
  p.training = r.key("training").texts(), p.held_out = r.key("held_out").texts();
  p.samples = r.key("samples").integer(), p.window = r.key("window").integer();
  p.strengths = r.key("strengths").numbers();
  p.training_error = r.key("training_error").number();
  p.held_out_error = p.held_out.empty() && !r.has("held_out_error") ? std::numeric_limits<double>::quiet_NaN()
                                                                    : r.key("held_out_error").number();
  p.noise = r.key("noise").number();
  return p;
}

RemainderBound bound_of(const JsonReader& r) {
  const RemainderBound b{.most = r.key("value").number(),
                         .after = r.key("settling").number(),
                         .confidence = r.key("confidence").number(),
                         .runs = r.key("runs").integer()};
  if (r.key("unit").text() != "N/sqrt(kg)") r.key("unit").refuse("bounds are told in N/sqrt(kg)");
  if (!(b.most >= 0)) r.key("value").refuse("a bound is not negative, N/sqrt(kg)");
  if (!(b.after >= 0)) r.key("settling").refuse("settling takes no negative time");
  if (const auto fine = claimable(b.runs, b.confidence); !fine) r.key("confidence").refuse(fine.error().what);
  return b;
}

void read_load(const JsonReader& r, Learned& out) {
  std::vector<double> all;
  for (const JsonReader& t : r.items()) {
    out.terms.push_back(term_of(t));
    const std::vector<double> numbers = t.key("coefficients").numbers();
    const std::vector<std::string> labels = t.key("labels").texts(), units = t.key("units").texts();
    if (labels.size() != numbers.size() || units.size() != numbers.size())
      t.refuse(fmt::format("{} coefficients have {} labels and {} units", numbers.size(), labels.size(), units.size()));
    all.insert(all.end(), numbers.begin(), numbers.end());
    out.labels.insert(out.labels.end(), labels.begin(), labels.end());
    out.units.insert(out.units.end(), units.begin(), units.end());
  }
  out.coefficients = Eigen::Map<const VecX>(all.data(), static_cast<Eigen::Index>(all.size()));
}

}  // namespace

std::string write_learned(const Learned& learned) {
  Json out = {{"invar_learned", kLearnedFormat},
              {"model", learned.model},
              {"bodies", learned.bodies},
              {"joints", learned.joints},
              {"learned", learned.learned}};
  out["nominal"] = json_of(learned.nominal);
  out["obstacles"] = learned.obstacles, out["inputs"] = learned.inputs;
  out["edits"] = Json::array();
  for (const Edit& e : learned.edits) {
    if (const auto* inertia = std::get_if<SetInertia>(&e)) out["edits"].push_back(json_of(*inertia));
    if (const auto* passive = std::get_if<SetPassive>(&e)) out["edits"].push_back(json_of(*passive));
  }
  // Coefficients stand with their terms: as many as there are labels until the next one.
  out["load"] = Json::array();
  Eigen::Index at = 0;
  for (std::size_t i = 0; i < learned.terms.size(); ++i) {
    Json term = json_of(learned.terms[i]);
    const Eigen::Index count = learned.counts[i];
    term["coefficients"] = flat(learned.coefficients.data() + at, count);
    const auto first = static_cast<std::ptrdiff_t>(at), last = static_cast<std::ptrdiff_t>(at + count);
    term["labels"] = std::vector<std::string>(learned.labels.begin() + first, learned.labels.begin() + last);
    term["units"] = std::vector<std::string>(learned.units.begin() + first, learned.units.begin() + last);
    out["load"].push_back(std::move(term));
    at += count;
  }
  if (learned.bound) {
    out["bound"] = {{"value", learned.bound->most},
                    {"unit", "N/sqrt(kg)"},
                    {"confidence", learned.bound->confidence},
                    {"runs", learned.bound->runs},
                    {"settling", learned.bound->after}};
    if (!learned.bound_loop.empty()) out["bound"]["loop"] = learned.bound_loop;
    if (std::isfinite(learned.largest_remainder)) out["bound"]["largest"] = learned.largest_remainder;
  }
  out["from"] = json_of(learned.from);
  out["undetermined"] = learned.undetermined, out["notes"] = learned.notes;
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Learned> parse_learned(const std::string& text, const std::string& name) {
  auto root = JsonReader::parse(text, name);
  if (!root) return tl::unexpected(root.error());
  if (!root->has("invar_learned"))
    return fail(ErrorKind::Syntax, "is not a learned model: it has no 'invar_learned'; `invar learn` writes one", name);
  if (const int version = root->key("invar_learned").integer(); root->sound() && version != kLearnedFormat)
    return fail(ErrorKind::Syntax,
                fmt::format("is of version {}, this program reads version {}; learn anew from the data", version, kLearnedFormat),
                name);
  Learned out;
  out.model = root->key("model").text();
  out.bodies = root->key("bodies").texts(), out.joints = root->key("joints").texts();
  out.learned = root->key("learned").boolean();
  out.nominal = nominal_of(root->key("nominal"), out);
  out.obstacles = root->key("obstacles").texts(), out.inputs = root->key("inputs").texts();
  for (const JsonReader& e : root->key("edits").items()) out.edits.push_back(edit_of(e));
  read_load(root->key("load"), out);
  for (const JsonReader& t : root->key("load").items()) out.counts.push_back(static_cast<int>(t.key("labels").items().size()));
  if (root->has("bound")) {
    const JsonReader bound = root->key("bound");
    out.bound = bound_of(bound);
    if (bound.has("loop")) out.bound_loop = bound.key("loop").texts();
    if (bound.has("largest")) out.largest_remainder = bound.key("largest").number();
  }
  out.from = provenance_of(root->key("from"));
  out.undetermined = root->key("undetermined").texts(), out.notes = root->key("notes").texts();
  if (!out.learned && !(out.edits.empty() && out.terms.empty()))
    root->key("learned").refuse("it says that nothing was learned, beside edits or a load: learn anew from the data");
  if (auto fine = root->finish(); !fine) return tl::unexpected(fine.error());
  return out;
}

Result<void> write_learned_file(const std::string& path, const Learned& learned) {
  return write_text(path, write_learned(learned));
}

Result<Learned> read_learned_file(const std::string& path) {
  auto text = read_text_file(path, kLargestText);
  if (!text) return tl::unexpected(text.error());
  return parse_learned(*text, path);
}

}  // namespace invar
