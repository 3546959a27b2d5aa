// SPDX-License-Identifier: Apache-2.0
// What a terminal gets: nothing that it would obey, and everything else as it is. Texts are drawn from all of Unicode, from its
// corners, and from bytes that are none of it.
#include "invar/io/printable.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "invar/base/random.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

using nlohmann::json;

std::string utf8(std::uint32_t code) {
  const auto part = [&](int shift, std::uint32_t mark) { return static_cast<char>(mark | (code >> shift & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), part(0, 0x80)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), part(6, 0x80), part(0, 0x80)};
  return {static_cast<char>(0xF0 | code >> 18), part(12, 0x80), part(6, 0x80), part(0, 0x80)};
}

// From the tables of Unicode: general category Cc, the marks of direction (Bidi_Control), separators of lines and paragraphs, and
// the byte order mark.
bool is_obeyed(std::uint32_t code) {
  if (code <= 0x1F || (0x7F <= code && code <= 0x9F)) return true;
  for (const std::uint32_t c :
       {0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069, 0xFEFF})
    if (code == c) return true;
  return false;
}

/// A letter from anywhere, half of the time from where something is obeyed.
std::uint32_t letter(Random& random) {
  const std::uint32_t from[] = {0, 0x70, 0x600, 0x2000, 0xFE00, 0xD700, 0xE000, 0x10000};
  std::uint32_t code = from[random.below(8)] + static_cast<std::uint32_t>(random.below(0x100));
  if (random.chance(0.3)) code = static_cast<std::uint32_t>(random.below(0x110000));
  return code >= 0xD800 && code < 0xE000 ? 0x41 : code;
}

TEST(Printable, LeavesNothingToObeyAndEveryOtherLetterAsItIs) {
  Random random(seed(31000));
  int obeyed = 0, kept = 0;
  for (int k = 0; k < cases(20000); ++k) {
    const std::uint32_t code = letter(random);
    const std::string alone = printable(utf8(code));
    if (!is_obeyed(code)) {
      ++kept;
      EXPECT_EQ(alone, utf8(code)) << std::hex << code;
      continue;
    }
    ++obeyed;
    for (const char c : alone) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << std::hex << code << ": " << alone;
    EXPECT_EQ(alone.front(), '\\') << std::hex << code;
  }
  EXPECT_GT(obeyed, cases(20000) / 50);
  EXPECT_GT(kept, cases(20000) / 2);
}

// Letters say what they say alone whatever stands beside them, and so does JSON, which means the same afterwards.
TEST(Printable, TakesTextsLetterByLetterAndKeepsWhatJsonMeans) {
  Random random(seed(31100));
  for (int k = 0; k < cases(500); ++k) {
    std::string text, expected;
    for (int n = random.below(30); n > 0; --n) {
      const std::string one = utf8(letter(random));
      text += one, expected += printable(one);
    }
    EXPECT_EQ(printable(text), expected);
    const std::string told = printable_json(json(text).dump());
    EXPECT_EQ(json::parse(told), json(text));
    EXPECT_EQ(printable(told), told) << "nothing is left to obey";
  }
}

// Beginnings that are not finished, ends without a beginning, longer forms of short letters, surrogates, letters beyond the last.
TEST(Printable, NamesBytesThatAreNoLetters) {
  for (const char* bytes : {"\xC3", "\x9B", "\xC0\xAF", "\xE0\x82\x9B", "\xF0\x80\x82\x9B", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                            "\xF5\x80\x80\x80", "\xFF", "\xE2\x80"}) {
    const std::string told = printable(bytes);
    EXPECT_EQ(told.size(), 4 * std::string(bytes).size()) << told;
    for (const char c : told) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << told;
  }
}

}  // namespace
}  // namespace invar::testing
