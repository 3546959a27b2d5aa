// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "invar/base/error.hpp"
#include "invar/integrate/composition.hpp"
#include "invar/integrate/dopri5.hpp"
#include "invar/integrate/integrator.hpp"

namespace invar {

/// How the gradient of the potential is averaged over a step.
enum class Gradient {
  Gauss,     ///< by quadrature along the trial functions, C (19)
  Discrete,  ///< two-point: exact energy and angular momentum whatever the step; degree 0 only
};

/// What a scenario may say about a stepper. All but the composition are petrov_galerkin's.
struct StepperOptions {
  int degree = 0;      ///< m of the test functions, 0 to 3: order 2 m + 2
  int quadrature = 0;  ///< Gauss points for the gradient, 1 to 8; 0: m + 3
  Gradient gradient = Gradient::Gauss;
  bool stabilised = false;  ///< rates on the constraints at every node, too
  Composition composition = Composition::None;
};

/// What a scenario may say about its integrator. rk4 and semi_implicit_euler have no options.
struct IntegratorOptions {
  Dopri5Options dopri5;  ///< of every method that chooses its steps: dopri5, radau
  StepperOptions stepper;
};

/// The words of scenario files: flows, which take every formulation, then steppers, which take the natural one.
const std::vector<std::string>& integrator_names();
const std::vector<std::string>& flow_names();
const std::vector<std::string>& stepper_names();
bool is_stepper(std::string_view name);

/// An option that makes no sense: its key in scenario files, and a sentence.
struct OptionFlaw {
  std::string key;
  std::string what;
};
/// The first flaw of the options of a known integrator, if any.
std::optional<OptionFlaw> option_flaw(std::string_view name, const IntegratorOptions& options);

/// An integrator by name; an unknown name is refused with the nearest known one, and so are options that make no sense:
/// tolerances and steps that are not positive, degrees out of range, compositions of flows. Call its reset before the first step.
Result<std::unique_ptr<Integrator>> make_integrator(std::string_view name, const IntegratorOptions& options = {});

}  // namespace invar
