// SPDX-License-Identifier: Apache-2.0
#include "invar/run/run.hpp"

#include <fmt/format.h>

#include <cmath>

#include "console.hpp"
#include "invar/io/hdf5.hpp"
#include "invar/io/output.hpp"
#include "invar/io/regular_file.hpp"
#include "invar/io/result_json.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/report/page.hpp"
#include "invar/report/scene.hpp"
#include "serve/open.hpp"
#include "weight.hpp"

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

// A run leaves the files alone that it was read from, whatever they are called and however hard it is told to write.
Result<void> spare_inputs(const FilesRead& read, const std::string& directory) {
  const Output output{directory};
  return not_an_input({output.log(), output.hdf5(), output.result(), output.page()}, read.paths());
}

// A recording that will be large is told, and one that will not fit is refused, before anything is touched.
Result<void> weigh(const Scenario& scenario, const Weight& weight, const std::string& directory, const Context& context) {
  if (const double free = free_bytes(directory); weight.log + weight.hdf5 > free)
    return fail(ErrorKind::Scenario,
                fmt::format("the run would record {}, but {} are free in {}; record less often, or less of it ([record] every, "
                            "what)",
                            weight.text(), size_text(free), directory),
                recording_place(scenario));
  if (weight.large()) warn({large_warning(scenario, weight)}, context);
  return {};
}

// What was written, and the first thing that was not.
struct Results {
  std::vector<std::string> written;
  Result<void> all = {};

  void add(const std::string& file, const Result<void>& result) {
    if (result)
      written.push_back(file);
    else if (all)
      all = result;
  }
};

// result.json first: it is small, and nothing of it depends on the others. Then run.h5, and report.html, which shows both.
Results write_results(const Scenario& scenario, const Outcome& outcome, const Output& output) {
  Results out;
  out.written.push_back(output.log());
  out.add(output.result(), write_text(output.result(), result_json(scenario, outcome)));
  if (outcome.unrecorded) {
    out.all = tl::unexpected(*outcome.unrecorded);
    return out;
  }
  auto log = LogReader::open(output.log());
  auto hdf5 = log ? write_hdf5(*log, output.hdf5()) : tl::unexpected(log.error());
  out.add(output.hdf5(), hdf5 ? Result<void>() : tl::unexpected(hdf5.error()));
  if (!viewer_page().empty()) out.add(output.page(), write_report({output.directory}, output.page()));
  return out;
}

// What did not hold of a certificate, in one sentence with the assumption that broke first; empty where nothing did.
std::string broken_assumptions(const ControlAccount& control) {
  const std::vector<Clause>& clauses = control.certificate.clauses();
  const Clause* first = nullptr;
  std::size_t broken = 0;
  for (const Clause& c : clauses) {
    if (std::isnan(c.first)) continue;
    ++broken;
    if (!first || c.first < first->first) first = &c;
  }
  if (!first) return {};
  return fmt::format("controller '{}': {} of {} assumptions of its certificate did not hold, {} first, at {:g} s", control.name,
                     broken, clauses.size(), first->name, first->first);
}

void print_outcome(const Scenario& scenario, const Outcome& outcome, const Results& results, Context& context) {
  if (outcome.unrecorded) {
    // said last, with what was written
  } else if (outcome.end == Outcome::End::Failed) {
    print_error("error: {}: {}\n", scenario.path, outcome.words);
    context.exit_code = kNumericsFailed;
  } else if (outcome.end == Outcome::End::Interrupted) {
    print_error("interrupted: the recording ends where the run was stopped\n");
    context.exit_code = kInterrupted;
  } else if (!outcome.laws_held()) {
    context.exit_code = kLawBroken;
  }
  for (const LawResult& law : outcome.laws)
    if (!context.quiet || !law.held) print("{}\n", law.text());
  // Said whatever the scenario states, and to whoever asked for quiet, too.
  if (!outcome.unresolved.empty()) print_error("warning: {}: {}\n", scenario.path, outcome.unresolved);
  for (const std::string& note : outcome.notes) say("note: " + note, context);
  for (const ControlAccount& c : outcome.control)
    if (const std::string broken = broken_assumptions(c); !broken.empty()) say("note: " + broken, context);
  if (context.verbose)
    for (const Metric& m : outcome.metrics) print("  {:<28} {:.6g} {}\n", m.name, m.value, m.unit);
  const std::string wrote = fmt::format("{}", fmt::join(results.written, ", "));
  if (results.all && !context.quiet)
    print("{}: {} in {:.2f} s; wrote {}\n", scenario.name, status_word(outcome), outcome.wall, wrote);
  if (results.all) return;
  Error error = results.all.error();
  error.what += fmt::format("; the run is {} and wrote {}", status_word(outcome), wrote);
  report(error, context);
}

// Runs, records and judges; a server may look on.
void run_into(const Output& output, const Scenario& scenario, Server* server, Context& context) {
  std::vector<std::string> warnings;
  LogWriter log(output.log(), scene_json(scenario, &warnings));
  warn(warnings, context);
  AnnouncedLog announced(log, server);
  ProgressLine line(context);
  const std::size_t wanted = result_room(scenario);
  KeptRoom room(output.directory, wanted);
  if (room.bytes() < wanted)
    warn({fmt::format("{}: {} of {} are kept free for result.json; where the disk fills up it may be lost", output.directory,
                      size_text(static_cast<double>(room.bytes())), size_text(static_cast<double>(wanted)))},
         context);
  RunOptions options;
  options.sink = &announced;
  options.stop = &stop_on_signal();
  options.progress = [&](const Progress& p) { line.show(p); };
  auto outcome = run(scenario, options);
  line.clear();
  room.release();
  if (!outcome) return report(outcome.error(), context);
  print_outcome(scenario, *outcome, write_results(scenario, *outcome, output), context);
}

void run_verb(const Arguments& args, Context& context) {
  std::vector<std::string> warnings;
  const FilesRead read;
  auto scenario = read_scenario_file(args.scenario, &warnings);
  warn(warnings, context);
  if (!scenario) return report(scenario.error(), context);
  // What is refused before the first step, or a port that is taken, must not cost the output of an earlier run.
  const auto foreseen = check(*scenario);
  if (!foreseen) return report(foreseen.error(), context);
  if (auto fine = spare_inputs(read, args.output); !fine) return report(fine.error(), context);
  if (auto fits = weigh(*scenario, Weight(*foreseen), args.output, context); !fits) return report(fits.error(), context);
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
  unwritten();  // to whoever waits for it, before pages are waited for
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
      "Ctrl-C (or SIGTERM, SIGHUP) ends the run after the current step and writes everything (exit code 130). After kill -9: "
      "invar report DIR.\n"
      "With --live the program ends when the pages that look on have got everything; a slow page never slows the run.\n"
      "Example: invar run scenarios/paper_a_open_loop.toml -o out/paper_a\n"
      "         invar run scenarios/crane_hydraulics.toml -o out/crane --live");
  verb->callback([args, &context] { run_verb(*args, context); });
}

}  // namespace invar::cli
