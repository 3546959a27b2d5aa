// SPDX-License-Identifier: Apache-2.0
// Damaged and forged recordings. Law: every record that a reader hands out was written; the rest is refused in words; HDF5 is
// written whole or not at all; never a crash.
#include <gtest/gtest.h>

#include <cstring>

#include "invar/io/hdf5.hpp"
#include "invar/io/log.hpp"
#include "support/campaign.hpp"
#include "support/damage.hpp"
#include "support/folder.hpp"

namespace invar::testing {
namespace {

class FuzzLogs : public ::testing::Test {
 protected:
  std::string path() const { return folder_ / "run.log"; }
  std::string hdf5() const { return folder_ / "run.h5"; }

  /// A whole log of a few records of two channels.
  std::string written(int records) const {
    Layout layout;
    layout.channels = {{"time", "s", "", 1}, {"bodies/a/p", "m", "World", 3}};
    layout.model = "small", layout.scenario = "test";
    LogWriter writer(path());
    EXPECT_TRUE(writer.begin(layout));
    for (int i = 0; i < records; ++i) EXPECT_TRUE(writer.sample(row(i)));
    EXPECT_TRUE(writer.end());
    return file_text(path());
  }
  static std::vector<double> row(int i) { return {0.1 * i, 1.0 + i, 2.0 - i, 3.0 * i}; }

  /// A log with this header, checksum and all, and nothing behind it but `rest`.
  static std::string forged(const std::string& header, const std::string& rest) {
    std::string log = "INVARLOG";
    const auto put = [&log](std::uint32_t x) { log.append(reinterpret_cast<const char*>(&x), sizeof x); };
    put(kLogVersion);
    put(static_cast<std::uint32_t>(header.size()));
    log += header;
    put(crc32(log.data(), log.size()));
    return log + rest;
  }

  /// Reads and converts whatever these bytes are; true when they were taken for a log. `original`: all records were written by
  /// us.
  bool read_and_convert(const std::string& bytes, bool original) {
    write_file(path(), bytes);
    std::filesystem::remove(hdf5());
    auto reader = LogReader::open(path());
    if (!reader) {
      EXPECT_EQ(reader.error().where, path()) << reader.error().text();
      return false;
    }
    std::vector<double> got(static_cast<std::size_t>(reader->layout().width()));
    for (int i = 0; reader->next(got); ++i) {
      if (original) {
        EXPECT_EQ(got, row(i));
      }
    }
    EXPECT_NE(reader->ending(), LogReader::Ending::Open);
    const auto out = write_hdf5(*reader, hdf5());
    EXPECT_EQ(std::filesystem::exists(hdf5()), out.has_value());
    EXPECT_FALSE(std::filesystem::exists(hdf5() + ".part"));
    return true;
  }

  Folder folder_;
};

TEST_F(FuzzLogs, DamagedLogsYieldOnlyWhatWasWritten) {
  Random random(seed(20240504));
  const std::string whole = written(6);
  int refused = 0, accepted = 0;
  for (int k = 0; k < cases(400); ++k) {
    // Damage behind the header half of the time: a damaged header ends the matter at once.
    const std::size_t keep = random.chance(0.5) ? whole.size() / 2 : 0;
    std::string bytes = whole.substr(0, keep) + damaged(whole.substr(keep), whole, random);
    ++(read_and_convert(bytes, true) ? accepted : refused);
  }
  EXPECT_GT(refused, cases(400) / 20);
  EXPECT_GT(accepted, cases(400) / 20);
}

// A header whose checksum is right but whose content is not ours: a later version, or malice.
TEST_F(FuzzLogs, ForgedHeadersAreRefusedInWordsOrReadButNeverCrash) {
  Random random(seed(20240505));
  const std::string whole = written(2);
  std::uint32_t length = 0;
  std::memcpy(&length, whole.data() + 12, 4);
  const std::string header = whole.substr(16, length), rest = whole.substr(16 + length + 4);
  ASSERT_EQ(forged(header, rest), whole);
  int refused = 0, accepted = 0;
  for (int k = 0; k < cases(400); ++k)
    ++(read_and_convert(forged(drawn(header, {header}, random), rest), false) ? accepted : refused);
  EXPECT_GT(refused, cases(400) / 20);
  EXPECT_GT(accepted, cases(400) / 80);
}

TEST_F(FuzzLogs, ImpossibleChannelsAreRefusedOrEndInNoHdf5) {
  const auto header = [](const std::string& channels) {
    return R"({"model": "m", "scenario": "s", "seed": 0, "channels": [{"path": "time", "unit": "s", "meaning": "", "size": 1})" +
           channels + "]}";
  };
  const auto channel = [](const std::string& path, const std::string& size) {
    return R"(, {"path": ")" + path + R"(", "unit": "", "meaning": "", "size": )" + size + "}";
  };
  EXPECT_TRUE(read_and_convert(forged(header(channel("x", "3")), ""), false));
  EXPECT_TRUE(std::filesystem::exists(hdf5()));
  // One path twice, a dataset as a group, no name: nothing that HDF5 could hold.
  for (const char* path : {"time", "time/x", "/", ".", "a//", "a/../b"}) {
    read_and_convert(forged(header(channel(path, "1")), ""), false);
    EXPECT_FALSE(std::filesystem::exists(hdf5()) && std::string(path).rfind("time", 0) == 0) << path;
  }
  for (const char* size : {"0", "-1", "1e9", "2147483647", "9223372036854775807", "1.5e300", "\"1\"", "null"})
    EXPECT_FALSE(read_and_convert(forged(header(channel("x", size)), ""), false)) << size;
}

TEST_F(FuzzLogs, KeptLogsAreRefusedInWordsOrReadButNeverCrash) {
  for (const auto& [name, bytes] : corpus("log")) {
    SCOPED_TRACE(name);
    read_and_convert(bytes, false);
  }
}

}  // namespace
}  // namespace invar::testing
