// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/sum.hpp"
#include "invar/mech/cayley/tree.hpp"

namespace invar::cayley {

/// A step of the tree between two changes of velocity. The bare scheme keeps positions, energy and momenta, but the velocities of
/// its nodes leave the constraints: their normal part n is reflected from step to step. The shell adds n_0 = M⁻¹G_0ᵀμ before the
/// step and takes n_1 = M⁻¹G_1ᵀμ away after it, with the μ for which G_1 v_1 = 0. Gᵀμ carries no momentum. The energy that this
/// costs, μᵀ(A_0 - A_1)μ/2 with A = G M⁻¹Gᵀ, vanishes when n_0 is taken c times and n_1 1/c times, c² = |n_1|/|n_0|. All of that
/// is symmetric in time when μ and c are found to round-off, by passes; what these leave is given back by a factor on the
/// velocities (on their internal part, where nothing holds the mechanism).
/// Laws at every node: g = 0, G v = 0, energy up to work and losses, momenta; a step back leads to where it came from.
template <class G>
class Shell {
 public:
  using Vec = Eigen::Matrix<double, G::N, 1>;
  using Lin = typename G::Lin;
  using Ang = typename G::Ang;

  /// `h` is the length of the steps to come, roughly.
  Shell(const Model& model, const Plane* plane, bool stabilised, double h);

  /// Begins at joint coordinates (all turns counted), joint rates and bodies.
  Verdict place(const VecX& q, const VecX& v, const Bodies& bodies);
  /// One step under what `loading` says (nullptr: nothing acts); the tree's node 0 is then its end. When it fails, node 0 is as
  /// it was.
  Verdict step(double h, Loading* loading);
  /// What follows is extrapolated from steps with the same `stage` (0 .. kStages), which had the same length h or are forgotten.
  void recall(int stage, double h);
  void forget();

  Tree<G>& tree() { return tree_; }
  const Tree<G>& tree() const { return tree_; }
  double rotor_energy() const;                       ///< J, at node 0: of their own rates, which a bare step leaves to them
  int iterations() const { return iterations_; }     ///< of Newton in the last step
  double work() const { return work_; }              ///< J, of the load in the last step
  double dissipated() const { return dissipated_; }  ///< J, in the last step

 private:
  struct Part {
    int massive_inner = 0;  // nearest slot with mass on the way to the ground; 0: none
    int root = 0;           // free slot that names its component; 0: held by the ground
    int home = 0;           // first slot of its connected part, whose account it shares
    typename G::AA J_inverse = G::AA::Zero();
  };
  /// A rigid motion, World: translation, or turning about the joint point of a slot (0: of the root).
  struct Motion {
    Lin v;
    Ang w;
    int at;
  };
  struct Balance {  // of one component, J
    double defect = 0, kinetic = 0, whole = 0;
    double n0 = 0, n1 = 0;  // twice the energies of the normal velocities
  };

  /// μ: wrenches about φ in own axes per slot, multipliers of ties, moments of rotors per slot.
  struct Multipliers {
    std::vector<Vec> wrenches;
    std::vector<double> ties, rotors;
  };
  struct Past {
    std::array<Multipliers, 3> mu;  // latest first
    int known = 0;
    double h = 0;
  };

  /// What a pass made of μ.
  struct Improved {
    Multipliers from, mu;
  };
  static constexpr int kLast = 3;  // passes that are remembered
  /// Weights θ of the last passes, of one connected part, by least squares.
  struct Fit {
    Eigen::Matrix<double, kLast, kLast> gram = Eigen::Matrix<double, kLast, kLast>::Zero();
    Eigen::Matrix<double, kLast, 1> right = Eigen::Matrix<double, kLast, 1>::Zero(), theta = right;
    void solve(int known);
  };

  int home(const Tie<G>& tie) const { return parts_[tie.slot[1] > 0 ? tie.slot[1] : tie.slot[0]].home; }
  Verdict shelled(double h, Loading* loading);
  Verdict solve(double h, Loading* loading, bool again);
  void extrapolate();
  Verdict find_first_normals();
  void pass_on(int i, const Lin& arm);
  Verdict enter();
  void restore();
  Verdict find_normals();
  double change() const;
  void improve();
  void accelerate();
  void share();
  bool account();
  bool given_back(double share) const;
  void begin_ledger();
  void balance_ledger();
  void audit();
  void leave();
  void restore_energy();
  void find_symmetries();
  void subtract_motions(int root, const std::vector<Motion>& motions);
  Vec weighted(int i, const Vec& n, const typename G::Rot& R) const;

  Tree<G> tree_;
  bool stabilised_;
  bool turning_ = false;  // what joints pass turns in both of their bodies: links without mass, couplings
  std::vector<Part> parts_;
  std::vector<Motion> symmetries_;                           // of what the ground holds
  std::vector<Motion> rigid_;                                // all
  std::vector<double> share_;                                // per slot; used at homes: c
  std::vector<Balance> balance_;                             // per slot; used at homes
  std::vector<Vec> velocities_, allowed_, normal_, wrench_;  // per slot, World
  std::vector<Vec> saved_;                                   // per slot: velocities of node 0 before n_0 was added
  std::vector<double> rotors_, rotor_normal_, saved_rotors_;
  Multipliers mu_, found_;
  Improved improved_;
  std::array<Improved, kLast> last_;  // latest first
  int known_ = 0;                     // of these
  std::vector<Fit> fit_;              // per slot; used at homes
  std::array<Past, kStages> past_;
  int stage_ = 0;
  double work_ = 0, dissipated_ = 0;
  CompensatedSum ledger_;    // J: the energy that there should be, from the start and what came and went
  int since_audit_ = 0;      // steps
  bool one_ledger_ = false;  // whether energy can be told for the whole
  int iterations_ = 0;
};

}  // namespace invar::cayley
