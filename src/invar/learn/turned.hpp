// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/data_set.hpp"
#include "invar/model/spec.hpp"

namespace invar {

/// The same mechanism in a World turned by q: gravity and everything that is fixed to the ground turn along.
ModelSpec turned(ModelSpec spec, const Quat& q);

/// The same data seen from there.
DataSet turned(DataSet data, const Quat& q);

}  // namespace invar
