// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "invar/control/certificate.hpp"
#include "invar/control/recall.hpp"
#include "invar/mech/environment.hpp"

namespace invar {

/// A motion at which a law asks for a load: poses as they are measured, velocities (linear; angular) of a reference, and its
/// accelerations where the law has them.
struct LoadMotion {
  Instant at;
  const Bodies& bodies;
  const Accelerations& velocities;
  const Accelerations* accelerations = nullptr;
};

/// What a load that adapts is shown between two steps: the motion, and the mean of all commands that acted since the look before,
/// on the law's model.
struct LoadLook {
  double t;
  const Bodies& bodies;
  const Load& acted;
};

/// A load that a law knows of beside its nominal model, one that was learned for instance. A law asks for it at its reference
/// velocities: at measured ones compensation of friction is positive feedback through the delay of the loop, and where the true
/// force f is monotone, sᵀ(f(ν) - f(ν_r)) <= 0 helps V. Friction is; drag whose coefficients differ between axes need not be,
/// though it takes energy: then feedback has to take more than that. No heap but in constructors.
class KnownLoad {
 public:
  virtual ~KnownLoad() = default;

  /// Wrenches about the centres of mass of the law's model.
  virtual void add(const LoadMotion& motion, Port& port) const = 0;

  /// Functions that know no physics are a part of it that a law may drop: what they add alone, and to be without them from now
  /// on.
  virtual bool has_generic() const { return false; }
  virtual void add_generic(const LoadMotion& motion, Port& port) const { (void)motion, (void)port; }
  virtual void drop_generic() {}
  /// How far a motion is outside of what it was made from: at most 1 inside.
  virtual double leverage(const LoadMotion& motion) const { return (void)motion, 0; }

  /// One that adapts is shown the motion every so many s; 0: it does not. It changes then only.
  virtual double period() const { return 0; }
  /// True where something that acts has changed by itself.
  virtual bool look(const LoadLook& now) { return (void)now, false; }
  /// What it has found, for the recording, and how well the last look agreed: mean square of what was not foreseen, over what
  /// should be expected.
  virtual std::span<const double> coefficients() const { return {}; }
  virtual std::string label(int k) const { return (void)k, std::string(); }
  virtual std::string unit(int k) const { return (void)k, std::string(); }
  virtual double innovation() const { return 0; }
  /// What it remembers from look to look, and whether it has dropped anything.
  virtual void remember(Recall& memory) { (void)memory; }
};

/// What V_dot promises beyond the rest where a load is known.
inline constexpr const char* kKnownPromise = ", and sᵀ (f(ν) - f(ν_r)) of all that is known";

/// How a law gets its known load.
struct KnownLoadSpec {
  /// Makes one for a run on the law's model, which outlives it. None: the law knows its model only.
  std::function<std::unique_ptr<KnownLoad>(const Model& model)> make;
  bool fallback = false;             ///< drops the generic part where it does harm
  double patience = 0.25;            ///< s; how long it is watched doing so
  std::vector<std::string> remarks;  ///< on where it comes from, for the notes of a run

  bool given() const { return static_cast<bool>(make); }
};

/// A law's known load at work: clauses, and the fallback. A command has -f - φ: generic terms f, and φ, what feedback, integral
/// and observer add against what is not known. Without generic terms φ + f would be left to them, so the loop is better off where
///   |φ + f|_A < |φ|_A,     that is  -φᵀ A f > ½ |f|²_A:
/// feedback undoes what they do. Fallback: they are dropped for good when V rises (is above its low-pass) after low-passes of
/// that difference and of their work P = -sᵀ f along s were positive for `patience`, the time constant of the filters.
/// Looks change it between steps only.
class KnownPart {
 public:
  KnownPart(const Model& model, const KnownLoadSpec& spec)
      : spec_(spec),
        load_(spec.given() ? spec.make(model) : nullptr),
        port_(load_ ? model.bodies().size() : 0),
        generic_(load_ && load_->has_generic()),
        acted_(model),
        then_(model) {}

  bool on() const { return load_ != nullptr; }
  /// It has, or had, generic terms.
  bool has_generic() const { return generic_; }
  /// Whether it wants to be settled between steps.
  bool watches() const { return spec_.fallback && has_generic() && in_use_; }
  /// Generic terms act.
  bool in_use() const { return in_use_; }

  void add(const LoadMotion& motion, Port& port) const { load_->add(motion, port); }
  /// The load alone.
  const Port& at(const LoadMotion& motion);
  /// Generic terms alone.
  const Port& generic_at(const LoadMotion& motion);
  /// Between two steps: V and what round-off of it may be, P, and -φᵀ A f - ½ |f|²_A.
  void watch(double t, double V, double round_off, double power, double undone);

  /// Adaptation. Between two steps, in this order: what acted since the settle before (just after that one, just before this
  /// one), and where a look is due the look.
  bool adapts() const { return on() && load_->period() > 0; }
  const KnownLoad& load() const { return *load_; }
  double next_look(double t) const;
  bool look_is_due(double t) const { return !looked_ || t >= next_ - 1e-9 * load_->period(); }
  void acted(double t, const Load& first, const Load& last);
  void look(double t, const Bodies& bodies);

  /// Clauses; `bounded` where a bound on the remainder is known, which says all that the second one does. `unit`: of V_dot.
  void state(Certificate& certificate, bool bounded, const char* unit);
  /// The leverage of a motion as it is and of its reference, the larger one.
  double look_at_data(const LoadMotion& actual, const LoadMotion& reference, Certificate& certificate);
  /// sᵀ(f(ν) - f(ν_r)) over everything that the law takes at reference velocities, less what its damping takes.
  void look_at_balance(double t, double power, double round_off, Certificate& certificate) {
    if (damped_ >= 0) certificate.look(damped_, t, power, -1, round_off);
  }

  /// What became of it, in sentences.
  std::vector<std::string> notes() const;
  void remember(Recall& memory);

 private:
  KnownLoadSpec spec_;
  std::unique_ptr<KnownLoad> load_;
  Port port_;
  bool generic_ = false;
  int inside_ = -1, damped_ = -1;
  // Fallback.
  bool in_use_ = true, begun_ = false;
  double t_ = 0, V_ = 0, P_ = 0, undone_ = 0;  // of the last look; low-passes
  double suspicious_ = 0, dropped_ = 0;        // s
  // Adaptation.
  bool looked_ = false;
  double next_ = 0, since_ = 0, acted_until_ = 0;  // s
  Load acted_, then_;                              // impulse since the last look; mean over that time
  long changes_ = 0;
  double first_change_ = 0, last_change_ = 0;  // s
};

}  // namespace invar
