// SPDX-License-Identifier: Apache-2.0
//
// From one look to the next, h later, by trapezoids in World components, projected onto what the new configuration allows:
//   ν̂* = P (ν̂ + h ν̂'),   ν̂ ← P (ν̂ + h/2 (ν̂' + ν̂'*)),   P = A M.
// Where commands act as they are, τ = τ_0 - r, r leaves the right side, and that is all. Where what acted is told, r draws on
// both ends of the step; at its end it is taken as it will be, k_o M e, so that with e⁻ what the rest leaves
//   e = e⁻ / (1 + h k_o/2),
// which is stable for every h.
#include "invar/control/momentum_observer.hpp"

namespace invar {

MomentumObserver::MomentumObserver(const Model& model, double rate)
    : model_(model),
      rate_(rate),
      was_(model),
      kept_(model.bodies().size()),
      rate_then_(kept_),
      known_then_(model.bodies().size()),
      load_then_(known_then_),
      first_(model),
      last_(model),
      error_(kept_),
      load_(known_then_),
      field_(kept_),
      x_(kept_),
      port_(known_then_) {}

void MomentumObserver::acted(const Load& first, const Load& last) {
  told_ = more_ = true;
  first_ = first, last_ = last;
}

void MomentumObserver::weigh(const Bodies& bodies, const Accelerations& w, Port& out) const {
  for (std::size_t b = 0; b < w.size(); ++b) {
    const Body& body = model_.bodies()[b];
    out[b] = {spun(body, bodies[b], w[b].alpha_WB), body.inertia.mass * w[b].a_WC};
  }
}

// P w = A M w.
Verdict MomentumObserver::project(ConstrainedInverse& at, Accelerations& w) {
  weigh(at.bodies(), w, port_);
  return at.apply(&port_, nullptr, w);
}

// M x + Jᵀμ = f - C(ν) w, J x = -J̇ w.
Verdict MomentumObserver::accelerate(ConstrainedInverse& at, const Accelerations& w, const Port& port, const VecX& efforts,
                                     Accelerations& x) {
  for (std::size_t b = 0; b < w.size(); ++b) {
    port_[b] = port[b];
    port_[b].moment -= at.bodies()[b].w_WB.cross(spun(model_.bodies()[b], at.bodies()[b], w[b].alpha_WB));
  }
  return at.follow(w, port_, &efforts, x);
}

Verdict MomentumObserver::integrate(double h, ConstrainedInverse& now, const Port& known, const Port& command,
                                    const VecX& efforts) {
  const Port& acts = told_ ? last_.port : command;
  if (told_) {
    for (std::size_t b = 0; b < load_.size(); ++b) load_[b] = known_then_[b] + first_.port[b] + load_then_[b];
    if (const Verdict v = accelerate(was_, kept_, load_, first_.efforts, rate_then_); !v.ok()) return v;
  }
  const auto step = [&](double part, const Accelerations* after) {
    for (std::size_t b = 0; b < field_.size(); ++b) {
      field_[b] = {kept_[b].a_WC + part * rate_then_[b].a_WC, kept_[b].alpha_WB + part * rate_then_[b].alpha_WB};
      if (after != nullptr) field_[b].a_WC += part * (*after)[b].a_WC, field_[b].alpha_WB += part * (*after)[b].alpha_WB;
    }
    return project(now, field_);
  };
  if (const Verdict v = step(h, nullptr); !v.ok()) return v;
  for (std::size_t b = 0; b < load_.size(); ++b) load_[b] = known[b] + acts[b];
  if (const Verdict v = accelerate(now, field_, load_, told_ ? last_.efforts : efforts, x_); !v.ok()) return v;
  if (const Verdict v = step(0.5 * h, &x_); !v.ok()) return v;
  const double left = told_ ? 1 / (1 + 0.5 * h * rate_) : 1.0;
  for (std::size_t b = 0; b < error_.size(); ++b) {
    const BodyState& seen = now.bodies()[b];
    error_[b] = {left * (seen.v_WC - field_[b].a_WC), left * (seen.w_WB - field_[b].alpha_WB)};
  }
  return {};
}

Verdict MomentumObserver::look(double t, ConstrainedInverse& now, const Port& known, const Port& command, const VecX& efforts) {
  stride_ = 0;
  if (!begun_) {
    for (std::size_t b = 0; b < error_.size(); ++b) error_[b] = {}, load_[b] = {};
    return {};
  }
  if (told_ && !more_) {
    for (std::size_t b = 0; b < load_.size(); ++b) {
      const Quat turn = now.bodies()[b].q_WB * was_.bodies()[b].q_WB.conjugate();
      load_[b] = {turn * load_then_[b].moment, turn * load_then_[b].force};
    }
    return {};
  }
  stride_ = rate_ * (t - t_);
  if (const Verdict v = integrate(t - t_, now, known, command, efforts); !v.ok()) return v;
  weigh(now.bodies(), error_, load_);
  for (Wrench& w : load_) w = rate_ * w;
  return {};
}

Verdict MomentumObserver::take(double t, ConstrainedInverse& now, const Port& known, const Port& command, const VecX& efforts) {
  for (std::size_t b = 0; b < kept_.size(); ++b) {
    const BodyState& seen = now.bodies()[b];
    kept_[b] = {seen.v_WC - error_[b].a_WC, seen.w_WB - error_[b].alpha_WB};
  }
  known_then_ = known, load_then_ = load_;
  begun_ = true, more_ = false, t_ = t;
  if (told_) return was_.at(now.bodies());
  // The right side without r, which is in neither.
  for (std::size_t b = 0; b < field_.size(); ++b) load_[b] = known[b] + command[b];
  const Verdict verdict = accelerate(now, kept_, load_, efforts, rate_then_);
  load_ = load_then_;
  return verdict;
}

void MomentumObserver::remember(Recall& memory) {
  Bodies there = was_.bodies();
  memory(begun_), memory(told_), memory(more_), memory(t_), memory(stride_), memory(there), memory(kept_), memory(rate_then_);
  memory(known_then_), memory(load_then_), memory(first_), memory(last_), memory(error_), memory(load_);
  if (memory.gives() && begun_) was_.at(there);
}

}  // namespace invar
