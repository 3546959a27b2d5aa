// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "console.hpp"
#include "invar/io/hdf5.hpp"
#include "invar/io/output.hpp"
#include "invar/report/page.hpp"

namespace invar::cli {
namespace {

std::string ending_text(LogReader::Ending ending, std::uint64_t byte) {
  switch (ending) {
    case LogReader::Ending::Complete: return "the log is complete";
    case LogReader::Ending::Damaged: return fmt::format("the log is damaged at byte {}; everything before it was kept", byte);
    default: return "the log has no end mark (the run was killed or is still going); everything recorded was kept";
  }
}

struct Arguments {
  std::vector<std::string> directories;
  std::string page;
};

// run.h5 anew, and what the log held.
bool rewrite(const std::string& directory, Context& context) {
  const Output output{directory};
  std::error_code trouble;
  if (!std::filesystem::is_directory(directory, trouble))
    return report({ErrorKind::File, "there is no such directory", directory}, context), false;
  if (!std::filesystem::exists(output.log(), trouble))
    return report({ErrorKind::File, "holds no run.log: not the output of a run", directory}, context), false;
  auto log = LogReader::open(output.log());
  if (!log) return report(log.error(), context), false;
  auto written = write_hdf5(*log, output.hdf5());
  if (!written) return report(written.error(), context), false;
  if (!context.quiet)
    fmt::print("{}: {} samples from {:g} s to {:g} s; {}\n", output.hdf5(), written->samples, written->from, written->to,
               ending_text(written->ending, log->position()));
  return true;
}

void report_verb(const Arguments& args, Context& context) {
  for (const std::string& directory : args.directories)
    if (!rewrite(directory, context)) return;
  if (args.page.empty() && viewer_page().empty()) return;
  const std::string page = args.page.empty() ? Output{args.directories[0]}.page() : args.page;
  if (auto written = write_report(args.directories, page); !written) return report(written.error(), context);
  if (!context.quiet) fmt::print("{}\n", page);
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand(
      "report",
      "Write run.h5 and report.html from the log of a run, also after a kill; of several runs one page to compare them");
  auto args = std::make_shared<Arguments>();
  verb->add_option("directories", args->directories, "Output directories of runs")->required()->expected(1, 8);
  verb->add_option("-o,--output", args->page, "The page; report.html in the first directory by default");
  verb->footer(
      "Examples: invar report out/paper_a\n"
      "          invar report out/before out/after -o out/both.html");
  verb->callback([args, &context] { report_verb(*args, context); });
}

}  // namespace invar::cli
