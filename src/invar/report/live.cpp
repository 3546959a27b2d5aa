// SPDX-License-Identifier: Apache-2.0
#include "invar/report/live.hpp"

#include <filesystem>

#include "invar/io/output.hpp"
#include "invar/report/page.hpp"

namespace invar {

LiveFeed::LiveFeed(std::string directory, std::chrono::milliseconds patience)
    : directory_(std::move(directory)), patience_(patience) {}

LiveFeed::Piece LiveFeed::next(std::string& out) {
  out.clear();
  switch (stage_) {
    case Stage::Begin: return begin(out);
    case Stage::Samples: return rows(out);
    case Stage::End: return end(out);
    case Stage::Over: break;
  }
  return Piece::Over;
}

bool LiveFeed::still_waiting() {
  const auto now = std::chrono::steady_clock::now();
  if (!waiting_since_) waiting_since_ = now;
  return now - *waiting_since_ < patience_;
}

LiveFeed::Piece LiveFeed::begin(std::string& out) {
  auto log = LogReader::open(Output{directory_}.log());
  if (!log && still_waiting()) return Piece::Later;
  if (!log) {
    stage_ = Stage::Over;
    return Piece::Over;
  }
  const Layout& layout = log->layout();
  row_.resize(static_cast<std::size_t>(layout.width()));
  std::size_t at = 0;
  for (const Channel& c : layout.channels) {
    const auto size = static_cast<std::size_t>(c.size);
    if (at == 0 || is_shown(c)) shown_.emplace_back(at, size), row_bytes_ += sizeof(double) * size;
    at += size;
  }
  out = live_begin(layout);
  log_ = std::move(*log);
  stage_ = Stage::Samples;
  waiting_since_.reset();
  return Piece::Text;
}

LiveFeed::Piece LiveFeed::rows(std::string& out) {
  // Asked before reading: what a writer that is gone has written is read then.
  const bool written = being_written(Output{directory_}.log());
  while ((out.empty() || out.size() + row_bytes_ <= kBlock) && log_->next(row_))
    for (const auto& [at, size] : shown_) out.append(reinterpret_cast<const char*>(&row_[at]), sizeof(double) * size);
  if (!out.empty()) return Piece::Samples;
  if (log_->ending() == LogReader::Ending::Cut && written) return Piece::Later;
  complete_ = log_->ending() == LogReader::Ending::Complete;
  stage_ = Stage::End;
  return end(out);
}

LiveFeed::Piece LiveFeed::end(std::string& out) {
  std::error_code trouble;
  if (complete_ && !std::filesystem::exists(Output{directory_}.result(), trouble) && still_waiting()) return Piece::Later;
  out = live_end(directory_, complete_);
  stage_ = Stage::Over;
  return Piece::Text;
}

}  // namespace invar
