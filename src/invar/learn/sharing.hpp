// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/model/model.hpp"

namespace invar {

/// Which items of a mechanism have a coefficient in common.
enum class Sharing {
  Each,   ///< none
  Alike,  ///< those whose names differ in a number at the end: body1, body2
  All,
};

/// "body" for "body12", "leg" for "leg_3"; the name itself where no number ends it.
std::string stem(const std::string& name);

/// Items put into classes: `of[i]` is the class of item i, `names[c]` what a class is called.
struct Classes {
  std::vector<int> of;
  std::vector<std::string> names;
  int count() const { return static_cast<int>(names.size()); }
};
/// By names; a class of one is called like it, `all` is what one class of everything is called.
Classes classes_of(const std::vector<std::string>& names, Sharing sharing, const std::string& all);

/// One freedom of a joint, and the column that it belongs to.
struct FreedomColumn {
  int joint, freedom, column;
};
/// The freedoms of joints put into columns. The three turns of a ball are one column unless every freedom has its own; of joints
/// that share, freedoms of the same number belong together; with Sharing::All all turns, and all shifts.
struct FreedomClasses {
  std::vector<FreedomColumn> freedoms;
  std::vector<std::string> names;  ///< per column
  std::vector<bool> turns;         ///< per column: angles, not lengths
  int count() const { return static_cast<int>(names.size()); }
};
FreedomClasses freedom_classes(const Model& model, const std::vector<int>& joints, Sharing sharing);

}  // namespace invar
