// SPDX-License-Identifier: Apache-2.0
//
// With b = h w/2 the Cayley rotation is the quaternion (1, b)/|(1, b)|. Two of them one after the other, b = b_P and then a turn
// by Δq about an axis n that the parent carries, compose to b_C: with t = tan(Δq/2) and the mean axis n_m of the parent
//   b_C = b_P + y n_m,    y = t (1 + b_P · b_C)
// (n_m is the mean of the axis before and after, so both orders of the product are in it). Hence the rate along n_m is
// 2 y/h, and Δq/h is its part atan(t)/t / (1 + b_P · b_C).
// A slide by q along n that turns with w: (q_1 n_1 - q_0 n_0)/h = w × (mean of q n) + (Δq/h) (n_m - b × (b × n_m)).
#include "invar/mech/over_step.hpp"

#include <array>

#include "invar/mech/cayley/geometry.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {
namespace {

// Left inverses of one or two directions within their span.
void invert(const Vec3& a, Vec3& a_dual) { a_dual = a / a.squaredNorm(); }
void invert(const Vec3& a, const Vec3& b, Vec3& a_dual, Vec3& b_dual) {
  const double aa = a.squaredNorm(), bb = b.squaredNorm(), ab = a.dot(b), det = aa * bb - ab * ab;
  a_dual = (bb * a - ab * b) / det;
  b_dual = (aa * b - ab * a) / det;
}

class Over {
 public:
  Over(const Model& model, int j, const Bodies& mean, double h, JointOver& out)
      : joint_(model.joints()[static_cast<std::size_t>(j)]),
        parent_(body_state(mean, joint_.parent)),
        child_(mean[static_cast<std::size_t>(joint_.child)]),
        h_(h),
        out_(out) {
    const Vec3 arm = joint_.X_CM.p - model.bodies()[static_cast<std::size_t>(joint_.child)].inertia.p_BC;
    out_.arm_child = mean_arm(child_.q_WB * arm, child_.w_WB, h);
    out_.arm_parent = joint_.parent == kWorld ? Vec3(Vec3::Zero()) : Vec3(child_.p_WC + out_.arm_child - parent_.p_WC);
    turning_ = child_.w_WB - parent_.w_WB;
    moving_ = child_.v_WC + child_.w_WB.cross(out_.arm_child) - parent_.v_WC;
    if (joint_.parent != kWorld) moving_ -= parent_.w_WB.cross(out_.arm_parent);
    out_.S.setZero(6, joint_.nv);
    out_.dual.setZero(6, joint_.nv);
  }

  void fill() {
    const Facts& facts = *joint_.facts;
    turn(facts);
    std::array<const Element*, 3> slides{};
    int count = 0;
    for (const Element& e : facts.path()) {
      if (e.motion != Element::Motion::Slide) continue;
      if (facts.turns(e.freedom))  // an advance with the turn
        out_.S.col(e.freedom).tail<3>() = e.factor * along(e.axis);
      else
        slides[static_cast<std::size_t>(count++)] = &e;
    }
    if (count == 1) slide(slides[0]->freedom, slides[0]->axis);
    if (count == 2) slide_in_plane(*slides[0], *slides[1]);
    if (count == 3) axes(slides[0]->freedom, 3);
    for (int k = 0; k < joint_.nv; ++k)
      out_.v[k] = out_.dual.col(k).head<3>().dot(turning_) + out_.dual.col(k).tail<3>().dot(moving_);
  }

 private:
  // Mean of an axis of F, which the parent carries, and of M.
  Vec3 axis_F(int k) const { return mean_arm(parent_.q_WB * joint_.X_PF.q * Vec3::Unit(k), parent_.w_WB, h_); }
  Vec3 axis_M(int k) const { return mean_arm(child_.q_WB * joint_.X_CM.q * Vec3::Unit(k), child_.w_WB, h_); }
  // n_m - b × (b × n_m)
  Vec3 along(int k) const {
    const Vec3 b = 0.5 * h_ * parent_.w_WB, n = axis_F(k);
    return n - b.cross(b.cross(n));
  }
  // Δq/h over the rate along the mean axis, for a hinge between parts that turn with w_a and w_b.
  double ratio(double rate, const Vec3& w_a, const Vec3& w_b) const {
    const double both = 1 + 0.25 * h_ * h_ * w_a.dot(w_b);
    return cayley::arc_ratio(0.5 * h_ * rate / both) / both;
  }

  void turn(const Facts& facts) {
    if (facts.turning() == Turning::Ball) return axes(facts.ball(), 0);
    const Element *first = nullptr, *second = nullptr;
    for (const Element& e : facts.path())
      if (e.motion == Element::Motion::Turn) (first == nullptr ? first : second) = &e;
    if (second != nullptr)
      cardan(*first, *second);
    else if (first != nullptr)
      hinge(*first);
  }
  void hinge(const Element& e) {
    const int k = e.freedom;
    Vec3 n = axis_F(e.axis), dual;
    invert(n, dual);
    const double part = ratio(dual.dot(turning_), parent_.w_WB, child_.w_WB);
    out_.S.col(k).head<3>() = n / part;
    out_.dual.col(k).head<3>() = part * dual;
  }
  void cardan(const Element& first, const Element& second) {
    const Vec3 a = axis_F(first.axis), b = axis_M(second.axis);
    Vec3 a_dual, b_dual;
    invert(a, b, a_dual, b_dual);
    const double rate_a = a_dual.dot(turning_), rate_b = b_dual.dot(turning_);
    const Vec3 between = parent_.w_WB + rate_a * a;
    const double part_a = ratio(rate_a, parent_.w_WB, between), part_b = ratio(rate_b, between, child_.w_WB);
    out_.S.col(first.freedom).head<3>() = a / part_a, out_.S.col(second.freedom).head<3>() = b / part_b;
    out_.dual.col(first.freedom).head<3>() = part_a * a_dual, out_.dual.col(second.freedom).head<3>() = part_b * b_dual;
  }
  void slide(int k, int axis) {
    const Vec3 a = along(axis);
    Vec3 dual;
    invert(a, dual);
    out_.S.col(k).tail<3>() = a;
    out_.dual.col(k).tail<3>() = dual;
  }
  void slide_in_plane(const Element& first, const Element& second) {
    const Vec3 a = along(first.axis), b = along(second.axis);
    Vec3 a_dual, b_dual;
    invert(a, b, a_dual, b_dual);
    out_.S.col(first.freedom).tail<3>() = a, out_.S.col(second.freedom).tail<3>() = b;
    out_.dual.col(first.freedom).tail<3>() = a_dual, out_.dual.col(second.freedom).tail<3>() = b_dual;
  }
  // Three freedoms along the axes of F halfway, in the rows that start at `row`.
  void axes(int k, int row) {
    const Mat3 R = (parent_.q_WB * joint_.X_PF.q).toRotationMatrix();
    out_.S.block<3, 3>(row, k) = R;
    out_.dual.block<3, 3>(row, k) = R;
  }

  const Joint& joint_;
  const BodyState &parent_, &child_;
  double h_;
  JointOver& out_;
  Vec3 turning_, moving_;  // relative mean twist
};

}  // namespace

BodyState mean_motion(const BodyState& from, const BodyState& to, double h) {
  const double side = from.q_WB.dot(to.q_WB) < 0 ? -1.0 : 1.0;
  const Quat turn = to.q_WB * from.q_WB.conjugate();
  return {0.5 * (from.p_WC + to.p_WC), (to.p_WC - from.p_WC) / h, 2 / h * turn.vec() / turn.w(),
          normalized(Quat((from.q_WB.coeffs() + side * to.q_WB.coeffs()).eval()))};
}

BodyState node_of(const BodyState& mean, double h, int side) {
  // Half of the Cayley rotation: tan of half its angle halved.
  const Vec3 b = 0.5 * h * mean.w_WB, half = side * b / (1 + std::sqrt(1 + b.squaredNorm()));
  return {mean.p_WC + 0.5 * h * side * mean.v_WC, Vec3::Zero(), Vec3::Zero(),
          normalized(Quat(1, half.x(), half.y(), half.z()) * mean.q_WB)};
}

void joint_over(const Model& model, int j, const Bodies& mean, double h, JointOver& out) { Over(model, j, mean, h, out).fill(); }

Wrench effort_wrench(const JointOver& over, const Eigen::Ref<const VecX>& efforts) {
  Wrench w;
  for (int k = 0; k < over.dual.cols(); ++k) {
    w.moment += efforts[k] * over.dual.col(k).head<3>();
    w.force += efforts[k] * over.dual.col(k).tail<3>();
  }
  return w;
}

}  // namespace invar
