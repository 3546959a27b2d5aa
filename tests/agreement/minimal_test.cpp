// SPDX-License-Identifier: Apache-2.0
//
// Paper B's matrices, body by body, against the unreduced equations: assembled from Jacobians here, eliminated over the joint
// graph there. Bound 1e-10 of the largest acceleration, or 64 u times the condition of what is solved (Γ, Φ_d) where that is
// more; configurations in which no choice of freedoms has a condition better than 1e6 are left out, and counted.
#include "invar/mech/minimal/minimal.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>

#include "invar/mech/minimal/partition.hpp"
#include "support/agreement.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

struct At {
  Sample sample;
  Minimal minimal;
  State x;
  Partition p;
  VecX rates;  // independent
  double condition = 1;

  explicit At(Sample&& s) : sample(std::move(s)), minimal(sample.model) {
    minimal.set(sample.bodies, x);
    const Verdict verdict = partition_at(minimal.tree(), x.q, x.v, x.wound, sample.load, p);
    EXPECT_TRUE(verdict.ok()) << name(verdict.status) << " " << describe(sample.mechanism.spec);
    if (!verdict.ok()) return;
    rates.resize(static_cast<Eigen::Index>(minimal.tree().independent().size()));
    for (Eigen::Index i = 0; i < rates.size(); ++i) rates[i] = x.v[minimal.tree().independent()[static_cast<std::size_t>(i)]];
    if (rates.size() == 0) return;
    // Units out of it: condition of Γ with ones on its diagonal.
    const VecX d = p.Gamma.diagonal().cwiseSqrt().cwiseInverse();
    const Eigen::SelfAdjointEigenSolver<MatX> eigen(d.asDiagonal() * p.Gamma * d.asDiagonal());
    condition = eigen.eigenvalues().maxCoeff() / eigen.eigenvalues().minCoeff() / minimal.tree().condition();
  }
};

template <class F>
void for_mechanisms(int usual, std::uint64_t start, F&& f) {
  int seen = 0, left_out = 0;
  for (int k = 0; k < cases(usual); ++k) {
    MechanismOptions options{.bodies = 1 + k % 7, .kinds = {}};
    options.mass_ratio = 30;
    options.floating = k % 5 == 4;
    if (k % 3 == 1) options.bodies = 4 + k % 4, options.loops = 1 + k % 2;
    if (k % 3 == 2) options.couplings = 2;
    const std::uint64_t at = seed(start) + static_cast<std::uint64_t>(k);
    At sample(random_sample(at, options));
    if (!(sample.condition > 0 && sample.condition < 1e6)) {
      ++left_out;
      continue;
    }
    ++seen;
    f(sample, "seed " + std::to_string(at) + ": " + describe(sample.sample.mechanism.spec));
  }
  EXPECT_LE(4 * left_out, seen) << left_out << " left out";
}

double bound(const At& s) { return std::max(1e-10, 64 * 1.1e-16 * s.condition); }

TEST(Partition, GivesTheAccelerationsOfTheUnreducedEquations) {
  for_mechanisms(90, 5100, [](At& s, const std::string& what) {
    Answer mine = evaluated(s.sample.mechanism.spec, s.sample.model, s.sample.bodies, s.sample.load, what), judge = mine;
    for (std::size_t b = 0; b < s.sample.bodies.size(); ++b) {
      const Vec6 A = s.p.J[b] * s.p.vdot + s.p.J_dot[b] * s.rates;
      const BodyState& body = s.sample.bodies[b];
      // Body components of velocity change by w × v, too.
      mine.accelerations[b].alpha_WB = body.q_WB * A.head<3>();
      mine.accelerations[b].a_WC = body.q_WB * A.tail<3>() + body.w_WB.cross(body.v_WC);
    }
    EXPECT_LE(differences(s.sample.model, s.sample.load, mine, judge).acceleration, bound(s)) << what;
  });
}

TEST(Partition, IsPositiveAndPassive) {
  for_mechanisms(60, 5200, [](At& s, const std::string& what) {
    if (s.rates.size() == 0) return;
    const double size = s.p.Gamma.cwiseAbs().maxCoeff();
    for (const MatX& part : s.p.Gamma_parts) {
      const Eigen::SelfAdjointEigenSolver<MatX> eigen(part);
      EXPECT_GE(eigen.eigenvalues().minCoeff(), -1e-13 * size) << what;
    }
    EXPECT_GT(Eigen::SelfAdjointEigenSolver<MatX>(s.p.Gamma).eigenvalues().minCoeff(), 0) << what;
    const MatX skew = s.p.Gamma_dot - 2 * s.p.C;
    EXPECT_LE((skew + skew.transpose()).cwiseAbs().maxCoeff(), 1e-10 * (1 + s.p.C.cwiseAbs().maxCoeff())) << what;
    // The derivative along the motion is the sum of those along its freedoms.
    MatX sum = MatX::Zero(s.rates.size(), s.rates.size());
    for (Eigen::Index k = 0; k < s.rates.size(); ++k) sum += s.rates[k] * s.p.dGamma[static_cast<std::size_t>(k)];
    EXPECT_LE((sum - s.p.Gamma_dot).cwiseAbs().maxCoeff(), bound(s) * (1 + s.p.Gamma_dot.cwiseAbs().maxCoeff())) << what;
  });
}

TEST(Partition, DerivativesAreLimitsOfDifferences) {
  for_mechanisms(30, 5300, [](At& s, const std::string& what) {
    JointTree& tree = s.minimal.tree();
    for (std::size_t k = 0; k < s.p.dGamma.size(); ++k) {
      // Richardson's combination of central differences: the error is O(d⁴) of sixth derivatives, some (10/l)⁴ d⁴.
      const auto difference = [&](double d) {
        MatX out[2];
        for (int side = 0; side < 2; ++side) {
          VecX q, v = VecX::Zero(tree.nv());
          Bodies bodies;
          Partition p;
          tree.retract(s.x.q, (side == 0 ? d : -d) * s.p.E.col(static_cast<Eigen::Index>(k)), q);
          EXPECT_TRUE(partition_at(tree, q, v, s.x.wound, s.sample.load, p).ok());
          out[side] = p.Gamma;
        }
        return MatX((out[0] - out[1]) / (2 * d));
      };
      const MatX slope = (4 * difference(5e-4) - difference(1e-3)) / 3;
      EXPECT_LE((slope - s.p.dGamma[k]).cwiseAbs().maxCoeff(), 1e-6 * (1 + s.p.dGamma[k].cwiseAbs().maxCoeff()))
          << what << " " << k;
    }
  });
}

// Components of a ball's rate are no coordinates: where some of them depend and others do not, a correction by d along the former
// turns the latter by d².
bool splits_a_ball(const JointTree& tree) {
  for (const JointTree::Node& n : tree.nodes()) {
    if (n.facts->ball() < 0) continue;
    const auto depends = std::count_if(tree.dependent().begin(), tree.dependent().end(),
                                       [&](int d) { return d >= n.v0 + n.nv - 3 && d < n.v0 + n.nv; });
    if (depends > 0 && depends < 3) return true;
  }
  return false;
}

TEST(Minimal, FindsWhatDependsFromNearby) {
  for_mechanisms(60, 5400, [](At& s, const std::string& what) {
    const JointTree& tree = s.minimal.tree();
    VecX q, v = s.x.v, u = VecX::Zero(tree.nv());
    constexpr double away = 1e-3;
    for (const int d : tree.dependent()) u[d] = away, v[d] = 17;
    const double near = bound(s) + (splits_a_ball(tree) ? away * away : 0.0);
    tree.retract(s.x.q, u, q);
    Bodies bodies;
    ASSERT_TRUE(tree.complete(q, v, s.x.wound, bodies).ok()) << what;
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      const BodyState &is = bodies[b], &was = s.sample.bodies[b];
      const double reach = 1 + was.p_WC.norm(), fast = 1 + was.v_WC.norm() + was.w_WB.norm();
      EXPECT_LE((is.p_WC - was.p_WC).norm(), near * reach) << what;
      EXPECT_LE((is.v_WC - was.v_WC).norm(), near * reach * fast) << what;
      EXPECT_LE((is.w_WB - was.w_WB).norm(), near * reach * fast) << what;
    }
  });
}

}  // namespace
}  // namespace invar::testing
