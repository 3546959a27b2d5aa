// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "invar/model/model.hpp"

namespace invar {

namespace {

/// Words longer than this get no suggestion: the table of distances would cost more than the help is worth.
constexpr std::size_t kLongestWord = 64;

std::string lower(std::string_view word) {
  std::string s(word);
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

/// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and swaps of neighbours.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  before = last;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kLongestWord) return {};
  // Near means: up to a third of the letters differ, at least one may; in words of one or two letters only their case.
  const std::string wanted = lower(word);
  const std::size_t allowed = wanted.size() < 3 ? 0 : (wanted.size() + 1) / 3;
  std::string best;
  std::size_t least = allowed + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > wanted.size() + allowed || wanted.size() > candidate.size() + allowed) continue;
    const std::size_t d = distance(wanted, lower(candidate));
    if (d < least) least = d, best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? near : "; did you mean '" + near + "'?";
}

std::string there_is_no(std::string_view what, std::string_view name, const std::vector<std::string>& candidates) {
  return "there is no " + std::string(what) + " '" + std::string(name) + "'" + did_you_mean(name, candidates);
}

}  // namespace invar
