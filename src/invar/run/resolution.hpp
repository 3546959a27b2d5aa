// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "invar/mech/response.hpp"
#include "invar/run/leg.hpp"
#include "invar/run/part_balance.hpp"
#include "invar/run/tally.hpp"

// For the sources of this room only.
namespace invar {

/// Whether the steps of a run resolve what they compute. Three measures, each with a bound:
///   step × fastest local rate   2     of springs, dampers, stops in contact, friction that sticks or turns round, tendons. Fixed
///                                     steps only: error control sees to it by itself. From 2 on a period has fewer than π
///                                     steps, semi-implicit methods are unstable, and rk4 soon is (2.8)
///   power balance               1 %   of the energies that were turned over; parts on which nothing acts also by themselves
///   joint gap                   1e-3  of the size of the smaller body at the joint; rad
/// A rate is local: one freedom or tendon with the inertia that is felt along it (Response). Looked at after every step; inertias
/// are computed at the start, at 32 instants of the run, and where a contact begins.
class Resolution {
 public:
  /// Begins, or goes on with another leg after an edit.
  void enter(const Leg& leg, bool fixed_steps, double t, double end, const Observation& seen);
  /// After a step of length h, at the state that the leg's observer saw last.
  void step(const Leg& leg, double t, double h, const Observation& seen);

  /// The largest step × rate, 1; 0 where nothing was judged.
  double largest() const { return worst_.value; }
  /// What is not resolved, in one sentence; empty where all is.
  /// `further`: another cause, or empty.
  std::string sentence(const Tally& tally, const std::string& further) const;

 private:
  enum class Part { None, Spring, Damper, Stop, Friction, Tendon };
  /// A freedom with passive parts, or a tendon.
  struct Place {
    int joint, freedom, tendon;
    double response = std::numeric_limits<double>::quiet_NaN();
    double solved = 0;  // s; when
    double q = 0;       // coordinate after the step before
    double rate = 0;    // of the freedom after the step before
  };
  struct Rate {
    Part part = Part::None;
    double stiffness = 0, damping = 0;
  };
  struct Worst {
    double value = 0, step = 0, rate = 0, t = 0;
    const Place* place = nullptr;  // that `what` speaks of
    Part part = Part::None;
    std::string what;
  };

  void look(const Leg& leg, Place& place, double t, double h);
  void judge(const Leg& leg, Place& place, const Rate& rate, double t, double h);
  void look_at_gaps(const Leg& leg, double t);
  double size_at(const Model& model, const Joint& joint) const;

  double begun_ = std::numeric_limits<double>::infinity(), end_ = 0;  // s
  double late_ = std::numeric_limits<double>::infinity();             // J; least physical balance towards the end
  std::unique_ptr<Response> response_;
  std::vector<Place> places_;
  std::vector<double> sizes_;  // per body, m
  double period_ = 0;          // s; between two looks at inertias and gaps
  double next_gaps_ = 0;       // s
  double gap_seen_ = 0;        // largest residual when gaps were looked at last
  bool has_energy_ = true;     // of all springs: as printed, that of Euler angles has none, and nothing to balance
  bool at_fresh_ = false;      // response_ stands at the bodies of this step
  Worst worst_, gap_;
  PartBalance parts_;
};

}  // namespace invar
