// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/io/whole_file.hpp"
#include "invar/run/run.hpp"

namespace invar {

/// result.json of a run (docs/recording.md): status, laws, metrics, certificates, versions, seed, timing, model, scenario. A
/// number that is not finite becomes null and its reason stands in `reasons`.
///   status  "ok" | "unresolved" | "law_broken" | "interrupted" | "failed"
std::string result_json(const Scenario& scenario, const Outcome& outcome);

/// Bytes that result.json of a run will not exceed, as far as can be told before it begins.
std::size_t result_room(const Scenario& scenario);

/// The word for `status`.
const char* status_word(const Outcome& outcome);

}  // namespace invar
