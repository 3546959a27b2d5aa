// SPDX-License-Identifier: Apache-2.0
#include "invar/report/decimation.hpp"

#include <algorithm>
#include <cmath>

namespace invar {
namespace {

// One channel over stretches of equally many samples: of each the first, the last of all, and the extremes of the components.
class Extremes {
 public:
  Extremes(const Channel& channel, std::size_t offset, std::uint64_t samples, int most)
      : size_(static_cast<std::size_t>(channel.size)), offset_(offset), last_(samples > 0 ? samples - 1 : 0) {
    // A stretch keeps its first sample and two per component.
    const auto stretches = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(most) / (1 + 2 * size_));
    length_ = samples <= static_cast<std::uint64_t>(most) ? 1 : (samples + stretches - 1) / stretches;
  }

  void take(std::uint64_t index, std::span<const double> row, Series& out) {
    const std::span<const double> y = row.subspan(offset_, size_);
    if (index % length_ == 0) flush(out), begin(index);
    if (index == first_ || index == last_) keep(index, row[0], y);
    for (std::size_t k = 0; k < size_ && length_ > 1; ++k) {
      look(2 * k, index, row[0], y, y[k] < best_[2 * k] || std::isnan(best_[2 * k]));
      look(2 * k + 1, index, row[0], y, y[k] > best_[2 * k + 1] || std::isnan(best_[2 * k + 1]));
    }
    if (index == last_) flush(out);
  }

 private:
  struct Sample {
    std::uint64_t index;
    double t;
    std::vector<double> y;
  };

  void begin(std::uint64_t index) {
    first_ = index;
    best_.assign(2 * size_, std::nan(""));
    at_.assign(2 * size_, Sample{index, 0, {}});
  }
  void keep(std::uint64_t index, double t, std::span<const double> y) { kept_.push_back({index, t, {y.begin(), y.end()}}); }
  void look(std::size_t which, std::uint64_t index, double t, std::span<const double> y, bool better) {
    if (!better || std::isnan(y[which / 2])) return;
    best_[which] = y[which / 2];
    at_[which] = {index, t, {y.begin(), y.end()}};
  }
  void flush(Series& out) {
    for (Sample& s : at_)
      if (!s.y.empty()) kept_.push_back(std::move(s));
    at_.clear();
    std::sort(kept_.begin(), kept_.end(), [](const Sample& a, const Sample& b) { return a.index < b.index; });
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (i > 0 && kept_[i].index == kept_[i - 1].index) continue;
      out.t.push_back(kept_[i].t);
      out.y.insert(out.y.end(), kept_[i].y.begin(), kept_[i].y.end());
    }
    kept_.clear();
  }

  std::size_t size_, offset_;
  std::uint64_t last_, length_ = 1, first_ = 0;
  std::vector<double> best_;
  std::vector<Sample> at_, kept_;
};

}  // namespace

bool is_pose(const Channel& channel) {
  return channel.path.rfind("bodies/", 0) == 0 && (channel.path.ends_with("/p") || channel.path.ends_with("/q"));
}

bool goes_with_poses(const Channel& channel) {
  if (is_pose(channel)) return true;
  if (channel.path.rfind("control/", 0) != 0) return false;
  const std::string name = channel.path.substr(channel.path.rfind('/') + 1);
  return (name.rfind("reference_", 0) == 0 && channel.size > 1) || name.rfind("stiffness_", 0) == 0;
}

Decimated decimate(LogReader& log, const DecimationOptions& options) {
  Decimated out;
  out.layout = log.layout();
  const auto width = static_cast<std::size_t>(out.layout.width());
  for (const Derived& d : options.derived) out.layout.channels.push_back(d.channel);
  std::vector<double> row(static_cast<std::size_t>(out.layout.width()));
  const std::span<double> recorded(row.data(), width);
  log.rewind();
  while (log.next(recorded)) ++out.samples;
  out.ending = log.ending();

  const std::size_t n = out.layout.channels.size() - 1;
  out.channels.resize(n);
  const std::uint64_t last = out.samples > 0 ? out.samples - 1 : 0, poses = static_cast<std::uint64_t>(options.poses);
  std::vector<Extremes> extremes;
  std::vector<std::size_t> offsets;
  std::size_t offset = 1;
  for (std::size_t c = 0; c < n; ++c) {
    const Channel& channel = out.layout.channels[c + 1];
    extremes.emplace_back(channel, offset, out.samples, options.extremes);
    offsets.push_back(offset);
    offset += static_cast<std::size_t>(channel.size);
  }
  log.rewind();
  // Of poses those samples at which a new one of `poses` equal stretches begins, and the last.
  std::uint64_t stretch = 0;
  for (std::uint64_t i = 0; i < out.samples && log.next(recorded); ++i) {
    std::size_t at = width;
    for (const Derived& d : options.derived) {
      d.compute(recorded, std::span(row).subspan(at, static_cast<std::size_t>(d.channel.size)));
      at += static_cast<std::size_t>(d.channel.size);
    }
    const bool pose = out.samples <= poses || i == last || i * (poses - 1) >= stretch * last;
    if (pose) ++stretch;
    for (std::size_t c = 0; c < n; ++c) {
      const Channel& channel = out.layout.channels[c + 1];
      if (c < n - options.derived.size() && options.wanted && !options.wanted(channel)) continue;
      if (!goes_with_poses(channel)) {
        extremes[c].take(i, row, out.channels[c]);
      } else if (pose) {
        out.channels[c].t.push_back(row[0]);
        const auto from = row.begin() + static_cast<std::ptrdiff_t>(offsets[c]);
        out.channels[c].y.insert(out.channels[c].y.end(), from, from + channel.size);
      }
    }
  }
  return out;
}

}  // namespace invar
