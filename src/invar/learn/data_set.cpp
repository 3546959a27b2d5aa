// SPDX-License-Identifier: Apache-2.0
//
// A quadratic fitted to equally spaced values y_k, k = -n … n, has the slope Σ k y_k / Σ k² in the middle: a cubic term would be
// odd and change it, so for motions the error is h² n² y'''/10 or so, and noise σ of velocities becomes σ/(h √(Σ k²)).
#include "invar/learn/data_set.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace invar {
namespace {

tl::unexpected<Error> refuse(const DataRun& run, std::size_t sample, const std::string& what) {
  return fail(ErrorKind::State, fmt::format("sample {} of run '{}': {}", sample + 1, run.name, what));
}

bool finite(const DataSample& s) {
  bool fine = std::isfinite(s.t) && s.flow.allFinite() && s.efforts.allFinite();
  for (const BodyState& b : s.bodies)
    fine = fine && b.p_WC.allFinite() && b.v_WC.allFinite() && b.w_WB.allFinite() && b.q_WB.coeffs().allFinite();
  for (const BodyAcceleration& a : s.accelerations) fine = fine && a.a_WC.allFinite() && a.alpha_WB.allFinite();
  for (const Wrench& w : s.port) fine = fine && w.force.allFinite() && w.moment.allFinite();
  for (const double u : s.inputs) fine = fine && std::isfinite(u);
  return fine;
}

std::string flaw(const DataSample& s, const Model& model, std::size_t inputs) {
  const std::size_t n = model.bodies().size();
  if (s.bodies.size() != n || s.accelerations.size() != n || s.port.size() != n)
    return fmt::format("it has {} bodies, the model {}", s.bodies.size(), n);
  if (s.efforts.size() != model.nv())
    return fmt::format("it has {} efforts, the model {} freedoms", s.efforts.size(), model.nv());
  if (s.inputs.size() != inputs) return fmt::format("it has {} inputs, there are {} actuators", s.inputs.size(), inputs);
  if (!finite(s)) return "a number is not finite; leave the sample out";
  for (std::size_t b = 0; b < n; ++b)
    if (std::abs(s.bodies[b].q_WB.norm() - 1) > 1e-6)
      return fmt::format("the quaternion of body '{}' has norm {:g}, not 1", model.bodies()[b].name, s.bodies[b].q_WB.norm());
  return {};
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
  void take(const Vec3& v) { take(v.data(), 3); }
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
    for (const DataSample& s : run.samples) {
      sum.take(&s.t, 1);
      for (std::size_t b = 0; b < s.bodies.size(); ++b) {
        sum.take(s.bodies[b].p_WC), sum.take(s.bodies[b].q_WB.coeffs().data(), 4);
        sum.take(s.bodies[b].v_WC), sum.take(s.bodies[b].w_WB);
        sum.take(s.accelerations[b].a_WC), sum.take(s.accelerations[b].alpha_WB);
        sum.take(s.port[b].force), sum.take(s.port[b].moment);
      }
      sum.take(s.efforts.data(), static_cast<std::size_t>(s.efforts.size()));
      sum.take(s.flow), sum.take(s.inputs.data(), s.inputs.size());
    }
  for (const Vec3& p : obstacles) sum.take(p);
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
  }
  return {};
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
