// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Ball and socket. Rates are components of F.
inline Facts spherical() { return FactsOf("spherical").ball(0).facts(); }

}  // namespace invar::kind
