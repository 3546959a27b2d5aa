// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/dense_kkt.hpp"
#include "support/states.hpp"

namespace invar::testing {

/// Two answers to the same question: accelerations, reactions and efforts of couplings at one state.
struct Answer {
  Accelerations accelerations;
  std::vector<Wrench> reactions;
  VecX couplings;
};

/// Largest differences over the largest entry of `b`, pure numbers; NaN where either holds one. A body counts |a| + l |alpha|, a
/// joint |f| + |m|/l with l = model.length(). Where nothing moves gravity and loads over the mean mass are the
/// measure, where nothing is held the loads are: what is rounded is at least of their size.
struct Differences {
  double acceleration = 0, reaction = 0, coupling = 0;
};
Differences differences(const Model& model, const Load& load, const Answer& a, const Answer& b);

/// The product's answer with reactions of least norm, or with those of its bare solve, judged by the numbers of the spec
/// (expect_newton_euler). A refusal fails the test and answers with nothing.
Answer evaluated(const ModelSpec& spec, const Model& model, const Bodies& bodies, const Load& load, const std::string& what);
Answer solved(const ModelSpec& spec, const Model& model, const Bodies& bodies, const Load& load, const std::string& what);

/// The product against the dense judge: every number of `evaluate` and, where no row is redundant, of the bare solve too (where
/// some are, its reactions are one choice of many; its accelerations must agree).
///
/// Bound: 1e-12, or 8 u cond(K) with loops and couplings where that is more. Both sides round their inputs in different places,
/// and two exact solutions of inputs that differ by a rounding u differ by u cond(K). The worst of some thousand random cases
/// were 1e-13 on trees and 6.4 u cond(K) with loops.
void expect_agreement(const ModelSpec& spec, const Model& model, const Bodies& bodies, const Load& load, const std::string& what);

}  // namespace invar::testing
