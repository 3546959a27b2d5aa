// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "invar/base/error.hpp"

namespace invar::cli {

/// What a server shows: recordings (data.json), or the run in a directory while it grows.
struct Shown {
  std::string data;
  std::string live;  ///< directory of the run; empty: recordings
};

/// Serves the viewer's page, its data and the stream of a live run to browsers on this machine, from a thread of its own that
/// ends with the object. It binds to 127.0.0.1, reads nothing but the log of its run, and has limits on everything that comes
/// from outside (docs/viewing.md). Nothing that a client does or omits reaches the run: rows are read from its log.
class Server {
 public:
  /// `port` 0: any free one.
  static Result<std::unique_ptr<Server>> start(Shown shown, std::uint16_t port);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// http://127.0.0.1:PORT/
  std::string url() const;

  /// Streams begin only now: the log is that of this run, no longer of an earlier one.
  void log_begun();
  /// Nothing more will be written. Waits until connected pages have got everything, and for one that is expected or just loading
  /// the first time up to 5 s. It waits no longer where no byte leaves for 3 s, or when `stop` comes true meanwhile.
  void finish(bool expected, const std::atomic<bool>& stop);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace invar::cli
