// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Nothing moves.
inline Facts fixed() { return FactsOf("fixed").facts(); }

}  // namespace invar::kind
