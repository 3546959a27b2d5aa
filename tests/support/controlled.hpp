// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs under control, and what is looked at in them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "invar/control/limit_repulsion.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/run/run.hpp"
#include "support/recorded.hpp"
#include "support/states.hpp"

namespace invar::testing {

/// Keeps the readings of a run's controller.
class Readings final : public Sink {
 public:
  Result<void> begin(const Layout& layout) override {
    int at = 0;
    for (const Channel& c : layout.channels) {
      if (c.path.rfind("control/", 0) == 0) names_.push_back(c.path.substr(c.path.rfind('/') + 1)), places_.push_back(at);
      at += c.size;
    }
    return {};
  }
  Result<void> sample(std::span<const double> row) override {
    t_.push_back(row[0]);
    for (std::size_t k = 0; k < names_.size(); ++k) values_[names_[k]].push_back(row[static_cast<std::size_t>(places_[k])]);
    return {};
  }
  Result<void> end() override { return {}; }

  const std::vector<double>& t() const { return t_; }
  const std::vector<double>& of(const std::string& name) { return values_[name]; }

 private:
  std::vector<std::string> names_;
  std::vector<int> places_;
  std::vector<double> t_;
  std::map<std::string, std::vector<double>> values_;
};

struct Watched {
  Outcome outcome;
  Readings readings;
};

inline Scenario controlled(const ModelSpec& spec, const Bodies& start, double end, double step, ControllerSpec controller) {
  Scenario s;
  set_model(s, spec);
  s.start = Start(*s.model);
  s.start.by_bodies = true;
  s.start.bodies = start;
  s.end_time = end;
  s.method.integrator = "rk4";
  s.method.step = step;
  controller.nominal = s.model;
  s.controllers = {std::move(controller)};
  return s;
}

inline bool watch(const Scenario& s, Watched& out) {
  auto done = judged_run(s, &out.readings);
  EXPECT_TRUE(done) << (done ? "" : done.error().text());
  if (!done) return false;
  out.outcome = std::move(*done);
  return out.outcome.end == Outcome::End::Finished;
}

inline const Clause& clause(const Outcome& outcome, const std::string& name) {
  for (const Clause& c : outcome.control.at(0).certificate.clauses())
    if (c.name == name) return c;
  ADD_FAILURE() << "no clause " << name;
  static const Clause none;
  return none;
}

// V_dot at a sample against differences of V of fourth order over five samples h apart; the largest gap relative to what V and
// its derivative come to. The formula leaves h⁴ V⁽⁵⁾/30 and so does rk4; drawn loops are slower than 10 /s, so (10 h)⁴ for h =
// 2e-3.
inline double derivative_gap(Readings& r, double h) {
  const auto &V = r.of("V"), &dot = r.of("V_dot");
  double worst = 0, scale = 1e-12;
  for (std::size_t i = 2; i + 2 < V.size(); ++i) {
    const double slope = (V[i - 2] - 8 * V[i - 1] + 8 * V[i + 1] - V[i + 2]) / (12 * h);
    worst = std::max(worst, std::abs(slope - dot[i]));
    scale = std::max({scale, std::abs(dot[i]), V[i]});
  }
  return worst / scale;
}

inline PosePath drawn_path(Random& random, const Vec3& near, const Quat& q0) {
  const Vec3 amplitude = random_vector(random, 0.1), axis = random_unit(random);
  const double w = random.uniform(0.5, 2), turn = random.uniform(0.1, 0.6);
  return [=](Instant at) {
    PoseJet j;
    const double s = std::sin(w * at.t), c = std::cos(w * at.t);
    j.p = near + s * amplitude, j.v = w * c * amplitude, j.a = -w * w * s * amplitude;
    j.q = exp_so3(turn * s * axis) * q0, j.w = turn * w * c * axis, j.alpha = -turn * w * w * s * axis;
    return j;
  };
}

// Trees and loops of every kind that leave the last body six freedoms or fewer to follow: rows that cannot be met are dropped.
inline Sample drawn_mechanism(std::uint64_t at, int k) {
  MechanismOptions o;
  o.bodies = 2 + k % 4;
  o.loops = k % 4 == 3 ? 1 : 0;
  o.floating = k % 3 == 1;
  o.passive = false;
  o.mass_ratio = 10;
  o.locked = false;
  return random_sample(at, o);
}

/// Limits on every scalar freedom, `around` to both sides of where it is.
inline std::vector<LimitedFreedom> limits_about(const Model& model, const Bodies& bodies, double around) {
  VecX q(model.nq()), v(model.nv());
  joint_coordinates(model, bodies, q, v);
  std::vector<LimitedFreedom> out;
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    for (int k = 0; k < joint.nv && joint.nq == joint.nv; ++k)
      out.push_back({j, k, q[joint.q0 + k] - around, q[joint.q0 + k] + around});
  }
  return out;
}

}  // namespace invar::testing
