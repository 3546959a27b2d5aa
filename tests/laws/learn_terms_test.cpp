// SPDX-License-Identifier: Apache-2.0
//
// Terms of learning on drawn mechanisms: columns and sums, what they mean for the model, and how they turn with the World.
#include <gtest/gtest.h>

#include "invar/learn/learned_load.hpp"
#include "invar/learn/motion_factor.hpp"
#include "invar/learn/term/fourier.hpp"
#include "invar/learn/term/inertia.hpp"
#include "invar/learn/terms.hpp"
#include "invar/mech/kinematics.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"
#include "support/unknown_load.hpp"

namespace invar::testing {
namespace {

Sample drawn(std::uint64_t at, int k, std::vector<JointKind> kinds = {}) {
  MechanismOptions o;
  o.bodies = 2 + k % 4;
  o.loops = k % 3 == 2 ? 1 : 0;
  o.passive = o.locked = false;
  o.mass_ratio = 10;
  o.kinds = std::move(kinds);
  return random_sample(at + static_cast<std::uint64_t>(k), o);
}

// Everything that a term may look at.
struct Around {
  std::vector<Vec3> obstacles;
  std::vector<double> inputs;
  Accelerations accelerations;
  Surroundings seen;

  Around(Random& random, const Model& model)
      : obstacles{random_vector(random, 1), random_vector(random, 1)}, inputs{random.normal(), random.normal()} {
    for (std::size_t b = 0; b < model.bodies().size(); ++b)
      accelerations.push_back({random_vector(random, 3), random_vector(random, 5)});
    seen = {random_vector(random, 0.5), obstacles, inputs, &accelerations};
  }
};

TermSpec term(TermKind kind, Sharing sharing = Sharing::Each) {
  TermSpec spec;
  spec.kind = kind, spec.sharing = sharing;
  spec.cosines = 12, spec.width = 8;
  spec.smoothing = {0.05, 0.1, 0.3, 0.7, 2};
  return spec;
}

// Two actuators at a frame of the first body, and one motor where there is a joint that turns.
TermContext context_of(const Model& model) {
  TermContext out;
  out.obstacles = {"post", "wall"};
  ActuatorSpec a;
  a.kind = ActuatorSpec::Kind::Force, a.frame = "nozzle", a.direction = Vec3(1, 2, -1);
  a.name = "first";
  out.actuators.push_back(*Actuator::build(model, a));
  a.name = "second", a.direction = Vec3(0, 1, 1);
  out.actuators.push_back(*Actuator::build(model, a));
  return out;
}

ModelSpec with_nozzle(ModelSpec spec) {
  spec.frames.push_back({"nozzle", spec.bodies[0].name, {exp_so3(Vec3(0.3, -0.4, 0.2)), Vec3(0.1, 0.2, -0.3)}, {}});
  return spec;
}

const std::vector<TermKind> kAll = {TermKind::Inertia,        TermKind::JointViscous, TermKind::JointCoulomb,
                                    TermKind::JointStiffness, TermKind::JointOffset,  TermKind::Drag,
                                    TermKind::Obstacle,       TermKind::ActuatorGain, TermKind::ActuatorMisalignment,
                                    TermKind::Fourier,        TermKind::Network};

std::vector<TermSpec> all_terms(const Model& model) {
  const bool moves = std::any_of(model.joints().begin(), model.joints().end(),
                                 [](const Joint& j) { return j.nv > 0 && j.kind != JointKind::Free; });
  std::vector<TermSpec> specs;
  for (const TermKind kind : kAll) {
    const bool on_joints = kind >= TermKind::JointViscous && kind <= TermKind::JointOffset;
    if (!on_joints || moves) specs.push_back(term(kind, Sharing::Alike));
  }
  return specs;
}

double size(const Wrench& w) { return w.force.norm() + w.moment.norm(); }

// Round-off of sums of a few hundred products.
constexpr double kSum = 1e-12;

TEST(Terms, SumsAreThoseOfTheirColumns) {
  for (int k = 0; k < cases(40); ++k) {
    const Sample s = drawn(seed(17000), k);
    const Model model = build(with_nozzle(s.mechanism.spec));
    Random random(17001, static_cast<std::uint64_t>(k));
    const Around around(random, model);
    const auto terms = Terms::build(model, all_terms(model), context_of(model));
    ASSERT_TRUE(terms) << terms.error().text();
    VecX c(terms->columns());
    for (double& x : c) x = random.normal();
    std::vector<ColumnEntry> entries;
    terms->list(s.bodies, around.seen, entries);
    Port sum(s.bodies.size()), direct(s.bodies.size());
    double scale = 0;
    for (const ColumnEntry& e : entries) {
      ASSERT_TRUE(e.column >= 0 && e.column < terms->columns());
      sum[static_cast<std::size_t>(e.body)] += c[e.column] * e.wrench;
      scale += size(c[e.column] * e.wrench);
    }
    terms->add(s.bodies, around.seen, c.data(), direct);
    for (std::size_t b = 0; b < sum.size(); ++b) EXPECT_LT(size(sum[b] - direct[b]), kSum * scale);
  }
}

// What is fixed in the World turns with it, and so do wrenches: the same coefficients hold.
TEST(Terms, TurnWithTheWorld) {
  for (int k = 0; k < cases(40); ++k) {
    const Sample s = drawn(seed(17010), k);
    Random random(17011, static_cast<std::uint64_t>(k));
    const Quat q = random_attitude(random);
    const ModelSpec spec = with_nozzle(s.mechanism.spec);
    const Model model = build(spec), there = build(turned(spec, q));
    const Around around(random, model);
    DataSet data;
    data.runs.push_back(
        {"one", {{0, s.bodies, around.accelerations, Port(s.bodies.size()), {}, around.seen.flow, around.inputs}}});
    data.obstacles = around.obstacles;
    const DataSet seen = turned(data, q);
    const auto here_terms = Terms::build(model, all_terms(model), context_of(model));
    const auto there_terms = Terms::build(there, all_terms(there), context_of(there));
    ASSERT_TRUE(here_terms && there_terms);
    std::vector<ColumnEntry> a, b;
    const DataSample &sa = data.runs[0].samples[0], &sb = seen.runs[0].samples[0];
    here_terms->list(sa.bodies, data.around(sa), a);
    there_terms->list(sb.bodies, seen.around(sb), b);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Wrench expected{q * a[i].wrench.moment, q * a[i].wrench.force};
      // Angles of joints are good to 1e-15 or so, and smoothed friction is steep: 20 per rad/s.
      EXPECT_LT(size(b[i].wrench - expected), 1e-11 * (1 + size(expected))) << here_terms->label(a[i].column);
    }
  }
}

// The mirror image y → -y of a mechanism: positions and velocities are mirrored, rates and moments are axial and get another
// sign.
struct Mirror {
  Mat3 S = Vec3(1, -1, 1).asDiagonal();
  Vec3 polar(const Vec3& v) const { return S * v; }
  Vec3 axial(const Vec3& v) const { return -(S * v); }
  Quat attitude(const Quat& q) const { return Quat(q.w(), -q.x(), q.y(), -q.z()); }  // S R S
  Pose pose(const Pose& X) const { return {attitude(X.q), polar(X.p)}; }
};

// A drawn mechanism with a nozzle, its image, and everything around both.
struct Mirrored {
  Mirror m;
  Sample s;
  ModelSpec spec, image;
  Model model, there;
  Random random;
  Around around, around_there;
  Bodies bodies_there;
  TermContext context, context_there;

  explicit Mirrored(int k)
      : s(drawn(seed(17020), k, {JointKind::Spherical, JointKind::Prismatic, JointKind::Revolute})),
        spec(with_nozzle(s.mechanism.spec)),
        image(image_of(spec)),
        model(build(spec)),
        there(build(image)),
        random(17021, static_cast<std::uint64_t>(k)),
        around(random, model),
        around_there(around),
        bodies_there(s.bodies),
        context(context_of(model)),
        context_there(context) {
    for (BodyState& b : bodies_there) b = {m.polar(b.p_WC), m.polar(b.v_WC), m.axial(b.w_WB), m.attitude(b.q_WB)};
    for (BodyAcceleration& a : around_there.accelerations) a = {m.polar(a.a_WC), m.axial(a.alpha_WB)};
    for (Vec3& p : around_there.obstacles) p = m.polar(p);
    around.seen = {around.seen.flow, around.obstacles, around.inputs, &around.accelerations};
    around_there.seen = {m.polar(around.seen.flow), around_there.obstacles, around_there.inputs, &around_there.accelerations};
    context_there.actuators.clear();
    for (const Actuator& a : context.actuators) {
      ActuatorSpec mirrored = a.spec();
      mirrored.direction = m.polar(mirrored.direction);
      context_there.actuators.push_back(*Actuator::build(there, mirrored));
    }
  }
  ModelSpec image_of(ModelSpec out) const {
    out.gravity = m.polar(out.gravity);
    for (BodySpec& b : out.bodies) b.inertia.p_BC = m.polar(b.inertia.p_BC), b.inertia.I_C = m.S * b.inertia.I_C * m.S;
    for (JointSpec& j : out.joints) j.at_parent = m.pose(j.at_parent), j.at_child = m.pose(j.at_child), j.axis = m.polar(j.axis);
    for (FrameSpec& f : out.frames) f.at = m.pose(f.at);
    return out;
  }
  Wrench seen(const Wrench& w) const { return {m.axial(w.moment), m.polar(w.force)}; }
  bool moves() const {
    return std::any_of(model.joints().begin(), model.joints().end(), [](const Joint& j) { return j.nv > 0; });
  }
};

// By which sign the columns of this term, which has no others beside, are seen: components across the mirror change it. First
// moments along y and products of inertia with it; offsets of a turn about an axis, which is polar in the file, and of the turns
// of a ball about x and z of its frame.
std::vector<double> signs_of(const Terms& terms, const Model& model) {
  std::vector<double> out(static_cast<std::size_t>(terms.columns()), 1);
  if (terms.spec(0).kind == TermKind::Inertia)
    for (std::size_t k = 0; k < out.size(); ++k)
      if (const std::size_t moment = k % InertiaTerm::kPerBody; moment == 2 || moment == 7 || moment == 9) out[k] = -1;
  if (terms.spec(0).kind != TermKind::JointOffset) return out;
  std::size_t column = 0;
  for (const Joint& j : model.joints())
    for (int k = 0; k < j.nv; ++k, ++column)
      if (j.kind == JointKind::Revolute || (j.kind == JointKind::Spherical && k != 1)) out[column] = -1;
  return out;
}

TEST(Terms, MirrorForcesAndTurnMomentsAxially) {
  for (int k = 0; k < cases(40); ++k) {
    const Mirrored x(k);
    // One column for the three turns of a ball: which of its axes is which is not mirrored.
    for (const TermSpec& spec :
         {term(TermKind::Inertia), term(TermKind::Drag), term(TermKind::Obstacle), term(TermKind::JointViscous, Sharing::Alike),
          term(TermKind::JointCoulomb, Sharing::Alike), term(TermKind::JointStiffness, Sharing::Alike),
          term(TermKind::JointOffset), term(TermKind::ActuatorGain)}) {
      if (spec.kind >= TermKind::JointViscous && spec.kind <= TermKind::JointOffset && !x.moves()) continue;
      const auto here_terms = Terms::build(x.model, {spec}, x.context),
                 there_terms = Terms::build(x.there, {spec}, x.context_there);
      ASSERT_TRUE(here_terms && there_terms);
      std::vector<ColumnEntry> a, b;
      here_terms->list(x.s.bodies, x.around.seen, a);
      there_terms->list(x.bodies_there, x.around_there.seen, b);
      ASSERT_EQ(a.size(), b.size());
      const std::vector<double> signs = signs_of(*here_terms, x.model);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const Wrench expected = signs[static_cast<std::size_t>(a[i].column)] * x.seen(a[i].wrench);
        EXPECT_LT(size(b[i].wrench - expected), 1e-11 * (1 + size(expected))) << here_terms->label(a[i].column);
      }
    }
  }
}

// Two turns of a force about axes across it, chosen by its components: those of the image are others, but the same plane.
TEST(ActuatorTerms, MisalignmentsOfTheImageSpanTheSamePlane) {
  for (int k = 0; k < cases(10); ++k) {
    const Mirrored x(k);
    const TermSpec spec = term(TermKind::ActuatorMisalignment);
    const auto here_terms = Terms::build(x.model, {spec}, x.context),
               there_terms = Terms::build(x.there, {spec}, x.context_there);
    ASSERT_TRUE(here_terms && there_terms);
    std::vector<ColumnEntry> a, b;
    here_terms->list(x.s.bodies, x.around.seen, a);
    there_terms->list(x.bodies_there, x.around_there.seen, b);
    ASSERT_EQ(a.size(), 4u);
    ASSERT_EQ(b.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      Wrench rest = x.seen(a[i].wrench);
      const double all = size(rest);
      for (std::size_t j = 2 * (i / 2); j < 2 * (i / 2) + 2; ++j) {
        const double part = b[j].wrench.force.dot(x.seen(a[i].wrench).force) / b[j].wrench.force.squaredNorm();
        rest = rest - part * b[j].wrench;
      }
      EXPECT_LT(size(rest), 1e-12 * all);
    }
  }
}

// The exception: functions of body components know left from right. What they say of the image is neither the image of what they
// say nor its opposite.
TEST(GenericTerms, AreOthersInAMirror) {
  const Mirrored x(1);
  for (const TermKind kind : {TermKind::Fourier, TermKind::Network}) {
    const auto here_terms = Terms::build(x.model, {term(kind)}, x.context),
               there_terms = Terms::build(x.there, {term(kind)}, x.context);
    ASSERT_TRUE(here_terms && there_terms);
    std::vector<ColumnEntry> a, b;
    here_terms->list(x.s.bodies, x.around.seen, a);
    there_terms->list(x.bodies_there, x.around_there.seen, b);
    ASSERT_EQ(a.size(), b.size());
    double apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Wrench image = x.seen(a[i].wrench);
      apart = std::max(apart, std::min(size(b[i].wrench - image), size(b[i].wrench + image)));
    }
    EXPECT_GT(apart, 0.1) << name(kind);
  }
}

// Ten numbers added to a body: what Newton and Euler of the heavier one ask for beyond those of the nominal one.
TEST(InertiaTerm, IsWhatTheHeavierBodyAsksForBeyondTheNominal) {
  for (int k = 0; k < cases(40); ++k) {
    const Sample s = drawn(seed(17030), k);
    Random random(17031, static_cast<std::uint64_t>(k));
    const Around around(random, s.model);
    const auto terms = Terms::build(s.model, {term(TermKind::Inertia)});
    ASSERT_TRUE(terms);
    for (std::size_t b = 0; b < s.bodies.size(); ++b) {
      const Inertia &nominal = s.model.bodies()[b].inertia, load = random_inertia(random, 0.5, 0.3);
      const Inertia both = together(nominal, load);
      // The numbers of the load about the nominal centre of mass.
      const Vec3 r = load.p_BC - nominal.p_BC, h = load.mass * r;
      const Mat3 I = load.I_C + load.mass * (r.squaredNorm() * Mat3::Identity() - r * r.transpose());
      const double ten[] = {load.mass, h.x(), h.y(), h.z(), I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)};
      const Inertia added = with_added(nominal, ten);
      EXPECT_NEAR(added.mass, both.mass, 1e-14 * both.mass);
      EXPECT_LT((added.p_BC - both.p_BC).norm(), 1e-13);
      EXPECT_LT((added.I_C - both.I_C).norm(), 1e-12 * both.I_C.norm());

      VecX c = VecX::Zero(terms->columns());
      std::copy(ten, ten + 10, c.data() + 10 * b);
      Port got(s.bodies.size());
      terms->add(s.bodies, around.seen, c.data(), got);
      // Both bodies about the nominal centre of mass, at its acceleration.
      const BodyState& at = s.bodies[b];
      const BodyAcceleration& a = around.accelerations[b];
      const auto asks = [&](const Inertia& body) {
        const Vec3 arm = at.q_WB * (body.p_BC - nominal.p_BC);
        const Vec3 there = a.a_WC + a.alpha_WB.cross(arm) + at.w_WB.cross(at.w_WB.cross(arm));
        const Mat3 R = at.q_WB.toRotationMatrix(), J = R * body.I_C * R.transpose();
        return Wrench{J * a.alpha_WB + at.w_WB.cross(J * at.w_WB), body.mass * (there - s.model.gravity())}.about(arm);
      };
      const Wrench expected = asks(nominal) - asks(both);
      EXPECT_LT(size(got[b] - expected), 1e-12 * (size(asks(both)) + size(expected)));
    }
  }
}

TEST(InertiaTerm, NearestPhysicalBodyIsPhysicalAndLeavesBodiesAlone) {
  Random random(seed(17035));
  for (int k = 0; k < cases(60); ++k) {
    Inertia body = random_inertia(random, random.uniform(0.1, 10), 0.3);
    const Inertia same = nearest_physical(body, 0.5);
    EXPECT_LT((same.I_C - body.I_C).norm(), 1e-12 * body.I_C.norm());
    EXPECT_EQ(same.mass, body.mass);
    Mat3 error = Mat3::Random();
    body.I_C += body.I_C.norm() * (error + error.transpose());
    if (k % 5 == 0) body.mass = -body.mass;
    const Inertia cured = nearest_physical(body, 0.5);
    EXPECT_EQ(flaw(cured), "") << k;
  }
}

// Joint terms are what the model itself would do with these passive parts.
TEST(JointTerms, AreWhatTheModelWouldDo) {
  int judged = 0;
  for (int k = 0; k < cases(60); ++k) {
    const Sample s = drawn(seed(17040), k);
    Random random(17041, static_cast<std::uint64_t>(k));
    const Around around(random, s.model);
    for (const TermKind kind : {TermKind::JointViscous, TermKind::JointCoulomb, TermKind::JointStiffness}) {
      TermSpec wanted = term(kind);
      wanted.smoothing = {0.3};
      const auto terms = Terms::build(s.model, {wanted});
      if (!terms) continue;  // nothing but free joints
      VecX c(terms->columns());
      for (double& x : c) x = random.uniform(0.5, 2);
      ModelSpec other = s.mechanism.spec;
      int column = 0;
      for (std::size_t j = 0; j < other.joints.size(); ++j) {
        const Joint& joint = s.model.joints()[j];
        if (joint.nv == 0 || joint.kind == JointKind::Free) continue;
        std::vector<double> numbers(c.data() + column, c.data() + column + joint.nv);
        column += joint.nv;
        if (kind == TermKind::JointViscous) other.joints[j].damping = numbers;
        if (kind == TermKind::JointStiffness) other.joints[j].spring.stiffness = numbers;
        if (kind == TermKind::JointCoulomb) other.joints[j].friction = numbers, other.joints[j].friction_velocity = 0.3;
      }
      ASSERT_EQ(column, terms->columns());
      const Model rubs = build(other);
      ConstrainedInverse with(rubs), without(s.model);
      with.at(s.bodies), without.at(s.bodies);
      Port a(s.bodies.size()), b(s.bodies.size()), got(s.bodies.size());
      with.add_own_forces(false, a), without.add_own_forces(false, b);
      terms->add(s.bodies, around.seen, c.data(), got);
      double scale = 0;
      for (std::size_t i = 0; i < a.size(); ++i) scale += size(a[i]) + size(b[i]);
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_LT(size(a[i] - b[i] - got[i]), 1e-12 * scale) << name(kind) << ", " << describe(s.mechanism.spec);
      ++judged;
    }
  }
  EXPECT_GT(judged, cases(60));
}

// A constant effort of one gives the rate of its freedom as power, and so to no other motion.
TEST(JointTerms, OffsetsPushAlongTheirFreedoms) {
  int judged = 0;
  for (int k = 0; k < cases(60); ++k) {
    const Sample s = drawn(seed(17042), k);
    const auto terms = Terms::build(s.model, {term(TermKind::JointOffset)});
    if (!terms) continue;  // nothing but free joints
    VecX q, v;
    joint_coordinates(s.model, s.bodies, q, v);
    std::vector<ColumnEntry> entries;
    terms->list(s.bodies, {}, entries);
    VecX given = VecX::Zero(terms->columns()), sizes = given;
    for (const ColumnEntry& e : entries) {
      const BodyState& at = s.bodies[static_cast<std::size_t>(e.body)];
      given[e.column] += power(e.wrench, {at.w_WB, at.v_WC});
      sizes[e.column] += size(e.wrench) * (at.w_WB.norm() + at.v_WC.norm());
    }
    int column = 0;
    for (const Joint& j : s.model.joints())
      for (int i = 0; i < j.nv && j.kind != JointKind::Free; ++i, ++column, ++judged)
        EXPECT_NEAR(given[column], v[j.v0 + i], 1e-13 * sizes[column]) << terms->label(column);
    EXPECT_EQ(column, terms->columns());
  }
  EXPECT_GT(judged, cases(60));
}

// Springs and constant efforts, told and not fitted: what the edited model does beyond the nominal one, and the load that stays
// beside it, are what the terms do. Where a scalar freedom has a spring an offset moves its rest; of balls, and without a spring,
// it stays a load.
TEST(JointTerms, BecomeSpringsThatDoTheSame) {
  int moved = 0, stayed = 0;
  for (int k = 0; k < cases(60); ++k) {
    const Sample s = drawn(seed(17043), k);
    Random random(17044, static_cast<std::uint64_t>(k));
    ModelSpec spec = s.mechanism.spec;
    for (std::size_t j = 0; j < spec.joints.size(); ++j) {
      const Joint& joint = s.model.joints()[j];
      if (joint.nv == 0 || joint.kind == JointKind::Free || random.uniform(0, 1) < 0.3) continue;
      auto &stiffness = spec.joints[j].spring.stiffness, &rest = spec.joints[j].spring.rest;
      for (int i = 0; i < joint.nv; ++i) stiffness.push_back(random.uniform(1, 20)), rest.push_back(random.uniform(-0.5, 0.5));
    }
    const auto model = std::make_shared<const Model>(build(spec));
    const std::vector<TermSpec> specs = {term(TermKind::JointStiffness), term(TermKind::JointOffset)};
    for (const bool springs : {true, false}) {  // of their own, or those of the model alone
      const auto terms = Terms::build(*model, {specs.begin() + (springs ? 0 : 1), specs.end()});
      if (!terms) continue;
      Fit told;
      told.coefficients.resize(terms->columns()), told.learned = true;
      for (int c = 0; c < terms->columns(); ++c)
        told.coefficients[c] =
            terms->spec(terms->term_of(c)).kind == TermKind::JointStiffness ? random.uniform(0.5, 2) : random.uniform(-1, 1);
      const auto learned = conclude(spec, *model, *terms, told, {}, {});
      ASSERT_TRUE(learned) << learned.error().text();
      const Model changed = build(*edited(spec, learned->edits));
      const auto rest = LearnedLoad::build(model, std::make_shared<const Learned>(*learned));
      ASSERT_TRUE(rest) << rest.error().text();
      ConstrainedInverse with(changed), without(*model);
      with.at(s.bodies), without.at(s.bodies);
      Port a(s.bodies.size()), b(s.bodies.size()), wanted(s.bodies.size());
      with.add_own_forces(false, a), without.add_own_forces(false, b);
      Load beside(*model);
      rest->add(0.0, s.bodies, beside);
      terms->add(s.bodies, {}, told.coefficients.data(), wanted);
      double scale = 0;
      for (std::size_t i = 0; i < a.size(); ++i) scale += size(a[i]) + size(b[i]) + size(wanted[i]);
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_LT(size(a[i] - b[i] + beside.port[i] - wanted[i]), 1e-12 * scale) << describe(spec);
      for (const Edit& edit : learned->edits) moved += std::get<SetPassive>(edit).rest ? 1 : 0;
      stayed += (learned->coefficients.array() != 0).count() > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(moved, cases(60) / 2);
  EXPECT_GT(stayed, cases(60) / 4);
}

// Drag from its formula, axis by axis with projections in the World: -s (e·u) e and -s (e·ω) e for s = 1, |u|, |ω|.
TEST(DragTerm, IsItsFormula) {
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = drawn(seed(17045), k);
    Random random(17046, static_cast<std::uint64_t>(k));
    const Around around(random, s.model);
    const auto terms = Terms::build(s.model, {term(TermKind::Drag)});
    ASSERT_TRUE(terms);
    const std::size_t n = s.bodies.size();
    ASSERT_EQ(terms->columns(), static_cast<int>(18 * n));
    VecX c(terms->columns());
    for (double& x : c) x = random.normal();
    Port got(n);
    terms->add(s.bodies, around.seen, c.data(), got);
    for (std::size_t b = 0; b < n; ++b) {
      const BodyState& at = s.bodies[b];
      const Vec3 u = at.v_WC - around.seen.flow, w = at.w_WB;
      const double sizes[] = {1, std::sqrt(u.dot(u)), std::sqrt(w.dot(w))};
      Wrench expected;
      double scale = 0;
      int column = static_cast<int>(18 * b);
      for (const double by : sizes)
        for (const bool turns : {false, true})
          for (int i = 0; i < 3; ++i, ++column) {
            const Vec3 e = at.q_WB * Vec3::Unit(i), part = -c[column] * by * e.dot(turns ? w : u) * e;
            (turns ? expected.moment : expected.force) += part;
            scale += part.norm();
          }
      EXPECT_LT(size(got[b] - expected), kSum * scale);
    }
  }
}

// Bumps from their formula; between two of them at half the width exp(-1/8) of each.
TEST(ObstacleTerm, IsItsFormula) {
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = drawn(seed(17047), k);
    Random random(17048, static_cast<std::uint64_t>(k));
    const Around around(random, s.model);
    TermSpec spec = term(TermKind::Obstacle);
    spec.bumps = 5, spec.reach = 3;
    const auto terms = Terms::build(s.model, {spec}, context_of(build(with_nozzle(s.mechanism.spec))));
    ASSERT_TRUE(terms);
    const std::size_t n = s.bodies.size();
    ASSERT_EQ(terms->columns(), static_cast<int>(2 * n * 5));
    VecX c(terms->columns());
    for (double& x : c) x = random.normal();
    Port got(n), expected(n);
    terms->add(s.bodies, around.seen, c.data(), got);
    int column = 0;
    for (const Vec3& point : around.obstacles)
      for (std::size_t b = 0; b < n; ++b)
        for (const double middle : {0.3, 0.9, 1.5, 2.1, 2.7}) {
          const Vec3 away = s.bodies[b].p_WC - point;
          const double off = (away.norm() - middle) / 0.6;
          expected[b].force += c[column++] * std::exp(-off * off / 2) * away.normalized();
        }
    for (std::size_t b = 0; b < n; ++b) EXPECT_LT(size(got[b] - expected[b]), kSum * c.lpNorm<1>());
  }
  // On the way between the first two middles, pushed away along x.
  Random random(1);
  ModelSpec one;
  one.name = "one", one.bodies.emplace_back().name = "ball", one.bodies[0].inertia = random_inertia(random, 1, 0.1);
  const Model model = build(one);
  TermSpec spec = term(TermKind::Obstacle);
  spec.bumps = 4, spec.reach = 2;
  TermContext context;
  context.obstacles = {"post"};
  const auto terms = Terms::build(model, {spec}, context);
  ASSERT_TRUE(terms) << terms.error().text();
  Bodies bodies(1);
  bodies[0].p_WC = Vec3(1.5, 1, 0);
  const std::vector<Vec3> points = {Vec3(1, 1, 0)};
  Surroundings around;
  around.obstacles = points;
  for (const int bump : {0, 1}) {
    Port got(1);
    const VecX c = VecX::Unit(4, bump);
    terms->add(bodies, around, c.data(), got);
    EXPECT_NEAR(got[0].force.x(), std::exp(-0.125), 1e-15);
    EXPECT_EQ(got[0].force.tail<2>().norm(), 0);
  }
}

TEST(Terms, ThatDissipateNeverGiveEnergyInStillWater) {
  int judged = 0;
  for (int k = 0; k < cases(60); ++k) {
    const Sample s = drawn(seed(17050), k);
    Random random(17051, static_cast<std::uint64_t>(k));
    Around around(random, s.model);
    around.seen.flow = Vec3::Zero();
    const auto terms = Terms::build(s.model, {term(TermKind::Drag), term(TermKind::JointViscous), term(TermKind::JointCoulomb)});
    if (!terms) continue;
    std::vector<ColumnEntry> entries;
    terms->list(s.bodies, around.seen, entries);
    VecX given = VecX::Zero(terms->columns()), sizes = given;
    for (const ColumnEntry& e : entries) {
      const BodyState& at = s.bodies[static_cast<std::size_t>(e.body)];
      given[e.column] += power(e.wrench, {at.w_WB, at.v_WC});
      sizes[e.column] += size(e.wrench) * (at.w_WB.norm() + at.v_WC.norm());
    }
    for (int c = 0; c < terms->columns(); ++c) {
      EXPECT_TRUE(terms->dissipates(c));
      EXPECT_LE(given[c], 1e-13 * sizes[c]) << terms->label(c);
      judged += given[c] < 0 ? 1 : 0;
    }
  }
  EXPECT_GT(judged, 10 * cases(60));
}

// A gain of 1 more doubles what an actuator does; a turn by a small angle δ leaves δ²/2 of its force as error.
TEST(ActuatorTerms, AreWhatActuatorsDoBeyondTheirInputs) {
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = drawn(seed(17060), k);
    const Model model = build(with_nozzle(s.mechanism.spec));
    Random random(17061, static_cast<std::uint64_t>(k));
    const Around around(random, model);
    const TermContext context = context_of(model);
    const auto gains = Terms::build(model, {term(TermKind::ActuatorGain)}, context);
    const auto turns = Terms::build(model, {term(TermKind::ActuatorMisalignment)}, context);
    ASSERT_TRUE(gains && turns);
    ASSERT_EQ(gains->columns(), 2);
    ASSERT_EQ(turns->columns(), 4);
    for (int i = 0; i < 2; ++i) {
      const auto at = static_cast<std::size_t>(i);
      Load direct(model), bent(model);
      context.actuators[at].add(s.bodies, around.inputs[at], direct);
      Port got(s.bodies.size());
      VecX c = VecX::Unit(2, i);
      gains->add(s.bodies, around.seen, c.data(), got);
      for (std::size_t b = 0; b < got.size(); ++b) EXPECT_LT(size(got[b] - direct.port[b]), 1e-14 * (1 + size(direct.port[b])));

      const double delta = 1e-4;
      ActuatorSpec spec = context.actuators[at].spec();
      const Vec3 d = spec.direction.normalized(), across = any_perpendicular(d);
      spec.direction = exp_so3(delta * across) * d;
      Actuator::build(model, spec)->add(s.bodies, around.inputs[at], bent);
      Port turned_port(s.bodies.size());
      VecX small = delta * VecX::Unit(4, 2 * i);
      turns->add(s.bodies, around.seen, small.data(), turned_port);
      for (std::size_t b = 0; b < got.size(); ++b)
        EXPECT_LT(size(bent.port[b] - direct.port[b] - turned_port[b]), delta * delta * (1e-9 + size(direct.port[b])));
    }
  }
}

TEST(FourierFeatures, AreSeededCosinesBesideOneAndWhatIsSeen) {
  const FourierFeatures a(7, 50, 2), b(7, 50, 2), c(8, 50, 2);
  Random random(seed(17070));
  double va[Features::kMost], vb[Features::kMost], vc[Features::kMost];
  Vec6 x;
  for (double& u : x) u = random.normal();
  a.at(x.data(), va), b.at(x.data(), vb), c.at(x.data(), vc);
  ASSERT_EQ(a.count(), 57);
  EXPECT_EQ(va[0], 1);
  double apart = 0;
  for (int i = 0; i < a.count(); ++i) {
    EXPECT_EQ(va[i], vb[i]);
    apart += std::abs(va[i] - vc[i]);
    if (i >= 7) {
      EXPECT_LE(std::abs(va[i]), 1);
    }
  }
  EXPECT_GT(apart, 1);
  // Random waves: over many x their mean is that of cosines, zero, within five deviations of 1/√(2 n).
  double mean = 0;
  constexpr int kDraws = 2000;
  for (int k = 0; k < kDraws; ++k) {
    for (double& u : x) u = 20 * random.normal();
    a.at(x.data(), va);
    mean += va[7 + k % 50] / kDraws;
  }
  EXPECT_LT(std::abs(mean), 5 / std::sqrt(2.0 * kDraws));
}

// Bodies named alike share what they feel: two of them that change places, the mechanism seen with other names, change nothing.
TEST(GenericTerms, AreTheSameForBodiesThatAreNamedAlike) {
  const UnknownLoad u = UnknownLoad::reference();
  const Model model = build(u.nominal);
  const DataSet data = excited(u, seed(17080), 1, 3, 0);
  const auto terms = Terms::build(model, {term(TermKind::Fourier, Sharing::Alike), term(TermKind::Network, Sharing::Alike),
                                          term(TermKind::Drag, Sharing::Alike)});
  ASSERT_TRUE(terms);
  Random random(17081);
  VecX c(terms->columns());
  for (double& x : c) x = random.normal();
  const DataSample& s = data.runs[0].samples[1];
  Bodies swapped = s.bodies;
  std::swap(swapped[1], swapped[3]);
  Port a(s.bodies.size()), b(s.bodies.size());
  terms->add(s.bodies, data.around(s), c.data(), a);
  terms->add(swapped, data.around(s), c.data(), b);
  std::swap(b[1], b[3]);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(size(a[i] - b[i]), 0);
}

TEST(GenericTerms, FadeOutWithinAFactorOfTwoBeyondTheData) {
  EXPECT_EQ(faded(0), 1);
  EXPECT_EQ(faded(1), 1);
  EXPECT_EQ(faded(4), 0);
  EXPECT_EQ(faded(1e9), 0);
  double before = 1;
  for (double x = 1; x < 4; x += 0.01) {
    EXPECT_LE(faded(x), before);
    // The steepest slope of s²(3 - 2s) is 3/2, of its argument √x at most 1/2.
    EXPECT_LT(before - faded(x), 0.76 * 0.01);
    before = faded(x);
  }
}

TEST(Sharing, PutsNamesThatEndInNumbersTogether) {
  EXPECT_EQ(stem("body12"), "body");
  EXPECT_EQ(stem("leg_3"), "leg");
  EXPECT_EQ(stem("arm"), "arm");
  EXPECT_EQ(stem("42"), "42");
  const Classes c = classes_of({"leg_1", "arm", "leg_2", "arm 2"}, Sharing::Alike, "all");
  EXPECT_EQ(c.of, (std::vector<int>{0, 1, 0, 1}));
}

TEST(Terms, RefuseWhatIsNotThereWithANameThatIs) {
  const Model model = build(UnknownLoad::reference().nominal);
  TermSpec t = term(TermKind::Drag);
  t.on = {"body6"};
  auto refused = Terms::build(model, {t});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("there is no body 'body6'; did you mean"), std::string::npos) << refused.error().what;
  t = term(TermKind::JointViscous), t.on = {"jont1"};
  refused = Terms::build(model, {t});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("did you mean 'joint1'"), std::string::npos);
  t = term(TermKind::Obstacle);
  refused = Terms::build(model, {t});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("there is no obstacle"), std::string::npos);
  t = term(TermKind::JointCoulomb), t.smoothing = {0.0};
  EXPECT_FALSE(Terms::build(model, {t}));
  t = term(TermKind::Fourier), t.cosines = 100000;
  EXPECT_FALSE(Terms::build(model, {t}));
}

}  // namespace
}  // namespace invar::testing
