// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mujoco/mujoco.h>

#include <memory>

#include "invar/mech/bodies.hpp"
#include "measure.hpp"
#include "to_mjcf.hpp"

namespace invar::bench {

/// The functions of one build of MuJoCo, loaded at run time so that two builds can stand side by side in one process.
struct MujocoLibrary {
  decltype(&mj_loadXML) load_xml;
  decltype(&mj_makeData) make_data;
  decltype(&mj_deleteModel) delete_model;
  decltype(&mj_deleteData) delete_data;
  decltype(&mj_name2id) name_to_id;
  decltype(&mj_forward) forward;
  decltype(&mj_rnePostConstraint) rne_post_constraint;
  decltype(&mj_objectAcceleration) object_acceleration;
  decltype(&mj_version) version;

  /// Stays loaded until the program ends.
  static Result<MujocoLibrary> open(const std::string& path);
};

/// Debian's build of MuJoCo and, where a path is given, the one made for this processor.
Result<std::vector<MujocoLibrary>> open_builds(const std::string& debian, const std::string& native);

/// How MuJoCo solves its constraints; trees have none.
struct MujocoSettings {
  mjtSolver solver = mjSOL_NEWTON;
  mjtJacobian jacobian = mjJAC_AUTO;
  bool warmstart = false;
  std::string text() const;
};

/// MuJoCo's own coordinates of one state.
struct MujocoState {
  std::vector<double> qpos, qvel;
};

/// One model in one build of MuJoCo. The Model must outlive it.
class Mujoco {
 public:
  static Result<std::unique_ptr<Mujoco>> load(const MujocoLibrary& library, const Model& model);
  ~Mujoco();
  Mujoco(const Mujoco&) = delete;
  Mujoco& operator=(const Mujoco&) = delete;

  /// Everything off that a mechanism without contacts does not need: contacts, limits, friction, actuation, sensors, and the
  /// whole constraint solver where there are no loops, passive forces where there are none.
  void set(const MujocoSettings& settings);
  bool closed() const { return !tree_.closures.empty(); }

  MujocoState encode(const Bodies& bodies) const;

  /// The call that is timed: state in, mj_forward.
  void forward(const MujocoState& state);
  /// What MuJoCo needs on top to know the forces in its joints.
  void joint_forces() { library_.rne_post_constraint(model_, data_); }

  /// Results of the last forward and joint_forces: accelerations of centres of mass, World.
  Accelerations accelerations() const;
  /// Wrench through the joint that carries each body, on the parent, about the origin of M, World; zero for floating roots.
  std::vector<Wrench> carrier_wrenches(const Bodies& bodies) const;

 private:
  Mujoco(const MujocoLibrary& library, const Model& invar, MjcfTree tree)
      : library_(library), invar_(invar), tree_(std::move(tree)) {}
  Result<void> compile();
  void set_anchors();
  void encode_ball(const Bodies& bodies, const Joint& joint, double* quat, double* rate) const;
  void encode_free(const Bodies& bodies, int body, double* qpos, double* qvel) const;

  MujocoLibrary library_;
  const Model& invar_;
  MjcfTree tree_;
  mjModel* model_ = nullptr;
  mjData* data_ = nullptr;
  std::vector<int> id_of_body_;
};

/// mj_forward as a contestant on these states.
Contestant forward_of(Mujoco& peer, const std::vector<MujocoState>& states);

/// The fastest way in which MuJoCo finds the accelerations that its Newton solver finds; set on return.
MujocoSettings fastest_settings(Mujoco& peer, const std::vector<MujocoState>& states);

}  // namespace invar::bench
