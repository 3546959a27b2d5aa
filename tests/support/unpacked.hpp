// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays of pages (docs/page-data.md), read back by other means than those that wrote them.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace invar::testing {

inline std::string from_base64(const std::string& text) {
  std::string out;
  unsigned bits = 0;
  int held = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6 | static_cast<unsigned>(letters.find(c));
    held += 6;
    if (held >= 8) held -= 8, out += static_cast<char>(bits >> held & 255u);
  }
  return out;
}

inline std::vector<double> unpacked(const nlohmann::json& array) {
  const std::size_t n = array.at("n");
  const std::string in = from_base64(array.at("b"));
  std::string bytes(8 * n + 1, '\0');
  z_stream z{};
  EXPECT_EQ(inflateInit2(&z, -15), Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data())), z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(bytes.data()), z.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(z.total_out, 8 * n);
  inflateEnd(&z);
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    char eight[8];
    for (std::size_t k = 0; k < 8; ++k) eight[k] = bytes[k * n + i];
    std::memcpy(&out[i], eight, 8);
  }
  return out;
}

}  // namespace invar::testing
