// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/base/error.hpp"
#include "invar/control/actuator.hpp"
#include "invar/learn/term/features.hpp"
#include "invar/learn/term/network.hpp"

namespace invar {

enum class TermKind {
  Inertia,
  JointViscous,
  JointCoulomb,
  JointStiffness,
  JointOffset,
  Drag,
  Obstacle,
  ActuatorGain,
  ActuatorMisalignment,
  Fourier,
  Network,
};
inline constexpr int kTermKinds = 11;
/// The words of files ("joint_viscous"), in the order of TermKind.
const std::vector<std::string>& term_names();
const char* name(TermKind kind);
/// What joints do: friction, springs, constant efforts.
inline bool is_of_joints(TermKind kind) {
  return kind == TermKind::JointViscous || kind == TermKind::JointCoulomb || kind == TermKind::JointStiffness ||
         kind == TermKind::JointOffset;
}
/// Functions of everything that a body sees, which know no physics: they fade out where there were no data.
inline bool is_generic(TermKind kind) { return kind == TermKind::Fourier || kind == TermKind::Network; }
/// Acts at points of bodies (the nominal centres of mass), not in joints or where an actuator acts.
inline bool is_on_bodies(TermKind kind) { return kind == TermKind::Drag || kind == TermKind::Obstacle || is_generic(kind); }

/// A term as files have it: what it acts on by names, and the numbers of its kind.
struct TermSpec {
  TermKind kind = TermKind::Drag;
  /// Bodies, joints or actuators; empty: all (of joints those that are neither fixed nor free).
  std::vector<std::string> on = {};
  Sharing sharing = Sharing::Alike;
  std::vector<double> smoothing = {0.05};   ///< joint_coulomb, rad/s or m/s
  std::vector<std::string> obstacles = {};  ///< obstacle; empty: all
  int bumps = 6;                            ///< obstacle
  double reach = 1;                         ///< obstacle, m
  std::uint64_t seed = 1;                   ///< fourier, network
  int cosines = 100;                        ///< fourier
  double spread = 3;                        ///< fourier: in units of what is seen; larger is smoother
  int width = 32;                           ///< network
  HiddenLayers layers = {};                 ///< network; empty: drawn from the seed
  FeatureScales scales = {};                ///< fourier, network
  FeatureDomain domain = {};                ///< fourier, network
};
/// Inertias differ from body to body; everything else is shared by what is named alike.
Sharing usual_sharing(TermKind kind);

/// What terms find by name beside the model.
struct TermContext {
  std::vector<std::string> obstacles;  ///< names, in the order of Surroundings::obstacles
  std::vector<Actuator> actuators;     ///< in the order of Surroundings::inputs
};

/// Terms side by side: their columns one after the other.
class Terms {
 public:
  /// Refuses names that are not there, with the nearest one, and numbers that make no term. The model must outlive it.
  static Result<Terms> build(const Model& model, const std::vector<TermSpec>& specs, const TermContext& context = {});

  /// The same with one more at its end that no file names: something generic to compare with.
  Terms with(std::shared_ptr<const Term> rival) const;

  int columns() const { return first_.back(); }
  int count() const { return static_cast<int>(terms_.size()); }
  const Term& term(int i) const { return *terms_[static_cast<std::size_t>(i)]; }
  const TermSpec& spec(int i) const { return specs_[static_cast<std::size_t>(i)]; }
  int first_column(int i) const { return first_[static_cast<std::size_t>(i)]; }
  int term_of(int column) const;
  /// Groups of columns whose ridge has a strength in common, term after term.
  int groups() const { return first_group(count()); }
  int first_group(int i) const;
  int group_of(int column) const {
    const int i = term_of(column);
    return first_group(i) + term(i).group(column - first_column(i));
  }

  std::string label(int column) const { return of(column).label(column - first_column(term_of(column))); }
  std::string unit(int column) const { return of(column).unit(column - first_column(term_of(column))); }
  bool dissipates(int column) const { return of(column).dissipates(column - first_column(term_of(column))); }

  /// All entries; `out` is cleared first.
  void list(const Bodies& bodies, const Surroundings& around, std::vector<ColumnEntry>& out) const;
  void add(const Bodies& bodies, const Surroundings& around, const double* coefficients, Port& port) const;
  /// How far outside of the data of generic terms the motion is: at most 1 inside; 0 where there are none.
  double leverage(const Bodies& bodies, const Surroundings& around) const;

 private:
  const Term& of(int column) const { return term(term_of(column)); }

  std::vector<TermSpec> specs_;
  std::vector<std::shared_ptr<const Term>> terms_;
  std::vector<int> first_ = {0};  // of every term, and behind the last
};

}  // namespace invar
