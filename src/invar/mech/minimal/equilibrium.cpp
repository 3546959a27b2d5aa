// SPDX-License-Identifier: Apache-2.0
//
// With K = ∂r/∂q and z = Lᵀ q, Γ = L Lᵀ (modes.cpp): r̂ = L⁻¹ r, K̂ = L⁻¹ K L⁻ᵀ. The step is Newton's, z = -K̂⁻¹ r̂, where the
// symmetric part of K̂ is positive; elsewhere its eigenvalues are taken positive, which makes it a step of descent of the energy.
// A step pays if the energy falls, ΔV ≈ ½ (r(0) + r(1))·step < 0, without ever asking for V. It is found when what is missing is
// what a rounding of the coordinates would make, along every eigenvector of K̂ by itself: a direction that is stiffer by nine
// powers of ten says nothing of a soft one,
//   |vᵢᵀ r̂| <= tolerance (|λᵢ| |unit displacements| + |weight|) + rounding of |K̂| |unit displacements|.
// Where an independent freedom turns back, what depends moves by s while it moves by s²: below √u the place is rounding, and so
// is the sign of its forces, which are as large as 1/s. Steps that short would pay or not by chance, for ever.
#include "invar/mech/minimal/equilibrium.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/mech/augmented.hpp"
#include "invar/mech/scales.hpp"
#include "invar/mech/tendons.hpp"
#include "invar/mech/tension.hpp"

namespace invar {
namespace {

constexpr double kLongest = 0.3;  // of a step: rad, m at the model's length
constexpr int kHalvings = 40, kPolish = 5;
constexpr double kRoundings = 16;  // of a coordinate: closures do not know it better

// Everything about one state at rest.
struct Place {
  Balance balance;
  VecX missing;  // r̂
  MatX K;        // K̂
  Eigen::LLT<MatX> factor;
  Eigen::SelfAdjointEigenSolver<MatX> stiffness;  // of the symmetric part of K̂
  VecX along;                                     // r̂ along its eigenvectors
  bool rests = true;
};

class Search {
 public:
  Search(Minimal& minimal, const Load& load, const EquilibriumOptions& options)
      : minimal_(minimal), tree_(minimal.tree()), load_(load), options_(options) {}

  Verdict look(const State& x, Place& at) const {
    const auto n = static_cast<Eigen::Index>(tree_.independent().size());
    if (const Verdict s = balance_at(tree_, x.q, x.v, x.wound, load_, VecX::Zero(n), at.balance); !s.ok()) return s;
    at.factor.compute(at.balance.Gamma);
    if (n > 0 && at.factor.info() != Eigen::Success) return {Status::NoInertia};
    at.missing = at.factor.matrixL().solve(at.balance.missing);
    const MatX left = at.factor.matrixL().solve(at.balance.by_q);
    at.K = at.factor.matrixL().solve(left.transpose()).transpose();
    double unit = 0, mass = 0;
    for (Eigen::Index i = 0; i < n; ++i)
      unit += at.balance.Gamma(i, i) * unit_of(at.balance.E.col(i)) * unit_of(at.balance.E.col(i));
    for (const Body& body : tree_.model().bodies()) mass += body.inertia.mass;
    if (n == 0) return {};
    at.stiffness.compute(0.5 * (at.K + at.K.transpose()));
    at.along = at.stiffness.eigenvectors().transpose() * at.missing;
    const VecX stiff = at.stiffness.eigenvalues().cwiseAbs();
    const double rounding = kRoundings * std::numeric_limits<double>::epsilon() * stiff.maxCoeff() * std::sqrt(unit);
    const double weight = options_.tolerance * std::sqrt(mass) * tree_.model().gravity().norm() + rounding;
    at.rests = ((at.along.cwiseAbs() - options_.tolerance * std::sqrt(unit) * stiff).array() <= weight).all();
    return {};
  }

  // The step of Newton or of descent, on all freedoms of the tree, not too long.
  VecX step(const Place& at) const {
    const VecX& values = at.stiffness.eigenvalues();
    // Stops beside soft springs are nine powers of ten apart and more; what is below is the rounding of the stiffest.
    const double least = std::max(1e-12 * values.cwiseAbs().maxCoeff(), 1e-12);
    VecX z;
    if (values[0] >= least) {
      z = -at.K.partialPivLu().solve(at.missing);
    } else {
      z = -(at.stiffness.eigenvectors() * at.along.cwiseQuotient(values.cwiseAbs().cwiseMax(least)));
    }
    VecX u = at.balance.E * at.factor.matrixU().solve(z);
    double longest = 0;
    for (const JointTree::Node& node : tree_.nodes())
      for (int k = 0; k < node.nv; ++k)
        longest = std::max(longest, std::abs(u[node.v0 + k]) / (node.facts->turns(k) ? 1.0 : tree_.model().length()));
    if (longest > kLongest) u *= kLongest / longest;
    return u;
  }

  // x moved by u, closures met and turns counted. Singular where u moves nothing but loops that are held as they stand.
  Verdict move(const State& from, const VecX& u, State& to) const {
    constexpr double kStood = 1e-6;
    to = from;
    minimal_.retract(from, u, to);
    const double way = (to.q - from.q).norm();
    if (const Verdict s = minimal_.settle(to); !s.ok()) return s;
    const std::optional<int> standing = minimal_.standing();
    if (standing && (to.q - from.q).norm() <= kStood * way) return {Status::Singular, -1, *standing};
    return {};
  }

  // A trial that is refused may have chosen other freedoms, which need not describe x: those of x, and everything there anew.
  Verdict stay(const State& x, const std::vector<int>& freedoms, Place& at) const {
    if (tree_.independent() == freedoms) return {};
    Bodies bodies;
    minimal_.bodies(x, bodies);
    State again;
    minimal_.set(bodies, again, x.wound);
    return look(x, at);
  }

  // The longest part of the step that pays, or none: stuck.
  Verdict advance(const State& x, Place& here, State& next, Place& there, Equilibrium& out) const {
    VecX u = step(here);
    out.stopped = {};
    for (int k = 0; k < kHalvings; ++k, u *= 0.5) {
      const auto freedoms = tree_.independent();
      const double start = independent(u).dot(here.balance.missing);
      const bool known = tells_apart(x, u);
      Verdict made = move(x, u, next);
      if (made.status == Status::Singular && minimal_.standing()) {  // a shorter step will not move them
        out.stopped = made;
        break;
      }
      if (made.ok()) made = look(next, there);
      if (made.ok()) {
        // Work along u, in the freedoms of either end; close to the goal it is rounding, and the residual tells.
        const double fall = 0.5 * (start + independent(u).dot(there.balance.missing));
        if ((known && fall <= 1e-4 * start) || there.missing.norm() <= 0.5 * here.missing.norm()) return {};
      } else if (out.stopped.status != Status::Singular) {  // closures that are not met say less
        out.stopped = made;
      }
      if (const Verdict s = stay(x, freedoms, here); !s.ok()) return s;
    }
    out.stuck = true;
    // Steps that were all made, too short to be known: what depends follows too fast.
    if (out.stopped.ok() && minimal_.mobility().near_singular)
      out.stopped = {Status::Singular, -1, minimal_.mobility().joint, minimal_.mobility().sigma};
    return {};
  }

  VecX independent(const VecX& u) const {
    VecX out(static_cast<Eigen::Index>(tree_.independent().size()));
    for (Eigen::Index i = 0; i < out.size(); ++i) out[i] = u[tree_.independent()[static_cast<std::size_t>(i)]];
    return out;
  }

 private:
  // How far an independent freedom may go until one that it moves has gone by a rad, or by the model's length.
  double unit_of(const VecX& moves) const {
    double out = std::numeric_limits<double>::infinity();
    for (int f = 0; f < tree_.nv(); ++f)
      if (moves[f] != 0) out = std::min(out, tree_.model().length() / tree_.size_of(f) / std::abs(moves[f]));
    return out;
  }

  // Whether u moves an independent coordinate by more than its rounding.
  bool tells_apart(const State& x, const VecX& u) const {
    const double eps = kRoundings * std::numeric_limits<double>::epsilon();
    return std::any_of(tree_.independent().begin(), tree_.independent().end(), [&](int f) {
      const double unit = tree_.model().length() / tree_.size_of(f);
      return std::abs(u[f]) > eps * std::max(unit, std::abs(x.q[tree_.coordinate_of(f)]));
    });
  }

  Minimal& minimal_;
  const JointTree& tree_;
  const Load& load_;
  const EquilibriumOptions& options_;
};

// The freedom that accelerates most, with its share of the metric.
void tell_missing(const JointTree& tree, const Place& at, Equilibrium& out) {
  if (tree.independent().empty()) return;
  Eigen::Index worst = 0;
  const VecX share = at.balance.missing.cwiseAbs().cwiseQuotient(at.balance.Gamma.diagonal().cwiseSqrt());
  share.maxCoeff(&worst);
  out.freedom = tree.freedom_name(tree.independent()[static_cast<std::size_t>(worst)]);
  out.force = -at.balance.missing[worst];
}

// A tendon under tension two neighbouring points of which coincide although the mechanism can separate them, where it stands; -1:
// none. Its force there is anything between ± its tension. (Led through a hinge by a point on either link it keeps its other
// directions.)
int tendon_without_direction(const JointTree& tree, const Scales& scales, const Bodies& bodies) {
  constexpr double kTouching = 1e-9, kApart = 1e-6;  // of the length of the part; of the speed of its bodies
  const Model& model = tree.model();
  const auto separated = [&](const Tendon& tendon, std::size_t k, double length) {
    Bodies moving = bodies;
    VecX v;
    return std::any_of(tree.independent().begin(), tree.independent().end(), [&](int freedom) {
      tree.move_with(freedom, v, moving);
      double speed = 0;
      for (const Tendon::Point& point : {tendon.points[k - 1], tendon.points[k]})
        if (point.body != kWorld) {
          const BodyState& s = moving[static_cast<std::size_t>(point.body)];
          speed = std::max({speed, s.v_WC.norm(), s.w_WB.norm() * length});
        }
      return segment_rate_of(model, tendon, k, moving).norm() > kApart * speed;
    });
  };
  for (std::size_t t = 0; t < model.tendons().size(); ++t) {
    const Tendon& tendon = model.tendons()[t];
    if (pull_of(model, tendon, bodies).tension == 0) continue;
    for (std::size_t k = 1; k < tendon.points.size(); ++k) {
      const int a = tendon.points[k - 1].body, b = tendon.points[k].body;
      if (a == b) continue;
      const double length = scales.length_at(a == kWorld ? b : a);
      if (segment_of(model, tendon, k, bodies).norm() < kTouching * length && separated(tendon, k, length))
        return static_cast<int>(t);
    }
  }
  return -1;
}

// Whether all bodies stay where they are, by the unreduced equations, which know no charts: in a singular configuration forces of
// the independent freedoms vanish although the mechanism may leave it. Reactions do no work on the motion that these equations
// leave, so what nothing holds of the forces does Σ f·a = aᵀ M a. (By the right side: rounding of a enters with its square.) It
// is judged part by part against Σ |f| |a|, so bodies count as they take part in that motion, however heavy or stiff they are.
// Where coordinates turn back places are known to √u, 1e-8, and so are the directions of forces.
class Rest {
 public:
  Rest(const Model& model, const Scales& scales, double tolerance)
      : model_(model), scales_(scales), tolerance_(tolerance), parts_(scales.parts.size()) {}

  bool at(const Load& load, const Bodies& bodies, const Evaluation& e) {
    constexpr double kHeld = 1e-5;
    Port port(bodies.size());
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      const Inertia& inertia = model_.bodies()[b].inertia;
      const BodyAcceleration& a = e.accelerations[b];
      const Vec3 alpha = bodies[b].q_WB.conjugate() * a.alpha_WB;
      of(static_cast<int>(b)).sum += inertia.mass * a.a_WC.squaredNorm() + alpha.dot(inertia.I_C * alpha);
      add(static_cast<int>(b), {Vec3::Zero(), inertia.mass * model_.gravity()}, e, 0);
      add(static_cast<int>(b), load.port[b], e, 0);
    }
    for (const Tendon& tendon : model_.tendons()) {
      const double tension = pull_of(model_, tendon, bodies).tension;
      if (tension == 0) continue;
      std::fill(port.begin(), port.end(), Wrench{});
      add_tension(model_, tendon, bodies, tension, port);
      for (const Tendon::Point& point : tendon.points)
        if (point.body != kWorld) {
          Wrench& wrench = port[static_cast<std::size_t>(point.body)];
          add(point.body, wrench, e, tendon.stiffness * scales_.length_at(point.body) / tension);
          wrench = {};
        }
    }
    for (const Joint& joint : model_.joints())
      for (int k = 0; k < joint.nv; ++k) add(joint, k, e);
    return std::all_of(parts_.begin(), parts_.end(), [](const Work& w) { return w.sum <= kHeld * w.sizes + w.rounding; });
  }

 private:
  struct Work {
    double sum = 0, sizes = 0, rounding = 0;
  };
  // `stiff`: what a displacement by one length of the part changes of the wrench, in parts of it.
  void add(int body, const Wrench& wrench, const Evaluation& e, double stiff) {
    const BodyAcceleration& a = e.accelerations[static_cast<std::size_t>(body)];
    const double size = wrench.force.norm() * a.a_WC.norm() + wrench.moment.norm() * a.alpha_WB.norm();
    Work& work = of(body);
    work.sizes += size;
    work.rounding += tolerance_ * stiff * size;
  }
  void add(const Joint& joint, int k, const Evaluation& e) {
    const Passive& passive = joint.passive[static_cast<std::size_t>(k)];
    const double a = e.vdot[joint.v0 + k];
    double unit = joint.turns(k) ? 1 : scales_.length_at(joint.child), stiffness = passive.stiffness;
    if (joint.nq == joint.nv) {
      const double q = e.q[joint.q0 + k];
      unit = std::max(unit, std::abs(q));
      if (q >= passive.upper || q <= passive.lower) stiffness += passive.stop_stiffness;
    }
    Work& to = of(joint.child);
    to.sum += passive.armature * a * a;
    to.sizes += std::abs(e.efforts[joint.v0 + k] * a);
    to.rounding += tolerance_ * stiffness * unit * std::abs(a);
  }
  Work& of(int body) { return parts_[static_cast<std::size_t>(scales_.part_of_body[static_cast<std::size_t>(body)])]; }

  const Model& model_;
  const Scales& scales_;
  double tolerance_;
  std::vector<Work> parts_;
};

bool stays(const Model& model, const Scales& scales, const Load& load, const State& x, const Bodies& bodies, double tolerance) {
  Augmented judge(model, AugmentedOptions{.verdicts = false});
  State at;
  judge.set(bodies, at, x.wound);
  Evaluation e;
  return judge.evaluate(at, load, e).ok() && Rest(model, scales, tolerance).at(load, bodies, e);
}

}  // namespace

Stability stability_of(const Modes& modes) {
  Stability out = Stability::Stable;
  for (const Mode& mode : modes.modes) {
    if (modes.is_zero(mode)) {
      out = Stability::Neutral;
    } else if (mode.value.real() > 1e-9 * modes.largest) {
      return Stability::Unstable;
    }
  }
  return out;
}

Verdict find_equilibrium(Minimal& minimal, const Load& load, const EquilibriumOptions& options, State& x, Equilibrium& out) {
  const Search search(minimal, load, options);
  out = {};
  x.v.setZero();
  if (const Verdict s = minimal.settle(x); !s.ok()) return s;
  Place here, there;
  if (const Verdict s = search.look(x, here); !s.ok()) return s;
  State next;
  for (; out.iterations < options.iterations; ++out.iterations) {
    out.found = here.rests;
    if (out.found) break;
    if (const Verdict s = search.advance(x, here, next, there, out); !s.ok()) return s;
    if (out.stuck) break;
    std::swap(x, next);
    std::swap(here, there);
  }
  Bodies bodies;
  minimal.bodies(x, bodies);
  const Scales scales = scales_of(minimal.model());
  out.tendon = tendon_without_direction(minimal.tree(), scales, bodies);
  out.found = out.found && out.tendon < 0;
  if (!out.found) {
    if ((out.held = minimal.standing().has_value())) out.stopped = {Status::Singular, -1, *minimal.standing()};
    tell_missing(minimal.tree(), here, out);
    return {};
  }
  out.stopped = {};
  // Newton goes on while it gains.
  for (int k = 0; k < kPolish && here.missing.size() > 0; ++k) {
    const auto freedoms = minimal.tree().independent();
    const bool moved = search.move(x, search.step(here), next).ok() && search.look(next, there).ok();
    if (!moved || !(there.missing.norm() <= 0.5 * here.missing.norm())) {
      if (const Verdict s = search.stay(x, freedoms, here); !s.ok()) return s;
      break;
    }
    std::swap(x, next);
    std::swap(here, there);
  }
  minimal.bodies(x, bodies);
  if (!stays(minimal.model(), scales, load, x, bodies, options.tolerance)) {
    out.found = false, out.stuck = true;
    out.held = minimal.standing().has_value();
    out.stopped = {Status::Singular, -1, minimal.standing().value_or(minimal.mobility().joint), minimal.mobility().sigma};
    tell_missing(minimal.tree(), here, out);
    return {};
  }
  Linear linear;
  if (const Verdict s = linearize(minimal.tree(), x.q, x.v, x.wound, load, linear); !s.ok()) return s;
  out.vdot = linear.vdot;
  out.modes = modes_of(minimal.tree(), linear);
  out.stability = stability_of(out.modes);
  return {};
}

}  // namespace invar
