// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "serve/server.hpp"
#include "verbs.hpp"

namespace invar::cli {

struct ServeArguments {
  std::uint16_t port = 0;
  bool no_browser = false;
};

/// --port and --no-browser; `needed` is an option without which they mean nothing.
void add_serve_options(CLI::App& verb, ServeArguments& args, CLI::Option* needed = nullptr);

/// What shows the run in a directory while it grows.
Shown live_run(const std::string& directory);

/// Starts a server of which nobody knows yet. Fails where the program was built without the page, or the port is taken.
Result<std::unique_ptr<Server>> start_server(Shown shown, const ServeArguments& args);
/// Prints its address on stdout and opens a browser; whether one was opened.
bool announce(const Server& server, const ServeArguments& args);

}  // namespace invar::cli
