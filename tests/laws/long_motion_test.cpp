// SPDX-License-Identifier: Apache-2.0
//
// What steppers keep over many steps: `./dev test` takes a fiftieth of the steps that `./dev campaign` takes, 1e5 in space and a
// million in the plane with 2000 cases.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "invar/base/largest.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/natural.hpp"
#include "invar/mech/planar_chain.hpp"
#include "invar/run/observers.hpp"
#include "support/campaign.hpp"
#include "support/march.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/newton_euler.hpp"

namespace invar::testing {
namespace {

constexpr double kStep = 0.01;  // s

/// A method of scenario files; "paper" is the scheme of paper C with the discrete gradient.
std::unique_ptr<Integrator> method(const std::string& name) {
  IntegratorOptions options;
  if (name != "paper") return std::move(*make_integrator(name));
  options.stepper.gradient = Gradient::Discrete;
  return std::move(*make_integrator("petrov_galerkin", options));
}

using Look = std::function<void(const Natural& natural, const State& x, const Integrator& integrator, double t)>;

/// `steps` steps; looks at the start and after every `every`-th.
void move(const Moving& m, const std::string& name_of_method, long steps, long every, const Look& look) {
  Natural natural(m.model);
  System system(natural);
  State x;
  natural.set(m.start, x);
  const auto integrator = method(name_of_method);
  look(natural, x, *integrator, 0);
  long k = 0;
  const March ended =
      march(m.spec, system, *integrator, 0, kStep * static_cast<double>(steps), kStep, x, [&](double t, double done) {
        if (++k % every == 0) look(natural, x, *integrator, t + done);
      });
  ASSERT_TRUE(ended.verdict.ok()) << m.name << " " << name_of_method << " " << name(ended.verdict.status) << " at " << ended.t;
}

/// The largest changes since the start, relative to the largest size: of the energy that the method keeps, of momenta, angular
/// about the common centre of mass (about the origin the way of 300 m that a free chain goes in 1000 s would multiply rounding).
struct Drift {
  double hamiltonian = 0, physical = 0, linear = 0, angular = 0, vertical = 0;
};

Drift drift(const Moving& m, const std::string& name_of_method, long steps) {
  Observer observer(m.model);
  Observation first, now;
  Drift out;
  double kinetic = 0, linear = 0, angular = 0, about_centre = 0;
  bool started = false;
  move(m, name_of_method, steps, 10, [&](const Natural& natural, const State& x, const Integrator& integrator, double t) {
    observer.observe(t, natural, x, now, integrator.report());
    if (!std::exchange(started, true)) first = now;
    keep_largest(kinetic, now.energy.kinetic);
    keep_largest(linear, now.momentum.linear.norm());
    keep_largest(angular, now.momentum.angular.norm());
    keep_largest(about_centre, now.angular_com.norm());
    keep_largest(out.hamiltonian, std::abs(now.hamiltonian_balance));
    keep_largest(out.physical, std::abs(now.physical_balance));
    keep_largest(out.linear, (now.momentum.linear - first.momentum.linear).norm());
    keep_largest(out.angular, (now.angular_com - first.angular_com).norm());
    keep_largest(out.vertical, std::abs(now.momentum.angular.z() - first.momentum.angular.z()));
  });
  return {out.hamiltonian / kinetic, out.physical / kinetic, out.linear / linear, out.angular / about_centre,
          out.vertical / angular};
}

long steps_in_space() { return 50l * cases(40); }
long steps_in_plane() { return 500l * cases(40); }

// The bound: 1e5 steps, each of which rounds a dozen sums of the size of the energy, 1e-15 of it, at random make 1e-12; a tenfold
// allowance for what does not cancel.
constexpr double kKept = 1e-11;

class SteppersInSpace : public ::testing::TestWithParam<const char*> {};

TEST_P(SteppersInSpace, KeepTheEnergyOfAChainWithSprings) {
  EXPECT_LE(drift(spring_chain(), GetParam(), steps_in_space()).hamiltonian, kKept);
}

TEST_P(SteppersInSpace, KeepEnergyAndVerticalSpinOfTheHeavyTop) {
  const Drift d = drift(heavy_top(), GetParam(), steps_in_space());
  EXPECT_LE(d.hamiltonian, kKept);
  EXPECT_LE(d.vertical, kKept);
}

TEST_P(SteppersInSpace, KeepEnergyAndMomentaOfAFreeChain) {
  const Drift d = drift(free_chain(), GetParam(), steps_in_space());
  EXPECT_LE(d.hamiltonian, kKept);
  EXPECT_LE(d.linear, kKept);
  EXPECT_LE(d.angular, kKept);
}

INSTANTIATE_TEST_SUITE_P(Of, SteppersInSpace, ::testing::Values("conserving", "discrete_gradient", "paper"),
                         [](const auto& each) { return std::string(each.param); });

/// A line through samples (t, y): its value at the end, and the spread of the samples about it.
struct Fit {
  double end = 0, spread = 0;
};

Fit fit(const std::vector<double>& t, const std::vector<double>& y) {
  const double n = static_cast<double>(t.size());
  double mt = 0, my = 0, tt = 0, ty = 0, rest = 0;
  for (std::size_t k = 0; k < t.size(); ++k) mt += t[k] / n, my += y[k] / n;
  for (std::size_t k = 0; k < t.size(); ++k) tt += (t[k] - mt) * (t[k] - mt), ty += (t[k] - mt) * (y[k] - my);
  const double slope = ty / tt;
  for (std::size_t k = 0; k < t.size(); ++k) rest += std::pow(y[k] - my - slope * (t[k] - mt), 2) / n;
  return {slope * (t.back() - t.front()), std::sqrt(rest)};
}

struct Chain {
  const char *model, *method;
  friend void PrintTo(const Chain& c, std::ostream* out) { *out << c.model << " " << c.method; }
};

class PaperCForever : public ::testing::TestWithParam<Chain> {};

// Energies are some joules, 1e-15 J is their last place: sums that are compensated stay within a hundred of it. |g| is half the
// squared length of a link's vector minus one, C (41).
TEST_P(PaperCForever, KeepsEnergyAndConstraintsWithoutTrend) {
  const Moving m = shipped(std::string("paper_c_") + GetParam().model);
  const PlanarChain chain = *PlanarChain::of(m.model);
  std::vector<double> times, errors;
  double largest = 0, constraints = 0, before = 0;
  Bodies bodies;
  move(m, GetParam().method, steps_in_plane(), 10, [&](const Natural& natural, const State& x, const Integrator&, double t) {
    const double H = natural.hamiltonian(x);
    if (times.empty()) before = H;
    times.push_back(t), errors.push_back(H - before);
    keep_largest(largest, std::abs(H - before));
    natural.bodies(x, bodies);
    keep_largest(constraints, chain.g(chain.xi_from_x(chain.x_of(bodies))).cwiseAbs().maxCoeff());
  });
  const Fit line = fit(times, errors);
  EXPECT_LE(largest, 1e-13);
  EXPECT_LE(constraints, 1e-15);
  // No trend: less than the spread about the line, or than what rounding leaves: of the sum of nine energies of up to 4 J, and of
  // a dozen increments of up to 0.02 J in each step, at random.
  const double rounding = 2e-15 + 2e-18 * std::sqrt(12.0 * static_cast<double>(steps_in_plane()));
  EXPECT_LE(std::abs(line.end), std::max(line.spread, rounding)) << "spread " << line.spread;
}

/// The part of a series that changes its sign from sample to sample: differences of order n over 2^n. They leave a smooth part of
/// frequency w as (w h/2)^n.
class Alternating {
 public:
  void add(const VecX& sample) {
    last_.push_back(sample);
    keep_largest(size_, sample.cwiseAbs().maxCoeff());
    if (last_.size() <= kOrder) return;
    if (last_.size() > kOrder + 1) last_.erase(last_.begin());
    VecX sum = VecX::Zero(sample.size());
    double weight = std::pow(0.5, kOrder);
    for (int j = 0; j <= kOrder; ++j) {
      sum += weight * last_[static_cast<std::size_t>(j)];
      weight *= -static_cast<double>(kOrder - j) / (j + 1);
    }
    keep_largest(largest_, sum.cwiseAbs().maxCoeff());
  }
  double share() const { return largest_ / size_; }

 private:
  static constexpr int kOrder = 16;
  std::vector<VecX> last_;
  double size_ = 0, largest_ = 0;
};

struct Teeth {
  double early = 0, late = 0;  // alternating share of reactions in the first and in the last 500 steps
  double physical = 0;         // J; largest change of the energy with velocities on the constraints
};

Teeth teeth(const std::string& model, const std::string& name_of_method, long steps) {
  const Moving m = shipped(model, {0.7, -1.2, 0.4});
  Augmented unreduced(m.model);
  Observer observer(m.model);
  Observation now;
  Evaluation e;
  State y;
  Alternating early, late;
  Teeth out;
  long k = 0;
  move(m, name_of_method, steps, 1, [&](const Natural& natural, const State& x, const Integrator& integrator, double t) {
    ++k;
    if (k > 500 && k <= steps - 500 && k % 100 != 0) return;
    observer.observe(t, natural, x, now, integrator.report());
    keep_largest(out.physical, std::abs(now.physical_balance));
    if (k > 500 && k <= steps - 500) return;
    unreduced.set(observer.bodies(), y);
    ASSERT_TRUE(unreduced.evaluate(y, Load(m.model), e).ok());
    expect_newton_euler(m.spec, e, Load(m.model));
    VecX reactions(static_cast<Eigen::Index>(6 * e.reactions.size()));
    for (std::size_t j = 0; j < e.reactions.size(); ++j)
      reactions.segment<6>(static_cast<Eigen::Index>(6 * j)) << e.reactions[j].force, e.reactions[j].moment;
    (k <= 500 ? early : late).add(reactions);
  });
  out.early = early.share(), out.late = late.share();
  return out;
}

// Motion below 20 rad/s: at 10 ms differences of order 16 leave 1e-16 of it. Reactions are solved to some 1e-14 of their size.
TEST(Conserving, HasNoSawToothInReactionsOrEnergyAfterAMovingStart) {
  for (const char* model : {"paper_c_pendulum", "paper_c_springs"}) {
    const Teeth t = teeth(model, "conserving", steps_in_plane());
    EXPECT_LE(t.early, 1e-13) << model;
    EXPECT_LE(t.late, 1e-13) << model;
    EXPECT_LE(t.physical, 1e-13) << model;
  }
}

// What the test above would see: the velocities of the bare scheme leave the constraints, to the other side in every step.
TEST(DiscreteGradient, HasSawTeethThatDifferencesSee) {
  const Teeth t = teeth("paper_c_springs", "discrete_gradient", 2000);
  EXPECT_GE(t.early, 1e-8);
  EXPECT_GE(t.physical, 1e-11);
}

INSTANTIATE_TEST_SUITE_P(With, PaperCForever,
                         ::testing::Values(Chain{"pendulum", "paper"}, Chain{"pendulum", "discrete_gradient"},
                                           Chain{"pendulum", "conserving"}, Chain{"springs", "paper"},
                                           Chain{"springs", "discrete_gradient"}, Chain{"springs", "conserving"}),
                         [](const auto& each) { return std::string(each.param.model) + "_" + each.param.method; });

}  // namespace
}  // namespace invar::testing
