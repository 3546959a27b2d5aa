// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "invar/mech/bodies.hpp"
#include "invar/mech/plane.hpp"
#include "invar/mech/scales.hpp"
#include "invar/mech/spanning_tree.hpp"

namespace invar {

/// A vector that moves with a body, linear in its natural coordinates:
///   space  position p_WC + axes[0] d1 + axes[1] d2 + axes[2] d3
///   plane  position p_WC + (axes[0] + axes[1] J) d,   J a quarter turn, counter-clockwise about the normal
/// For kWorld it is the constant `axes`. In the plane the first two components are those along e1, e2; the third is zero.
struct NaturalVector {
  int body = kWorld;
  double position = 0;
  Vec3 axes = Vec3::Zero();
};

/// A function u · (w - minus) - constant of the coordinates: bilinear, so that the gradient is linear in x and
///   form(x1) - form(x0) = gradient((x0 + x1)/2) · (x1 - x0)   exactly.
/// Every constraint row is one, and every joint coordinate is one (slides) or the angle of a pair of them (turns).
struct NaturalForm {
  NaturalVector u, w, minus;
  double constant = 0;
};

/// Coordinates x in which the mass is constant and joints are polynomials of degree two, for one Model.
///   space  per body 12 numbers (p_WC, d1, d2, d3), d_i the World components of the body axes
///   plane  per body 4 numbers (p_WC·e1, p_WC·e2, d·e1, d·e2), d the World direction of the plane's b1 in the body
/// Mass: m on p_WC and the pseudo-inertia E = ½ tr(I) 1 - I on the directors (space), the inertia about the normal on d (plane).
/// Rows: first those that keep directors orthonormal (6 or 1 per body), then those of the joints in their order. Rows that are
/// lengths are divided by the length of the model: all rows are pure numbers.
class NaturalCoordinates {
 public:
  /// A model without objection (see natural_objection), in its plane if it has one and `flat` allows it.
  explicit NaturalCoordinates(const Model& model, bool flat = true);

  /// Takes the numbers of a model that was edited in place: rows and masses as after construction. The plane, or that there is
  /// none, must be the same. No heap.
  void refresh();

  const Model& model() const { return model_; }
  const Scales& scales() const { return scales_; }
  const std::optional<Plane>& plane() const { return plane_; }
  int dimension() const { return plane_ ? 2 : 3; }
  int per_body() const { return plane_ ? 4 : 12; }
  int size() const { return per_body() * static_cast<int>(model_.bodies().size()); }

  /// Numbers for Bodies and back. In the plane `set_offsets` takes the constant distances along the normal from bodies.
  /// Attitude: the rotation nearest to the directors; angular velocity: the one whose director velocities are nearest in the
  /// metric of the mass (of unit masses, where a body has none).
  void set_offsets(const Bodies& bodies);
  double offset(int body) const { return body == kWorld ? 0.0 : offsets_[static_cast<std::size_t>(body)]; }
  void store(const Bodies& bodies, VecX& x, VecX& v) const;
  void load(const VecX& x, const VecX& v, Bodies& bodies) const;

  /// y = M v, and its product with v.
  void apply_mass(const VecX& v, VecX& y) const;
  double twice_kinetic(const VecX& v) const;
  /// E on the directors; in the plane the inertia about the normal, times one.
  const Mat3& pseudo(int b) const { return pseudo_[static_cast<std::size_t>(b)]; }
  /// The block of body b, per_body x per_body.
  void mass_block(int b, Eigen::Ref<MatX> block) const;

  /// A direction given in the axes of a body (of World for kWorld), and a point given in its body frame.
  NaturalVector direction(int body, const Vec3& a_B) const;
  NaturalVector point(int body, const Vec3& p_B) const;
  /// How far that point lies along the normal (plane; zero in space, where the point says all).
  double height(int body, const Vec3& p_B) const;

  /// Joint frames as vectors: axes f of F on the parent, m of M on the child, their origins.
  struct Frames {
    NaturalVector f[3], m[3], F, M;
  };
  Frames frames(int joint) const;

  int rows() const { return static_cast<int>(forms_.size()); }
  const NaturalForm& row(int r) const { return forms_[static_cast<std::size_t>(r)]; }
  int internal_rows() const { return plane_ ? 1 : 6; }
  int first_internal_row(int body) const { return internal_rows() * body; }
  int first_joint_row(int joint) const { return first_row_[static_cast<std::size_t>(joint)]; }
  int joint_rows(int joint) const { return first_row_[static_cast<std::size_t>(joint) + 1] - first_joint_row(joint); }

  /// Values at x, and the part that is linear in v.
  Vec3 value(const NaturalVector& a, const VecX& x) const;
  Vec3 linear(const NaturalVector& a, const VecX& v) const;
  double value(const NaturalForm& form, const VecX& x) const;
  /// gradient(x) · v.
  double rate(const NaturalForm& form, const VecX& x, const VecX& v) const;
  /// Second derivative applied twice: 2 linear(u)(a) · linear(w - minus)(a).
  double curvature(const NaturalForm& form, const VecX& v) const;

  /// out[0 .. per_body) += factor d(c · a)/dx of the body of a; nothing for kWorld.
  void spread(const NaturalVector& a, const Vec3& c, double factor, double* out) const;
  /// out += factor gradient(form) with respect to body b; without the constant vectors of World where `linear_part`.
  void add_gradient(const NaturalForm& form, const VecX& x, int b, double factor, double* out, bool linear_part = false) const;
  /// block += factor d²(form)/dx_a dx_b.
  void add_curvature(const NaturalForm& form, int a, int b, double factor, Eigen::Ref<MatX> block) const;
  /// block += factor (da/dx)ᵀ (db/dx).
  void add_product(const NaturalVector& a, const NaturalVector& b, double factor, Eigen::Ref<MatX> block) const;

  /// g = rows at x; y = G(x) v; f += factor G(x)ᵀ mu.
  void residual(const VecX& x, VecX& g) const;
  void apply_rows(const VecX& x, const VecX& v, VecX& y) const;
  void add_transposed(const VecX& x, const VecX& mu, double factor, VecX& f, bool linear_part = false) const;

  /// Directors of body b (space) as columns; and the rotation nearest to such a matrix.
  Mat3 directors(int b, const VecX& x) const { return Eigen::Map<const Mat3>(x.data() + 12 * b + 3); }
  static Mat3 nearest_rotation(const Mat3& D);

 private:
  void add_internal_rows();
  void add_joint_rows(int joint);
  void load_space(int b, const VecX& x, const VecX& v, BodyState& s) const;
  void load_flat(int b, const VecX& x, const VecX& v, BodyState& s) const;

  const Model& model_;
  Scales scales_;
  std::optional<Plane> plane_;
  std::vector<double> mass_;     // per body
  std::vector<Mat3> pseudo_;     // per body: E; in the plane its first entry is the inertia about the normal
  std::vector<double> offsets_;  // per body: distance of its centre of mass along the normal
  std::vector<NaturalForm> forms_;
  std::vector<int> first_row_;  // joints + 1
};

/// Why natural coordinates do not take a model, as a sentence that names the joint or coupling: screws and couplings are no
/// polynomials of degree two, rotors (armature) make the mass depend on the configuration. Empty where there is nothing to
/// object.
std::string natural_objection(const Model& model);

/// Rows of all joints outside the tree.
int closure_rows_of(const NaturalCoordinates& c, const SpanningTree& tree);
/// Per connected part: whether a joint of it lies outside the tree.
std::vector<bool> looped_parts(const NaturalCoordinates& c, const SpanningTree& tree);

/// A pivot below this part of its column is what rounding left of nothing.
inline constexpr double kNaturalPivot = 1e-14;
/// Inertia below this part of the usual in its connected part is borrowed where loops may have to provide it. The answer does not
/// depend on it: borrowing is exact for any inertia.
inline constexpr double kLentInertia = 1e-3;

}  // namespace invar
