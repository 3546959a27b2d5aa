// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "invar/mech/natural_elimination.hpp"
#include "invar/mech/natural_freedoms.hpp"

namespace invar {

/// Everything that acts in natural coordinates, as generalized forces f with power f·v: gravity, tendons, passive joints, loads.
/// `wound` tells on which turn angles are (State::wound of a nearby state). No heap after construction.
class NaturalForces {
 public:
  explicit NaturalForces(const NaturalCoordinates& coordinates);

  /// Takes the numbers of a model that was edited in place, after NaturalCoordinates::refresh. No heap.
  void recompile();

  /// Heights of tendon points along the normal of the plane, after NaturalCoordinates::set_offsets.
  void refresh();

  /// Whether there is anything with an energy beside gravity; anything that dissipates.
  bool elastic() const { return !springs_.empty() || !balls_.empty() || !tendons_.empty(); }
  bool dissipative() const { return dissipative_; }

  /// Energies, J: of gravity (zero at the World origin), and of tendons, joint springs and stops.
  double gravity_energy(const VecX& x) const;
  double elastic_energy(const VecX& x, const VecX& wound) const;

  /// f += factor times the force of gravity, constant.
  void add_gravity(double factor, VecX& f) const;
  /// f += -factor ∇V(x), V the elastic energy.
  void add_elastic(const VecX& x, const VecX& wound, double factor, VecX& f) const;
  /// f += -factor ∇̄V with ∇̄V·(x1 - x0) = V(x1) - V(x0) exactly where the joints hold at both ends, mid their mean: the discrete
  /// gradient along lengths of tendon segments and joint coordinates. It does nothing in a rigid motion of the whole, so it keeps
  /// momenta. `wound` belongs to x0.
  void add_discrete(const VecX& x0, const VecX& x1, const VecX& mid, const VecX& wound, double factor, VecX& f) const;

  /// f += factor times dampers, friction and what else loses energy; returns the power lost (never negative), W.
  double add_dissipation(const VecX& x, const VecX& v, const VecX& wound, double factor, VecX& f) const;
  /// f += factor times a load; returns its power at v: of the wrenches on bodies, of the efforts on joints, W.
  struct Power {
    double port = 0, efforts = 0;
    double total() const { return port + efforts; }
  };
  Power add_load(const Load& load, const VecX& x, const VecX& v, double factor, VecX& f) const;

  /// Adds to equations of copy e by unknowns of copy u: stiff times d²V/dx² at x, and damp times -d(dissipation force)/dv at
  /// x, v. Leading parts, between neighbours: enough for quick convergence. `before`: the velocities of the iterate before, where
  /// there is one; friction that lies between takes the slope of its chord where that is the steeper one.
  void add_slopes(const VecX& x, const VecX& v, const VecX& wound, double stiff, double damp, int e, int u,
                  NaturalElimination& to, const VecX* before = nullptr) const;

 private:
  struct Spring {
    NaturalFreedom freedom;
    Passive passive;
    int v;  // where its freedom is in the vectors of the model
  };
  struct Ball {
    int joint, parent, child;
    Vec3 stiffness, rest;
  };
  struct Line {
    std::vector<NaturalVector> points;
    std::vector<double> heights;
    const Tendon* tendon;
  };
  using Points = std::vector<Vec3>;  // of the longest tendon
  std::span<const Vec3> place(const Line& line, const VecX& x, Points& p) const;
  double rate(const Line& line, std::span<const Vec3> p, const VecX& v) const;
  void pull(const Line& line, double tension, std::span<const Vec3> p0, std::span<const Vec3> p1, double factor, VecX& f) const;
  void add_ball(const Ball& ball, const VecX& x, double factor, VecX& f) const;
  void add_ball_discrete(const Ball& ball, const VecX& x0, const VecX& x1, const VecX& mid, double factor, VecX& f) const;
  double ball_energy(const Ball& ball, const VecX& x) const;
  Quat relative(const Ball& ball, const VecX& x, Quat* q_WF) const;
  void add_line_slopes(const Line& line, const VecX& x, double stiff, double damp, int e, int u, NaturalElimination& to) const;
  void add_outer(const NaturalGradient& g, double factor, int e, int u, NaturalElimination& to) const;

  const NaturalCoordinates& c_;
  std::vector<NaturalFreedom> freedoms_;  // per freedom of the model
  std::vector<Spring> springs_;           // freedoms with passive parts; balls only dampers and friction
  std::vector<Ball> balls_;               // springs of balls
  std::vector<Line> tendons_;
  bool dissipative_ = false;
  mutable MatX block_;                 // per_body square
  mutable VecX change_;                // like x
  mutable Points from_, to_, forces_;  // of one tendon
};

}  // namespace invar
