// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "console.hpp"
#include "invar/io/hdf5.hpp"
#include "invar/io/output.hpp"

namespace invar::cli {
namespace {

std::string ending_text(LogReader::Ending ending, std::uint64_t byte) {
  switch (ending) {
    case LogReader::Ending::Complete: return "the log is complete";
    case LogReader::Ending::Damaged: return fmt::format("the log is damaged at byte {}; everything before it was kept", byte);
    default: return "the log has no end mark (the run was killed or is still going); everything recorded was kept";
  }
}

void report_verb(const std::string& directory, Context& context) {
  const Output output{directory};
  std::error_code trouble;
  if (!std::filesystem::is_directory(directory, trouble))
    return report({ErrorKind::File, "there is no such directory", directory}, context);
  if (!std::filesystem::exists(output.log(), trouble))
    return report({ErrorKind::File, "holds no run.log: not the output of a run", directory}, context);
  auto log = LogReader::open(output.log());
  if (!log) return report(log.error(), context);
  auto written = write_hdf5(*log, output.hdf5());
  if (!written) return report(written.error(), context);
  if (!context.quiet)
    fmt::print("{}: {} samples from {:g} s to {:g} s; {}\n", output.hdf5(), written->samples, written->from, written->to,
               ending_text(written->ending, log->position()));
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("report", "Write run.h5 from the log of a run, also after a kill (no HTML page yet)");
  auto directory = std::make_shared<std::string>();
  verb->add_option("directory", *directory, "Output directory of a run")->required();
  verb->footer("Example: invar report out/paper_a");
  verb->callback([directory, &context] { report_verb(*directory, context); });
}

}  // namespace invar::cli
