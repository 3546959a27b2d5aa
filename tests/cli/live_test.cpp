// SPDX-License-Identifier: Apache-2.0
// A live run reaches a page whole, whatever the page does, and the run does not notice.
#include "invar/report/live.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "client.hpp"
#include "invar/io/log.hpp"
#include "invar/report/page.hpp"

namespace invar::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

bool appears(const std::string& path, double seconds = 50) {
  for (const auto begin = Clock::now(); since(begin) < seconds;) {
    if (fs::exists(path)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

/// All that a stream brought.
struct Arrived {
  json begin, end;
  std::string rows;
  std::size_t largest = 0;
  int last = LiveClient::kNothing;  // kind of the last message
};

Arrived receive(LiveClient& client) {
  Arrived all;
  for (;;) {
    LiveClient::Message m = client.next();
    all.last = m.kind;
    if (m.kind == LiveClient::kText) (all.begin.is_null() ? all.begin : all.end) = json::parse(m.bytes);
    if (m.kind == LiveClient::kBinary) all.rows += m.bytes, all.largest = std::max(all.largest, m.bytes.size());
    if (m.kind != LiveClient::kClose && m.kind != LiveClient::kNothing) continue;
    client.close(m.bytes);
    return all;
  }
}

/// What of a log goes to a page: time and all channels that are shown, row after row.
std::string rows_of(const std::string& path, std::size_t* width = nullptr) {
  auto log = LogReader::open(path);
  if (!log) return "no log";
  std::string out;
  std::vector<double> row(static_cast<std::size_t>(log->layout().width()));
  while (log->next(row)) {
    std::size_t at = 0, before = out.size();
    for (const Channel& c : log->layout().channels) {
      const auto size = static_cast<std::size_t>(c.size);
      if (c.path == "time" || is_shown(c)) out.append(reinterpret_cast<const char*>(&row[at]), 8 * size);
      at += size;
    }
    if (width != nullptr) *width = out.size() - before;
  }
  return out;
}

void expect_whole(const Arrived& all, const std::string& directory) {
  std::size_t width = 0;
  const std::string rows = rows_of(directory + "/run.log", &width);
  EXPECT_EQ(all.rows.size(), rows.size());
  EXPECT_TRUE(all.rows == rows) << "bit by bit";
  EXPECT_LE(all.largest, LiveFeed::kBlock);
  ASSERT_TRUE(all.begin.is_object());
  const json& run = all.begin.at("runs").at(0);
  EXPECT_EQ(all.begin.at("live"), true);
  EXPECT_EQ(run.at("times"), json::array());
  EXPECT_TRUE(run.at("scene").at("bodies").is_array());
  std::size_t numbers = 1;
  for (const json& channel : run.at("channels")) {
    EXPECT_EQ(channel.size(), 4u) << "without numbers";
    numbers += channel.at("size").get<std::size_t>();
  }
  EXPECT_EQ(8 * numbers, width);
  ASSERT_TRUE(all.end.is_object());
  EXPECT_EQ(all.end.at("complete"), true);
  EXPECT_EQ(all.end.at("result"), json::parse(read_file(directory + "/result.json")));
  EXPECT_EQ(all.last, LiveClient::kClose);
}

class Live : public ::testing::Test {
 protected:
  void SetUp() override {
    if (viewer_page().empty()) GTEST_SKIP() << "built without the viewer's page";
  }
  // A pendulum in steps of a millisecond: about 0.3 MB of log for a second.
  std::vector<std::string> run_for(const std::string& seconds, const std::string& laws = {}) const {
    write_file(folder_ / "s.toml", "model = '" + model("pendulum") +
                                       "'\n[integrator]\nmethod = 'rk4'\nstep = 0.001\n[time]\nend = " + seconds + "\n" + laws);
    return {"-q", "run", folder_ / "s.toml", "-o", out(), "--live", "--no-browser"};
  }
  std::string out() const { return folder_ / "out"; }

  Folder folder_;
};

TEST_F(Live, RunArrivesWholeAtEveryPageAndEndsWithItsOwnCode) {
  auto earlier = run_for("1");
  earlier.resize(earlier.size() - 2);
  ASSERT_EQ(invar(earlier).code, 0);
  Served served(run_for("50", "[must]\nenergy_drift = { below = 1e-30 }\n"));
  ASSERT_GT(served.port(), 0) << served.err();
  const Reply data = ask(served.port(), request(served.port(), "GET", "/data.json"));
  EXPECT_EQ(json::parse(data.body).at("live"), true);
  LiveClient one(served.port(), "Origin: http://127.0.0.1:" + std::to_string(served.port()) + "\r\n"), two(served.port());
  ASSERT_EQ(one.reply().status, 101);
  EXPECT_EQ(one.reply().field("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") << "RFC 6455, 1.3";
  Arrived at_two;
  std::thread other([&] { at_two = receive(two); });
  const Arrived at_one = receive(one);
  other.join();
  EXPECT_EQ(served.wait(), 1) << "the law was broken";
  expect_whole(at_one, out());
  expect_whole(at_two, out());
  EXPECT_EQ(at_one.end.at("result").at("status"), "law_broken");
}

// The run ends while nobody reads 30 MB of its rows; then they are read, and are all there. Memory is that of a run without pages
// and one block with its buffers.
TEST_F(Live, PageThatReadsLateGetsEverythingAndCostsNoMemory) {
  long alone = 0, watched = 0;
  {
    Served served(run_for("100"));
    ASSERT_EQ(served.wait(&alone), 0);
  }
  Served served(run_for("100"));
  ASSERT_GT(served.port(), 0) << served.err();
  LiveClient late(served.port(), {}, 1 << 16);
  ASSERT_TRUE(appears(out() + "/report.html")) << "the run waits for nobody";
  const Arrived all = receive(late);
  EXPECT_EQ(served.wait(&watched), 0);
  expect_whole(all, out());
  EXPECT_GT(all.rows.size(), 25u << 20);
  EXPECT_LE(watched, alone + 4096);
}

TEST_F(Live, PageThatNeverReadsDelaysTheEndByThreeSecondsOnly) {
  Served served(run_for("50"));
  ASSERT_GT(served.port(), 0) << served.err();
  LiveClient stuck(served.port(), {}, 1 << 16);
  ASSERT_TRUE(appears(out() + "/report.html"));
  const auto begin = Clock::now();
  EXPECT_EQ(served.wait(), 0);
  EXPECT_GT(since(begin), 2);
  EXPECT_LT(since(begin), 30) << "it is not waited for for good";
}

TEST_F(Live, RunThatNobodyWatchesEndsAtOnce) {
  const auto begin = Clock::now();
  Served served(run_for("0.1"));
  EXPECT_EQ(served.wait(), 0);
  EXPECT_LT(since(begin), 20);
}

TEST_F(Live, BrowserThatWasOpenedIsWaitedFor) {
  auto arguments = run_for("0.1");
  arguments.pop_back();
  write_file(folder_ / "xdg-open", "#!/bin/sh\n");
  fs::permissions(folder_ / "xdg-open", fs::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", folder_.path().c_str(), 1);
  Served served(arguments);
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_GT(served.port(), 0) << served.err();
  ASSERT_TRUE(appears(out() + "/report.html"));
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  LiveClient client(served.port());
  const Arrived all = receive(client);
  EXPECT_EQ(served.wait(), 0);
  expect_whole(all, out());
}

// Five million steps, of which every fiftieth is recorded: 30 MB at most, should the signal come late.
TEST_F(Live, CtrlCEndsTheRunAndThePageIsTold) {
  Served served(run_for("5000", "[record]\nevery = 50\n"));
  ASSERT_GT(served.port(), 0) << served.err();
  LiveClient client(served.port());
  LiveClient::Message first = client.next();
  EXPECT_EQ(first.kind, LiveClient::kText);
  EXPECT_EQ(client.next().kind, LiveClient::kBinary) << "rows come while it computes";
  ::kill(served.child(), SIGINT);
  const Arrived all = receive(client);
  EXPECT_EQ(served.wait(), 130);
  EXPECT_EQ(all.begin.at("result").at("status"), "interrupted") << "the first text since";
  EXPECT_EQ(all.begin.at("complete"), true);
}

/// `view` of a directory into which somebody writes: here the test does.
class Follow : public Live {
 protected:
  void SetUp() override {
    Live::SetUp();
    fs::create_directory(out());
    layout_.channels = {
        {"time", "s", "", 1}, {"bodies/b/p", "m", "", 3}, {"bodies/b/v", "m/s", "", 3}, {"energy/total", "J", "", 1}};
    layout_.scenario = "by hand";
    log_ = std::make_unique<LogWriter>(out() + "/run.log", R"({"bodies": []})", std::chrono::milliseconds(0));
    ASSERT_TRUE(log_->begin(layout_));
  }
  void write(int rows) {
    for (int i = 0; i < rows; ++i, ++written_) {
      const double t = 0.01 * written_;
      ASSERT_TRUE(log_->sample(std::vector<double>{t, t, 2 * t, -t, 1, 2, 3, t * t}));
    }
  }
  std::vector<std::string> view() const { return {"-q", "view", out(), "--no-browser"}; }

  Layout layout_;
  std::unique_ptr<LogWriter> log_;
  int written_ = 0;
};

TEST_F(Follow, RunInAnotherProgramArrivesAsItGrows) {
  write(10);
  Served served(view());
  ASSERT_GT(served.port(), 0) << served.err();
  LiveClient client(served.port());
  EXPECT_EQ(json::parse(client.next().bytes).at("title"), "by hand");
  std::string rows;
  for (const int more : {10, 1, 1000, 20000}) {
    if (more != 10) write(more);
    while (rows.size() < 40u * static_cast<unsigned>(written_)) {
      const LiveClient::Message m = client.next();
      ASSERT_EQ(m.kind, LiveClient::kBinary);
      rows += m.bytes;
    }
  }
  EXPECT_TRUE(rows == rows_of(out() + "/run.log"));
  ASSERT_TRUE(log_->end());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  write_file(out() + "/part", R"({"status": "ok"})");
  fs::rename(out() + "/part", out() + "/result.json");
  EXPECT_EQ(json::parse(client.next().bytes), json::parse(R"({"result": {"status": "ok"}, "complete": true})"));
  EXPECT_EQ(client.next().kind, LiveClient::kClose);

  LiveClient later(served.port());
  EXPECT_EQ(receive(later).rows, rows) << "who comes after the end gets all of it, too";
  EXPECT_EQ(served.interrupt(), 0);
}

TEST_F(Follow, KilledRunEndsIncomplete) {
  write(100);
  Served served(view());
  ASSERT_GT(served.port(), 0) << served.err();
  LiveClient client(served.port());
  EXPECT_EQ(client.next().kind, LiveClient::kText);
  EXPECT_EQ(client.next().bytes.size(), 100u * 40);
  log_.reset();
  EXPECT_EQ(json::parse(client.next().bytes), json::parse(R"({"result": null, "complete": false})"));
}

TEST_F(Follow, ForeignPagesGetNoStream) {
  Served served(view());
  ASSERT_GT(served.port(), 0) << served.err();
  const std::string own = std::to_string(served.port());
  for (const std::string& line :
       {std::string("Origin: http://evil.example"), std::string("Origin: null"), "Origin: https://127.0.0.1:" + own,
        "Host: evil.example:" + own, std::string("Host: 127.0.0.1")})
    EXPECT_EQ(LiveClient(served.port(), line + "\r\n").reply().status, 403) << line;
  EXPECT_EQ(LiveClient(served.port(), "Host: localhost:" + own + "\r\n").reply().status, 101);
  EXPECT_EQ(LiveClient(served.port(), "Origin: http://localhost:" + own + "\r\n").reply().status, 101);
  EXPECT_EQ(ask(served.port(), request(served.port(), "GET", "/live")).status, 426);
  EXPECT_EQ(ask(served.port(), request(served.port(), "POST", "/live")).status, 405);
}

TEST_F(Follow, StreamsCountAsConnections) {
  Served served(view());
  ASSERT_GT(served.port(), 0) << served.err();
  std::vector<std::unique_ptr<LiveClient>> clients;
  for (int i = 0; i < 16; ++i) {
    clients.push_back(std::make_unique<LiveClient>(served.port()));
    EXPECT_EQ(clients.back()->reply().status, 101);
  }
  EXPECT_EQ(LiveClient(served.port()).reply().status, 503);
  EXPECT_EQ(ask(served.port(), request(served.port(), "GET", "/")).status, 503);
  write(1);
  for (auto& client : clients) {
    EXPECT_EQ(client->next().kind, LiveClient::kText);
    EXPECT_EQ(client->next().kind, LiveClient::kBinary);
  }
}

TEST_F(Follow, LongMessagesOfAPageEndItsStreamShortOnesDoNot) {
  Served served(view());
  ASSERT_GT(served.port(), 0) << served.err();
  LiveClient client(served.port());
  EXPECT_EQ(client.next().kind, LiveClient::kText);
  client.send(LiveClient::kText, std::string(1024, 'x'));
  client.send(LiveClient::kPing, "there?");
  EXPECT_EQ(client.next().bytes, "there?");
  write(1);
  EXPECT_EQ(client.next().kind, LiveClient::kBinary);
  client.send(LiveClient::kText, std::string(1025, 'x'));
  const LiveClient::Message end = client.next();
  EXPECT_EQ(end.kind, LiveClient::kClose);
  EXPECT_EQ(end.bytes.substr(0, 2), "\x03\xF1") << "1009: too big";
  EXPECT_EQ(client.next().kind, LiveClient::kNothing);
}

TEST_F(Follow, ComparisonWithARunThatIsStillGoingShowsWhatThereIs) {
  write(50);
  Served served({"view", out(), out(), "--no-browser"});
  ASSERT_GT(served.port(), 0) << served.err();
  EXPECT_NE(served.err().find("still going"), std::string::npos);
  EXPECT_EQ(ask(served.port(), request(served.port(), "GET", "/data.json")).body, page_data({out(), out()}).value());
}

}  // namespace
}  // namespace invar::testing
