// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "invar/mech/kinematics.hpp"

namespace invar::bench {

namespace {

double nanoseconds(const Contestant& contestant, int state, int count) {
  const auto start = std::chrono::steady_clock::now();
  contestant(state, count);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

/// How many calls fill a batch.
int batch_of(const Contestant& contestant) {
  constexpr double kBatch = 50e3;
  int count = 1;
  while (count < 100000 && nanoseconds(contestant, 0, count) < kBatch) count *= 2;
  return count;
}

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// Largest difference and largest value of one vector quantity.
struct Scale {
  double difference = 0, value = 0;
  void add(const Vec3& a, const Vec3& b) {
    difference = std::max(difference, (a - b).norm());
    value = std::max(value, b.norm());
  }
  double relative() const { return value > 0 ? difference / value : difference; }
};

}  // namespace

int complain(const Error& error) {
  fmt::print(stderr, "{}\n", error.text());
  return error.kind == ErrorKind::Numerics ? 3 : 2;
}

int pin(int core) {
  if (core < 0) core = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) - 1;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0 ? core : -1;
}

std::vector<double> time_side_by_side(const std::vector<Contestant>& contestants, int states, int repetitions) {
  std::vector<int> batch;
  for (const Contestant& c : contestants) batch.push_back(batch_of(c));
  std::vector<std::vector<double>> samples(contestants.size());
  for (int r = 0; r < repetitions; ++r) {
    for (int s = 0; s < states; ++s) {
      for (std::size_t c = 0; c < contestants.size(); ++c)
        samples[c].push_back(nanoseconds(contestants[c], s, batch[c]) / batch[c]);
    }
  }
  std::vector<double> out;
  for (const auto& of_one : samples) out.push_back(median(of_one));
  return out;
}

double difference(const Accelerations& a, const Accelerations& b) {
  Scale linear, angular;
  for (std::size_t i = 0; i < a.size(); ++i) {
    linear.add(a[i].a_WC, b[i].a_WC);
    angular.add(a[i].alpha_WB, b[i].alpha_WB);
  }
  return std::max(linear.relative(), angular.relative());
}

double difference(const std::vector<Wrench>& a, const std::vector<Wrench>& b) {
  Scale force, moment;
  for (std::size_t i = 0; i < a.size(); ++i) {
    force.add(a[i].force, b[i].force);
    moment.add(a[i].moment, b[i].moment);
  }
  // Balls carry no moment: what is there is round-off of the forces at arms of about a metre.
  moment.value = std::max(moment.value, force.value);
  return std::max(force.relative(), moment.relative());
}

double imbalance(const Model& model, const Bodies& bodies, const VecX& efforts, const Accelerations& accelerations,
                 const std::vector<Wrench>& reactions) {
  VecX q(model.nq()), v(model.nv());
  joint_coordinates(model, bodies, q, v);
  // What acts on every body about its centre of mass: weight, and the joints with action and reaction.
  std::vector<Wrench> acting(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) acting[i].force = model.bodies()[i].inertia.mass * model.gravity();
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    const Pose X_WM = body_pose(model, bodies, joint.child) * joint.X_CM;
    const Mat3 R_WF = (body_pose(model, bodies, joint.parent) * joint.X_PF).R();
    Wrench on_parent = reactions[j];
    with_kind(joint.kind, [&](auto kind) {
      Columns dual;
      kind.dual(q.data() + joint.q0, joint.pitch, dual);
      const Vec6 effort = dual * efforts.segment(joint.v0, joint.nv);
      on_parent -= Wrench{R_WF * effort.head<3>(), R_WF * effort.tail<3>()};
    });
    const auto act = [&](int body, const Wrench& w) {
      if (body != kWorld) acting[static_cast<std::size_t>(body)] += w.about(X_WM.p - body_state(bodies, body).p_WC);
    };
    act(joint.parent, on_parent);
    act(joint.child, -on_parent);
  }
  // Against what the motion needs.
  Scale force, moment;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Mat3 R = bodies[i].q_WB.toRotationMatrix();
    const Mat3 I_W = R * model.bodies()[i].inertia.I_C * R.transpose();
    force.add(model.bodies()[i].inertia.mass * accelerations[i].a_WC, acting[i].force);
    moment.add(I_W * accelerations[i].alpha_WB + bodies[i].w_WB.cross(I_W * bodies[i].w_WB), acting[i].moment);
  }
  for (const Wrench& w : reactions) {
    force.value = std::max(force.value, w.force.norm());
    moment.value = std::max({moment.value, w.moment.norm(), w.force.norm() * model.length()});
  }
  return std::max(force.relative(), moment.relative());
}

}  // namespace invar::bench
