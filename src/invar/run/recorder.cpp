// SPDX-License-Identifier: Apache-2.0
#include "invar/run/recorder.hpp"

#include <algorithm>
#include <limits>

#include "invar/base/check.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {

bool* group(RecordChoice& c, const std::string& word) {
  bool* const members[] = {&c.bodies,  &c.accelerations, &c.loads,    &c.joints,   &c.reactions, &c.efforts,
                           &c.tendons, &c.energy,        &c.momentum, &c.residual, &c.solver};
  for (std::size_t i = 0; i < std::size(kRecordGroups); ++i)
    if (word == kRecordGroups[i]) return members[i];
  return nullptr;
}

namespace {

// Angles and lengths stand side by side in the coordinates of some joints: the unit says which comes where, once where all have
// the same.
template <class UnitOf>
std::string units(int count, UnitOf&& unit_of) {
  std::string out;
  bool alike = true;
  for (int k = 0; k < count; ++k) {
    out += (k > 0 ? ", " : "") + std::string(unit_of(k));
    alike = alike && std::string_view(unit_of(k)) == unit_of(0);
  }
  return alike && count > 0 ? std::string(unit_of(0)) : out;
}

std::string coordinate_unit(const Joint& j) {
  return units(j.nq, [&](int i) { return i < j.nv ? j.facts->unit(i) : "1"; });
}

std::string freedom_unit(const Joint& j, const char* turning, const char* sliding) {
  return units(j.nv, [&](int k) { return j.turns(k) ? turning : sliding; });
}

void body_channels(const Model& model, const RecordChoice& choice, std::vector<Channel>& out) {
  for (const Body& b : model.bodies()) {
    const std::string at = "bodies/" + escaped(b.name) + "/";
    if (choice.bodies) {
      out.push_back({at + "p", "m", "position of the centre of mass, World", 3});
      out.push_back({at + "q", "1", "attitude body to World, quaternion, scalar first", 4});
      out.push_back({at + "v", "m/s", "velocity of the centre of mass, World", 3});
      out.push_back({at + "w", "rad/s", "angular rate, World", 3});
    }
    if (choice.accelerations) {
      out.push_back({at + "a", "m/s^2", "acceleration of the centre of mass, World", 3});
      out.push_back({at + "alpha", "rad/s^2", "angular acceleration, World", 3});
    }
    if (choice.loads) {
      out.push_back({at + "force", "N", "from outside: disturbances and commands, World", 3});
      out.push_back({at + "moment", "N m", "from outside, about the centre of mass, World", 3});
    }
  }
}

void joint_channels(const Model& model, const RecordChoice& choice, std::vector<Channel>& out) {
  for (const Joint& j : model.joints()) {
    const std::string at = "joints/" + escaped(j.name) + "/";
    if (choice.joints && j.nq > 0) {
      out.push_back({at + "q", coordinate_unit(j), "joint coordinates, angles over all turns", j.nq});
      out.push_back({at + "v", freedom_unit(j, "rad/s", "m/s"), "joint rates", j.nv});
    }
    if (choice.accelerations && j.nv > 0)
      out.push_back({at + "vdot", freedom_unit(j, "rad/s^2", "m/s^2"), "derivatives of the rates", j.nv});
    if (choice.reactions) {
      out.push_back({at + "force", "N", "reaction on the parent, World", 3});
      out.push_back({at + "moment", "N m", "reaction on the parent at the joint point, World", 3});
    }
    if (choice.efforts && j.nv > 0)
      out.push_back({at + "effort", freedom_unit(j, "N m", "N"), "effort on the freedoms, commanded and passive", j.nv});
    if (choice.residual && j.nv < 6) out.push_back({at + "residual", "m or rad", "how far it is from being closed", 1});
  }
}

// What a coupling does is an effort on its driven freedom; the driving one feels it times minus the slope of the map.
void coupling_channels(const Model& model, std::vector<Channel>& out) {
  for (const Coupling& c : model.couplings()) {
    const bool slides = !model.joints()[static_cast<std::size_t>(c.joint)].turns(c.freedom);
    out.push_back({"couplings/" + escaped(c.name) + "/effort", slides ? "N" : "N m", "transmitted to the driven freedom", 1});
  }
}

void tendon_channels(const Model& model, std::vector<Channel>& out) {
  for (const Tendon& t : model.tendons()) {
    const std::string at = "tendons/" + escaped(t.name) + "/";
    out.push_back({at + "length", "m", "over all segments", 1});
    out.push_back({at + "rate", "m/s", "of the length", 1});
    out.push_back({at + "tension", "N", "spring and damper; zero when slack", 1});
  }
}

void system_channels(const RecordChoice& choice, std::vector<Channel>& out) {
  if (choice.energy) {
    out.push_back({"energy/kinetic", "J", "bodies and rotors", 1});
    out.push_back({"energy/potential", "J", "gravity, zero at the World origin", 1});
    out.push_back({"energy/elastic", "J", "springs, tendons and stops", 1});
    out.push_back({"energy/total", "J", "kinetic + potential + elastic", 1});
    out.push_back({"energy/work", "J", "done by Port and efforts since the start", 1});
    out.push_back({"energy/dissipated", "J", "by dampers, friction, tendons and stops since the start", 1});
    out.push_back({"energy/balance", "J", "change of total - work + dissipated", 1});
    out.push_back({"energy/hamiltonian", "J", "the energy that the method itself keeps", 1});
    out.push_back({"energy/physical", "J", "total with velocities put on the constraints", 1});
  }
  if (choice.momentum) {
    out.push_back({"momentum/linear", "N s", "World", 3});
    out.push_back({"momentum/angular", "N m s", "about the World origin", 3});
    out.push_back({"momentum/angular_com", "N m s", "about the common centre of mass", 3});
  }
  if (choice.residual) {
    out.push_back({"residual/position", "m or rad", "largest over joints and couplings", 1});
    out.push_back({"residual/velocity", "m/s or rad/s", "largest over joints and couplings", 1});
    out.push_back({"residual/quaternion", "1", "largest deviation from unit norm", 1});
  }
  if (choice.solver) {
    out.push_back({"solver/iterations", "1", "of Newton's method in the last step", 1});
    out.push_back({"solver/substeps", "1", "parts into which the last step was divided", 1});
  }
}

// Appends to a row.
struct Pen {
  double* at;
  void number(double x) { *at++ = x; }
  void vector(const Vec3& u) { number(u.x()), number(u.y()), number(u.z()); }
  void numbers(const double* x, int n) {
    for (int i = 0; i < n; ++i) number(x[i]);
  }
  // Both signs are the same attitude: the one nearer to that of the row before, which still stands here.
  void quaternion(const double* q) {
    const double sign = at[0] * q[0] + at[1] * q[1] + at[2] * q[2] + at[3] * q[3] < 0 ? -1 : 1;
    for (int i = 0; i < 4; ++i) number(sign * q[i]);
  }
};

}  // namespace

std::vector<Channel> channels(const Model& model, const RecordChoice& choice) {
  std::vector<Channel> out = {{"time", "s", "", 1}};
  body_channels(model, choice, out);
  joint_channels(model, choice, out);
  if (choice.efforts) coupling_channels(model, out);
  if (choice.tendons) tendon_channels(model, out);
  system_channels(choice, out);
  return out;
}

namespace {

const Channel kEdited{"energy/edited", "J", "added by edits since the start, what their impulses took subtracted", 1};

int width_of(const std::vector<Channel>& channels) {
  int width = 0;
  for (const Channel& c : channels) width += c.size;
  return width;
}

}  // namespace

std::vector<Channel> channels_of_all(const std::vector<std::shared_ptr<const Model>>& models, const RecordChoice& choice) {
  std::vector<Channel> out;
  for (const auto& model : models)
    for (const Channel& c : channels(*model, choice)) {
      const auto known = std::find_if(out.begin(), out.end(), [&](const Channel& o) { return o.path == c.path; });
      if (known == out.end())
        out.push_back(c);
      else
        known->size = std::max(known->size, c.size);
    }
  if (choice.energy) out.push_back(kEdited);
  return out;
}

Recorder::Recorder(const Model& model, const RecordChoice& choice)
    : model_(model), choice_(choice), channels_(invar::channels(model, choice)) {
  row_.resize(static_cast<std::size_t>(width_of(channels_)));
}

Recorder::Recorder(const Model& model, const RecordChoice& choice, std::vector<Channel> layout) : Recorder(model, choice) {
  edits_ = choice.energy;
  if (edits_) channels_.push_back(kEdited), row_.push_back(0);
  for (const Channel& c : channels_) {
    int at = 0;
    for (std::size_t i = 0; layout[i].path != c.path; ++i) at += layout[i].size;
    for (int k = 0; k < c.size; ++k) places_.push_back(at + k);
  }
  channels_ = std::move(layout);
  wide_.assign(static_cast<std::size_t>(width_of(channels_)), std::numeric_limits<double>::quiet_NaN());
}

std::span<const double> Recorder::row(const Observation& seen, const Evaluation& e, const Port& port) {
  Pen pen{row_.data()};
  pen.number(seen.t);
  for (std::size_t b = 0; b < model_.bodies().size(); ++b) {
    const BodyState& s = e.bodies[b];
    const double q[] = {s.q_WB.w(), s.q_WB.x(), s.q_WB.y(), s.q_WB.z()};
    if (choice_.bodies) pen.vector(s.p_WC), pen.quaternion(q), pen.vector(s.v_WC), pen.vector(s.w_WB);
    if (choice_.accelerations) pen.vector(e.accelerations[b].a_WC), pen.vector(e.accelerations[b].alpha_WB);
    if (choice_.loads) pen.vector(port[b].force), pen.vector(port[b].moment);
  }
  for (std::size_t k = 0; k < model_.joints().size(); ++k) {
    const Joint& j = model_.joints()[k];
    const int attitude = j.facts->ball() >= 0 ? 4 : 0;  // a quaternion, last
    if (choice_.joints) {
      pen.numbers(e.q.data() + j.q0, j.nq - attitude);
      if (attitude > 0) pen.quaternion(e.q.data() + j.q0 + j.nq - attitude);
      pen.numbers(e.v.data() + j.v0, j.nv);
    }
    if (choice_.accelerations) pen.numbers(e.vdot.data() + j.v0, j.nv);
    if (choice_.reactions) pen.vector(e.reactions[k].force), pen.vector(e.reactions[k].moment);
    if (choice_.efforts) pen.numbers(e.efforts.data() + j.v0, j.nv);
    if (choice_.residual && j.nv < 6) pen.number(joint_residual(model_, static_cast<int>(k), e.bodies).lpNorm<Eigen::Infinity>());
  }
  if (choice_.efforts) pen.numbers(e.couplings.data(), static_cast<int>(e.couplings.size()));
  if (choice_.tendons)
    for (const Pull& pull : e.tendons) pen.number(pull.length), pen.number(pull.rate), pen.number(pull.tension);
  if (choice_.energy) {
    pen.number(seen.energy.kinetic), pen.number(seen.energy.potential), pen.number(seen.energy.elastic);
    pen.number(seen.energy.total()), pen.number(seen.work), pen.number(seen.dissipated), pen.number(seen.balance);
    pen.number(seen.hamiltonian), pen.number(seen.physical);
  }
  if (choice_.momentum) pen.vector(seen.momentum.linear), pen.vector(seen.momentum.angular), pen.vector(seen.angular_com);
  if (choice_.residual) pen.number(seen.error.position), pen.number(seen.error.velocity), pen.number(seen.quaternion_norm);
  if (choice_.solver) pen.number(seen.iterations), pen.number(seen.substeps);
  if (edits_) pen.number(seen.edited);
  INVAR_CHECK(pen.at == row_.data() + row_.size(), "a row fills its channels");
  if (places_.empty()) return row_;
  for (std::size_t i = 0; i < row_.size(); ++i) wide_[static_cast<std::size_t>(places_[i])] = row_[i];
  return wide_;
}

}  // namespace invar
