// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <hdf5.h>

#include "invar/io/hdf5.hpp"
#include "invar/io/log.hpp"
#include "support/folder.hpp"

namespace invar {
namespace {

constexpr int kRecords = 5;

class Recording : public ::testing::Test {
 protected:
  void SetUp() override {
    layout_.channels = {{"time", "s", "", 1}, {"bodies/a%2Fb/p", "m", "World", 3}};
    layout_.model = "small";
    layout_.scenario = "test";
    layout_.seed = 42;
    LogWriter writer(path());
    ASSERT_TRUE(writer.begin(layout_));
    for (int i = 0; i < kRecords; ++i) ASSERT_TRUE(writer.sample(row(i)));
    ASSERT_TRUE(writer.end());
    bytes_ = testing::read_file(path());
  }

  static std::vector<double> row(int i) { return {0.1 * i, 1.0 + i, 2.0 + i, -3.0 * i}; }
  std::string path() const { return folder_ / "run.log"; }
  void write(const std::string& bytes) const { testing::write_file(path(), bytes); }

  // Reads a log to its end; every record that is handed out must be one that was written.
  int intact(LogReader& reader) const {
    std::vector<double> got(4);
    int n = 0;
    for (; reader.next(got); ++n) EXPECT_EQ(got, row(n));
    return n;
  }

  testing::Folder folder_;
  std::string bytes_;
  Layout layout_;
};

TEST_F(Recording, ReadsBackWhatWasWritten) {
  auto reader = LogReader::open(path());
  ASSERT_TRUE(reader) << reader.error().text();
  EXPECT_EQ(reader->layout().model, "small");
  EXPECT_EQ(reader->layout().seed, 42u);
  EXPECT_EQ(reader->layout().channels[1].path, "bodies/a%2Fb/p");
  EXPECT_EQ(intact(*reader), kRecords);
  EXPECT_EQ(reader->ending(), LogReader::Ending::Complete);
  reader->rewind();
  EXPECT_EQ(intact(*reader), kRecords);
}

// CRC-32 finds every change of one byte, so a flipped byte is a named error in the header, or the end of the intact records.
TEST_F(Recording, EveryFlippedByteIsNoticed) {
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    std::string damaged = bytes_;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x5A);
    write(damaged);
    auto reader = LogReader::open(path());
    if (!reader) {
      EXPECT_FALSE(reader.error().what.empty());
      EXPECT_EQ(reader.error().where, path());
      continue;
    }
    const int n = intact(*reader);
    EXPECT_LE(n, kRecords);
    EXPECT_NE(reader->ending(), LogReader::Ending::Complete) << "byte " << i;
  }
}

TEST_F(Recording, EveryTruncationKeepsTheWholeRecordsBeforeIt) {
  const std::size_t record = 4 + 8 + 4 * 8 + 4, stop = 16, header = bytes_.size() - kRecords * record - stop;
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    write(bytes_.substr(0, size));
    auto reader = LogReader::open(path());
    if (size < header) {
      EXPECT_FALSE(reader) << size;
      continue;
    }
    ASSERT_TRUE(reader) << size;
    EXPECT_EQ(intact(*reader), static_cast<int>(std::min((size - header) / record, std::size_t{kRecords}))) << size;
    EXPECT_EQ(reader->ending(), LogReader::Ending::Cut) << size;
  }
}

// A log grows by any number of bytes at a time; whoever follows it sees every record once, in order, and then the end.
TEST_F(Recording, ReaderThatFollowsAGrowingLogSeesEveryRecordOnce) {
  const std::size_t record = 4 + 8 + 4 * 8 + 4, header = bytes_.size() - kRecords * record - 16;
  for (std::size_t bite = 1; bite <= bytes_.size() - header; ++bite) {
    write(bytes_.substr(0, header));
    auto reader = LogReader::open(path());
    ASSERT_TRUE(reader);
    std::vector<double> got(4);
    int n = 0;
    for (std::size_t at = header; at < bytes_.size(); at += bite) {
      EXPECT_FALSE(reader->next(got)) << "nothing is there yet";
      EXPECT_EQ(reader->ending(), LogReader::Ending::Cut);
      std::ofstream(path(), std::ios::binary | std::ios::app) << bytes_.substr(at, bite);
      for (; reader->next(got); ++n) EXPECT_EQ(got, row(n)) << bite;
      EXPECT_EQ(reader->position(), header + static_cast<std::size_t>(n) * record);
    }
    EXPECT_EQ(n, kRecords) << bite;
    EXPECT_EQ(reader->ending(), LogReader::Ending::Complete) << bite;
    EXPECT_FALSE(reader->next(got)) << "the end is the end";
  }
}

TEST_F(Recording, ReaderWhoseLogBeganAnewSaysSo) {
  write(bytes_.substr(0, bytes_.size() - 16));
  auto reader = LogReader::open(path());
  ASSERT_TRUE(reader);
  EXPECT_EQ(intact(*reader), kRecords);
  EXPECT_EQ(reader->ending(), LogReader::Ending::Cut);
  LogWriter again(path());
  ASSERT_TRUE(again.begin(layout_));
  EXPECT_EQ(intact(*reader), 0);
  EXPECT_EQ(reader->ending(), LogReader::Ending::Damaged);
}

TEST_F(Recording, ReadersSeeWhetherAWriterIsAtWork) {
  EXPECT_FALSE(being_written(path()));
  EXPECT_FALSE(being_written(folder_ / "nothing"));
  for (const bool ended : {true, false}) {
    {
      LogWriter writer(path());
      ASSERT_TRUE(writer.begin(layout_));
      EXPECT_TRUE(being_written(path()));
      if (ended) {
        ASSERT_TRUE(writer.end());
      }
    }
    EXPECT_FALSE(being_written(path())) << "also one that died";
  }
}

TEST_F(Recording, SecondWriterIsRefusedWhileTheFirstWrites) {
  LogWriter first(folder_ / "other.log"), second(folder_ / "other.log");
  ASSERT_TRUE(first.begin(layout_));
  EXPECT_FALSE(second.begin(layout_));
  ASSERT_TRUE(first.sample(row(0)));
  ASSERT_TRUE(first.end());
  auto reader = LogReader::open(folder_ / "other.log");
  ASSERT_TRUE(reader);
  EXPECT_EQ(intact(*reader), 1);
}

TEST_F(Recording, Hdf5HoldsTheIntactRecordsOfACutLog) {
  write(bytes_.substr(0, bytes_.size() - 16 - 10));  // the end mark and part of the last record are gone
  auto reader = LogReader::open(path());
  ASSERT_TRUE(reader);
  auto written = write_hdf5(*reader, folder_ / "run.h5");
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_EQ(written->samples, static_cast<std::uint64_t>(kRecords - 1));
  EXPECT_EQ(written->ending, LogReader::Ending::Cut);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run.h5.part"));

  const hid_t file = H5Fopen((folder_ / "run.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  const hid_t set = H5Dopen2(file, "/bodies/a%2Fb/p", H5P_DEFAULT);
  std::vector<double> all(3 * (kRecords - 1));
  EXPECT_GE(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()), 0);
  for (int i = 0; i < kRecords - 1; ++i)
    EXPECT_EQ(std::vector<double>(all.begin() + 3 * i, all.begin() + 3 * i + 3),
              (std::vector<double>{1.0 + i, 2.0 + i, -3.0 * i}));
  H5Dclose(set);
  H5Fclose(file);
}

TEST_F(Recording, Hdf5OfALogWithoutRecordsIsEmptyNotAnError) {
  const std::size_t record = 4 + 8 + 4 * 8 + 4;
  write(bytes_.substr(0, bytes_.size() - 16 - kRecords * record));
  auto reader = LogReader::open(path());
  ASSERT_TRUE(reader);
  auto written = write_hdf5(*reader, folder_ / "run.h5");
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_EQ(written->samples, 0u);
}

TEST(Crc32, HasTheCheckValueOfItsStandard) { EXPECT_EQ(crc32("123456789", 9), 0xCBF43926u); }

TEST(ChannelNames, CannotLeaveTheirGroup) {
  EXPECT_EQ(escaped("a/b"), "a%2Fb");
  EXPECT_EQ(escaped(".."), "%2E.");
  EXPECT_EQ(escaped("100%"), "100%25");
  EXPECT_EQ(escaped("Träger 1"), "Träger 1");
}

}  // namespace
}  // namespace invar
