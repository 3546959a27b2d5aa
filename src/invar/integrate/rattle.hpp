// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "invar/integrate/part_sizes.hpp"
#include "invar/integrate/stepper.hpp"
#include "invar/mech/natural.hpp"

namespace invar {

/// RATTLE in natural coordinates: Störmer-Verlet with multipliers, symmetric, symplectic, order 2. Needs Formulation `natural`.
/// Keeps: g(x) = 0 and G(x) v = 0 at every node, momenta; energy oscillates by O(h²) and does not drift, as long as h is below 2
/// over the largest frequency of springs and tendons. None of the forces are implicit but dampers and friction. A step that does
/// not converge is halved.
/// Dense output: the cubic with values and velocities of both ends.
class Rattle final : public Stepper {
 public:
  const char* name() const override { return "rattle"; }
  int order() const override { return 2; }
  void reset(const System& system, const State& x, double h) override;
  void stage(int k) override;
  Verdict step(System& system, double t, double h, State& x, double& h_done) override;
  void interpolate(const System& system, double theta, State& out) const override;
  StepReport report() const override { return report_; }

 private:
  struct Workspace {
    explicit Workspace(const Natural& natural);
    const Natural& natural;
    NaturalElimination solver, chooser;
    VecX w, mu, v_half, x1;         // v_half - v0, h/2 multipliers, velocity in the middle, positions at the end
    VecX v_before;                  // v_half of the iterate before
    VecX dw, dmu;                   // the last increments, whole
    VecX force, product, right, r;  // forces at one end, products with the mass, right sides
    PartSizes sizes;
    struct Pace {
      double last = 0, floor = 0;  // m/s: the last increment, and what rounding makes of it
    };
    std::vector<Pace> paces;  // per connected part
    Bodies bodies;
    VecX q, v;  // joint coordinates and rates
  };
  Verdict advance(System& system, double t, double h, int depth, State& x);
  void start_over();
  Verdict to_middle(System& system, double t, double h, const State& x);
  Verdict increment(System& system, double t, double h, const State& x, bool first);
  bool settled(int count);
  Verdict to_end(System& system, double t, double h, State& x);
  void add_forces(System& system, double t, const VecX& at, const VecX& wound, double& given, double& lost);

  std::unique_ptr<Workspace> work_;  // sized for the mechanism of the last reset
  StepReport report_;
  State start_, end_;
  std::vector<State> parts_;     // where the parts of a divided step begin, by depth
  double given_ = 0, lost_ = 0;  // W, sums over both ends
  double h_ = 0;
  unsigned long serial_ = 0;  // of the formulation that work_ is for
  int stage_ = 0;
  bool fresh_ = true;
};

}  // namespace invar
