// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/make.hpp"

#include <fmt/format.h>

#include <cmath>

#include "invar/integrate/rk4.hpp"
#include "invar/integrate/semi_implicit_euler.hpp"
#include "invar/model/model.hpp"

namespace invar {

namespace {

/// Why these options make no sense, or an empty string.
std::string flaw(const Dopri5Options& o) {
  const struct {
    const char* name;
    double value;
  } tolerances[] = {{"relative_tolerance", o.relative_tolerance},
                    {"position_tolerance", o.position_tolerance},
                    {"velocity_tolerance", o.velocity_tolerance},
                    {"auxiliary_tolerance", o.auxiliary_tolerance},
                    {"h_min", o.h_min}};
  for (const auto& [name, value] : tolerances)
    if (!(value > 0) || !std::isfinite(value)) return fmt::format("{} must be a positive number, not {}", name, value);
  if (!(o.h_max >= o.h_min)) return fmt::format("h_max = {} s is below h_min = {} s", o.h_max, o.h_min);
  if (!(o.h_first >= 0) || !std::isfinite(o.h_first))
    return fmt::format("h_first must be a step length or zero, not {}", o.h_first);
  return {};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

const std::vector<std::string>& integrator_names() {
  static const std::vector<std::string> names = {"rk4", "semi_implicit_euler", "dopri5"};
  return names;
}

Result<std::unique_ptr<Integrator>> make_integrator(std::string_view name, const IntegratorOptions& options) {
  if (name == "rk4") return std::make_unique<Rk4>();
  if (name == "semi_implicit_euler") return std::make_unique<SemiImplicitEuler>();
  if (name == "dopri5") {
    if (const std::string why = flaw(options.dopri5); !why.empty()) return fail(ErrorKind::Option, "integrator 'dopri5': " + why);
    return std::make_unique<Dopri5>(options.dopri5);
  }
  const std::string guess = nearest(name, integrator_names());
  const std::string hint = guess.empty() ? "known are " + joined(integrator_names()) : "did you mean '" + guess + "'?";
  return fail(ErrorKind::Option, fmt::format("there is no integrator '{}'; {}", name, hint));
}

}  // namespace invar
