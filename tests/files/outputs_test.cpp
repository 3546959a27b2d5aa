// SPDX-License-Identifier: Apache-2.0
// Files that are written: whole or not there, whatever stands in the way, whoever else writes; the same log gives the same bytes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "invar/base/random.hpp"
#include "invar/io/hdf5.hpp"
#include "invar/io/output.hpp"
#include "invar/io/text_file.hpp"
#include "invar/io/whole_file.hpp"
#include "support/campaign.hpp"
#include "support/folder.hpp"

namespace invar::testing {
namespace {

namespace fs = std::filesystem;

// Files of this process may not grow beyond some bytes: writes fail there as on a full disk.
class Limit {
 public:
  explicit Limit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    old_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~Limit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, old_);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  rlimit before_{};
  void (*old_)(int) = nullptr;
};

// A layout of random groups and widths, as models of random names would give it.
Layout drawn_layout(Random& random, int channels) {
  Layout out{{{"time", "s", "", 1}}, "m\xc3\xbcller", "s", 3, R"({"bodies": []})"};
  for (int k = channels; k > 0; --k)
    out.channels.push_back({"bodies/b" + std::to_string(random.below(1 + channels / 8)) + "/c" + std::to_string(k), "m", "drawn",
                            1 + random.below(5)});
  return out;
}

std::vector<double> drawn_row(Random& random, int width, int k) {
  std::vector<double> row(static_cast<std::size_t>(width));
  for (double& x : row) x = random.uniform(-1, 1);
  row[0] = k;
  return row;
}

void write_log(const std::string& path, Random& random, int samples, int channels = 20) {
  const Layout layout = drawn_layout(random, channels);
  LogWriter log(path, layout.scene);
  ASSERT_TRUE(log.begin(layout));
  for (int k = 0; k < samples; ++k) ASSERT_TRUE(log.sample(drawn_row(random, layout.width(), k)));
  ASSERT_TRUE(log.end());
}

Result<Written> hdf5_of(const std::string& log, const std::string& path) {
  auto reader = LogReader::open(log);
  if (!reader) return tl::unexpected(reader.error());
  return write_hdf5(*reader, path);
}

TEST(Outputs, TheSameLogGivesTheSameBytesAtAnyTime) {
  Random random(seed(41));
  Folder folder;
  write_log(folder / "run.log", random, 50);
  ASSERT_TRUE(hdf5_of(folder / "run.log", folder / "a.h5"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5's stamps count seconds
  ASSERT_TRUE(hdf5_of(folder / "run.log", folder / "b.h5"));
  EXPECT_GT(read_file(folder / "a.h5").size(), 800u);
  EXPECT_EQ(read_file(folder / "a.h5"), read_file(folder / "b.h5"));
}

// What HDF5 reads back is what the log holds, to the bit, for any widths and names: the driver loses and mixes nothing. The first
// has so many names that HDF5 has to read again what it wrote: its cache holds 2 MiB, and a name takes about a KiB.
TEST(Outputs, Hdf5HoldsTheNumbersOfTheLog) {
  Random random(seed(42));
  for (int n = 0; n < cases(20); ++n) {
    Folder folder;
    const int samples = n == 0 ? 3 : random.below(3000);
    write_log(folder / "run.log", random, samples, n == 0 ? 6000 : 1 + random.below(30));
    ASSERT_TRUE(hdf5_of(folder / "run.log", folder / "run.h5"));
    auto log = LogReader::open(folder / "run.log");
    const Layout& layout = log->layout();
    std::vector<std::vector<double>> rows(static_cast<std::size_t>(samples),
                                          std::vector<double>(static_cast<std::size_t>(layout.width())));
    for (auto& row : rows) ASSERT_TRUE(log->next(row));
    const hid_t file = H5Fopen((folder / "run.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    ASSERT_GE(file, 0);
    std::size_t column = 0;
    for (const Channel& c : layout.channels) {
      std::vector<double> numbers(static_cast<std::size_t>(samples * c.size));
      const hid_t set = H5Dopen2(file, c.path.c_str(), H5P_DEFAULT);
      ASSERT_GE(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), 0);
      H5Dclose(set);
      for (std::size_t k = 0; k < rows.size(); ++k)
        for (std::size_t i = 0; i < static_cast<std::size_t>(c.size); ++i)
          ASSERT_EQ(numbers[k * static_cast<std::size_t>(c.size) + i], rows[k][column + i]) << c.path << " " << k;
      column += static_cast<std::size_t>(c.size);
    }
    H5Fclose(file);
  }
}

// In a child, because HDF5's exit handler is part of the question.
int exit_code_of(const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child == 0) std::exit(act() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Outputs, AFullDiskAtAnyByteOfHdf5IsAnErrorAndLeavesTheFileThatWasThere) {
  Random random(seed(43));
  Folder folder;
  write_log(folder / "run.log", random, 300);
  ASSERT_TRUE(hdf5_of(folder / "run.log", folder / "run.h5"));
  const std::string whole = read_file(folder / "run.h5");
  write_file(folder / "run.h5", "earlier");
  for (int n = 0; n < cases(50); ++n) {
    const auto bytes = n == 0 ? std::size_t{0} : static_cast<std::size_t>(random.uniform(0, static_cast<double>(whole.size())));
    const int code = exit_code_of([&] {
      const Limit limit(bytes);
      const auto written = hdf5_of(folder / "run.log", folder / "run.h5");
      return !written && written.error().text().find("File too large") != std::string::npos;
    });
    EXPECT_EQ(code, 0) << bytes << " of " << whole.size();
    EXPECT_EQ(read_file(folder / "run.h5"), "earlier") << bytes;
    EXPECT_FALSE(fs::exists(folder / "run.h5.part")) << bytes;
  }
  const Limit enough(whole.size());
  EXPECT_TRUE(hdf5_of(folder / "run.log", folder / "run.h5"));
  EXPECT_EQ(read_file(folder / "run.h5"), whole);
}

// A log that cannot grow says so at the next flush or at the end, and stays readable to its last whole record.
TEST(Outputs, AFullDiskAtAnyByteOfALogLeavesWholeRecords) {
  Random random(seed(44));
  for (int n = 0; n < cases(50); ++n) {
    Folder folder;
    const Layout layout = drawn_layout(random, 1 + random.below(30));
    const std::size_t record = 16 + 8 * static_cast<std::size_t>(layout.width());
    const auto bytes = static_cast<std::size_t>(random.uniform(0, 3000 + 40.0 * static_cast<double>(record)));
    Result<void> all{};
    {
      const Limit limit(bytes);
      LogWriter log(folder / "run.log", layout.scene, std::chrono::milliseconds(0));
      all = log.begin(layout);
      for (int k = 0; all && k < 200; ++k) all = log.sample(drawn_row(random, layout.width(), k));
      if (all) all = log.end();
      ASSERT_FALSE(all) << "the limit was met";
      EXPECT_FALSE(log.end()) << "what is lost stays lost";
    }
    EXPECT_NE(all.error().text().find("File too large"), std::string::npos) << all.error().text();
    if (!fs::exists(folder / "run.log")) continue;
    auto log = LogReader::open(folder / "run.log");
    ASSERT_TRUE(log) << log.error().text();
    std::vector<double> row(static_cast<std::size_t>(layout.width()));
    while (log->next(row)) {
    }
    EXPECT_EQ(log->ending(), LogReader::Ending::Cut);
    EXPECT_EQ(fs::file_size(folder / "run.log"), log->position());
    EXPECT_NE(all.error().text().find(std::to_string(log->count()) + " samples"), std::string::npos) << all.error().text();
  }
}

TEST(Outputs, TextsAreWholeOrNotThere) {
  Folder folder;
  const std::string text(10000, 'x');
  for (const rlim_t bytes : {0, 1, 4096, 9999}) {
    const Limit limit(bytes);
    EXPECT_FALSE(write_text(folder / "a", text)) << bytes;
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  ASSERT_TRUE(write_text(folder / "a", text));
  EXPECT_EQ(read_file(folder / "a"), text);
  // What is no file is left as it is, also where the program may do everything.
  fs::create_directory(folder / "d");
  ::mkfifo((folder / "p").c_str(), 0600);
  for (const std::string& path : {folder / "d", folder / "p", std::string("/dev/null"), std::string("/dev/full")}) {
    EXPECT_FALSE(write_text(path, text)) << path;
    EXPECT_FALSE(fs::exists(path + ".part")) << path;
  }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  // A link is replaced; what it led to stays.
  write_file(folder / "target", "old");
  fs::create_symlink(folder / "target", folder / "link");
  ASSERT_TRUE(write_text(folder / "link", "new"));
  EXPECT_EQ(read_file(folder / "target") + read_file(folder / "link"), "oldnew");
  fs::create_symlink(folder / "target", folder / "b.part");
  EXPECT_FALSE(write_text(folder / "b", "new")) << "nobody leads us to another file";
  EXPECT_EQ(read_file(folder / "target"), "old");
}

TEST(Outputs, WritersOfOnePathDoNotDisturbEachOther) {
  Folder folder;
  std::atomic<int> writing = 4;
  std::vector<std::thread> writers;
  for (int k = 0; k < 4; ++k)
    writers.emplace_back([&, k] {
      for (int n = 0; n < 8; ++n) {
        EXPECT_TRUE(write_text(folder / "f", std::string(20000, static_cast<char>('a' + k))));
      }
      --writing;
    });
  std::size_t seen = 0;
  while (writing > 0) {
    const std::string text = read_file(folder / "f");
    if (text.empty()) continue;
    ++seen;
    EXPECT_EQ(text, std::string(20000, text[0]));
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_GT(seen, 0u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "nothing else is left";
}

TEST(Outputs, KeptRoomIsAsLargeAsThereIsAndHasNoName) {
  Folder folder;
  {
    KeptRoom room(folder.path(), 100000);
    EXPECT_EQ(room.bytes(), 100000u);
    EXPECT_TRUE(fs::is_empty(folder.path()));
    room.release();
    EXPECT_EQ(room.bytes(), 0u);
  }
  const Limit limit(30000);
  EXPECT_EQ(KeptRoom(folder.path(), 100000).bytes(), 25000u) << "a quarter of what was asked for";
  EXPECT_EQ(KeptRoom(folder / "nowhere", 100000).bytes(), 0u);
}

TEST(Inputs, ThatAreNoFilesAreRefusedAtOnce) {
  Folder folder;
  ::mkfifo((folder / "pipe").c_str(), 0600);
  fs::create_symlink(folder / "pipe", folder / "link");
  for (const auto& [path, word] : {std::pair{folder / "pipe", "a pipe"},
                                   {folder / "link", "a pipe"},
                                   {folder.path(), "a directory"},
                                   {std::string("/dev/zero"), "a device"},
                                   {std::string("/dev/null"), "a device"}}) {
    const auto text = read_text_file(path);
    ASSERT_FALSE(text) << path;
    EXPECT_NE(text.error().text().find(word), std::string::npos) << text.error().text();
    EXPECT_FALSE(LogReader::open(path)) << path;
    EXPECT_FALSE(being_written(path)) << path;
  }
  // A recording that is one, and a place for one.
  fs::create_directory(folder / "out");
  ::mkfifo((folder / "out/run.log").c_str(), 0600);
  EXPECT_FALSE(prepare_output(folder / "out", false));
  EXPECT_FALSE(prepare_output(folder / "out", true));
  LogWriter log(folder / "out/run.log");
  EXPECT_FALSE(log.begin({{{"time", "s", "", 1}}, "m", "s"}));
}

TEST(Outputs, ForceTakesADirectoryButNoFileThatIsNotOurs) {
  Folder folder;
  write_file(folder / "run.log", "the log of a boat");
  EXPECT_FALSE(prepare_output(folder.path(), true));
  EXPECT_EQ(read_file(folder / "run.log"), "the log of a boat");
  fs::remove(folder / "run.log");
  write_file(folder / "precious", "keep");
  fs::create_symlink(folder / "precious", folder / "run.log");
  EXPECT_FALSE(prepare_output(folder.path(), true));
  EXPECT_EQ(read_file(folder / "precious"), "keep");
}

// What a kill leaves before the first byte, or in the middle of the first word, is ours where there is nothing else: anybody may
// have an empty file of that name.
TEST(Outputs, LogsThatWereJustBegunAreOursWhereTheyAreAlone) {
  for (const char* start : {"", "INV", "INVARLO"}) {
    Folder folder;
    write_file(folder / "run.log", start);
    write_file(folder / "result.json.part", "{");
    Found found{};
    EXPECT_TRUE(prepare_output(folder.path(), false, &found));
    EXPECT_EQ(found, Found::EarlierOutput);
    for (const char* name : {"result.json", "report.html", "precious"}) {
      write_file(folder / name, "keep");
      for (const bool force : {false, true}) {
        EXPECT_FALSE(prepare_output(folder.path(), force, &found)) << start << " " << name;
        EXPECT_EQ(found, Found::OtherFiles);
        EXPECT_EQ(read_file(folder / name), "keep");
      }
      fs::remove(folder / name);
    }
  }
}

// What will be refused when the log begins is refused before the earlier output is gone.
TEST(Outputs, WhatCannotBeReplacedCostsNothingOfAnEarlierOutput) {
  Random random(seed(45));
  const auto earlier = [&](const Folder& folder) {
    write_log(folder / "run.log", random, 3);
    for (const char* name : {"run.h5", "result.json", "report.html"}) write_file(folder / name, "earlier");
  };
  const auto expect_untouched = [](const Folder& folder, const std::string& odd) {
    for (const bool force : {false, true}) EXPECT_FALSE(prepare_output(folder.path(), force)) << odd;
    for (const char* name : {"run.h5", "result.json", "report.html"})
      if (name != odd) {
        EXPECT_EQ(read_file(folder / name), "earlier") << odd << " " << name;
      }
  };
  {
    Folder folder;
    earlier(folder);
    fs::rename(folder / "run.log", folder / "elsewhere.log");
    fs::create_symlink("elsewhere.log", folder / "run.log");
    expect_untouched(folder, "run.log");
    EXPECT_TRUE(LogReader::open(folder / "elsewhere.log"));
  }
  for (const char* odd : {"run.h5", "result.json", "report.html"}) {
    Folder folder;
    earlier(folder);
    fs::remove(folder / odd);
    fs::create_directory(folder / odd);
    expect_untouched(folder, odd);
    EXPECT_TRUE(fs::is_directory(folder / odd));
    fs::remove(folder / odd);
    ::mkfifo((folder / odd).c_str(), 0600);
    expect_untouched(folder, odd);
    EXPECT_TRUE(fs::is_fifo(folder / odd));
  }
}

}  // namespace
}  // namespace invar::testing
