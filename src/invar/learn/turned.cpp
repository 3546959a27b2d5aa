// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/turned.hpp"

#include "invar/geom/rotation.hpp"

namespace invar {

ModelSpec turned(ModelSpec spec, const Quat& q) {
  const Pose turn{q, Vec3::Zero()};
  spec.gravity = q * spec.gravity;
  for (JointSpec& j : spec.joints)
    if (j.parent == "world") j.at_parent = turn * j.at_parent;
  for (FrameSpec& f : spec.frames)
    if (f.body == "world") f.at = turn * f.at;
  for (TendonSpec& t : spec.tendons)
    for (PointSpec& p : t.points)
      if (p.frame.empty() && p.body == "world") p.p = q * p.p;
  return spec;
}

DataSet turned(DataSet data, const Quat& q) {
  for (DataRun& run : data.runs)
    for (DataSample& s : run.samples) {
      for (BodyState& b : s.bodies)
        b.p_WC = q * b.p_WC, b.v_WC = q * b.v_WC, b.w_WB = q * b.w_WB, b.q_WB = normalized(q * b.q_WB);
      for (BodyAcceleration& a : s.accelerations) a.a_WC = q * a.a_WC, a.alpha_WB = q * a.alpha_WB;
      for (Wrench& w : s.port) w = {q * w.moment, q * w.force};
      s.flow = q * s.flow;
    }
  for (Vec3& p : data.obstacles) p = q * p;
  return data;
}

}  // namespace invar
