// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "invar/mech/bodies.hpp"

namespace invar::testing {

/// A mechanism in motion, velocities as its joints allow them.
struct Moving {
  std::string name;
  ModelSpec spec;
  Model model;
  Bodies start;
};

/// Three links in space on a ball, a universal joint and a hinge, with springs to the ground and between the links, one of them
/// over two joints. Falls and swings; energies near 10 J, frequencies below 3 Hz.
Moving spring_chain();

/// A symmetric top of 1 kg on its tip, 20 rad/s about its axis and nutating.
Moving heavy_top();

/// Four bodies on a ball, a universal joint and a hinge, with springs between them, held by nothing and without weight.
Moving free_chain();

/// A model that ships with the library, its joints at the coordinates of the file and, where they are given, at these rates.
Moving shipped(const std::string& model, const std::vector<double>& rates = {});

}  // namespace invar::testing
