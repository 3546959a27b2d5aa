// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/model/model.hpp"

namespace invar {

/// Sizes that make equations dimensionless, so that a tolerance is a pure number. They are taken where things touch: bodies
/// joined through joints or couplings form a connected part (the ground is no link, and neither is a tendon), and what is not
/// connected must not influence each other. Masses, units and other parts therefore change no decision about a part.
struct Scales {
  struct Part {
    double length = 1;  ///< m; root mean square distance of joint points from centres of mass: the metric |f|² + |m|²/length²
    double mass = 1;    ///< kg; mean mass of its bodies, rounded to a power of two: dividing by it does not round
    int bodies = 0;
    int ends = 0;  ///< of joints that hold something, on its bodies
  };
  std::vector<Part> parts;          ///< numbered by their first bodies
  std::vector<int> part_of_body;    ///< per body
  std::vector<double> body_length;  ///< per body, m: as `length`, over its own joint points; rounded to a power of two
  std::vector<int> ends_of_body;    ///< per body

  double length_at(int body) const {
    return parts[static_cast<std::size_t>(part_of_body[static_cast<std::size_t>(body)])].length;
  }
  double mass_at(int body) const { return parts[static_cast<std::size_t>(part_of_body[static_cast<std::size_t>(body)])].mass; }
};

/// Finds the connected parts and measures them. Joint points are those of the frames as they are used: a locked joint counts like
/// a fixed one at the same place.
Scales scales_of(const Model& model);
/// Measures parts and bodies anew after an edit of values. A body whose joint points all lie at its centre of mass is as long as
/// its radius of gyration (but no less than 1e-6 of its part); a point mass there, or a massless body, takes the length of its
/// part. A part without arms has length 1 m. No heap.
void measure(const Model& model, Scales& scales);

/// The power of two nearest to a positive number, in ratio.
double power_of_two(double x);

/// Bodies of a model that are solved together, with the joints and couplings on them; ascending indices.
struct Piece {
  std::vector<int> bodies, joints, couplings;
};
/// The whole model as one piece; the connected parts; or the parts with loops or couplings one by one and all others together.
Piece whole_piece(const Model& model);
std::vector<Piece> pieces_by_part(const Model& model, const Scales& scales);
std::vector<Piece> pieces_by_loops(const Model& model, const Scales& scales);

}  // namespace invar
