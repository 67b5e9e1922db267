// Converts the ticks that a stub writes to CLOCK_MONOTONIC.
//
// Ticks come from the CPU's counter (TSC, CNTVCT) if it runs at one rate on all cores and in all states; otherwise they
// are nanoseconds of CLOCK_MONOTONIC already. Anchors, pairs of both clocks taken together, are added now and then.
// Times between two anchors are interpolated, so they never jump or go back when the rate becomes known better. Take an
// anchor before the first event and after each read of the rings, so that every event lies between two anchors. One
// owner, one thread.
#pragma once

#include <cstdint>

#include "attach/base/types.h"
#include "daemon/collector/calls/tick_map.h"

namespace ptrace_prof {

enum class TickSource : uint8_t { kCounter, kMonotonic };

// Whether the machine's counter is usable, from /proc/cpuinfo and the kernel's choice of a clock.
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
  // Ticks per `time`. Before the second anchor the rate is measured roughly over a millisecond.
  uint64_t TicksIn(Nanos time);

  void AddAnchor() { AddAnchor(TakeAnchor()); }
  void AddAnchor(const ClockAnchor& anchor);  // ignored unless both clocks advanced
  // Beyond the last two anchors, extends the line between them.
  Nanos At(uint64_t ticks) const;
  // The same conversion as a value, for the events of one read of the rings.
  TickMap Line() const;

 private:
  ClockAnchor TakeAnchor() const;

  TickSource source_;
  ClockAnchor first_;
  ClockAnchor previous_;
  ClockAnchor last_;
};

}  // namespace ptrace_prof
