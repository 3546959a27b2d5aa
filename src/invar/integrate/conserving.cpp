// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/conserving.hpp"

#include <cmath>
#include <cstring>
#include <utility>

#include "invar/base/check.hpp"
#include "invar/mech/cayley/shell.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/natural.hpp"

namespace invar {

using cayley::InPlane;
using cayley::InSpace;

namespace {
constexpr int kDepth = 10;  // a step may be divided into 1024 parts

// Bit by bit.
bool same(const VecX& a, const VecX& b) {
  return a.size() == b.size() &&
         (a.size() == 0 || std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) == 0);
}
}  // namespace

/// Between the interface and the kernel: one for the plane, one for space.
class Conserving::Core {
 public:
  virtual ~Core() = default;
  virtual const Natural& natural() const = 0;
  virtual Verdict place(const State& x) = 0;
  virtual void forget() = 0;
  virtual Verdict step(System& system, double t, double h, int stage, State& x, StepReport& report) = 0;
};

namespace {

/// What acts on the system over a step of length h.
class AtMiddle final : public cayley::Loading {
 public:
  AtMiddle(System& system, double t, double h) : system_(system), t_(t + 0.5 * h), h_(h) {}
  const Load& at(const Bodies& mean) override { return system_.load(t_, mean, h_); }

 private:
  System& system_;
  double t_, h_;
};

// atan(t); where a turn per step is small, to 1e-13, which is enough to count turns.
double angle_of(double t) {
  const double t2 = t * t;
  return t2 < 1e-3 ? t * (1 - t2 * (1.0 / 3 - t2 * (0.2 - t2 / 7))) : std::atan(t);
}

template <class G>
class CoreIn final : public Conserving::Core {
 public:
  CoreIn(const Natural& natural, const Plane* plane, bool stabilised, double h)
      : natural_(natural),
        stabilised_(stabilised),
        shell_(natural.model(), plane, stabilised, h),
        bodies_(natural.model().bodies().size()),
        q_(VecX::Zero(natural.model().nq())),
        v_(VecX::Zero(natural.model().nv())),
        freedoms_of_tree_(6 * static_cast<int>(natural.model().bodies().size())) {
    for (const Joint& joint : natural.model().joints()) freedoms_of_tree_ -= joint.rows();
    for (const int j : shell_.tree().skeleton().closures) {
      const Joint& joint = natural.model().joints()[j];
      freedoms_of_tree_ += joint.rows();
      bool turning = false;
      for (int k = 0; k < joint.nv; ++k) turning = turning || joint.winds(k);
      if (turning) cut_.push_back(j);
    }
    const auto& tree = shell_.tree();
    turned_.assign(tree.slots().size(), 0.0);
    if constexpr (G::A == 1)
      for (std::size_t body = 0; body < bodies_.size(); ++body) {
        const cayley::Place& place = tree.skeleton().places[body];
        directions_.push_back(tree.basis(place.part).transpose() * (place.R_SB * plane->bodies[body].b1));
      }
  }

  const Natural& natural() const override { return natural_; }

  Verdict place(const State& x) override {
    natural_.bodies(x, bodies_);
    joint_coordinates(natural_.model(), bodies_, q_, v_);
    unwind(natural_.model(), x.wound, q_);
    shell_.tree().set_wanted_rank(freedoms_of_tree_ - natural_.mobility().freedoms);
    return shell_.place(q_, v_, bodies_);
  }

  void forget() override { shell_.forget(); }

  Verdict step(System& system, double t, double h, int stage, State& x, StepReport& report) override {
    shell_.recall(stage, h);
    const Verdict verdict = advance(system, t, h, 0, x, report);
    if (!verdict.ok()) return verdict;
    write(x);
    if (!stabilised_ && shell_.rotor_energy() > 0) report.hamiltonian = hamiltonian(x);
    return verdict;
  }

 private:
  // The whole, or half of it twice.
  Verdict advance(System& system, double t, double h, int depth, State& x, StepReport& report) {
    const Verdict verdict = whole(system, t, h, x, report);
    if (verdict.ok() || depth == kDepth) return verdict;
    ++report.substeps;
    shell_.forget();
    if (const Verdict half = advance(system, t, 0.5 * h, depth + 1, x, report); !half.ok()) return half;
    const Verdict half = advance(system, t + 0.5 * h, 0.5 * h, depth + 1, x, report);
    shell_.forget();
    return half;
  }

  Verdict whole(System& system, double t, double h, State& x, StepReport& report) {
    AtMiddle loading(system, t, h);
    const Verdict verdict = shell_.step(h, system.acts() ? &loading : nullptr);
    report.iterations += shell_.iterations();
    if (!verdict.ok()) return verdict;
    x.aux[kWork] += shell_.work();
    x.aux[kDissipated] += shell_.dissipated();
    go_on_turning(h, x);
    return verdict;
  }

  // The energy of the bodies, with the rates that the rotors have for themselves.
  double hamiltonian(const State& x) {
    const Model& model = natural_.model();
    natural_.bodies(x, bodies_);
    joint_coordinates(model, bodies_, q_, v_);
    unwind(model, x.wound, q_);
    double energy_of_bodies = energy(model, bodies_, q_, v_).total();
    for (const Joint& joint : model.joints())
      for (int k = 0; k < joint.nv; ++k)
        energy_of_bodies -= 0.5 * joint.passive[static_cast<std::size_t>(k)].armature * v_[joint.v0 + k] * v_[joint.v0 + k];
    return energy_of_bodies + shell_.rotor_energy();
  }

  // Joint angles go on by what the step turned.
  void go_on_turning(double h, State& x) {
    const auto& slots = shell_.tree().slots();
    const double per_time = 1 / h;
    for (std::size_t i = 1; i < slots.size(); ++i) {
      const auto& b = slots[i];
      double turned = 0;
      if constexpr (G::A == 1) turned_[i] = 2 * angle_of(0.5 * h * b.w[0]);
      if (b.hang == cayley::Hang::Hinge)
        turned = 2 * angle_of(0.5 * h * b.s);
      else if (G::A == 1 && b.hang == cayley::Hang::Ball)
        turned = turned_[i] - turned_[static_cast<std::size_t>(b.inner)];
      else
        continue;
      x.wound_rate[b.freedom] = b.sign * per_time * turned;
      x.wound[b.freedom] += b.sign * turned;
    }
    // Joints outside the tree are measured, on the turn that is nearest to where their rate at the start led.
    if (cut_.empty()) return;
    shell_.tree().bodies(bodies_);
    for (const int j : cut_) {
      coordinates_of_joint(natural_.model(), j, bodies_, q_, v_);
      const Joint& joint = natural_.model().joints()[j];
      for (int k = 0; k < joint.nv; ++k) {
        if (!joint.winds(k)) continue;
        const double rate = v_[joint.v0 + k];
        const double expected = x.wound[joint.v0 + k] + 0.5 * h * (x.wound_rate[joint.v0 + k] + rate);
        x.wound[joint.v0 + k] = q_[joint.q0 + k] + cayley::kTurn * std::round((expected - q_[joint.q0 + k]) / cayley::kTurn);
        x.wound_rate[joint.v0 + k] = rate;
      }
    }
  }

  // Node 0 of the tree in the coordinates of the natural formulation.
  void write(State& x) const {
    const auto& tree = shell_.tree();
    for (std::size_t body = 0; body < bodies_.size(); ++body) {
      const cayley::Place& place = tree.skeleton().places[body];
      const auto& b = tree.slots()[place.part];
      const typename G::Lin arm = b.R0 * tree.centre(static_cast<int>(body));
      if constexpr (G::A == 3) {
        const Mat3 R = b.R0 * place.R_SB;
        const Vec3 w = b.R0 * b.W0;
        const Mat3 spun = InSpace::spin(w) * R;
        const auto at = static_cast<Eigen::Index>(12 * body);
        x.q.segment<12>(at) << b.phi0 + arm, R.col(0), R.col(1), R.col(2);
        x.v.segment<12>(at) << b.v0 + w.cross(arm), spun.col(0), spun.col(1), spun.col(2);
      } else {
        const Eigen::Vector2d d = b.R0 * directions_[body];
        const auto at = static_cast<Eigen::Index>(4 * body);
        x.q.segment<4>(at) << b.phi0 + arm, d;
        x.v.segment<4>(at) << b.v0 + InPlane::cross(b.W0, arm), InPlane::cross(b.W0, d);
      }
    }
  }

  const Natural& natural_;
  bool stabilised_;
  cayley::Shell<G> shell_;
  Bodies bodies_;
  VecX q_, v_;
  int freedoms_of_tree_;                     // before closures and couplings
  std::vector<int> cut_;                     // joints outside the tree that wind
  std::vector<double> turned_;               // per slot, in the plane: by the last step, rad
  std::vector<Eigen::Vector2d> directions_;  // per body, in the plane: of its coordinates, in axes of the slot
};

}  // namespace

Conserving::Conserving(bool stabilised) : stabilised_(stabilised) {}
Conserving::~Conserving() = default;

void Conserving::reset(const System& system, const State& x, double h) {
  const Natural& natural = natural_of(system);
  // What is stiff for a step is stiff for one of half or twice its length.
  const double ratio = std::abs(h) / length_;
  if (!core_ || serial_ != natural.serial() || !(ratio >= 0.5 && ratio <= 2)) {
    serial_ = natural.serial();
    length_ = std::abs(h);
    const auto& plane = natural.coordinates().plane();
    if (plane)
      core_ = std::make_unique<CoreIn<InPlane>>(natural, &*plane, stabilised_, length_);
    else
      core_ = std::make_unique<CoreIn<InSpace>>(natural, nullptr, stabilised_, length_);
    placed_ = core_->place(x);
  } else if (!placed_.ok() || !same(x.q, end_.q) || !same(x.v, end_.v) || !same(x.wound, end_.wound)) {
    placed_ = core_->place(x);
  } else {
    core_->forget();
  }
  start_ = end_ = x;
  report_ = {};
}

Verdict Conserving::step(System& system, double t, double h, State& x, double& h_done) {
  h_done = 0;
  INVAR_CHECK(core_ && &core_->natural() == &system.formulation(), "a step follows a reset with the same formulation");
  if (!same(x.q, end_.q) || !same(x.v, end_.v) || !same(x.wound, end_.wound)) {
    placed_ = core_->place(x);
    end_ = x;
  }
  if (!placed_.ok()) return placed_;
  // The end of the last step is the start of this one.
  std::swap(start_, end_);
  start_.aux = x.aux, start_.wound = x.wound, start_.wound_rate = x.wound_rate;
  report_ = {};
  const Verdict verdict = core_->step(system, t, h, stage_, x, report_);
  if (!verdict.ok()) {
    x = end_ = start_;
    placed_ = core_->place(x);
    return verdict;
  }
  end_ = x;
  h_ = h_done = h;
  return {};
}

void Conserving::interpolate(const System&, double theta, State& out) const { between(start_, end_, h_, theta, out); }

}  // namespace invar
