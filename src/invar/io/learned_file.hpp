// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "invar/learn/learned.hpp"

namespace invar {

/// Version of the files of learned models that this library writes; files of another one are refused.
inline constexpr int kLearnedFormat = 2;

/// What was learned as JSON, and back (docs/learning.md). Law: read(write(x)) has the same numbers, bit for bit.
std::string write_learned(const Learned& learned);
/// `name` stands for the file in places. Refuses what is cut off or of another version, numbers that are not finite, sizes that
/// do not fit each other, unknown kinds; with the place in the file and what to do about it.
Result<Learned> parse_learned(const std::string& text, const std::string& name);

Result<void> write_learned_file(const std::string& path, const Learned& learned);
Result<Learned> read_learned_file(const std::string& path);

}  // namespace invar
