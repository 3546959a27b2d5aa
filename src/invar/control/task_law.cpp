// SPDX-License-Identifier: Apache-2.0
//
// M ν_r + Jᵀλ = J_tᵀ y - k ∇U,  J ν_r = 0,  J_t ν_r + D y = ν_er: with the columns X = A J_tᵀ, A being symmetric,
//   ν_r = A (J_tᵀ y - k ∇U),   (J_t X + D) y = ν_er + k Xᵀ ∇U.
// Its derivative is that of a product A f with ḟ = J_tᵀ ẏ + J̇_tᵀ y - k d/dt ∇U: with p the part without ẏ,
//   ν̇_r = p + X ẏ,   (J_t X + D) ẏ = ν̇_er - J̇_t ν_r - J_t p.
// Eliminating it row by row in order of priority is the same as solving each task in the null space of those before it.
#include "invar/control/task_law.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "invar/control/equal_bodies.hpp"
#include "invar/mech/scales.hpp"

namespace invar {
namespace {

// A direction that keeps less than this of the mobility that the body would have alone, all bodies being equal, beside the tasks
// before it has none: joints leave nothing but round-off or noise of attitudes there.
constexpr double kIndependent = 1e-8;
// With the masses as they are, what keeps more than this of the mobility of its position or attitude, and of what the body would
// have alone, is beyond doubt.
constexpr double kBeyondDoubt = 1e-6;

// Of the largest mobility of a position or an attitude, with the masses as they are: less is covered by rounding.
constexpr double kLost = 1e-14;

void clear(Port& port) {
  for (Wrench& w : port) w = Wrench{};
}

}  // namespace

TaskLaw::TaskLaw(const Model& model, TaskLawSpec spec, Repulsion repulsion, LimitRepulsion limits)
    : PortLaw(model, spec.gains),
      spec_(std::move(spec)),
      repulsion_(std::move(repulsion)),
      limits_(std::move(limits)),
      followers_(spec_.tasks.size()),
      flow_(model),
      equal_(with_equal_bodies(model)),
      geometry_(equal_),
      way_(model.bodies().size()),
      f_(model.bodies().size()),
      f_dot_(f_),
      slope_(f_),
      slope_rate_(f_) {
  std::vector<std::string> names;
  std::vector<double> damping, equal_damping, held;
  const Scales scales = scales_of(model);
  double mass = 0;
  for (const Body& body : model.bodies()) mass += body.inertia.mass;
  for (std::size_t k = 0; k < spec_.tasks.size(); ++k) {
    const Task& task = spec_.tasks[k];
    names.push_back(task.name);
    followers_[k].first = static_cast<int>(task_of_row_.size());
    for (int axis = task.position ? 0 : 3; axis < (task.attitude ? 6 : 3); ++axis) {
      task_of_row_.push_back(static_cast<int>(k));
      axis_of_row_.push_back(axis);
      const double lever = axis < 3 ? 1 : model.length() * model.length();
      const double own = model.bodies()[static_cast<std::size_t>(task.body)].inertia.mass;
      damping.push_back(task.damping / (mass * lever));
      equal_damping.push_back(task.damping / (static_cast<double>(model.bodies().size()) * lever));
      if (axis % 3 == 0) held.push_back(kBeyondDoubt / ((own > 0 ? own : mass) * lever));
      if (axis % 3 == 0) length_.push_back(scales.length_at(task.body));
      X_.emplace_back(model.bodies().size());
    }
    Follower& f = followers_[k];
    if (task.position) {
      f.at_position = tracking_.size(), tracking_.push_back({task.name + ".position", "m"});
      f.p = read({"reference_" + task.name + "_p", "m", "where the task wants its frame, World", 3});
    }
    if (task.attitude) {
      f.at_attitude = tracking_.size(), tracking_.push_back({task.name + ".attitude", "rad"});
      f.q = read({"reference_" + task.name + "_q", "1", "attitude that the task wants, quaternion, scalar first", 4});
    }
  }
  const auto rows = static_cast<Eigen::Index>(task_of_row_.size());
  wanted_ = wanted_dot_ = y_ = y_dot_ = VecX::Zero(rows);
  gram_ = equal_gram_ = L_ = MatX::Zero(rows, rows);
  damping_ = Eigen::Map<const VecX>(damping.data(), rows);
  equal_damping_ = Eigen::Map<const VecX>(equal_damping.data(), rows);
  held_ = Eigen::Map<const VecX>(held.data(), rows / 3);
  kept_.assign(task_of_row_.size() / 3, 3);
  inverse_of_block_.assign(kept_.size(), Mat3::Zero());
  left_.assign(kept_.size(), Mat3::Identity());
  certificate_.law = spec_.as_printed ? "A-III as printed" : "A-III, constraint-consistent";
  certificate_.guarantee =
      "V falls at the rate sᵀ K_d s but for disturbances; with s = 0 position errors of the tasks decay with their rate, small "
      "attitude errors with half of it";
  proven_ = !spec_.as_printed;
  if (!proven_)
    certificate_.guarantee = "none: joints need not allow the reference velocity, so V̇ has the power of their reactions along it";
  reached_ = certificate_.add({"task_can_be_met", "every row of the tasks has a motion of its own", "1", 0, names});
  switches_ = certificate_.add({"attitude_keeps_its_side", "attitude errors that pass half a turn", "1", 0, names});
  if (!repulsion_.empty()) {
    clearance_ = read({"clearance", "m", "least distance between what is guarded and an obstacle"});
    clear_ =
        certificate_.add({"obstacles_are_clear", "how deep a guarded shape is in an obstacle", "m", 0, names_of(model.bodies())});
  }
  if (!limits_.empty())
    within_ =
        certificate_.add({"joints_within_limits", "how far a freedom is beyond its limit", "rad or m", 0, limits_.names(model)});
}

std::vector<Mark> TaskLaw::marks() const {
  std::vector<Mark> out;
  for (const Task& task : spec_.tasks) out.push_back({"reference_" + task.name, task.body, task.X_BE});
  return out;
}

// What the tasks want, and how far they are from it.
void TaskLaw::ask(Instant at) {
  for (std::size_t k = 0; k < followers_.size(); ++k) {
    const Task& task = spec_.tasks[k];
    Follower& f = followers_[k];
    const auto b = static_cast<std::size_t>(task.body);
    const BodyState& body = inverse_.bodies()[b];
    f.wanted = task.path(at);
    f.arm = body.q_WB * (task.X_BE.p - model().bodies()[b].inertia.p_BC);
    const Vec3 v = body.v_WC + body.w_WB.cross(f.arm);
    f.position_error = body.p_WC + f.arm - f.wanted.p;
    int r = f.first;
    if (task.position) {
      wanted_.segment<3>(r) = f.wanted.v - task.position_rate * f.position_error;
      wanted_dot_.segment<3>(r) = f.wanted.a - task.position_rate * (v - f.wanted.v);
      r += 3;
    }
    if (!task.attitude) continue;
    const AttitudeError e(body.q_WB * task.X_BE.q, body.w_WB, f.wanted.q, f.wanted.w);
    f.angle = e.angle();
    Vec3 error = f.side.of(e.eta) * e.epsilon, error_dot = f.side.of(e.eta) * e.epsilon_dot;
    if (spec_.as_printed) {
      // vec(q_d⁻¹ q): the same vector in the axes wanted, and no side.
      error = f.wanted.q.conjugate() * e.epsilon;
      error_dot = f.wanted.q.conjugate() * Vec3(e.epsilon_dot - f.wanted.w.cross(e.epsilon));
    }
    wanted_.segment<3>(r) = f.wanted.w - task.attitude_rate * error;
    wanted_dot_.segment<3>(r) = f.wanted.alpha - task.attitude_rate * error_dot;
  }
}

// Velocity of the frame along a row's axis in a field.
double TaskLaw::row(int r, const Accelerations& x) const {
  const auto k = static_cast<std::size_t>(task_of_row_[static_cast<std::size_t>(r)]);
  const BodyAcceleration& at = x[static_cast<std::size_t>(spec_.tasks[k].body)];
  const int axis = axis_of_row_[static_cast<std::size_t>(r)];
  return axis < 3 ? (at.a_WC + at.alpha_WB.cross(followers_[k].arm))[axis] : at.alpha_WB[axis - 3];
}

void TaskLaw::add_row(int r, double y, Port& port) const {
  const auto k = static_cast<std::size_t>(task_of_row_[static_cast<std::size_t>(r)]);
  const int axis = axis_of_row_[static_cast<std::size_t>(r)];
  Wrench& w = port[static_cast<std::size_t>(spec_.tasks[k].body)];
  if (axis < 3)
    w += Wrench{followers_[k].arm.cross(Vec3(y * Vec3::Unit(axis))), y * Vec3::Unit(axis)};
  else
    w.moment[axis - 3] += y;
}

Verdict TaskLaw::columns() {
  const int rows = static_cast<int>(X_.size());
  for (int r = 0; r < rows; ++r) {
    clear(f_);
    add_row(r, 1, f_);
    if (const Verdict v = inverse_.apply(&f_, nullptr, X_[static_cast<std::size_t>(r)]); !v.ok()) return v;
    for (int c = 0; c <= r; ++c) gram_(r, c) = gram_(c, r) = row(c, X_[static_cast<std::size_t>(r)]);
    gram_(r, r) += damping_[r];
  }
  return {};
}

// L Lᵀ = J_t A J_tᵀ in the order of priority, in blocks of three: the rows of a position or of an attitude. `root` gives a G with
// G Gᵀ the inverse of what tasks before it leave of a block, and zeros where nothing is left.
template <class Root>
void TaskLaw::eliminate(const MatX& gram, const Root& root) {
  const auto blocks = static_cast<Eigen::Index>(kept_.size());
  for (Eigen::Index b = 0; b < blocks; ++b) {
    Mat3 left = gram.block<3, 3>(3 * b, 3 * b);
    for (Eigen::Index k = 0; k < b; ++k) left -= L_.block<3, 3>(3 * b, 3 * k) * L_.block<3, 3>(3 * b, 3 * k).transpose();
    const Mat3& G = inverse_of_block_[static_cast<std::size_t>(b)] = root(b, left);
    for (Eigen::Index c = b + 1; c < blocks; ++c) {
      Mat3 below = gram.block<3, 3>(3 * c, 3 * b);
      for (Eigen::Index k = 0; k < b; ++k) below -= L_.block<3, 3>(3 * c, 3 * k) * L_.block<3, 3>(3 * b, 3 * k).transpose();
      L_.block<3, 3>(3 * c, 3 * b) = below * G;
    }
  }
}

// A block is inverted in the axes of its own mobility, so that nothing depends on World: G = V Λ^-½. True where no direction is
// in doubt.
bool TaskLaw::factor_whole() {
  bool out = true;
  eliminate(gram_, [&](Eigen::Index b, const Mat3& left) -> Mat3 {
    const Eigen::SelfAdjointEigenSolver<Mat3> axes(left);
    const double whole = gram_.block<3, 3>(3 * b, 3 * b).trace();
    out = out && axes.eigenvalues()[0] > std::max(kBeyondDoubt * whole, held_[b]);
    return axes.eigenvectors() * axes.eigenvalues().cwiseMax(0.0).cwiseSqrt().cwiseInverse().asDiagonal();
  });
  return out;
}

// Which directions tasks have is a matter of geometry: light bodies and slender ones have as many as others. With equal bodies,
// J_t A J_tᵀ is compared with what the body would have alone: 1 - [arm]²/ℓ² of a position, 1/ℓ² of an attitude.
Verdict TaskLaw::look_at_geometry() {
  if (const Verdict v = geometry_.at(inverse_.bodies()); !v.ok()) return v;
  for (int r = 0; r < static_cast<int>(X_.size()); ++r) {
    clear(f_);
    add_row(r, 1, f_);
    if (const Verdict v = geometry_.apply(&f_, nullptr, way_); !v.ok()) return v;
    for (int c = 0; c <= r; ++c) equal_gram_(r, c) = equal_gram_(c, r) = row(c, way_);
    equal_gram_(r, r) += equal_damping_[r];
  }
  eliminate(equal_gram_, [&](Eigen::Index b, const Mat3& left) -> Mat3 {
    const auto block = static_cast<std::size_t>(b);
    const Vec3& arm = followers_[static_cast<std::size_t>(task_of_row_[3 * block])].arm;
    Mat3 alone = Mat3::Identity();
    if (axis_of_row_[3 * block] < 3)
      alone += (arm.squaredNorm() * Mat3::Identity() - arm * arm.transpose()) / (length_[block] * length_[block]);
    else
      alone /= length_[block] * length_[block];
    const Eigen::GeneralizedSelfAdjointEigenSolver<Mat3> axes(left, alone);
    Mat3 G = Mat3::Zero(), gone = Mat3::Zero();
    kept_[block] = 0;
    for (int i = 0; i < 3; ++i) {
      const Vec3 way = axes.eigenvectors().col(i);
      if (axes.eigenvalues()[i] > kIndependent)
        ++kept_[block], G.col(i) = way / std::sqrt(axes.eigenvalues()[i]);
      else
        gone += way * way.transpose() / way.squaredNorm();
    }
    // What is left is across all that has gone.
    const Eigen::SelfAdjointEigenSolver<Mat3> across(gone);
    left_[block].setZero();
    for (int i = 0; i < kept_[block]; ++i)
      left_[block] += across.eigenvectors().col(i) * across.eigenvectors().col(i).transpose();
    return G;
  });
  return {};
}

Verdict TaskLaw::factor() {
  std::fill(kept_.begin(), kept_.end(), 3);
  if (!looked_) {  // the first time in any case: later there is no heap
    looked_ = true;
    if (const Verdict v = look_at_geometry(); !v.ok()) return v;
    std::fill(kept_.begin(), kept_.end(), 3);
  }
  if (factor_whole()) return {};
  if (const Verdict v = look_at_geometry(); !v.ok()) return v;
  eliminate(gram_, [&](Eigen::Index b, const Mat3& left) -> Mat3 {
    const auto block = static_cast<std::size_t>(b);
    const Eigen::SelfAdjointEigenSolver<Mat3> axes(left_[block] * left * left_[block]);
    Mat3 G = Mat3::Zero();
    // Beside what moves so much more easily that rounding covers it, nothing can be told.
    const double least = kLost * axes.eigenvalues()[2];
    const int first = 3 - kept_[block];
    for (int i = first; i < 3; ++i)
      if (axes.eigenvalues()[i] > least)
        G.col(i) = axes.eigenvectors().col(i) / std::sqrt(axes.eigenvalues()[i]);
      else
        --kept_[block];
    return G;
  });
  return {};
}

void TaskLaw::solve(VecX& y) const {
  const auto blocks = static_cast<Eigen::Index>(kept_.size());
  for (Eigen::Index b = 0; b < blocks; ++b) {
    Vec3 left = y.segment<3>(3 * b);
    for (Eigen::Index k = 0; k < b; ++k) left -= L_.block<3, 3>(3 * b, 3 * k) * y.segment<3>(3 * k);
    y.segment<3>(3 * b) = inverse_of_block_[static_cast<std::size_t>(b)].transpose() * left;
  }
  for (Eigen::Index b = blocks - 1; b >= 0; --b) {
    Vec3 left = y.segment<3>(3 * b);
    for (Eigen::Index c = b + 1; c < blocks; ++c) left -= L_.block<3, 3>(3 * c, 3 * b).transpose() * y.segment<3>(3 * c);
    y.segment<3>(3 * b) = inverse_of_block_[static_cast<std::size_t>(b)] * left;
  }
}

// A (41) with J_t† = J_tᵀ.
void TaskLaw::printed(Accelerations& nu_r, Accelerations& nu_r_dot) {
  const double k = spec_.avoidance;
  const auto take = [k](const Port& p, Accelerations& x) {
    for (std::size_t b = 0; b < x.size(); ++b) x[b] = {-k * p[b].force, -k * p[b].moment};
  };
  take(slope_, nu_r), take(slope_rate_, nu_r_dot);
  for (const Task& task : spec_.tasks) {
    const Follower& f = followers_[static_cast<std::size_t>(&task - spec_.tasks.data())];
    const auto b = static_cast<std::size_t>(task.body);
    int r = f.first;
    if (task.position) nu_r[b].a_WC = wanted_.segment<3>(r), nu_r_dot[b].a_WC = wanted_dot_.segment<3>(r), r += 3;
    if (task.attitude) nu_r[b].alpha_WB = wanted_.segment<3>(r), nu_r_dot[b].alpha_WB = wanted_dot_.segment<3>(r);
  }
}

Verdict TaskLaw::refer(Instant at, Accelerations& nu_r, Accelerations& nu_r_dot) {
  ask(at);
  clear(slope_), clear(slope_rate_);
  repulsion_.add_gradient(inverse_.bodies(), slope_, &slope_rate_);
  limits_.add_gradient(inverse_, slope_, slope_rate_);
  if (spec_.as_printed) return printed(nu_r, nu_r_dot), Verdict{};
  if (const Verdict v = columns(); !v.ok()) return v;
  if (const Verdict v = factor(); !v.ok()) return v;
  // ν_r, with the forces that hold it there.
  const double k = spec_.avoidance;
  for (int r = 0; r < y_.size(); ++r) y_[r] = wanted_[r] + k * paired(slope_, X_[static_cast<std::size_t>(r)]);
  solve(y_);
  for (std::size_t b = 0; b < f_.size(); ++b) f_[b] = -k * slope_[b];
  for (int r = 0; r < y_.size(); ++r) add_row(r, y_[r], f_);
  if (const Verdict v = inverse_.apply(&f_, nullptr, flow_); !v.ok()) return v;
  nu_r = flow_.x;

  // J̇_tᵀ y: a force that stays on an arm that turns. J̇_t ν_r likewise.
  for (std::size_t b = 0; b < f_dot_.size(); ++b) f_dot_[b] = -k * slope_rate_[b];
  for (int r = 0; r < y_.size(); ++r) {
    const auto task = static_cast<std::size_t>(task_of_row_[static_cast<std::size_t>(r)]);
    const auto b = static_cast<std::size_t>(spec_.tasks[task].body);
    const int axis = axis_of_row_[static_cast<std::size_t>(r)];
    if (axis > 2) continue;
    const Vec3 arm_rate = inverse_.bodies()[b].w_WB.cross(followers_[task].arm);
    f_dot_[b].moment += arm_rate.cross(Vec3(y_[r] * Vec3::Unit(axis)));
  }
  if (const Verdict v = inverse_.derivative(flow_, f_dot_, nu_r_dot); !v.ok()) return v;
  for (int r = 0; r < y_.size(); ++r) {
    const auto task = static_cast<std::size_t>(task_of_row_[static_cast<std::size_t>(r)]);
    const auto b = static_cast<std::size_t>(spec_.tasks[task].body);
    const int axis = axis_of_row_[static_cast<std::size_t>(r)];
    const Vec3 turned = nu_r[b].alpha_WB.cross(inverse_.bodies()[b].w_WB.cross(followers_[task].arm));
    y_dot_[r] = wanted_dot_[r] - row(r, nu_r_dot) - (axis < 3 ? turned[axis] : 0.0);
  }
  solve(y_dot_);
  for (int r = 0; r < y_.size(); ++r)
    for (std::size_t b = 0; b < nu_r_dot.size(); ++b) {
      const BodyAcceleration& x = X_[static_cast<std::size_t>(r)][b];
      nu_r_dot[b].a_WC += y_dot_[r] * x.a_WC, nu_r_dot[b].alpha_WB += y_dot_[r] * x.alpha_WB;
    }
  return {};
}

void TaskLaw::choose_sides(Instant at, const Bodies& bodies) {
  for (std::size_t k = 0; k < followers_.size(); ++k) {
    const Task& task = spec_.tasks[k];
    if (!task.attitude) continue;
    const BodyState& body = bodies[static_cast<std::size_t>(task.body)];
    const PoseJet wanted = task.path(at);
    const AttitudeError e(body.q_WB * task.X_BE.q, body.w_WB, wanted.q, wanted.w);
    if (followers_[k].side.look(e.eta)) certificate_.look(switches_, at.t, 1, static_cast<int>(k));
  }
}

// What a task without damping asks for must be possible as a whole, beside the tasks before it.
std::string TaskLaw::cannot() const {
  for (std::size_t k = 0; k + 1 < spec_.tasks.size(); ++k)
    if (spec_.tasks[k].damping > 0)
      return fmt::format("task '{}' is damped, so it must be the last: what comes after it would take from it",
                         spec_.tasks[k].name);
  for (int k = 0; k < static_cast<int>(followers_.size()) && !spec_.as_printed; ++k) {
    int rows = 0, met = 0;
    for (std::size_t b = 0; b < kept_.size(); ++b)
      if (task_of_row_[3 * b] == k) rows += 3, met += kept_[b];
    if (met == rows) continue;
    const Task& task = spec_.tasks[static_cast<std::size_t>(k)];
    const std::string& name = task.name;
    if (k == 0)
      return fmt::format("task '{}' asks for {} rates, of which the mechanism can have {} at this start; {}", name, rows, met,
                         task.position && task.attitude ? "follow position or attitude alone"
                                                        : "give its freedoms references under a law in freedoms");
    return fmt::format(
        "task '{}' asks for {} rates, of which the tasks before it leave {}; with 'damping' (1e-3) it is followed as well as "
        "what is left allows",
        name, rows, met);
  }
  return {};
}

void TaskLaw::track(double t) {
  for (std::size_t k = 0; k < followers_.size(); ++k) {
    const Follower& f = followers_[k];
    if (spec_.tasks[k].position) tracking_[f.at_position].look(t, f.position_error.norm()), show(f.p, f.wanted.p);
    if (spec_.tasks[k].attitude) tracking_[f.at_attitude].look(t, f.angle), show(f.q, f.wanted.q);
  }
  if (clear_ >= 0) {
    const Repulsion::Clearance least = repulsion_.clearance(inverse_.bodies());
    show(clearance_, least.distance);
    certificate_.look(clear_, t, -least.distance, least.body);
  }
  if (within_ >= 0) {
    const LimitRepulsion::Excess worst = limits_.excess(inverse_);
    certificate_.look(within_, t, worst.amount, worst.freedom, round_off(worst.terms));
  }
  certificate_.look(switches_, t, 0);
  certificate_.look(reached_, t, 0);
  for (std::size_t b = 0; b < kept_.size(); ++b)
    if (kept_[b] < 3) certificate_.look(reached_, t, 1, task_of_row_[3 * b]);
}

void TaskLaw::remember(Recall& memory) {
  PortLaw::remember(memory);
  for (auto& one : followers_) memory(one.side.side);
}

}  // namespace invar
