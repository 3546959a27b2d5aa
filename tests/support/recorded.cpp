// SPDX-License-Identifier: Apache-2.0
#include "support/recorded.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "invar/base/largest.hpp"
#include "support/states.hpp"

namespace invar::testing {

namespace {

Vec3 vector(const Said& said, const std::string& path) {
  const auto x = said.at(path);
  return x.size() == 3 ? Vec3(x) : Vec3(Vec3::Constant(std::nan("")));
}

void append(const Eigen::Map<const VecX>& x, VecX& out) {
  const Eigen::Index n = out.size();
  out.conservativeResize(n + x.size());
  out.tail(x.size()) = x;
}

}  // namespace

Eigen::Map<const VecX> Said::at(const std::string& path) const {
  const auto it = channels.find(path);
  if (it == channels.end()) {
    ADD_FAILURE() << "no channel " << path;
    return {nullptr, 0};
  }
  return {it->second.first + sample * it->second.stride, it->second.size};
}

Sampled sampled(const ModelSpec& spec, const Said& said) {
  Sampled out;
  for (const BodySpec& body : spec.bodies) {
    const std::string at = "bodies/" + escaped(body.name) + "/";
    const auto q = said.at(at + "q");
    if (q.size() != 4) return out;
    out.e.bodies.push_back(
        {vector(said, at + "p"), vector(said, at + "v"), vector(said, at + "w"), Quat(q[0], q[1], q[2], q[3])});
    out.e.accelerations.push_back({vector(said, at + "a"), vector(said, at + "alpha")});
    const bool acts = said.has(at + "force");
    out.port.push_back(acts ? Wrench{vector(said, at + "moment"), vector(said, at + "force")} : Wrench{});
  }
  for (const JointSpec& joint : spec.joints) {
    const std::string at = "joints/" + escaped(joint.name) + "/";
    out.e.reactions.push_back({vector(said, at + "moment"), vector(said, at + "force")});
    if (joint.locked || joint.kind == JointKind::Fixed) continue;
    append(said.at(at + "q"), out.e.q), append(said.at(at + "v"), out.e.v);
    append(said.at(at + "vdot"), out.e.vdot), append(said.at(at + "effort"), out.e.efforts);
  }
  for (const CouplingSpec& c : spec.couplings) append(said.at("couplings/" + escaped(c.name) + "/effort"), out.e.couplings);
  return out;
}

void set_model(Scenario& s, const ModelSpec& spec) {
  s.spec = std::make_shared<const ModelSpec>(spec);
  s.model = std::make_shared<const Model>(build(spec));
}

namespace {

// How far joints may gape in a recording. Dense output misses configurations by some ten times the tolerance of a step
// (Dopri5.DenseOutputIsAsGoodAsTheSteps); what is not projected opens until the run says so, at a thousandth.
double open_in(const Method& method) {
  if (!method.project) return 1e-3;
  const bool dense = method.integrator == "dopri5" || method.integrator == "radau";
  return std::max(kOpen, dense ? 10 * method.options.dopri5.position_tolerance : 0.0);
}

}  // namespace

RecordingJudge::RecordingJudge(const Scenario& scenario) : scenario_(scenario) {
  EXPECT_TRUE(scenario.spec) << "a run is judged by the mechanism that its test wrote: set_model(scenario, spec)";
  if (scenario.spec) spec_ = *scenario.spec;
}

void RecordingJudge::look(double t, const Said& said) {
  std::vector<std::string> standing;  // locked where they stand
  for (; next_edit_ < scenario_.edits.size() && scenario_.edits[next_edit_].at <= t; ++next_edit_) {
    for (const Edit& edit : scenario_.edits[next_edit_].edits) {
      if (const auto* lock = std::get_if<Lock>(&edit); lock && !lock->at) standing.push_back(lock->joint);
      if (const auto* unlock = std::get_if<Unlock>(&edit)) std::erase(standing, unlock->joint);
    }
    const Result<ModelSpec> next = edited(spec_, scenario_.edits[next_edit_].edits);
    ASSERT_TRUE(next) << next.error().text();
    spec_ = *next;
  }
  const Sampled s = sampled(spec_, said);
  ASSERT_EQ(s.e.reactions.size(), spec_.joints.size()) << "a sample without a channel that is needed";
  for (const std::string& joint : standing) {
    const std::size_t j = plain_joint(spec_, joint);
    spec_.joints[j].locked = false;
    const std::vector<double> q = plain_joints(spec_, s.e.bodies, s.e.accelerations)[j].q;
    spec_.joints[j].locked = true, spec_.joints[j].locked_at = q;
  }
  ++samples_;
  const Balance now = balance({spec_, open_in(scenario_.method)}, s.e, s.port);
  double worse = 0;
  for (const double part : {now.force, now.moment, now.open}) keep_largest(worse, part);
  keep_largest(worst_, worse);
  if (worse <= 1) return;
  std::string where = now.body < 0 ? "" : "Newton and Euler at body " + spec_.bodies[static_cast<std::size_t>(now.body)].name;
  if (now.open >= worse && now.joint >= 0) where = "gap of joint " + spec_.joints[static_cast<std::size_t>(now.joint)].name;
  off_.push_back({t, worse, where});
}

void RecordingJudge::expect_all(const std::string& what, const std::vector<std::string>& notes) const {
  std::vector<double> unbalanced;  // s, as notes print it
  for (const std::string& note : notes)
    if (note.find("a state stands in the singular configuration itself") != std::string::npos)
      for (std::size_t at = note.find("t = "); at != std::string::npos; at = note.find("t = ", at + 4))
        unbalanced.push_back(std::stod(note.substr(at + 4)));
  const auto named = [&](double t) {
    return std::any_of(unbalanced.begin(), unbalanced.end(), [&](double n) { return std::abs(t - n) <= 1e-5 * std::abs(t); });
  };
  const Off* worst = nullptr;
  for (const Off& off : off_)
    if (!named(off.t) && (worst == nullptr || !(off.by <= worst->by))) worst = &off;
  EXPECT_EQ(worst, nullptr) << worst->where << ", t = " << worst->t << " s: " << worst->by << " of the bound\n  " << what;
  if (std::getenv("INVAR_JUDGE")) std::printf("balance %.2e of the bound, %ld samples: %s\n", worst_, samples_, what.c_str());
}

Result<void> JudgedSink::begin(const Layout& layout) {
  row_.assign(static_cast<std::size_t>(layout.width()), 0.0);
  const double* at = row_.data();
  for (const Channel& c : layout.channels) said_.channels[c.path] = {at, c.size, 0}, at += c.size;
  return next_ ? next_->begin(layout) : Result<void>{};
}

Result<void> JudgedSink::sample(std::span<const double> row) {
  std::copy(row.begin(), row.end(), row_.begin());
  judge_.look(row[0], said_);
  return next_ ? next_->sample(row) : Result<void>{};
}

Result<Outcome> judged_run(Scenario scenario, Sink* sink, const std::string& what) {
  scenario.sampling.what.accelerations = scenario.sampling.what.bodies = scenario.sampling.what.joints = true;
  scenario.sampling.what.loads = scenario.sampling.what.reactions = scenario.sampling.what.efforts = true;
  JudgedSink judged(scenario, sink);
  RunOptions options;
  options.sink = &judged;
  Result<Outcome> outcome = run(scenario, options);
  judged.judge().expect_all(what + " " + scenario.name, outcome ? outcome->notes : std::vector<std::string>());
  return outcome;
}

namespace {

/// All datasets of a file, samples × components.
using Series = std::map<std::string, Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

herr_t read_one(hid_t root, const char* name, const H5O_info_t* info, void* data) {
  if (info->type != H5O_TYPE_DATASET) return 0;
  const hid_t set = H5Dopen2(root, name, H5P_DEFAULT), space = H5Dget_space(set);
  hsize_t size[2] = {0, 1};
  H5Sget_simple_extent_dims(space, size, nullptr);
  auto& series = (*static_cast<Series*>(data))[name];
  series.resize(static_cast<Eigen::Index>(size[0]), static_cast<Eigen::Index>(size[1]));
  const herr_t done = H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, series.data());
  H5Sclose(space), H5Dclose(set);
  return done < 0 ? done : 0;
}

}  // namespace

long expect_newton_euler(const Scenario& scenario, const std::string& run_h5) {
  Series all;
  const hid_t file = H5Fopen(run_h5.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  EXPECT_GE(file, 0) << run_h5;
  if (file < 0) return 0;
  EXPECT_GE(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, read_one, &all), 0);
  H5Fclose(file);
  RecordingJudge judge(scenario);
  Said said;
  for (const auto& [path, series] : all) said.channels[path] = {series.data(), static_cast<int>(series.cols()), series.cols()};
  const auto& time = all["time"];
  for (; said.sample < time.rows(); ++said.sample) judge.look(time(said.sample, 0), said);
  judge.expect_all(run_h5);
  return judge.samples();
}

}  // namespace invar::testing
