// SPDX-License-Identifier: Apache-2.0
//
// A mechanism that is drawn a thousand times larger or smaller closes, or fails to, in the same way: every verdict and every
// residual is in parts of its size.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/geom/rotation.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/run/run.hpp"
#include "support/campaign.hpp"
#include "support/outcome.hpp"
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
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = random_sample(seed(9800) + static_cast<std::uint64_t>(k), family(k));
    for (const auto& [part, fine] : {std::pair{1e-12, true}, {1e-6, false}}) {
      for (const double by : kSizes) {
        const Model model = build(scaled(s.mechanism.spec, by));
        Bodies bodies = scaled(s.bodies, by);
        bodies.back().p_WC += part * model.length() * Vec3(1, 0.7, -0.4);
        const bool held = s.model.joints().size() > 0 && rows_at(model, static_cast<int>(bodies.size()) - 1) > 3;
        if (!held) continue;
        EXPECT_EQ(expect_consistent(model, bodies, 1e-9).has_value(), fine) << "case " << k << ", " << by << ", " << part;
      }
    }
  }
}

// A run of the same mechanism: the same gaps in parts of the size, the same word about its steps.
TEST(Closing, OfRunsKeepsTheSamePartOfTheSize) {
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
        const auto out = run(run_of);
        ASSERT_TRUE(out) << "case " << k << ", " << by << ": " << out.error().what;
        EXPECT_EQ(out->end, Outcome::End::Finished) << "case " << k << ", " << formulation << ", " << by << ": " << out->words;
        EXPECT_LT(metric(*out, "joint_gap"), 1e-11 * std::max(1.0, by)) << "case " << k << ", " << formulation << ", " << by;
        EXPECT_TRUE(out->unresolved.empty()) << "case " << k << ", " << formulation << ", " << by << ": " << out->unresolved;
      }
  }
}

}  // namespace
}  // namespace invar::testing
