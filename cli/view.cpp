// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "console.hpp"
#include "invar/io/output.hpp"
#include "invar/report/page.hpp"
#include "serve/open.hpp"

namespace invar::cli {
namespace {

struct Arguments {
  std::vector<std::string> directories;
  ServeArguments serve;
};

// A run that is still going is followed; a comparison shows as much of it as there is.
Result<Shown> shown_of(const std::vector<std::string>& directories, const Context& context) {
  for (const std::string& directory : directories) {
    if (auto log = open_log(directory); !log) return tl::unexpected(log.error());
    if (!being_written(Output{directory}.log())) continue;
    if (directories.size() == 1) return live_run(directory);
    say(fmt::format("note: {}: the run is still going; shown as far as it has come", directory), context);
  }
  std::vector<std::string> notes;
  auto data = page_data(directories, {.notes = &notes});
  for (const std::string& note : notes) say("note: " + note, context);
  if (!data) return tl::unexpected(data.error());
  return Shown{std::move(*data), {}};
}

void view_verb(const Arguments& args, Context& context) {
  const std::atomic<bool>& stop = stop_on_signal();
  auto shown = shown_of(args.directories, context);
  if (!shown) return report(shown.error(), context);
  auto server = start_server(std::move(*shown), args.serve);
  if (!server) return report(server.error(), context);
  (*server)->log_begun();
  const bool browser = announce(**server, args.serve);
  if (unwritten() != 0 && !browser) return;  // nobody knows the address
  say("Ctrl-C ends", context);
  while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace

void add_view(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("view", "Show runs in the browser; one that is still going is followed");
  auto args = std::make_shared<Arguments>();
  verb->add_option("directories", args->directories, "Output directories of runs; several are compared")
      ->required()
      ->expected(1, 8);
  add_serve_options(*verb, args->serve);
  verb->footer(
      "Prints the address, opens the browser and serves until Ctrl-C, to this machine only.\n"
      "Example: invar view out/paper_a\n"
      "         invar view out/before out/after --port 8080 --no-browser");
  verb->callback([args, &context] { view_verb(*args, context); });
}

}  // namespace invar::cli
