// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "console.hpp"
#include "invar/io/learn_file.hpp"
#include "invar/io/learned_file.hpp"

namespace invar::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string file, output;
  int threads = 0;
  bool json = false;
};

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json to_json(const LearnResult& r, const std::string& output) {
  Json out = {{"format", 1},
              {"file", output},
              {"learned", r.learned.learned},
              {"interrupted", r.interrupted},
              {"samples", r.learned.from.samples},
              {"columns", r.labels.size()},
              {"training_error", number(r.fit.training)},
              {"held_out_error", number(r.fit.held_out)},
              {"held_out_error_identified", number(r.identified)},
              {"noise", number(r.fit.noise)},
              {"undetermined", r.learned.undetermined},
              {"notes", r.learned.notes}};
  Json& columns = out["coefficients"] = Json::array();
  for (std::size_t k = 0; k < r.labels.size(); ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    columns.push_back({{"of", r.labels[k]},
                       {"unit", r.units[k]},
                       {"value", number(r.fit.coefficients[i])},
                       {"deviation", number(r.fit.deviations[i])},
                       {"kept", static_cast<bool>(r.fit.kept[k])}});
  }
  return out;
}

void print_result(const LearnResult& r, const std::string& output, const Context& context) {
  const Provenance& from = r.learned.from;
  print("{} samples of {} runs, {} held out; {} columns\n", from.samples, from.training.size(), from.held_out.size(),
        r.labels.size());
  print("  what runs that were held out leave over, in parts of what the model leaves over\n");
  print("    {:<34} {:>8.3f}\n", "nothing learned", 1.0);
  if (r.identified < 1) print("    {:<34} {:>8.3f}\n", "inertias and joints alone", r.identified);
  print("    {:<34} {:>8.3f}\n", "all terms", r.fit.held_out);
  for (const std::string& words : r.learned.undetermined) print("  not determined: {}\n", words);
  for (const std::string& words : r.learned.notes) print("  note: {}\n", words);
  if (context.verbose)
    for (std::size_t k = 0; k < r.labels.size(); ++k) {
      const auto i = static_cast<Eigen::Index>(k);
      print("    {:<52} {:>12.5g} ± {:<10.2g} {}\n", r.labels[k], r.fit.coefficients[i], r.fit.deviations[i], r.units[k]);
    }
  print("{}: {} edits of the model, {} terms of a load\n", output, r.learned.edits.size(), r.learned.terms.size());
}

void learn_verb(const Arguments& args, Context& context) {
  std::vector<std::string> warnings;
  auto file = read_learn_file(args.file, &warnings);
  warn(warnings, context);
  if (!file) return report(file.error(), context);
  if (!args.output.empty()) file->output = args.output;
  ProgressLine line(context);
  const auto began = std::chrono::steady_clock::now();
  LearnSpec& spec = file->spec;
  spec.threads = args.threads > 0 ? args.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  spec.stop = &stop_on_signal();
  // Time left is that of the present stage.
  std::string stage;
  auto stage_began = began;
  spec.progress = [&](const std::string& doing, double part) {
    const auto now = std::chrono::steady_clock::now();
    const std::string word = doing.substr(0, doing.find(','));
    if (word != stage) stage = word, stage_began = now;
    Progress p;
    p.t = part, p.end = 1, p.wall = std::chrono::duration<double>(now - stage_began).count();
    line.show(p, doing);
  };
  auto result = learn(file->nominal, *file->model, file->data, spec, file->actuators);
  line.clear();
  if (!result) {
    Error error = result.error();
    if (error.where.empty()) error.where = args.file;
    report(error, context);
    if (*spec.stop) context.exit_code = kInterrupted;
    return;
  }
  if (auto written = write_learned_file(file->output, result->learned); !written) return report(written.error(), context);
  if (args.json)
    print_json(to_json(*result, file->output));
  else
    print_result(*result, file->output, context);
  if (result->interrupted) context.exit_code = kInterrupted;
}

}  // namespace

void add_learn(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("learn", "Learn what acts beyond a model from recorded motion");
  auto args = std::make_shared<Arguments>();
  verb->add_option("file", args->file, "What to learn, from which data (TOML, docs/learning.md)")->required();
  verb->add_option("-o,--output", args->output, "Where the learned model goes; default: as the file says, or FILE.learned.json");
  verb->add_option("--threads", args->threads, "Threads; default: all. Results are the same to the bit")
      ->check(CLI::Range(1, 1024));
  verb->add_flag("--json", args->json, "Print all coefficients with their deviations as JSON");
  verb->footer(
      "Ctrl-C ends early and keeps what was learned until then. -v prints all coefficients.\n"
      "Example: invar learn arm.toml -o arm.learned.json\n"
      "Example: invar learn arm.toml --json | jq '.coefficients[] | select(.of | startswith(\"mass\"))'");
  verb->callback([args, &context] { learn_verb(*args, context); });
}

}  // namespace invar::cli
