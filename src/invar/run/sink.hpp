// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "invar/base/error.hpp"

namespace invar {

/// A group of columns of a recording that belong together: a time series of one vector.
struct Channel {
  std::string path;     ///< "bodies/crank/p": groups separated by '/'; names of the model are escaped, see escaped()
  std::string unit;     ///< "m", "rad/s"; "1" for pure numbers
  std::string meaning;  ///< one clause with frame and point
  int size = 1;         ///< numbers per sample
};

/// What a recording says about itself before the first sample. The first channel is always "time", in s.
struct Layout {
  std::vector<Channel> channels;
  std::string model;     ///< name of the model
  std::string scenario;  ///< name of the scenario
  std::uint64_t seed = 0;
  std::string scene = {};  ///< what pages draw, JSON (docs/page-data.md); may be empty

  /// Numbers per sample over all channels.
  int width() const {
    int n = 0;
    for (const Channel& c : channels) n += c.size;
    return n;
  }
};

/// Where samples go. A run calls begin once, sample in order of time, end once (also after an interruption or a failure of
/// the numerics). The run never looks inside: files live in the room `io`.
class Sink {
 public:
  virtual ~Sink() = default;

  virtual Result<void> begin(const Layout& layout) = 0;
  /// `row` has layout.width() numbers, channels in order.
  virtual Result<void> sample(std::span<const double> row) = 0;
  virtual Result<void> end() = 0;
};

/// A name of the model as one component of a channel path: '/', '%' and control characters become %XX, and so does the
/// first character of "." and "..".
std::string escaped(const std::string& name);

}  // namespace invar
