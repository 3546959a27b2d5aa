// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/energy.hpp"
#include "invar/mech/formulation.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/partition.hpp"
#include "invar/run/start.hpp"

namespace invar {

/// JSON in and out of `invar eval` (docs/cli.md). World components, p and v at the centre of mass, quaternions scalar first.
/// `source` stands for the text in messages (a path, or "stdin").

/// {"bodies": {name: {"p", "q", "v", "w"}}}: all bodies, v and w zero where absent; or {"joints": {name: {"q", "v"}}}: joints
/// that are not named take the model's [initial], at rest.
Result<Start> start_from_json(const Model& model, const std::string& text, const std::string& source);

/// {body: {"force", "moment"}} about the centres of mass, and {joint: [effort, ...]}; both are added to the load.
Result<void> port_from_json(const Model& model, const std::string& text, const std::string& source, Load& load);
Result<void> efforts_from_json(const Model& model, const std::string& text, const std::string& source, Load& load);

/// bodies {p, q, v, w, a, alpha}, joints {q, v, vdot, force, moment, determined}, energy, momentum, residual; and, if there is
/// one, the partition: coordinates, Gamma, Gamma_parts {body: matrix}, dGamma, Gamma_dot, C, h, Q, E with its rows `freedoms`,
/// qddot, J {body: matrix}. Matrices are lists of rows.
Result<std::string> evaluation_json(const Model& model, const Evaluation& evaluation, bool pretty,
                                    const Partition* partition = nullptr);

}  // namespace invar
