// SPDX-License-Identifier: Apache-2.0
#include "invar/report/packed.hpp"

#include <zlib.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "invar/base/check.hpp"

namespace invar {
namespace {

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
  constexpr int kRaw = -15, kMemory = 8;
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

}  // namespace

std::string base64(std::string_view bytes) {
  static constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
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

}  // namespace invar
