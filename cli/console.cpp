// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "invar/io/model_file.hpp"

namespace invar::cli {

void report(const Error& error, Context& context) {
  fmt::print(stderr, "error: {}\n", error.text());
  context.exit_code = error.kind == ErrorKind::Numerics ? kNumericsFailed : kBadInput;
}

void warn(const std::vector<std::string>& warnings, const Context& context) {
  if (context.quiet) return;
  for (const std::string& w : warnings) fmt::print(stderr, "warning: {}\n", w);
}

void say(const std::string& line, const Context& context) {
  if (!context.quiet) fmt::print(stderr, "{}\n", line);
}

Result<Model> load_model(const std::string& path, std::vector<std::string>& warnings) {
  auto spec = read_model_file(path);
  if (!spec) return tl::unexpected(spec.error());
  return Model::build(*spec, &warnings);
}

Result<std::string> read_text(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorKind::File, fmt::format("cannot open the file: {}", std::strerror(errno)), path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad() || (text.empty() && std::ifstream(path).peek() == EOF && errno == EISDIR))
    return fail(ErrorKind::File, "cannot read the file", path);
  return text;
}

ProgressLine::ProgressLine(const Context& context) : enabled_(!context.quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const Progress& p) {
  if (!enabled_ || (!terminal_ && p.wall - last_ < 5)) return;
  last_ = p.wall;
  const double part = std::clamp((p.t - p.start) / (p.end - p.start), 0.0, 1.0);
  const double left = part > 0 ? p.wall * (1 - part) / part : 0;
  const std::string words = fmt::format("t = {:.4g} of {:g} s, {} steps, {:.0f} s left", p.t, p.end, p.steps, left);
  if (!terminal_) {
    fmt::print(stderr, "{:3.0f} %  {}\n", 100 * part, words);
    return;
  }
  constexpr int kWidth = 24;
  const auto full = static_cast<std::size_t>(part * kWidth);
  fmt::print(stderr, "\r\x1b[K[{}{}] {:3.0f} %  {}", std::string(full, '#'), std::string(kWidth - full, '.'), 100 * part, words);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
  drawn_ = false;
}

}  // namespace invar::cli
