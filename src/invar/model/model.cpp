// SPDX-License-Identifier: Apache-2.0
#include "invar/model/model.hpp"

#include <cmath>

#include "invar/base/check.hpp"
#include "invar/model/arms.hpp"
#include "invar/model/coordinates.hpp"
#include "invar/model/edit.hpp"
#include "invar/model/model_check.hpp"

// The order of the work: names first, since every later sentence uses them; then bodies, joints, couplings, frames and tendons
// one by one; then what follows from all of them (places in the stacked vectors, scales, the start configuration).
namespace invar {
namespace {

const std::string kWorldName = "world";

/// Names of one kind of item, each used once, none of them empty.
template <class Spec>
Result<Index> index_of(const std::vector<Spec>& items, const char* what) {
  Index index;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Spec& item = items[i];
    if (item.name.empty()) return tl::unexpected(error_at(item.where, "name", "{} number {} has no name", what, i + 1));
    if (item.name == kWorldName)
      return tl::unexpected(error_at(item.where, "name", "no {} can be called 'world': that is the name of the ground", what));
    const auto [it, fresh] = index.emplace(item.name, static_cast<int>(i));
    if (fresh) continue;
    const std::string& first = items[static_cast<std::size_t>(it->second)].where.of("name");
    return tl::unexpected(error_at(item.where, "name", "{} name '{}' is used twice{}; give each its own", what, item.name,
                                   first.empty() ? "" : " (the first at " + first + ")"));
  }
  return index;
}

Result<Joint> checked_joint(const JointSpec& spec, const Index& bodies, Warnings* warnings) {
  const std::string who = fmt::format("joint '{}'", spec.name);
  const auto parent = body_named(spec.parent, bodies, who, spec.where, "parent");
  if (!parent) return tl::unexpected(parent.error());
  const auto child = body_named(spec.child, bodies, who, spec.where, "child");
  if (!child) return tl::unexpected(child.error());
  if (*child == kWorld)
    return tl::unexpected(error_at(
        spec.where, "child", "{} has the world as its child; swap parent and child, and at_parent and at_child with them", who));
  if (*child == *parent) return tl::unexpected(error_at(spec.where, "child", "{} connects body '{}' to itself", who, spec.child));
  if (const Flaw f = check_joint(spec)) return tl::unexpected(*f);
  return make_joint(spec, *parent, *child, warnings);
}

/// Writes what [initial] says into q. A locked joint is where it is held; [initial] may only repeat that.
Flaw set_initial(const ModelSpec& spec, const Index& names, const std::vector<Joint>& joints, VecX& q) {
  for (const auto& [joint, numbers] : spec.initial) {
    const std::string field = "initial." + joint;
    const auto it = names.find(joint);
    if (it == names.end())
      return error_at(spec.where, field, "[initial] names joint '{}', which does not exist{}", joint, suggestion(joint, names));
    const auto i = static_cast<std::size_t>(it->second);
    const Joint& j = joints[i];
    const auto values = start_from(spec.joints[i], numbers, spec.where, field);
    if (!values) return values.error();
    q.segment(j.q0, j.nq) = *values;
  }
  return {};
}

/// Root mean square distance of joint points from centres of mass. Joints without rows carry no reaction and do not count.
double length_scale(const std::vector<Joint>& joints, const std::vector<Body>& bodies) {
  double sum = 0;
  int count = 0;
  const auto add = [&](int body, const Vec3& p_BJ) {
    if (body == kWorld) return;
    sum += arm_squared(p_BJ, bodies[static_cast<std::size_t>(body)].inertia.p_BC);
    ++count;
  };
  for (const Joint& joint : joints) {
    if (joint.rows() == 0) continue;
    add(joint.parent, joint.X_PF.p);
    add(joint.child, joint.X_CM.p);
  }
  return sum > 0 ? std::sqrt(sum / count) : 1.0;
}

double mean_mass_of(const std::vector<Body>& bodies) {
  double sum = 0;
  for (const Body& b : bodies) sum += b.inertia.mass;
  return sum > 0 ? sum / static_cast<double>(bodies.size()) : 1.0;
}

template <class Item>
std::optional<int> find(const std::vector<Item>& items, std::string_view name) {
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].name == name) return static_cast<int>(i);
  return std::nullopt;
}

}  // namespace

Result<int> body_named(const std::string& body, const Index& bodies, const std::string& who, const Where& where,
                       const char* field) {
  if (body == kWorldName) return kWorld;
  if (const auto it = bodies.find(body); it != bodies.end()) return it->second;
  if (body.empty()) return tl::unexpected(error_at(where, field, "{} names no {}", who, field));
  Index names = bodies;
  names.emplace(kWorldName, kWorld);
  return tl::unexpected(error_at(where, field, "{} names body '{}', which does not exist{}", who, body, suggestion(body, names)));
}

Result<Model> Model::build(const ModelSpec& spec, Warnings* warnings) {
  // Names.
  const auto bodies = index_of(spec.bodies, "body");
  if (!bodies) return tl::unexpected(bodies.error());
  const auto joints = index_of(spec.joints, "joint");
  if (!joints) return tl::unexpected(joints.error());
  const auto couplings = index_of(spec.couplings, "coupling");
  if (!couplings) return tl::unexpected(couplings.error());
  const auto frames = index_of(spec.frames, "frame");
  if (!frames) return tl::unexpected(frames.error());
  const auto tendons = index_of(spec.tendons, "tendon");
  if (!tendons) return tl::unexpected(tendons.error());
  if (spec.bodies.empty()) return tl::unexpected(error_at(spec.where, "", "the model has no bodies"));
  if (!spec.gravity.allFinite()) return tl::unexpected(error_at(spec.where, "gravity", "gravity is not finite"));

  // Items, one by one.
  Model m;
  m.name_ = spec.name;
  m.gravity_ = spec.gravity;
  for (const BodySpec& b : spec.bodies) {
    if (const Flaw f = check_body(b)) return tl::unexpected(*f);
    m.bodies_.push_back({b.name, whole_inertia(spec, m.bodies_.size()), b.shapes});
  }
  if (const Flaw f = check_payloads(spec, *bodies)) return tl::unexpected(*f);
  for (const JointSpec& s : spec.joints) {
    auto joint = checked_joint(s, *bodies, warnings);
    if (!joint) return tl::unexpected(joint.error());
    joint->q0 = m.nq_, joint->v0 = m.nv_;
    m.nq_ += joint->nq, m.nv_ += joint->nv;
    m.joints_.push_back(std::move(*joint));
  }
  for (const CouplingSpec& s : spec.couplings) {
    auto coupling = make_coupling(s, spec.joints, *joints);
    if (!coupling) return tl::unexpected(coupling.error());
    m.couplings_.push_back(std::move(*coupling));
  }
  for (const FrameSpec& s : spec.frames) {
    auto frame = make_frame(s, *bodies);
    if (!frame) return tl::unexpected(frame.error());
    m.frames_.push_back(std::move(*frame));
  }
  for (const TendonSpec& s : spec.tendons) {
    auto tendon = make_tendon(s, *bodies, *frames, m.frames_);
    if (!tendon) return tl::unexpected(tendon.error());
    m.tendons_.push_back(std::move(*tendon));
  }

  // What follows from all of them.
  m.length_ = length_scale(m.joints_, m.bodies_);
  m.mean_mass_ = mean_mass_of(m.bodies_);
  m.initial_q_ = VecX::Zero(m.nq_);
  for (const Joint& j : m.joints_)
    if (j.facts->ball() >= 0) m.initial_q_[j.q0 + j.facts->ball()] = 1;
  if (const Flaw f = set_initial(spec, *joints, m.joints_, m.initial_q_)) return tl::unexpected(*f);
  for (const Joint& j : m.joints_) m.initial_named_.push_back(spec.initial.contains(j.name));
  return m;
}

void Model::take(const ModelSpec& spec, const Change& change) {
  for (const int b : change.bodies)
    bodies_[static_cast<std::size_t>(b)].inertia = whole_inertia(spec, static_cast<std::size_t>(b));
  for (const int j : change.joints) {
    const auto frames = make_frames(spec.joints[static_cast<std::size_t>(j)], nullptr);
    INVAR_CHECK(frames.has_value(), "a joint that was checked has frames");
    Joint& joint = joints_[static_cast<std::size_t>(j)];
    joint.X_PF = frames->X_PF, joint.X_CM = frames->X_CM, joint.turn = frames->turn;
  }
  for (const int c : change.couplings)
    couplings_[static_cast<std::size_t>(c)].coefficients = spec.couplings[static_cast<std::size_t>(c)].coefficients;
  for (const int f : change.frames) {
    const Pose& at = spec.frames[static_cast<std::size_t>(f)].at;
    frames_[static_cast<std::size_t>(f)].X_BE = {normalized(at.q), at.p};
  }
  for (const int t : change.tendons)
    for (std::size_t k = 0; k < tendons_[static_cast<std::size_t>(t)].points.size(); ++k) {
      const PointSpec& point = spec.tendons[static_cast<std::size_t>(t)].points[k];
      if (point.frame.empty()) continue;
      const Frame& frame = frames_[static_cast<std::size_t>(*find_frame(point.frame))];
      tendons_[static_cast<std::size_t>(t)].points[k].p_BP = frame.X_BE * point.p;
    }
  length_ = length_scale(joints_, bodies_);
  mean_mass_ = mean_mass_of(bodies_);
}

Model Model::with_joint_frames(const std::vector<Pose>& X_PF, const std::vector<Pose>& X_CM) const {
  INVAR_CHECK(X_PF.size() == joints_.size() && X_CM.size() == joints_.size(), "there is a pair of frames per joint");
  Model other = *this;
  for (std::size_t j = 0; j < joints_.size(); ++j) other.joints_[j].X_PF = X_PF[j], other.joints_[j].X_CM = X_CM[j];
  return other;
}

Model Model::part(const std::vector<int>& bodies, const std::vector<int>& joints, const std::vector<int>& couplings) const {
  const auto place_of = [](const std::vector<int>& all, int i) {
    return static_cast<int>(std::lower_bound(all.begin(), all.end(), i) - all.begin());
  };
  Model out;
  out.name_ = name_, out.gravity_ = gravity_;
  for (const int b : bodies) out.bodies_.push_back(bodies_[static_cast<std::size_t>(b)]);
  std::vector<double> initial;
  for (const int j : joints) {
    Joint joint = joints_[static_cast<std::size_t>(j)];
    initial.insert(initial.end(), initial_q_.data() + joint.q0, initial_q_.data() + joint.q0 + joint.nq);
    out.initial_named_.push_back(initial_named_[static_cast<std::size_t>(j)]);
    joint.q0 = out.nq_, joint.v0 = out.nv_;
    out.nq_ += joint.nq, out.nv_ += joint.nv;
    joint.child = place_of(bodies, joint.child);
    if (joint.parent != kWorld) joint.parent = place_of(bodies, joint.parent);
    out.joints_.push_back(std::move(joint));
  }
  out.initial_q_ = Eigen::Map<const VecX>(initial.data(), out.nq_);
  for (const int c : couplings) {
    Coupling coupling = couplings_[static_cast<std::size_t>(c)];
    coupling.joint = place_of(joints, coupling.joint), coupling.of = place_of(joints, coupling.of);
    out.couplings_.push_back(std::move(coupling));
  }
  out.length_ = length_scale(out.joints_, out.bodies_);
  out.mean_mass_ = mean_mass_of(out.bodies_);
  return out;
}

std::optional<int> Model::find_body(std::string_view name) const {
  return name == kWorldName ? std::optional<int>(kWorld) : find(bodies_, name);
}
std::optional<int> Model::find_joint(std::string_view name) const { return find(joints_, name); }
std::optional<int> Model::find_frame(std::string_view name) const { return find(frames_, name); }

const std::string& Model::body_name(int body) const {
  return body == kWorld ? kWorldName : bodies_[static_cast<std::size_t>(body)].name;
}

}  // namespace invar
