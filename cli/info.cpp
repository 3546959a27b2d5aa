// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "console.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/exactness.hpp"
#include "invar/mech/minimal/inertia_shares.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/plane.hpp"
#include "invar/mech/spanning_tree.hpp"
#include "invar/run/start.hpp"
#include "invar/run/words.hpp"

namespace invar::cli {
namespace {

using Json = nlohmann::ordered_json;

// Rows, rank and freedoms at the start configuration, which reactions follow from the motion alone, and what of it rests on exact
// dimensions.
struct Analysis {
  Mobility mobility;
  std::vector<JointVerdict> verdicts;  // per joint
  Exactness exactness;
  VecX q;                                // joint coordinates there
  std::vector<std::string> displaced;    // what of [initial] had to give way
  std::optional<InertiaShares> inertia;  // none where no independent freedoms are found

  int redundant() const { return mobility.rows - mobility.rank; }
};

constexpr Eigen::Index kColumns = 8;       // of a table that people read
constexpr Eigen::Index kNumbers = 250000;  // shares of bodies in the JSON, at most

Result<Analysis> analyse(const Model& model, const ModelSpec& spec, const std::string& path, bool everything) {
  Augmented formulation(model);
  const auto x = state_at(formulation, Start(model));
  if (!x) return fail(x.error().kind, x.error().what, start_place(spec, x.error().what));
  Evaluation e;
  if (const Verdict verdict = formulation.evaluate(*x, Load(model), e); !verdict.ok())
    return fail(ErrorKind::Numerics, words(verdict, model), path);
  Analysis out{formulation.mobility(), e.verdicts, exactness(model, e.bodies), e.q, displaced(formulation, Start(model), *x), {}};
  Minimal minimal(model);
  State state;
  minimal.set(e.bodies, state, Start(model).turns(model));
  const JointTree& tree = minimal.tree();
  const auto n = static_cast<Eigen::Index>(tree.independent().size()), bodies = static_cast<Eigen::Index>(e.bodies.size());
  InertiaShares shares;
  const bool body_by_body = !everything || n * bodies <= kNumbers;
  if (inertia_shares(tree, state.q, state.wound, everything ? n : kColumns, body_by_body, shares).ok())
    out.inertia = std::move(shares);
  return out;
}

// What every body contributes to the inertia of every freedom: the diagonals of Γ_i.
void print_inertia(const Model& model, const InertiaShares& p) {
  const Eigen::Index shown = p.all.size(), more = static_cast<Eigen::Index>(p.coordinates.size()) - shown;
  if (shown == 0) return;
  print("\n  {:<20}", "inertia [kg m^2, kg]");
  for (Eigen::Index k = 0; k < shown; ++k) print(" {:>12}", p.coordinates[static_cast<std::size_t>(k)]);
  print("{}\n", more > 0 ? fmt::format("  and {} more (--json)", more) : "");
  const auto line = [&](const std::string& name, const VecX& part) {
    print("  {:<20}", name);
    for (Eigen::Index k = 0; k < shown; ++k) print(" {:>12.6g}", part[k]);
    print("\n");
  };
  for (std::size_t b = 0; b < model.bodies().size(); ++b)
    line(model.bodies()[b].name, p.bodies.row(static_cast<Eigen::Index>(b)).transpose());
  if (!p.rotors.isZero(0)) line("(rotors)", p.rotors);
  line("(all)", p.all);
}

Json inertia_json(const Model& model, const InertiaShares& p) {
  const auto list = [](const VecX& v) {
    Json out = Json::array();
    for (Eigen::Index k = 0; k < v.size(); ++k) out.push_back(v[k]);
    return out;
  };
  Json parts = Json::object();
  for (Eigen::Index b = 0; b < p.bodies.rows(); ++b)
    parts[model.bodies()[static_cast<std::size_t>(b)].name] = list(p.bodies.row(b).transpose());
  const bool omitted = p.bodies.rows() == 0 && !model.bodies().empty();
  Json out{{"coordinates", p.coordinates},
           {"bodies", omitted ? Json(nullptr) : parts},
           {"rotors", list(p.rotors)},
           {"all", list(p.all)}};
  if (omitted)
    out["bodies_omitted"] =
        fmt::format("{} bodies x {} freedoms are more than {} numbers", model.bodies().size(), p.coordinates.size(), kNumbers);
  return out;
}

// Coordinates of one joint, none of them -0.
std::vector<double> coordinates(const Joint& j, const VecX& q) {
  std::vector<double> out;
  for (int k = 0; k < j.nq; ++k) out.push_back(q[j.q0 + k] + 0.0);
  return out;
}

double total_mass(const Model& model) {
  double sum = 0;
  for (const Body& b : model.bodies()) sum += b.inertia.mass;
  return sum;
}

Vec3 principal_moments(const Body& body) { return Eigen::SelfAdjointEigenSolver<Mat3>(body.inertia.I_C).eigenvalues(); }

std::vector<std::string> joint_names(const Model& model, const std::vector<int>& joints) {
  std::vector<std::string> names;
  for (const int j : joints) names.push_back(model.joints()[static_cast<std::size_t>(j)].name);
  return names;
}

std::string kind_text(const Joint& j) {
  return j.kind == j.spec_kind ? name(j.kind) : fmt::format("{} (locked)", name(j.spec_kind));
}

std::string loop_text(const Model& model) {
  const auto names = joint_names(model, spanning_tree(model).closures);
  return names.empty() ? "none" : fmt::format("{} (closed by {})", names.size(), fmt::join(names, ", "));
}

void print_table(const Model& model, const Analysis& m) {
  print("{}\n  gravity    [{:g}, {:g}, {:g}] m/s^2\n  mass       {:g} kg\n", model.name(), model.gravity().x(),
        model.gravity().y(), model.gravity().z(), total_mass(model));
  print("\n  {:<20} {:>12}  {}\n", "body", "mass [kg]", "principal moments of inertia about the COM [kg m^2]");
  for (const Body& b : model.bodies()) {
    const Vec3 I = principal_moments(b);
    print("  {:<20} {:>12.6g}  {:.6g}, {:.6g}, {:.6g}\n", b.name, b.inertia.mass, I[0], I[1], I[2]);
  }
  print("\n  {:<20} {:<20} {:<20} {:<20} {:>8}  {}\n", "joint", "kind", "parent", "child", "freedoms", "starts at [rad, m]");
  for (const Joint& j : model.joints())
    print("  {:<20} {:<20} {:<20} {:<20} {:>8}  {}\n", j.name, kind_text(j), model.body_name(j.parent), model.body_name(j.child),
          j.nv, fmt::format("{:.6g}", fmt::join(coordinates(j, m.q), ", ")));
  if (m.inertia) print_inertia(model, *m.inertia);
  print("\n  loops      {}\n", loop_text(model));
  print("  couplings  {}\n  tendons    {}\n", model.couplings().size(), model.tendons().size());
  print("  rows       {}\n  rank       {}\n  redundant  {}\n  mobility   {} at the start configuration\n", m.mobility.rows,
        m.mobility.rank, m.redundant(), m.mobility.freedoms);
  const std::string not_planar = why_not_planar(model);
  print("  plane      {}\n", not_planar.empty() ? "moves in a plane" : "none: " + not_planar);
  if (m.exactness.relies())
    print("  exactness  mobility {} relies on exact dimensions, slightly other ones leave {}: {}\n", m.exactness.mobility,
          m.exactness.generic_mobility, fmt::format("{}", fmt::join(joint_names(model, m.exactness.joints), ", ")));
  std::vector<std::string> open;
  for (std::size_t j = 0; j < m.verdicts.size(); ++j)
    if (!m.verdicts[j].determined) open.push_back(model.joints()[j].name);
  if (!open.empty())
    print("  reactions  not determined by the equations alone at: {}\n", fmt::format("{}", fmt::join(open, ", ")));
}

Json to_json(const Model& model, const Analysis& m) {
  Json out;
  out["name"] = model.name();
  out["gravity"] = {model.gravity().x(), model.gravity().y(), model.gravity().z()};
  out["mass"] = total_mass(model);
  out["bodies"] = Json::array();
  for (const Body& b : model.bodies()) {
    const Vec3 I = principal_moments(b);
    out["bodies"].push_back({{"name", b.name}, {"mass", b.inertia.mass}, {"principal_moments", {I[0], I[1], I[2]}}});
  }
  out["joints"] = Json::array();
  for (std::size_t k = 0; k < model.joints().size(); ++k) {
    const Joint& j = model.joints()[k];
    out["joints"].push_back({{"name", j.name},
                             {"kind", name(j.spec_kind)},
                             {"locked", j.kind != j.spec_kind},
                             {"parent", model.body_name(j.parent)},
                             {"child", model.body_name(j.child)},
                             {"coordinates", j.nq},
                             {"freedoms", j.nv},
                             {"q", coordinates(j, m.q)},
                             {"determined", m.verdicts[k].determined}});
  }
  out["closures"] = joint_names(model, spanning_tree(model).closures);
  out["couplings"] = model.couplings().size();
  out["tendons"] = model.tendons().size();
  out["freedoms"] = model.nv();
  out["loops"] = out["closures"].size();
  out["rows"] = m.mobility.rows;
  out["rank"] = m.mobility.rank;
  out["redundant"] = m.redundant();
  out["mobility"] = m.mobility.freedoms;
  const std::string not_planar = why_not_planar(model);
  out["planar"] = not_planar.empty();
  out["not_planar_because"] = not_planar.empty() ? Json(nullptr) : Json(not_planar);
  out["relies_on_exact_dimensions"] = m.exactness.decided ? Json(m.exactness.relies()) : Json(nullptr);
  out["generic_rank"] = m.exactness.decided ? Json(m.exactness.generic_rank) : Json(nullptr);
  out["generic_mobility"] = m.exactness.decided ? Json(m.exactness.generic_mobility) : Json(nullptr);
  out["exact_joints"] = joint_names(model, m.exactness.joints);
  out["partition"] = m.inertia ? inertia_json(model, *m.inertia) : Json(nullptr);
  return out;
}

void info_verb(const ModelArguments& args, Context& context) {
  std::vector<std::string> warnings;
  ModelSpec spec;
  auto model = read_model(args.model, &warnings, &spec);
  warn(warnings, context);
  if (!model) return report(model.error(), context);
  auto analysis = analyse(*model, spec, args.model, args.json);
  if (!analysis) return report(analysis.error(), context);
  for (const std::string& sentence : analysis->displaced) say("note: " + sentence, context);
  if (args.json)
    print_json(to_json(*model, *analysis));
  else
    print_table(*model, *analysis);
}

}  // namespace

void add_info(CLI::App& app, Context& context) {
  add_model_verb(app, "info", "Bodies, joints, loops, rank and mobility of a model", "invar info models/stewart.toml", context,
                 info_verb);
}

}  // namespace invar::cli
