// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "invar/base/random.hpp"
#include "support/model_texts.hpp"
#include "support/places.hpp"

namespace invar::testing {

/// Pieces that sit near the edges of readers: of TOML and JSON, of numbers, of models and scenarios.
inline const std::vector<std::string>& telling_pieces() {
  static const std::vector<std::string> pieces = {
      "nan", "-inf", "1e999", "-1e999", "-0", "9223372036854775807", "-9223372036854775809", "1e308", "1e-320", "1e-300", "0x7f",
      "[", "]", "[[", "]]", "{", "}", "=", ":", "\"", "'''", "\"\"\"", "\n", "\r", ",", "\\u0000", "\\", std::string(1, '\0'),
      "\xff", "\xc3\x28", "\xef\xbb\xbf", "#", ".", "-", "[]", "{}", "null", "true", "1979-05-27",
      // models
      "[[joint]]\n", "[[body]]\n", "[initial]\n", "locked = true\n", "kind = \"free\"\n", "axis = [0, 0, 0]\n", "mass = 0\n",
      "mass = 1e300\n", "\"world\"", "\"\"",
      // scenarios
      "[time]\n", "end = 1e300\n", "start = -1e300\n", "step = 1e-300\n", "step = 1e300\n", "every = 1e-300\n",
      "every = 2147483647\n", "method = \"dopri5\"\n", "tolerance = 1e-300\n", "max_step = 1e-300\n", "[must]\n", "[[effort]]\n",
      "value = 1e308\n", "baumgarte = [1e200, 1e200]\n", "what = []\n", "frequency = 1e300\n", "coefficients = []\n",
      "times = [0, 0]\n"};
  return pieces;
}

inline std::size_t index_in(Random& random, std::size_t size) {
  return size == 0 ? 0 : static_cast<std::size_t>(random.below(static_cast<int>(size)));
}

/// One small damage to a text; `other` lends a part of itself.
inline std::string damaged(std::string text, const std::string& other, Random& random) {
  const std::size_t at = index_in(random, text.size()), span = 1 + index_in(random, 40);
  const std::string& piece = telling_pieces()[index_in(random, telling_pieces().size())];
  switch (random.below(7)) {
    case 0:
      if (!text.empty()) text[at] = static_cast<char>(random.below(256));
      break;
    case 1: text.erase(at, span); break;
    case 2: text.insert(at, text.substr(index_in(random, text.size()), span)); break;
    case 3: text.insert(at, piece); break;
    case 4: text.replace(at, std::min(span, text.size() - at), piece); break;
    case 5: text.resize(at); break;
    case 6: text.insert(at, other.substr(index_in(random, other.size()), 4 * span)); break;
  }
  return text;
}

/// Another number in the place of one of a text's own: what a reader accepts and a computation may stumble over.
inline std::string with_other_number(std::string text, Random& random) {
  static const std::vector<std::string> numbers = {"0",     "-1",    "1e-320", "1e-200", "1e-12", "1e12",  "1e100",
                                                   "1e200", "1e300", "-1e300", "0.1",    "3",     "-1e-9", "2147483647"};
  std::vector<std::size_t> starts;
  for (std::size_t i = 1; i < text.size(); ++i)
    if (std::isdigit(static_cast<unsigned char>(text[i])) && (text[i - 1] == ' ' || text[i - 1] == '[' || text[i - 1] == ','))
      starts.push_back(i);
  if (starts.empty()) return text;
  const std::size_t at = starts[index_in(random, starts.size())];
  const std::size_t end = text.find_first_not_of("0123456789.eE+-", at);
  return text.replace(at, std::min(end, text.size()) - at, numbers[index_in(random, numbers.size())]);
}

/// One or two damages, or other numbers, drawn for one case.
inline std::string drawn(const std::string& text, const std::vector<std::string>& others, Random& random) {
  std::string out = text;
  const bool numbers = random.chance(0.4);
  for (int times = 1 + random.below(2); times > 0; --times)
    out = numbers ? with_other_number(std::move(out), random)
                  : damaged(std::move(out), others[index_in(random, others.size())], random);
  return out;
}

/// The kept inputs of one kind, tests/files/corpus/<kind>-*, as (name, text), in alphabetical order.
inline std::vector<std::pair<std::string, std::string>> corpus(const std::string& kind) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/files/corpus")))
    if (const std::string name = entry.path().filename().string(); name.rfind(kind + "-", 0) == 0)
      all.emplace_back(name, file_text(entry.path().string()));
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace invar::testing
