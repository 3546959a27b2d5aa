// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "advise.hpp"
#include "console.hpp"
#include "invar/io/json_number.hpp"
#include "invar/io/learn_file.hpp"
#include "invar/io/learned_file.hpp"
#include "invar/io/output.hpp"
#include "invar/io/regular_file.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/report/learn_page.hpp"
#include "invar/report/page.hpp"
#include "stale_bound.hpp"

namespace invar::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string file, output, page;
  WorthOptions worth;
  AdviseArguments advise;
  int threads = 0;
  bool json = false, compare = true;
};

Json to_json(const Worth& worth) {
  Json out = {{"judged_on", worth.judges}, {"strengths_chosen_there", worth.held_out_judged}, {"interrupted", worth.interrupted}};
  if (!worth.contenders.empty()) out["advice"] = advice(worth);
  Json& contenders = out["contenders"] = Json::array();
  for (const Contender& c : worth.contenders) {
    Json curve = Json::array();
    for (const Errors& e : c.curve)
      curve.push_back(
          {{"samples", e.samples}, {"error", number_or_null(e.unseen)}, {"regression", number_or_null(e.regression)}});
    contenders.push_back({{"name", c.name},
                          {"how", c.how},
                          {"columns", c.curve.back().columns},
                          {"curve", curve},
                          {"turned_worlds", number_or_null(c.curve.back().turned)}});
  }
  return out;
}

Json to_json(const LearnResult& r, const std::string& output) {
  Json out = {{"format", 1},
              {"file", output},
              {"learned", r.learned.learned},
              {"interrupted", r.interrupted},
              {"samples", r.learned.from.samples},
              {"columns", r.labels.size()},
              {"training_error", number_or_null(r.fit.training)},
              {"held_out_error", number_or_null(r.fit.held_out)},
              {"held_out_error_as_written", r.held_out.empty() ? Json() : number_or_null(r.written)},
              {"held_out_error_identified", r.held_out.empty() ? Json() : number_or_null(r.identified)},
              {"noise", number_or_null(r.fit.noise)},
              {"undetermined", r.learned.undetermined},
              {"notes", r.learned.notes}};
  Json& columns = out["coefficients"] = Json::array();
  for (std::size_t k = 0; k < r.labels.size(); ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    columns.push_back({{"of", r.labels[k]},
                       {"unit", r.units[k]},
                       {"value", number_or_null(r.fit.coefficients[i])},
                       {"deviation", number_or_null(r.fit.deviations[i])},
                       {"kept", static_cast<bool>(r.fit.kept[k])}});
  }
  return out;
}

// One line per contender, one column per number of samples.
void print_worth(const Worth& worth) {
  print("  what unseen runs leave over, in parts of what the model leaves over\n    {:<34}", "samples fitted");
  for (const Errors& e : worth.contenders.front().curve) print(" {:>8}", e.samples);
  print(" {:>14}\n", "turned Worlds");
  for (const Contender& c : worth.contenders) {
    print("    {:<34}", c.name);
    for (std::size_t k = 0; k < worth.contenders.front().curve.size(); ++k)
      print(" {:>8}", k < c.curve.size() ? fmt::format("{:.3f}", c.curve[k].unseen) : "-");
    print(" {:>14}\n", std::isfinite(c.curve.back().turned) ? fmt::format("{:.3f}", c.curve.back().turned) : "-");
  }
  for (const Contender& c : worth.contenders)
    if (!c.how.empty()) print("  {}: {}\n", c.name, c.how);
  if (worth.held_out_judged)
    print("  judged on the runs on which strengths were chosen, so a little too good: name runs with judges = true\n");
  print("  {}\n", advice(worth));
}

// Empty where there will be none; without a name beside the learned model, as FILE.html.
std::string page_of(const Arguments& args, const std::string& output) {
  if (!args.compare || (args.page.empty() && viewer_page().empty())) return {};
  return args.page.empty() ? std::filesystem::path(output).replace_extension(".html").string() : args.page;
}

// A recording is all that its run left behind, by whatever of it is named.
void add_recording(const std::string& input, std::vector<std::string>& files) {
  const std::filesystem::path path(input);
  std::error_code ignored;
  const bool whole = std::filesystem::is_directory(path, ignored);
  if (!whole && path.filename() != "run.log" && path.filename() != "run.h5") return;
  const Output left{.directory = whole ? input : path.has_parent_path() ? path.parent_path().string() : "."};
  files.insert(files.end(), {left.log(), left.hdf5(), left.result(), left.page()});
}

// What the scenario of --advise reads; the learned model that is written anew, which its loop may take already, is no input.
std::vector<std::string> read_for_advice(const std::string& scenario, const std::string& output) {
  if (scenario.empty()) return {};
  const FilesRead read;
  (void)read_scenario_file(scenario);
  std::vector<std::string> out = read.paths();
  std::error_code ignored;
  if (read_learned_file(output))
    std::erase_if(out, [&](const std::string& path) { return std::filesystem::equivalent(path, output, ignored); });
  out.push_back(scenario);
  return out;
}

// What is read here is not written over, and two outputs are two files.
Result<void> no_input_is_overwritten(const Arguments& args, const LearnFile& file) {
  namespace fs = std::filesystem;
  std::vector<std::string> outputs = {file.output}, inputs = file.inputs;
  for (const std::string& input : file.inputs) add_recording(input, inputs);
  if (const std::string page = page_of(args, file.output); !page.empty()) outputs.push_back(page);
  for (const std::string& input : read_for_advice(args.advise.scenario, file.output)) inputs.push_back(input);
  if (auto fine = not_an_input(outputs, inputs); !fine) return fine;
  std::error_code ignored;
  if (outputs.size() > 1 && fs::weakly_canonical(outputs[0], ignored) == fs::weakly_canonical(outputs[1], ignored))
    return fail(
        ErrorKind::Option,
        "the page and the learned model would be the same file: name another one with -o or --page, or leave the page out "
        "with --no-compare",
        outputs[1]);
  return {};
}

// What is written is judged; the regression may explain more.
void print_errors(const LearnResult& r) {
  const bool held_out = !r.held_out.empty();
  print("  what {} leave over, in parts of what the model leaves over\n",
        held_out ? "runs that were held out" : "training runs (none were held out)");
  print("    {:<34} {:>8.3f}\n", "nothing learned", 1.0);
  if (r.identified < 1) print("    {:<34} {:>8.3f}\n", "inertias and joints alone", r.identified);
  print("    {:<34} {:>8.3f}\n", "all terms", r.written);
  print("    {:<34} {:>8.3f}\n", "all terms, before they are written", held_out ? r.fit.held_out : r.fit.training);
}

void print_result(const LearnResult& r, const Worth& worth, const std::string& output, const Context& context) {
  const Provenance& from = r.learned.from;
  print("{} samples of {} runs, {} held out; {} columns\n", from.samples, from.training.size(), from.held_out.size(),
        r.labels.size());
  if (worth.contenders.size() > 1)
    print_worth(worth);
  else
    print_errors(r);
  for (const std::string& words : r.learned.undetermined) print("  not determined: {}\n", words);
  for (const std::string& words : r.learned.notes) print("  note: {}\n", words);
  if (context.verbose)
    for (std::size_t k = 0; k < r.labels.size(); ++k) {
      const auto i = static_cast<Eigen::Index>(k);
      print("    {:<52} {:>12.5g} ± {:<10.2g} {}\n", r.labels[k], r.fit.coefficients[i], r.fit.deviations[i], r.units[k]);
    }
  print("{}: {} edits of the model, {} terms of a load\n", output, r.learned.edits.size(), r.learned.terms.size());
}

// The learned model is there by now: what goes wrong here costs the comparison and its page only.
Worth compare(const Arguments& args, const LearnFile& file, const LearnResult& result, Context& context) {
  if (!args.compare || result.interrupted || !result.learned.learned || result.held_out.empty()) return {};
  auto worth = worth_of(file.nominal, *file.model, file.data, file.spec, result, args.worth, file.actuators);
  if (worth) return std::move(*worth);
  say("note: no comparison: " + worth.error().text(), context);
  return {};
}

int threads_of(const Arguments& args) {
  return args.threads > 0 ? args.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// Which loop to take on a scenario: printed, or beside what JSON has before.
Result<void> advise(const Arguments& args, const Learned& learned, const std::string& path, Json& json, Context& context) {
  AdviseArguments about = args.advise;
  about.threads = threads_of(args);
  const auto advised = advise_on(about, learned, path, context);
  if (!advised) return tl::unexpected(advised.error());
  if (args.json)
    json["loops"] = to_json(*advised);
  else
    print_advice(*advised);
  if (advised->advice.interrupted) context.exit_code = kInterrupted;
  return {};
}

void advise_on_file(const Arguments& args, Context& context) {
  if (args.advise.scenario.empty())
    return report({ErrorKind::Option, "is a learned model: say with --advise SCENARIO which loop it is for", args.file}, context);
  const auto learned = read_learned_file(args.file);
  if (!learned) return report(learned.error(), context);
  Json json = {{"format", 1}, {"file", args.file}};
  if (const auto done = advise(args, *learned, args.file, json, context); !done) return report(done.error(), context);
  if (args.json) print_json(json);
}

Result<void> make_page(const Arguments& args, const LearnResult& result, const Worth& worth, const std::string& output) {
  const std::string page = page_of(args, output);
  if (worth.contenders.size() <= 1 || page.empty()) return {};
  const std::string title = "Learned: " + std::filesystem::path(args.file).stem().string();
  if (auto made = write_learn_page(result, worth, title, page); !made) return made;
  if (!args.json) print("{}\n", page);
  return {};
}

// What was learned is told in any case; an error of the page or of the advice comes after it.
void tell(const Arguments& args, const LearnResult& result, const Worth& worth, const std::string& output, Context& context) {
  Json json = to_json(result, output);
  if (worth.contenders.size() > 1) json["comparison"] = to_json(worth);
  if (!args.json) print_result(result, worth, output, context);
  const auto page = make_page(args, result, worth, output);
  Result<void> advised;
  if (!args.advise.scenario.empty() && !result.interrupted && !worth.interrupted)
    advised = advise(args, result.learned, output, json, context);
  if (args.json) print_json(json);
  for (const Result<void>& done : {page, advised})
    if (!done) report(done.error(), context);
}

// A bound belongs to one learned model: learned again to the last digit, it keeps the one that its file has.
void keep_bound(Learned& learned, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  auto before = read_learned_file(path);
  if (!before) return;
  // Learned again to the last digit, it still wants to be calibrated where it did before.
  const bool stale = std::erase(before->notes, kStaleBound) > 0;
  if (!before->bound) {
    if (stale) learned.notes.push_back(kStaleBound);
    return;
  }
  Learned same = learned;
  same.bound = before->bound, same.bound_loop = before->bound_loop, same.largest_remainder = before->largest_remainder;
  if (write_learned(same) == write_learned(*before))
    learned = std::move(same);
  else
    learned.notes.push_back(kStaleBound);
}

void learn_verb(const Arguments& args, Context& context) {
  if (args.file.ends_with(".json")) return advise_on_file(args, context);
  std::vector<std::string> warnings;
  auto file = read_learn_file(args.file, &warnings);
  warn(warnings, context);
  if (!file) return report(file.error(), context);
  if (!args.output.empty()) file->output = args.output;
  if (auto free = no_input_is_overwritten(args, *file); !free) return report(free.error(), context);
  ProgressLine line(context);
  const auto began = std::chrono::steady_clock::now();
  LearnSpec& spec = file->spec;
  spec.threads = threads_of(args);
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
  if (!result) {
    line.clear();
    Error error = result.error();
    if (error.where.empty()) error.where = args.file;
    report(error, context);
    if (*spec.stop) context.exit_code = kInterrupted;
    return;
  }
  keep_bound(result->learned, file->output);
  auto written = write_learned_file(file->output, result->learned);
  const Worth worth = written ? compare(args, *file, *result, context) : Worth{};
  line.clear();
  if (!written) return report(written.error(), context);
  tell(args, *result, worth, file->output, context);
  if (result->interrupted || worth.interrupted) context.exit_code = kInterrupted;
}

}  // namespace

void add_learn(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("learn", "Learn what acts beyond a model from recorded motion");
  auto args = std::make_shared<Arguments>();
  verb->add_option("file", args->file,
                   "What to learn, from which data (TOML, docs/learning.md); with --advise also a learned model (.json)")
      ->required();
  verb->add_option("-o,--output", args->output, "Where the learned model goes; default: as the file says, or FILE.learned.json");
  verb->add_option("--threads", args->threads, "Threads; default: all. Results are the same to the bit")
      ->check(CLI::Range(1, 1024));
  verb->add_option("--page", args->page, "Where the page goes; default: beside the learned model, .html");
  verb->add_flag("!--no-compare", args->compare, "Learn only: no comparison, no page")->excludes("--page");
  verb->add_option("--raw", args->worth.raw, "How many ways to learn from World components are tried beside, 0 to 34")
      ->check(CLI::Range(0, 34))
      ->capture_default_str();
  verb->add_option("--points", args->worth.points, "Points of every learning curve at most")
      ->check(CLI::Range(1, 20))
      ->capture_default_str();
  verb->add_option(
      "--advise", args->advise.scenario,
      "Scenario of laws I to III on which contenders are tried: nothing, integral action, observer, both; the same with\n"
      "what was identified, and with what was learned; gains searched for each, all with the same margin");
  verb->add_option("--controller", args->advise.controller, "Which one of that scenario, where it has several")
      ->needs("--advise");
  verb->add_option("--budget", args->advise.budget, "Candidates per contender at most")
      ->needs("--advise")
      ->check(CLI::Range(4, 1000))
      ->capture_default_str();
  verb->add_option("--after", args->advise.after, "Settling time that errors are not judged in, s; default: half of the run")
      ->needs("--advise")
      ->check(no_negative_number());
  verb->add_flag("--json", args->json, "Print all coefficients with their deviations as JSON");
  verb->footer(
      "The learned model is written first. Then the same data are explained by less and by functions of World components, over\n"
      "how many samples, and in turned Worlds: a table, and a page. Ctrl-C ends early and keeps what was found until then.\n"
      "-v prints all coefficients.\n"
      "Example: invar learn arm.toml -o arm.learned.json\n"
      "Example: invar learn arm.toml --raw 34 --page arm.html\n"
      "Example: invar learn arm.learned.json --advise scenario.toml --budget 90\n"
      "Example: invar learn arm.toml --no-compare --json | jq '.coefficients[] | select(.of | startswith(\"mass\"))'");
  verb->callback([args, &context] { learn_verb(*args, context); });
}

}  // namespace invar::cli
