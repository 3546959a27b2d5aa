// SPDX-License-Identifier: Apache-2.0
#include "invar/run/sink.hpp"

#include <fmt/format.h>

namespace invar {

std::string escaped(const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    const bool dots = i == 0 && (name == "." || name == "..");
    if (c == '/' || c == '%' || c < 0x20 || dots)
      out += fmt::format("%{:02X}", static_cast<unsigned>(c));
    else
      out += name[i];
  }
  return out.empty() ? "%" : out;
}

}  // namespace invar
