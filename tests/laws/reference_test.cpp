// SPDX-License-Identifier: Apache-2.0
// Do references move as they say, and are they where they were told to be?
#include "invar/control/reference.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>

#include "invar/control/pose_reference.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

std::vector<double> drawn_times(Random& random, int count) {
  std::vector<double> times = {random.uniform(-1, 0)};
  while (static_cast<int>(times.size()) < count) times.push_back(times.back() + random.uniform(0.3, 1));
  return times;
}

std::vector<double> drawn_values(Random& random, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(random.uniform(-1, 1));
  return values;
}

constexpr int kReferences = 7;

// Values of order one, rates of some 3/s.
Reference drawn_reference(Random& random, int kind) {
  const std::vector<double> times = drawn_times(random, 5), values = drawn_values(random, 5);
  std::vector<Jet> jets;
  for (const double q : values) jets.push_back({q, random.uniform(-2, 2), random.uniform(-3, 3)});
  switch (kind) {
    case 0: return Constant{random.uniform(-1, 1)};
    case 1: return Sinusoid{random.uniform(-1, 1), random.uniform(0.1, 0.5), random.uniform(-3, 3), random.uniform(-1, 1)};
    case 2: return Polynomial{drawn_values(random, 5), random.uniform(-1, 1)};
    case 3: return MinimumJerk{times, values};
    case 4: return Spline(times, values, Spline::Ends::Rest);
    case 5: return Spline(times, values, Spline::Ends::Natural);
    default: return Quintic(times, jets);
  }
}

// An instant with no event within twice the increment.
template <class R>
double drawn_instant(Random& random, const R& reference, double e) {
  for (;;)
    if (const double t = random.uniform(-1.5, 4); next_event(reference, t - 2 * e) > t + 2 * e) return t;
}

// Two central differences leave e⁴ f⁽⁵⁾/480 and 3 u |f|/e. With e = 1e-3, fifth and sixth derivatives of at most 1e6 (quintics
// over 0.3 s: 720 · 5/0.3⁵; products of three turns at 3 rad/s: 10⁶) and numbers of order ten: 2e-9 and 1e-11.
constexpr double kIncrement = 1e-3, kDifferences = 2e-8;
template <class F>
auto slope(F&& f, double t) {
  constexpr double e = kIncrement;
  return ((8 * (f(t + 0.5 * e) - f(t - 0.5 * e)) - (f(t + e) - f(t - e))) / (6 * e)).eval();
}
double slope_of(const Reference& r, double t, double Jet::* what) {
  return slope([&](double s) { return Vec3(Vec3::Constant(jet(r, s).*what)); }, t)[0];
}

TEST(References, HaveTheDerivativesOfTheirValues) {
  for (int k = 0; k < kReferences * cases(40); ++k) {
    Random random(seed(11000) + static_cast<std::uint64_t>(k));
    const Reference r = drawn_reference(random, k % kReferences);
    ASSERT_EQ(flaw(r), "");
    const double t = drawn_instant(random, r, kIncrement);
    const Jet is = jet(r, t);
    EXPECT_NEAR(is.v, slope_of(r, t, &Jet::q), kDifferences * (1 + std::abs(is.v))) << k << " at " << t;
    EXPECT_NEAR(is.a, slope_of(r, t, &Jet::v), kDifferences * (1 + std::abs(is.a))) << k << " at " << t;
  }
}

// The two sides of a time.
Jet before(const Reference& r, double t) { return jet(r, Instant(t, t - 1e-3)); }
Jet after(const Reference& r, double t) { return jet(r, Instant(t, t + 1e-3)); }

TEST(References, OfLeastJerkRestInTheirWaypoints) {
  Random random(seed(11100));
  const MinimumJerk m{drawn_times(random, 6), drawn_values(random, 6)};
  for (std::size_t i = 0; i < m.times.size(); ++i)
    for (const Jet& is : {before(m, m.times[i]), after(m, m.times[i])}) {
      // Rounding of s = 1: polynomials with coefficients up to 60 over pieces of 0.3 s and more.
      EXPECT_NEAR(is.q, m.values[i], 1e-15);
      EXPECT_NEAR(is.v, 0, 1e-12);
      EXPECT_NEAR(is.a, 0, 1e-11);
    }
  // Halfway in time is halfway in space, at 15/8 of the mean rate.
  const double h = m.times[1] - m.times[0], way = m.values[1] - m.values[0];
  const Jet middle = jet(m, m.times[0] + 0.5 * h);
  EXPECT_NEAR(middle.q, m.values[0] + 0.5 * way, 1e-14);
  EXPECT_NEAR(middle.v, 1.875 * way / h, 1e-13);
}

TEST(References, ThroughSamplesHaveContinuousSecondRates) {
  for (const auto ends : {Spline::Ends::Rest, Spline::Ends::Natural}) {
    Random random(seed(11200));
    const Spline f(drawn_times(random, 9), drawn_values(random, 9), ends);
    const Reference r = f;
    const std::vector<double>& t = f.times();
    for (std::size_t i = 0; i < t.size(); ++i) {
      const Jet left = before(r, t[i]), right = after(r, t[i]);
      EXPECT_NEAR(left.q, f.values()[i], 1e-15);
      EXPECT_NEAR(right.q, f.values()[i], 1e-15);
      if (i == 0 || i + 1 == t.size()) continue;
      // Second rates of some 1e2 and slopes of some ten, to rounding.
      EXPECT_NEAR(left.v, right.v, 1e-12);
      EXPECT_NEAR(left.a, right.a, 1e-11);
    }
    for (const Jet& end : {after(r, t.front()), before(r, t.back())}) {
      EXPECT_NEAR(ends == Spline::Ends::Rest ? end.v : end.a, 0, 1e-12);
      EXPECT_GT(std::abs(ends == Spline::Ends::Rest ? end.a : end.v), 1e-3) << "drawn so that the ends differ";
    }
  }
}

// What lies in the space of a kind is given back by it: cubics at rest at both ends by splines, quintics by quintics.
TEST(References, GiveBackThePolynomialsThatTheyAreMadeOf) {
  Random random(seed(11300));
  const std::vector<double> times = drawn_times(random, 6);
  const double a = times.front(), h = times.back() - a;
  const auto cubic = [&](double t) { return (t - a) / h * ((t - a) / h) * (3 - 2 * (t - a) / h); };
  std::vector<double> values;
  for (const double t : times) values.push_back(cubic(t));
  const Reference spline = Spline(times, values), line = Spline(times, times, Spline::Ends::Natural);
  const Signal quintic = Polynomial{drawn_values(random, 6), 0.2};
  std::vector<Jet> jets;
  for (const double t : times) jets.push_back({value(quintic, t), rate(quintic, t), second_rate(quintic, t)});
  const Reference pieces = Quintic(times, jets);
  for (double t = a; t < a + h; t += 0.07) {
    EXPECT_NEAR(jet(spline, t).q, cubic(t), 1e-14);
    EXPECT_NEAR(jet(line, t).q, t, 1e-14);
    EXPECT_NEAR(jet(line, t).v, 1, 1e-13);
    // Values up to 1e3 at |t| = 4; second derivatives of pieces of 0.3 s magnify rounding by 60/0.3².
    EXPECT_NEAR(jet(pieces, t).q, value(quintic, t), 1e-12);
    EXPECT_NEAR(jet(pieces, t).a, second_rate(quintic, t), 1e-9);
  }
}

TEST(References, HoldTheirEndsOutsideAndNameTheirEvents) {
  Random random(seed(11400));
  for (int kind = 3; kind < kReferences; ++kind) {
    const Reference r = drawn_reference(random, kind);
    std::vector<double> events;
    for (double t = next_event(r, -100); t < 100; t = next_event(r, t)) events.push_back(t);
    ASSERT_EQ(events.size(), 5u);
    for (const double end : {events.front(), events.back()}) {
      const bool first = end == events.front();
      const Jet out = jet(r, first ? end - 10 : end + 10), in = first ? after(r, end) : before(r, end);
      EXPECT_NEAR(out.q, in.q, 1e-13);
      EXPECT_EQ(out.v, 0);
      EXPECT_EQ(out.a, 0);
    }
  }
  EXPECT_EQ(next_event(Reference(Sinusoid{}), 0), std::numeric_limits<double>::infinity());
}

TEST(References, ThatNothingCanFollowHaveAFlaw) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<Reference, const char*> bad[] = {
      {Jump{}, "follow"},
      {Ramp{}, "follow"},
      {Table{{0, 1}, {0, 1}}, "follow"},
      {Sinusoid{1, nan, 0, 0}, "finite"},
      {MinimumJerk{}, "at least 1"},
      {MinimumJerk{{0, 1}, {0}}, "one value per time"},
      {MinimumJerk{{1, 0}, {0, 1}}, "increase"},
      {Spline({0}, {1}), "at least 2"},
      {Spline({0, 1, 1}, {1, 2, 3}), "increase"},
      {Spline({0, 1, nan}, {1, 2, 3}), "finite"},
      {Spline({0, 1e-300, 2}, {0, 1, 0}), "finite"},
      {Quintic({0, 0}, {Jet{}, Jet{}}), "increase"},
      {Quintic({0, 1}, {Jet{}, Jet{nan, 0, 0}}), "finite"},
      {Quintic({0}, {Jet{}}), "at least 2"},
  };
  for (const auto& [reference, word] : bad) EXPECT_NE(flaw(reference).find(word), std::string::npos) << flaw(reference);
  EXPECT_EQ(flaw(Reference(MinimumJerk{{0}, {1}})), "");
}

}  // namespace
}  // namespace invar::testing
