// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "invar/base/error.hpp"
#include "invar/control/flow.hpp"
#include "invar/geom/gauss.hpp"

namespace invar {

/// Drag on a slender body, strip by strip along its axis.
struct StripDragSpec {
  std::string body;
  std::optional<std::pair<Vec3, Vec3>> axis;  ///< its ends in the body frame, m; nothing: those of its capsule or cylinder
  double across = 0;                          ///< N s²/m³: per length and square of the velocity across the axis
  double along = 0;                           ///< N s²/m³: the same along it
  double linear = 0;                          ///< N s/m²: per length and velocity, in all directions
};

/// With the velocity u of a point of the axis relative to the flow, u_a along the axis and u_c across it, the force per length is
///   f = -across |u_c| u_c - along |u_a| u_a - linear u,
/// integrated over the axis by nine Gauss points. Its power relative to the flow, f · u = -across |u_c|³ - along |u_a|³ -
/// linear |u|², is never positive: still water only takes energy. Over a step, too: there u is the mean velocity of the point, on
/// its mean arm, and the work of the step is that of f along u. Turns with the World when the flow does.
class StripDrag final : public Environment {
 public:
  static constexpr int kPoints = 9;

  /// Refuses unknown bodies, bodies without an axis, and coefficients that would give energy. No flow: still water.
  static Result<StripDrag> build(const Model& model, const StripDragSpec& spec, std::shared_ptr<const Flow> flow = nullptr);

  void add(Instant at, const Bodies& bodies, Load& load) const override;
  std::optional<std::shared_ptr<const Environment>> bound_to(const Model& model) const override;

 private:
  explicit StripDrag(const StripDragSpec& spec) : spec_(spec), rule_(gauss_rule(kPoints)) {}

  StripDragSpec spec_;
  std::shared_ptr<const Flow> flow_;
  GaussRule rule_;
  std::size_t body_ = 0;
  Vec3 from_ = Vec3::Zero();  // one end of the axis, from the centre of mass, body axes, m
  Vec3 way_ = Vec3::Zero();   // to the other end
};

}  // namespace invar
