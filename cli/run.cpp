// SPDX-License-Identifier: Apache-2.0
#include "invar/run/run.hpp"

#include <fmt/format.h>

#include "console.hpp"
#include "invar/io/hdf5.hpp"
#include "invar/io/output.hpp"
#include "invar/io/result_json.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/report/page.hpp"
#include "invar/report/scene.hpp"
#include "serve/open.hpp"

namespace invar::cli {
namespace {

struct Arguments {
  std::string scenario, output;
  bool force = false, live = false;
  ServeArguments serve;
};

// The log, and whoever waits for it to begin.
class AnnouncedLog final : public Sink {
 public:
  AnnouncedLog(LogWriter& log, Server* server) : log_(log), server_(server) {}
  Result<void> begin(const Layout& layout) override {
    auto begun = log_.begin(layout);
    if (begun && server_ != nullptr) server_->log_begun();
    return begun;
  }
  Result<void> sample(std::span<const double> row) override { return log_.sample(row); }
  Result<void> end() override { return log_.end(); }

 private:
  LogWriter& log_;
  Server* server_;
};

Result<Output> make_output(const Arguments& args, const Context& context) {
  Found found{};
  auto output = prepare_output(args.output, args.force, &found);
  if (!output) return output;
  if (found == Found::EarlierOutput) say(fmt::format("note: {}: replacing the output of an earlier run", args.output), context);
  if (found == Found::OtherFiles) say(fmt::format("note: {}: the directory holds other files; they stay", args.output), context);
  return output;
}

// run.h5 and result.json, and report.html, which shows both.
Result<void> write_results(const Scenario& scenario, const Outcome& outcome, const Output& output) {
  auto log = LogReader::open(output.log());
  if (!log) return tl::unexpected(log.error());
  if (auto written = write_hdf5(*log, output.hdf5()); !written) return tl::unexpected(written.error());
  if (auto written = write_text(output.result(), result_json(scenario, outcome)); !written) return written;
  return viewer_page().empty() ? Result<void>() : write_report({output.directory}, output.page());
}

void print_outcome(const Scenario& scenario, const Outcome& outcome, const Output& output, Context& context) {
  if (outcome.end == Outcome::End::Failed) {
    fmt::print(stderr, "error: {}: {}\n", scenario.path, outcome.words);
    context.exit_code = kNumericsFailed;
  } else if (outcome.end == Outcome::End::Interrupted) {
    fmt::print(stderr, "interrupted: the recording ends where the run was stopped\n");
    context.exit_code = kInterrupted;
  } else if (!outcome.laws_held()) {
    context.exit_code = kLawBroken;
  }
  for (const LawResult& law : outcome.laws)
    if (!context.quiet || !law.held) fmt::print("{}\n", law.text());
  for (const std::string& note : outcome.notes) say("note: " + note, context);
  if (context.verbose)
    for (const Metric& m : outcome.metrics) fmt::print("  {:<28} {:.6g} {}\n", m.name, m.value, m.unit);
  if (!context.quiet)
    fmt::print("{}: {} in {:.2f} s; wrote {}, {}{}\n", scenario.name, status_word(outcome), outcome.wall, output.result(),
               output.hdf5(), viewer_page().empty() ? "" : ", " + output.page());
}

// Runs, records and judges; a server may look on.
void run_into(const Output& output, const Scenario& scenario, Server* server, Context& context) {
  std::vector<std::string> warnings;
  LogWriter log(output.log(), scene_json(scenario, &warnings));
  warn(warnings, context);
  AnnouncedLog announced(log, server);
  ProgressLine line(context);
  RunOptions options;
  options.sink = &announced;
  options.stop = &stop_on_signal();
  options.progress = [&](const Progress& p) { line.show(p); };
  auto outcome = run(scenario, options);
  line.clear();
  if (!outcome) return report(outcome.error(), context);
  if (auto written = write_results(scenario, *outcome, output); !written) return report(written.error(), context);
  print_outcome(scenario, *outcome, output, context);
}

void run_verb(const Arguments& args, Context& context) {
  std::vector<std::string> warnings;
  auto scenario = read_scenario_file(args.scenario, &warnings);
  warn(warnings, context);
  if (!scenario) return report(scenario.error(), context);
  // What is refused before the first step, or a port that is taken, must not cost the output of an earlier run.
  if (auto fine = check(*scenario); !fine) return report(fine.error(), context);
  std::unique_ptr<Server> server;
  if (args.live) {
    auto started = start_server(live_run(args.output), args.serve);
    if (!started) return report(started.error(), context);
    server = std::move(*started);
  }
  auto output = make_output(args, context);
  if (!output) return report(output.error(), context);
  const bool browser = server && announce(*server, args.serve);
  run_into(*output, *scenario, server.get(), context);
  std::fflush(stdout);
  if (server) server->finish(browser, stop_on_signal());
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("run", "Run a scenario, judge its laws, record it");
  auto args = std::make_shared<Arguments>();
  verb->add_option("scenario", args->scenario, "Scenario file")->required();
  verb->add_option("-o,--output", args->output,
                   "Directory for result.json, run.h5, report.html and run.log; created where it is missing")
      ->required();
  verb->add_flag("--force", args->force, "Write into a directory that holds other files");
  auto* live = verb->add_flag("--live", args->live, "Show the run in the browser while it computes");
  add_serve_options(*verb, args->serve, live);
  verb->footer(
      "Ctrl-C ends the run after the current step and writes everything (exit code 130). After kill -9: invar report DIR.\n"
      "With --live the program ends when the pages that look on have got everything; a slow page never slows the run.\n"
      "Example: invar run scenarios/paper_a_open_loop.toml -o out/paper_a\n"
      "         invar run scenarios/crane_hydraulics.toml -o out/crane --live");
  verb->callback([args, &context] { run_verb(*args, context); });
}

}  // namespace invar::cli
