// SPDX-License-Identifier: Apache-2.0
//
// MuJoCo's coordinates: a hinge or slide has ours; a ball has the rotation of the child against its drawn attitude, and the
// relative rate in the child's axes; a free body has position and attitude, velocity of its origin in World axes and rate in
// its own. A connect constraint holds its two anchors in eq_data, the first in body 1, the second in body 2.
#include "mujoco.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "invar/mech/kinematics.hpp"

namespace invar::bench {

namespace {

template <class T>
const T& at(const std::vector<T>& values, int i) {
  return values[static_cast<std::size_t>(i)];
}

Vec3 vec(const double* p) { return {p[0], p[1], p[2]}; }

void put(const Vec3& v, double* p) { p[0] = v.x(), p[1] = v.y(), p[2] = v.z(); }
void put(const Quat& q, double* p) { p[0] = q.w(), p[1] = q.x(), p[2] = q.y(), p[3] = q.z(); }

template <class F>
bool look_up(void* handle, const char* symbol, F& function) {
  function = reinterpret_cast<F>(dlsym(handle, symbol));
  return function != nullptr;
}

/// MuJoCo reads files, so the text goes through one.
Result<std::string> write_temporary(const std::string& text) {
  std::string path = std::filesystem::temp_directory_path() / "invar_bench_XXXXXX";
  const int descriptor = mkstemp(path.data());
  if (descriptor < 0) return fail(ErrorKind::File, "cannot create a temporary file");
  const bool written = write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(descriptor);
  if (!written) return fail(ErrorKind::File, "cannot write a temporary file", path);
  return path;
}

}  // namespace

Result<MujocoLibrary> MujocoLibrary::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return fail(ErrorKind::File, fmt::format("cannot load MuJoCo: {}", dlerror()), path);
  MujocoLibrary m{};
  const bool complete = look_up(handle, "mj_loadXML", m.load_xml) && look_up(handle, "mj_makeData", m.make_data) &&
                        look_up(handle, "mj_deleteModel", m.delete_model) && look_up(handle, "mj_deleteData", m.delete_data) &&
                        look_up(handle, "mj_name2id", m.name_to_id) && look_up(handle, "mj_forward", m.forward) &&
                        look_up(handle, "mj_rnePostConstraint", m.rne_post_constraint) &&
                        look_up(handle, "mj_objectAcceleration", m.object_acceleration) &&
                        look_up(handle, "mj_version", m.version);
  if (!complete) return fail(ErrorKind::File, "is not MuJoCo", path);
  if (m.version() != mjVERSION_HEADER) {
    return fail(ErrorKind::File, fmt::format("is MuJoCo {}, headers are {}", m.version(), mjVERSION_HEADER), path);
  }
  return m;
}

Result<std::vector<MujocoLibrary>> open_builds(const std::string& debian, const std::string& native) {
  std::vector<MujocoLibrary> builds;
  for (const std::string& path : {debian, native}) {
    if (path.empty()) continue;
    const auto build = MujocoLibrary::open(path);
    if (!build) return tl::unexpected(build.error());
    builds.push_back(*build);
  }
  return builds;
}

std::string MujocoSettings::text() const {
  const char* solvers[] = {"PGS", "CG", "Newton"};
  return fmt::format("{}, {}{}", solvers[solver], jacobian == mjJAC_SPARSE ? "sparse" : "dense", warmstart ? ", warm start" : "");
}

Result<std::unique_ptr<Mujoco>> Mujoco::load(const MujocoLibrary& library, const Model& model) {
  auto tree = mjcf_tree(model);
  if (!tree) return tl::unexpected(tree.error());
  std::unique_ptr<Mujoco> peer(new Mujoco(library, model, std::move(*tree)));
  if (auto compiled = peer->compile(); !compiled) return tl::unexpected(compiled.error());
  peer->set_anchors();
  peer->set(MujocoSettings{});
  return peer;
}

Mujoco::~Mujoco() {
  if (data_) library_.delete_data(data_);
  if (model_) library_.delete_model(model_);
}

Result<void> Mujoco::compile() {
  auto path = write_temporary(to_mjcf(invar_, tree_));
  if (!path) return tl::unexpected(path.error());
  char problem[1000] = "";
  model_ = library_.load_xml(path->c_str(), nullptr, problem, sizeof problem);
  std::remove(path->c_str());
  if (!model_) return fail(ErrorKind::Model, fmt::format("MuJoCo refuses '{}': {}", invar_.name(), problem));
  data_ = library_.make_data(model_);
  for (const Body& body : invar_.bodies()) id_of_body_.push_back(library_.name_to_id(model_, mjOBJ_BODY, body.name.c_str()));
  return {};
}

void Mujoco::set_anchors() {
  for (std::size_t i = 0; i < tree_.closures.size(); ++i) {
    const Joint& joint = at(invar_.joints(), tree_.closures[i]);
    put(joint.X_CM.p, model_->eq_data + i * mjNEQDATA);
    put(joint.X_PF.p, model_->eq_data + i * mjNEQDATA + 3);
  }
}

void Mujoco::set(const MujocoSettings& settings) {
  bool passive = false;
  for (const Joint& joint : invar_.joints()) passive = passive || joint.has_passive;
  int off = mjDSBL_FRICTIONLOSS | mjDSBL_LIMIT | mjDSBL_CONTACT | mjDSBL_CLAMPCTRL | mjDSBL_ACTUATION | mjDSBL_SENSOR;
  if (!passive) off |= mjDSBL_PASSIVE;
  if (!closed()) off |= mjDSBL_CONSTRAINT | mjDSBL_EQUALITY;
  if (!settings.warmstart) off |= mjDSBL_WARMSTART;
  model_->opt.disableflags = off;
  model_->opt.enableflags = 0;
  model_->opt.solver = settings.solver;
  model_->opt.jacobian = settings.jacobian;
}

void Mujoco::encode_ball(const Bodies& bodies, const Joint& joint, double* quat, double* rate) const {
  const Quat q_WP = body_state(bodies, joint.parent).q_WB, q_WC = body_state(bodies, joint.child).q_WB;
  const Quat drawn = joint.X_PF.q * joint.X_CM.q.conjugate();
  put(normalized(drawn.conjugate() * q_WP.conjugate() * q_WC), quat);
  put(q_WC.conjugate() * (body_state(bodies, joint.child).w_WB - body_state(bodies, joint.parent).w_WB), rate);
}

void Mujoco::encode_free(const Bodies& bodies, int body, double* qpos, double* qvel) const {
  const BodyState& s = at(bodies, body);
  const Pose X_WB = s.X_WB(at(invar_.bodies(), body));
  put(X_WB.p, qpos);
  put(X_WB.q, qpos + 3);
  put(s.velocity_at(X_WB.p), qvel);
  put(s.q_WB.conjugate() * s.w_WB, qvel + 3);
}

MujocoState Mujoco::encode(const Bodies& bodies) const {
  VecX q(invar_.nq()), v(invar_.nv());
  joint_coordinates(invar_, bodies, q, v);
  MujocoState s{std::vector<double>(static_cast<std::size_t>(model_->nq)),
                std::vector<double>(static_cast<std::size_t>(model_->nv))};
  for (int b = 0; b < static_cast<int>(invar_.bodies().size()); ++b) {
    const int j = at(tree_.joint_of_body, b);
    const int first = model_->body_jntadr[at(id_of_body_, b)];
    if (first < 0) continue;
    double* qpos = s.qpos.data() + model_->jnt_qposadr[first];
    double* qvel = s.qvel.data() + model_->jnt_dofadr[first];
    switch (model_->jnt_type[first]) {
      case mjJNT_FREE: encode_free(bodies, b, qpos, qvel); break;
      case mjJNT_BALL: encode_ball(bodies, at(invar_.joints(), j), qpos, qvel); break;
      default: *qpos = q[at(invar_.joints(), j).q0], *qvel = v[at(invar_.joints(), j).v0];
    }
  }
  return s;
}

void Mujoco::forward(const MujocoState& state) {
  std::copy(state.qpos.begin(), state.qpos.end(), data_->qpos);
  std::copy(state.qvel.begin(), state.qvel.end(), data_->qvel);
  library_.forward(model_, data_);
}

Accelerations Mujoco::accelerations() const {
  Accelerations out;
  for (const int id : id_of_body_) {
    double a[6];
    library_.object_acceleration(model_, data_, mjOBJ_BODY, id, a, 0);
    out.push_back({vec(a + 3) + invar_.gravity(), vec(a)});
  }
  return out;
}

std::vector<Wrench> Mujoco::carrier_wrenches(const Bodies& bodies) const {
  std::vector<Wrench> out(invar_.joints().size());
  for (std::size_t b = 0; b < id_of_body_.size(); ++b) {
    const int j = tree_.joint_of_body[b], id = id_of_body_[b];
    if (j < 0 || at(invar_.joints(), j).kind == JointKind::Free) continue;
    const Vec3 p_WM = body_pose(invar_, bodies, static_cast<int>(b)) * at(invar_.joints(), j).X_CM.p;
    const Vec3 reference = vec(data_->subtree_com + 3 * model_->body_rootid[id]);
    const Wrench on_child{vec(data_->cfrc_int + 6 * id), vec(data_->cfrc_int + 6 * id + 3)};
    out[static_cast<std::size_t>(j)] = -on_child.about(reference - p_WM);
  }
  return out;
}

Contestant forward_of(Mujoco& peer, const std::vector<MujocoState>& states) {
  return [&](int s, int count) {
    for (int i = 0; i < count; ++i) peer.forward(states[static_cast<std::size_t>(s)]);
  };
}

MujocoSettings fastest_settings(Mujoco& peer, const std::vector<MujocoState>& states) {
  if (!peer.closed()) return {};
  peer.set({});
  peer.forward(states.front());
  peer.joint_forces();
  const Accelerations wanted = peer.accelerations();
  MujocoSettings best;
  double best_time = 1e300;
  for (const mjtSolver solver : {mjSOL_NEWTON, mjSOL_CG, mjSOL_PGS}) {
    for (const mjtJacobian jacobian : {mjJAC_DENSE, mjJAC_SPARSE}) {
      for (const bool warmstart : {false, true}) {
        const MujocoSettings settings{solver, jacobian, warmstart};
        peer.set(settings);
        const double time = time_side_by_side({forward_of(peer, states)}, static_cast<int>(states.size()), 1).front();
        peer.forward(states.front());
        peer.joint_forces();
        if (difference(peer.accelerations(), wanted) < 1e-6 && time < best_time) best = settings, best_time = time;
      }
    }
  }
  peer.set(best);
  return best;
}

}  // namespace invar::bench
