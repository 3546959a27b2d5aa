// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "invar/base/status.hpp"
#include "invar/model/model.hpp"

namespace invar {

/// A Verdict that is not Ok as a sentence for a person, naming joint and body: "constraints lost rank at joint 'j3'".
std::string words(const Verdict& verdict, const Model& model);

}  // namespace invar
