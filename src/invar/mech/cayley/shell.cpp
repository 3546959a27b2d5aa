// SPDX-License-Identifier: Apache-2.0
//
// μ is not made of rows: for a joint of the tree it is the wrench that passes it (force and moment about φ of the outer body, in
// that body's axes), for ties their multipliers, for rotors their own. Gᵀμ adds each wrench to its body and takes it from the
// nearest body inwards; the inverse, from M n = Gᵀμ to μ, goes from the leaves to the ground.
#include "invar/mech/cayley/shell.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace invar::cayley {
namespace {

constexpr double kRate = 1e-14;  // of velocities: what a projection may leave on closures

// The inverse on the range: an ideal rod does not feel moments about itself.
template <class AA>
AA inverse_on_range(const AA& J) {
  const Eigen::SelfAdjointEigenSolver<AA> eigen(J);
  const double most = eigen.eigenvalues().cwiseAbs().maxCoeff();
  AA out = AA::Zero();
  for (int k = 0; k < J.rows(); ++k)
    if (eigen.eigenvalues()[k] > 1e-12 * most)
      out += eigen.eigenvectors().col(k) * eigen.eigenvectors().col(k).transpose() / eigen.eigenvalues()[k];
  return out;
}

}  // namespace

template <class G>
Shell<G>::Shell(const Model& model, const Plane* plane, bool stabilised, double h)
    : tree_(model, plane, h), stabilised_(stabilised) {
  const std::size_t n = tree_.slots().size();
  parts_.resize(n);
  balance_.resize(n);
  share_.assign(n, 1.0);
  for (std::size_t i = 1; i < n; ++i) {
    const Slot<G>& b = tree_.slots()[i];
    parts_[i].massive_inner = tree_.slots()[b.inner].massive ? b.inner : (b.inner == 0 ? 0 : parts_[b.inner].massive_inner);
    parts_[i].root = b.hang == Hang::Free ? static_cast<int>(i) : parts_[b.inner].root;
    if (!b.massive) turning_ = true;
    parts_[i].J_inverse = b.massive ? inverse_on_range<typename G::AA>(b.J) : G::AA::Zero();
  }
  std::vector<int> first(tree_.scales().parts.size(), 0);
  for (std::size_t i = 1; i < n; ++i) {
    int& home = first[tree_.slots()[i].part];
    parts_[i].home = home = home > 0 ? home : static_cast<int>(i);
  }
  for (const Tie<G>& tie : tree_.ties()) turning_ = turning_ || tie.coupling >= 0;
  // Ties join components; what is joined to the ground belongs to it, and to its index 0.
  for (const Tie<G>& tie : tree_.ties()) {
    if (tie.sort == Tie<G>::Sort::Loan) continue;
    const int a = parts_[tie.slot[0]].root, b = parts_[tie.slot[1]].root;
    for (Part& part : parts_)
      if (part.root == std::max(a, b)) part.root = std::min(a, b);
  }
  find_symmetries();
  for (int k = 0; k < G::N; ++k) {
    const Vec unit = Vec::Unit(k);
    rigid_.push_back({unit.template head<G::L>(), unit.template tail<G::A>(), 0});
  }
  velocities_.assign(n, Vec::Zero());
  normal_ = wrench_ = saved_ = allowed_ = velocities_;
  rotors_.assign(n, 0.0);
  rotor_normal_ = saved_rotors_ = rotors_;
  mu_ = {velocities_, std::vector<double>(static_cast<std::size_t>(tree_.rows()), 0.0), rotors_};
  found_ = mu_;
  improved_ = {mu_, mu_};
  last_.fill(improved_);
  fit_.resize(n);
  for (Past& past : past_) past.mu.fill(mu_);
}

template <class G>
Verdict Shell<G>::place(const VecX& q, const VecX& v, const Bodies& bodies) {
  forget();
  since_audit_ = 0;
  const Verdict verdict = tree_.place(q, v, bodies);
  begin_ledger();
  return verdict;
}

template <class G>
void Shell<G>::forget() {
  for (Past& past : past_) past.known = 0;
  std::fill(share_.begin(), share_.end(), 1.0);
  tree_.forget();
}

template <class G>
void Shell<G>::recall(int stage, double h) {
  stage_ = stage % kStages;
  // Steps that differ by more than rounding belong to another pattern.
  if (std::abs(h - past_[stage_].h) > 1e-9 * std::abs(h)) forget();
  past_[stage_].h = h;
  tree_.recall(stage_);
}

// n_0 = M⁻¹ G_0ᵀ μ, into normal_ and rotor_normal_. Axes of bodies carry wrenches from node to node. Where links without mass or
// couplings lie between, what may pass turns in both bodies: of M⁻¹ times the wrenches, only what is normal to the motion at node
// 0 is taken.
template <class G>
Verdict Shell<G>::find_first_normals() {
  const auto& slots = tree_.slots();
  std::fill(wrench_.begin(), wrench_.end(), Vec::Zero());
  for (std::size_t i = slots.size(); i-- > 1;) {
    if (!slots[i].massive) continue;
    const Slot<G>& b = slots[i];
    const Lin f = b.R0 * mu_.wrenches[i].template head<G::L>();
    const Ang t = out_of<G>(b.R0, Ang(mu_.wrenches[i].template tail<G::A>()));
    wrench_[i].template head<G::L>() += f;
    wrench_[i].template tail<G::A>() += t;
    const int a = parts_[i].massive_inner;
    wrench_[a].template head<G::L>() -= f;
    wrench_[a].template tail<G::A>() -= t + G::moment(b.phi0 - slots[a].phi0, f);
  }
  tree_.add_tie_wrenches(0, mu_.ties, wrench_);
  // What ties do to links without mass passes on to the next body inwards.
  for (std::size_t i = 1; i < slots.size(); ++i)
    if (!slots[i].massive) pass_on(static_cast<int>(i), slots[i].phi0 - slots[parts_[i].massive_inner].phi0);
  for (std::size_t i = 1; i < slots.size(); ++i) {
    const Slot<G>& b = slots[i];
    rotor_normal_[i] = b.armature > 0 ? mu_.rotors[i] / b.armature : 0.0;
    normal_[i].setZero();
    if (!b.massive) continue;
    if (b.mass > 0) normal_[i].template head<G::L>() = wrench_[i].template head<G::L>() / b.mass;
    const Ang turning = into<G>(b.R0, Ang(wrench_[i].template tail<G::A>()));
    normal_[i].template tail<G::A>() = out_of<G>(b.R0, Ang(parts_[i].J_inverse * turning));
  }
  if (!turning_) return {};
  tree_.go_back();
  velocities_ = normal_;
  rotors_ = rotor_normal_;
  if (const Verdict verdict = tree_.project(velocities_, rotors_); !verdict.ok()) return verdict;
  for (std::size_t i = 1; i < slots.size(); ++i) {
    rotor_normal_[i] -= rotors_[i];
    if (slots[i].massive) normal_[i] -= velocities_[i];
  }
  return {};
}

// The wrench on a slot without mass, on the next slot with mass inwards.
template <class G>
void Shell<G>::pass_on(int i, const Lin& arm) {
  const Lin f = wrench_[i].template head<G::L>();
  const int a = parts_[i].massive_inner;
  wrench_[a].template head<G::L>() += f;
  wrench_[a].template tail<G::A>() += wrench_[i].template tail<G::A>() + G::moment(arm, f);
}

// Adds n_0 to the velocities of node 0.
template <class G>
Verdict Shell<G>::enter() {
  auto& slots = tree_.slots();
  for (std::size_t i = 1; i < slots.size(); ++i) {
    saved_[i] << slots[i].v0, slots[i].W0;
    saved_rotors_[i] = slots[i].rate0;
  }
  for (Balance& balance : balance_) balance = {};
  if (const Verdict verdict = find_first_normals(); !verdict.ok()) return verdict;
  for (std::size_t i = 1; i < slots.size(); ++i) {
    Slot<G>& b = slots[i];
    Balance& balance = balance_[parts_[i].home];
    const double c = share_[parts_[i].home];
    if (b.armature > 0) {
      const double n = c * rotor_normal_[i];
      balance.defect -= 0.5 * b.armature * n * (n + 2 * b.rate0);
      balance.n0 += b.armature * n * n;
      b.rate0 += n;
    }
    if (!b.massive) continue;
    const Lin n = c * normal_[i].template head<G::L>();
    const Ang N = c * into<G>(b.R0, Ang(normal_[i].template tail<G::A>()));
    balance.n0 += b.mass * n.squaredNorm() + N.dot(b.J * N);
    balance.defect -= 0.5 * (b.mass * n.dot(n + 2 * b.v0) + N.dot(b.J * (N + 2 * b.W0)));
    b.v0 += n;
    b.W0 += N;
  }
  return {};
}

template <class G>
void Shell<G>::restore() {
  auto& slots = tree_.slots();
  for (std::size_t i = 1; i < slots.size(); ++i) {
    slots[i].v0 = saved_[i].template head<G::L>();
    slots[i].W0 = saved_[i].template tail<G::A>();
    slots[i].rate0 = saved_rotors_[i];
  }
}

// n_1 = v - P v, and from M n_1 = G_1ᵀ μ the μ that belongs to it.
template <class G>
Verdict Shell<G>::find_normals() {
  auto& slots = tree_.slots();
  for (std::size_t i = 1; i < slots.size(); ++i) {
    const Slot<G>& b = slots[i];
    normal_[i].setZero();
    if (b.massive) normal_[i] << b.v1, out_of<G>(b.R1, b.W1);
    rotor_normal_[i] = b.rate1;
  }
  velocities_ = normal_;
  rotors_ = rotor_normal_;
  if (const Verdict verdict = tree_.project(velocities_, rotors_); !verdict.ok()) return verdict;
  found_.ties = tree_.projection_multipliers();
  // Where closures are badly conditioned, what the first projection left is projected again.
  if (tree_.tie_rate(velocities_) > kRate) {
    if (const Verdict verdict = tree_.project(velocities_, rotors_); !verdict.ok()) return verdict;
    for (std::size_t r = 0; r < found_.ties.size(); ++r) found_.ties[r] += tree_.projection_multipliers()[r];
  }
  allowed_ = velocities_;
  std::fill(wrench_.begin(), wrench_.end(), Vec::Zero());
  tree_.add_tie_wrenches(1, found_.ties, wrench_);
  for (Vec& w : wrench_) w = -w;
  for (std::size_t i = slots.size(); i-- > 1;) {
    const Slot<G>& b = slots[i];
    rotor_normal_[i] -= rotors_[i];
    found_.rotors[i] = share_[parts_[i].home] * b.armature * rotor_normal_[i];
    if (!b.massive) {
      pass_on(static_cast<int>(i), b.phi1 - slots[parts_[i].massive_inner].phi1);
      continue;
    }
    normal_[i] -= velocities_[i];
    const Vec through = wrench_[i] + weighted(static_cast<int>(i), normal_[i], b.R1);
    const Lin f = through.template head<G::L>();
    const Ang t = through.template tail<G::A>();
    found_.wrenches[i] << b.R1.transpose() * f, into<G>(b.R1, t);
    found_.wrenches[i] *= share_[parts_[i].home];
    const int a = parts_[i].massive_inner;
    wrench_[a].template head<G::L>() += f;
    wrench_[a].template tail<G::A>() += t + G::moment(b.phi1 - slots[a].phi1, f);
  }
  for (const Tie<G>& tie : tree_.ties())
    for (int r = tie.row; tie.line < 0 && r < tie.row + tie.rows; ++r) found_.ties[r] *= share_[home(tie)];
  return {};
}

// Takes n_1 away from the velocities of node 1, and gives back what energy that and n_0 have cost.
template <class G>
void Shell<G>::leave() {
  auto& slots = tree_.slots();
  for (std::size_t i = 1; i < slots.size(); ++i) {
    Slot<G>& b = slots[i];
    if (b.armature > 0) b.rate1 -= rotor_normal_[i];
    if (!b.massive) {
      // Without mass there is nothing to take away: the velocity is what the joints say.
      b.v1 = allowed_[i].template head<G::L>();
      b.W1 = into<G>(b.R1, Ang(allowed_[i].template tail<G::A>()));
      continue;
    }
    b.v1 -= normal_[i].template head<G::L>();
    b.W1 -= into<G>(b.R1, Ang(normal_[i].template tail<G::A>()));
  }
  improve();
  share();
  Past& past = past_[stage_];
  std::rotate(past.mu.begin(), past.mu.end() - 1, past.mu.end());
  past.mu[0] = mu_;
  past.known = std::min(past.known + 1, 3);
  restore_energy();
}

template <class G>
Verdict Shell<G>::solve(double h, Loading* loading, bool again) {
  const Verdict verdict = tree_.step(h, loading, again);
  iterations_ = tree_.iterations();
  work_ = verdict.ok() && loading != nullptr ? tree_.work(h) : 0.0;
  return verdict;
}

template <class G>
Verdict Shell<G>::step(double h, Loading* loading) {
  Verdict verdict;
  if (!stabilised_) {
    verdict = solve(h, loading, false);
    // Which of redundant rows are independent changes as they turn.
    if (verdict.ok() && tree_.redundant()) verdict = tree_.project(velocities_, rotors_);
    if (verdict.ok()) audit();
  } else {
    verdict = shelled(h, loading);
  }
  dissipated_ = tree_.dissipated();
  if (verdict.ok()) tree_.accept();
  return verdict;
}

template class Shell<InSpace>;
template class Shell<InPlane>;

}  // namespace invar::cayley
