// SPDX-License-Identifier: Apache-2.0
//
// Where branches meet, positions may choose one, or rates: on a branch all rates are v = s q'(x), so names choose it where some x
// and s meet them all.
#include "invar/run/start_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/mech/gaps.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {
namespace {

constexpr double kMoves = 1e-6;    // of a unit tangent: a freedom that tells where on the branch one is
constexpr double kDiffers = 1e-3;  // of the largest rate: a joint that tells branches apart
constexpr double kOff = 1e-6;      // of a form at unit rates: what belongs to no branch
constexpr std::size_t kTold = 4;   // branches, joints

}  // namespace

double AsNamed::unit(std::size_t joint, int freedom) const {
  const Joint& j = model_.joints()[joint];
  return j.turns(freedom) ? 1 : scales_.length_at(j.child);
}

double AsNamed::off(std::size_t joint, int freedom, double is, double named) const {
  return std::abs(is - named) / (unit(joint, freedom) + std::abs(named));
}

VecX named_rates(const Model& model, const Start& start) {
  VecX out = start.joints.v;
  for (std::size_t j = 0; j < model.joints().size(); ++j)
    for (int k = 0; k < model.joints()[j].nv; ++k)
      if (!start.names_rate(model, j, k)) out[model.joints()[j].v0 + k] = std::numeric_limits<double>::quiet_NaN();
  return out;
}

Start without_rates(Start start) {
  start.no_rate.assign(start.named.size(), true);
  start.driven.clear();
  return start;
}

std::vector<int> named_freedoms(const Model& model, const Start& start) {
  std::vector<int> out;
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    for (int k = 0; joint.nq == joint.nv && k < joint.nv; ++k)
      if (start.names(model, j, k)) out.push_back(joint.v0 + k);
  }
  return out;
}

std::vector<int> named_attitudes(const Model& model, const Start& start) {
  std::vector<int> out;
  for (std::size_t j = 0; j < model.joints().size(); ++j)
    if (model.joints()[j].nq != model.joints()[j].nv && start.names(model, j, 0)) out.push_back(static_cast<int>(j));
  return out;
}

// The angle between two attitudes, and of free bodies the distance of their places in parts of a length.
double AsNamed::off_pose(std::size_t joint, const VecX& q, const VecX& named) const {
  const Joint& j = model_.joints()[joint];
  const int turn = j.q0 + j.nq - 4;
  const double cosine = std::abs(q.segment<4>(turn).dot(named.segment<4>(turn))) / named.segment<4>(turn).norm();
  double off = 2 * std::acos(std::min(1.0, cosine));
  if (cosine > 0.9) {  // where the cosine tells little
    const double sign = q.segment<4>(turn).dot(named.segment<4>(turn)) < 0 ? -1 : 1;
    off = 2 * (sign * q.segment<4>(turn) - named.segment<4>(turn)).norm();
  }
  const int places = j.nq - 4;
  if (places > 0) {
    const VecX to = named.segment(j.q0, places);
    off = std::max(off, (q.segment(j.q0, places) - to).norm() / (scales_.length_at(j.child) + to.norm()));
  }
  return off;
}

double off_names(const Model& model, const Start& start, const Bodies& bodies, const VecX& wound) {
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  unwind(model, wound, q);
  const AsNamed measure(model);
  double largest = 0;
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (joint.nq != joint.nv && start.names(model, j, 0)) largest = std::max(largest, measure.off_pose(j, q, start.joints.q));
    for (int k = 0; k < joint.nv; ++k) {
      if (joint.nq == joint.nv && start.names(model, j, k))
        largest = std::max(largest, measure.off(j, k, q[joint.q0 + k], start.joints.q[joint.q0 + k]));
      if (start.names_rate(model, j, k))
        largest = std::max(largest, measure.off(j, k, v[joint.v0 + k], start.joints.v[joint.v0 + k]));
    }
  }
  return largest;
}

namespace {

struct Broken {
  double gap = 0;  // rad, or parts of the length
  int coupling = -1;
};

Broken most_broken(const Model& model, const Bodies& bodies, const VecX& wound) {
  Broken out;
  if (model.couplings().empty()) return out;
  const Scales scales = scales_of(model);
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  unwind(model, wound, q);
  for (int c = 0; c < static_cast<int>(model.couplings().size()); ++c)
    if (const double gap = gap_of_coupling(model, scales, c, coupling_residual(model, c, q)); gap > out.gap) out = {gap, c};
  return out;
}

bool coupled(const Model& model, int joint, int freedom) {
  return std::any_of(model.couplings().begin(), model.couplings().end(), [&](const Coupling& c) {
    return (c.joint == joint && c.freedom == freedom) || (c.of == joint && c.of_freedom == freedom);
  });
}

}  // namespace

VecX wound_of(const Model& model, const Start& start, const Bodies& bodies) {
  VecX told = start.turns(model);
  const VecX together = wound_at(model, bodies, told);
  const double gap = told.size() > 0 ? most_broken(model, bodies, together).gap : 0;
  if (!(gap > AsNamed::kBound)) return together;
  struct Teller {
    int freedom;
    double off;
  };
  std::vector<Teller> tellers;
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  const AsNamed measure(model);
  for (std::size_t j = 0; j < model.joints().size(); ++j)
    for (int k = 0; k < model.joints()[j].nv; ++k) {
      const int i = model.joints()[j].v0 + k;
      if (std::isnan(told[i]) || !model.joints()[j].winds(k)) continue;
      const double off = measure.off(j, k, nearest_turn(q[model.joints()[j].q0 + k], told[i]), told[i]);
      const bool named = start.names(model, j, k), gave_way = named && off > AsNamed::kBound;
      if (gave_way && coupled(model, static_cast<int>(j), k))
        told[i] = std::numeric_limits<double>::quiet_NaN();
      else
        tellers.push_back({i, named && !gave_way ? -1 : off});
    }
  // What has come round by a whole turn seems near, too: then the others tell.
  VecX best = together;
  double least = gap;
  for (const double sign : {1.0, -1.0}) {
    const auto place = [&](const Teller& t) { return t.off < 0 ? -std::numeric_limits<double>::infinity() : sign * t.off; };
    std::sort(tellers.begin(), tellers.end(), [&](const Teller& a, const Teller& b) {
      return place(a) != place(b) ? place(a) < place(b) : a.freedom < b.freedom;
    });
    std::vector<int> in_turn;
    for (const Teller& teller : tellers) in_turn.push_back(teller.freedom);
    const VecX wound = wound_at(model, bodies, told, in_turn);
    if (const double now = most_broken(model, bodies, wound).gap; now < least) best = wound, least = now;
    if (!(least > AsNamed::kBound)) break;
  }
  return best;
}

Result<void> expect_couplings(const Model& model, const Bodies& bodies, const VecX& wound) {
  const Broken broken = most_broken(model, bodies, wound);
  if (!(broken.gap > AsNamed::kBound)) return {};
  const Coupling& c = model.couplings()[static_cast<std::size_t>(broken.coupling)];
  const Joint &joint = model.joints()[static_cast<std::size_t>(c.joint)], &of = model.joints()[static_cast<std::size_t>(c.of)];
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  unwind(model, wound, q);
  const double is = q[joint.q0 + c.freedom], driving = q[of.q0 + c.of_freedom];
  return fail(
      ErrorKind::State,
      fmt::format("coupling '{}' does not hold on the turns that are named: joint '{}' at {:.6g} puts '{}' at {:.6g}, not at "
                  "{:.6g}; name one of them, on the turn that is meant",
                  c.name, freedom_name(of, c.of_freedom), driving, freedom_name(joint, c.freedom), driven_by(c, driving).value,
                  is));
}

void take_group(const Loops& loops, std::size_t group, const VecX& q_from, const VecX& v_from, VecX& q, VecX& v) {
  for (const int f : loops.groups()[group].freedoms) {
    const JointNode& n = loops.tree().nodes()[loops.tree().node_of_freedom(f)];
    q.segment(n.q0, n.nq) = q_from.segment(n.q0, n.nq);
    v[f] = v_from[f];
  }
}

NamedBranches::NamedBranches(Loops& loops, const std::vector<int>& leaders, std::size_t group, const VecX& q, const VecX& wound,
                             const Start& start)
    : model_(loops.model()),
      start_(start),
      measure_(model_),
      loops_(loops),
      leaders_(leaders),
      group_(group),
      q_(q),
      wound_(wound),
      joints_(model_.joints().size(), false),
      meeting_(meeting_at(loops, group, q, wound)) {
  const Loops::Group& g = loops.groups()[group];
  for (const int f : g.freedoms)
    if (const int j = loops.tree().joint_of(f); j >= 0) joints_[static_cast<std::size_t>(j)] = true;
  for (const Loops::Row& row : g.rows)
    if (row.joint >= 0) joints_[static_cast<std::size_t>(row.joint)] = true;
  for (const int f : named_freedoms(model_, start))
    for (const int i : g.freedoms)
      if (loops.tree().freedom_of_model(i) == f) freedoms_.push_back(f);
  if (!meeting_ || !meeting_->continuum()) return;
  continuum_ = meeting_->rates;
  if (const MatX rows = ratios(); rows.rows() > 0) meeting_ = meeting_at(loops, group, q, wound, rows);
}

// Rates r = R u of the named joints, with u those of the group, are in the named ratios where (1 - ŵ ŵᵀ) R u = 0.
MatX NamedBranches::ratios() const {
  const Loops::Group& g = loops_.groups()[group_];
  const auto columns = static_cast<Eigen::Index>(g.freedoms.size());
  std::vector<std::pair<std::size_t, int>> rows;
  for (std::size_t j = 0; j < joints_.size(); ++j)
    for (int k = 0; joints_[j] && k < model_.joints()[j].nv; ++k)
      if (start_.names_rate(model_, j, k)) rows.emplace_back(j, k);
  MatX R(static_cast<Eigen::Index>(rows.size()), columns);
  VecX w(R.rows()), q, rates;
  Bodies bodies(model_.bodies().size());
  for (Eigen::Index c = 0; c < columns; ++c) {
    VecX v = VecX::Zero(loops_.tree().nv());
    v[g.freedoms[static_cast<std::size_t>(c)]] = 1 / g.scale[c];
    loops_.tree().place(q_, v, bodies);
    joint_coordinates(model_, bodies, q, rates);
    for (Eigen::Index r = 0; r < R.rows(); ++r) {
      const auto& [j, k] = rows[static_cast<std::size_t>(r)];
      R(r, c) = rates[model_.joints()[j].v0 + k] / measure_.unit(j, k);
      w[r] = start_.joints.v[model_.joints()[j].v0 + k] / measure_.unit(j, k);
    }
  }
  if (!(w.norm() > 0)) return {};
  w.normalize();
  return R - w * (w.transpose() * R);
}

bool NamedBranches::without(const VecX& v) const {
  if (!meeting_) return false;
  VecX rates;
  loops_.rates(group_, v, rates);
  return meeting_->off(rates) > kOff;
}

bool NamedBranches::named(int joint) const {
  return joints_[static_cast<std::size_t>(joint)] && !start_.named.empty() && start_.named[static_cast<std::size_t>(joint)];
}

// Rates of the tree along a branch, v, at the pace that comes nearest to the named ones.
void NamedBranches::pace(const VecX& q, VecX& v) const {
  Bodies bodies(model_.bodies().size());
  loops_.tree().place(q, v, bodies);
  VecX at, rate;
  joint_coordinates(model_, bodies, at, rate);
  double over = 0, under = 0;
  for (int j = 0; j < static_cast<int>(model_.joints().size()); ++j) {
    const auto at_joint = static_cast<std::size_t>(j);
    const Joint& joint = model_.joints()[at_joint];
    for (int k = 0; k < joint.nv && named(j); ++k)
      if (start_.names_rate(model_, at_joint, k)) {
        const double of_branch = rate[joint.v0 + k] / measure_.unit(at_joint, k);
        over += of_branch * start_.joints.v[joint.v0 + k] / measure_.unit(at_joint, k), under += of_branch * of_branch;
      }
  }
  v *= under > 0 ? over / under : 0;
}

bool NamedBranches::contradicted(const VecX& q, const VecX& v) const {
  return several() && as_named(q, v, By::Positions) && !as_named(q, v, By::All);
}

bool NamedBranches::as_named(const VecX& q, const VecX& v, By by) const {
  Bodies bodies(model_.bodies().size());
  loops_.tree().place(q, v, bodies);
  Start of_group = by == By::Positions ? without_rates(start_) : start_;
  for (std::size_t j = 0; j < joints_.size(); ++j)
    if (!joints_[j] && !of_group.named.empty()) of_group.named[j] = false;
  return off_names(model_, of_group, bodies, wound_) <= AsNamed::kBound;
}

// Next to the configuration: where a named freedom that moves is as named.
bool NamedBranches::along(std::size_t branch, By by, Reached& out) {
  const Branch& b = meeting_->branches[branch];
  const JointTree& tree = loops_.tree();
  const Loops::Group& g = loops_.groups()[group_];
  double x = 0;
  int leader = -1;
  for (const int f : g.freedoms)
    if (std::find(freedoms_.begin(), freedoms_.end(), tree.freedom_of_model(f)) != freedoms_.end())
      if (const double t = std::abs(b.t[g.place_of(f)]); t > kMoves && (leader < 0 || t > std::abs(b.t[g.place_of(leader)])))
        leader = f;
  double wanted = 0;
  if (leader >= 0) {
    const Joint& joint = model_.joints()[static_cast<std::size_t>(tree.joint_of(leader))];
    wanted = start_.joints.q[joint.q0 + tree.freedom_of_model(leader) - joint.v0] - q_[tree.coordinate_of(leader)];
    if (wanted != 0) x = b.where(g.place_of(leader), wanted * g.scale_of(leader), b.least(), b.largest());
    if (std::isnan(x)) return false;
  }
  VecX u, du;
  b.position(x, u, du);
  if (x == 0) u.setZero();  // the configuration itself; nodes know the tangent better than the forms
  out.branch = branch;
  out.q = q_;
  loops_.move(group_, u, out.q);
  if (leader >= 0) out.q[tree.coordinate_of(leader)] = q_[tree.coordinate_of(leader)] + wanted;  // to the last digit
  out.v = VecX::Zero(tree.nv());
  for (std::size_t k = 0; k < g.freedoms.size(); ++k)
    out.v[g.freedoms[k]] = du[static_cast<Eigen::Index>(k)] / g.scale[static_cast<Eigen::Index>(k)];
  pace(out.q, out.v);
  return as_named(out.q, out.v, by);
}

// Far from it: led from a configuration of the branch beside it.
bool NamedBranches::away(std::size_t branch, double side, By by, Reached& out) {
  const Branch& b = meeting_->branches[branch];
  VecX u, du, q = q_;
  b.position(side > 0 ? b.largest() : b.least(), u, du);
  loops_.move(group_, u, q);
  Bodies bodies(model_.bodies().size());
  loops_.tree().place(q, VecX::Zero(loops_.tree().nv()), bodies);
  Travel travel(model_, leaders_, bodies, wound_, named_attitudes(model_, start_));
  if (!travel.go(start_.joints.q, named_rates(model_, start_), static_cast<int>(group_))) return false;
  out.branch = branch;
  loops_.tree().measure(travel.bodies(), wound_, out.q, out.v);
  return as_named(out.q, out.v, by);
}

std::vector<NamedBranches::Reached> NamedBranches::reached(By by) {
  std::vector<Reached> out;
  for (std::size_t b = 0; b < size(); ++b) {
    Reached at;
    if (along(b, by, at)) {
      out.push_back(std::move(at));
      continue;
    }
    // The way to one side may lead round to where the way to the other side leads.
    for (const double side : {1.0, -1.0}) {
      if (!away(b, side, by, at)) continue;
      const auto same = [&](const Reached& other) {
        VecX apart, rates;
        loops_.difference(group_, other.q, at.q, apart);
        loops_.rates(group_, at.v - other.v, rates);
        return apart.norm() + rates.norm() < AsNamed::kBound;
      };
      if (std::none_of(out.begin(), out.end(), same)) out.push_back(at);
    }
  }
  return out;
}

std::string NamedBranches::count() const {
  if (continuum_ == 0) return fmt::format("{} branches of motion meet there", size());
  const bool chosen = !meeting_->continuum() && size() > 0;
  return "a continuum of branches of motion meets there" + (chosen ? fmt::format(", {} with the rates as named", size()) : "");
}

// Rates of the joints that tell branches apart, where one that all of them move goes as named, or at unit rate.
std::string NamedBranches::words() const {
  if (continuum_ > 0 && (meeting_->continuum() || size() == 0))
    return fmt::format("those of {} joints choose up to finitely many", continuum_);
  const JointTree& tree = loops_.tree();
  const Loops::Group& g = loops_.groups()[group_];
  const auto rate = [&](const Branch& b, int f) { return b.t[g.place_of(f)] / g.scale_of(f); };
  const auto leads = [&](int f) {
    double least = 1;
    for (const Branch& b : meeting_->branches) least = std::min(least, std::abs(b.t[g.place_of(f)]));
    return least;
  };
  int leader = g.freedoms[0];
  double pace = 1;
  for (const int f : g.freedoms)
    if (leads(f) > leads(leader)) leader = f;
  for (const int f : g.freedoms)
    if (const int of_model = tree.freedom_of_model(f);
        leads(f) > kDiffers && std::find(freedoms_.begin(), freedoms_.end(), of_model) != freedoms_.end() &&
        start_.joints.v[of_model] != 0)
      leader = f, pace = start_.joints.v[of_model];
  const bool common = leads(leader) > kDiffers;
  const auto paced = [&](const Branch& b, int f) {
    const double value = rate(b, f) * (common ? pace / rate(b, leader) : 1 / b.t.cwiseAbs().maxCoeff());
    return std::abs(value) < 1e-9 * std::abs(pace) ? 0.0 : value;
  };
  std::vector<int> telling;
  for (const int f : g.freedoms) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const Branch& b : meeting_->branches) least = std::min(least, paced(b, f)), most = std::max(most, paced(b, f));
    if (most - least > kDiffers * std::abs(pace) && telling.size() < kTold) telling.push_back(f);
  }
  std::string out = common ? fmt::format("with joint '{}' at {:.6g}: ", tree.freedom_name(leader), pace) : "";
  for (std::size_t b = 0; b < std::min(kTold, size()); ++b) {
    out += b == 0 ? "" : "; or ";
    for (std::size_t i = 0; i < telling.size(); ++i)
      out += fmt::format("{}'{}' at {:.6g}", i == 0 ? "" : ", ", tree.freedom_name(telling[i]),
                         paced(meeting_->branches[b], telling[i]));
  }
  return out + (size() > kTold ? fmt::format("; and {} more", size() - kTold) : "");
}

}  // namespace invar
