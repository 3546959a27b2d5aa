// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "invar/model/joint/face.hpp"

namespace invar {

/// One elementary motion on the way from F to M, about or along an axis of the frame that the path has reached so far.
struct Element {
  enum class Motion : std::uint8_t { Turn, Slide, Ball };
  Motion motion = Motion::Turn;
  int axis = 2;       ///< 0, 1, 2: x, y, z; a ball has none
  int freedom = 0;    ///< that moves it; a ball: the first of its three
  double factor = 1;  ///< it turns or slides by factor * q
};

/// A scalar condition on the pose (R, p) of M in F: A:R + b·p + d·(Rᵀp) + e p·p - c = 0. A:R is the sum of A_ij f_i·m_j over the
/// axes of both frames, b·p that of b_i f_i·(M - F), d·(Rᵀp) that of d_j m_j·(M - F).
struct Form {
  Mat3 A = Mat3::Zero();
  Vec3 b = Vec3::Zero(), d = Vec3::Zero();
  double e = 0, c = 0;

  double value(const Mat3& R, const Vec3& p) const;
  /// Its gradient over twists (angular; linear) of M in F, axes of F.
  Vec6 row(const Mat3& R, const Vec3& p) const;
  /// What its second derivative has beside row · (accelerations), at the twist (w; v).
  double velocity_part(const Mat3& R, const Vec3& p, const Vec3& w, const Vec3& v) const;
};

/// Which shape the turns of a path have: it says how coordinates are measured, and which kernel is fast.
enum class Turning : std::uint8_t { None, OneAxis, TwoAxes, Mirrored, Ball, Other };

/// All that a joint kind is. A path of elementary motions from F to M, moved by the freedoms, or at most six forms, or both;
/// pose, motion, bias, rows, dual, measure (motion.hpp), rows of natural coordinates, units and words follow from them. Freedoms
/// that turn come with rates in rad/s, others in m/s. A ball is the last element; so scalar freedom k has coordinate k, and the
/// quaternion of a ball begins at the coordinate of its first freedom.
class Facts {
 public:
  static constexpr int kElements = 8, kForms = 6, kFreedoms = 6;

  const char* word() const { return word_; }
  std::span<const Element> path() const { return {path_.data(), static_cast<std::size_t>(elements_)}; }
  /// Stated, or generated from a path of slides along F with turns behind them, each with a freedom of its own. Empty where
  /// neither: see quadratic().
  std::span<const Form> forms() const { return {forms_.data(), static_cast<std::size_t>(form_count_)}; }

  /// X_FM, and the coordinates of the nearest admissible pose, angles that wind on the turn next to zero.
  Pose pose(const double* q) const;
  void measure(const Pose& X_FM, double* q) const;
  /// As face.hpp says, axes of F, at the origin of M: V = S v, Ṡ v, C V = 0, and wrenches of unit efforts.
  void motion(const double* q, Columns& S) const;
  Vec6 bias(const double* q, const double* v) const;
  void rows(const double* q, Rows& C) const;
  void dual(const double* q, Columns& D) const;

  int nv() const { return nv_; }
  int nq() const { return nv_ + (ball_ >= 0 ? 1 : 0); }
  /// Conditions that it puts on two bodies.
  int rows() const { return has_path() ? 6 - nv_ : form_count_; }
  /// Without a path only its conditions are known: it closes loops and is never part of a tree.
  bool has_path() const { return has_path_; }
  /// Forms stand for all of its conditions.
  bool quadratic() const { return form_count_ == rows(); }
  /// Motion, rows and duals are the same at all coordinates, these, and rates cause no acceleration by themselves.
  bool steady() const { return steady_; }
  const Columns& steady_motion() const { return motion_; }
  const Columns& steady_dual() const { return dual_; }
  const Rows& steady_rows() const { return rows_; }
  /// What fast kernels are made for: one turn, one slide, a ball at a point, and nothing else.
  bool is_turn() const { return is_only(Element::Motion::Turn); }
  bool is_slide() const { return is_only(Element::Motion::Slide); }
  bool is_point() const { return is_only(Element::Motion::Ball); }
  bool is_free() const { return nv_ == 6; }
  /// One freedom, which turns about z, slides along z, or both.
  bool on_z() const;
  /// No slide follows a turn: where M is does not depend on how it is turned.
  bool slides_first() const { return slides_first_; }
  Turning turning() const { return turning_; }

  bool turns(int k) const { return turns_[static_cast<std::size_t>(k)]; }
  /// An angle that returns after one turn: its coordinate is measured modulo that.
  bool winds(int k) const { return winds_[static_cast<std::size_t>(k)]; }
  /// Moves a coordinate of its own: not one of the three of a ball.
  bool is_scalar(int k) const { return ball_ < 0 || k < ball_; }
  /// First freedom of the ball, which is also its first coordinate; -1: none.
  int ball() const { return ball_; }
  const char* unit(int k) const { return is_scalar(k) ? (turns(k) ? "rad" : "m") : "1"; }
  /// "along x, along y, angle": the freedoms in their order.
  std::string order_of_freedoms() const;

  /// Directions that a description names: 0; 1, `axis`; 2, `axis2` as well.
  int axes() const { return axes_; }

 private:
  friend class FactsOf;
  bool is_only(Element::Motion motion) const { return elements_ == 1 && path_[0].motion == motion; }

  const char* word_ = "";
  std::array<Element, kElements> path_{};
  std::array<Form, kForms> forms_{};
  std::array<const char*, kFreedoms> labels_{};
  std::array<bool, kFreedoms> turns_{}, winds_{};
  int elements_ = 0, form_count_ = 0, nv_ = 0, ball_ = -1, axes_ = 0;
  bool has_path_ = true, steady_ = true, slides_first_ = true;
  Turning turning_ = Turning::None;
  Columns motion_, dual_;
  Rows rows_;
};

enum class Axis : std::uint8_t { X, Y, Z };

/// Writes facts down: FactsOf("universal").axes(2).turn(Axis::Z, 0, "angle about axis").turn(Axis::X, 1, "angle about
/// axis2").facts().
class FactsOf {
 public:
  explicit FactsOf(const char* word) { facts_.word_ = word; }

  FactsOf&& axes(int n) && { return facts_.axes_ = n, std::move(*this); }
  FactsOf&& turn(Axis axis, int freedom, const char* label = nullptr) && {
    return std::move(*this).add(Element::Motion::Turn, axis, freedom, 1, label);
  }
  FactsOf&& slide(Axis axis, int freedom, const char* label = nullptr) && {
    return std::move(*this).add(Element::Motion::Slide, axis, freedom, 1, label);
  }
  /// Moved by a freedom that moves other elements as well.
  FactsOf&& turn(Axis axis, int freedom, double factor) && {
    return std::move(*this).add(Element::Motion::Turn, axis, freedom, factor, nullptr);
  }
  FactsOf&& slide(Axis axis, int freedom, double factor) && {
    return std::move(*this).add(Element::Motion::Slide, axis, freedom, factor, nullptr);
  }
  FactsOf&& ball(int first_freedom) && { return std::move(*this).add(Element::Motion::Ball, Axis::X, first_freedom, 1, nullptr); }
  FactsOf&& form(const Form& form) &&;
  /// There is no path: forms alone.
  FactsOf&& none() && { return facts_.has_path_ = false, std::move(*this); }

  Facts facts() &&;

 private:
  FactsOf&& add(Element::Motion motion, Axis axis, int freedom, double factor, const char* label) &&;
  void find_turning();
  void generate_forms();

  Facts facts_;
};

}  // namespace invar
