// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "invar/io/log.hpp"

namespace invar {

/// The messages by which a run reaches a page while it is computed (docs/page-data.md, live), read from its growing log. Nothing
/// is left out, and no more than one block is in memory: a page that asks seldom is late, not poorer, and the run never knows.
class LiveFeed {
 public:
  enum class Piece { Text, Samples, Later, Over };
  /// Largest block of rows, bytes; a row that is longer makes a block of its own.
  static constexpr std::size_t kBlock = 256u << 10;

  /// `patience`: how long after the end of a log its result.json is waited for. It comes after run.h5.
  explicit LiveFeed(std::string directory, std::chrono::milliseconds patience = std::chrono::seconds(30));

  /// Puts the next message into `out`; Later: there is none yet; Over: the last one was given, or there is no log.
  /// A run that was killed (no end mark, no writer) or whose log is damaged ends with complete = false.
  Piece next(std::string& out);
  /// From now on nothing that is missing is waited for.
  void hurry() { patience_ = {}; }

 private:
  enum class Stage { Begin, Samples, End, Over };
  Piece begin(std::string& out);
  Piece rows(std::string& out);
  Piece end(std::string& out);
  bool still_waiting();

  std::string directory_;
  std::chrono::milliseconds patience_;
  std::optional<std::chrono::steady_clock::time_point> waiting_since_;
  Stage stage_ = Stage::Begin;
  bool complete_ = false;
  std::optional<LogReader> log_;
  std::vector<double> row_;                                 // all of a record
  std::vector<std::pair<std::size_t, std::size_t>> shown_;  // of it: first number, how many
  std::size_t row_bytes_ = 0;                               // that are shown
};

}  // namespace invar
