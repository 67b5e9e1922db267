// Converts times of CUPTI's clock (usually CLOCK_REALTIME) to ours. The map has one piece for each time the wall clock
// was set, or, for another clock, lines between readings.
//
// CLOCK_REALTIME and our clock run at the same rate, so between two settings their difference is constant. Every pair
// of readings gives it, and the narrowest pair of a piece is used. If the difference changes by more than the
// uncertainty of the pairs, that is a step: it is counted, and a new piece begins. Another clock (a tool can make CUPTI
// use any, such as the processor's counter) has a rate of its own. For it, pairs of readings are taken repeatedly, and
// a drifting rate is followed. One per target; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attach/base/types.h"
#include "daemon/collector/gpu/clock_fit.h"

namespace ptrace_prof {

class GpuClock {
 public:
  // Records are on CLOCK_MONOTONIC already.
  void SetIdentity() { is_identity_ = true; }
  // Records and pairs are on a clock with a rate of its own. Call before the first pair.
  void SetFitted() { fit_.emplace(); }
  // Call in the order in which the pairs were taken. `width`: the most that the two readings can be apart.
  void AddPair(Nanos realtime, Nanos monotonic, Nanos width);
  // Whether times can be converted.
  bool is_known() const { return fit_.has_value() ? fit_->is_known() : is_identity_ || !pieces_.empty(); }
  bool is_fitted() const { return fit_.has_value(); }
  // Whether times of new records can be converted. A fitted clock cannot for a while after a step.
  bool is_settled() const { return fit_.has_value() ? fit_->is_settled() : is_known(); }

  // Time of the last readings, on our clock.
  Nanos last_pair() const { return last_pair_; }
  // Whether a fitted clock has a line for that time.
  bool IsReported(uint64_t time) const { return !fit_.has_value() || fit_->At(time).has_value(); }

  // A buffer was returned at this time, so its records are not later.
  void Saw(Nanos realtime, Nanos monotonic);
  // Whether a record may have that time, by all readings so far. Before any reading always true; for a fitted clock,
  // false while it has no line for that time.
  bool IsPossible(uint64_t time) const;

  // Requires IsPossible(time).
  Nanos ToMonotonic(uint64_t time) const;
  uint64_t steps() const { return fit_.has_value() ? fit_->steps() : steps_; }
  // Total time between the readings before and after each step, for which conversion is uncertain. The whole time if a
  // clock to be fitted never was.
  Nanos unsure() const;

 private:
  struct Piece {
    Nanos from;    // first pair, on CUPTI's clock
    Nanos offset;  // CUPTI's clock + offset = ours
    Nanos width;
  };

  struct Span {
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    void Take(Nanos when) {
      first = std::min(first, when.value);
      last = std::max(last, when.value);
    }
  };

  bool is_identity_ = false;
  std::optional<ClockFit> fit_;
  Span realtime_;
  Span monotonic_;
  std::vector<Piece> pieces_;
  uint64_t steps_ = 0;
  Nanos last_pair_;  // on our clock
  Nanos unsure_;
};

}  // namespace ptrace_prof
