// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

#include "invar/io/build_info.hpp"
#include "invar/model/model.hpp"
#include "printed.hpp"
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
  add_learn(app, context);
  add_margin(app, context);
  add_calibrate(app, context);
  add_report(app, context);
  add_view(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help and --version
  } catch (const CLI::ParseError& e) {
    print_error("error: {}\n", complaint(app, e, argc, argv));
    return kBadInput;
  }
  return context.exit_code;
}

// A descriptor 0, 1 or 2 that the caller closed would be given to the first file that is opened, and words would end up in it: a
// place is held for it from which nothing can be read, or to which nothing can be written.
void occupy_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
}

// An answer that nobody got is an error; one that nobody wants any more (invar info M | head -1) ends like in other programs.
// Whoever interrupts a run may have gone with its terminal: it is interrupted all the same.
int with_answer_written(int code) {
  const int error = unwritten();
  if (error == 0) return code;
  if (error == EPIPE) return code != kFine ? code : 128 + SIGPIPE;
  print_error("error: stdout: the answer could not be written: {}\n", std::strerror(error));
  return code == kInterrupted ? code : kBadInput;
}

}  // namespace
}  // namespace invar::cli

int main(int argc, char** argv) {
  using namespace invar::cli;
  occupy_standard_streams();
  // A file that may not grow and a pipe that nobody reads are errors of a write like any other, not reasons to be killed.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  // Nothing of ours throws; what a library may throw ends here in one line.
  try {
    return with_answer_written(go(argc, argv));
  } catch (const std::bad_alloc&) {
    print_error("error: there is not enough memory for this\n");
  } catch (const std::length_error&) {
    print_error("error: there is not enough memory for this\n");
  } catch (const std::exception& e) {
    print_error("error: {}\n", e.what());
  } catch (...) {
    print_error("error: unexpected\n");
  }
  return kNumericsFailed;
}
