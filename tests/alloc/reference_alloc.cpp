// SPDX-License-Identifier: Apache-2.0
// References are evaluated at every tick of a controller: that asks the heap for nothing.
#include <gtest/gtest.h>

#include "alloc/count_heap.hpp"
#include "invar/control/pose_reference.hpp"

namespace invar::testing {
namespace {

TEST(ReferenceAlloc, TakesNoMemoryWhenEvaluated) {
  const std::vector<double> times = {0, 1, 3}, values = {0, 1, -1};
  const Spline spline(times, values);
  const Quintic quintic(times, std::vector<Jet>{{0, 1, 2}, {1, 0, 0}, {-1, 2, 0}});
  const Reference scalars[] = {Sinusoid{}, Polynomial{values, 0}, MinimumJerk{times, values}, spline, quintic};
  const Vec3 o = Vec3::Zero(), x = Vec3::UnitX(), z = Vec3::UnitZ();
  const Rotations turns{{{x, Sinusoid{}}, {z, spline}}, Quat::Identity()};
  const AttitudeWaypoints way(times, {Quat::Identity(), exp_so3(x), exp_so3(z)});
  const PoseReference poses[] = {{Components{spline, quintic, MinimumJerk{times, values}}, turns, {}},
                                 {Circle{o, z, 1, turning(2), x}, way, {}},
                                 {Lissajous{o, x, z, o}, way, {}}};
  double sum = 0;
  const HeapCount heap;
  for (double t = -1; t < 4; t += 0.25) {
    for (const Reference& r : scalars) sum += jet(r, t).q + next_event(r, t);
    for (const PoseReference& r : poses) sum += jet(r, t).alpha.norm() + next_event(r, t);
  }
  EXPECT_EQ(heap.calls(), 0) << sum;
}

}  // namespace
}  // namespace invar::testing
