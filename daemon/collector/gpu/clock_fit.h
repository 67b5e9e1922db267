// Converts a clock with a rate of its own to CLOCK_MONOTONIC by pairs of readings: a line between each two that are
// some time apart, and the last line beyond the last reading.
//
//   unsettled ── readings agree on a line ──► settled ── a reading is off the last line, by more than the pairs'
//       ▲                                                 uncertainty and the clocks' drift ──┐
//       └───────────────── a step: counted, and no line goes across it ───────────────────────┘
//
// A new line needs three readings: the middle one shows that there was no step between the outer ones. Until then no
// time is given for later counts. A reading becomes the end of a line only if its uncertainty is a small part of the
// line's length. Bounded: records that are converted are recent, so old readings are forgotten. The numbers come from a
// target and may be anything. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

inline constexpr int64_t kPairNoise = 1000;  // ns: pairs of readings differ by that much anyway

class ClockFit {
 public:
  // Call in the order in which the readings were taken. `width`: the most that the two readings can be apart.
  void Add(uint64_t counted, Nanos monotonic, Nanos width);
  // is_known: there is a line. is_settled: there is also one for what comes now.
  bool is_known() const { return !pieces_.empty(); }
  bool is_settled() const { return is_settled_; }
  // Nullopt: no known time belongs to this count.
  std::optional<Nanos> At(uint64_t counted) const;
  uint64_t steps() const { return steps_; }
  // Time for which conversion is uncertain: between the readings around each step, and while the clock is not settled.
  Nanos unsure() const;

 private:
  static constexpr int64_t kLast = int64_t{1} << 62;  // bound of all times, and of their negatives

  struct Reading {
    uint64_t counted;
    Nanos monotonic;
    Nanos width;
  };
  using Readings = std::vector<Reading>;

  // The lines between two steps.
  struct Piece {
    Nanos since;    // last reading before it
    Nanos until;    // first reading after it; not known for the last piece
    Readings ends;  // ends of lines, two or more
  };

  void Follow(const Reading& reading);
  void Await(const Reading& reading);
  Readings::const_iterator BestStart() const;
  bool AgreeWith(const Reading& from, const Reading& to) const;
  void Settle(const Reading& from, const Reading& to);
  void Step(Nanos unsure);
  Nanos UntilOf(const Piece& piece) const;
  // On the line through these two readings; `from` is before `to` on both clocks.
  static Nanos OnLine(const Reading& from, const Reading& to, uint64_t counted);
  static Nanos OnLines(const Readings& ends, uint64_t counted);

  std::vector<Piece> pieces_;
  Readings waiting_;  // readings since the beginning or the last step, while not settled
  bool is_settled_ = false;
  bool is_disputed_ = false;  // the waiting readings disagreed: the step is counted
  Nanos since_{-kLast};       // the last reading before the waiting ones
  Nanos seen_;                // the last reading
  uint64_t steps_ = 0;
  Nanos unsure_;
};

}  // namespace ptrace_prof
