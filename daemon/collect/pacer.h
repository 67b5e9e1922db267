// When to sample: jittered deadlines, lateness, and the promise not to use more CPU than allowed.
//
// Intervals are drawn uniformly from half to one and a half of the mean, so that a loop of the target with the same
// period is not always met at the same place. A round that begins a whole interval late counts as late; rounds that
// were skipped over to catch up count as missed. Every 200 ms the CPU used meanwhile is compared with the allowance:
// the mean interval grows until it is kept, and shrinks back towards the asked one. The first half second, in which all
// code of the target is new, is exempt. At the rate `max` the interval is the shortest that rounds keep on average,
// wherever in the target they are: what a round takes depends on what the target does, when it begins must not. One
// thread. Knows nothing about what a round does.
#pragma once

#include <atomic>
#include <cstdint>

#include "attach/base/types.h"
#include "daemon/collect/round_times.h"

namespace ptrace_prof {

class Pacer {
 public:
  // rate 0: as fast as may be. max_overhead 0: no limit (share of one core otherwise).
  Pacer(double rate_hz, double max_overhead);

  // Sleeps until the next deadline, or until `until`, or until `stop`; returns now. Sleeps at most 100 ms at a time, so
  // that a stop without a signal is seen as well.
  Nanos Wait(Nanos until, const std::atomic<bool>& stop);

  uint64_t late() const { return late_; }
  uint64_t missed() const { return missed_; }
  double actual_rate_hz() const;  // what the present interval amounts to; 0 when not paced
  bool backed_off() const { return slowdown_ > 1.05; }

 private:
  Nanos WaitLittle(Nanos now, Nanos until);
  double Jitter();
  Nanos NextInterval();
  void Govern(Nanos now);

  const double mean_ns_;
  const double max_overhead_;
  double slowdown_ = 1;
  Nanos deadline_;
  Nanos begin_;
  Nanos governed_;
  Nanos cpu_at_govern_;
  uint64_t random_;
  uint64_t late_ = 0;
  uint64_t missed_ = 0;
  RoundTimes rounds_;  // at the rate `max`
  Nanos began_;
  Nanos usual_{};
  uint32_t rounds_since_usual_ = 0;
};

}  // namespace ptrace_prof
