// SPDX-License-Identifier: Apache-2.0
// Are notes told once, with the number of times, the first and the last?
#include "invar/run/notes.hpp"

#include <gtest/gtest.h>

#include "invar/base/random.hpp"

namespace invar::testing {
namespace {

TEST(Notes, CountWhatHappensAgainAndKeepTheOrderOfSubjects) {
  Notes notes;
  notes.say("the run starts elsewhere");
  const auto slack = [&](double t, const std::string& name) {
    notes.happened(t, NoteKind::Slack, name, 0, [&] { return "tendon '" + name + "' is slack"; });
  };
  slack(0.5, "top0");
  slack(0.618, "top1");
  slack(1.25, "top0");
  notes.say("the run starts elsewhere");
  slack(4, "top0");
  const std::vector<std::string> expected = {"the run starts elsewhere",
                                             "tendon 'top0' is slack: 3 times, first at t = 0.5 s, last at t = 4 s",
                                             "t = 0.618 s: tendon 'top1' is slack", "the run starts elsewhere"};
  EXPECT_EQ(notes.sentences(), expected);
  EXPECT_EQ(notes.count(NoteKind::Slack, "top0", 0), 3);
  EXPECT_EQ(notes.count(NoteKind::Stop, "top0", 0), 0);
}

TEST(Notes, LoseNoOccurrenceOfDrawnHistories) {
  // Whatever happens in whatever order: the numbers in the sentences add up to what happened.
  Random random(7);
  for (int draw = 0; draw < 50; ++draw) {
    Notes notes;
    const int subjects = 1 + random.below(150), events = 1 + random.below(2000);
    std::vector<long> seen(static_cast<std::size_t>(subjects), 0);
    for (int k = 0; k < events; ++k) {
      const int subject = random.below(subjects);
      ++seen[static_cast<std::size_t>(subject)];
      notes.happened(k, NoteKind::Stop, std::to_string(subject), 0, [&] { return "joint " + std::to_string(subject); });
    }
    long told = 0, more = 0;
    for (int s = 0; s < subjects; ++s) {
      const long count = notes.count(NoteKind::Stop, std::to_string(s), 0);
      EXPECT_TRUE(count == 0 || count == seen[static_cast<std::size_t>(s)]);
      told += count;
    }
    const std::vector<std::string> sentences = notes.sentences();
    EXPECT_LE(sentences.size(), 101u);
    if (sentences.back().starts_with("and ")) more = std::stol(sentences.back().substr(4));
    EXPECT_EQ(told + more, events);
  }
}

}  // namespace
}  // namespace invar::testing
