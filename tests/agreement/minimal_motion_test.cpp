// SPDX-License-Identifier: Apache-2.0
//
// The same motions in minimal coordinates and in the unreduced ones, and whichever freedoms are called independent.
//
// Two ways to compute a motion with the same method of order 4 have errors c h⁴ and c' h⁴. The step is halved until both show
// their order: differences of ends at h, h/2 and h/4 fall by 2⁴ within 2^0.5, those of energies, whose leading term may
// vanish, by 2^3.5 to 2^5.5. Then the error that is left is 1/15 of the last difference (of energies at most 1/10), and two ways
// to the same motion differ by at most the sum of their errors; twice that is allowed, with 1e-10 for rounding (1e-16 times some
// thousand steps times the condition of loops). Ways to different motions would differ by the same amount at every step.
// Only what is smooth has an order: no stops, no friction, no tendons that go slack.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/base/largest.hpp"
#include "invar/geom/rotation.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/minimal/partition.hpp"
#include "invar/mech/natural.hpp"
#include "invar/run/observers.hpp"
#include "support/agreement.hpp"
#include "support/campaign.hpp"
#include "support/march.hpp"
#include "support/natural_samples.hpp"
#include "support/newton_euler.hpp"

namespace invar::testing {
namespace {

constexpr double kTime = 0.25;  // s
constexpr int kMostSteps = 2048;
constexpr double kRounding = 1e-10;

struct Drawn {
  ModelSpec spec;
  Bodies start;
  std::string name;
};

Drawn draw(std::uint64_t at, const MechanismOptions& options, int tendons) {
  Random random(at);
  Mechanism mechanism = random_mechanism(random, options);
  add_tendons(random, mechanism.spec, tendons, 20);
  for (TendonSpec& tendon : mechanism.spec.tendons) tendon.tension_only = false;
  for (JointSpec& joint : mechanism.spec.joints) joint.limits = {}, joint.friction.clear();
  // Heavier than drawn: springs and tendons are slow, and most draws want no shorter steps than 0.5 ms.
  for (BodySpec& body : mechanism.spec.bodies) body.inertia.mass *= 5, body.inertia.I_C *= 5;
  const Model model = build(mechanism.spec);
  Bodies bodies = at_rest(model, mechanism.X_WB);
  draw_velocities(random, model, bodies);
  return {mechanism.spec, bodies, "seed " + std::to_string(at) + ": " + describe(mechanism.spec)};
}

/// An end of a motion; not fine where it did not come to it.
struct Ended {
  bool fine = false;
  Bodies bodies;
  double energy = 0;  ///< J; of bodies, rotors, springs and tendons
  double lost = 0;    ///< J; to dampers
};

Ended ended(const ModelSpec& spec, Formulation& formulation, const Bodies& start, int steps) {
  const auto rk4 = std::move(*make_integrator("rk4"));
  System system(formulation);
  State x;
  formulation.set(start, x);
  Ended out;
  out.fine = march(spec, system, *rk4, 0, kTime, kTime / steps, x).verdict.ok();
  Observer observer(formulation.model());
  Observation now;
  observer.observe(kTime, formulation, x, now);
  formulation.bodies(x, out.bodies);
  out.energy = now.energy.total(), out.lost = now.dissipated;
  return out;
}

/// Metres and radians, their rates, and energies over their size.
struct Gap {
  double place = 0, rate = 0, energy = 0;
};
Gap gap(const Ended& a, const Ended& b) {
  Gap out;
  for (std::size_t k = 0; k < a.bodies.size(); ++k) {
    const BodyState &x = a.bodies[k], &y = b.bodies[k];
    keep_largest(out.place, (x.p_WC - y.p_WC).norm() + log_so3(x.q_WB * y.q_WB.conjugate()).norm());
    keep_largest(out.rate, (x.v_WC - y.v_WC).norm() + (x.w_WB - y.w_WB).norm());
  }
  out.energy = (std::abs(a.energy - b.energy) + std::abs(a.lost - b.lost)) / (1 + std::abs(b.energy) + std::abs(b.lost));
  return out;
}

enum class Same { Yes, No, LeftOut };

/// Halves the step until both ways show order 4, then compares them.
Same same_motion(const ModelSpec& spec, Formulation& a, Formulation& b, const Bodies& start, std::string& words) {
  Ended at[2][3];
  Gap before[2], now[2];
  for (int n = 8; n <= kMostSteps; n *= 2) {
    bool shown = true;
    for (int way = 0; way < 2; ++way) {
      Ended(&e)[3] = at[way];
      e[0] = std::move(e[1]), e[1] = std::move(e[2]), e[2] = ended(spec, way == 0 ? a : b, start, n);
      if (!e[0].fine || !e[1].fine || !e[2].fine) {
        shown = false;
        continue;
      }
      before[way] = gap(e[0], e[1]), now[way] = gap(e[1], e[2]);
      const auto falls = [](double was, double is) { return is < kRounding ? 4 : std::log2(was / is); };
      shown = shown && std::abs(falls(before[way].place, now[way].place) - 4) < 0.5 &&
              std::abs(falls(before[way].rate, now[way].rate) - 4) < 0.5 &&
              std::abs(falls(before[way].energy, now[way].energy) - 4.5) < 1 && now[way].place < 1e-4 && now[way].rate < 1e-3;
    }
    if (!shown) continue;
    const Gap found = gap(at[0][2], at[1][2]);
    const auto within = [&](double Gap::* part, double share) {
      return found.*part <= 2 * share * (now[0].*part + now[1].*part) + kRounding;
    };
    words = "differ by " + std::to_string(found.place * 1e9) + "e-9, " + std::to_string(found.rate * 1e9) + "e-9, energies by " +
            std::to_string(found.energy * 1e9) + "e-9 after " + std::to_string(n) + " steps, errors " +
            std::to_string((now[0].place + now[1].place) / 15 * 1e9) + "e-9, " +
            std::to_string((now[0].rate + now[1].rate) / 15 * 1e9) + "e-9";
    return within(&Gap::place, 1.0 / 15) && within(&Gap::rate, 1.0 / 15) && within(&Gap::energy, 1.0 / 10) ? Same::Yes : Same::No;
  }
  return Same::LeftOut;
}

template <class Make>
void expect_same_motions(int usual, Make&& make) {
  int taken = 0, left_out = 0;
  for (int k = 0; k < cases(usual); ++k) {
    std::string words, name;
    const Same same = make(k, name, words);
    ++(same == Same::LeftOut ? left_out : taken);
    EXPECT_NE(same, Same::No) << name << "\n  " << words;
  }
  // Left out: bodies that springs make too fast for 0.1 ms, loops at a dead point.
  EXPECT_LE(4 * left_out, taken) << left_out << " left out";
}

void expect_that_of_the_unreduced(int usual, std::uint64_t first, int tendons, const MechanismOptions& options) {
  expect_same_motions(usual, [&](int k, std::string& name, std::string& words) {
    MechanismOptions o = options;
    o.bodies += k % 4;
    const Drawn d = draw(seed(first) + static_cast<std::uint64_t>(k), o, tendons);
    name = d.name;
    const Model model = build(d.spec);
    Minimal minimal(model);
    Augmented augmented(model);
    return same_motion(d.spec, minimal, augmented, d.start, words);
  });
}

TEST(MinimalMotion, IsThatOfTheUnreducedEquationsOnTrees) {
  expect_that_of_the_unreduced(12, 8100, 1, {.bodies = 2, .mass_ratio = 10, .kinds = {}});
}

TEST(MinimalMotion, IsThatOfTheUnreducedEquationsOnFloatingTrees) {
  expect_that_of_the_unreduced(6, 8200, 1, {.bodies = 2, .floating = true, .mass_ratio = 10, .kinds = {}});
}

TEST(MinimalMotion, IsThatOfTheUnreducedEquationsWithCouplings) {
  expect_that_of_the_unreduced(8, 8300, 0, {.bodies = 3, .mass_ratio = 10, .couplings = 2, .kinds = {}});
}

TEST(MinimalMotion, IsThatOfTheUnreducedEquationsInLoops) {
  expect_that_of_the_unreduced(10, 8400, 1, {.bodies = 5, .loops = 1, .mass_ratio = 10, .locked = false, .kinds = {}});
}

TEST(MinimalMotion, IsThatOfTheUnreducedEquationsInPlanarLoops) {
  expect_that_of_the_unreduced(6, 8500, 1,
                               {.bodies = 4, .loops = 1, .mass_ratio = 10, .locked = false, .planar = true, .kinds = {}});
}

/// A loop, and the same with other joints asked for as independent ones: each that may be is with the chance of a half.
struct Renamed {
  Drawn drawn;
  ModelSpec other;
};
Renamed renamed(std::uint64_t at, int bodies) {
  Renamed out{draw(at, {.bodies = bodies, .loops = 1, .mass_ratio = 10, .couplings = 1, .locked = false, .kinds = {}}, 0), {}};
  out.other = out.drawn.spec;
  Random random(at, 77);
  for (JointSpec& joint : out.other.joints) joint.independent = random.chance(0.5);
  return out;
}

TEST(IndependentFreedoms, AskedForDifferentlyGiveTheSameMotion) {
  int others = 0;
  expect_same_motions(10, [&](int k, std::string& name, std::string& words) {
    const Renamed r = renamed(seed(8600) + static_cast<std::uint64_t>(k), 5 + k % 3);
    name = r.drawn.name;
    const Model one = build(r.drawn.spec), two = build(r.other);
    Minimal a(one), b(two);
    State x;
    a.set(r.drawn.start, x), b.set(r.drawn.start, x);
    others += a.chosen_coordinates() != b.chosen_coordinates();
    return same_motion(r.drawn.spec, a, b, r.drawn.start, words);
  });
  // Some three of ten draws on average; one of ten at least, so that something was compared.
  EXPECT_GE(10 * others, cases(10)) << "the same freedoms were chosen";
}

/// Accelerations of all bodies from the partition over some independent freedoms; the condition of what was solved for them.
double accelerations(JointTree& tree, const Sample& s, Answer& out) {
  VecX q, v;
  const VecX wound = VecX::Zero(s.model.nv());
  tree.measure(s.bodies, wound, q, v);
  if (!tree.choose(q).ok()) return 1e300;
  Partition p;
  if (!partition_at(tree, q, v, wound, s.load, p).ok()) return 1e300;
  VecX rates(static_cast<Eigen::Index>(tree.independent().size()));
  for (Eigen::Index i = 0; i < rates.size(); ++i) rates[i] = v[tree.independent()[static_cast<std::size_t>(i)]];
  out.accelerations.resize(s.bodies.size());
  for (std::size_t b = 0; b < s.bodies.size(); ++b) {
    const Vec6 A = p.J[b] * p.vdot + p.J_dot[b] * rates;
    const BodyState& body = s.bodies[b];
    out.accelerations[b].alpha_WB = body.q_WB * A.head<3>();
    out.accelerations[b].a_WC = body.q_WB * A.tail<3>() + body.w_WB.cross(body.v_WC);
  }
  if (rates.size() == 0) return 1 / tree.condition();
  const VecX d = p.Gamma.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::SelfAdjointEigenSolver<MatX> eigen(d.asDiagonal() * p.Gamma * d.asDiagonal());
  return eigen.eigenvalues().maxCoeff() / eigen.eigenvalues().minCoeff() / tree.condition();
}

// Bound as in minimal_test.cpp: 1e-10, or 64 u times the condition of Γ over that of Φ_d; worse ones than 1e6 are left out.
TEST(IndependentFreedoms, AskedForDifferentlyGiveTheSameAccelerations) {
  int seen = 0, left_out = 0, others = 0;
  for (int k = 0; k < cases(40); ++k) {
    const std::uint64_t at = seed(8700) + static_cast<std::uint64_t>(k);
    const Sample s =
        random_sample(at, {.bodies = 5 + k % 4, .loops = 1 + k % 2, .mass_ratio = 30, .couplings = k % 2, .kinds = {}});
    JointTree own(s.model);
    Answer mine = evaluated(s.mechanism.spec, s.model, s.bodies, s.load, "seed " + std::to_string(at)), theirs = mine;
    const double condition = accelerations(own, s, mine);
    Random random(at, 78);
    for (int draws = 0; draws < 3; ++draws) {
      std::vector<int> wanted;
      for (int f = 0; f < s.model.nv(); ++f)
        if (random.chance(0.5)) wanted.push_back(f);
      JointTree other(s.model, wanted);
      const double worse = std::max(condition, accelerations(other, s, theirs));
      if (!(worse < 1e6)) {
        ++left_out;
        continue;
      }
      ++seen, others += own.independent() != other.independent() || own.closures() != other.closures();
      EXPECT_LE(differences(s.model, s.load, theirs, mine).acceleration, std::max(1e-10, 64 * 1.1e-16 * worse))
          << "seed " << at << " " << describe(s.mechanism.spec);
    }
  }
  EXPECT_LE(left_out, seen) << left_out << " left out";
  EXPECT_GT(3 * others, seen) << "the same freedoms were chosen";
}

// What the motion determines of reactions is the same in every view: a component of which self-stress takes no share (1e-9).
// Bound 1e-9 of the largest reaction, or 64 u cond(K) where that is more.
TEST(DeterminedReactions, AreTheSameInAllFormulations) {
  int components = 0, indeterminate = 0;
  for (int k = 0; k < cases(40); ++k) {
    const std::uint64_t at = seed(8800) + static_cast<std::uint64_t>(k);
    MechanismOptions options{.bodies = 2 + k % 6, .loops = k % 3 == 1 ? 1 : 0, .redundant = k % 4 == 3 ? 1 : 0, .kinds = {}};
    options.mass_ratio = 30, options.planar = k % 8 == 5, options.loops = options.planar ? 1 : options.loops;
    if (options.loops > 0) options.bodies += 3;
    const Sample s = natural_sample(at, options, k % 3);
    const std::string what = "seed " + std::to_string(at) + ": " + describe(s.mechanism.spec);
    Augmented augmented(s.model);
    Natural natural(s.model);
    Minimal minimal(s.model);
    Formulation* views[3] = {&augmented, &natural, &minimal};
    Evaluation e[3];
    for (int i = 0; i < 3; ++i) {
      State x;
      views[i]->set(s.bodies, x);
      const Verdict verdict = views[i]->evaluate(x, s.load, e[i]);
      ASSERT_TRUE(verdict.ok()) << i << " " << name(verdict.status) << " " << what;
      expect_newton_euler(s.mechanism.spec, e[i], s.load, what);
    }
    const double l = s.model.length();
    double size = 0;
    for (const Wrench& w : e[0].reactions) keep_largest(size, w.force.norm() + w.moment.norm() / l);
    const double bound = size * std::max(1e-9, 64 * 1.1e-16 * judge(s.model, s.bodies, s.load).condition);
    for (std::size_t j = 0; j < s.model.joints().size(); ++j) {
      const Joint& joint = s.model.joints()[j];
      const Quat q_WF =
          (joint.parent == kWorld ? Quat::Identity() : s.bodies[static_cast<std::size_t>(joint.parent)].q_WB) * joint.X_PF.q;
      const JointVerdict& verdict = e[0].verdicts[j];
      const Mat3 T = joint.turn.toRotationMatrix();  // verdicts speak of F of the file
      const Vec3 forces = (T.transpose() * verdict.force * T).diagonal();
      const Vec3 moments = (T.transpose() * verdict.moment * T).diagonal();
      for (int i = 1; i < 3; ++i) {
        EXPECT_EQ(e[i].verdicts[j].determined, verdict.determined) << i << " joint " << joint.name << " " << what;
        const Vec3 force = q_WF.conjugate() * (e[i].reactions[j].force - e[0].reactions[j].force);
        const Vec3 moment = q_WF.conjugate() * (e[i].reactions[j].moment - e[0].reactions[j].moment) / l;
        for (int c = 0; c < 3; ++c) {
          const bool of_force = forces[c] < 1e-9, of_moment = moments[c] < 1e-9;
          EXPECT_LE(of_force ? std::abs(force[c]) : 0.0, bound) << i << " joint " << joint.name << " " << what;
          EXPECT_LE(of_moment ? std::abs(moment[c]) : 0.0, bound) << i << " joint " << joint.name << " " << what;
          components += of_force + of_moment;
        }
      }
      indeterminate += !verdict.determined;
    }
  }
  EXPECT_GT(components, 10 * cases(40));
  EXPECT_GT(indeterminate, cases(40) / 4) << "no draw asked for verdicts";
}

}  // namespace
}  // namespace invar::testing
