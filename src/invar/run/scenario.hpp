// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "invar/integrate/make.hpp"
#include "invar/mech/environment.hpp"
#include "invar/run/laws.hpp"
#include "invar/run/recorder.hpp"
#include "invar/run/start.hpp"

namespace invar {

/// How a motion is computed.
struct Method {
  std::string formulation = "augmented";
  std::string integrator = "rk4";
  double step = 0;             ///< s; fixed-step methods: the longest step; adaptive ones: unused
  IntegratorOptions options;   ///< tolerances and limits of adaptive methods
  bool project = true;         ///< move the state back onto its constraints after every step
  double baumgarte_alpha = 0;  ///< 1/s; damping of the velocity residual
  double baumgarte_beta = 0;   ///< 1/s²; stiffness of the position residual
};

/// When samples are taken. Fixed-step methods: every `steps` steps; adaptive ones: every `interval`. The first and the last
/// state are always recorded.
struct Sampling {
  long steps = 1;
  double interval = 0;  ///< s; 0: a thousandth of the run
  RecordChoice what;
};

/// One run, ready to go: everything that a scenario file says, checked and resolved. Written by a reader or by a program.
struct Scenario {
  std::string name = "unnamed";
  std::string path;        ///< of the scenario file; empty where there is none
  std::string model_path;  ///< of the model file
  std::shared_ptr<const Model> model;
  Method method;
  double start_time = 0;  ///< s
  double end_time = 1;    ///< s
  Start start;
  std::vector<std::shared_ptr<const Environment>> environments;  ///< disturbances and efforts
  Sampling sampling;
  std::vector<Law> laws;
  std::uint64_t seed = 0;  ///< of random streams; nothing draws from them yet, results carry it
};

/// Why a formulation and an integrator do not go together, or what else is wrong with a method; empty where all is well.
/// The table of legal pairs: every flow (rk4, semi_implicit_euler, dopri5) takes every formulation.
std::string flaw(const Method& method);

/// The formulations that exist.
const std::vector<std::string>& formulation_names();

}  // namespace invar
