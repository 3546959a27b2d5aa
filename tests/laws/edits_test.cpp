// SPDX-License-Identifier: Apache-2.0
//
// Edits of a live model against building everything anew. Equality is that of bits: what an edit does not touch must stay, and
// what it touches must be computed in the same order as at the start.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/natural.hpp"
#include "invar/model/live_model.hpp"
#include "support/campaign.hpp"
#include "support/newton_euler.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// Numbers as text of their bits, so that a difference shows where it is.
struct Bits {
  std::vector<double> numbers;

  void add(double x) { numbers.push_back(x); }
  template <class Derived>
  void add(const Eigen::DenseBase<Derived>& m) {
    for (Eigen::Index c = 0; c < m.cols(); ++c)
      for (Eigen::Index r = 0; r < m.rows(); ++r) add(static_cast<double>(m(r, c)));
  }
  void add(const Quat& q) { add(q.coeffs()); }
  void add(const Pose& X) { add(X.q), add(X.p); }
  void add(const Inertia& i) { add(i.mass), add(i.p_BC), add(i.I_C); }

  friend bool operator==(const Bits& a, const Bits& b) {
    return a.numbers.size() == b.numbers.size() &&
           std::equal(a.numbers.begin(), a.numbers.end(), b.numbers.begin(),
                      [](double x, double y) { return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y); });
  }
};

Bits bits_of(const Model& model) {
  Bits out;
  out.add(model.length()), out.add(model.mean_mass()), out.add(model.gravity()), out.add(model.initial_q());
  for (const Body& b : model.bodies()) out.add(b.inertia);
  for (const Joint& j : model.joints()) {
    out.add(j.X_PF), out.add(j.X_CM);
    for (const double x : {j.kind == j.spec_kind ? 0.0 : 1.0, double(j.parent), double(j.child), double(j.q0), double(j.v0)})
      out.add(x);
  }
  for (const Coupling& c : model.couplings())
    for (const double x : c.coefficients) out.add(x);
  for (const Frame& f : model.frames()) out.add(f.X_BE), out.add(f.body);
  for (const Tendon& t : model.tendons())
    for (const Tendon::Point& p : t.points) out.add(p.p_BP), out.add(p.body);
  return out;
}

Bits bits_of(const ModelSpec& spec) {
  Bits out;
  for (const BodySpec& b : spec.bodies) out.add(b.inertia);
  for (const JointSpec& j : spec.joints) out.add(j.at_parent), out.add(j.at_child), out.add(j.locked ? 1 : 0);
  for (const CouplingSpec& c : spec.couplings)
    for (const double x : c.coefficients) out.add(x);
  for (const FrameSpec& f : spec.frames) out.add(f.at);
  for (const PayloadSpec& p : spec.payloads) out.add(p.inertia), out.add(static_cast<double>(p.name.size()));
  out.add(static_cast<double>(spec.initial.size()));
  return out;
}

void add(const Evaluation& e, Bits& out) {
  for (const BodyAcceleration& a : e.accelerations) out.add(a.a_WC), out.add(a.alpha_WB);
  for (const Wrench& w : e.reactions) out.add(w.force), out.add(w.moment);
  out.add(e.couplings), out.add(e.vdot), out.add(e.efforts);
}

// How many evaluations there were, and on how many of them the judge of reactions was asked.
struct JudgedEdits {
  int all = 0, asked = 0;
};

// Everything that a formulation says at a state, and one step of the classic fourth-order kind beyond it.
Bits bits_of(const ModelSpec& spec, Formulation& formulation, const Bodies& bodies, const Load& load, bool flows,
             JudgedEdits& judged) {
  Bits out;
  State x;
  formulation.set(bodies, x);
  out.add(x.q), out.add(x.v), out.add(x.wound);
  Evaluation e;
  const Verdict verdict = formulation.evaluate(x, load, e);
  out.add(static_cast<double>(verdict.status));
  if (!verdict.ok()) return out;
  // Edits of frames leave loops open, and rows of open loops may contradict each other: who closes nothing has no balance.
  const double open = constraint_error(formulation.model(), e.bodies, VecX::Zero(formulation.model().nv())).position;
  ++judged.all;
  if (open < 1e-12) ++judged.asked, expect_newton_euler(spec, e, load);
  add(e, out);
  if (!flows) return out;
  Rate rate;
  for (int step = 0; step < 3; ++step) {
    if (!formulation.rate(x, load, rate).ok()) return out;
    State next = x;
    const VecX u = 1e-3 * rate.v;
    formulation.retract(x, u, next);
    next.v = x.v + 1e-3 * rate.a;
    x.q = next.q, x.v = next.v;
    out.add(static_cast<double>(formulation.settle(x).status));
    out.add(x.q), out.add(x.v), out.add(rate.aux);
  }
  return out;
}

struct View {
  std::string name;
  std::unique_ptr<Formulation> formulation;
};

std::vector<View> views_of(const Model& model) {
  std::vector<View> out;
  out.push_back({"augmented", std::make_unique<Augmented>(model)});
  out.push_back({"natural", std::make_unique<Natural>(model)});
  out.push_back({"minimal", std::make_unique<Minimal>(model)});
  return out;
}

Edit draw_edit(Random& random, const ModelSpec& spec) {
  const auto one = [&](const auto& items) -> const auto& {
    return items[static_cast<std::size_t>(random.below(static_cast<int>(items.size())))];
  };
  const Inertia inertia = random_inertia(random, random.uniform(0.2, 3), 0.4);
  switch (random.below(6)) {
    case 0: return SetInertia{one(spec.bodies).name, inertia};
    case 1: return Attach{"load" + std::to_string(random.below(1000)), one(spec.bodies).name, inertia};
    case 2:
      if (!spec.payloads.empty()) return Detach{one(spec.payloads).name};
      break;
    case 3:
      if (!spec.couplings.empty()) {
        const CouplingSpec& c = one(spec.couplings);
        std::vector<double> coefficients = c.coefficients;
        for (double& x : coefficients) x += 1e-3 * random.normal();
        return SetMap{c.name, coefficients};
      }
      break;
    case 4:
      if (!spec.frames.empty()) return SetTool{one(spec.frames).name, random_pose(random, 0.3), {}};
      break;
    default:
      if (!spec.joints.empty()) {
        const JointSpec& j = one(spec.joints);
        Pose at = j.at_parent;
        at.p += random_vector(random, 1e-3);
        return SetJointFrame{j.name, at, {}};
      }
  }
  return SetInertia{one(spec.bodies).name, inertia};
}

// A drawn mechanism with a tool and a tendon on it.
Sample draw(int k, std::uint64_t start) {
  MechanismOptions options{.bodies = 2 + k % 6, .kinds = {}};
  options.mass_ratio = 10;
  options.floating = k % 5 == 4;
  if (k % 3 == 1) options.loops = 1 + k % 2;
  if (k % 3 == 2) options.couplings = 2;
  if (k % 7 == 6) options.bodies = 6, options.loops = 2, options.planar = true, options.passive = false;
  if (k % 4 == 3) options.passive = false, options.kinds = {JointKind::Revolute, JointKind::Spherical, JointKind::Prismatic};
  if (k % 11 == 10) options.bodies = 14, options.loops = 7, options.planar = false;  // fronts, no tree
  if (k % 13 == 12) options.bodies = 7, options.massless = true;
  Sample sample = random_sample(seed(start) + static_cast<std::uint64_t>(k), options);
  ModelSpec& spec = sample.mechanism.spec;
  Random random(seed(start) + 77);
  spec.frames.push_back({"tool", spec.bodies[0].name, random_pose(random, 0.2), {}});
  if (options.planar) return sample;
  TendonSpec line;
  line.name = "line";
  line.points = {PointSpec{"world", "", Vec3(1, 2, 3)}, PointSpec{"world", "tool", Vec3(0.1, 0, 0)}};
  line.stiffness = 10, line.length = 0.5;
  spec.tendons.push_back(line);
  return sample;
}

// Bodies whose frames are where they were and move as they did, seen from the new centres of mass.
Bodies re_expressed(const Model& before, const Model& after, const Bodies& bodies) {
  Bodies out = bodies;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const Vec3 c = bodies[b].X_WB(before.bodies()[b]) * after.bodies()[b].inertia.p_BC;
    out[b].p_WC = c, out[b].v_WC = bodies[b].velocity_at(c);
  }
  return out;
}

}  // namespace

// The law of the house: whatever the order of edits, the model and all three views of it are those of a rebuild, bit for bit.
TEST(Edits, GiveTheBitsOfARebuild) {
  int adopted = 0, rebuilt = 0;
  JudgedEdits judged;
  for (int k = 0; k < cases(60); ++k) {
    const Sample sample = draw(k, 4000);
    auto live = LiveModel::build(sample.mechanism.spec);
    ASSERT_TRUE(live) << live.error().text();
    const std::string what = "case " + std::to_string(k) + ": " + describe(sample.mechanism.spec);
    const std::shared_ptr<const Model> first = live->model();
    const Model before = *first;
    std::vector<View> views = views_of(*live->model());
    SCOPED_TRACE(what);
    Random random(seed(4100) + static_cast<std::uint64_t>(k));
    const bool flows = natural_objection(before).empty();
    for (View& view : views)
      bits_of(live->spec(), *view.formulation, sample.bodies, sample.load, flows || view.name != "natural", judged);
    for (int round = 0; round < 3; ++round) {
      std::vector<Edit> edits;
      ModelSpec sketch = live->spec();
      for (int e = random.below(3); e >= 0; --e) {
        Change unused;
        const Edit edit = draw_edit(random, sketch);
        if (edit_spec(sketch, edit, unused)) edits.push_back(edit);
      }
      const auto done = live->apply(edits);
      ASSERT_TRUE(done) << done.error().text();
      ASSERT_FALSE(live->change().structure);
      ASSERT_EQ(live->model(), first) << "edits of values change the model in place";
      const Model anew = build(live->spec());
      ASSERT_EQ(bits_of(*live->model()), bits_of(anew)) << what;
      const Bodies bodies = re_expressed(before, anew, sample.bodies);
      std::vector<View> fresh = views_of(anew);
      for (std::size_t v = 0; v < views.size(); ++v) {
        if (!views[v].formulation->adopt(live->change())) {
          ++rebuilt;
          views[v].formulation = std::move(views_of(*live->model())[v].formulation);
        } else {
          ++adopted;
        }
        const bool steps = flows || fresh[v].name != "natural";
        const Bits a = bits_of(live->spec(), *views[v].formulation, bodies, sample.load, steps, judged);
        const Bits b = bits_of(live->spec(), *fresh[v].formulation, bodies, sample.load, steps, judged);
        std::size_t at = 0;
        while (at < std::min(a.numbers.size(), b.numbers.size()) &&
               std::bit_cast<std::uint64_t>(a.numbers[at]) == std::bit_cast<std::uint64_t>(b.numbers[at]))
          ++at;
        EXPECT_EQ(a, b) << what << ", " << fresh[v].name << ", round " << round << ", number " << at << " of "
                        << a.numbers.size();
      }
    }
  }
  // Most edits are taken over: a rebuild is for joint frames in natural coordinates and for roots that are no longer the
  // heaviest.
  EXPECT_GT(adopted, 2 * rebuilt);
  // One draw in two has loops or couplings, and two edits in six open them.
  EXPECT_GT(2 * judged.asked, judged.all);
}

namespace {

std::unique_ptr<Formulation> view_named(const std::string& name, const Model& model) {
  for (View& view : views_of(model))
    if (view.name == name) return std::move(view.formulation);
  return nullptr;
}

// Three steps of a method from bodies.
Bits steps_of(Integrator& method, Formulation& view, const Bodies& bodies) {
  System system(view);
  State x;
  view.set(bodies, x);
  method.reset(system, x, 1e-3);
  Bits out;
  for (int k = 0; k < 3; ++k) {
    double done = 0;
    out.add(static_cast<double>(method.step(system, 1e-3 * k, 1e-3, x, done).status));
    out.add(x.q), out.add(x.v), out.add(x.aux), out.add(done);
  }
  return out;
}

}  // namespace

// Methods that keep things of the formulation from step to step notice that it has changed.
TEST(Edits, AreSeenByEveryMethod) {
  const std::pair<const char*, const char*> ways[] = {
      {"augmented", "rk4"},           {"augmented", "dopri5"}, {"minimal", "rk4"},      {"natural", "conserving"},
      {"natural", "petrov_galerkin"}, {"natural", "rattle"},   {"natural", "midpoint"}, {"natural", "discrete_gradient"}};
  for (int k = 0; k < cases(8); ++k) {
    MechanismOptions options{.bodies = 3 + k % 4, .loops = k % 2, .kinds = {}};
    options.mass_ratio = 5, options.passive = false, options.locked = false;
    options.kinds = {JointKind::Revolute, JointKind::Spherical};
    const Sample sample = random_sample(seed(4700) + static_cast<std::uint64_t>(k), options);
    for (const auto& [formulation, method] : ways) {
      auto live = LiveModel::build(sample.mechanism.spec);
      ASSERT_TRUE(live);
      const Model before = *live->model();
      const auto view = view_named(formulation, *live->model());
      const auto kept = std::move(*make_integrator(method)), anew = std::move(*make_integrator(method));
      steps_of(*kept, *view, sample.bodies);
      Random random(seed(4800) + static_cast<std::uint64_t>(k));
      ASSERT_TRUE(live->apply(Attach{"load", sample.mechanism.spec.bodies[0].name, random_inertia(random, 1, 0.3)}));
      ASSERT_TRUE(view->adopt(live->change()));
      const Model rebuilt = build(live->spec());
      const Bodies bodies = re_expressed(before, rebuilt, sample.bodies);
      const Bits a = steps_of(*kept, *view, bodies), b = steps_of(*anew, *view_named(formulation, rebuilt), bodies);
      EXPECT_EQ(a, b) << formulation << "/" << method << ", " << describe(sample.mechanism.spec);
    }
  }
}

TEST(Edits, LeaveEveryBitWhenTheyAreRefused) {
  for (int k = 0; k < cases(30); ++k) {
    const Sample sample = draw(k, 4200);
    auto live = LiveModel::build(sample.mechanism.spec);
    ASSERT_TRUE(live);
    Random random(seed(4300) + static_cast<std::uint64_t>(k));
    ASSERT_TRUE(live->apply(Attach{"kept", sample.mechanism.spec.bodies[0].name, random_inertia(random, 1, 0.3)}));
    const Bits spec = bits_of(live->spec()), model = bits_of(*live->model());
    Inertia wrong;
    wrong.mass = -1;
    JointSpec lost;
    lost.name = "lost", lost.kind = JointKind::Revolute, lost.child = "nobody";
    const Edit bad[] = {SetInertia{sample.mechanism.spec.bodies[0].name, wrong},
                        Detach{"nothing"},
                        Attach{"", sample.mechanism.spec.bodies[0].name, {}},
                        SetTool{"tol", {}, {}},
                        SetJointFrame{"nowhere", Pose{}, {}},
                        SetMap{"none", {1.0}, false},
                        Unlock{"nowhere"},
                        RemoveBody{"nobody", false},
                        CutLoop{"nowhere", false},
                        CloseLoop{lost, 0}};
    for (const Edit& refused : bad) {
      std::vector<Edit> edits;
      for (int e = 0; e < 3; ++e) edits.push_back(draw_edit(random, live->spec()));
      edits.push_back(Detach{"kept"});
      edits.push_back(refused);
      const Model* where = live->model().get();
      const auto done = live->apply(edits);
      ASSERT_FALSE(done);
      EXPECT_FALSE(done.error().what.empty());
      EXPECT_EQ(live->model().get(), where);
      EXPECT_EQ(bits_of(live->spec()), spec) << done.error().text();
      EXPECT_EQ(bits_of(*live->model()), model) << done.error().text();
      EXPECT_TRUE(live->change().bodies.empty() && !live->change().structure);
    }
  }
}

TEST(Edits, DetachGivesTheBitsBackInAnyOrder) {
  for (int k = 0; k < cases(30); ++k) {
    const Sample sample = draw(k, 4400);
    auto live = LiveModel::build(sample.mechanism.spec);
    ASSERT_TRUE(live);
    const Bits before = bits_of(*live->model());
    Random random(seed(4500) + static_cast<std::uint64_t>(k));
    const std::string body = sample.mechanism.spec.bodies[0].name;
    const Inertia a = random_inertia(random, 1, 0.3), b = random_inertia(random, 2, 0.3);
    ASSERT_TRUE(live->apply(Attach{"a", body, a}));
    const Bits with_a = bits_of(*live->model());
    ASSERT_TRUE(live->apply(Attach{"b", body, b}));
    const Bits with_both = bits_of(*live->model());
    ASSERT_TRUE(live->apply(Detach{"b"}));
    EXPECT_EQ(bits_of(*live->model()), with_a);
    ASSERT_TRUE(live->apply(Detach{"a"}));
    EXPECT_EQ(bits_of(*live->model()), before);
    const Edit both[] = {Attach{"b", body, b}, Attach{"a", body, a}};
    ASSERT_TRUE(live->apply(both));
    EXPECT_EQ(bits_of(*live->model()), with_both);
  }
}

// Lock and unlock, cut and close, add and remove bring the mechanism back; in between it is what Model::build makes of the spec.
TEST(Edits, OfStructureAreThoseOfTheSpec) {
  for (int k = 0; k < cases(30); ++k) {
    const Sample sample = draw(k, 4600);
    auto live = LiveModel::build(sample.mechanism.spec);
    ASSERT_TRUE(live);
    const std::shared_ptr<const Model> old = live->model();
    const Bits before = bits_of(*old);
    const auto same = [&] { return bits_of(*live->model()) == bits_of(build(live->spec())); };
    BodySpec body;
    body.name = "new";
    body.inertia = solid_box(1, {0.1, 0.2, 0.3});
    JointSpec joint;
    joint.name = "hinge", joint.kind = JointKind::Revolute, joint.parent = "world", joint.child = "new";
    ASSERT_TRUE(live->apply(AddBody{body, joint, {0.3}, {}}));
    EXPECT_TRUE(live->change().structure && same());
    EXPECT_NE(live->model(), old);
    EXPECT_EQ(live->change().bodies, std::vector<int>{static_cast<int>(old->bodies().size())});
    ASSERT_TRUE(live->apply(Lock{"hinge", std::vector<double>{0.5}}));
    EXPECT_TRUE(same());
    EXPECT_EQ(live->model()->nv(), old->nv());
    ASSERT_TRUE(live->apply(Unlock{"hinge"}));
    EXPECT_EQ(live->model()->initial_q()[live->model()->joints().back().q0], 0.5);
    JointSpec second = joint;
    second.name = "second", second.kind = JointKind::Spherical;
    ASSERT_TRUE(live->apply(CloseLoop{second, 0}));
    EXPECT_TRUE(same());
    ASSERT_TRUE(live->apply(CutLoop{"second", false}));
    ASSERT_TRUE(live->apply(RemoveBody{"new", false}));
    EXPECT_EQ(bits_of(*live->model()), before);
    EXPECT_EQ(bits_of(*old), before) << "who holds the old model keeps it";
  }
}

TEST(Edits, AreRefusedWhereSomethingElseRefersToABody) {
  ModelSpec spec;
  for (const char* name : {"a", "b"}) spec.bodies.push_back({name, solid_sphere(1, 0.1), {}, {}});
  JointSpec first, second;
  first.name = "first", first.kind = JointKind::Revolute, first.child = "a";
  second.name = "second", second.kind = JointKind::Revolute, second.parent = "a", second.child = "b";
  spec.joints = {first, second};
  spec.couplings.push_back({"gear", "second", 0, "first", 0, {0, 2}, {}});
  spec.tendons.push_back(
      {"rope", {PointSpec{"world", "", Vec3::UnitX()}, PointSpec{"b", "", Vec3::Zero()}}, 10, 1, 0, 0, false, {}});
  auto live = LiveModel::build(spec);
  ASSERT_TRUE(live);
  EXPECT_NE(live->apply(RemoveBody{"b", false}).error().what.find("tendon 'rope'"), std::string::npos);
  EXPECT_NE(live->apply(CutLoop{"second", false}).error().what.find("coupling 'gear'"), std::string::npos);
  EXPECT_NE(live->apply(Lock{"first", {}}).error().what.find("coupling 'gear'"), std::string::npos);
  EXPECT_NE(live->apply(Attach{"x", "c", {}}).error().what.find("no body 'c'"), std::string::npos);
  ASSERT_TRUE(live->apply(RemoveBody{"b", true}));
  EXPECT_EQ(live->change().removed.size(), 4u);
  EXPECT_EQ(live->model()->joints().size(), 1u);
}

}  // namespace invar::testing
