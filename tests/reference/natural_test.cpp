// SPDX-License-Identifier: Apache-2.0
//
// Problems of the field with accepted values, in natural coordinates: by flows, and by steppers that are composed with themselves
// to order four, whose error falls with h⁴ (tests/order); bounds are ten times what the halved step says.
#include <array>
#include <cmath>

#include "invar/io/result_json.hpp"
#include "support/case.hpp"
#include "support/outcome.hpp"

namespace invar::testing {
namespace {

struct Way {
  const char* method = "";  // empty: as the file has it
  double step = 0;          // s
  double bound = 1e-8;      // of every number compared
};

Scenario taken(const std::string& name, const Way& way, double end) {
  Scenario s = read_case("reference", name, "natural", way.method, way.step);
  const bool composed = s.method.integrator == "conserving" || s.method.integrator == "discrete_gradient";
  if (composed) s.method.options.stepper.composition = Composition::Suzuki;
  if (s.method.integrator == "petrov_galerkin") s.method.options.stepper.degree = 1;
  s.end_time = end;
  return s;
}

Vec3 point(const Memory& m, const std::string& body, const Vec3& from_centre) {
  const VecX p = m.last("bodies/" + body + "/p"), q = m.last("bodies/" + body + "/q");
  return Vec3(p[0], p[1], p[2]) + Quat(q[0], q[1], q[2], q[3]) * from_centre;
}

void expect_run(const Scenario& s, Memory& m, const Way& way, double passages = 0, const char* status = "ok") {
  const Outcome outcome = outcome_of(s, &m);
  EXPECT_STREQ(status_word(outcome), status) << way.method << " " << outcome.words << outcome.unresolved;
  EXPECT_EQ(metric(outcome, "singular_passages"), passages) << way.method;
}

TEST(NaturalReference, PendulumOfEllipticFunctions) {
  for (const Way& way : {Way{"", 0, 1e-10}, Way{"conserving", 0.002, 1e-9}, Way{"petrov_galerkin", 0.005, 1e-7}}) {
    Memory m;
    expect_run(taken("a01_pendulum_s", way, 10), m, way);
    const VecX p = m.last("bodies/bob/p");
    EXPECT_NEAR(p[0], 0.27508746257611686, way.bound) << way.method;
    EXPECT_NEAR(p[1], -0.96141920509912506, way.bound) << way.method;
  }
}

// Through the flat position ten times, where the rank falls.
TEST(NaturalReference, TwoWindowsThroughTheirFlatPosition) {
  for (const Way& way : {Way{"conserving", 0.0025, 1e-8}}) {
    Memory m;
    expect_run(taken("a02_n2_s", way, 10), m, way, 10);
    const VecX p = m.last("bodies/rod0/p"), v = m.last("bodies/rod0/v");
    EXPECT_NEAR(2 * p[0], 0.3284581115408, way.bound) << way.method;
    EXPECT_NEAR(2 * p[1], 0.9445185381786, way.bound) << way.method;
    EXPECT_NEAR(2 * v[0], 1.4230514702069, 10 * way.bound) << way.method;
    EXPECT_NEAR(2 * v[1], -0.4948688454870, 10 * way.bound) << way.method;
  }
}

TEST(NaturalReference, SqueezingMechanismOfAndrews) {
  for (const Way& way : {Way{"", 0, 2e-9}, Way{"conserving", 2e-5, 1e-6}}) {
    Memory m;
    expect_run(taken("a03_andrews_s", way, 0.03), m, way);
    EXPECT_NEAR(m.last("joints/beta/q")[0], 15.810771195154, 15.81 * way.bound) << way.method;
  }
}

TEST(NaturalReference, LinkageOfBricard) {
  const std::array<std::pair<const char*, Vec3>, 2> both = {
      {{"a04_bricard_s", Vec3(0.5105014612, -1.6491675994, 0.1401231146)},
       {"a04_bricard_slender_s", Vec3(0.5086647602, -1.6498270632, 0.1390353307)}}};
  for (const auto& [name, P3] : both)
    for (const Way& way : {Way{"dopri5", 0, 1e-8}, Way{"conserving", 0.002, 1e-9}, Way{"petrov_galerkin", 0.004, 1e-8}}) {
      Memory m;
      expect_run(taken(name, way, 1), m, way);
      EXPECT_LT((point(m, "rod4", Vec3(0.5, 0, 0)) - P3).norm(), way.bound) << name << " " << way.method;
    }
}

TEST(NaturalReference, FlyballGovernor) {
  for (const Way& way : {Way{"", 0, 1e-7}, Way{"conserving", 0.001, 1e-6}}) {
    Memory m;
    // Its springs have rates of up to 4800/s, which steps of a millisecond do not resolve: they stay where the damper puts them.
    expect_run(taken("a05_flyball_s", way, 10), m, way, 0, way.step > 0 ? "unresolved" : "ok");
    EXPECT_NEAR(m.last("joints/slide/q")[0], 0.6196229171, way.bound) << way.method;
  }
}

// IVP test set: both ends of the chassis and their velocities after 3 s.
TEST(NaturalReference, CarAxisOverASine) {
  const double x[8] = {0.0493455784275402809122,  0.496989460230171153861,   1.04174252488542151681,   0.373911027265361256927,
                       -0.0770583684040972357970, 0.00744686658723778553466, 0.0175568157537232222276, 0.770341043779251976443};
  for (const Way& way : {Way{"", 0, 1e-8}, Way{"conserving", 0.001, 1e-5}}) {
    Memory m;
    expect_run(taken("car_axis_s", way, 3), m, way);
    const Vec3 left = point(m, "chassis", Vec3(-0.5, 0, 0)), right = point(m, "chassis", Vec3(0.5, 0, 0));
    const VecX v = m.last("bodies/chassis/v"), w = m.last("bodies/chassis/w");
    const Vec3 turning = Vec3(w[0], w[1], w[2]).cross(0.5 * (right - left)), mean(v[0], v[1], v[2]);
    const double got[8] = {left.x(),
                           left.y(),
                           right.x(),
                           right.y(),
                           mean.x() - turning.x(),
                           mean.y() - turning.y(),
                           mean.x() + turning.x(),
                           mean.y() + turning.y()};
    for (int k = 0; k < 8; ++k) EXPECT_NEAR(got[k], x[k], way.bound * (k < 4 ? 1 : 10)) << way.method << " " << k;
  }
}

TEST(NaturalReference, HeavyTop) {
  const double accepted[4] = {-0.70827915297, 0.43878108813, 0.54572839615, 0.08939975282};
  for (const Way& way : {Way{"", 0, 1e-9}, Way{"conserving", 1e-4, 1e-6}}) {
    Memory m;
    expect_run(taken("heavy_top_s", way, 0.2), m, way);
    const VecX q = m.last("bodies/top/q");
    const double sign = q[0] < 0 ? 1 : -1;
    for (int k = 0; k < 4; ++k) EXPECT_NEAR(sign * q[k], accepted[k], way.bound) << way.method << " " << k;
  }
}

TEST(NaturalReference, LinkageOfBennett) {
  for (const Way& way : {Way{"", 0, 1e-9}, Way{"conserving", 0.002, 1e-8}}) {
    Memory m;
    expect_run(taken("bennett_s", way, 5), m, way);
    const double a = m.last("joints/j1/q")[0];
    EXPECT_NEAR(a, 1.597119259072, way.bound) << way.method;
    const double b = m.last("joints/j2/q")[0];
    EXPECT_NEAR(std::abs(std::tan(a / 2) * std::tan(b / 2)), 3.9209518668856, 1e-9) << way.method;
  }
}

TEST(NaturalReference, SpatialSliderCrank) {
  for (const Way& way : {Way{"", 0, 1e-8}, Way{"conserving", 0.002, 1e-5}}) {
    Memory m;
    expect_run(taken("slider_crank_3d_s", way, 5), m, way);
    EXPECT_NEAR(m.last("joints/guide/q")[0], 0.2249255151, way.bound) << way.method;
    EXPECT_NEAR(m.last("joints/crank_pin/q")[0], 54.6347750817, 50 * way.bound) << way.method;
  }
}

}  // namespace
}  // namespace invar::testing
