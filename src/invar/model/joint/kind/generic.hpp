// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Any of the six directions of F is free: slides along x, y, z, turns about x, y, z. Two free turns are a cardan, the first
/// about an axis of F, the second about one of M; three are a ball.
inline Facts generic(const std::array<bool, 3>& slides, const std::array<bool, 3>& turns) {
  FactsOf path("generic");
  int k = 0;
  for (int i = 0; i < 3; ++i)
    if (slides[static_cast<std::size_t>(i)]) std::move(path).slide(static_cast<Axis>(i), k++);
  if (turns[0] && turns[1] && turns[2]) return std::move(path).ball(k).facts();
  for (int i = 0; i < 3; ++i)
    if (turns[static_cast<std::size_t>(i)]) std::move(path).turn(static_cast<Axis>(i), k++);
  return std::move(path).facts();
}

}  // namespace invar::kind
