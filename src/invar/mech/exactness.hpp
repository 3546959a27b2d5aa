// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"

namespace invar {

/// Whether the rank of the constraints at a configuration is owed to exact dimensions. Some redundancy is generic: a table on
/// four balls keeps it whatever its legs measure. Other redundancy, and the mobility that comes with it, exists only for these
/// very dimensions: the axes of a door's hinges in one line, Bricard's linkage, the third crank of a parallelogram. Manufactured
/// with an error, such a mechanism binds or needs play. The same holds for a configuration that is singular by itself.
struct Exactness {
  bool decided = false;      ///< false where a rank could not be decided; the rest is then empty
  int rank = 0;              ///< as given
  int generic_rank = 0;      ///< with slightly other dimensions; never smaller
  int mobility = 0;          ///< 6 bodies - rank
  int generic_mobility = 0;  ///< 6 bodies - generic rank
  std::vector<int> joints;   ///< those through which self-stresses pass that would be gone; ascending

  bool relies() const { return generic_rank > rank; }
};

/// Moves every joint at random by 1e-3 length() and turns it by 1e-3 rad, frames on both bodies together: the mechanism is then
/// another one, but assembled in the same configuration with the same coordinates. Law: the answer does not depend on masses,
/// World frame or order. Allocates; for reports.
Exactness exactness(const Model& model, const Bodies& bodies);

}  // namespace invar
