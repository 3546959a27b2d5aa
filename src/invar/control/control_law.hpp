// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <span>

#include "invar/base/status.hpp"
#include "invar/control/certificate.hpp"
#include "invar/control/path.hpp"
#include "invar/control/recall.hpp"
#include "invar/control/remainder.hpp"
#include "invar/control/repulsion.hpp"

namespace invar {

/// What really happened at one instant, in terms of the law's own (nominal) mechanism: the plant's bodies, accelerations and
/// joint reactions of the same names.
struct Witness {
  double t = 0;
  const Bodies& bodies;
  const Accelerations& accelerations;
  const std::vector<Wrench>& reactions;  ///< per nominal joint, on the parent at the joint point, World
};

/// What a law shows over time: a number, or a few that belong together.
struct Reading {
  std::string name;     ///< "V"
  std::string unit;     ///< "J"
  std::string meaning;  ///< one clause
  int size = 1;
};

/// A place on a nominal body that readings speak of: "reference_tip" of those that begin with reference_tip_.
struct Mark {
  std::string readings;
  int body = 0;
  Pose X_BE;  ///< the place in its body
};

/// A control law: a motion of its nominal mechanism in, a command out (wrenches on nominal bodies about their centres of mass,
/// efforts on nominal freedoms). It owns whatever it needs of the nominal model, knows nothing of the plant, and monitors its own
/// guarantee. No heap after the first call.
class ControlLaw {
 public:
  virtual ~ControlLaw() = default;

  /// Why this law cannot work on the nominal mechanism at this motion, or an empty string. Before the run; may allocate.
  virtual std::string objection(Instant at, const Bodies& bodies) { return (void)at, (void)bodies, std::string(); }

  /// Adds the command for this motion. Not ok where there is none (a singular task): nothing is added then.
  virtual Verdict command(Instant at, const Bodies& bodies, Load& out) = 0;

  /// Whether it wants to know what became of its commands: a law with an observer does.
  virtual bool observes() const { return false; }
  /// Before settle, to a law that observes and whose commands are held, late, or pass through actuators: what acted of them on
  /// the nominal mechanism since the settle before, as it was just after that one and just before this one.
  virtual void acted(const Load& first, const Load& last) { (void)first, (void)last; }

  /// The first time after t at which it wants to be settled, whatever the steps.
  virtual double next_event(double t) const { return (void)t, std::numeric_limits<double>::infinity(); }
  /// Between two steps, at the motion reached: what a law remembers (on which side of a turn it is) may change here only.
  virtual void settle(Instant at, const Bodies& bodies) { (void)at, (void)bodies; }

  /// Looks at what happened: certificate, tracking and readings.
  virtual void witness(const Witness& seen) = 0;
  /// After the last look: bounds that follow from what was seen.
  virtual void conclude() {}

  const Certificate& certificate() const { return certificate_; }
  const std::vector<Tracking>& tracking() const { return tracking_; }
  const std::vector<Reading>& readings() const { return readings_; }
  /// All their numbers, one reading after the other.
  std::span<const double> values() const { return values_; }
  /// The remainder of its loop, where it has one.
  virtual const Remainder* remainder() const { return nullptr; }
  /// What it keeps away from, to be drawn.
  virtual std::span<const Obstacle> obstacles() const { return {}; }
  /// What happened to it on the way, in sentences; after the run.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Where its readings belong, to be drawn: references "reference_<task>", stiffnesses "stiffness".
  virtual std::vector<Mark> marks() const { return {}; }
  /// All that its next commands depend on beside the motion: sums, filters, sides of turns, what it has learned. Certificate,
  /// tracking and readings are no part of it.
  virtual void remember(Recall& memory) { (void)memory; }

 protected:
  /// A reading, by the place of its first number; values are NaN until the first look.
  std::size_t read(Reading reading) {
    const std::size_t at = values_.size();
    values_.resize(at + static_cast<std::size_t>(reading.size), std::numeric_limits<double>::quiet_NaN());
    readings_.push_back(std::move(reading));
    return at;
  }
  void show(std::size_t reading, double value) { values_[reading] = value; }
  void show(std::size_t reading, const Vec3& v) {
    std::copy(v.begin(), v.end(), values_.begin() + static_cast<std::ptrdiff_t>(reading));
  }
  void show(std::size_t reading, const Quat& q) {
    values_[reading] = q.w();
    show(reading + 1, Vec3(q.vec()));
  }

  Certificate certificate_;
  std::vector<Tracking> tracking_;

 private:
  std::vector<Reading> readings_;
  std::vector<double> values_;
};

}  // namespace invar
