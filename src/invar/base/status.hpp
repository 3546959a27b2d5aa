// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace invar {

/// How a numerical operation of the step loop ended. No strings, no exceptions: the run turns it into words.
enum class Status {
  Ok,
  NotConverged,   ///< an iteration did not reach its tolerance
  NoInertia,      ///< a freedom has no inertia: M is not positive definite on ker J
  Contradictory,  ///< constraints ask for opposite accelerations
  Singular,       ///< constraints lost rank at this configuration
  StepTooLarge,   ///< a joint turned so far within one step that whole turns cannot be counted
  StepTooSmall,   ///< error control asked for a step below its minimum
  NotFinite,      ///< a number became NaN or infinite
  JointStop,      ///< a joint reached its stop, and the run was to end there
  EditRefused,    ///< an edit of the mechanism cannot be done at the state that was reached
};

/// One word for each Status, as used in result.json.
constexpr const char* name(Status s) {
  switch (s) {
    case Status::Ok: return "ok";
    case Status::NotConverged: return "not_converged";
    case Status::NoInertia: return "no_inertia";
    case Status::Contradictory: return "contradictory";
    case Status::Singular: return "singular";
    case Status::StepTooLarge: return "step_too_large";
    case Status::StepTooSmall: return "step_too_small";
    case Status::NotFinite: return "not_finite";
    case Status::JointStop: return "joint_stop";
    case Status::EditRefused: return "edit_refused";
  }
  return "unknown";
}

/// A Status with the place where it happened: indices into the Model, -1 where they do not apply.
struct Verdict {
  Status status = Status::Ok;
  int body = -1;
  int joint = -1;
  double value = 0;  ///< the residual, pivot or ratio that decided

  bool ok() const { return status == Status::Ok; }
};

}  // namespace invar
