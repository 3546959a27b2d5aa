// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

// For the sources of this project only: names come from files, and a terminal obeys what it is told.
namespace invar {

/// A text on one line that a terminal shows and does not obey: control characters (C0, DEL, C1), those that turn the direction
/// of writing or break lines, and bytes that are not UTF-8 become \n, \t, \xNN or \u{NNNN}; a backslash stays.
std::string printable(std::string_view text);

/// The same for JSON, inside its strings: \u00NN; line feeds between its parts stay.
std::string printable_json(std::string_view json);

}  // namespace invar
