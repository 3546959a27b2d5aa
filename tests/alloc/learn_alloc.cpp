// SPDX-License-Identifier: Apache-2.0
// Does what was learned ask the heap for anything while a loop runs?
#include <gtest/gtest.h>

#include "alloc/count_heap.hpp"
#include "invar/learn/learned_load.hpp"
#include "support/states.hpp"
#include "support/unknown_load.hpp"

namespace invar::testing {
namespace {

TEST(LearnedLoad, NeverCallsTheHeap) {
  const UnknownLoad u = UnknownLoad::reference();
  const auto model = std::make_shared<const Model>(build(u.nominal));
  const DataSet data = excited(u, 17500, 1, 4, 0);
  auto learned = std::make_shared<Learned>();
  learned->bodies = names_of(model->bodies()), learned->joints = names_of(model->joints());
  learned->nominal = numbers_of(*model);
  learned->obstacles = {"post"};
  for (const TermKind kind : {TermKind::JointViscous, TermKind::JointCoulomb, TermKind::JointStiffness, TermKind::JointOffset,
                              TermKind::Drag, TermKind::Obstacle, TermKind::Fourier, TermKind::Network}) {
    TermSpec spec;
    spec.kind = kind;
    learned->terms.push_back(spec);
    TermContext context;
    context.obstacles = learned->obstacles;
    learned->counts.push_back(Terms::build(*model, {spec}, context)->columns());
  }
  int columns = 0;
  for (const int n : learned->counts) columns += n;
  learned->coefficients = VecX::Constant(columns, 0.1);
  auto load = LearnedLoad::build(model, learned);
  ASSERT_TRUE(load) << load.error().text();
  const std::vector<Vec3> posts = {Vec3(1, 0, 0)};
  load->set_around({Vec3(0.1, 0, 0), posts, {}, nullptr});
  Load out(*model);
  Accelerations reference(model->bodies().size());
  const HeapCount heap;
  for (const DataSample& s : data.runs[0].samples) {
    load->add(0.0, s.bodies, out);
    load->add_at_reference(s.bodies, reference, out.port);
    (void)load->leverage(s.bodies);
  }
  EXPECT_EQ(heap.calls(), 0);
}

}  // namespace
}  // namespace invar::testing
