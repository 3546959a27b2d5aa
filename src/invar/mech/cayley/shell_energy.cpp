// SPDX-License-Identifier: Apache-2.0
// The books of a shell: what energy it has cost, who can give it back without touching momenta, and what there should be.
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "invar/mech/cayley/shell.hpp"

namespace invar::cayley {
namespace {

constexpr double kGiven = 1e-6;     // share of its kinetic energy by which a motion may be changed to restore energy
constexpr double kNothing = 1e-16;  // of the kinetic energy
constexpr int kAudit = 50;          // steps
constexpr double kLedger = 4e-16;   // of the terms of the energy: their rounding
constexpr double kMostRounding = 1e-13;

}  // namespace

// The energy at node 0, where node 1 is now.
template <class G>
void Shell<G>::begin_ledger() {
  const auto potential = tree_.potential();
  // Energy is given back to the whole, so it is told for the whole: not where parts move on their own.
  one_ledger_ =
      potential.known && std::all_of(parts_.begin() + 1, parts_.end(), [&](const Part& p) { return p.root == parts_[1].root; });
  ledger_ = {};
  ledger_.add(potential.value);
  for (std::size_t i = 1; i < tree_.slots().size(); ++i) {
    const Slot<G>& b = tree_.slots()[i];
    ledger_.add(0.5 * (b.mass * b.v0.squaredNorm() + b.W0.dot(b.J * b.W0) + b.armature * b.rate0 * b.rate0));
  }
}

// Rounding of many steps would walk away: where the energy is off by more than the rounding of its own terms, that is given back,
// too. What is off by more than rounding can explain is left as it is, for everybody to see.
template <class G>
void Shell<G>::balance_ledger() {
  ledger_.add(work_);
  ledger_.add(-tree_.dissipated());
  if (!one_ledger_) return;
  const auto potential = tree_.potential();
  Balance& balance = balance_[parts_[1].root];
  CompensatedSum now;
  now.add(potential.value);
  now.add(balance.whole);
  now.add(balance.defect);
  const double off = ledger_.value() - now.value(), size = potential.size + balance.whole;
  const bool rounding = std::abs(off) < kMostRounding * size && std::abs(off) < kGiven * balance.kinetic;
  if (rounding && std::abs(off) > kLedger * size) balance.defect += off;
}

template <class G>
double Shell<G>::rotor_energy() const {
  double sum = 0;
  for (const Slot<G>& b : tree_.slots()) sum += 0.5 * b.armature * b.rate0 * b.rate0;
  return sum;
}

// M n in World components.
template <class G>
typename Shell<G>::Vec Shell<G>::weighted(int i, const Vec& n, const typename G::Rot& R) const {
  const Slot<G>& b = tree_.slots()[i];
  Vec out;
  const Ang w = n.template tail<G::A>();
  out << b.mass * n.template head<G::L>(), out_of<G>(R, b.J * into<G>(R, w));
  return out;
}

// What energy n_0 and n_1 have cost, and the kinetic energy of the motion that can give it back, into velocities_. Whether that
// is enough: a floating component that hardly moves in itself has nothing to give.
template <class G>
bool Shell<G>::account() {
  auto& slots = tree_.slots();
  for (std::size_t i = 1; i < slots.size(); ++i) {
    const Slot<G>& b = slots[i];
    Balance& balance = balance_[parts_[i].root];
    if (b.armature > 0) {
      balance.defect += 0.5 * b.armature * rotor_normal_[i] * (rotor_normal_[i] + 2 * rotors_[i]);
      balance.whole += 0.5 * b.armature * rotors_[i] * rotors_[i];
    }
    if (!b.massive) continue;
    const Vec Mn = weighted(static_cast<int>(i), normal_[i], b.R1);
    balance.defect += 0.5 * Mn.dot(normal_[i] + 2 * velocities_[i]);
    balance.whole += 0.5 * velocities_[i].dot(weighted(static_cast<int>(i), velocities_[i], b.R1));
  }
  for (std::size_t i = 1; i < slots.size(); ++i)
    if (parts_[i].root == static_cast<int>(i)) subtract_rigid_motion(static_cast<int>(i));
  if (pivot_ > 0) subtract_spin();
  for (std::size_t i = 1; i < slots.size(); ++i) {
    const Slot<G>& b = slots[i];
    Balance& balance = balance_[parts_[i].root];
    if (b.armature > 0) balance.kinetic += 0.5 * b.armature * rotors_[i] * rotors_[i];
    if (b.massive) balance.kinetic += 0.5 * velocities_[i].dot(weighted(static_cast<int>(i), velocities_[i], b.R1));
  }
  return given_back(kNothing);
}

// Whether the motion can give back what is missing, or what cannot be is nothing: less than a share of all the energies there
// are.
template <class G>
bool Shell<G>::given_back(double share) const {
  const auto fine = [&](double energy) {
    return std::all_of(balance_.begin(), balance_.end(), [&](const Balance& b) {
      return std::abs(b.defect) <= kGiven * b.kinetic || std::abs(b.defect) <= share * (b.whole + energy);
    });
  };
  return fine(0) || fine(tree_.potential().size);
}

// The velocities of a floating component about its own rigid motion, into velocities_: scaling them changes no momentum.
template <class G>
void Shell<G>::subtract_rigid_motion(int root) {
  auto& slots = tree_.slots();
  using Mat = Eigen::Matrix<double, G::N, G::N>;
  Mat inertia = Mat::Zero();
  Vec momentum = Vec::Zero();
  const Lin origin = slots[root].phi1;
  const auto in = [&](std::size_t i) { return slots[i].massive && parts_[i].root == root; };
  for (std::size_t i = 1; i < slots.size(); ++i) {
    if (!in(i)) continue;
    const Slot<G>& b = slots[i];
    const auto arm = G::arm(b.phi1 - origin);
    const Vec p = weighted(static_cast<int>(i), velocities_[i], b.R1);
    momentum += p;
    momentum.template tail<G::A>() += arm.transpose() * p.template head<G::L>();
    inertia.template topLeftCorner<G::L, G::L>().diagonal().array() += b.mass;
    inertia.template topRightCorner<G::L, G::A>() += b.mass * arm;
    inertia.template bottomLeftCorner<G::A, G::L>() += b.mass * arm.transpose();
    if constexpr (G::A == 3)
      inertia.template bottomRightCorner<3, 3>() += b.R1 * b.J * b.R1.transpose() + b.mass * arm.transpose() * arm;
    else
      inertia.template bottomRightCorner<1, 1>() += b.J + b.mass * arm.transpose() * arm;
  }
  const Vec rigid = inertia.fullPivLu().solve(momentum);
  const Ang turn = rigid.template tail<G::A>();
  for (std::size_t i = 1; i < slots.size(); ++i) {
    if (parts_[i].root != root) continue;
    velocities_[i].template head<G::L>() -= rigid.template head<G::L>() + G::cross(turn, slots[i].phi1 - origin);
    velocities_[i].template tail<G::A>() -= turn;
  }
}

// A mechanism that hangs on one ball, or on one hinge along gravity, has an angular momentum about the vertical there.
template <class G>
void Shell<G>::find_pivot() {
  if constexpr (G::A == 3) {
    const auto& slots = tree_.slots();
    int held = 0;
    for (std::size_t i = 1; i < slots.size(); ++i)
      if (slots[i].inner == 0 && slots[i].hang != Hang::Free) ++held, pivot_ = static_cast<int>(i);
    bool tied = false;
    for (const Tie<G>& tie : tree_.ties()) tied = tied || (!tie.soft() && (tie.slot[0] == 0 || tie.slot[1] == 0));
    const Vec3& g = tree_.gravity();
    const bool hinge = slots[pivot_].hang == Hang::Hinge;
    if (hinge)
      axes_ = slots[pivot_].Q.col(2);
    else if (g.norm() > 0)
      axes_ = g.normalized();
    else
      axes_ = Mat3::Identity();
    const bool turns = slots[pivot_].hang == Hang::Ball || (hinge && g.cross(slots[pivot_].Q.col(2)).norm() <= 1e-14 * g.norm());
    if (held != 1 || tied || !turns) pivot_ = 0;
  }
}

// The velocities of what hangs on the pivot, without the turn about it that has their angular momentum: scaling them keeps that.
template <class G>
void Shell<G>::subtract_spin() {
  if constexpr (G::A == 3) {
    auto& slots = tree_.slots();
    const Lin origin = slots[pivot_].phi1 - slots[pivot_].gam1;
    Mat3 inertia = Mat3::Zero();
    Vec3 spin = Vec3::Zero();
    for (std::size_t i = 1; i < slots.size(); ++i) {
      const Slot<G>& b = slots[i];
      if (!b.massive || parts_[i].root != 0) continue;
      const Mat3 arm = G::arm(b.phi1 - origin);
      const Vec p = weighted(static_cast<int>(i), velocities_[i], b.R1);
      spin += p.template tail<3>() + arm.transpose() * p.template head<3>();
      inertia += b.R1 * b.J * b.R1.transpose() + b.mass * arm.transpose() * arm;
    }
    const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 3, 3> about = axes_.transpose() * inertia * axes_;
    const Vec3 turn = axes_ * about.fullPivLu().solve(axes_.transpose() * spin);
    for (std::size_t i = 1; i < slots.size(); ++i) {
      if (parts_[i].root != 0) continue;
      velocities_[i].template head<3>() -= turn.cross(slots[i].phi1 - origin);
      velocities_[i].template tail<3>() -= turn;
    }
  }
}

template <class G>
void Shell<G>::restore_energy() {
  auto& slots = tree_.slots();
  // (1 + factor)² kinetic = kinetic + defect. Added, not multiplied: products would round one way.
  for (std::size_t i = 1; i < slots.size(); ++i) {
    Slot<G>& b = slots[i];
    const Balance& balance = balance_[parts_[i].root];
    const double e = balance.defect / balance.kinetic;
    if (!(std::abs(e) < 0.5)) continue;  // hardly moving: nothing that could give it back
    const double factor = e / (1 + std::sqrt(1 + e));
    b.rate1 += factor * rotors_[i];
    b.v1 += factor * velocities_[i].template head<G::L>();
    b.W1 += factor * into<G>(b.R1, Ang(velocities_[i].template tail<G::A>()));
  }
}

// The bare step keeps its books, too, but looks at them now and then.
template <class G>
void Shell<G>::audit() {
  if (++since_audit_ < kAudit) {
    ledger_.add(work_);
    ledger_.add(-tree_.dissipated());
    return;
  }
  since_audit_ = 0;
  for (Balance& balance : balance_) balance = {};
  for (std::size_t i = 1; i < tree_.slots().size(); ++i) {
    const Slot<G>& b = tree_.slots()[i];
    normal_[i].setZero();
    rotor_normal_[i] = 0;
    velocities_[i] << b.v1, out_of<G>(b.R1, b.W1);
    rotors_[i] = b.rate1;
  }
  account();
  balance_ledger();
  restore_energy();
}

#define INVAR_MEMBERS(G)                                                                             \
  template void Shell<G>::begin_ledger();                                                            \
  template void Shell<G>::balance_ledger();                                                          \
  template double Shell<G>::rotor_energy() const;                                                    \
  template typename Shell<G>::Vec Shell<G>::weighted(int, const Vec&, const typename G::Rot&) const; \
  template bool Shell<G>::account();                                                                 \
  template bool Shell<G>::given_back(double) const;                                                  \
  template void Shell<G>::find_pivot();                                                              \
  template void Shell<G>::restore_energy();                                                          \
  template void Shell<G>::audit();
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
