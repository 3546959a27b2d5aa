// SPDX-License-Identifier: Apache-2.0
// The server of the viewer: what it gives, and everything that it refuses.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "client.hpp"
#include "invar/report/page.hpp"

namespace invar::testing {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string pendulum() {
  return "model = '" + model("pendulum") + "'\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[time]\nend = 1\n";
}

/// A recording, served.
class Serve : public ::testing::Test {
 protected:
  void SetUp() override {
    if (viewer_page().empty()) GTEST_SKIP() << "built without the viewer's page";
    write_file(folder_ / "s.toml", pendulum());
    ASSERT_EQ(invar({"-q", "run", folder_ / "s.toml", "-o", folder_ / "out"}).code, 0);
  }
  std::string out() const { return folder_ / "out"; }
  std::vector<std::string> view() const { return {"view", out(), "--no-browser"}; }

  Folder folder_;
};

TEST_F(Serve, GivesThePageAndTheDataOfTheRecording) {
  Served served(view());
  ASSERT_GT(served.port(), 0) << served.err();
  EXPECT_EQ(served.out(), "http://127.0.0.1:" + std::to_string(served.port()) + "/\n");
  const Reply page = ask(served.port(), request(served.port(), "GET", "/"));
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.body, viewer_page());
  const Reply data = ask(served.port(), request(served.port(), "GET", "/data.json"));
  EXPECT_EQ(data.status, 200);
  EXPECT_EQ(data.field("Content-Type"), "application/json; charset=utf-8");
  EXPECT_EQ(data.body, page_data({out()}).value());
  for (const Reply* reply : {&page, &data}) {
    EXPECT_EQ(reply->field("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(reply->field("Cache-Control"), "no-store");
    EXPECT_EQ(reply->field("Content-Security-Policy"), "frame-ancestors 'none'");
    EXPECT_EQ(reply->field("Content-Length"), std::to_string(reply->body.size()));
  }
  const Reply head = ask(served.port(), request(served.port(), "HEAD", "/data.json"));
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("Content-Length"), std::to_string(data.body.size()));
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(served.interrupt(), 0) << "Ctrl-C is how it ends";
}

TEST_F(Serve, ComparesSeveralRecordings) {
  Served served({"-q", "view", out(), out(), "--no-browser"});
  ASSERT_GT(served.port(), 0) << served.err();
  EXPECT_EQ(ask(served.port(), request(served.port(), "GET", "/data.json")).body, page_data({out(), out()}).value());
}

TEST_F(Serve, RefusesEverythingElse) {
  Served served(view());
  const int port = served.port();
  ASSERT_GT(port, 0) << served.err();
  const auto status = [&](const std::string& method, const std::string& target, const std::string& lines = {}) {
    return ask(port, request(port, method, target, lines)).status;
  };
  EXPECT_EQ(status("GET", "/nothing"), 404);
  EXPECT_EQ(status("GET", "/run.log"), 404);
  EXPECT_EQ(status("GET", "/live"), 404) << "a recording is no live run";
  EXPECT_EQ(status("GET", "/%252e%252e/run.log"), 404) << "resolved once";
  for (const char* target : {"/../run.log", "/..", "/a/../../x", "/%2e%2e/run.log", "/%2E./run.log", "/..%2frun.log", "/..\\x",
                             "/%", "/%zz", "/%2", "*", "http://127.0.0.1/", "data.json"})
    EXPECT_EQ(status("GET", target), 400) << target;
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"})
    EXPECT_EQ(status(method, "/"), 405) << method;
  EXPECT_EQ(ask(port, request(port, "POST", "/")).field("Allow"), "GET, HEAD");
  EXPECT_EQ(ask(port, "nonsense\r\n\r\n").status, 400);
  EXPECT_EQ(ask(port, std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\r\n\r\n", 14)).status, 400) << "TLS";
  EXPECT_EQ(status("GET", "/", "Content-Length: 5\r\n\r\nhello"), 413);
  EXPECT_EQ(status("GET", "/", "Content-Length: 99999999999\r\n"), 413);
  EXPECT_EQ(status("GET", "/", "Transfer-Encoding: chunked\r\n"), 413);
  EXPECT_EQ(status("POST", "/data.json", "Content-Length: 3\r\n\r\nabc"), 405);
  EXPECT_EQ(status("GET", "/", "X: " + std::string(20000, 'x') + "\r\n"), 431);
  EXPECT_EQ(status("GET", "/" + std::string(20000, 'x')), 431);
  EXPECT_EQ(status("GET", "/"), 200) << "after all that";
}

TEST_F(Serve, AnswersToItsOwnNamesAndItsOwnPageOnly) {
  Served served(view());
  const int port = served.port();
  ASSERT_GT(port, 0) << served.err();
  const std::string own = std::to_string(port);
  const auto by_host = [&](const std::string& lines) { return ask(port, "GET /data.json HTTP/1.1\r\n" + lines + "\r\n").status; };
  EXPECT_EQ(by_host("Host: localhost:" + own + "\r\n"), 200);
  EXPECT_EQ(by_host("Host: LocalHost:" + own + "\r\n"), 200);
  for (const std::string& host :
       {std::string("evil.example"), "evil.example:" + own, std::string("127.0.0.1"), std::string("localhost"),
        "127.0.0.1:" + std::to_string(port + 1), "127.0.0.1.evil:" + own, "x127.0.0.1:" + own, std::string()})
    EXPECT_EQ(by_host("Host: " + host + "\r\n"), 403) << host;
  EXPECT_EQ(by_host(""), 403);
  EXPECT_EQ(by_host("Host: 127.0.0.1:" + own + "\r\nHost: evil.example\r\n"), 403);

  const auto by_origin = [&](const std::string& origin) {
    return ask(port, request(port, "GET", "/data.json", "Origin: " + origin + "\r\n")).status;
  };
  EXPECT_EQ(by_origin("http://127.0.0.1:" + own), 200);
  EXPECT_EQ(by_origin("http://localhost:" + own), 200);
  for (const std::string& origin :
       {std::string(), std::string("null"), std::string("http://evil.example"), "http://evil.example:" + own,
        "https://127.0.0.1:" + own, "http://127.0.0.1:" + std::to_string(port + 1), "http://127.0.0.1:" + own + ".evil",
        std::string("127.0.0.1:" + own)})
    EXPECT_EQ(by_origin(origin), 403) << origin;
  EXPECT_EQ(by_origin("http://127.0.0.1:" + own + "\r\nOrigin: http://evil.example"), 403);
}

// 16 connections are served, 16 more are told that there are too many, the rest are closed; those that say nothing lose their
// place after 5 s.
TEST_F(Serve, LimitsConnectionsAndForgetsSlowOnes) {
  Served served(view());
  const int port = served.port();
  ASSERT_GT(port, 0) << served.err();
  const auto begin = Clock::now();
  std::vector<Socket> slow;
  for (int i = 0; i < 16; ++i) slow.emplace_back(port).send("GET / HT");
  EXPECT_EQ(ask(port, request(port, "GET", "/")).status, 503);
  slow.pop_back();
  int status = 503;
  for (int i = 0; i < 100 && status == 503; ++i) {
    status = ask(port, request(port, "GET", "/")).status;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(status, 200) << "a place became free";
  const auto crowded = Clock::now();
  std::vector<Socket> crowd;
  for (int i = 0; i < 20; ++i) crowd.emplace_back(port).send("GET / HT");
  EXPECT_EQ(crowd.back().read(1), "") << "closed without a word";
  EXPECT_LT(since(crowded), 4) << "and not because it said nothing for 5 s";
  EXPECT_EQ(slow[0].rest(), "");
  EXPECT_GT(since(begin), 4);
  EXPECT_LT(since(begin), 40) << "slow ones do not stay";
  crowd.clear();
  EXPECT_EQ(ask(port, request(port, "GET", "/")).status, 200);
}

// The kernel's own list of listening sockets: address and port in hexadecimal, state 0A.
TEST_F(Serve, ListensOnLoopbackOnly) {
  Served served(view());
  ASSERT_GT(served.port(), 0) << served.err();
  std::ostringstream hex;
  hex << std::hex << std::uppercase << served.port();
  const std::string port = ":" + std::string(4 - std::min<std::size_t>(4, hex.str().size()), '0') + hex.str();
  std::vector<std::string> heard;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line, number, local, remote, state; std::getline(file, line);) {
      std::istringstream(line) >> number >> local >> remote >> state;
      if (local.ends_with(port) && state == "0A") heard.push_back(local);
    }
  }
  EXPECT_EQ(heard, std::vector<std::string>{"0100007F" + port});
}

TEST_F(Serve, EndsWithTheProgram) {
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    Served served(view());
    const int port = served.port();
    ASSERT_GT(port, 0) << served.err();
    Socket idle(port);
    idle.send("GET ");
    ::kill(served.child(), signal);
    EXPECT_EQ(served.wait(), signal == SIGKILL ? 128 + SIGKILL : 0);
    EXPECT_EQ(idle.rest(), "");
    EXPECT_FALSE(Socket(port).connected());
  }
}

TEST_F(Serve, MistakesAreToldInOneLine) {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& words) {
    const Ended e = invar(arguments);
    EXPECT_EQ(e.code, 2) << words;
    EXPECT_EQ(e.err.rfind("error: ", 0), 0u) << e.err;
    EXPECT_NE(e.err.find(words), std::string::npos) << e.err;
    EXPECT_EQ(std::count(e.err.begin(), e.err.end(), '\n'), 1) << e.err;
    EXPECT_EQ(e.out, "");
  };
  refused({"view"}, "directories");
  refused({"view", folder_ / "nowhere"}, "there is no such directory");
  refused({"view", folder_.path()}, "holds no run.log");
  refused({"view", out(), folder_ / "nowhere"}, "there is no such directory");
  refused({"view", out(), "--port", "70000"}, "--port");
  refused({"run", folder_ / "s.toml", "-o", folder_ / "new", "--no-browser"}, "--live");
  fs::create_directory(folder_ / "foreign");
  for (const std::string& text : {std::string(), std::string(1000, 'x'), read_file(folder_ / "out/run.log").substr(0, 100)}) {
    write_file(folder_ / "foreign/run.log", text);
    refused({"view", folder_ / "foreign"}, "log");
  }

  Served served(view());
  ASSERT_GT(served.port(), 0);
  const std::string taken = std::to_string(served.port());
  refused({"view", out(), "--no-browser", "--port", taken}, "the port is in use");
  refused({"run", folder_ / "s.toml", "-o", out(), "--live", "--no-browser", "--port", taken}, "the port is in use");
  EXPECT_TRUE(fs::exists(folder_ / "out/result.json")) << "what was there stays";
}

TEST(ServeWithoutPage, IsAnErrorThatSaysSo) {
  if (!viewer_page().empty()) GTEST_SKIP() << "built with the viewer's page";
  Folder folder;
  write_file(folder / "s.toml", pendulum());
  const Ended e = invar({"run", folder / "s.toml", "-o", folder / "out", "--live"});
  EXPECT_EQ(e.code, 2);
  EXPECT_NE(e.err.find("without the viewer"), std::string::npos) << e.err;
}

/// PATH for the time of a test.
class Path {
 public:
  explicit Path(const std::string& path) { ::setenv("PATH", path.c_str(), 1); }
  ~Path() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_ = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
};

TEST_F(Serve, OpensTheBrowserThatIsFoundWithTheAddressAlone) {
  {
    const Folder empty;
    const Path path(empty.path());
    Served served({"view", out()});
    ASSERT_GT(served.port(), 0) << "without a browser it serves all the same";
  }
  const Path path(folder_.path());
  write_file(folder_ / "xdg-open", "#!/bin/sh\necho \"$# $1\" >'" + (folder_ / "part") + "'\n/bin/ls /proc/self/fd >>'" +
                                       (folder_ / "part") + "'\n/bin/mv '" + (folder_ / "part") + "' '" + (folder_ / "asked") +
                                       "'\n");
  fs::permissions(folder_ / "xdg-open", fs::perms::owner_all);
  Served served({"view", out()});
  ASSERT_GT(served.port(), 0);
  for (int i = 0; i < 500 && !fs::exists(folder_ / "asked"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  // Descriptors 0 to 2 and the one by which ls looks: none of the server's went along.
  EXPECT_EQ(read_file(folder_ / "asked"), "1 http://127.0.0.1:" + std::to_string(served.port()) + "/\n0\n1\n2\n3\n");
}

// Who opened a browser has been told the address by it: a stdout that is full does not end the page.
TEST_F(Serve, GoesOnForTheBrowserThatWasOpened) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  write_file(folder_ / "xdg-open", "#!/bin/sh\necho \"$1\" >'" + (folder_ / "part") + "'\n/bin/mv '" + (folder_ / "part") +
                                       "' '" + (folder_ / "asked") + "'\n");
  fs::permissions(folder_ / "xdg-open", fs::perms::owner_all);
  const Path path(folder_.path());
  const pid_t child = start_invar({"view", out()}, "/dev/full", "/dev/null");
  for (int i = 0; i < 2000 && !fs::exists(folder_ / "asked"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::string address = read_file(folder_ / "asked");
  ASSERT_FALSE(address.empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // long enough to end, if it would
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  EXPECT_EQ(ask(port, request(port, "GET", "/data.json")).status, 200);
  ::kill(child, SIGINT);
  EXPECT_EQ(wait_for(child), 2) << "the address could not be printed";
}

}  // namespace
}  // namespace invar::testing
