// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdio>

#include "invar/io/regular_file.hpp"
#include "invar/run/sink.hpp"

namespace invar {

/// The recording while it grows: an append-only binary file, readable up to the last intact record whatever happens to the
/// program. Little endian, all offsets in bytes:
///   header   "INVARLOG" · u32 version · u32 length n · n bytes of JSON (channels, units, names) · u32 CRC-32 of all before
///   record   "SMPL" · u64 index · width doubles · u32 CRC-32 of the record before it
///   end      "STOP" · u64 number of records · u32 CRC-32 of the 12 bytes before it
/// docs/recording.md describes it for readers in other languages.
inline constexpr std::uint32_t kLogVersion = 1;
/// Bytes of a record beside its numbers.
inline constexpr int kLogOverhead = 16;
/// Longest header that is believed, bytes.
inline constexpr std::uint32_t kLongestLogHeader = 64u << 20;

/// CRC-32 of IEEE 802.3.
std::uint32_t crc32(const void* data, std::size_t size);

/// Writes a log. Records reach the operating system (and so survive kill -9) at the latest `interval` after the sample
/// before them, at the next sample; `end` also waits for the disk. Where the system takes no more (a full disk), the error says
/// so, the log is cut behind its last whole record, and later calls give the same error; one whose header was not taken is
/// removed.
class LogWriter final : public Sink {
 public:
  /// The scene goes into the header.
  explicit LogWriter(std::string path, std::string scene = {},
                     std::chrono::milliseconds interval = std::chrono::milliseconds(200));
  ~LogWriter() override;
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// Creates the file and locks it against a second writer. Refused where something else than a file has its name, or a link.
  Result<void> begin(const Layout& layout) override;
  Result<void> sample(std::span<const double> row) override;
  Result<void> end() override;

 private:
  Result<void> write(const void* data, std::size_t size);
  Result<void> flush();
  tl::unexpected<Error> trouble(const char* doing);
  void give_up();

  std::string path_, scene_;
  std::chrono::milliseconds interval_;
  std::chrono::steady_clock::time_point flushed_;
  std::FILE* file_ = nullptr;
  std::vector<unsigned char> record_;  // one record
  std::uint64_t count_ = 0;
  std::uint64_t first_record_ = 0;  // byte offset
  std::string lost_;                // what went wrong, for good
};

/// Whether a writer is at work on this log now. Whoever asks first and reads then has read all that a writer left that was gone.
bool being_written(const std::string& path);

/// Reads a log record by record, and believes nothing that its checksum does not confirm. A log may be read while it is written.
class LogReader {
 public:
  /// Fails when there is no file, or its header is not one of ours or damaged.
  static Result<LogReader> open(const std::string& path);

  const Layout& layout() const { return layout_; }
  /// The next intact record, or false at the end or at the first damage (see ending()). After Cut it may be asked again: it looks
  /// once more at the place of the record that was not whole, so that a reader of a growing log gets every record exactly once. A
  /// log that became shorter than what was read is Damaged: another run has begun in its place.
  bool next(std::span<double> row);
  /// Back to the first record.
  void rewind();

  enum class Ending { Open, Complete, Cut, Damaged };
  /// Why next() returned false: the run ended the log, the file just stops (a kill), or a record is damaged.
  Ending ending() const { return ending_; }
  /// Records read so far, and the byte where reading stopped.
  std::uint64_t count() const { return count_; }
  std::uint64_t position() const { return position_; }

 private:
  void look_again();

  OpenFile file_;
  Layout layout_;
  std::uint64_t first_record_ = 0;  // byte offset
  std::uint64_t position_ = 0;
  std::uint64_t count_ = 0;
  std::vector<unsigned char> record_;
  Ending ending_ = Ending::Open;
};

}  // namespace invar
