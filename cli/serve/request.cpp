// SPDX-License-Identifier: Apache-2.0
#include "serve/request.hpp"

#include <fmt/format.h>

#include <cctype>
#include <optional>
#include <string>

namespace invar::cli {
namespace {

Answer refusal(unsigned status, std::string_view why) { return {status, Answer{}.type, why}; }

std::optional<int> hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return {};
}

// The path of a target, %XX resolved; nothing where it is none, or one that climbs.
std::optional<std::string> path_of(std::string_view target) {
  std::string out;
  target = target.substr(0, target.find('?'));
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] != '%') {
      out += target[i];
      continue;
    }
    if (i + 2 >= target.size()) return {};
    const auto high = hex(target[i + 1]), low = hex(target[i + 2]);
    if (!high || !low) return {};
    out += static_cast<char>(16 * *high + *low);
    i += 2;
  }
  if (out.empty() || out[0] != '/' || out.find("..") != std::string::npos) return {};
  return out;
}

bool same_name(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(a[i])) != std::tolower(static_cast<unsigned char>(b[i]))) return false;
  return true;
}

bool own_host(std::string_view host, std::uint16_t port) {
  for (const char* name : {"127.0.0.1", "localhost"})
    if (same_name(host, fmt::format("{}:{}", name, port)) || (port == 80 && same_name(host, name))) return true;
  return false;
}

bool own_origin(std::string_view origin, std::uint16_t port) {
  constexpr std::string_view kScheme = "http://";
  return origin.substr(0, kScheme.size()) == kScheme && own_host(origin.substr(kScheme.size()), port);
}

}  // namespace

Answer answer_to(const Request& request, const Offer& offer) {
  const auto path = path_of(request.target);
  if (!path) return refusal(400, "this is no path\n");
  if (!own_host(request.host, offer.port)) return refusal(403, "this server answers to 127.0.0.1 and localhost only\n");
  if (!request.origin.empty() && !own_origin(request.origin, offer.port))
    return refusal(403, "this server answers to its own page only\n");
  if (request.method != "GET" && request.method != "HEAD") return refusal(405, "GET and HEAD only\n");
  if (request.body) return refusal(413, "nothing can be sent here\n");
  if (*path == "/") return {200, "text/html; charset=utf-8", offer.page};
  if (*path == "/data.json") return {200, "application/json; charset=utf-8", offer.data};
  if (*path != "/live" || !offer.live) return refusal(404, "there is no such thing here\n");
  if (!request.upgrade) return refusal(426, "this is a WebSocket\n");
  Answer answer;
  answer.stream = true;
  return answer;
}

}  // namespace invar::cli
