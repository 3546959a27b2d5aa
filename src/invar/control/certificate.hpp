// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace invar {

/// Round-off of a number that is computed from terms whose sizes sum up to `terms`. Each term is known to 2⁻⁵³ of itself, and
/// passes some hundreds of operations on its way over a mechanism; drawn mechanisms leave less than a tenth of this
/// (tests/laws/certificate_test.cpp).
inline constexpr double kRoundOff = 4096 * std::numeric_limits<double>::epsilon();
inline double round_off(double terms) { return kRoundOff * terms; }

/// One thing that a guarantee rests on, or promises: a number that must not exceed what is allowed, but for round-off of the
/// terms that it compares. The name says what is good: "V_falls".
struct Clause {
  std::string name;     ///< "reference_is_allowed"
  std::string meaning;  ///< one clause with the formula
  std::string unit;     ///< "W"; "1" for pure numbers
  double allowed = 0;
  std::vector<std::string> subjects;  ///< joints, bodies, freedoms that may be to blame; may be empty

  long looks = 0;
  double worst = -std::numeric_limits<double>::infinity();     ///< the largest number seen
  double worst_at = std::numeric_limits<double>::quiet_NaN();  ///< s
  double worst_round_off = 0;                                  ///< what round-off was allowed beyond `allowed` then
  double first = std::numeric_limits<double>::quiet_NaN();     ///< s; when it was exceeded first
  double first_value = 0, first_round_off = 0;
  int worst_subject = -1, first_subject = -1;

  /// Looked at, and never exceeded.
  bool held() const { return looks > 0 && std::isnan(first); }
  /// "held: at most 3e-13 m/s (allowed 0, round-off 1e-12)" or "violated first at 10.02 s by 'theta': 113 N m (allowed 50); worst
  /// 256 at …".
  std::string text() const;
};

/// A number that the guarantee gives or needs, with how it was obtained.
struct Finding {
  std::string name;
  double value = 0;
  std::string unit;
  std::string how;
};

/// What a law guarantees, under which assumptions, and what became of them in a run. Looks make no heap call.
class Certificate {
 public:
  int add(Clause clause) {
    clauses_.push_back(std::move(clause));
    return static_cast<int>(clauses_.size()) - 1;
  }
  /// A look at a clause; NaN counts as exceeded. `round_off` is what the number may be off by at this look.
  void look(int clause, double t, double value, int subject = -1, double round_off = 0);

  bool held() const;
  const std::vector<Clause>& clauses() const { return clauses_; }

  std::string law;        ///< "A-III, constraint-consistent"
  std::string guarantee;  ///< in words: what follows where all clauses hold
  std::vector<Finding> findings;

 private:
  std::vector<Clause> clauses_;
};

/// How well something was followed: last, largest and root mean square error over time (trapezoids between looks).
struct Tracking {
  std::string name;  ///< "tip.position", "phi"
  std::string unit;
  double last = 0, largest = 0, squares = 0;                          ///< of the error; integral of its square
  double from = std::numeric_limits<double>::quiet_NaN(), until = 0;  ///< s

  void look(double t, double error);
  double rms() const { return until > from ? std::sqrt(squares / (until - from)) : std::abs(last); }
};

}  // namespace invar
