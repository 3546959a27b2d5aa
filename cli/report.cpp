// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "console.hpp"
#include "invar/io/hdf5.hpp"
#include "invar/io/output.hpp"
#include "invar/io/result_json.hpp"
#include "invar/report/page.hpp"
#include "invar/report/picture.hpp"

namespace invar::cli {
namespace {

std::string ending_text(LogReader::Ending ending, std::uint64_t byte) {
  switch (ending) {
    case LogReader::Ending::Complete: return "the log is complete";
    case LogReader::Ending::Damaged: return fmt::format("the log is damaged at byte {}; everything before it was kept", byte);
    default:
      return "the log has no end mark (the run was killed, had no room left, or is still going); everything recorded was kept";
  }
}

struct Arguments {
  std::vector<std::string> directories;
  std::string page, picture;
  PictureOptions look;
  std::vector<double> from, size;
};

// run.h5 anew, and what the log held. Where something else was asked for, a directory that cannot be written to is no trouble.
bool rewrite(const std::string& directory, bool needed, Context& context) {
  const Output output{directory};
  auto log = open_log(directory);
  if (!log) return report(log.error(), context), false;
  auto written = write_hdf5(*log, output.hdf5());
  if (!written && !needed) return say("note: " + written.error().text(), context), true;
  if (!written) return report(written.error(), context), false;
  if (!context.quiet)
    print("{}: {} samples from {:g} s to {:g} s; {}\n", output.hdf5(), written->samples, written->from, written->to,
          ending_text(written->ending, log->position()));
  return true;
}

Result<void> write_picture(const Arguments& args) {
  PictureOptions look = args.look;
  if (args.from.size() == 3) look.from = Vec3(args.from[0], args.from[1], args.from[2]);
  if (look.from && !(look.from->norm() > 0)) return fail(ErrorKind::File, "--from is a direction, not zero", args.picture);
  if (args.size.size() == 2) look.width = static_cast<int>(args.size[0]), look.height = static_cast<int>(args.size[1]);
  auto png = picture_png(args.directories[0], look);
  return png ? write_text(args.picture, *png) : tl::unexpected(png.error());
}

bool is_one_of(const std::string& file, const std::vector<std::string>& others) {
  std::error_code trouble;
  const auto whole = [&](const std::string& path) { return std::filesystem::weakly_canonical(path, trouble); };
  return !file.empty() &&
         std::any_of(others.begin(), others.end(), [&](const std::string& o) { return whole(o) == whole(file); });
}

void report_verb(const Arguments& args, Context& context) {
  for (const std::string& file : {args.page, args.picture})
    for (const std::string& directory : args.directories)
      if (const Output output{directory}; is_one_of(file, {output.log(), output.hdf5(), output.result()}))
        return report({ErrorKind::File, "is part of the recording; choose another name", file}, context);
  const bool still_only = !args.picture.empty() && args.page.empty();
  for (const std::string& directory : args.directories)
    if (!still_only && !rewrite(directory, args.page.empty(), context)) return;
  if (!args.picture.empty()) {
    if (auto written = write_picture(args); !written) return report(written.error(), context);
    if (!context.quiet) print("{}\n", args.picture);
  }
  if (still_only || (args.page.empty() && viewer_page().empty())) return;
  const std::string page = args.page.empty() ? Output{args.directories[0]}.page() : args.page;
  std::vector<std::string> notes;
  if (auto written = write_report(args.directories, page, {.notes = &notes}); !written) return report(written.error(), context);
  for (const std::string& note : notes) say("note: " + note, context);
  if (!context.quiet) print("{}\n", page);
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand(
      "report",
      "Write run.h5 and report.html from the log of a run, also after a kill; of several runs one page to compare them");
  auto args = std::make_shared<Arguments>();
  verb->add_option("directories", args->directories, "Output directories of runs")->required()->expected(1, 8);
  verb->add_option("-o,--output", args->page, "The page; report.html in the first directory by default");
  verb->add_option("--png", args->picture,
                   "A still of the first run, rendered without display or browser; then a page only with -o");
  verb->add_option("--at", args->look.times, "Times of the still, s; the last by default")->needs("--png");
  verb->add_option("--strip", args->look.strip, "This many poses over the whole run in one picture")
      ->needs("--png")
      ->check(CLI::Range(1, 200));
  verb->add_option("--trace", args->look.traces, "Bodies whose centres of mass leave a line")->needs("--png");
  verb->add_option("--from", args->from, "Direction from which it is seen: x y z")->needs("--png")->expected(3);
  verb->add_flag("!--no-axes", args->look.axes, "Without the box, its grid and its numbers")->needs("--png");
  verb->add_option("--size", args->size, "Width and height, pixels")->needs("--png")->expected(2)->check(CLI::Range(16, 8000));
  verb->footer(
      "Example: invar report out/paper_a\n"
      "          invar report out/paper_a --png strip.png --strip 9 --trace body1 body5\n"
      "          invar report out/before out/after -o out/both.html");
  verb->callback([args, &context] { report_verb(*args, context); });
}

}  // namespace invar::cli
