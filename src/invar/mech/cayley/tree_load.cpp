// SPDX-License-Identifier: Apache-2.0
// What acts from outside: asked for at the mean motion, given to the bodies as wrenches, and its work.
#include <cmath>

#include "invar/mech/cayley/tree.hpp"
#include "invar/mech/over_step.hpp"

namespace invar::cayley {
namespace {

// The difference of two loads relative to their size.
double distance(const Load& a, const Load& b) {
  double change = (a.efforts - b.efforts).squaredNorm(), size = a.efforts.squaredNorm();
  for (std::size_t i = 0; i < a.port.size(); ++i) {
    change += (a.port[i].force - b.port[i].force).squaredNorm() + (a.port[i].moment - b.port[i].moment).squaredNorm();
    size += a.port[i].force.squaredNorm() + a.port[i].moment.squaredNorm();
  }
  return size > 0 ? std::sqrt(change / size) : 0.0;
}

}  // namespace

// Turns efforts on joints that are no scalar freedom of the tree into wrenches on their bodies that do the same work.
template <class G>
void Tree<G>::spread(double h, const Bodies& bodies, Load& load) const {
  JointOver over;
  for (const int j : loose_) {
    const Joint& joint = model_.joints()[j];
    auto efforts = load.efforts.segment(joint.v0, joint.nv);
    if (efforts.isZero(0)) continue;
    joint_over(model_, j, bodies, h, over);
    const Wrench w = effort_wrench(over, efforts);
    load.port[joint.child] += w.about(over.arm_child);
    if (joint.parent != kWorld) load.port[joint.parent] -= w.about(over.arm_parent);
    efforts.setZero();
  }
}

// Asks for the load at the mean motion of the present iterate; returns how much it has changed since it was asked for last.
template <class G>
double Tree<G>::ask(double h, Loading& loading) {
  // On a wild iterate the motion is what could be followed of it: Newton goes on from there, or the step is divided.
  if (!pins_.empty())
    finish_pins(h);
  else
    for (std::size_t i = 1; i < slots_.size(); ++i) move(slots_[i], slots_[slots_[i].inner], h);
  mean_bodies(bodies_);
  const Load& now = loading.at(bodies_);
  const double change = distance(now, asked_);
  asked_ = load_ = now;
  spread(h, bodies_, load_);
  return change;
}

template <class G>
void Tree<G>::mean_bodies(Bodies& out) const {
  for (int body = 0; body < static_cast<int>(out.size()); ++body) {
    const Slot<G>& b = slots_[skeleton_.places[body].part];
    const Lin arm = 0.5 * ((b.R0 + b.R1) * centres_[body]);
    Rot halfway = b.R0 + b.R1;
    if constexpr (G::A == 3) {
      const Quat q0(b.R0), q1(b.R1);
      halfway = normalized(Quat((q0.coeffs() + (q0.dot(q1) < 0 ? -1.0 : 1.0) * q1.coeffs()).eval())).toRotationMatrix();
    }
    store(body, 0.5 * (b.phi0 + b.phi1) + arm, b.v + G::cross(b.w, arm), b.w, halfway, out);
  }
}

template <class G>
double Tree<G>::work(double h) const {
  const Load& load = load_;
  double sum = 0;
  for (std::size_t body = 0; body < load.port.size(); ++body) {
    const Slot<G>& b = slots_[skeleton_.places[body].part];
    const Lin arm = 0.5 * ((b.R0 + b.R1) * centres_[body]);
    sum += h * (lin(load.port[body].force).dot(b.v + G::cross(b.w, arm)) + ang(load.port[body].moment).dot(b.w));
  }
  for (const Slot<G>& b : slots_)
    if (b.freedom >= 0 && b.hang != Hang::Ball) sum += b.sign * load.efforts[b.freedom] * (b.q1 - b.q0);
  return sum;
}

#define INVAR_MEMBERS(G)                          \
  template double Tree<G>::ask(double, Loading&); \
  template double Tree<G>::work(double) const;
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
