// SPDX-License-Identifier: Apache-2.0
#include "support/places.hpp"

namespace invar::testing {
namespace {

std::string joined(const char* folder, std::string_view inside) {
  std::string out = folder;
  if (!inside.empty()) out.append("/").append(inside);
  return out;
}

}  // namespace

std::string source_path(std::string_view inside) { return joined(INVAR_SOURCE_DIR, inside); }
std::string binary_path(std::string_view inside) { return joined(INVAR_BINARY_DIR, inside); }

}  // namespace invar::testing
