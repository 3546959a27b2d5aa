// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/places.hpp"

namespace invar::testing {

namespace {

// Redirections go through files: a pipe that nobody empties would block the child.
pid_t start(const std::vector<std::string>& command, const std::string& in, const std::string& out, const std::string& err) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int fds[] = {::open(in.c_str(), O_RDONLY), ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
                     ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600)};
  for (int i = 0; i < 3; ++i) ::dup2(fds[i], i);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

Ended run(const std::vector<std::string>& command, const std::string& input) {
  Folder folder;
  write_file(folder / "in", input);
  Ended ended;
  ended.code = wait_for(start(command, folder / "in", folder / "out", folder / "err"));
  ended.out = read_file(folder / "out");
  ended.err = read_file(folder / "err");
  return ended;
}

std::vector<std::string> with_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {binary_path("invar")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

Ended invar(const std::vector<std::string>& arguments, const std::string& input) { return run(with_program(arguments), input); }

pid_t start_invar(const std::vector<std::string>& arguments, const std::string& out, const std::string& err) {
  return start(with_program(arguments), "/dev/null", out, err);
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string model(const std::string& name) { return source_path("models/") + name + ".toml"; }
std::string scenario(const std::string& name) { return source_path("scenarios/") + name + ".toml"; }

std::string python(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"/usr/bin/python3", "-c", program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const Ended ended = run(command, {});
  return ended.code == 0 ? ended.out : "failed: " + ended.err;
}

}  // namespace invar::testing
