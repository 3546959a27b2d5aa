// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/system.hpp"
#include "invar/run/observers.hpp"
#include "invar/run/scenario.hpp"

// For the sources of this room only.
namespace invar {

/// Everything that computes and belongs to one model: made anew by an edit.
struct Leg {
  std::shared_ptr<const Model> model;
  std::unique_ptr<Formulation> formulation;
  System system;
  std::unique_ptr<Integrator> integrator;
  Observer observer;  // of steps
  Observer sampler;   // of samples: dense output lies between steps
  Recorder recorder;
  std::vector<std::shared_ptr<const Environment>> environments;

  /// `layout`: of a recording over several models; empty: that of this one.
  Leg(const Scenario& scenario, std::shared_ptr<const Model> of, const std::vector<Channel>& layout)
      : model(std::move(of)),
        formulation(make_formulation(*model, scenario.method, false)),  // nobody records verdicts
        system(*formulation),
        integrator(*make_integrator(scenario.method.integrator, scenario.method.options)),
        observer(*model),
        sampler(*model),
        recorder(layout.empty() ? Recorder(*model, recorded(scenario)) : Recorder(*model, recorded(scenario), layout)) {}

  /// What acts, as far as this model has it. An environment that knows no names is kept while sizes stay.
  void bind(const Scenario& scenario) {
    const bool sizes = model->bodies().size() == scenario.model->bodies().size() && model->nv() == scenario.model->nv();
    for (const auto& e : scenario.environments) {
      auto bound = scenario.edits.empty() ? std::optional(e) : e->bound_to(*model);
      if (!bound && sizes) bound = e;
      if (bound && *bound) environments.push_back(*bound);
    }
    for (const auto& e : environments) system.add(*e);
  }
};

}  // namespace invar
