// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace invar::testing {

Served::Served(const std::vector<std::string>& arguments) {
  child_ = start_invar(arguments, folder_ / "out", folder_ / "err");
  const std::string before = "http://127.0.0.1:";
  bool ended = false;
  for (int i = 0; i < 2000 && port_ == 0 && !ended; ++i) {
    // Looked at before its output is, and not yet taken.
    siginfo_t state{};
    ended = ::waitid(P_PID, static_cast<id_t>(child_), &state, WEXITED | WNOHANG | WNOWAIT) == 0 && state.si_pid == child_;
    const std::string text = out();
    const std::size_t at = text.find(before);
    if (at != std::string::npos && text.find('\n', at) != std::string::npos) port_ = std::stoi(text.substr(at + before.size()));
    if (port_ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Served::~Served() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  wait();
}

int Served::wait(long* peak) {
  if (child_ < 0) return -1;
  int status = 0;
  rusage used{};
  ::wait4(child_, &status, 0, &used);
  if (peak != nullptr) *peak = used.ru_maxrss;
  child_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int Served::interrupt() {
  if (child_ > 0) ::kill(child_, SIGINT);
  return wait();
}

Socket::Socket(int port, int buffer) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{20, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (buffer > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0) return;
  ::close(fd_);
  fd_ = -1;
}

Socket::~Socket() { close(); }

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Socket::Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

void Socket::send(const std::string& bytes) const {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::send(fd_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

std::string Socket::read(std::size_t n) {
  std::string out(n, '\0');
  std::size_t at = 0;
  while (at < n) {
    const ssize_t got = ::recv(fd_, out.data() + at, n - at, 0);
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  out.resize(at);
  return out;
}

std::string Socket::rest() {
  std::string out;
  for (;;) {
    const std::string part = read(1 << 16);
    out += part;
    if (part.size() < 1 << 16) return out;
  }
}

std::string Socket::until(const std::string& mark) {
  std::string out;
  while (!out.ends_with(mark)) {
    const std::string one = read(1);
    if (one.empty()) break;
    out += one;
  }
  return out;
}

static Reply parsed(const std::string& head, std::string body) {
  Reply reply;
  reply.head = head;
  reply.body = std::move(body);
  if (head.rfind("HTTP/1.1 ", 0) == 0) reply.status = std::stoi(head.substr(9));
  return reply;
}

std::string Reply::field(const std::string& name) const {
  const std::string line = "\r\n" + name + ": ";
  const std::size_t at = head.find(line);
  if (at == std::string::npos) return {};
  const std::size_t from = at + line.size();
  return head.substr(from, head.find("\r\n", from) - from);
}

Reply ask(int port, const std::string& text) {
  Socket socket(port);
  socket.send(text);
  const std::string head = socket.until("\r\n\r\n");
  return parsed(head, socket.rest());
}

std::string request(int port, const std::string& method, const std::string& target, const std::string& lines) {
  return method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n" + lines + "\r\n";
}

LiveClient::LiveClient(int port, const std::string& lines, int buffer) : socket_(port, buffer) {
  std::string text = request(port, "GET", "/live",
                             "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
                                 lines);
  // A line of the caller's takes the place of ours.
  if (lines.rfind("Host:", 0) == 0) text.erase(text.find("Host: 127"), text.find("Connection:") - text.find("Host: 127"));
  socket_.send(text);
  reply_ = parsed(socket_.until("\r\n\r\n"), {});
}

LiveClient::Message LiveClient::next() {
  const std::string head = socket_.read(2);
  if (head.size() < 2) return {};
  std::size_t length = static_cast<unsigned char>(head[1]) & 127u;
  if (length >= 126) {
    const std::string more = socket_.read(length == 126 ? 2 : 8);
    length = 0;
    for (const char c : more) length = length << 8 | static_cast<unsigned char>(c);
  }
  Message message{head[0] & 15, socket_.read(length)};
  return message.bytes.size() == length ? message : Message{};
}

void LiveClient::send(int kind, const std::string& bytes) const {
  std::string frame = {static_cast<char>(128 | kind)};
  if (bytes.size() < 126) {
    frame += static_cast<char>(128u | bytes.size());
  } else {
    frame += static_cast<char>(128 | 126);
    frame += static_cast<char>(bytes.size() >> 8 & 255u);
    frame += static_cast<char>(bytes.size() & 255u);
  }
  frame += std::string(4, '\0');  // a mask that changes nothing
  socket_.send(frame + bytes);
}

void LiveClient::close(const std::string& bytes) {
  send(kClose, bytes);
  socket_.close();
}

}  // namespace invar::testing
