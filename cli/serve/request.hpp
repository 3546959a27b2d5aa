// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace invar::cli {

/// What of a request the server looks at.
struct Request {
  std::string_view method, target;
  std::string_view host;    ///< empty where there is none, or more than one
  std::string_view origin;  ///< of the page that asks; empty where there is none
  bool body = false;        ///< something follows the header
  bool upgrade = false;     ///< to a WebSocket
};

/// What there is to ask for. The texts outlive the server's connections.
struct Offer {
  std::string_view page, data;
  bool live = false;
  std::uint16_t port = 0;
};

struct Answer {
  unsigned status = 200;
  std::string_view type = "text/plain; charset=utf-8";
  std::string_view text;
  bool stream = false;  ///< not a text: the WebSocket of a live run
};

/// The answer to a request. The server reads no file by name and changes nothing, so what is left to guard are the data: only
/// pages of its own may read them. A browser tells by `Origin` whose page asks, and by `Host` which name it believes to have
/// resolved: names of others that lead to this machine (DNS rebinding) are refused like foreign pages.
Answer answer_to(const Request& request, const Offer& offer);

}  // namespace invar::cli
