// From a clock that counts at a rate of its own to CLOCK_MONOTONIC, by pairs of readings: a line between each two that
// are a while apart, and the nearest line beyond the last.
//
// A reading that is off the line before it by more than pairs are unsure of, and clocks drift, is a step: counted, and
// no line goes across it. Bounded: what is asked about was recorded moments ago, so that old readings are forgotten.
// Numbers may be anything: they come from a target. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

class ClockFit {
 public:
  // In the order in which they were taken. `width`: so far apart the two readings may be.
  void Add(uint64_t counted, Nanos monotonic, Nanos width);
  // There is a line.
  bool is_known() const { return lines_ > 0; }
  Nanos ToMonotonic(uint64_t counted) const;
  uint64_t steps() const { return steps_; }

 private:
  struct Reading {
    uint64_t counted;
    Nanos monotonic;
    Nanos width;
    bool is_first;  // no line leads to it
  };

  void Begin(const Reading& reading);
  // By the line between these two; `from` is before `to`, on both clocks.
  static Nanos OnLine(const Reading& from, const Reading& to, uint64_t counted);

  std::vector<Reading> readings_;
  uint64_t lines_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace ptrace_prof
