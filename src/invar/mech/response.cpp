// SPDX-License-Identifier: Apache-2.0
//
// M x + Jᵀλ = f,  J x = 0 for f the wrenches of a unit effort (KktInput without dynamics, from rest). x is a velocity that the
// joints allow: measured as such, the rate of the freedom, or minus the rate of the length, is the answer.
#include "invar/mech/response.hpp"

#include <limits>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/tendons.hpp"
#include "invar/mech/tension.hpp"

namespace invar {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Response::Response(const Model& model)
    : model_(model),
      solver_(model),
      still_(model.bodies().size()),
      field_(model.bodies().size()),
      accelerations_(model.bodies().size()),
      reactions_(model.joints().size()),
      port_(model.bodies().size()),
      unit_(VecX::Zero(model.nv())),
      q_(VecX::Zero(model.nq())),
      v_(VecX::Zero(model.nv())),
      coupling_q_(VecX::Zero(static_cast<Eigen::Index>(model.couplings().size()))) {}

void Response::at(const Bodies& bodies, const VecX& q) {
  still_ = bodies;
  for (BodyState& b : still_) b.v_WC.setZero(), b.w_WB.setZero();
  driving_coordinates(model_, q, coupling_q_);
}

bool Response::solve(const Port* port, const VecX* efforts) {
  const KktInput input{.dynamics = false, .reactions = false, .port = port, .efforts = efforts, .coupling_q = &coupling_q_};
  if (!solver_.solve(still_, input, accelerations_, reactions_).ok()) return false;
  field_ = still_;
  for (std::size_t b = 0; b < field_.size(); ++b)
    field_[b].v_WC = accelerations_[b].a_WC, field_[b].w_WB = accelerations_[b].alpha_WB;
  return true;
}

double Response::of_freedom(int joint, int freedom) {
  const int at = model_.joints()[static_cast<std::size_t>(joint)].v0 + freedom;
  unit_.setZero();
  unit_[at] = 1;
  if (!solve(nullptr, &unit_)) return kNone;
  coordinates_of_joint(model_, joint, field_, q_, v_);
  return v_[at];
}

double Response::of_tendon(int tendon) {
  const Tendon& t = model_.tendons()[static_cast<std::size_t>(tendon)];
  for (Wrench& w : port_) w = Wrench{};
  add_tension(model_, t, still_, 1, port_);
  return solve(&port_, nullptr) ? -pull_of(model_, t, field_).rate : kNone;
}

}  // namespace invar
