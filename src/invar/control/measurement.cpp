// SPDX-License-Identifier: Apache-2.0
#include "invar/control/measurement.hpp"

namespace invar {
namespace {

// FNV-1a: a number for a name that is the same on every machine.
std::uint64_t number_of(const std::string& name) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return h;
}

Vec3 drawn(Random& random, double size) {
  const double x = random.normal(), y = random.normal(), z = random.normal();
  return size * Vec3(x, y, z);
}

}  // namespace

Measurement::Measurement(const Model& model, const NoiseSpec& noise, int delay, std::uint64_t seed, const std::string& name)
    : model_(model),
      noise_(noise),
      random_(seed, number_of(name)),
      joints_(noise.none() ? nullptr : std::make_unique<Joints>(model)),
      line_(static_cast<std::size_t>(delay) + 1, Seen{0, Bodies(model.bodies().size())}),
      open_(model.bodies().size()) {}

const Measurement::Seen* Measurement::look(double t, const Bodies& bodies) {
  const auto size = static_cast<long>(line_.size());
  Seen& now = line_[static_cast<std::size_t>(ticks_ % size)];
  now.t = t;
  now.bodies = bodies;
  if (joints_) {
    if (ticks_ == 0) begin(bodies);
    disturb(now.bodies);
    close(now.bodies);
  }
  ++ticks_;
  return ticks_ < size ? nullptr : &line_[static_cast<std::size_t>(ticks_ % size)];
}

void Measurement::disturb(Bodies& bodies) {
  for (BodyState& b : bodies) {
    b.p_WC += drawn(random_, noise_.position);
    b.q_WB = turned(b.q_WB, drawn(random_, noise_.attitude));
    b.v_WC += drawn(random_, noise_.velocity);
    b.w_WB += drawn(random_, noise_.angular_velocity);
  }
}

// The rank of the joints is decided where they are closed.
void Measurement::begin(const Bodies& bodies) {
  joints_->first = bodies;
  joints_->wound = wound_at(model_, bodies, VecX());
  Accelerations none(bodies.size());
  std::vector<Wrench> reactions(model_.joints().size());
  joints_->solver.solve(bodies, {.dynamics = false, .settled = true}, none, reactions);
}

// Where joints cannot be closed, what was measured has to do.
void Measurement::close(Bodies& bodies) {
  Joints& joints = *joints_;
  open_ = bodies;
  const bool closed =
      joints.projection.positions(bodies, joints.wound, 1e-6, 8).ok() && joints.projection.velocities(bodies, joints.wound).ok();
  if (!closed) bodies = open_;
  joint_coordinates(model_, bodies, joints.q, joints.v);
  unwind(model_, joints.wound, joints.q);
  for (const Joint& joint : model_.joints())
    for (int k = 0; k < joint.nv; ++k)
      if (joint.winds(k)) joints.wound[joint.v0 + k] = joints.q[joint.q0 + k];
}

void Measurement::remember(Recall& memory) {
  memory(random_), memory(ticks_), memory(open_);
  for (Seen& seen : line_) memory(seen.t), memory(seen.bodies);
  if (!joints_) return;
  Bodies first = joints_->first;
  memory(first);
  if (memory.gives() && ticks_ > 0) begin(first);
  memory(joints_->wound);
}

}  // namespace invar
