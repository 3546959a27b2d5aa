// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numbers>
#include <utility>

#include "invar/base/random.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"

namespace invar::bench {

namespace {

/// The ring without its closure.
ModelSpec opened(ModelSpec spec) {
  std::erase_if(spec.joints, [](const JointSpec& joint) { return joint.name == "closure"; });
  spec.initial.clear();
  spec.name += " opened";
  return spec;
}

/// The same links over and over: a chain of n from a shorter one, axes in their cycle of three.
ModelSpec prolonged(ModelSpec spec, int n) {
  spec.name = fmt::format("chain of {}", n);
  for (int i = static_cast<int>(spec.bodies.size()); i < n; ++i) {
    BodySpec body = spec.bodies.back();
    JointSpec joint = spec.joints[static_cast<std::size_t>(i - 3)];
    joint.parent = body.name;
    body.name = fmt::format("b{}", i + 1);
    joint.name = fmt::format("j{}", i + 1);
    joint.child = body.name;
    spec.bodies.push_back(body);
    spec.joints.push_back(joint);
  }
  return spec;
}

/// Balls for hinges, and nothing that holds the first link.
ModelSpec floating_with_balls(ModelSpec spec) {
  spec.name += ", balls";
  for (JointSpec& joint : spec.joints) joint.kind = joint.parent == "world" ? JointKind::Free : JointKind::Spherical;
  return spec;
}

bool has_loops(const Model& model) {
  std::vector<int> carriers(model.bodies().size(), 0);
  for (const Joint& joint : model.joints()) ++carriers[static_cast<std::size_t>(joint.child)];
  return std::ranges::any_of(carriers, [](int n) { return n > 1; });
}

Quat random_attitude(Random& random) {
  return normalized(Quat(random.normal(), random.normal(), random.normal(), random.normal()));
}

/// Coordinates of one joint, anywhere.
void draw(Random& random, const Joint& joint, double* q) {
  const auto put = [&](double* to) {
    const Quat a = random_attitude(random);
    to[0] = a.w(), to[1] = a.x(), to[2] = a.y(), to[3] = a.z();
  };
  switch (joint.kind) {
    case JointKind::Spherical: put(q); break;
    case JointKind::Free:
      for (int k = 0; k < 3; ++k) q[k] = random.normal();
      put(q + 3);
      break;
    default:
      for (int k = 0; k < joint.nq; ++k) q[k] = random.uniform(-std::numbers::pi, std::numbers::pi);
  }
}

}  // namespace

Result<std::vector<Case>> cases(const std::string& models) {
  std::vector<Case> out;
  const auto add = [&](std::string name, const ModelSpec& spec, double debian, double native,
                       bool with_peer = true) -> Result<void> {
    auto model = Model::build(spec);
    if (!model) return tl::unexpected(model.error());
    out.push_back({std::move(name), std::move(*model), with_peer, debian, native});
    return {};
  };
  // Chains: bars of the speed table for three lengths, two more lengths for the growth (MuJoCo reads no deeper nesting).
  struct Length {
    int n;
    const char* file;
    double hinges, balls;
  };
  for (const Length& l : {Length{7, "ring7", 0.25, 0.09},
                          {20, "ring20", 0.20, 0.035},
                          {50, "ring50", 0.11, 0.011},
                          {100, "ring50", 0, 0},
                          {1000, "ring50", 0, 0}}) {
    auto ring = read_model_file(fmt::format("{}/{}.toml", models, l.file));
    if (!ring) return tl::unexpected(ring.error());
    const ModelSpec chain = prolonged(opened(std::move(*ring)), l.n);
    if (auto r = add(fmt::format("hinges {}", l.n), chain, l.hinges, 0, l.n <= 50); !r) return tl::unexpected(r.error());
    if (auto r = add(fmt::format("balls {}", l.n), floating_with_balls(chain), l.balls, 0, l.n <= 50); !r)
      return tl::unexpected(r.error());
  }
  // Hinges first.
  std::vector<Case> balls;
  for (Case& c : std::exchange(out, {})) (c.name.starts_with("hinges") ? out : balls).push_back(std::move(c));
  std::move(balls.begin(), balls.end(), std::back_inserter(out));
  // Loops.
  struct Closed {
    const char* file;
    double bar;
  };
  for (const Closed& c : {Closed{"four_bar", 0.2}, {"ring7", 0.22}, {"ring20", 0.17}, {"ring50", 0.09}, {"stewart", 0.4}}) {
    auto spec = read_model_file(fmt::format("{}/{}.toml", models, c.file));
    if (!spec) return tl::unexpected(spec.error());
    if (auto r = add(c.file, *spec, 0, c.bar); !r) return tl::unexpected(r.error());
  }
  return out;
}

Result<Bodies> random_state(const Model& model, std::uint64_t number, bool moving) {
  Random random(2024, number);
  JointState joints = JointState::initial(model);
  const bool loops = has_loops(model);
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (!loops) {
      draw(random, joint, joints.q.data() + joint.q0);
      joints.known[j] = true;
    } else if (joint.nq == 1) {
      joints.q[joint.q0] += random.uniform(-0.05, 0.05);
    }
    if (!moving || !joints.known[j]) continue;
    for (int k = 0; k < joint.nv; ++k) joints.v[joint.v0 + k] = random.normal();
  }
  Bodies bodies = place(model, joints);
  if (!loops) return bodies;
  return make_consistent(model, std::move(bodies), 1e-12);
}

}  // namespace invar::bench
