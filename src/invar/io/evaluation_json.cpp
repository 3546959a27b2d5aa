// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "invar/io/state_json.hpp"

namespace invar {

namespace {

using Json = nlohmann::ordered_json;

Json list(const Vec3& u) { return {u.x(), u.y(), u.z()}; }
Json list(const Quat& q) { return {q.w(), q.x(), q.y(), q.z()}; }
Json list(const VecX& x, int first, int count) {
  Json out = Json::array();
  for (int i = 0; i < count; ++i) out.push_back(x[first + i]);
  return out;
}

// JSON has no NaN, and the library would write null: look before writing.
bool finite(const Json& json) {
  if (json.is_number_float()) return std::isfinite(json.get<double>());
  if (json.is_structured())
    for (const Json& item : json)
      if (!finite(item)) return false;
  return true;
}

Json bodies_json(const Model& model, const Evaluation& e) {
  Json out = Json::object();
  for (std::size_t b = 0; b < model.bodies().size(); ++b) {
    const BodyState& s = e.bodies[b];
    const BodyAcceleration& a = e.accelerations[b];
    out[model.bodies()[b].name] = {{"p", list(s.p_WC)}, {"q", list(s.q_WB)}, {"v", list(s.v_WC)},
                                   {"w", list(s.w_WB)}, {"a", list(a.a_WC)}, {"alpha", list(a.alpha_WB)}};
  }
  return out;
}

// Shares of self-stress per component, and the joints it is traded with.
Json verdict_json(const Model& model, const JointVerdict& verdict) {
  Json others = Json::array();
  for (const int j : verdict.together_with) others.push_back(model.joints()[j].name);
  const Vec3 force = verdict.force.diagonal(), moment = verdict.moment.diagonal();
  return {{"force", list(force)}, {"moment", list(moment)}, {"together_with", others}};
}

Json joints_json(const Model& model, const Evaluation& e) {
  Json out = Json::object();
  for (std::size_t k = 0; k < model.joints().size(); ++k) {
    const Joint& j = model.joints()[k];
    out[j.name] = {{"q", list(e.q, j.q0, j.nq)},
                   {"v", list(e.v, j.v0, j.nv)},
                   {"vdot", list(e.vdot, j.v0, j.nv)},
                   {"effort", list(e.efforts, j.v0, j.nv)},
                   {"force", list(e.reactions[k].force)},
                   {"moment", list(e.reactions[k].moment)},
                   {"determined", e.verdicts[k].determined}};
    if (!e.verdicts[k].determined) out[j.name]["verdict"] = verdict_json(model, e.verdicts[k]);
  }
  return out;
}

Json list(const MatX& m) {
  Json out = Json::array();
  for (Eigen::Index r = 0; r < m.rows(); ++r) {
    Json row = Json::array();
    for (Eigen::Index c = 0; c < m.cols(); ++c) row.push_back(m(r, c));
    out.push_back(std::move(row));
  }
  return out;
}

void add_partition(const Model& model, const Partition& p, Json& out) {
  const auto numbers = [](const VecX& x) { return list(x, 0, static_cast<int>(x.size())); };
  out["coordinates"] = p.coordinates;
  out["Gamma"] = list(p.Gamma);
  Json parts = Json::object(), jacobians = Json::object();
  for (std::size_t b = 0; b < model.bodies().size(); ++b) {
    parts[model.bodies()[b].name] = list(p.Gamma_parts[b]);
    jacobians[model.bodies()[b].name] = list(p.J[b]);
  }
  out["Gamma_parts"] = parts;
  out["dGamma"] = Json::array();
  for (const MatX& slope : p.dGamma) out["dGamma"].push_back(list(slope));
  out["Gamma_dot"] = list(p.Gamma_dot);
  out["C"] = list(p.C);
  out["h"] = numbers(p.h);
  out["Q"] = numbers(p.Q);
  Json freedoms = Json::array();
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k) freedoms.push_back(freedom_name(joint, k));
  out["freedoms"] = freedoms;
  out["E"] = list(p.joint_rates);
  out["qddot"] = numbers(p.vdot);
  out["J"] = jacobians;
}

Json couplings_json(const Model& model, const Evaluation& e) {
  Json out = Json::object();
  for (std::size_t c = 0; c < model.couplings().size(); ++c)
    out[model.couplings()[c].name] = {{"effort", e.couplings[static_cast<Eigen::Index>(c)]}};
  return out;
}

Json tendons_json(const Model& model, const Evaluation& e) {
  Json out = Json::object();
  for (std::size_t k = 0; k < e.tendons.size(); ++k) {
    const Pull& pull = e.tendons[k];
    out[model.tendons()[k].name] = {
        {"length", pull.length}, {"rate", pull.rate}, {"tension", pull.tension}, {"slack", pull.stretch <= 0}};
  }
  return out;
}

}  // namespace

Result<std::string> evaluation_json(const Model& model, const Evaluation& e, bool pretty, const Partition* partition) {
  const Energy energy = invar::energy(model, e.bodies, e.q, e.v);
  const Momentum momentum = invar::momentum(model, e.bodies);
  VecX wound = VecX::Zero(model.nv());
  for (const Joint& j : model.joints())
    if (j.nq == j.nv) wound.segment(j.v0, j.nv) = e.q.segment(j.q0, j.nq);
  const ConstraintError error = constraint_error(model, e.bodies, wound);

  Json out;
  out["bodies"] = bodies_json(model, e);
  out["joints"] = joints_json(model, e);
  if (!model.couplings().empty()) out["couplings"] = couplings_json(model, e);
  if (!model.tendons().empty()) out["tendons"] = tendons_json(model, e);
  out["energy"] = {{"kinetic", energy.kinetic}, {"potential", energy.potential}, {"elastic", energy.elastic}};
  out["momentum"] = {{"linear", list(momentum.linear)}, {"angular", list(momentum.angular)}};
  out["residual"] = {{"position", error.position}, {"velocity", error.velocity}};
  if (partition != nullptr) add_partition(model, *partition, out);
  if (!finite(out)) return fail(ErrorKind::Numerics, "the evaluation holds numbers that are not finite");
  return out.dump(pretty ? 2 : -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace invar
