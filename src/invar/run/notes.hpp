// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace invar {

/// What a note is about: with its subject, the key under which repetitions are counted.
enum class NoteKind { Rank, Unwatched, Singular, NotPassed, Reactions, Held, Coordinates, CoordinatesEnd, Slack, Stop };

/// Sentences about a run, in the order in which their subjects appeared. What happens again, to the same kind and subject, is
/// counted: one sentence with the number of times, the first and the last. A repetition asks the heap for nothing.
///   once:   "t = 0.618 s: tendon 'top0' is slack"
///   often:  "tendon 'top0' is slack: 23 times, first at t = 0.618 s, last at t = 4.2 s"
class Notes {
 public:
  /// A sentence that stands for itself.
  void say(std::string sentence);

  /// Something that may happen again. `subject` (a name of the model: indices do not outlive an edit) and `detail` tell
  /// occurrences apart; `sentence` is called for the first one only and returns it without its time.
  template <class Sentence>
  void happened(double t, NoteKind kind, std::string_view subject, int detail, Sentence&& sentence) {
    if (Entry* known = find(kind, subject, detail)) {
      ++known->count;
      known->last = t;
    } else if (full()) {
      ++left_out_;
    } else {
      entries_.push_back({kind, std::string(subject), detail, 1, t, t, std::forward<Sentence>(sentence)()});
    }
  }

  /// How often something happened.
  long count(NoteKind kind, std::string_view subject, int detail) const;

  /// One sentence per subject; at most a hundred that may happen again, and how many were left out.
  std::vector<std::string> sentences() const;

 private:
  struct Entry {
    NoteKind kind;
    std::string subject;
    int detail;
    long count;  // 0: stands for itself
    double first, last;
    std::string sentence;
  };
  Entry* find(NoteKind kind, std::string_view subject, int detail);
  bool full() const;

  std::vector<Entry> entries_;
  long left_out_ = 0;
};

}  // namespace invar
