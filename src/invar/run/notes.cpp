// SPDX-License-Identifier: Apache-2.0
#include "invar/run/notes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace invar {
namespace {

constexpr std::size_t kKept = 100;

}  // namespace

void Notes::say(std::string sentence) { entries_.push_back({NoteKind::Rank, {}, 0, 0, 0, 0, std::move(sentence)}); }

Notes::Entry* Notes::find(NoteKind kind, std::string_view subject, int detail) {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.count > 0 && e.kind == kind && e.subject == subject && e.detail == detail;
  });
  return it == entries_.end() ? nullptr : &*it;
}

bool Notes::full() const {
  return std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return e.count > 0; }) >= static_cast<long>(kKept);
}

long Notes::count(NoteKind kind, std::string_view subject, int detail) const {
  const Entry* known = const_cast<Notes*>(this)->find(kind, subject, detail);
  return known == nullptr ? 0 : known->count;
}

std::vector<std::string> Notes::sentences() const {
  std::vector<std::string> out;
  for (const Entry& e : entries_) {
    if (e.count == 0)
      out.push_back(e.sentence);
    else if (e.count == 1)
      out.push_back(fmt::format("t = {:g} s: {}", e.first, e.sentence));
    else
      out.push_back(fmt::format("{}: {} times, first at t = {:g} s, last at t = {:g} s", e.sentence, e.count, e.first, e.last));
  }
  if (left_out_ > 0) out.push_back(fmt::format("and {} more", left_out_));
  return out;
}

}  // namespace invar
