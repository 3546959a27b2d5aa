// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "invar/io/output.hpp"
#include "invar/io/text_file.hpp"

namespace invar::cli {
namespace {

std::atomic<bool> stop_requested{false};

extern "C" void on_signal(int number) {
  stop_requested.store(true);
  std::signal(number, SIG_DFL);
}

void end_run_on(int number) {
  struct sigaction now{};
  if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) std::signal(number, on_signal);
}

}  // namespace

void report(const Error& error, Context& context) {
  print_error("error: {}\n", error.text());
  context.exit_code = exit_code(error);
}

int exit_code(const Error& error) { return error.kind == ErrorKind::Numerics ? kNumericsFailed : kBadInput; }

void warn(const std::vector<std::string>& warnings, const Context& context) {
  if (context.quiet) return;
  for (const std::string& w : warnings) print_error("warning: {}\n", w);
}

void say(const std::string& line, const Context& context) {
  if (!context.quiet) print_error("{}\n", line);
}

void add_model_verb(CLI::App& app, const char* name, const char* help, const char* example, Context& context,
                    void (*verb)(const ModelArguments&, Context&)) {
  auto* command = app.add_subcommand(name, help);
  auto args = std::make_shared<ModelArguments>();
  command->add_option("model", args->model, "Model file")->required();
  command->add_flag("--json", args->json, "Answer as JSON");
  command->footer(std::string("Example: ") + example);
  command->callback([args, verb, &context] { verb(*args, context); });
}

std::string counted(std::size_t n, const char* one, const char* many) { return fmt::format("{} {}", n, n == 1 ? one : many); }

namespace {

CLI::Validator number_from(double least, const char* wanted, const char* short_name) {
  return CLI::Validator(
      [=](std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool good = end != text.c_str() && *end == '\0' && value >= least && std::isfinite(value);
        return good ? std::string() : fmt::format("'{}' was given, a {} is wanted", text, wanted);
      },
      short_name);
}

}  // namespace

CLI::Validator positive_number() { return number_from(std::numeric_limits<double>::denorm_min(), "positive number", "positive"); }
CLI::Validator no_negative_number() { return number_from(0, "number that is not negative", "not negative"); }

void print_json(const nlohmann::ordered_json& json) {
  put(stdout, printable_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n");
}

Result<std::string> read_text(const std::string& path) {
  if (path == "-") return read_text_stream(std::cin, "stdin");
  auto text = read_text_file(path);
  if (!text && path[0] == '{') return fail(ErrorKind::File, "names no file; to give JSON itself, pipe it into -", path);
  return text;
}

Result<LogReader> open_log(const std::string& directory) {
  const Output output{directory};
  std::error_code trouble;
  if (!std::filesystem::is_directory(directory, trouble)) return fail(ErrorKind::File, "there is no such directory", directory);
  const bool there = std::filesystem::exists(output.log(), trouble);
  if (trouble) return fail(ErrorKind::File, fmt::format("cannot be looked at: {}", trouble.message()), directory);
  if (!there) return fail(ErrorKind::File, "holds no run.log: not the output of a run", directory);
  if (std::filesystem::is_directory(output.log(), trouble))
    return fail(ErrorKind::File, "is a directory, not a log", output.log());
  return LogReader::open(output.log());
}

const std::atomic<bool>& stop_on_signal() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) end_run_on(number);
  return stop_requested;
}

ProgressLine::ProgressLine(const Context& context) : enabled_(!context.quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const Progress& p) { show(p, fmt::format("t = {:.4g} of {:g} s, {} steps", p.t, p.end, p.steps)); }

void ProgressLine::show(const Progress& p, const std::string& what) {
  if (!enabled_ || (!terminal_ && p.wall - last_ < 5)) return;
  last_ = p.wall;
  const double part = std::clamp((p.t - p.start) / (p.end - p.start), 0.0, 1.0);
  const double left = part > 0 ? p.wall * (1 - part) / part : 0;
  const std::string words = fmt::format("{}, {:.0f} s left", what, left);
  if (!terminal_) {
    print_error("{:3.0f} %  {}\n", 100 * part, words);
    return;
  }
  constexpr int kWidth = 24;
  const auto full = static_cast<std::size_t>(part * kWidth);
  print_error("\r\x1b[K[{}{}] {:3.0f} %  {}", std::string(full, '#'), std::string(kWidth - full, '.'), 100 * part, words);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (drawn_) print_error("\r\x1b[K");
  drawn_ = false;
}

}  // namespace invar::cli
