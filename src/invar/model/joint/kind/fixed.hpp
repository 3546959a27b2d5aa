// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Nothing moves.
inline Facts fixed() { return Path("fixed").facts(); }

}  // namespace invar::kind
