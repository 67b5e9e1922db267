// How one GPU spent its time, and why no kernel ran in the rest of it.
//
// The time from its first operation to its last is divided into:
//   kernels  at least one kernel ran
//   copying  no kernel ran, but a copy or a memset
//   launch   the next kernel had been launched and had not begun; or its launch came soon (kSoon) after the previous
//            one: the host launched all the time, and not fast enough
//   sync     the host had waited for the GPU to finish, and launched the next kernel soon after that: while it waited
//            nothing could be queued
//   nothing  the host did something else
// If its launch is not known, a kernel counts as launched when it began. Memory: see busy_intervals.h.
#pragma once

#include "daemon/export/busy_intervals.h"
#include "daemon/trace/gpu.h"

namespace ptrace_prof {

struct GpuTime {
  Nanos all;
  Nanos kernels;
  Nanos copying;
  Nanos launch;
  Nanos sync;
  Nanos nothing;

  Nanos idle() const { return all - kernels; }
};

class GpuIdle {
 public:
  static constexpr Nanos kSoon{500'000};

  void Add(const GpuOperation& operation);
  GpuTime Result();

 private:
  void AddGap(const BusyInterval& before, const BusyInterval& after, GpuTime& time);

  BusyIntervals kernels_;
  BusyIntervals copies_;
  BusyIntervals waits_;  // of the host
};

}  // namespace ptrace_prof
