// SPDX-License-Identifier: Apache-2.0
#include "support/reference_loop.hpp"

#include "invar/geom/rotation.hpp"
#include "invar/learn/learn.hpp"
#include "invar/mech/kinematics.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// Paper A, 4.2: sines of 0.5 and 0.7 rad/s, an attitude that swings about z.
PosePath path_of(double speed, double size, const Quat& turn) {
  return [speed, size, turn](Instant at) {
    const double a = 0.5 * speed, b = 0.7 * speed, t = at.t;
    const Quat fixed = exp_so3(0.36055512754639896 * Vec3(0.3, -0.2, 0).normalized());
    const double most = 0.6 * size;
    const double angle = most * std::sin(a * t), rate = most * a * std::cos(a * t), change = -most * a * a * std::sin(a * t);
    PoseJet j;
    j.p = turn * (Vec3(3.5, 0, 0) + size * Vec3(0.4 * std::sin(a * t), 0.6 - 0.6 * std::cos(a * t), 0.3 * std::sin(b * t)));
    j.v = turn * (size * Vec3(0.4 * a * std::cos(a * t), 0.6 * a * std::sin(a * t), 0.3 * b * std::cos(b * t)));
    j.a = turn * (size * Vec3(-0.4 * a * a * std::sin(a * t), 0.6 * a * a * std::cos(a * t), -0.3 * b * b * std::sin(b * t)));
    j.q = turn * exp_so3(Vec3(0, 0, angle)) * fixed;
    j.w = turn * Vec3(0, 0, rate), j.alpha = turn * Vec3(0, 0, change);
    return j;
  };
}

}  // namespace

StripDragSpec strip_on(const Body& body, const UnknownLoad& load) {
  StripDragSpec out;
  out.body = body.name, out.axis = {Vec3(-0.5, 0, 0), Vec3(0.5, 0, 0)};
  out.across = load.across, out.along = load.along, out.linear = load.everywhere;
  return out;
}

Scenario ReferenceLoop::scenario() const {
  Scenario s;
  auto plant = edited(turned(load.rubbing(), turn), std::vector<Edit>{Attach{"load", "body5", load.payload, {}}});
  EXPECT_TRUE(plant) << (plant ? "" : plant.error().text());
  s.spec = std::make_shared<const ModelSpec>(std::move(*plant));
  s.model = std::make_shared<const Model>(build(*s.spec));
  // Where the model has it; the free root turns with the World.
  const ModelSpec told = turned(nominal, turn);
  const Model unloaded = build(told);
  s.start = Start(*s.model);
  s.start.by_bodies = true;
  s.start.bodies = seen_as(*s.model, unloaded, place(unloaded, JointState::initial(unloaded)));
  s.end_time = end;
  s.method.integrator = "rk4", s.method.step = step;
  s.flow = flow;
  for (const Body& body : s.model->bodies()) {
    if (!water && load.across + load.along + load.everywhere > 0)
      s.environments.push_back(std::make_shared<const StripDrag>(*StripDrag::build(*s.model, strip_on(body, load), flow)));
  }
  if (water) s.environments.push_back(water);

  TaskLawSpec law;
  law.gains = gains;
  law.tasks = {Task{.name = "tip",
                    .body = 4,
                    .X_BE = {},
                    .path = path_of(speed, amplitude, turn),
                    .position_rate = position_rate,
                    .attitude_rate = attitude_rate}};
  Obstacle post;
  post.a = turn * Vec3(2, 0.35, 0.1), post.strength = 0.3, post.width = 0.5, post.shape = Obstacle::Shape::Gaussian;
  std::vector<Guarded> guard;
  for (int b = 0; b < 4; ++b) guard.push_back({b});
  ControllerSpec c;
  c.name = "arm";
  auto known = edited(told, learned ? learned->edits : std::vector<Edit>{});
  EXPECT_TRUE(known) << (known ? "" : known.error().text());
  c.nominal = std::make_shared<const Model>(build(*known));
  if (learned && !law.gains.known.given()) {
    law.gains.known.make = [learned = learned, flow = flow](const Model& m) -> std::unique_ptr<KnownLoad> {
      auto made = LearnedLoad::build(std::make_shared<const Model>(m), learned);
      EXPECT_TRUE(made) << (made ? "" : made.error().text());
      return std::make_unique<LearnedInLoop>(std::move(*made), flow, std::vector<Vec3>());
    };
    law.gains.known.fallback = fallback, law.gains.known.patience = patience;
  }
  c.law = [law, post, guard](const Model& m) { return std::make_unique<TaskLaw>(m, law, Repulsion(m, {post}, guard)); };
  s.controllers = {std::move(c)};
  return s;
}

Learned learned_from(const UnknownLoad& load, std::uint64_t at, int samples, TermKind water) {
  const Model model = build(load.nominal);
  DataSet data = excited(load, at, 10, samples / 10, 0.05);
  const DataSet held_out = excited(load, at + 1000003, 2, 100, 0.05);
  data.runs.insert(data.runs.end(), held_out.runs.begin(), held_out.runs.end());
  LearnSpec spec;
  for (const TermKind kind : {TermKind::Inertia, TermKind::JointViscous, TermKind::JointCoulomb, water}) {
    TermSpec t;
    t.kind = kind, t.sharing = usual_sharing(kind);
    if (kind == TermKind::JointCoulomb) t.smoothing = {0.03, 0.08};
    spec.terms.push_back(t);
  }
  spec.held_out = {10, 11};
  auto out = learn(load.nominal, model, data, spec);
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  return out->learned;
}

std::vector<Edit> exact_edits(const UnknownLoad& load) {
  const Model loaded = build(*edited(load.nominal, std::vector<Edit>{Attach{"load", "body5", load.payload, {}}}));
  std::vector<Edit> out = {SetInertia{"body5", loaded.bodies()[4].inertia}};
  for (const JointSpec& j : load.nominal.joints)
    if (j.kind == JointKind::Spherical)
      out.emplace_back(SetPassive{
          j.name, {}, {}, std::vector<double>(3, load.damping), std::vector<double>(3, load.friction), load.smoothing});
  return out;
}

std::shared_ptr<Learned> learned_by_hand(const ModelSpec& nominal, std::vector<Edit> edits, const VecX& drag) {
  const Model model = build(nominal);
  auto out = std::make_shared<Learned>();
  out->learned = true;
  out->model = nominal.name;
  out->bodies = names_of(model.bodies()), out->joints = names_of(model.joints());
  out->nominal = numbers_of(model);
  out->edits = std::move(edits);
  out->coefficients = drag;
  if (drag.size() == 0) return out;
  TermSpec term;
  term.kind = TermKind::Drag;
  const auto terms = Terms::build(model, {term});
  EXPECT_EQ(terms->columns(), drag.size());
  out->terms = {term}, out->counts = {terms->columns()};
  for (int k = 0; k < terms->columns(); ++k) out->labels.push_back(terms->label(k)), out->units.push_back(terms->unit(k));
  return out;
}

double rms_of(Readings& readings, const std::string& name, double from) {
  double sum = 0;
  int n = 0;
  for (std::size_t i = 0; i < readings.t().size(); ++i)
    if (readings.t()[i] >= from) sum += readings.of(name)[i] * readings.of(name)[i], ++n;
  return std::sqrt(sum / n);
}

double largest_of(Readings& readings, const std::string& name, double from) {
  double out = 0;
  for (std::size_t i = 0; i < readings.t().size(); ++i)
    if (readings.t()[i] >= from) out = std::max(out, readings.of(name)[i]);
  return out;
}

}  // namespace invar::testing
