// SPDX-License-Identifier: Apache-2.0
#include "serve/open.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>

#include <csignal>
#include <cstdio>

#include "invar/report/page.hpp"
#include "printed.hpp"

extern char** environ;

namespace invar::cli {
namespace {

// A session of its own: the Ctrl-C that ends us is not meant for the browser, and neither are our files, sockets and signals.
bool open_browser(const std::string& url) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t manner;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&manner);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  for (const int fd : {1, 2}) ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  sigset_t ours;
  ::sigemptyset(&ours);
  for (const int number : {SIGXFSZ, SIGPIPE}) ::sigaddset(&ours, number);
  ::posix_spawnattr_setsigdefault(&manner, &ours);
  ::posix_spawnattr_setflags(&manner, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
  std::string program = "xdg-open", address = url;
  char* const words[] = {program.data(), address.data(), nullptr};
  pid_t child = 0;
  const bool done = ::posix_spawnp(&child, program.c_str(), &files, &manner, words, environ) == 0;
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&manner);
  return done;
}

}  // namespace

void add_serve_options(CLI::App& verb, ServeArguments& args, CLI::Option* needed) {
  auto* port = verb.add_option("--port", args.port, "Port on 127.0.0.1; a free one by default")->check(CLI::Range(0, 65535));
  auto* quiet = verb.add_flag("--no-browser", args.no_browser, "Print the address only");
  if (needed != nullptr) port->needs(needed), quiet->needs(needed);
}

Shown live_run(const std::string& directory) {
  return {R"({"format": 1, "title": "", "live": true, "runs": []})", directory.empty() ? "." : directory};
}

Result<std::unique_ptr<Server>> start_server(Shown shown, const ServeArguments& args) {
  if (viewer_page().empty())
    return fail(ErrorKind::File, "this program was built without the viewer; see docs/dependencies.md", "viewer");
  return Server::start(std::move(shown), args.port);
}

bool announce(const Server& server, const ServeArguments& args) {
  print("{}\n", server.url());
  std::fflush(stdout);
  return !args.no_browser && open_browser(server.url());
}

}  // namespace invar::cli
