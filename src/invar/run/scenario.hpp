// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "invar/mech/environment.hpp"
#include "invar/run/laws.hpp"
#include "invar/run/method.hpp"
#include "invar/run/recorder.hpp"
#include "invar/run/start.hpp"

namespace invar {

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

/// What makes no sense about the times of a scenario, if anything: its end, its step, its samples.
std::optional<Objection> time_objection(const Scenario& scenario);

}  // namespace invar
