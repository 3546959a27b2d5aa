// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/adaptive_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/learn/term/inertia.hpp"
#include "invar/learn/term/joint_coulomb.hpp"
#include "invar/learn/term/joint_offset.hpp"
#include "invar/learn/term/joint_stiffness.hpp"
#include "invar/learn/term/joint_viscous.hpp"

namespace invar {
namespace {

// Of freedoms: kg m² where they turn, kg where they shift; all in units of 1/s.
void fill_joints(const FreedomClasses& classes, double turning, double shifting, double* out) {
  for (int c = 0; c < classes.count(); ++c) out[c] = classes.turns[static_cast<std::size_t>(c)] ? turning : shifting;
}

void fill(const Terms& terms, int i, double m, double length, double* out) {
  const double h = m * length, I = h * length;
  const int columns = terms.term(i).columns();
  switch (terms.spec(i).kind) {
    case TermKind::Inertia:
      for (int k = 0; k < columns; ++k) out[k] = k % 10 == 0 ? m : k % 10 < 4 ? h : I;
      break;
    case TermKind::JointViscous: fill_joints(static_cast<const JointViscous&>(terms.term(i)).classes(), I, m, out); break;
    case TermKind::JointStiffness: fill_joints(static_cast<const JointStiffness&>(terms.term(i)).classes(), I, m, out); break;
    case TermKind::JointOffset: fill_joints(static_cast<const JointOffset&>(terms.term(i)).classes(), I, h, out); break;
    case TermKind::JointCoulomb: {
      const auto& term = static_cast<const JointCoulomb&>(terms.term(i));
      for (std::size_t s = 0; s < term.smoothing().size(); ++s)
        fill_joints(term.classes(), I, h, out + static_cast<std::ptrdiff_t>(s) * term.classes().count());
      break;
    }
    case TermKind::Drag: {
      const double sizes[] = {m, I, m / length, h, m, I};  // forces and moments times 1, |v|, |ω|
      for (int k = 0; k < columns; ++k) out[k] = sizes[2 * (k % 18 / 6) + (k % 6 < 3 ? 0 : 1)];
      break;
    }
    case TermKind::Obstacle: std::fill(out, out + columns, h); break;
    default:
      for (int k = 0; k < columns; ++k) out[k] = k % 6 < 3 ? h : I;
  }
}

}  // namespace

VecX natural_size(const Model& model, const Terms& terms) {
  double mass = 0;
  for (const Body& b : model.bodies()) mass += b.inertia.mass / static_cast<double>(model.bodies().size());
  VecX out(terms.columns());
  for (int i = 0; i < terms.count(); ++i) fill(terms, i, mass, model.length(), out.data() + terms.first_column(i));
  return out;
}

Result<std::unique_ptr<AdaptiveLoad>> AdaptiveLoad::build(const Model& model, std::unique_ptr<KnownLoad> base,
                                                          const AdaptSpec& spec, std::shared_ptr<const Flow> flow,
                                                          std::vector<Vec3> obstacles,
                                                          const std::vector<std::string>& obstacle_names) {
  for (const TermSpec& t : spec.terms)
    if (t.kind == TermKind::ActuatorGain || t.kind == TermKind::ActuatorMisalignment)
      return fail(
          ErrorKind::Option,
          fmt::format("term '{}' speaks of inputs, which a law does not know before it has commanded them", name(t.kind)));
  TermContext context;
  context.obstacles = obstacle_names;
  auto terms = Terms::build(model, spec.terms, context);
  if (!terms) return tl::unexpected(terms.error());
  return std::unique_ptr<AdaptiveLoad>(
      new AdaptiveLoad(model, std::move(base), spec, std::move(flow), std::move(obstacles), std::move(*terms)));
}

AdaptiveLoad::AdaptiveLoad(const Model& model, std::unique_ptr<KnownLoad> base, const AdaptSpec& spec,
                           std::shared_ptr<const Flow> flow, std::vector<Vec3> obstacles, Terms terms)
    : model_(model),
      base_(std::move(base)),
      spec_(spec),
      flow_(std::move(flow)),
      obstacles_(std::move(obstacles)),
      terms_(std::move(terms)),
      fit_({.prior = spec.prior * natural_size(model, terms_), .noise = spec.noise, .keep = std::exp(-spec.period / spec.memory)},
           6 * static_cast<int>(model.bodies().size())),
      used_(VecX::Zero(terms_.columns())),
      motion_(model),
      seen_{Seen{0, Bodies(model.bodies().size()), Load(model)}, Seen{0, Bodies(model.bodies().size()), Load(model)},
            Seen{0, Bodies(model.bodies().size()), Load(model)}},
      moved_(model.bodies().size()),
      measured_(model.bodies().size()),
      a_(measured_),
      velocities_(measured_),
      known_(model.bodies().size()),
      d_(known_),
      efforts_(VecX::Zero(model.nv())),
      six_(VecX::Zero(6 * static_cast<Eigen::Index>(model.bodies().size()))),
      y_(six_),
      H_(MatX::Zero(six_.size(), terms_.columns())) {
  // Of a column shared by all bodies, of one shared by all freedoms of all joints.
  entries_.reserve(static_cast<std::size_t>(terms_.columns()) * model.bodies().size() +
                   static_cast<std::size_t>(terms_.columns()) * 12 * model.joints().size());
}

Surroundings AdaptiveLoad::around(Instant at, const Accelerations* accelerations) const {
  const Vec3 flow = flow_ ? flow_->measured(at).value_or(Vec3::Zero()) : Vec3(Vec3::Zero());
  return {flow, obstacles_, {}, accelerations};
}

void AdaptiveLoad::add(const LoadMotion& motion, Port& port) const {
  if (base_) base_->add(motion, port);
  for (std::size_t b = 0; b < moved_.size(); ++b) {
    moved_[b] = motion.bodies[b];
    moved_[b].v_WC = motion.velocities[b].a_WC, moved_[b].w_WB = motion.velocities[b].alpha_WB;
  }
  const Surroundings there = around(motion.at, motion.accelerations);
  for (int i = 0; i < terms_.count(); ++i)
    if (terms_.spec(i).kind != TermKind::Inertia || motion.accelerations != nullptr)
      terms_.term(i).add(moved_, there, used_.data() + terms_.first_column(i), port);
}

void AdaptiveLoad::add_generic(const LoadMotion& motion, Port& port) const {
  if (base_) base_->add_generic(motion, port);
}

void AdaptiveLoad::drop_generic() {
  if (base_) base_->drop_generic();
}

double AdaptiveLoad::leverage(const LoadMotion& motion) const { return base_ ? base_->leverage(motion) : 0; }

bool AdaptiveLoad::look(const LoadLook& now) {
  std::rotate(seen_.begin(), seen_.begin() + 1, seen_.end());
  Seen& last = seen_[2];
  last.t = now.t, last.bodies = now.bodies;
  last.acted.port = now.acted.port, last.acted.efforts = now.acted.efforts;
  if (++looks_ < 3) return false;
  return explain(seen_[0], seen_[1], seen_[2]);
}

// What acted beyond the model at the middle of three looks, and what every term would have done there.
bool AdaptiveLoad::explain(const Seen& before, const Seen& middle, const Seen& after) {
  const double whole = after.t - before.t, first = (middle.t - before.t) / whole, second = 1 - first;
  if (!(whole > 0) || !motion_.at(middle.bodies).ok() || !motion_.factor().ok()) return false;
  for (std::size_t b = 0; b < measured_.size(); ++b) {
    measured_[b] = {(after.bodies[b].v_WC - before.bodies[b].v_WC) / whole,
                    (after.bodies[b].w_WB - before.bodies[b].w_WB) / whole};
    velocities_[b] = {middle.bodies[b].v_WC, middle.bodies[b].w_WB};
    known_[b] = first * middle.acted.port[b] + second * after.acted.port[b];
  }
  efforts_ = first * middle.acted.efforts + second * after.acted.efforts;
  if (!allowed(motion_.inverse(), measured_, d_, a_).ok()) return false;
  if (base_) base_->add({middle.t, middle.bodies, velocities_, &a_}, known_);
  left_over(motion_.inverse(), a_, known_, efforts_, d_);
  const int rows = motion_.rows();
  for (std::size_t b = 0; b < d_.size(); ++b) six_.segment<6>(6 * static_cast<Eigen::Index>(b)) << d_[b].force, d_[b].moment;
  y_.head(rows).noalias() = motion_.Bt() * six_;
  H_.topRows(rows).setZero();
  const Surroundings there = around(middle.t, &a_);
  entries_.clear();
  for (int i = 0; i < terms_.count(); ++i) terms_.term(i).list(middle.bodies, there, terms_.first_column(i), entries_);
  for (const ColumnEntry& e : entries_) motion_.add(e.body, e.wrench, H_.col(e.column).head(rows));
  const bool changed = fit_.look(H_.topRows(rows), y_.head(rows));
  used_ = fit_.coefficients();
  make_physical();
  return changed;
}

// Ten numbers of every body become those of the nearest one that there can be. Bodies that share them make them their own in
// turn, and what one does harms no other: its matrix of moments (Σ, h; hᵀ, m) gets a Σ that is larger, or a mass that is larger
// and no h.
void AdaptiveLoad::make_physical() {
  for (int i = 0; i < terms_.count(); ++i) {
    if (terms_.spec(i).kind != TermKind::Inertia) continue;
    const auto& term = static_cast<const InertiaTerm&>(terms_.term(i));
    for (std::size_t n = 0; n < term.bodies().size(); ++n) {
      double* ten = used_.data() + terms_.first_column(i) + term.first_column(n);
      const Inertia& own = model_.bodies()[static_cast<std::size_t>(term.bodies()[n])].inertia;
      const Inertia found = with_added(own, ten), physical = nearest_physical(found, model_.length());
      added_to(own, physical, ten);
    }
  }
}

// Of the three looks that are kept the next one drops the oldest.
void AdaptiveLoad::remember(Recall& memory) {
  if (base_) base_->remember(memory);
  fit_.remember(memory), memory(used_), memory(looks_);
  for (Seen& seen : seen_) memory(seen.t), memory(seen.bodies), memory(seen.acted);
}

}  // namespace invar
