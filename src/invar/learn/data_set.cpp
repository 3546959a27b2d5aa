// SPDX-License-Identifier: Apache-2.0
//
// A quadratic fitted to equally spaced values y_k, k = -n … n, has the slope Σ k y_k / Σ k² in the middle: a cubic term would be
// odd and change it, so for motions the error is h² n² y'''/10 or so, and noise σ of velocities becomes σ/(h √(Σ k²)).
#include "invar/learn/data_set.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>

#include "invar/learn/motion_factor.hpp"
#include "invar/mech/gaps.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {
namespace {

constexpr double kMostOpen = 0.05;       // poses are of another mechanism beyond it
constexpr double kMostTorn = 0.1;        // of the velocities, rms: they are of another mechanism beyond it
constexpr double kLargestNumber = 1e15;  // of a measurement, SI

tl::unexpected<Error> refuse(const DataRun& run, std::size_t sample, const std::string& what) {
  return fail(ErrorKind::State, fmt::format("sample {} of run '{}': {}", sample + 1, run.name, what));
}

// Calls with every block of numbers of a sample: first one and how many.
template <class Take>
void each_block(const DataSample& s, Take&& take) {
  const auto vector = [&](const Vec3& v) { take(v.data(), 3); };
  take(&s.t, 1);
  for (std::size_t b = 0; b < s.bodies.size(); ++b) {
    const BodyState& at = s.bodies[b];
    vector(at.p_WC), take(at.q_WB.coeffs().data(), 4), vector(at.v_WC), vector(at.w_WB);
    vector(s.accelerations[b].a_WC), vector(s.accelerations[b].alpha_WB);
    vector(s.port[b].force), vector(s.port[b].moment);
  }
  take(s.efforts.data(), static_cast<std::size_t>(s.efforts.size()));
  vector(s.flow), take(s.inputs.data(), s.inputs.size());
}

// What is wrong with the numbers of a sample, or nothing.
const char* flaw_of_numbers(const DataSample& s) {
  const char* why = "";
  each_block(s, [&](const double* x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      if (!std::isfinite(x[i])) why = "a number is not finite; leave the sample out";
      if (std::abs(x[i]) > kLargestNumber && std::isfinite(x[i])) why = "a number is beyond 1e15, which nobody measures";
    }
  });
  return why;
}

std::string flaw(const DataSample& s, const Model& model, std::size_t inputs) {
  const std::size_t n = model.bodies().size();
  if (s.bodies.size() != n || s.accelerations.size() != n || s.port.size() != n)
    return fmt::format("it has {} bodies, the model {}", s.bodies.size(), n);
  if (s.efforts.size() != model.nv())
    return fmt::format("it has {} efforts, the model {} freedoms", s.efforts.size(), model.nv());
  if (s.inputs.size() != inputs) return fmt::format("it has {} inputs, there are {} actuators", s.inputs.size(), inputs);
  if (const char* why = flaw_of_numbers(s); *why) return why;
  for (std::size_t b = 0; b < n; ++b)
    if (std::abs(s.bodies[b].q_WB.norm() - 1) > 1e-6)
      return fmt::format("the quaternion of body '{}' has norm {:g}, not 1", model.bodies()[b].name, s.bodies[b].q_WB.norm());
  return {};
}

// The coupling whose driven freedom runs away fastest from what the driving one asks for, m/s (turns times the model's length).
struct Slip {
  double rate = 0;
  int coupling = -1;
};
Slip largest_slip(const Model& model, const ConstrainedInverse& inverse) {
  Slip out;
  const VecX& v = inverse.joint_rates();
  for (int c = 0; c < static_cast<int>(model.couplings().size()); ++c) {
    const Coupling& coupling = model.couplings()[static_cast<std::size_t>(c)];
    const Joint& driven = model.joints()[static_cast<std::size_t>(coupling.joint)];
    const Joint& of = model.joints()[static_cast<std::size_t>(coupling.of)];
    const double slope = driven_by(coupling, inverse.joint(coupling.of).q[coupling.of_freedom]).slope;
    const double unit = driven.turns(coupling.freedom) ? model.length() : 1;
    const double rate = unit * std::abs(v[driven.v0 + coupling.freedom] - slope * v[of.v0 + coupling.of_freedom]);
    if (rate > out.rate) out = {rate, c};
  }
  return out;
}

class Fnv {
 public:
  void take(const double* x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t bits;
      std::memcpy(&bits, x + i, sizeof bits);
      for (int byte = 0; byte < 8; ++byte) hash_ = (hash_ ^ ((bits >> (8 * byte)) & 0xff)) * 0x100000001b3ull;
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
};

}  // namespace

std::size_t DataSet::samples() const {
  std::size_t n = 0;
  for (const DataRun& run : runs) n += run.samples.size();
  return n;
}

std::uint64_t DataSet::hash() const {
  Fnv sum;
  for (const DataRun& run : runs)
    for (const DataSample& s : run.samples) each_block(s, [&](const double* x, std::size_t n) { sum.take(x, n); });
  for (const Vec3& p : obstacles) sum.take(p.data(), 3);
  return sum.value();
}

Result<void> check(const DataSet& data, const Model& model) {
  if (data.runs.empty()) return fail(ErrorKind::State, "there are no runs to learn from: name recordings or tables");
  for (const DataRun& run : data.runs) {
    if (run.samples.empty()) return fail(ErrorKind::State, fmt::format("run '{}' has no samples", run.name));
    for (std::size_t i = 0; i < run.samples.size(); ++i) {
      if (const std::string why = flaw(run.samples[i], model, data.input_names.size()); !why.empty()) return refuse(run, i, why);
      if (i > 0 && !(run.samples[i].t > run.samples[i - 1].t))
        return refuse(run, i,
                      fmt::format("time runs from {:g} s back to {:g} s; sort the samples, or make two runs of them",
                                  run.samples[i - 1].t, run.samples[i].t));
    }
    if (const OpenJoint open = most_open(run, model); open.gap > kMostOpen)
      return refuse(run, open.sample,
                    fmt::format("joint '{}' is open by {:.2g} (rad, or parts of the mechanism's length): the poses are not of "
                                "this mechanism",
                                model.joints()[static_cast<std::size_t>(open.joint)].name, open.gap));
  }
  const AllTorn all = torn(data, model);
  for (std::size_t r = 0; r < data.runs.size(); ++r)
    if (const Torn& t = all.runs[r]; is_torn(t, all.moving, kMostTorn, model.length(), kMostOpen))
      return refuse(data.runs[r], t.sample,
                    fmt::format("{} is torn open at {:.2g} m/s (turns times the mechanism's length), and joints forbid "
                                "{:.2g} m/s of the run's {:.2g} m/s (rms): the velocities are not of this mechanism. They are "
                                "those of the centres of mass in m/s and angular ones in rad/s, World components",
                                t.who(model), t.rate, t.forbidden, t.moving));
  std::map<std::uint64_t, const DataRun*> seen;
  for (const DataRun& run : data.runs) {
    Fnv sum;
    for (const DataSample& s : run.samples) each_block(s, [&](const double* x, std::size_t n) { sum.take(x, n); });
    if (const auto [other, fresh] = seen.try_emplace(sum.value(), &run); !fresh)
      return fail(ErrorKind::State,
                  fmt::format("runs '{}' and '{}' are the same, number by number: a run counts once, to train, to "
                              "be held out or to judge",
                              other->second->name, run.name));
  }
  return {};
}

OpenJoint most_open(const DataRun& run, const Model& model) {
  const Scales scales = scales_of(model);
  OpenJoint out;
  for (std::size_t i = 0; i < run.samples.size(); ++i)
    for (int j = 0; j < static_cast<int>(model.joints().size()); ++j)
      if (const double gap = gap_of_joint(model, scales, j, run.samples[i].bodies); !(gap <= out.gap)) out = {gap, j, i};
  return out;
}

std::string Torn::who(const Model& model) const {
  if (coupling >= 0) return fmt::format("coupling '{}'", model.couplings()[static_cast<std::size_t>(coupling)].name);
  return joint >= 0 ? fmt::format("joint '{}'", model.joints()[static_cast<std::size_t>(joint)].name) : "the mechanism";
}

Torn torn(const DataRun& run, const Model& model) {
  Torn out;
  if (run.samples.empty()) return out;
  out.lasts = run.samples.back().t - run.samples.front().t;
  ConstrainedInverse inverse(model);
  if (inverse.rotors() >= 0) return out;
  double mass = 0;
  for (const Body& b : model.bodies()) mass += b.inertia.mass;
  Port momenta(model.bodies().size());
  Accelerations v(momenta.size()), nearest(momenta.size());
  const auto square = [&](const Bodies& at) {
    double sum = 0;
    for (std::size_t b = 0; b < v.size(); ++b)
      sum += model.bodies()[b].inertia.mass * v[b].a_WC.squaredNorm() +
             v[b].alpha_WB.dot(spun(model.bodies()[b], at[b], v[b].alpha_WB));
    return sum / mass;
  };
  double most = -1;
  int judged = 0;
  for (std::size_t i = 0; i < run.samples.size(); ++i) {
    const Bodies& at = run.samples[i].bodies;
    for (std::size_t b = 0; b < v.size(); ++b) {
      v[b] = {at[b].v_WC, at[b].w_WB};
      momenta[b] = {spun(model.bodies()[b], at[b], at[b].w_WB), model.bodies()[b].inertia.mass * at[b].v_WC};
    }
    if (!inverse.at(at).ok() || !inverse.apply(&momenta, nullptr, nearest).ok()) continue;
    int joint = -1, coupling = -1;
    double rate = inverse.violation(v, joint);
    if (const Slip slip = largest_slip(model, inverse); slip.rate > rate) rate = slip.rate, coupling = slip.coupling, joint = -1;
    out.moving += square(at), ++judged;
    for (std::size_t b = 0; b < v.size(); ++b) v[b].a_WC -= nearest[b].a_WC, v[b].alpha_WB -= nearest[b].alpha_WB;
    const double forbidden = square(at);
    out.forbidden += forbidden;
    if (forbidden > most) most = forbidden, out.joint = joint, out.coupling = coupling, out.sample = i, out.rate = rate;
  }
  if (judged > 0) out.forbidden = std::sqrt(out.forbidden / judged), out.moving = std::sqrt(out.moving / judged);
  return out;
}

bool is_torn(const Torn& run, double moving, double part, double length, double gap) {
  return run.forbidden > part * moving && run.forbidden * run.lasts > gap * length;
}

AllTorn torn(const DataSet& data, const Model& model) {
  AllTorn out;
  double samples = 0;
  for (const DataRun& run : data.runs) {
    out.runs.push_back(torn(run, model));
    const auto n = static_cast<double>(run.samples.size());
    out.moving += n * out.runs.back().moving * out.runs.back().moving, samples += n;
  }
  out.moving = samples > 0 ? std::sqrt(out.moving / samples) : 0;
  return out;
}

Result<void> differentiate(DataSet& data, int half) {
  if (half < 1) return fail(ErrorKind::Option, "the window of differences has three samples at least");
  const auto n = static_cast<std::size_t>(half);
  const double squares = half * (half + 1.0) * (2 * half + 1.0) / 3;  // Σ k² over the window
  for (DataRun& run : data.runs) {
    std::vector<DataSample>& s = run.samples;
    if (s.size() <= 2 * n)
      return fail(ErrorKind::State, fmt::format("run '{}' has {} samples, the window of differences {}; take a shorter window",
                                                run.name, s.size(), 2 * n + 1));
    const double h = (s.back().t - s.front().t) / static_cast<double>(s.size() - 1);
    for (std::size_t i = 1; i < s.size(); ++i)
      if (!(std::abs(s[i].t - s[i - 1].t - h) < 1e-3 * h))
        return refuse(run, i,
                      fmt::format("it comes {:g} s after the one before, the others {:g} s: differences need equal steps",
                                  s[i].t - s[i - 1].t, h));
    for (std::size_t i = n; i + n < s.size(); ++i)
      for (std::size_t b = 0; b < s[i].bodies.size(); ++b) {
        BodyAcceleration a;
        for (int k = 1; k <= half; ++k) {
          const BodyState &later = s[i + static_cast<std::size_t>(k)].bodies[b],
                          &earlier = s[i - static_cast<std::size_t>(k)].bodies[b];
          a.a_WC += k / (squares * h) * (later.v_WC - earlier.v_WC);
          a.alpha_WB += k / (squares * h) * (later.w_WB - earlier.w_WB);
        }
        s[i].accelerations.resize(s[i].bodies.size());
        s[i].accelerations[b] = a;
      }
    s.erase(s.end() - half, s.end());
    s.erase(s.begin(), s.begin() + half);
  }
  return {};
}

DataSet thinned(const DataSet& data, std::size_t most) {
  DataSet out = data;
  const std::size_t all = data.samples();
  if (all <= most) return out;
  // Of all samples in a row, numbers floor((k + ½) all / most).
  std::size_t at = 0, k = 0;
  for (std::size_t r = 0; r < data.runs.size(); ++r) {
    out.runs[r].samples.clear();
    for (const DataSample& s : data.runs[r].samples) {
      if (k < most && at == (2 * k + 1) * all / (2 * most)) out.runs[r].samples.push_back(s), ++k;
      ++at;
    }
  }
  std::erase_if(out.runs, [](const DataRun& run) { return run.samples.empty(); });
  return out;
}

}  // namespace invar
