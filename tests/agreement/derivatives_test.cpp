// SPDX-License-Identifier: Apache-2.0
//
// Derivatives of forward dynamics by dual numbers over an inverse recursion, against differences of the accelerations that
// Minimal finds by elimination over the joint graph: other equations, another solver, no derivative in common.
// A central difference D(e) is off by O(e²) and some u |a|/e; (4 D(e/2) - D(e))/3 by O(e⁴). Over a row of increments the two
// successive values that differ least tell how good the better one is: a tenth of that difference is typical, ten times it is
// the bound, and rounding of what is solved. Columns that no increment settles to 1e-5 of the largest entry (kinks nearby,
// friction of a steepness of 1e3) say nothing and are left out, and counted.
#include "invar/mech/minimal/derivatives.hpp"

#include <gtest/gtest.h>

#include "invar/mech/minimal/minimal.hpp"
#include "invar/model/joint/table.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Plant {
  Sample sample;
  Minimal minimal;
  State x;
  Derivatives d;
  explicit Plant(Sample&& s) : sample(std::move(s)), minimal(sample.model) { minimal.set(sample.bodies, x); }

  const JointTree& tree() const { return minimal.tree(); }
  // Rounding of what is solved: u over the conditions of Γ and Φ_d, with room for sums.
  double rounding() const { return 1e-14 / (d.balance.Gamma.ldlt().rcond() * tree().condition()); }
  Eigen::Index n() const { return static_cast<Eigen::Index>(tree().independent().size()); }

  // Accelerations of the independent freedoms at q moved by u, rates v.
  bool accelerations(const VecX& u, const VecX& v, const Load& load, VecX& out) {
    State y = x;
    tree().retract(x.q, u, y.q);
    y.v = v;
    Rate rate;
    if (!minimal.rate(y, load, rate).ok()) return false;
    out.resize(n());
    for (Eigen::Index i = 0; i < n(); ++i) out[i] = rate.a[tree().independent()[static_cast<std::size_t>(i)]];
    return true;
  }

  // The best difference quotient along (u, v), and how far it can be trusted; negative where something failed.
  double difference(const VecX& u, const VecX& v, VecX& best) {
    const auto central = [&](double e, VecX& out) {
      VecX up, down;
      if (!accelerations(e * u, x.v + e * v, sample.load, up) || !accelerations(-e * u, x.v - e * v, sample.load, down))
        return false;
      out = (up - down) / (2 * e);
      return true;
    };
    double trust = -1;
    VecX before, D, finer, a;
    if (!central(2e-2, D) || !accelerations(0 * u, x.v, sample.load, a)) return -1;
    for (double e = 1e-2; e > 1e-6; e *= 0.5) {
      if (!central(e, finer)) return -1;
      const VecX R = (4 * finer - D) / 3;
      if (before.size() > 0) {
        const double rounding_of_a = 1e-15 * a.lpNorm<Eigen::Infinity>() / e;
        const double change = std::max(rounding_of_a, (R - before).lpNorm<Eigen::Infinity>());
        if (trust < 0 || change < trust) trust = change, best = R;
      }
      before = R, D = finer;
    }
    return trust;
  }
};

template <class F>
void for_plants(int usual, std::uint64_t start, F&& f) {
  int seen = 0, left_out = 0;
  for (int k = 0; k < cases(usual); ++k) {
    MechanismOptions options{.bodies = 1 + k % 6, .kinds = {}};
    options.mass_ratio = 10;
    options.floating = k % 5 == 4;
    if (k % 3 == 1) options.bodies = 5 + k % 3, options.loops = 1 + k % 2;
    if (k % 3 == 2) options.couplings = 2;
    if (k % 4 == 3 && k % 3 == 1) options.redundant = 1;
    const std::uint64_t at = seed(start) + static_cast<std::uint64_t>(k);
    Plant plant(random_sample(at, options));
    const Verdict verdict = derivatives_at(plant.tree(), plant.x.q, plant.x.v, plant.x.wound, plant.sample.load, plant.d);
    ++(verdict.ok() ? seen : left_out);
    if (verdict.ok() && plant.n() > 0) f(plant, "seed " + std::to_string(at) + ": " + describe(plant.sample.mechanism.spec));
  }
  EXPECT_LE(10 * left_out, seen) << left_out << " left out";
}

TEST(Derivatives, BelongToTheAccelerationsOfTheUnreducedEquations) {
  for_plants(60, 6100, [](Plant& p, const std::string& what) {
    VecX a;
    ASSERT_TRUE(p.accelerations(VecX::Zero(p.tree().nv()), p.x.v, p.sample.load, a)) << what;
    EXPECT_LE((p.d.vdot - a).lpNorm<Eigen::Infinity>(), (1e-10 + p.rounding()) * a.lpNorm<Eigen::Infinity>()) << what;
    EXPECT_LE(p.d.balance.missing.lpNorm<Eigen::Infinity>(),
              1e-10 * (p.d.balance.Gamma.cwiseAbs() * a.cwiseAbs()).lpNorm<Eigen::Infinity>() + 1e-9)
        << what;
  });
}

void expect_columns(Plant& p, const std::string& what, int& seen, int& left_out) {
  const double size_q = p.d.by_q.cwiseAbs().maxCoeff(), size_v = p.d.by_v.cwiseAbs().maxCoeff();
  for (Eigen::Index i = 0; i < p.n(); ++i)
    for (const bool rate : {false, true}) {
      VecX u = VecX::Zero(p.tree().nv()), v = u, best;
      if (rate)
        v[p.tree().independent()[static_cast<std::size_t>(i)]] = 1;
      else
        u = p.d.balance.E.col(i);
      const VecX mine = (rate ? p.d.by_v : p.d.by_q).col(i);
      const double size = std::max({rate ? size_v : size_q, mine.lpNorm<Eigen::Infinity>(), 1e-6});
      const double trust = p.difference(u, v, best);
      if (!(trust >= 0 && trust < 1e-5 * size)) {
        ++left_out;
        continue;
      }
      ++seen;
      EXPECT_LE((mine - best).lpNorm<Eigen::Infinity>(), 10 * trust + (1e-9 + p.rounding()) * size)
          << what << (rate ? " rate " : " coordinate ") << p.d.coordinates[static_cast<std::size_t>(i)] << " mine "
          << mine.transpose() << " difference " << best.transpose();
    }
}

TEST(Derivatives, AreLimitsOfDifferences) {
  int seen = 0, left_out = 0;
  for_plants(60, 6200, [&](Plant& p, const std::string& what) { expect_columns(p, what, seen, left_out); });
  EXPECT_LE(5 * left_out, seen) << left_out << " left out of " << seen;
}

/// Springs of both conservative laws at balls, tendons with pull only, stops that are touched.
TEST(Derivatives, AreLimitsOfDifferencesWithEverySpring) {
  int seen = 0, left_out = 0;
  for (int k = 0; k < cases(24); ++k) {
    MechanismOptions options{.bodies = 3 + k % 3, .mass_ratio = 5, .passive = false, .locked = false, .kinds = {}};
    options.kinds = {JointKind::Spherical, JointKind::Universal, JointKind::Cylindrical, JointKind::Free, JointKind::Screw};
    Random random(seed(6300) + static_cast<std::uint64_t>(k));
    Mechanism m = random_mechanism(random, options);
    for (JointSpec& joint : m.spec.joints) {
      const int nv = freedoms(joint.kind);
      joint.spring.law = k % 3 == 0 ? SpringLaw::Euler : k % 3 == 1 ? SpringLaw::RotationVector : SpringLaw::EulerPrinted;
      joint.spring.stiffness.assign(static_cast<std::size_t>(nv), 3 + k);
      for (int i = 0; i < nv; ++i) joint.spring.rest.push_back(0.1 * i - 0.2);
      if (nv > 3 && k % 3 != 1) joint.spring.rest.assign(static_cast<std::size_t>(nv), 0.1);
      if (joint.kind == JointKind::Cylindrical) joint.limits = {{0.2, 0.1}, {0.3, 0.2}, 200, 0.5};
    }
    for (int i = 0; i < 3; ++i) {
      TendonSpec tendon;
      tendon.name = "t" + std::to_string(i);
      for (int q = 0; q < 2 + i; ++q) {
        PointSpec point;
        point.body = q == 0 ? "world" : m.spec.bodies[static_cast<std::size_t>(q - 1) % m.spec.bodies.size()].name;
        point.p = random_vector(random, 0.3);
        tendon.points.push_back(point);
      }
      tendon.stiffness = 40, tendon.damping = 2, tendon.length = 0.05, tendon.tension_only = i == 1;
      m.spec.tendons.push_back(tendon);
    }
    Sample s{m, build(m.spec), at_rest(build(m.spec), m.X_WB), Load(build(m.spec))};
    draw_velocities(random, s.model, s.bodies);
    Plant p(std::move(s));
    ASSERT_TRUE(derivatives_at(p.tree(), p.x.q, p.x.v, p.x.wound, p.sample.load, p.d).ok());
    expect_columns(p, "case " + std::to_string(k) + " " + describe(m.spec), seen, left_out);
  }
  EXPECT_LE(10 * left_out, seen) << left_out << " left out of " << seen;
}

// v̇ is linear in what acts: a difference is a derivative, to rounding of accelerations near 1e2 and of Γ⁻¹.
TEST(Derivatives, ByEffortsAreDifferencesAndSymmetric) {
  for_plants(40, 6400, [](Plant& p, const std::string& what) {
    const MatX& inverse = p.d.by_force;
    EXPECT_LE((inverse - inverse.transpose()).cwiseAbs().maxCoeff(), 1e-10 * inverse.cwiseAbs().maxCoeff()) << what;
    const VecX none = VecX::Zero(p.tree().nv());
    VecX a;
    ASSERT_TRUE(p.accelerations(none, p.x.v, p.sample.load, a));
    for (int k = 0; k < p.sample.model.nv(); ++k) {
      Load more = p.sample.load;
      more.efforts[k] += 1;
      VecX b;
      ASSERT_TRUE(p.accelerations(none, p.x.v, more, b));
      const double size = a.lpNorm<Eigen::Infinity>() + b.lpNorm<Eigen::Infinity>() + p.d.by_effort.col(k).cwiseAbs().maxCoeff();
      EXPECT_LE((b - a - p.d.by_effort.col(k)).lpNorm<Eigen::Infinity>(), (1e-10 + p.rounding()) * size) << what;
    }
    // Forces on the independent freedoms and efforts on joints that are themselves independent are the same thing.
    for (Eigen::Index i = 0; i < p.n(); ++i) {
      const int of_model = p.tree().freedom_of_model(p.tree().independent()[static_cast<std::size_t>(i)]);
      if (of_model >= 0) {
        EXPECT_LE((p.d.by_effort.col(of_model) - inverse.col(i)).lpNorm<Eigen::Infinity>(), 1e-9 * inverse.cwiseAbs().maxCoeff())
            << what;
      }
    }
  });
}

}  // namespace
}  // namespace invar::testing
