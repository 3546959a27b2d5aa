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
  // Where everything is held to the ground there is no part to tell it for.
  one_ledger_ = potential.known && parts_.size() > 1 &&
                std::all_of(parts_.begin() + 1, parts_.end(), [&](const Part& p) { return p.home == parts_[1].home; });
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
  Balance& balance = balance_[parts_[1].home];
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
    Balance& balance = balance_[parts_[i].home];
    if (b.armature > 0) {
      balance.defect += 0.5 * b.armature * rotor_normal_[i] * (rotor_normal_[i] + 2 * rotors_[i]);
      balance.n1 += b.armature * rotor_normal_[i] * rotor_normal_[i];
      balance.whole += 0.5 * b.armature * rotors_[i] * rotors_[i];
    }
    if (!b.massive) continue;
    const Vec Mn = weighted(static_cast<int>(i), normal_[i], b.R1);
    balance.defect += 0.5 * Mn.dot(normal_[i] + 2 * velocities_[i]);
    balance.n1 += Mn.dot(normal_[i]);
    balance.whole += 0.5 * velocities_[i].dot(weighted(static_cast<int>(i), velocities_[i], b.R1));
  }
  for (std::size_t i = 1; i < slots.size(); ++i)
    if (parts_[i].root == static_cast<int>(i)) subtract_motions(static_cast<int>(i), rigid_);
  subtract_motions(0, symmetries_);
  for (std::size_t i = 1; i < slots.size(); ++i) {
    const Slot<G>& b = slots[i];
    Balance& balance = balance_[parts_[i].home];
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

// A mechanism that the ground holds by one joint alone has the momenta of the motions which that joint and gravity leave free: of
// slides across gravity, and of turning about gravity where the axis stays or slides go everywhere across it.
template <class G>
void Shell<G>::find_symmetries() {
  const auto& slots = tree_.slots();
  std::vector<int> hangs_on(slots.size(), 0), outer(slots.size(), 0);
  for (std::size_t i = 1; i < slots.size(); ++i)
    if (slots[i].hang != Hang::Free) ++hangs_on[slots[i].inner], outer[slots[i].inner] = static_cast<int>(i);
  if (hangs_on[0] != 1 || tree_.tied_to_ground()) return;
  const Lin& g = tree_.gravity();
  const double none = 1e-14 * g.norm();
  typename G::Rot axes = G::Rot::Identity();
  std::vector<Lin> slides;
  for (int i = outer[0]; i != 0; i = !slots[i].massive && hangs_on[i] == 1 ? outer[i] : 0) {
    const Slot<G>& b = slots[i];
    if (b.angle) return;  // something elastic, or a rotor, holds it
    axes = axes * b.Q;
    if (b.hang == Hang::Slide) {
      slides.push_back(G::slide_axis(axes));
      if (std::abs(slides.back().dot(g)) <= none) symmetries_.push_back({slides.back(), Ang::Zero(), i});
      continue;
    }
    if constexpr (G::A == 1) {
      if (g.isZero(0) && slides.size() != 1) symmetries_.push_back({Lin::Zero(), Ang(1.0), i});
    } else if (b.hang == Hang::Hinge) {
      const Ang n = G::hinge_axis(axes);
      const auto across = std::count_if(slides.begin(), slides.end(), [&](const Lin& a) { return a.cross(n).norm() > 1e-14; });
      const bool stays = across == 0 || (across == 2 && slides[0].cross(slides[1]).cross(n).norm() < 1e-14);
      if (stays && g.cross(n).norm() <= none) symmetries_.push_back({Lin::Zero(), n, i});
    } else if (b.hang == Hang::Ball && slides.empty()) {
      for (int k = 0; k < 3 && g.isZero(0); ++k) symmetries_.push_back({Lin::Zero(), Vec3::Unit(k), i});
      if (!g.isZero(0)) symmetries_.push_back({Lin::Zero(), g.normalized(), i});
    }
    return;
  }
}

// The velocities of a component without the rigid motion among some that has their momenta, into velocities_: scaling them
// changes none of those.
template <class G>
void Shell<G>::subtract_motions(int root, const std::vector<Motion>& motions) {
  if (motions.empty()) return;
  const auto& slots = tree_.slots();
  using Few = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, G::N, 1>;
  using Small = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, G::N, G::N>;
  using Fields = Eigen::Matrix<double, G::N, Eigen::Dynamic, 0, G::N, G::N>;
  const auto n = static_cast<Eigen::Index>(motions.size());
  const auto fields_at = [&](std::size_t i) {
    Fields out(G::N, n);
    for (Eigen::Index k = 0; k < n; ++k) {
      const Motion& m = motions[static_cast<std::size_t>(k)];
      const Slot<G>& about = slots[m.at > 0 ? m.at : root];
      out.col(k) << m.v + G::cross(m.w, slots[i].phi1 - (about.phi1 - about.gam1)), m.w;
    }
    return out;
  };
  Small inertia = Small::Zero(n, n);
  Few momentum = Few::Zero(n);
  for (std::size_t i = 1; i < slots.size(); ++i) {
    if (!slots[i].massive || parts_[i].root != root) continue;
    const Fields fields = fields_at(i);
    momentum += fields.transpose() * weighted(static_cast<int>(i), velocities_[i], slots[i].R1);
    for (Eigen::Index k = 0; k < n; ++k)
      inertia.col(k) += fields.transpose() * weighted(static_cast<int>(i), fields.col(k), slots[i].R1);
  }
  const Few share = inertia.fullPivLu().solve(momentum);
  for (std::size_t i = 1; i < slots.size(); ++i)
    if (parts_[i].root == root) velocities_[i] -= fields_at(i) * share;
}

template <class G>
void Shell<G>::restore_energy() {
  auto& slots = tree_.slots();
  // (1 + factor)² kinetic = kinetic + defect. Added, not multiplied: products would round one way.
  for (std::size_t i = 1; i < slots.size(); ++i) {
    Slot<G>& b = slots[i];
    const Balance& balance = balance_[parts_[i].home];
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
  template void Shell<G>::find_symmetries();                                                         \
  template void Shell<G>::restore_energy();                                                          \
  template void Shell<G>::audit();
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
