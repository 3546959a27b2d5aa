// SPDX-License-Identifier: Apache-2.0
#include "invar/control/drive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/passive.hpp"

namespace invar {
namespace {

// A drive moves nothing where its freedom answers with this part of what it would if it had to move all that there is; drives
// whose answers agree to this part of themselves cannot be told apart.
constexpr double kHeld = 1e-9, kAlike = 1e-10;

// All that there is, as an inertia in kg m² about a point a model's length away.
double whole_inertia(const Model& model) {
  const double square = model.length() * model.length();
  double out = 0;
  for (const Body& body : model.bodies()) out += body.inertia.mass * square + body.inertia.I_C.trace();
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k)
      out += joint.passive[static_cast<std::size_t>(k)].armature * (joint.turns(k) ? 1.0 : square);
  return out;
}

// Solves A x = b in place with full pivoting, without heap, where entries are of order one; returns the first column without a
// pivot, or -1. Unknowns without one are zero.
int solve_small(MatX& A, VecX& b, std::vector<int>& order) {
  const Eigen::Index n = b.size();
  for (Eigen::Index k = 0; k < n; ++k) order[static_cast<std::size_t>(k)] = static_cast<int>(k);
  Eigen::Index rank = 0;
  for (; rank < n; ++rank) {
    Eigen::Index r = 0, c = 0;
    if (!(A.bottomRightCorner(n - rank, n - rank).cwiseAbs().maxCoeff(&r, &c) > kAlike)) break;
    A.row(rank).swap(A.row(rank + r));
    A.col(rank).swap(A.col(rank + c));
    std::swap(b[rank], b[rank + r]);
    std::swap(order[static_cast<std::size_t>(rank)], order[static_cast<std::size_t>(rank + c)]);
    for (Eigen::Index i = rank + 1; i < n; ++i) {
      const double f = A(i, rank) / A(rank, rank);
      A.row(i) -= f * A.row(rank);
      b[i] -= f * b[rank];
    }
  }
  for (Eigen::Index k = n - 1; k >= 0; --k) {
    if (k >= rank) {
      b[k] = 0;
      continue;
    }
    for (Eigen::Index j = k + 1; j < rank; ++j) b[k] -= A(k, j) * b[j];
    b[k] /= A(k, k);
  }
  return rank < n ? order[static_cast<std::size_t>(rank)] : -1;
}

}  // namespace

Drive::Drive(const Model& model)
    : model_(model),
      unreduced_(model, AugmentedOptions{.project = false}),
      still_(model.bodies().size()),
      accelerations_(model.bodies().size()),
      reactions_(model.joints().size()),
      q_(VecX::Zero(model.nq())),
      v_(VecX::Zero(model.nv())),
      vdot_(VecX::Zero(model.nv())),
      wound_(VecX::Zero(model.nv())),
      unit_(VecX::Zero(model.nv())),
      coupling_q_(VecX::Zero(static_cast<Eigen::Index>(model.couplings().size()))) {}

Result<std::shared_ptr<const Drive>> Drive::build(const Model& model, const std::vector<DriveSpec>& specs) {
  std::shared_ptr<Drive> out(new Drive(model));
  for (const DriveSpec& spec : specs) {
    const std::optional<int> found = model.find_joint(spec.joint);
    if (!found)
      return fail(ErrorKind::Scenario,
                  fmt::format("there is no joint '{}'{}", spec.joint, did_you_mean(spec.joint, names_of(model.joints()))));
    const Joint& joint = model.joints()[static_cast<std::size_t>(*found)];
    if (spec.freedom < 0 || spec.freedom >= joint.nv)
      return fail(ErrorKind::Scenario,
                  fmt::format("joint '{}' has {} freedoms, so no freedom {}", joint.name, joint.nv, spec.freedom));
    if (spec.freedom >= ball_start(joint))
      return fail(ErrorKind::Scenario,
                  fmt::format("freedom {} of joint '{}' is part of an attitude, which is no function of one number", spec.freedom,
                              joint.name));
    if (const std::string why = flaw(spec.signal); !why.empty()) return fail(ErrorKind::Scenario, why);
    if (!can_be_followed(spec.signal))
      return fail(
          ErrorKind::Scenario,
          fmt::format("the signal of joint '{}' jumps, or its rate does, and nothing with inertia can follow: drives take "
                      "constant, sine and polynomial",
                      joint.name));
    if (!(spec.correction >= 0) || !std::isfinite(spec.correction))
      return fail(ErrorKind::Scenario,
                  fmt::format("correction must be a rate in 1/s that is not negative, not {}", spec.correction));
    const Eigen::Index v = joint.v0 + spec.freedom;
    for (const One& other : out->drives_)
      if (other.v == v)
        return fail(ErrorKind::Scenario, fmt::format("freedom {} of joint '{}' is driven twice", spec.freedom, joint.name));
    out->drives_.push_back({*found, spec.freedom, v, joint.winds(spec.freedom), spec.signal, spec.correction});
  }
  const auto k = static_cast<Eigen::Index>(out->drives_.size());
  out->response_ = MatX::Zero(k, k);
  out->wanted_ = out->scale_ = VecX::Zero(k);
  out->order_.assign(out->drives_.size(), 0);
  return std::shared_ptr<const Drive>(std::move(out));
}

std::optional<std::shared_ptr<const Environment>> Drive::bound_to(const Model& model) const {
  std::vector<DriveSpec> left;
  for (const One& d : drives_) {
    const std::string& name = model_.joints()[static_cast<std::size_t>(d.joint)].name;
    const std::optional<int> joint = model.find_joint(name);
    if (joint && d.freedom < model.joints()[static_cast<std::size_t>(*joint)].nv)
      left.push_back({name, d.freedom, d.signal, d.correction});
  }
  if (left.empty()) return nullptr;
  const auto built = build(model, left);
  return built ? std::shared_ptr<const Environment>(*built) : nullptr;
}

double Drive::next_event(double t) const {
  double next = std::numeric_limits<double>::infinity();
  for (const One& d : drives_) next = std::min(next, invar::next_event(d.signal, t));
  return next;
}

std::vector<Drive::Aim> Drive::aims(double t) const {
  std::vector<Aim> out;
  for (const One& d : drives_) out.push_back({d.joint, d.freedom, value(d.signal, t), rate(d.signal, t)});
  return out;
}

// Joint coordinates, those that are driven on the turn where they are meant to be, and what is coupled to them.
void Drive::expect_turns(Instant at, const Bodies& bodies) const {
  joint_coordinates(model_, bodies, q_, v_);
  for (const Joint& joint : model_.joints())
    for (int k = 0; k < joint.nv; ++k) wound_[joint.v0 + k] = joint.winds(k) ? q_[joint.q0 + k] : 0.0;
  for (const One& d : drives_)
    if (d.winds) wound_[d.v] = value(d.signal, at);
  // Couplings in a row pass turns on, in whatever order they were written.
  for (std::size_t pass = 0; pass < model_.couplings().size(); ++pass)
    for (const Coupling& c : model_.couplings()) {
      const Joint &coupled = model_.joints()[static_cast<std::size_t>(c.joint)],
                  &of = model_.joints()[static_cast<std::size_t>(c.of)];
      const double driving = of.winds(c.of_freedom) ? wound_[of.v0 + c.of_freedom] : q_[of.q0 + c.of_freedom];
      if (coupled.winds(c.freedom)) wound_[coupled.v0 + c.freedom] = driven_by(c, driving).value;
    }
  unwind(model_, wound_, q_);
  driving_coordinates(model_, q_, coupling_q_);
}

// Accelerations per unit effort, from rest: nothing but efforts counts.
bool Drive::respond(const Bodies& bodies) const {
  still_ = bodies;
  for (BodyState& b : still_) b.v_WC.setZero(), b.w_WB.setZero();
  for (std::size_t k = 0; k < drives_.size(); ++k) {
    unit_.setZero();
    unit_[drives_[k].v] = 1;
    const KktInput input{.dynamics = false, .efforts = &unit_, .coupling_q = &coupling_q_};
    if (!unreduced_.solver().solve(still_, input, accelerations_, reactions_).ok()) return false;
    joint_accelerations(model_, still_, accelerations_, vdot_);
    for (std::size_t i = 0; i < drives_.size(); ++i)
      response_(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) = vdot_[drives_[i].v];
  }
  return true;
}

// Responses are made comparable by those of each freedom to itself, the diagonal of a positive matrix: what is left below kHeld
// of the whole inertia is rounding. Efforts in `wanted_`; the first drive that cannot act, or -1.
int Drive::solve_efforts() const {
  const auto n = static_cast<Eigen::Index>(drives_.size());
  const double inertia = whole_inertia(model_);
  for (Eigen::Index k = 0; k < n; ++k) {
    const One& d = drives_[static_cast<std::size_t>(k)];
    const Joint& joint = model_.joints()[static_cast<std::size_t>(d.joint)];
    const double unit = joint.turns(d.freedom) ? 1.0 : model_.length();
    const double answer = response_(k, k);
    scale_[k] = answer * inertia > kHeld * unit * unit ? 1 / std::sqrt(answer) : 0.0;
  }
  for (Eigen::Index k = 0; k < n; ++k) {
    response_.row(k) *= scale_[k];
    response_.col(k) *= scale_[k];
  }
  wanted_.array() *= scale_.array();
  const int idle = solve_small(response_, wanted_, order_);
  for (Eigen::Index k = 0; k < n; ++k) wanted_[k] *= scale_[order_[static_cast<std::size_t>(k)]];
  return idle;
}

std::string Drive::objection(Instant at, const Bodies& bodies) const {
  expect_turns(at, bodies);
  if (!respond(bodies)) return "the equations of motion cannot be solved there";
  wanted_.setZero();
  const int idle = solve_efforts();
  if (idle < 0) return "";
  const One& d = drives_[static_cast<std::size_t>(idle)];
  const bool held = scale_[idle] == 0;
  return fmt::format(
      "joint '{}' cannot be driven: {}", model_.joints()[static_cast<std::size_t>(d.joint)].name,
      held ? "no effort on it changes its motion" : "no effort on it changes its motion that the other drives would not undo");
}

void Drive::add(Instant at, const Bodies& bodies, Load& load) const {
  expect_turns(at, bodies);
  if (!unreduced_.solve(bodies, load, wound_, accelerations_, reactions_).ok()) return;  // whoever steps will say why
  joint_accelerations(model_, bodies, accelerations_, vdot_);
  for (std::size_t k = 0; k < drives_.size(); ++k) {
    const One& d = drives_[k];
    double gap = value(d.signal, at) - q_[model_.joints()[static_cast<std::size_t>(d.joint)].q0 + d.freedom];
    if (d.winds) gap = std::remainder(gap, 2 * std::numbers::pi);
    const double lag = rate(d.signal, at) - v_[d.v];
    wanted_[static_cast<Eigen::Index>(k)] =
        second_rate(d.signal, at) + 2 * d.correction * lag + d.correction * d.correction * gap - vdot_[d.v];
  }
  if (!respond(bodies)) return;
  solve_efforts();  // zero for a drive that cannot act
  for (std::size_t k = 0; k < drives_.size(); ++k)
    load.efforts[drives_[static_cast<std::size_t>(order_[k])].v] += wanted_[static_cast<Eigen::Index>(k)];
}

}  // namespace invar
