// SPDX-License-Identifier: Apache-2.0
#include "invar/report/packed.hpp"

#include <zlib.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "invar/base/check.hpp"

namespace invar {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int kRaw = -15;  // deflate without a frame around it
static_assert(std::endian::native == std::endian::little, "bytes are shuffled as they lie");

std::string shuffled(std::span<const double> numbers) {
  const std::size_t n = numbers.size();
  std::string out(8 * n, '\0');
  for (std::size_t i = 0; i < n; ++i) {
    char bytes[8];
    std::memcpy(bytes, &numbers[i], 8);
    for (std::size_t k = 0; k < 8; ++k) out[k * n + i] = bytes[k];
  }
  return out;
}

std::string deflated(const std::string& in) {
  z_stream z{};
  constexpr int kMemory = 8;
  INVAR_CHECK(deflateInit2(&z, Z_BEST_SPEED + 5, Z_DEFLATED, kRaw, kMemory, Z_DEFAULT_STRATEGY) == Z_OK, "zlib begins");
  std::string out(deflateBound(&z, static_cast<uLong>(in.size())), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  const int end = deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  INVAR_CHECK(end == Z_STREAM_END, "zlib ends");
  return out;
}

// Letters that are none end the text.
std::string from_base64(std::string_view text) {
  std::string out;
  unsigned bits = 0;
  int held = 0;
  for (const char c : text) {
    const std::size_t six = kLetters.find(c);
    if (six == std::string_view::npos) break;
    bits = (bits << 6 | static_cast<unsigned>(six)) & 0xffffu;
    held += 6;
    if (held >= 8) held -= 8, out += static_cast<char>(bits >> held & 255u);
  }
  return out;
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    unsigned three = 0;
    for (std::size_t k = 0; k < 3; ++k) three = three << 8 | (k < left ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= left ? kLetters[three >> (18 - 6 * k) & 63u] : '=';
  }
  return out;
}

std::string packed(std::span<const double> numbers) { return base64(deflated(shuffled(numbers))); }

nlohmann::ordered_json packed_json(std::span<const double> numbers) { return {{"n", numbers.size()}, {"b", packed(numbers)}}; }

std::vector<double> unpacked(const nlohmann::ordered_json& array) {
  if (!array.is_object() || !array.contains("n") || !array["n"].is_number_unsigned() || !array.contains("b") ||
      !array["b"].is_string())
    return {};
  const std::string in = from_base64(array["b"].get_ref<const std::string&>());
  const std::size_t n = array["n"];
  // Deflate makes at most 1032 of one byte: a number that promises more is not believed.
  if (n > 129 * in.size()) return {};
  std::string bytes(8 * n + 1, '\0');
  z_stream z{};
  INVAR_CHECK(inflateInit2(&z, kRaw) == Z_OK, "zlib begins");
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(bytes.data());
  z.avail_out = static_cast<uInt>(bytes.size());
  const int end = inflate(&z, Z_FINISH);
  const bool whole = end == Z_STREAM_END && z.total_out == 8 * n;
  inflateEnd(&z);
  if (!whole) return {};
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    char eight[8];
    for (std::size_t k = 0; k < 8; ++k) eight[k] = bytes[k * n + i];
    std::memcpy(&out[i], eight, 8);
  }
  return out;
}

}  // namespace invar
