// SPDX-License-Identifier: Apache-2.0
#include "invar/run/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/base/largest.hpp"

namespace invar {

void Tally::start(const Observation& first) {
  first_ = last_ = first;
  raise(first);
}

void Tally::open(const Observation& at) {
  opened_ = at;
  loaded_ = false;
  stretch_linear_ = stretch_angular_ = stretch_com_ = 0;
}

void Tally::step(const Observation& now, bool loaded) {
  ++steps;
  iterations += now.iterations;
  iterations_max = std::max(iterations_max, now.iterations);
  substeps_max = std::max(substeps_max, now.substeps);
  if (now.substeps > 1 && ++divided == 1) divided_at = last_.t;
  loaded_ = loaded_ || loaded;
  power_balance_sum += std::abs(now.balance);
  hamiltonian_balance_sum += std::abs(now.hamiltonian_balance);
  keep_largest(stretch_linear_, (now.momentum.linear - opened_.momentum.linear).norm());
  keep_largest(stretch_angular_, (now.momentum.angular - opened_.momentum.angular).norm());
  keep_largest(stretch_com_, (now.angular_com - opened_.angular_com).norm());
  raise(now);
  last_ = now;
}

void Tally::close() {
  if (loaded_) return;
  quiet_time += last_.t - opened_.t;
  keep_largest(momentum_drift, stretch_linear_);
  keep_largest(angular_momentum_drift, stretch_angular_);
  keep_largest(angular_momentum_com_drift, stretch_com_);
}

void Tally::edit(const Observation& now) {
  raise(now);
  last_ = now;
}

void Tally::raise(const Observation& now) {
  keep_largest(kinetic_max, now.energy.kinetic);
  potential_.take(now.energy.potential), elastic_.take(now.energy.elastic);
  work_ = std::max({work_, std::abs(now.work), std::abs(now.dissipated)});
  energy_size = std::max({energy_size, now.energy.kinetic, std::abs(now.energy.potential), now.energy.elastic});
  energy_gain = (now.energy.total() - first_.energy.total()) - now.edited;
  keep_largest(energy_drift, std::abs(energy_gain));
  keep_largest(power_balance, std::abs(now.balance));
  keep_largest(hamiltonian_balance, std::abs(now.hamiltonian_balance));
  keep_largest(physical_balance, std::abs(now.physical_balance));
  keep_largest(momentum_max, now.momentum.linear.norm());
  keep_largest(angular_momentum_max, now.momentum.angular.norm());
  keep_largest(joint_gap, now.error.position);
  keep_largest(velocity_residual, now.error.velocity);
  keep_largest(quaternion_norm, now.quaternion_norm);
}

void Tally::reactions(const std::vector<Wrench>& wrenches) {
  ++samples;
  for (const Wrench& w : wrenches) {
    keep_largest(joint_force_max, w.force.norm());
    keep_largest(joint_moment_max, w.moment.norm());
  }
}

double Tally::turned_over() const { return std::max({kinetic_max, potential_.width(), elastic_.width(), work_}); }

std::string Tally::divided_steps() const {
  if (divided == 0) return {};
  return fmt::format("{} of {} steps {} divided, first at t = {:g} s, at most into {} parts", divided, steps,
                     divided == 1 ? "was" : "were", divided_at, substeps_max);
}

std::vector<Metric> Tally::metrics() const {
  const auto mean = [this](double sum) { return steps > 0 ? sum / static_cast<double>(steps) : 0.0; };
  std::vector<Metric> out = {
      {"time", last_.t, "s", {}},
      {"steps", static_cast<double>(steps), "1", {}},
      {"samples", static_cast<double>(samples), "1", {}},
      {"kinetic_max", kinetic_max, "J", {}},
      {"energy_start", first_.energy.total(), "J", {}},
      {"energy_end", last_.energy.total(), "J", {}},
      {"energy_drift", energy_drift, "J", {}},
      {"energy_gain", energy_gain, "J", {}},
      {"energy_edited", last_.edited, "J", {}},
      {"work", last_.work, "J", {}},
      {"dissipated", last_.dissipated, "J", {}},
      {"power_balance", power_balance, "J", {}},
      {"power_balance_mean", mean(power_balance_sum), "J", {}},
      {"hamiltonian_balance", hamiltonian_balance, "J", {}},
      {"hamiltonian_balance_mean", mean(hamiltonian_balance_sum), "J", {}},
      {"physical_balance", physical_balance, "J", {}},
      {"momentum_max", momentum_max, "N s", {}},
      {"angular_momentum_max", angular_momentum_max, "N m s", {}},
      {"quiet_time", quiet_time, "s", {}},
      {"momentum_drift", momentum_drift, "N s", {}},
      {"angular_momentum_drift", angular_momentum_drift, "N m s", {}},
      {"angular_momentum_com_drift", angular_momentum_com_drift, "N m s", {}},
      {"joint_gap", joint_gap, "m or rad", {}},
      {"velocity_residual", velocity_residual, "m/s or rad/s", {}},
      {"quaternion_norm", quaternion_norm, "1", {}},
      {"newton_mean", mean(static_cast<double>(iterations)), "1", {}},
      {"newton_max", static_cast<double>(iterations_max), "1", {}},
      {"substeps_max", static_cast<double>(substeps_max), "1", {}},
      {"steps_divided", static_cast<double>(divided), "1", {}},
      {"joint_force_max", joint_force_max, "N", {}},
      {"joint_moment_max", joint_moment_max, "N m", {}},
  };
  // A drift needs a stretch of time to be measured over; a number that is not finite says so.
  for (Metric& m : out) {
    const bool drift = m.name.find("momentum") != std::string::npos && m.name.ends_with("_drift");
    if (drift && quiet_time == 0)
      m.value = std::numeric_limits<double>::quiet_NaN(), m.reason = "no stretch of time without a load";
    if (!std::isfinite(m.value) && m.reason.empty()) m.reason = "not finite";
  }
  return out;
}

}  // namespace invar
