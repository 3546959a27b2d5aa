// SPDX-License-Identifier: Apache-2.0
//
// A group with mobility m follows its m independent freedoms. They go q_i = q_i0 + s u_i, s from 0 to 1: the first of them (the
// one with the longest way) leads, the others are held to it by rows, so that one parameter is left.
#include "invar/mech/travel.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/assemble.hpp"
#include "invar/mech/loops_limits.hpp"

namespace invar {
namespace {

constexpr double kClosed = 1e-7;  // of lengths and rates: polynomials through nodes are good to 1e-9
constexpr double kBeside = 1e-3;  // σ below which Newton's method over all rows is not trusted
constexpr int kLegs = 64;         // on the way
constexpr int kPieces = 32;       // of a branch, in each of which a freedom goes one way

}  // namespace

Travel::Travel(const Model& model, const std::vector<int>& leaders, const Bodies& from, const VecX& wound,
               const std::vector<int>& attitudes)
    : loops_(model, leaders),
      tree_(model, leaders),
      attitudes_(attitudes),
      wound_(wound),
      bodies_(from),
      beside_(loops_.groups().size()) {
  loops_.measure_lengths(from);
  tree_.measure(from, wound, q_, before_);
  v_ = VecX::Zero(tree_.nv());
  kept_.assign(loops_.groups().size(), false);
  sound_ = choose(q_);
  for (int i = 0; i < tree_.nv(); ++i)
    leader_.push_back(std::find(leaders.begin(), leaders.end(), tree_.freedom_of_model(i)) != leaders.end());
  paced_ = leader_;
  for (const int j : attitudes)
    for (int k = 0; k < model.joints()[static_cast<std::size_t>(j)].nv; ++k)
      if (const int i = tree_.freedom_of_joint(j, k); i >= 0) paced_[static_cast<std::size_t>(i)] = true;
}

void Travel::keep(std::size_t group) {
  kept_[group] = true;
  for (const int f : loops_.groups()[group].freedoms) v_[f] = before_[f];
}

// As many freedoms depend as there are independent rows: counted from all of them, because pivots are small near singular
// configurations.
bool Travel::choose(const VecX& q) {
  int dependent = 0;
  loops_.hold({});
  loops_.place(q, wound_);
  for (std::size_t g = 0; g < loops_.groups().size() && dependent >= 0; ++g)
    dependent = loops_.groups()[g].freedoms.size() > kLargestGroup ? -1 : dependent + rank_of(loops_, g, 0, kLocatedSigma).rank;
  return tree_.choose(q, wound_, dependent).ok();
}

bool Travel::go(const VecX& q, const VecX& v, int group) {
  if (!sound_) return false;
  named_rates_ = v;
  const auto lead = [&](int i) {
    if (!leader_[static_cast<std::size_t>(i)]) return Lead{i, 0};
    const Joint& joint = tree_.model().joints()[static_cast<std::size_t>(tree_.joint_of(i))];
    return Lead{i, q[joint.q0 + tree_.freedom_of_model(i) - joint.v0] - q_[tree_.coordinate_of(i)]};
  };
  wanted_ = VecX::Constant(tree_.nv(), std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < tree_.nv(); ++i)
    if (paced_[static_cast<std::size_t>(i)]) wanted_[i] = v[tree_.freedom_of_model(i)];
  const VecX start = q_, before = v_;
  bool arrived = true;
  std::vector<bool> in_group(static_cast<std::size_t>(tree_.nv()), false);
  for (std::size_t g = 0; g < loops_.groups().size(); ++g) {
    for (const int f : loops_.groups()[g].freedoms) in_group[static_cast<std::size_t>(f)] = true;
    if (kept_[g] || (group >= 0 && g != static_cast<std::size_t>(group))) continue;
    std::vector<Lead> leads;
    for (const int i : tree_.independent())
      if (loops_.groups()[g].place_of(i) >= 0) leads.push_back(lead(i));
    if (leads.empty()) continue;  // loops hold all of it
    const auto moves = [&](int f) { return wanted_[f] != 0 && !std::isnan(wanted_[f]); };
    const std::vector<int>& all = loops_.groups()[g].freedoms;
    if (std::none_of(leads.begin(), leads.end(), [](const Lead& l) { return l.by != 0; }) &&
        std::none_of(all.begin(), all.end(), moves))
      continue;
    at_ = start;
    rates_ = VecX::Zero(tree_.nv());
    if (go_in_group(g, leads))
      put(g, at_, rates_);
    else
      arrived = false;
  }
  for (int i = 0; i < tree_.nv() && group < 0; ++i)
    if (!in_group[static_cast<std::size_t>(i)] && leader_[static_cast<std::size_t>(i)])
      q_[tree_.coordinate_of(i)] += lead(i).by, v_[i] = std::isnan(wanted_[i]) ? 0 : wanted_[i];
  if (group < 0) turn(q, in_group);
  loops_.hold({});
  loops_.place(q_, wound_);
  std::vector<std::size_t> open;
  for (std::size_t g = 0; g < loops_.groups().size(); ++g)
    if (!closed(g)) open.push_back(g);
  for (const std::size_t g : open) put(g, start, before);
  tree_.place(q_, v_, bodies_);
  return arrived && open.empty();
}

// Groups share no freedom, and no joint.
void Travel::put(std::size_t group, const VecX& q, const VecX& v) {
  for (const int f : loops_.groups()[group].freedoms) {
    const JointNode& n = tree_.nodes()[tree_.node_of_freedom(f)];
    q_.segment(n.q0, n.nq) = q.segment(n.q0, n.nq);
    v_[f] = v[f];
  }
}

// Attitudes outside of loops. A free joint is none of the tree's: the tree that its body belongs to floats, and is put as a whole
// where that body is wanted.
void Travel::turn(const VecX& q, const std::vector<bool>& in_group) {
  const Model& model = tree_.model();
  VecX rates = named_rates_, floating_q, floating_v;
  for (double& rate : rates)
    if (std::isnan(rate)) rate = 0;
  for (const int j : attitudes_) {
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    const int first = tree_.freedom_of_joint(j, 0);
    if (first < 0 || in_group[static_cast<std::size_t>(first)]) continue;
    const JointNode& n = tree_.nodes()[tree_.node_of_freedom(first)];
    q_.segment(n.q0, n.nq) = q.segment(joint.q0, joint.nq);
    v_.segment(n.v0, n.nv) = rates.segment(joint.v0, joint.nv);
  }
  for (const int j : attitudes_) {
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    if (joint.parent != kWorld || tree_.freedom_of_joint(j, 0) >= 0) continue;
    int root = tree_.node_of_body(joint.child);
    const auto node = [&]() -> const JointNode& { return tree_.nodes()[static_cast<std::size_t>(root)]; };
    while (node().inner >= 0) root = node().inner;
    const JointNode& n = node();
    if (n.joint >= 0) continue;
    const Bodies wanted = place(model, {q, rates, std::vector<bool>(model.joints().size(), true)});
    Bodies bodies(model.bodies().size());
    tree_.place(q_, v_, bodies);
    const BodyState is = bodies[static_cast<std::size_t>(joint.child)], &to = wanted[static_cast<std::size_t>(joint.child)];
    BodyState& r = bodies[static_cast<std::size_t>(n.body)];
    const Quat by = to.q_WB * is.q_WB.conjugate();
    const Vec3 arm = by * (r.p_WC - is.p_WC), w = to.w_WB - by * is.w_WB;
    r = {to.p_WC + arm, to.v_WC + by * (r.v_WC - is.v_WC) + w.cross(arm), by * r.w_WB + w, by * r.q_WB};
    if (n.body == joint.child) r = to;
    tree_.measure(bodies, wound_, floating_q, floating_v);
    q_.segment(n.q0, n.nq) = floating_q.segment(n.q0, n.nq);
    v_.segment(n.v0, n.nv) = floating_v.segment(n.v0, n.nv);
  }
}

// Whether positions and rates meet all rows, those included that nobody kept; where loops were placed.
bool Travel::closed(std::size_t group) {
  VecX r, rates;
  MatX J;
  loops_.residual(group, r);
  loops_.rates(group, v_, rates);
  loops_.jacobian(group, J);
  return r.norm() <= kClosed && (J * rates).norm() <= kClosed * rates.norm();
}

// What depends is sent ahead along the motion: near a singular configuration, where branches meet, it would go astray.
bool Travel::tangent(const std::vector<Lead>& leads, VecX& ahead) {
  Bodies bodies;
  MatX E;
  tree_.place(at_, rates_, bodies);
  ahead = VecX::Zero(tree_.nv());
  for (const Lead& l : leads) ahead[l.freedom] = l.by;
  if (!tree_.motions(bodies, wound_, E).ok()) return false;
  const VecX u = ahead;
  ahead.setZero();
  for (std::size_t i = 0; i < tree_.independent().size(); ++i)
    ahead += u[tree_.independent()[i]] * E.col(static_cast<Eigen::Index>(i));
  return true;
}

bool Travel::go_in_group(std::size_t group, const std::vector<Lead>& leads) {
  const Loops::Group& g = loops_.groups()[group];
  const auto way = [&](const Lead& l) { return std::abs(l.by) * g.scale_of(l.freedom); };
  const Lead first = *std::max_element(leads.begin(), leads.end(), [&](const Lead& a, const Lead& b) { return way(a) < way(b); });
  std::vector<Loops::Held> held;
  for (const Lead& l : leads)
    if (l.freedom != first.freedom)
      held.push_back({l.freedom, first.freedom, first.by != 0 ? l.by / first.by : 0, at_[tree_.coordinate_of(l.freedom)],
                      at_[tree_.coordinate_of(first.freedom)]});
  loops_.hold(held);
  loops_.place(at_, wound_);
  regular_ = rank_of(loops_, group, 0, kLocatedSigma).rank;

  VecX ahead;
  int passed = 0;
  for (double done = 0; done < 1;) {
    const double leg = first.by == 0 || 1 - done < 1.5 / kLegs ? 1 - done : 1.0 / kLegs;
    const bool straight = !tangent(leads, ahead);
    double s = done;
    const Way way_here = straight || first.by == 0 ? Way::Clear : through_band(group, leads, first, done, ahead, leg, s);
    if (way_here == Way::Arrived) return true;
    if (way_here == Way::Passed) {
      if (++passed > kLegs) return false;
      done = s;
      const auto leads_on = [&](const Lead& l) {
        return std::find(tree_.independent().begin(), tree_.independent().end(), l.freedom) != tree_.independent().end();
      };
      if (!choose(at_) || !std::all_of(leads.begin(), leads.end(), leads_on)) return false;
      loops_.hold(held);
      continue;
    }
    VecX next;
    Bodies bodies;
    tree_.retract(at_, leg * ahead, next);
    at_ = next;
    if (!tree_.complete(at_, rates_, wound_, bodies).ok()) return false;
    done = leg == 1 - done ? 1 : done + leg;
  }
  return rates_of(group);
}

// A singular configuration nearer than the next leg is passed along its branch: to the aim where that is on it, or behind it.
Travel::Way Travel::through_band(std::size_t group, const std::vector<Lead>& leads, const Lead& first, double done,
                                 const VecX& ahead, double leg, double& s) {
  const Loops::Group& g = loops_.groups()[group];
  if (regular_ == 0) return Way::Clear;
  loops_.place(at_, wound_);
  const LoopRank here = rank_of(loops_, group, regular_);
  Branch branch;
  loops_.rates(group, ahead, branch.t);
  const double length = branch.t.norm();
  if (!(here.sigma < kWatchedSigma) || !(length > 0)) return Way::Clear;
  branch.t /= length;
  const Ahead singular = look_ahead(loops_, group, here, regular_, at_, wound_, branch.t, 0, kMeetingHalf);
  if (!singular.found || singular.x > leg * length + 2 * kMeetingHalf) return Way::Clear;

  branch.group = group, branch.rank = regular_, branch.directions = singular.directions;
  branch.q0 = at_, branch.centre = singular.x, branch.half = kMeetingHalf;
  if (!branch.build(loops_, wound_)) return Way::Clear;
  const Eigen::Index i = g.place_of(first.freedom);
  const double unit = g.scale[i], left = (1 - done) * first.by;
  const double behind = branch.centre + 1.6 * branch.half;
  double x = arrival(branch, i, left * unit, behind);
  const bool arrived = !std::isnan(x);
  if (!arrived) x = behind;
  VecX u, du, there = at_;
  branch.position(x, u, du);
  loops_.move(group, u, there);
  if (arrived && !(std::abs(du[i]) > 1e-6 * du.norm())) return Way::Clear;  // the freedom does not tell where it is
  if (arrived && !rates_along(branch, du)) {
    // Other rates than those of this branch: where the rows are regular they follow from them, otherwise another branch has them.
    loops_.place(there, wound_);
    if (rank_of(loops_, group, regular_).sigma > kBeside) return Way::Clear;
    rates_.setZero();
  }
  s = done + u[i] / unit / first.by;
  if (!arrived && !(s > done)) return Way::Clear;  // the freedom has turned back
  at_ = there;
  if (!arrived) return Way::Passed;
  at_[tree_.coordinate_of(first.freedom)] += left - u[i] / unit;  // to the last digit
  for (const Lead& l : leads)
    if (l.freedom != first.freedom) at_[tree_.coordinate_of(l.freedom)] = q_[tree_.coordinate_of(l.freedom)] + l.by;
  beside_[group] = branch.weakest(loops_, wound_).q;  // while the others are held
  return Way::Arrived;
}

// Where a freedom first is at its aim on the way from 0 to `behind`: it may turn back in between. NaN: nowhere.
double Travel::arrival(const Branch& branch, Eigen::Index freedom, double aim, double behind) const {
  double x = std::numeric_limits<double>::quiet_NaN();
  for (int k = 0; k < kPieces && std::isnan(x); ++k)
    x = branch.where(freedom, aim, behind * k / kPieces, behind * (k + 1) / kPieces);
  return x;
}

// Along the branch, at the pace of the freedom that tells it best, one that leads if there is one; false where others that lead
// do not go with it.
bool Travel::rates_along(const Branch& branch, const VecX& du) {
  const Loops::Group& g = loops_.groups()[branch.group];
  const auto freedom = [&](Eigen::Index k) { return g.freedoms[static_cast<std::size_t>(k)]; };
  const auto leads = [&](Eigen::Index k) {
    return std::find(tree_.independent().begin(), tree_.independent().end(), freedom(k)) != tree_.independent().end();
  };
  Eigen::Index best = -1;
  const auto tells_more = [&](Eigen::Index k) {
    return best < 0 || (leads(k) != leads(best) ? leads(k) : std::abs(du[k]) > std::abs(du[best]));
  };
  for (Eigen::Index k = 0; k < du.size(); ++k)
    if (!std::isnan(wanted_[freedom(k)]) && tells_more(k)) best = k;
  const double pace = best < 0 ? 0 : wanted_[freedom(best)] * g.scale[best] / du[best];
  if (!std::isfinite(pace)) return false;
  for (Eigen::Index k = 0; k < du.size(); ++k) {
    const int f = freedom(k);
    rates_[f] = pace * du[k] / g.scale[k];
    if (leads(k) && std::abs(rates_[f] - wanted_[f]) * g.scale[k] > 1e-9 * std::abs(pace)) return false;
  }
  return true;
}

// Where it is regular: v = E w with all named rates, freedoms that do not lead at rest.
bool Travel::rates_of(std::size_t group) {
  const Loops::Group& g = loops_.groups()[group];
  Bodies bodies;
  MatX E;
  tree_.place(at_, rates_, bodies);
  if (!tree_.motions(bodies, wound_, E).ok()) return false;
  std::vector<int> columns, rows;
  for (std::size_t i = 0; i < tree_.independent().size(); ++i)
    if (paced_[static_cast<std::size_t>(tree_.independent()[i])] && g.place_of(tree_.independent()[i]) >= 0)
      columns.push_back(static_cast<int>(i));
  for (const int f : g.freedoms)
    if (!std::isnan(wanted_[f])) rows.push_back(f);
  rates_.setZero();
  if (columns.empty() || rows.empty()) return true;
  MatX A(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(columns.size()));
  VecX b(A.rows());
  for (Eigen::Index r = 0; r < A.rows(); ++r) {
    const int f = rows[static_cast<std::size_t>(r)];
    for (Eigen::Index c = 0; c < A.cols(); ++c) A(r, c) = g.scale_of(f) * E(f, columns[static_cast<std::size_t>(c)]);
    b[r] = g.scale_of(f) * wanted_[f];
  }
  const VecX w = least_norm_solution(A, b, 1e-9);
  for (Eigen::Index c = 0; c < A.cols(); ++c) rates_ += w[c] * E.col(columns[static_cast<std::size_t>(c)]);
  return true;
}

}  // namespace invar
