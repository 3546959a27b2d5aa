// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "program.hpp"

namespace invar::testing {

/// The program while it serves; killed with the object if it did not end before.
class Served {
 public:
  /// Starts `invar ARGUMENTS` and waits for the address on its standard output; port() is 0 where none comes.
  explicit Served(const std::vector<std::string>& arguments);
  ~Served();
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  int port() const { return port_; }
  pid_t child() const { return child_; }
  std::string out() const { return read_file(folder_ / "out"); }
  std::string err() const { return read_file(folder_ / "err"); }
  /// Waits for its end; exit code, or 128 + signal. `peak`: its largest memory, KiB.
  int wait(long* peak = nullptr);
  /// Ctrl-C, then waits.
  int interrupt();

 private:
  Folder folder_;
  pid_t child_ = -1;
  int port_ = 0;
};

/// A connection to a port of 127.0.0.1. Reading gives up after 20 s.
class Socket {
 public:
  /// `buffer`: bytes that the system holds for a reader; 0: as it likes.
  explicit Socket(int port, int buffer = 0);
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&&) = delete;

  bool connected() const { return fd_ >= 0; }
  void send(const std::string& bytes) const;
  /// Exactly n bytes, or fewer where the other side closed.
  std::string read(std::size_t n);
  /// Everything up to the end.
  std::string rest();
  /// Up to and including these bytes, or the end.
  std::string until(const std::string& mark);
  void close();

 private:
  int fd_ = -1;
};

struct Reply {
  int status = 0;  ///< 0: closed without a word
  std::string head, body;
  /// The value of a field of the header, or "".
  std::string field(const std::string& name) const;
};

/// What the server answers to these bytes.
Reply ask(int port, const std::string& request);
/// "METHOD target HTTP/1.1" with the right Host and these lines besides.
std::string request(int port, const std::string& method, const std::string& target, const std::string& lines = {});

/// A WebSocket at /live.
class LiveClient {
 public:
  enum Kind { kNothing = -1, kText = 1, kBinary = 2, kClose = 8, kPing = 9 };
  struct Message {
    int kind = kNothing;  ///< kNothing: the other side is gone
    std::string bytes;
  };
  explicit LiveClient(int port, const std::string& lines = {}, int buffer = 0);
  const Reply& reply() const { return reply_; }
  Message next();
  /// Frames of clients are masked.
  void send(int kind, const std::string& bytes) const;
  /// Answers a farewell and hangs up.
  void close(const std::string& bytes);

 private:
  Socket socket_;
  Reply reply_;
};

}  // namespace invar::testing
