// SPDX-License-Identifier: Apache-2.0
#include "invar/run/words.hpp"

#include <fmt/format.h>

namespace invar {

namespace {

const char* sentence(Status status) {
  switch (status) {
    case Status::Ok: return "all is well";
    case Status::NotConverged: return "an iteration did not reach its tolerance";
    case Status::NoInertia: return "a freedom has no inertia";
    case Status::Contradictory: return "the constraints ask for opposite accelerations";
    case Status::Singular: return "the constraints lost rank";
    case Status::StepTooLarge: return "a joint turned so far within one step that its turns cannot be counted";
    case Status::StepTooSmall: return "the error control asked for a step below its minimum";
    case Status::NotFinite: return "a number became infinite or NaN";
    case Status::JointStop: return "a stop was reached";
    case Status::EditRefused: return "an edit cannot be done at this state";
  }
  return "an unknown status";
}

}  // namespace

std::string words(const Verdict& verdict, const Model& model) {
  std::string out = sentence(verdict.status);
  if (verdict.joint >= 0 && verdict.joint < static_cast<int>(model.joints().size()))
    out += fmt::format(" at joint '{}'", model.joints()[static_cast<std::size_t>(verdict.joint)].name);
  if (verdict.body >= 0 && verdict.body < static_cast<int>(model.bodies().size()))
    out += fmt::format(" at body '{}'", model.bodies()[static_cast<std::size_t>(verdict.body)].name);
  // Other values are of use to programs only.
  if (verdict.status == Status::NotConverged) out += fmt::format(" (residual {:.3g})", verdict.value);
  if (verdict.status == Status::StepTooSmall && verdict.value != 0) out += fmt::format(" ({:.3g} s)", verdict.value);
  return out;
}

}  // namespace invar
