// From a clock that counts at a rate of its own to CLOCK_MONOTONIC, by pairs of readings: a line between each two that
// are a while apart, and the nearest line beyond the last.
//
//   unsettled ── readings agree on a line ──► settled ── a reading is off the last line, by more than pairs are unsure
//       ▲                                                of and clocks drift ──┐
//       └───────────────── a step: counted, and no line goes across it ────────┘
//
// A line that begins anew takes three readings, the one between two telling that there was no step between these; until
// then no time is told of what came since. Readings are ends of lines only where they are sure to a small part of the
// time between them. Bounded: what is asked about was recorded moments ago, so that old readings are forgotten. Numbers
// may be anything: they come from a target. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

class ClockFit {
 public:
  // In the order in which they were taken. `width`: so far apart the two readings may be.
  void Add(uint64_t counted, Nanos monotonic, Nanos width);
  // There is a line; and there is one for what comes now, too.
  bool is_known() const { return !pieces_.empty(); }
  bool is_settled() const { return is_settled_; }
  // Nothing: it counted so at no time that is known.
  std::optional<Nanos> At(uint64_t counted) const;
  uint64_t steps() const { return steps_; }
  // Between the readings before and after each step, and while it was not settled since: when something was then is not
  // known.
  Nanos unsure() const;

 private:
  static constexpr int64_t kLast = int64_t{1} << 62;  // no time is later, nor earlier than its negative

  struct Reading {
    uint64_t counted;
    Nanos monotonic;
    Nanos width;
  };
  using Readings = std::vector<Reading>;

  // Between two steps.
  struct Piece {
    Nanos since;    // when the clock was last read before
    Nanos until;    // and first after; of the last one: not known
    Readings ends;  // of lines, two or more
  };

  void Follow(const Reading& reading);
  void Await(const Reading& reading);
  Readings::const_iterator BestStart() const;
  bool AgreeWith(const Reading& from, const Reading& to) const;
  void Settle(const Reading& from, const Reading& to);
  void Step(Nanos unsure);
  Nanos UntilOf(const Piece& piece) const;
  // By the line between these two; `from` is before `to`, on both clocks.
  static Nanos OnLine(const Reading& from, const Reading& to, uint64_t counted);
  static Nanos OnLines(const Readings& ends, uint64_t counted);

  std::vector<Piece> pieces_;
  Readings waiting_;  // while it is not settled: those since it began, or since the step
  bool is_settled_ = false;
  bool is_disputed_ = false;  // those did not agree: the step is counted
  Nanos since_{-kLast};       // when the clock was read last before the first of those
  Nanos seen_;                // the last reading
  uint64_t steps_ = 0;
  Nanos unsure_;
};

}  // namespace ptrace_prof
