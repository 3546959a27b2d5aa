// SPDX-License-Identifier: Apache-2.0
#include "invar/io/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "invar/base/check.hpp"
#include "invar/io/file_lock.hpp"

namespace invar {

static_assert(std::endian::native == std::endian::little, "logs are written in the machine's order, which must be little endian");

namespace {

constexpr char kMagic[8] = {'I', 'N', 'V', 'A', 'R', 'L', 'O', 'G'};
constexpr char kSample[4] = {'S', 'M', 'P', 'L'};
constexpr char kStop[4] = {'S', 'T', 'O', 'P'};
constexpr std::size_t kRecordHead = 4 + 8;  // word and index
constexpr std::size_t kPreamble = 8 + 4 + 4;
constexpr int kWidest = 1 << 24;  // numbers per record that are believed

template <class T>
void put(std::vector<unsigned char>& out, const T& value) {
  const auto* p = reinterpret_cast<const unsigned char*>(&value);
  out.insert(out.end(), p, p + sizeof(T));
}

template <class T>
T get(const unsigned char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

nlohmann::json header_json(const Layout& layout, const std::string& scene) {
  nlohmann::json channels = nlohmann::json::array();
  for (const Channel& c : layout.channels)
    channels.push_back({{"path", c.path}, {"unit", c.unit}, {"meaning", c.meaning}, {"size", c.size}});
  nlohmann::json out = {{"channels", channels}, {"model", layout.model}, {"scenario", layout.scenario}, {"seed", layout.seed}};
  if (!scene.empty()) out["scene"] = scene;
  return out;
}

// A header whose checksum is right was written by us, but perhaps not by this version: check its shape all the same.
Result<Layout> read_header(const std::string& text, const std::string& path) {
  try {
    const auto json = nlohmann::json::parse(text);
    Layout layout;
    int width = 0;
    layout.model = json.at("model").get<std::string>();
    layout.scenario = json.at("scenario").get<std::string>();
    if (!json.at("seed").is_number_integer()) return fail(ErrorKind::Syntax, "the header has no whole number as seed", path);
    layout.seed = json.at("seed").get<std::uint64_t>();
    layout.scene = json.value("scene", std::string());
    for (const auto& c : json.at("channels")) {
      const auto size = c.at("size").get<double>();  // of any size before it is believed
      if (!(size >= 1 && size <= kWidest - width) || c.at("path").get<std::string>().empty())
        return fail(ErrorKind::Syntax, "the header describes an impossible channel", path);
      Channel channel{c.at("path"), c.at("unit"), c.at("meaning"), static_cast<int>(size)};
      width += channel.size;
      layout.channels.push_back(std::move(channel));
    }
    if (layout.channels.empty() || layout.channels.front().path != "time")
      return fail(ErrorKind::Syntax, "the header does not begin with the channel 'time'", path);
    return layout;
  } catch (const nlohmann::json::exception&) {
    return fail(ErrorKind::Syntax, "the header is not what an Invar log has there", path);
  }
}

}  // namespace

std::uint32_t crc32(const void* data, std::size_t size) {
  return static_cast<std::uint32_t>(::crc32_z(0, static_cast<const Bytef*>(data), size));
}

namespace {

// Whoever asks whether a log is being written holds it for a moment; a writer holds it for good.
bool lock(int fd) {
  for (int k = 0; k < 20; ++k) {
    if (take_lock(fd, Share::Exclusive)) return true;
    ::usleep(5000);
  }
  return false;
}

}  // namespace

LogWriter::LogWriter(std::string path, std::string scene, std::chrono::milliseconds interval)
    : path_(std::move(path)), scene_(std::move(scene)), interval_(interval) {}

LogWriter::~LogWriter() {
  if (file_ != nullptr) std::fclose(file_);
}

tl::unexpected<Error> LogWriter::trouble(const char* doing) {
  lost_ = fmt::format("cannot {}: {}", doing, std::strerror(errno));
  if (file_ != nullptr) give_up();
  return fail(ErrorKind::File, lost_, path_);
}

// What stdio still holds is written or lost with the file; then half a record at the end is cut off.
void LogWriter::give_up() {
  const int kept = ::dup(::fileno(file_));
  std::fclose(std::exchange(file_, nullptr));
  struct stat now{};
  if (kept >= 0 && ::fstat(kept, &now) == 0) {
    const auto size = static_cast<std::uint64_t>(now.st_size);
    if (first_record_ == 0 || size < first_record_) {
      ::unlink(path_.c_str());
    } else {
      const std::uint64_t whole = (size - first_record_) / record_.size(), end = first_record_ + whole * record_.size();
      const bool cut = size == end || ::ftruncate(kept, static_cast<off_t>(end)) == 0;
      lost_ += fmt::format("; the log ends there{}, with {} samples", cut ? "" : " in half a record", whole);
    }
  }
  if (kept >= 0) ::close(kept);
}

Result<void> LogWriter::begin(const Layout& layout) {
  // Lock before truncating: a second run in the same directory must not empty the log of the first.
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (fd < 0) return trouble("create the log");
  struct stat there{};
  const bool regular = ::fstat(fd, &there) == 0 && S_ISREG(there.st_mode);
  const bool free = regular && lock(fd);
  file_ = free && ::ftruncate(fd, 0) == 0 ? ::fdopen(fd, "wb") : nullptr;
  if (file_ == nullptr) {
    const int why = errno;
    ::close(fd);
    errno = why;
    if (!regular) return fail(ErrorKind::File, "is no regular file; a log cannot be written there", path_);
    return free ? trouble("empty the log") : fail(ErrorKind::File, "another run is writing here", path_);
  }

  // Names may be any bytes; what is not UTF-8 is replaced in the header, not fatal.
  const std::string text = header_json(layout, scene_).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongestLogHeader) return fail(ErrorKind::File, "what is said about the run is too long for a header", path_);
  std::vector<unsigned char> head(kMagic, kMagic + sizeof kMagic);
  put(head, kLogVersion);
  put(head, static_cast<std::uint32_t>(text.size()));
  head.insert(head.end(), text.begin(), text.end());
  put(head, crc32(head.data(), head.size()));
  record_.resize(kRecordHead + 8 * static_cast<std::size_t>(layout.width()) + 4);
  count_ = 0;
  if (auto done = write(head.data(), head.size()); !done) return done;
  if (auto done = flush(); !done) return done;
  first_record_ = head.size();
  return {};
}

Result<void> LogWriter::sample(std::span<const double> row) {
  INVAR_CHECK(row.size_bytes() + kRecordHead + 4 == record_.size(), "a row has the width of its layout");
  unsigned char* p = record_.data();
  std::memcpy(p, kSample, 4);
  std::memcpy(p + 4, &count_, 8);
  std::memcpy(p + kRecordHead, row.data(), row.size_bytes());
  const std::uint32_t crc = crc32(p, record_.size() - 4);
  std::memcpy(p + record_.size() - 4, &crc, 4);
  ++count_;
  if (auto done = write(p, record_.size()); !done) return done;
  if (std::chrono::steady_clock::now() - flushed_ >= interval_) return flush();
  return {};
}

Result<void> LogWriter::end() {
  std::vector<unsigned char> stop(kStop, kStop + 4);
  put(stop, count_);
  put(stop, crc32(stop.data(), stop.size()));
  if (auto done = write(stop.data(), stop.size()); !done) return done;
  if (auto done = flush(); !done) return done;
  if (::fsync(::fileno(file_)) != 0 && errno != EINVAL && errno != ENOTSUP) return trouble("bring the log to the disk");
  if (std::fclose(std::exchange(file_, nullptr)) != 0) return trouble("close the log");
  return {};
}

Result<void> LogWriter::write(const void* data, std::size_t size) {
  if (file_ == nullptr) return fail(ErrorKind::File, lost_.empty() ? "the log is not open" : lost_, path_);
  if (std::fwrite(data, 1, size, file_) != size) return trouble("write the log");
  return {};
}

Result<void> LogWriter::flush() {
  flushed_ = std::chrono::steady_clock::now();
  if (std::fflush(file_) != 0) return trouble("write the log");
  return {};
}

bool being_written(const std::string& path) {
  const auto file = open_regular(path);
  // Shared, so that two who ask at the same time do not take each other for writers.
  return file && !take_lock(::fileno(file->get()), Share::Shared);
}

Result<LogReader> LogReader::open(const std::string& path) {
  LogReader reader;
  auto opened = open_regular(path);
  if (!opened) return tl::unexpected(opened.error());
  reader.file_ = std::move(*opened);
  std::FILE* file = reader.file_.get();

  // The fixed part says whose file this is and how long the header is.
  std::vector<unsigned char> head(kPreamble);
  const std::size_t got = std::fread(head.data(), 1, head.size(), file);
  if (got == 0) return fail(ErrorKind::Syntax, "the log is empty", path);
  if (got < head.size() || std::memcmp(head.data(), kMagic, sizeof kMagic) != 0)
    return fail(ErrorKind::Syntax, "not an Invar log (its first bytes are not INVARLOG)", path);
  const auto version = get<std::uint32_t>(head.data() + 8), length = get<std::uint32_t>(head.data() + 12);
  if (length > kLongestLogHeader) return fail(ErrorKind::Syntax, "the header of the log is damaged (impossible length)", path);
  head.resize(kPreamble + length + 4);
  if (std::fread(head.data() + kPreamble, 1, length + 4, file) != length + 4)
    return fail(ErrorKind::Syntax, "the log ends inside its header", path);
  if (crc32(head.data(), kPreamble + length) != get<std::uint32_t>(head.data() + kPreamble + length))
    return fail(ErrorKind::Syntax, "the header of the log is damaged (checksum)", path);
  if (version != kLogVersion)
    return fail(ErrorKind::Syntax, fmt::format("log version {}; this program reads version {}", version, kLogVersion), path);

  auto layout = read_header({head.begin() + kPreamble, head.begin() + kPreamble + length}, path);
  if (!layout) return tl::unexpected(layout.error());
  reader.layout_ = std::move(*layout);
  reader.record_.resize(kRecordHead + 8 * static_cast<std::size_t>(reader.layout_.width()) + 4);
  reader.first_record_ = reader.position_ = head.size();
  return reader;
}

// The end of the file that stdio remembers is forgotten, and so is what it had read of the record.
void LogReader::look_again() {
  struct stat now{};
  const bool shorter = ::fstat(::fileno(file_.get()), &now) != 0 || static_cast<std::uint64_t>(now.st_size) < position_;
  std::clearerr(file_.get());
  std::fseek(file_.get(), static_cast<long>(position_), SEEK_SET);
  ending_ = shorter ? Ending::Damaged : Ending::Open;
}

bool LogReader::next(std::span<double> row) {
  if (ending_ == Ending::Cut) look_again();
  if (ending_ != Ending::Open) return false;
  INVAR_CHECK(row.size_bytes() + kRecordHead + 4 == record_.size(), "a row has the width of its layout");
  const std::size_t stop_size = kRecordHead + 4;

  // The end record is shorter than a sample, except that both are met at the same place: read the short part first.
  const std::size_t got = std::fread(record_.data(), 1, stop_size, file_.get());
  if (got == stop_size && std::memcmp(record_.data(), kStop, 4) == 0) {
    const bool intact = crc32(record_.data(), kRecordHead) == get<std::uint32_t>(record_.data() + kRecordHead) &&
                        get<std::uint64_t>(record_.data() + 4) == count_;
    ending_ = intact ? Ending::Complete : Ending::Damaged;
    return false;
  }
  const std::size_t rest = record_.size() - stop_size;
  if (got < stop_size || std::fread(record_.data() + stop_size, 1, rest, file_.get()) != rest) {
    ending_ = Ending::Cut;
    return false;
  }
  const std::size_t body = record_.size() - 4;
  if (std::memcmp(record_.data(), kSample, 4) != 0 || get<std::uint64_t>(record_.data() + 4) != count_ ||
      crc32(record_.data(), body) != get<std::uint32_t>(record_.data() + body)) {
    ending_ = Ending::Damaged;
    return false;
  }
  std::memcpy(row.data(), record_.data() + kRecordHead, row.size_bytes());
  position_ += record_.size();
  ++count_;
  return true;
}

void LogReader::rewind() {
  std::fseek(file_.get(), static_cast<long>(first_record_), SEEK_SET);
  position_ = first_record_;
  count_ = 0;
  ending_ = Ending::Open;
}

}  // namespace invar
