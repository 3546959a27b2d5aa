// SPDX-License-Identifier: Apache-2.0
#include "invar/run/margin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/mech/constrained_inverse.hpp"
#include "invar/run/leg.hpp"
#include "invar/run/words.hpp"

namespace invar {
namespace {

constexpr double kGrown = 1e3;  // times the first change: it will not come back

/// Plant and controllers, without anybody who watches.
class Copy {
 public:
  Copy(const Scenario& scenario, const Start& start) : scenario_(scenario), leg_(scenario, scenario.model, {}) {
    leg_.bind(scenario);
    if (auto state = state_at(*leg_.formulation, start)) x_ = std::move(*state);
  }

  Result<void> control(const std::vector<ControllerSpec>& specs) {
    for (const ControllerSpec& spec : specs) {
      auto made = Controller::build(spec, *leg_.model, scenario_.start_time, scenario_.seed);
      if (!made) return fail(made.error().kind, made.error().what, spec.where);
      leg_.system.add(**made);
      controllers_.push_back(std::move(*made));
    }
    return {};
  }
  void differ_from(const Copy& other, double gain) {
    for (std::size_t k = 0; k < controllers_.size(); ++k) controllers_[k]->differ_from(*other.controllers_[k], gain);
  }

  const Bodies& bodies() {
    leg_.formulation->bodies(x_, bodies_);
    return bodies_;
  }
  void settle(double t) {
    bodies();
    for (const auto& c : controllers_) c->settle(t, bodies_);
  }
  double next_event(double t) const { return leg_.system.next_event(t); }
  double next_tick(std::size_t controller, double t) const { return controllers_[controller]->next_event(t); }

  /// From a to b, within which nothing jumps.
  Verdict advance(double a, double b) {
    const bool adaptive = leg_.integrator->adaptive();
    const double n = adaptive ? 1 : std::max(1.0, std::ceil((b - a) / scenario_.method.step * (1 - 1e-9)));
    leg_.system.enter(a, b);
    leg_.integrator->reset(leg_.system, x_, (b - a) / n);
    for (double k = 0; k < n; k += 1) {
      const double aim = k + 1 < n ? a + (k + 1) / n * (b - a) : b;
      for (double t = a + k / n * (b - a); t < aim;) {
        double done = 0;
        const double h = adaptive ? aim - t : (b - a) / n;
        if (const Verdict v = leg_.integrator->step(leg_.system, t, h, x_, done); !v.ok()) return v;
        if (!x_.v.allFinite() || !x_.q.allFinite()) return {Status::NotFinite, -1, -1, 0};
        t = done >= h || aim - (t + done) <= 1e-14 * std::max(std::abs(aim), std::abs(t)) ? aim : t + done;
      }
    }
    return {};
  }

  /// Adds a velocity that joints allow: all bodies push each in a direction of its own, fixed in it, and what moves is scaled.
  Verdict disturb(double size) {
    const Model& model = *leg_.model;
    ConstrainedInverse inverse(model);
    Port port(model.bodies().size());
    Accelerations w(port.size());
    bodies();
    for (std::size_t b = 0; b < port.size(); ++b) {
      const double k = static_cast<double>(b + 1);
      const Vec3 way = bodies_[b].q_WB * Vec3(std::cos(k), std::sin(k), std::cos(2.4 * k));
      port[b] = {spun(model.bodies()[b], bodies_[b], way), model.bodies()[b].inertia.mass * model.length() * way};
    }
    if (const Verdict v = inverse.at(bodies_); !v.ok()) return v;
    if (const Verdict v = inverse.apply(&port, nullptr, w); !v.ok()) return v;
    double fastest = 0;
    for (const BodyAcceleration& a : w) fastest = std::max({fastest, a.alpha_WB.norm(), a.a_WC.norm() / model.length()});
    for (std::size_t b = 0; b < w.size(); ++b)
      bodies_[b].v_WC += size / fastest * w[b].a_WC, bodies_[b].w_WB += size / fastest * w[b].alpha_WB;
    const VecX turns = x_.wound;
    leg_.formulation->set(Bodies(bodies_), x_, turns);
    return {};
  }

 private:
  const Scenario& scenario_;
  Leg leg_;
  std::vector<std::unique_ptr<Controller>> controllers_;
  State x_;
  Bodies bodies_;
};

/// Where the second copy is, seen from the first: displacements and turns.
void apart(const Bodies& a, const Bodies& b, Accelerations& out) {
  for (std::size_t k = 0; k < a.size(); ++k) out[k] = {b[k].p_WC - a[k].p_WC, log_so3(b[k].q_WB * a[k].q_WB.conjugate())};
}

/// The size of the change, in the metric of the inertias.
double change(const Model& model, const Bodies& at, const Accelerations& now, const Accelerations& before) {
  double sum = 0;
  for (std::size_t b = 0; b < at.size(); ++b) {
    const Vec3 p = now[b].a_WC - before[b].a_WC, turn = now[b].alpha_WB - before[b].alpha_WB;
    sum += model.bodies()[b].inertia.mass * p.squaredNorm() + turn.dot(spun(model.bodies()[b], at[b], turn));
  }
  return std::sqrt(sum);
}

/// The controllers as they are tried: without noise, at ticks, later by at least `delay`.
std::vector<ControllerSpec> later(std::vector<ControllerSpec> specs, const MarginOptions& options, MarginResult& out) {
  for (ControllerSpec& c : specs) {
    if (!(c.period > 0)) c.period = options.period;
    c.noise = {};
    const double more = std::ceil(options.delay / c.period * (1 - 1e-9)) * c.period;
    c.delay += more;
    out.delay = std::max(out.delay, more);
    out.period = out.period > 0 ? std::min(out.period, c.period) : c.period;
  }
  return specs;
}

/// Both copies over one window, from tick to tick, that begins with a disturbance.
class Trial {
 public:
  Trial(const Scenario& s, const MarginOptions& options, Copy& first, Copy& second, std::size_t fastest)
      : s_(s),
        options_(options),
        first_(first),
        second_(second),
        fastest_(fastest),
        now_(s.model->bodies().size()),
        before_(now_) {}

  /// False where the loop itself fails; `window.left` is infinite where the second copy does.
  bool run(double t0, double end, MarginWindow& window, std::string& failure) {
    window = {t0, std::numeric_limits<double>::infinity()};
    if (!second_.disturb(options_.disturbance).ok()) return failure = "the mechanism cannot be disturbed there", false;
    apart(first_.bodies(), second_.bodies(), before_);
    const double within = end - t0;
    double start = 0, largest = 0;
    for (double a = t0; a < end - 1e-9 * within;) {
      const double tick = first_.next_tick(fastest_, a), b = std::min({first_.next_event(a), tick, end});
      first_.settle(a), second_.settle(a);
      if (const Verdict v = first_.advance(a, b); !v.ok())
        return failure = fmt::format("at {:g} s: {}", a, words(v, *s_.model)), false;
      if (!second_.advance(a, b).ok()) return true;
      a = b;
      if (b < tick && b < end) continue;
      apart(first_.bodies(), second_.bodies(), now_);
      const double c = change(*s_.model, first_.bodies(), now_, before_);
      std::swap(now_, before_);
      if (start == 0) start = c;
      if (!(c <= kGrown * start)) return true;
      if (a > t0 + 0.9 * within) largest = std::max(largest, c);
    }
    window.left = largest / start;
    return true;
  }

 private:
  const Scenario& s_;
  const MarginOptions& options_;
  Copy &first_, &second_;
  std::size_t fastest_;
  Accelerations now_, before_;
};

tl::unexpected<Error> refuse(const Scenario& s, std::string what) { return fail(ErrorKind::Scenario, std::move(what), s.path); }

}  // namespace

double MarginResult::worst() const {
  double out = 0;
  for (const MarginWindow& w : windows) out = std::max(out, w.left);
  return out;
}

Result<Scenario> one_mechanism(const Scenario& scenario) {
  auto s = with_start_edited(scenario);
  if (!s || s->edits.empty()) return s;
  const EditEvent& event = s->edits.front();
  std::string what;
  for (const Edit& e : event.edits) what += (what.empty() ? "" : ", ") + words(e);
  return refuse(*s, fmt::format("the margin is that of one mechanism, and at {:g} s this one becomes another: leave out the edit "
                                "'{}', or let the run end before",
                                event.at, what));
}

Result<void> lasts_for_margin(const Scenario& s, const MarginOptions& options) {
  const double span = s.end_time - s.start_time;
  if (!(span < options.within * (1 - 1e-9))) return {};
  return refuse(s, fmt::format("the run lasts {:g} s, a disturbance is given {:g} s to be forgotten: let it end later", span,
                               options.within));
}

Result<MarginResult> margin(const Scenario& given, const MarginOptions& options) {
  if (auto begins = check(given); !begins) return tl::unexpected(begins.error());
  if (given.controllers.empty()) return refuse(given, "there is no controller whose margin could be measured: add a [[control]]");
  const auto whole = one_mechanism(given);
  if (!whole) return tl::unexpected(whole.error());
  const Scenario& s = *whole;
  if (const auto lasts = lasts_for_margin(s, options); !lasts) return tl::unexpected(lasts.error());
  const double span = s.end_time - s.start_time;
  MarginResult out;
  const std::vector<ControllerSpec> specs = later(s.controllers, options, out);
  if (options.within < 10 * out.period * (1 - 1e-9))
    return refuse(s, fmt::format("{:g} s are less than ten ticks of {:g} s: nothing can be forgotten in that time",
                                 options.within, out.period));
  std::size_t fastest = 0;
  for (std::size_t k = 0; k < specs.size(); ++k)
    if (specs[k].period < specs[fastest].period) fastest = k;
  Start start = s.start;
  start.motion = true;
  Copy first(s, start), second(s, start);
  for (Copy* copy : {&first, &second})
    if (auto made = copy->control(specs); !made) return tl::unexpected(made.error());
  second.differ_from(first, options.gain);
  Trial trial(s, options, first, second, fastest);
  // Changes are per tick: all windows begin at one of the fastest controller, at the times that it has itself.
  const double ticks = std::floor(options.within / out.period * (1 + 1e-9));
  const auto tick_of = [&](int window) { return s.start_time + window * ticks * out.period; };
  const auto windows = static_cast<int>(std::floor(span / (ticks * out.period) * (1 + 1e-9)));
  for (int k = 0; k < windows; ++k) {
    if (options.stop != nullptr && options.stop->load()) {
      out.interrupted = true;
      break;
    }
    MarginWindow window;
    if (!trial.run(tick_of(k), tick_of(k + 1), window, out.failure)) break;
    out.windows.push_back(window);
    if (options.progress) options.progress({tick_of(k + 1), s.start_time, s.end_time, k + 1, 0});
    if (std::isinf(window.left)) break;
  }
  return out;
}

}  // namespace invar
