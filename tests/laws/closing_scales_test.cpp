// SPDX-License-Identifier: Apache-2.0
//
// A mechanism that is drawn a thousand times larger or smaller closes, or fails to, in the same way: every verdict and every
// residual is in parts of its size.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/geom/rotation.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/gaps.hpp"
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/run/run.hpp"
#include "support/campaign.hpp"
#include "support/outcome.hpp"
#include "support/recorded.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// The same mechanism, lengths times `by`, masses as they are, so that gravity times `by` leaves all angles as they were.
ModelSpec scaled(ModelSpec spec, double by) {
  spec.gravity *= by;
  for (BodySpec& body : spec.bodies) body.inertia.p_BC *= by, body.inertia.I_C *= by * by;
  for (JointSpec& joint : spec.joints) joint.at_parent.p *= by, joint.at_child.p *= by, joint.pitch *= by;
  return spec;
}

Bodies scaled(Bodies bodies, double by) {
  for (BodyState& b : bodies) b.p_WC *= by, b.v_WC *= by;
  return bodies;
}

MechanismOptions family(int k) {
  MechanismOptions options{.bodies = 3 + k % 4, .kinds = {}};
  options.loops = 1 + k % 2, options.passive = false, options.locked = false, options.planar = k % 3 == 0;
  options.redundant = k % 5 == 4 ? 1 : 0, options.mass_ratio = 10;
  return options;
}

/// The largest gap of a joint along rows that are lengths, m.
double displaced(const Model& model, const Bodies& bodies) {
  double largest = 0;
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
    const Residual r = joint_residual(model, j, bodies);
    JointAt at;
    joint_at(model, j, bodies, false, at);
    for (Eigen::Index i = 0; i < r.size(); ++i)
      if (at.C.row(i).head<3>().isZero(1e-12)) largest = std::max(largest, std::abs(r[i]));
  }
  return largest;
}

/// Where a formulation is after twenty steps of rk4.
Bodies stepped(const std::string& formulation, const Model& model, const Bodies& bodies) {
  Method method;
  method.formulation = formulation;
  const auto made = make_formulation(model, method);
  System system(*made);
  State x;
  made->set(bodies, x);
  const auto rk4 = std::move(*make_integrator("rk4"));
  rk4->reset(system, x, 1e-3);
  double done = 0;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(rk4->step(system, 1e-3 * i, 1e-3, x, done).ok()) << formulation;
  Bodies out(bodies.size());
  made->bodies(x, out);
  return out;
}

/// Rows of the joints at a body.
int rows_at(const Model& model, int body) {
  int rows = 0;
  for (const Joint& j : model.joints())
    if (j.child == body || j.parent == body) rows += j.rows();
  return rows;
}

constexpr double kSizes[] = {0x1p-13, 0x1p-7, 1, 0x1p7, 0x1p13};  // 1e-4 to 1e4, exactly

// Bodies pulled off their joints by up to a hundredth of the size, and by much more: closed, or refused, alike; the residuals of
// what is closed are the same parts of the size, to rounding. (Scaling by powers of two rounds nothing: also where the way to
// closed joints is long and winding it is the same way.)
TEST(Closing, IsRelativeToTheSizeOfTheMechanism) {
  int closed = 0;
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = random_sample(seed(9800) + static_cast<std::uint64_t>(k), family(k));
    Random random(seed(9900) + static_cast<std::uint64_t>(k));
    Bodies off = s.bodies;
    const double far = k % 4 == 3 ? 3.0 : 0.01;
    for (BodyState& b : off) b.p_WC += random_vector(random, far), b.q_WB = turned(b.q_WB, random_vector(random, 0.3 * far));
    bool first = false;
    double gap = 0;
    for (const double by : kSizes) {
      const Model model = build(scaled(s.mechanism.spec, by));
      const auto found = make_consistent(model, scaled(off, by));
      if (by == kSizes[0]) first = found.has_value();
      EXPECT_EQ(found.has_value(), first) << "case " << k << ", " << by << (found ? "" : ": " + found.error().what);
      if (!found) continue;
      ++closed;
      double largest = 0;
      for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
        const Residual r = joint_residual(model, j, *found);
        JointAt at;
        joint_at(model, j, *found, false, at);
        for (Eigen::Index i = 0; i < r.size(); ++i) {
          const bool length = at.C.row(i).head<3>().isZero(1e-12);
          largest = std::max(largest, std::abs(r[i]) / (length ? by : 1));
        }
      }
      if (by == kSizes[0]) gap = largest;
      // Closed to rounding at every size: 1e-15 of lengths of a metre in the drawn one, enlarged by up to 1e4 in weak loops.
      EXPECT_LT(largest, 1e-10) << "case " << k << ", " << by << " (" << gap << ")";
      EXPECT_TRUE(expect_consistent(model, *found, 1e-9)) << "case " << k << ", " << by;
    }
  }
  EXPECT_GT(closed, 3 * cases(20));
}

// States off by a given part of the size are refused at every size, or at none.
TEST(Closing, RefusesTheSamePartOfTheSizeAtEverySize) {
  int judged = 0;
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = random_sample(seed(9800) + static_cast<std::uint64_t>(k), family(k));
    for (const auto& [part, fine] : {std::pair{1e-12, true}, {1e-6, false}}) {
      for (const double by : kSizes) {
        const Model model = build(scaled(s.mechanism.spec, by));
        Bodies bodies = scaled(s.bodies, by);
        bodies.back().p_WC += part * model.length() * Vec3(1, 0.7, -0.4);
        const bool held = s.model.joints().size() > 0 && rows_at(model, static_cast<int>(bodies.size()) - 1) > 3;
        if (!held) continue;
        ++judged;
        EXPECT_EQ(expect_consistent(model, bodies, 1e-9).has_value(), fine) << "case " << k << ", " << by << ", " << part;
      }
    }
  }
  EXPECT_GE(judged, cases(20) * 5);  // of ten each
}

// A run of the same mechanism: the same gaps in parts of the size, the same word about its steps.
TEST(Closing, OfRunsKeepsTheSamePartOfTheSize) {
  int judged = 0;
  for (int k = 0; k < cases(6); ++k) {
    const Sample s = random_sample(seed(9800) + static_cast<std::uint64_t>(k), family(k));
    for (const char* formulation : {"augmented", "minimal", "natural"})
      for (const double by : kSizes) {
        Scenario run_of;
        run_of.spec = std::make_shared<const ModelSpec>(scaled(s.mechanism.spec, by));
        run_of.model = std::make_shared<const Model>(build(*run_of.spec));
        run_of.start = Start(*run_of.model);
        run_of.start.by_bodies = true, run_of.start.bodies = scaled(s.bodies, by);
        run_of.method.formulation = formulation, run_of.method.step = 1e-3, run_of.end_time = 0.02;
        if (objection(run_of.method, *run_of.model)) continue;
        const auto out = judged_run(run_of);
        ASSERT_TRUE(out) << "case " << k << ", " << by << ": " << out.error().what;
        EXPECT_EQ(out->end, Outcome::End::Finished) << "case " << k << ", " << formulation << ", " << by << ": " << out->words;
        ++judged;
        // The metric holds rad and m side by side: angles do not shrink with the size, displacements are looked at by themselves.
        EXPECT_LT(metric(*out, "joint_gap"), 1e-11 * std::max(1.0, by)) << "case " << k << ", " << formulation << ", " << by;
        EXPECT_LT(displaced(*run_of.model, stepped(formulation, *run_of.model, run_of.start.bodies)), 1e-11 * by)
            << "case " << k << ", " << formulation << ", " << by;
        EXPECT_TRUE(out->unresolved.empty()) << "case " << k << ", " << formulation << ", " << by << ": " << out->unresolved;
      }
  }
  EXPECT_GE(judged, cases(6) * 10);  // of fifteen each; natural does not take all kinds
}

/// Both mechanisms in one model, the joints and bodies of the first in front.
ModelSpec beside(ModelSpec a, const ModelSpec& b) {
  const auto other = [](const std::string& name) { return name == "world" ? name : "other_" + name; };
  for (BodySpec body : b.bodies) body.name = other(body.name), a.bodies.push_back(body);
  for (JointSpec joint : b.joints) {
    joint.name = other(joint.name), joint.parent = other(joint.parent), joint.child = other(joint.child);
    a.joints.push_back(joint);
  }
  for (CouplingSpec c : b.couplings) {
    c.name = other(c.name), c.joint = other(c.joint), c.of = other(c.of);
    a.couplings.push_back(c);
  }
  return a;
}

Bodies pulled_off(const Sample& s, double far, Random& random) {
  Bodies off = s.bodies;
  for (BodyState& b : off) {
    b.p_WC += random_vector(random, far), b.q_WB = turned(b.q_WB, random_vector(random, far));
    b.v_WC += random_vector(random, 1), b.w_WB += random_vector(random, 1);
  }
  return off;
}

// Each part takes its own Newton steps, shortened by its own gaps, and ends by its own residual: positions and velocities are to
// the bit those that it is given alone, beside a neighbour of another size that is farther from its joints, or nearer to them.
TEST(Closing, OfUnconnectedPartsIsThatOfEachAlone) {
  int closed = 0;
  for (int k = 0; k < cases(30); ++k) {
    const auto at = static_cast<std::uint64_t>(k);
    MechanismOptions second = family(k / 2);
    second.couplings = k % 4 == 1 ? 2 : 0;
    const Sample a = random_sample(seed(9850) + 2 * at, family(k)), b = random_sample(seed(9850) + 2 * at + 1, second);
    const double by = kSizes[k % 5];
    Random random(seed(9950) + at);
    ModelSpec spec_a = a.mechanism.spec, spec_b = scaled(b.mechanism.spec, by);
    spec_a.initial.clear(), spec_b.initial.clear();
    spec_a.gravity = spec_b.gravity;
    if (by != 1) spec_b.couplings.clear();  // their numbers are lengths in part
    const Model one = build(spec_a), two = build(spec_b), both = build(beside(spec_a, spec_b));
    const Bodies off_a = pulled_off(a, k % 3 == 0 ? 0.3 : 1e-4, random),
                 off_b = scaled(pulled_off(b, k % 3 == 1 ? 0.3 : 1e-6, random), by);
    Bodies off = off_a;
    off.insert(off.end(), off_b.begin(), off_b.end());
    const auto x = make_consistent(one, off_a), y = make_consistent(two, off_b), xy = make_consistent(both, off);
    EXPECT_EQ(xy.has_value(), x.has_value() && y.has_value()) << "case " << k << ", " << by;
    if (!xy || !x || !y) continue;
    ++closed;
    for (std::size_t i = 0; i < off.size(); ++i) {
      const BodyState& alone = i < x->size() ? (*x)[i] : (*y)[i - x->size()];
      EXPECT_EQ((*xy)[i].p_WC, alone.p_WC) << "case " << k << ", " << by << ", body " << i;
      EXPECT_EQ((*xy)[i].q_WB.coeffs(), alone.q_WB.coeffs()) << "case " << k << ", " << by << ", body " << i;
      EXPECT_EQ((*xy)[i].v_WC, alone.v_WC) << "case " << k << ", " << by << ", body " << i;
      EXPECT_EQ((*xy)[i].w_WB, alone.w_WB) << "case " << k << ", " << by << ", body " << i;
    }
  }
  EXPECT_GE(2 * closed, cases(30));
}

// A gap of a thousandth of a small part is refused beside a large one as it is alone.
TEST(Closing, OfASmallPartIsNotExcusedByALargeNeighbour) {
  int judged = 0;
  for (int k = 0; k < cases(20); ++k) {
    const auto at = static_cast<std::uint64_t>(k);
    const Sample a = random_sample(seed(9860) + 2 * at, family(k)), b = random_sample(seed(9860) + 2 * at + 1, family(k + 1));
    const ModelSpec large = scaled(a.mechanism.spec, 0x1p10), small = scaled(b.mechanism.spec, 0x1p-10);
    if (rows_at(build(small), static_cast<int>(b.bodies.size()) - 1) <= 3) continue;
    ModelSpec spec = beside(large, small);
    spec.initial.clear();
    const Model both = build(spec);
    Bodies bodies = scaled(a.bodies, 0x1p10), open = scaled(b.bodies, 0x1p-10);
    bodies.insert(bodies.end(), open.begin(), open.end());
    EXPECT_TRUE(expect_consistent(both, bodies, 1e-9)) << "case " << k;
    bodies.back().p_WC += 1e-3 * 0x1p-10 * Vec3(1, 0.7, -0.4);
    EXPECT_FALSE(expect_consistent(both, bodies, 1e-6)) << "case " << k;
    ++judged;
  }
  EXPECT_GE(2 * judged, cases(20));
}

// How far gaps make dependent rows stand out is a pure number: that of the mechanism drawn, at every size. Couplings count.
TEST(NoiseOfGaps, IsTheSameAtEverySizeAndSeesCouplings) {
  int coupled = 0;
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = random_sample(seed(9870) + static_cast<std::uint64_t>(k), family(k));
    Random random(seed(9970) + static_cast<std::uint64_t>(k));
    const Bodies off = pulled_off(s, 1e-5, random);
    double first = 0;
    for (const double by : kSizes) {
      const Model model = build(scaled(s.mechanism.spec, by));
      const double noise = noise_of_gaps(model, scales_of(model), whole_piece(model), scaled(off, by));
      if (by == kSizes[0]) first = noise;
      EXPECT_NEAR(noise, first, 1e-9 * first) << "case " << k << ", " << by;
      EXPECT_GT(noise, 1e-4) << "case " << k << ", " << by;
    }
    MechanismOptions gears{.bodies = 4, .passive = false, .couplings = 1, .locked = false, .kinds = {JointKind::Revolute}};
    const Sample g = random_sample(seed(9880) + static_cast<std::uint64_t>(k), gears);
    if (g.model.couplings().empty()) continue;
    // The driven freedom turned by a tenth: every joint stays closed.
    const Coupling& c = g.model.couplings()[0];
    const Joint& driven = g.model.joints()[static_cast<std::size_t>(c.joint)];
    Bodies turned_by = g.bodies;
    const int leaf = driven.child;
    int joints = 0;
    for (const Joint& j : g.model.joints()) joints += j.child == leaf || j.parent == leaf;
    if (joints > 1) continue;
    ++coupled;
    BodyState& b = turned_by[static_cast<std::size_t>(leaf)];
    const Vec3 axis = b.q_WB * (driven.X_CM.q * Vec3::UnitZ()),
               arm = b.q_WB * (driven.X_CM.p - g.model.bodies()[static_cast<std::size_t>(leaf)].inertia.p_BC);
    const Vec3 pin = b.p_WC + arm;
    const Quat turn(Eigen::AngleAxisd(0.1, axis));
    b.q_WB = turn * b.q_WB;
    b.p_WC = pin - turn * arm;
    EXPECT_NEAR(noise_of_gaps(g.model, scales_of(g.model), whole_piece(g.model), turned_by), 100, 1e-6) << "case " << k;
  }
  EXPECT_GE(coupled, 1);
}

// Two sliders, one of which follows the square of the other: nothing rotates, and what the coupling asks for goes with rates. Off
// by a part e of them, which stages may be, rows disagree by 200 e at most; and never by more than all of the accelerations.
TEST(Contradiction, IsNotProvenByWhatRatesMissOfACoupling) {
  ModelSpec spec;
  for (const char* name : {"driving", "driven"}) {
    BodySpec body;
    body.name = name, body.inertia = solid_box(1, {0.2, 0.3, 0.4});
    JointSpec slide;
    slide.name = std::string("to_") + name, slide.kind = JointKind::Prismatic, slide.child = name, slide.axis = Vec3::UnitX();
    spec.bodies.push_back(body), spec.joints.push_back(slide);
  }
  CouplingSpec square;
  square.name = "square", square.joint = "to_driven", square.of = "to_driving", square.coefficients = {0, 0, 0.5};
  spec.couplings = {square};
  const Model model = build(spec);
  const Scales scales = scales_of(model);
  for (int k = 0; k < cases(20); ++k) {
    Random random(seed(9890), static_cast<std::uint64_t>(k));
    const double q = random.uniform(-0.8, 0.8), v = random.uniform(0.5, 5), a = random.uniform(1, 10);
    Bodies bodies = at_rest(model, {{Quat::Identity(), Vec3(q, 0, 0)}, {Quat::Identity(), Vec3(0.5 * q * q, 0, 0)}});
    const auto proven = [&](double e, double part) {
      bodies[0].v_WC.x() = v, bodies[1].v_WC.x() = q * v + e * v * scales.length_at(1) / scales.length_at(0);
      return Contradiction(model, scales, whole_piece(model), bodies, nullptr, a).proven_by(part * a);
    };
    EXPECT_TRUE(proven(0, 0.01)) << k;
    EXPECT_FALSE(proven(1e-3, 0.15)) << k;
    EXPECT_TRUE(proven(1e-3, 0.25)) << k;
    EXPECT_FALSE(proven(0.1, 0.9)) << k;
    EXPECT_TRUE(proven(0.1, 1.1)) << k;
  }
}

}  // namespace
}  // namespace invar::testing
