// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/mech/bodies.hpp"
#include "invar/mech/spanning_tree.hpp"

namespace invar {

/// A body of the spanning tree with the joint that carries it, and where its coordinates and freedoms lie in q and v of the tree.
/// A floating root is carried by Free, with M at its centre of mass.
struct JointNode {
  int body, inner;     ///< body of the model; node it hangs on, -1: ground
  int joint;           ///< of the model; -1: floats
  bool reversed;       ///< the joint's child is the inner body
  const Facts* facts;  ///< of its joint; of a free one where it floats
  int q0, v0, nq, nv;
};

/// A freedom as the twist that it gives to its body and all beyond: World, at `point`.
struct ScrewAxis {
  Vec3 w, v, point;
};

/// Forward kinematics of a tree of joints, outwards: Bodies from coordinates and rates, and back from accelerations of bodies to
/// those of the freedoms. Joints about or along one axis are compiled; the others ask their kind. No heap after construction.
class TreeKinematics {
 public:
  TreeKinematics(const Model& model, const std::vector<JointNode>& nodes);
  ~TreeKinematics();

  /// Takes the numbers of a model that was edited in place. No heap.
  void refresh();

  /// Poses and velocities of all bodies; poses alone, of all or of some nodes that were moved (outwards); or the poses that
  /// bodies have, where the joints hold.
  void place(const VecX& q, const VecX& v, Bodies& out);
  void poses(const VecX& q, Bodies& out);
  void poses(const VecX& q, const std::vector<std::size_t>& nodes, Bodies& out);
  void adopt(const Bodies& bodies);
  /// What follows belongs to the poses computed or adopted last. Velocities at rates, of all or of some nodes; a freedom of a
  /// node; derivatives of the rates from accelerations of bodies (`bodies` have poses and velocities as computed).
  void velocities(const VecX& v, Bodies& bodies);
  void velocities(const VecX& v, const std::vector<std::size_t>& nodes, Bodies& bodies);
  ScrewAxis screw(std::size_t node, int freedom) const;
  void rates(const Bodies& bodies, const Accelerations& accelerations, VecX& vdot) const;

 private:
  struct Store;  // arrays of the kernel's vector types, whose layout follows the build's target and must not reach a header

  void sines_of_half(const VecX& q);
  void sines_of_half(const VecX& q, const std::vector<std::size_t>& nodes);
  void place(std::size_t node, const VecX& q, Bodies& out);
  void place_axial(std::size_t node, double q);
  void place_other(std::size_t node, const double* q);
  void move(std::size_t node, const VecX& v, Bodies& out);

  const Model& model_;
  const std::vector<JointNode>& nodes_;
  std::unique_ptr<Store> store_;
};

}  // namespace invar
