// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "invar/io/build_info.hpp"
#include "invar/model/model.hpp"
#include "verbs.hpp"

namespace invar::cli {
namespace {

std::string version_text() {
  const BuildInfo info = build_info();
  return fmt::format("invar {}\ncompiler  {}\nbuild     {} ({})\nwith      Eigen {}, HDF5 {}", info.version, info.compiler,
                     INVAR_BUILD_FLAGS, info.flags, info.eigen, info.hdf5);
}

// What is wrong with the command line and where to read on. An unknown verb is what the parser calls a missing one.
std::string complaint(CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  for (const CLI::App* verb : app.get_subcommands())
    return fmt::format("{} (see invar {} --help)", error.what(), verb->get_name());
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) verbs.push_back(verb->get_name());
  for (int i = 1; i < argc; ++i)
    if (const std::string word = argv[i]; !word.empty() && word[0] != '-') {
      const std::string guess = did_you_mean(word, verbs);
      return fmt::format("there is no verb '{}'{} (see invar --help)", word,
                         guess.empty() ? fmt::format("; there are {}", fmt::join(verbs, ", ")) : guess);
    }
  return fmt::format("{} (see invar --help)", error.what());
}

int go(int argc, char** argv) {
  CLI::App app("Invar: multibody mechanisms in motion that keep their laws.", "invar");
  Context context;
  app.set_version_flag("--version", version_text, "Version, compiler and build flags");
  app.add_flag("-q,--quiet", context.quiet, "Print nothing but results and errors");
  app.add_flag("-v,--verbose", context.verbose, "Print more on the way");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Exit codes: 0 fine, 1 a stated law was broken, 2 bad input, 3 the numerics failed, 130 interrupted.\n"
      "Example: invar run scenarios/pendulum.toml -o out/pendulum");
  add_check(app, context);
  add_info(app, context);
  add_eval(app, context);
  add_equilibrium(app, context);
  add_modes(app, context);
  add_stiffness(app, context);
  add_run(app, context);
  add_compare(app, context);
  add_report(app, context);
  add_view(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help and --version
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "error: {}\n", complaint(app, e, argc, argv));
    return kBadInput;
  }
  return context.exit_code;
}

}  // namespace
}  // namespace invar::cli

int main(int argc, char** argv) {
  // A file that may not grow is an error of a write like any other, not a reason to be killed.
  std::signal(SIGXFSZ, SIG_IGN);
  // Nothing of ours throws; what a library may throw (no memory) ends here in one line.
  try {
    const int code = invar::cli::go(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    fmt::print(stderr, "error: stdout: the answer could not be written\n");
    return invar::cli::kBadInput;
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
  } catch (...) {
    fmt::print(stderr, "error: unexpected\n");
  }
  return invar::cli::kNumericsFailed;
}
