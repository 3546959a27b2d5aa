// SPDX-License-Identifier: Apache-2.0
// Edits of values ask the heap for nothing: neither the model nor the views that take them over.
#include <gtest/gtest.h>

#include "alloc/count_heap.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/natural.hpp"
#include "invar/model/live_model.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

class EditAlloc : public ::testing::TestWithParam<int> {};

TEST_P(EditAlloc, TakesNoMemoryWhenNoSizeChanges) {
  MechanismOptions options{.bodies = 7, .kinds = {}};
  options.mass_ratio = 5;
  options.locked = false;
  // Without free joints nothing floats: then no edit of a mass asks for another tree.
  for (int kind = 0; kind < kJointKinds; ++kind)
    if (kind != static_cast<int>(JointKind::Free)) options.kinds.push_back(static_cast<JointKind>(kind));
  options.loops = GetParam() % 3;
  options.couplings = GetParam() % 2;
  Sample sample = random_sample(900 + static_cast<std::uint64_t>(GetParam()), options);
  ModelSpec spec = sample.mechanism.spec;
  spec.frames.push_back({"tool", spec.bodies[0].name, {}, {}});
  auto live = LiveModel::build(spec);
  ASSERT_TRUE(live);
  Augmented augmented(*live->model());
  Natural natural(*live->model());
  Minimal minimal(*live->model());
  Formulation* const views[] = {&augmented, &natural, &minimal};
  State x;
  for (Formulation* view : views) view->set(sample.bodies, x);

  Random random(1);
  const std::string body = spec.bodies[1].name;
  const Inertia load = random_inertia(random, 1, 0.2);
  std::vector<std::vector<Edit>> lists = {{Attach{"load", body, load}},
                                          {Detach{"load"}},
                                          {SetInertia{body, load}, SetTool{"tool", random_pose(random, 1), {}}},
                                          {SetInertia{body, spec.bodies[1].inertia}}};
  if (!spec.couplings.empty()) lists.push_back({SetMap{spec.couplings[0].name, spec.couplings[0].coefficients, false}});
  Pose at = spec.joints[0].at_parent;
  at.p.x() += 1e-3;
  lists.push_back({SetJointFrame{spec.joints[0].name, at, {}}});
  for (int round = 0; round < 2; ++round)
    for (const std::vector<Edit>& list : lists) {
      const HeapCount heap;
      ASSERT_TRUE(live->apply(list));
      for (Formulation* view : views) {
        const bool taken = view->adopt(live->change());
        EXPECT_TRUE(taken || (view == &natural && !live->change().joints.empty()));
      }
      // The first round may meet a polynomial that was never copied.
      if (round > 0) {
        EXPECT_EQ(heap.calls(), 0) << name(list[0]);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, EditAlloc, ::testing::Range(0, 6));

}  // namespace
}  // namespace invar::testing
