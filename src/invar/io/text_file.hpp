// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <iosfwd>
#include <string>

#include "invar/base/error.hpp"

namespace invar {

/// Largest text that is read, bytes.
inline constexpr std::size_t kLargestText = 64u << 20;

/// The whole of a regular file (see open_regular), or of a stream that is called `name`; refused when there is more of it than
/// `max_bytes`. The size that the system tells is not believed: a file may grow, and a stream has none.
Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes = kLargestText);
Result<std::string> read_text_stream(std::istream& in, const std::string& name, std::size_t max_bytes = kLargestText);

}  // namespace invar
