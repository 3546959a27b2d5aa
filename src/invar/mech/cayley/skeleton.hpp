// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/mech/spanning_tree.hpp"

namespace invar::cayley {

/// How a part hangs on its inner part. Joints of more freedoms are chains of these with massless parts between.
enum class Hang { Ground, Hinge, Slide, Screw, Ball, Free };

/// A rigid part of the spanning tree: a body with all that is welded to it, or a massless link between two elementary motions of
/// one joint. Its axes are those behind its motion, with the hinge or slide along z; its reference point φ is the common centre
/// of mass (massless links: the joint point). Part 0 is the ground, whose φ is the origin of World.
struct Part {
  Hang hang = Hang::Ground;
  int inner = 0;
  int body = kWorld;          ///< of its bodies the one that hangs on the joint; kWorld for links
  Mat3 Q = Mat3::Identity();  ///< its axes at coordinate zero, in those of the inner part
  Vec3 rho = Vec3::Zero();    ///< from φ of the inner part to the joint point, inner axes, m
  Vec3 gam = Vec3::Zero();    ///< from the joint point to φ, own axes, m
  double mass = 0;            ///< kg
  Mat3 J = Mat3::Zero();      ///< about φ, own axes, kg m²
  int joint = -1;             ///< of the model
  int freedom = 0;            ///< of the joint
  double sign = 1;            ///< its coordinate = sign · coordinate of the model
};

/// Where a body is in its part: part axes, from φ.
struct Place {
  int part = 0;
  Mat3 R_SB = Mat3::Identity();  ///< its axes
  Vec3 c = Vec3::Zero();         ///< its centre of mass, m
};

/// The mechanism as a tree of elementary motions.
struct Skeleton {
  std::vector<Part> parts;    ///< inner parts first; 0 is the ground
  std::vector<Place> places;  ///< per body
  std::vector<int> closures;  ///< joints outside the tree that hold something

  /// Part, and place in its axes measured from φ, of a point given in the body frame of `body` (kWorld allowed).
  int part_of(int body) const { return body == kWorld ? 0 : places[body].part; }
  Vec3 arm(const Model& model, int body, const Vec3& p_BQ) const;
  Mat3 axes(int body, const Quat& q_BF) const;
};

/// Joints with springs, dampers, rotors, couplings or pitch stay inside the tree wherever the graph allows it.
Skeleton skeleton_of(const Model& model);

/// Why the conserving steppers cannot take a mechanism, as a sentence that names the joint; empty where they can.
std::string why_not_conserving(const Model& model);

}  // namespace invar::cayley
