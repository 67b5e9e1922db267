// From the ticks that a stub writes to CLOCK_MONOTONIC.
//
// Ticks are those of the CPU's counter (TSC, CNTVCT) where it runs at one rate on all cores and in all states, else
// nanoseconds of CLOCK_MONOTONIC already. Anchors, pairs of both clocks taken together, are added now and then; what
// lies between two of them is interpolated, so that times never jump or go back when the rate is learnt better.
// Take an anchor before the first event and after each look at the rings: every event then lies between two anchors.
// One owner, one thread.
#pragma once

#include <cstdint>

#include "attach/base/types.h"
#include "daemon/collector/calls/tick_map.h"

namespace ptrace_prof {

enum class TickSource : uint8_t { kCounter, kMonotonic };

// What the machine's counter is fit for, from /proc/cpuinfo and the kernel's own choice of a clock.
TickSource FitTickSource();

struct ClockAnchor {
  uint64_t ticks = 0;
  Nanos time;
};

class TickClock {
 public:
  explicit TickClock(TickSource source) : source_(source) {}

  TickSource source() const { return source_; }
  uint64_t Ticks() const;  // now
  // How many ticks a time takes; before the second anchor a rough measure of a millisecond is taken.
  uint64_t TicksIn(Nanos time);

  void AddAnchor() { AddAnchor(TakeAnchor()); }
  void AddAnchor(const ClockAnchor& anchor);  // ignored unless both clocks went on
  // Beyond the last two anchors the line between them is followed on.
  Nanos At(uint64_t ticks) const;
  // The same as a value, for many at once: those of one look at the rings.
  TickMap Line() const;

 private:
  ClockAnchor TakeAnchor() const;

  TickSource source_;
  ClockAnchor first_;
  ClockAnchor previous_;
  ClockAnchor last_;
};

}  // namespace ptrace_prof
