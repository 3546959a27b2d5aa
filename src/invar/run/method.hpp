// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "invar/integrate/make.hpp"
#include "invar/mech/formulation.hpp"

namespace invar {

/// How a motion is computed.
struct Method {
  std::string formulation = "augmented";
  std::string integrator = "rk4";
  double step = 0;             ///< s; fixed-step methods: the longest step; adaptive ones: unused
  int parts = 1;               ///< fixed-step methods: into how many each of these steps is divided
  IntegratorOptions options;   ///< tolerances and limits of adaptive methods; degree, gradient, composition of steppers
  bool project = true;         ///< move the state back onto its constraints after every step
  double baumgarte_alpha = 0;  ///< 1/s; both: J a = γ − 2 alpha (velocity residual) − beta² (position residual), so a gap
  double baumgarte_beta = 0;   ///< 1/s; moves like an oscillator of the angular frequency beta and the damping ratio alpha/beta
};

/// What makes no sense in a method or a scenario: the key of scenario files that says it, and a sentence.
struct Objection {
  std::string key;
  std::string what;
};

/// The first objection to a method, if any. The table of legal pairs:
///                     augmented   minimal                  natural
///   flows             yes         yes: nothing to project  yes, projection, no Baumgarte's terms
///   steppers          no          no                       yes: nothing to project
/// with flow_names() (rk4, semi_implicit_euler, dopri5, radau) and stepper_names().
std::optional<Objection> objection(const Method& method);
/// The same, with what the formulation has against a model.
std::optional<Objection> objection(const Method& method, const Model& model);

/// The method that a formulation takes where a scenario names none; empty where it has to name one.
std::string default_integrator(const std::string& formulation);

/// The formulations that exist.
const std::vector<std::string>& formulation_names();

/// The formulation of a method without objection; `verdicts`: whether its evaluations say which reactions are determined.
std::unique_ptr<Formulation> make_formulation(const Model& model, const Method& method, bool verdicts = true);

}  // namespace invar
