// SPDX-License-Identifier: Apache-2.0
//
// Singular configurations that no band is built for: the run goes on, and says that it may lose energy there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "invar/mech/loops_limits.hpp"
#include "invar/run/run.hpp"
#include "support/case.hpp"
#include "support/linkages.hpp"
#include "support/outcome.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// A window whose bar carries a chain of light links: with more freedoms than the dense equations of a band take, or with few.
Scenario window_with_chain(int links) {
  ModelSpec spec = windows(1, 8e-4);
  for (int k = 0; k < links; ++k) {
    BodySpec link;
    link.name = fmt::format("link{}", k);
    link.inertia = solid_box(1e-4, {0.1, 1, 0.1});
    spec.bodies.push_back(link);
    JointSpec hinge;
    hinge.name = fmt::format("h{}", k), hinge.kind = JointKind::Revolute;
    hinge.parent = k == 0 ? "bar0" : fmt::format("link{}", k - 1), hinge.child = link.name;
    hinge.at_child.p = {0, 1, 0};  // as long as the window, so that steps resolve it
    spec.joints.push_back(hinge);
  }
  Scenario s;
  set_model(s, spec);
  s.start = Start(*s.model);
  s.start.named.assign(s.model->joints().size(), false);
  for (std::size_t j = 0; j < 2; ++j) s.start.named[j] = true, s.start.joints.v[s.model->joints()[j].v0] = -1;
  s.method.formulation = "augmented", s.method.integrator = "rk4", s.method.step = 5e-3;
  s.end_time = 0.75;  // it lies flat at 0.6 s
  return s;
}

bool said(const Outcome& out, const char* part) {
  return std::any_of(out.notes.begin(), out.notes.end(), [&](const std::string& n) { return n.find(part) != std::string::npos; });
}

TEST(Passages, WithoutABandAreSaid) {
  for (const int links : {3, static_cast<int>(kLargestPart)}) {
    const Scenario s = window_with_chain(links);
    const Outcome out = outcome_of(s);
    ASSERT_EQ(out.end, Outcome::End::Finished) << out.words;
    EXPECT_TRUE(said(out, "passed a singular configuration")) << links;
    EXPECT_EQ(said(out, "no branch was found through the singular configuration"), links > 3);
  }
}

}  // namespace
}  // namespace invar::testing
