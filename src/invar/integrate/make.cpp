// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/make.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/integrate/conserving.hpp"
#include "invar/integrate/petrov_galerkin.hpp"
#include "invar/integrate/radau.hpp"
#include "invar/integrate/rattle.hpp"
#include "invar/integrate/rk4.hpp"
#include "invar/integrate/semi_implicit_euler.hpp"
#include "invar/integrate/switching.hpp"
#include "invar/model/model.hpp"

namespace invar {

namespace {

std::optional<OptionFlaw> flaw(const Dopri5Options& o) {
  const struct {
    const char* name;
    double value;
  } tolerances[] = {{"relative_tolerance", o.relative_tolerance},
                    {"position_tolerance", o.position_tolerance},
                    {"velocity_tolerance", o.velocity_tolerance},
                    {"auxiliary_tolerance", o.auxiliary_tolerance},
                    {"min_step", o.h_min}};
  for (const auto& [name, value] : tolerances)
    if (!(value > 0) || !std::isfinite(value))
      return OptionFlaw{name, fmt::format("{} must be a positive number, not {}", name, value)};
  if (!(o.h_max >= o.h_min))
    return OptionFlaw{"max_step", fmt::format("max_step = {} s is below min_step = {} s", o.h_max, o.h_min)};
  if (!(o.h_first >= 0) || !std::isfinite(o.h_first))
    return OptionFlaw{"first_step", fmt::format("first_step must be a step length or zero, not {}", o.h_first)};
  return {};
}

std::optional<OptionFlaw> galerkin_flaw(const StepperOptions& o) {
  if (o.degree < 0 || o.degree > 3) return OptionFlaw{"degree", fmt::format("degree must be 0, 1, 2 or 3, not {}", o.degree)};
  if (o.quadrature < 0 || o.quadrature > 8)
    return OptionFlaw{"quadrature", fmt::format("quadrature must be a number of points from 1 to 8, not {}", o.quadrature)};
  if (o.gradient != Gradient::Discrete) return {};
  if (o.degree != 0)
    return OptionFlaw{"gradient", fmt::format("the discrete gradient belongs to degree 0, not to degree {}", o.degree)};
  if (o.quadrature != 0) return OptionFlaw{"quadrature", "the discrete gradient needs no quadrature"};
  return {};
}

std::optional<OptionFlaw> flaw(std::string_view name, const StepperOptions& o) {
  if (name == "petrov_galerkin") return galerkin_flaw(o);
  const StepperOptions none;
  const char* key = o.degree != none.degree           ? "degree"
                    : o.quadrature != none.quadrature ? "quadrature"
                    : o.gradient != none.gradient     ? "gradient"
                    : o.stabilised                    ? "stabilised"
                                                      : nullptr;
  if (!key) return {};
  return OptionFlaw{key, fmt::format("{} is an option of petrov_galerkin", key)};
}

/// Methods that need the structure of the natural formulation.
struct Known {
  const char* name;
  std::unique_ptr<Stepper> (*make)(const StepperOptions& options);
};

const std::vector<Known>& steppers() {
  static const std::vector<Known> all = {
      {"conserving", [](const StepperOptions&) -> std::unique_ptr<Stepper> { return std::make_unique<Conserving>(true); }},
      {"discrete_gradient",
       [](const StepperOptions&) -> std::unique_ptr<Stepper> { return std::make_unique<Conserving>(false); }},
      {"petrov_galerkin",
       [](const StepperOptions& o) -> std::unique_ptr<Stepper> {
         return std::make_unique<PetrovGalerkin>(
             PetrovGalerkinOptions{o.degree, o.quadrature, o.gradient == Gradient::Discrete, o.stabilised});
       }},
      {"midpoint", [](const StepperOptions&) { return make_midpoint(); }},
      {"rattle", [](const StepperOptions&) -> std::unique_ptr<Stepper> { return std::make_unique<Rattle>(); }},
  };
  return all;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

const std::vector<std::string>& flow_names() {
  static const std::vector<std::string> names = {"rk4", "semi_implicit_euler", "dopri5", "radau"};
  return names;
}

const std::vector<std::string>& stepper_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Known& s : steppers()) out.emplace_back(s.name);
    return out;
  }();
  return names;
}

const std::vector<std::string>& integrator_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out = flow_names();
    out.insert(out.end(), stepper_names().begin(), stepper_names().end());
    return out;
  }();
  return names;
}

bool is_stepper(std::string_view name) {
  return std::any_of(steppers().begin(), steppers().end(), [name](const Known& s) { return name == s.name; });
}

std::optional<OptionFlaw> option_flaw(std::string_view name, const IntegratorOptions& options) {
  if (is_stepper(name)) return flaw(name, options.stepper);
  if (options.stepper.composition != Composition::None)
    return OptionFlaw{"composition", "only steppers can be composed, which are symmetric"};
  return name == "dopri5" || name == "radau" ? flaw(options.dopri5) : std::nullopt;
}

Result<std::unique_ptr<Integrator>> make_integrator(std::string_view name, const IntegratorOptions& options) {
  if (const auto no = option_flaw(name, options))
    return fail(ErrorKind::Option, fmt::format("integrator '{}': {}", name, no->what));
  const StepperOptions& o = options.stepper;
  for (const Known& stepper : steppers()) {
    if (name != stepper.name) continue;
    if (o.composition == Composition::None) return stepper.make(o);
    return std::make_unique<Composed>(o.composition, stepper.make(o));
  }
  if (name == "rk4") return std::make_unique<Rk4>();
  if (name == "semi_implicit_euler") return std::make_unique<SemiImplicitEuler>();
  if (name == "dopri5") return std::make_unique<Switching>(std::make_unique<Dopri5>(options.dopri5));
  if (name == "radau") return std::make_unique<Switching>(std::make_unique<Radau>(options.dopri5));
  const std::string guess = nearest(name, integrator_names());
  const std::string hint = guess.empty() ? "known are " + joined(integrator_names()) : "did you mean '" + guess + "'?";
  return fail(ErrorKind::Option, fmt::format("there is no integrator '{}'; {}", name, hint));
}

}  // namespace invar
