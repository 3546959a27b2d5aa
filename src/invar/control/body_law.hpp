// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/attitude_error.hpp"
#include "invar/control/port_law.hpp"

namespace invar {

struct BodyLawSpec {
  PortGains gains;
  std::vector<PosePath> paths;                    ///< per body of the model: where its body frame shall be
  bool poses = true;                              ///< law II; false: law I, velocities only
  double position_rate = 1.5, attitude_rate = 3;  ///< Λ, 1/s
  /// How the wish of every body becomes a motion that joints allow.
  enum class Consistency {
    Outward,     ///< chains of balls: angular velocities of all bodies and the velocity of the root, the rest through the arms
    Projection,  ///< any mechanism: the nearest allowed motion in the metric of M, ν_r = A M (ν_d - Λ e)
    AsPrinted,   ///< as it is, though joints may forbid it (docs/papers.md A9, A10); attitude errors in body components (A7)
  };
  Consistency consistency = Consistency::Projection;
};

/// A, laws I and II: velocities, or poses, of all bodies.
///   I:  ν_r = ν_d                       II:  ν_r = ν_d - Λ e_p,   A (24), (32)
/// made constraint-consistent at the actual configuration together with its exact derivative.
class BodyLaw final : public PortLaw {
 public:
  BodyLaw(const Model& model, BodyLawSpec spec);

  /// Whether all joints are balls (one may be free, or the root float) without loops, so that there is an outward way.
  static bool has_outward_way(const Model& model);

  std::vector<Mark> marks() const override;
  void remember(Recall& memory) override;

 protected:
  Verdict refer(Instant at, Accelerations& nu_r, Accelerations& nu_r_dot) override;
  void choose_sides(Instant at, const Bodies& bodies) override;
  void track(double t) override;

 private:
  struct Wish {
    TurnSide side;
    PoseJet wanted;  // of the centre of mass
    double distance = 0, angle = 0;
    std::size_t p = 0, q = 0;  // readings
  };
  struct Hop {
    int joint, inner, outer;  // bodies; kWorld
    bool reversed;            // the joint's child is the inner body
  };
  PoseJet of_mass(std::size_t body, Instant at) const;
  void wish(Instant at);
  void outward(Accelerations& nu_r, Accelerations& nu_r_dot) const;
  Verdict project(Accelerations& nu_r, Accelerations& nu_r_dot);

  BodyLawSpec spec_;
  std::vector<Wish> wishes_;
  std::vector<Hop> hops_;    // outwards
  Accelerations w_, w_dot_;  // ν_d - Λ e and its derivative
  Field flow_;
  Port momenta_, momenta_dot_;
  int switches_ = 0;
};

}  // namespace invar
