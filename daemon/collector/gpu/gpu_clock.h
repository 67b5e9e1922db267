// From CUPTI's clock (CLOCK_REALTIME, as a rule) to ours: a map of pieces, one for each time the wall clock was set, or
// of lines between readings, where it is another clock.
//
// The two clocks run at the same rate, so that between two settings their difference is constant and every pair of
// readings gives it; the narrowest pair of a piece is believed. A difference that changes by more than the pairs are
// unsure of is a step: counted, and a new piece from there on. Another clock (a tool can have CUPTI go by any, the
// processor's counter say) has a rate of its own, for which the readings at both ends of a while are asked, over and
// over: a rate that drifts is followed. One per target; one thread.
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
  // Where records are on CLOCK_MONOTONIC already.
  void SetIdentity() { is_identity_ = true; }
  // Where they are on a clock of its own rate, of which the pairs are then. Before there is a pair.
  void SetFitted() { fit_.emplace(); }
  // Pairs come in the order in which they were taken. `width`: so far apart the readings may be.
  void AddPair(Nanos realtime, Nanos monotonic, Nanos width);
  // Whether times can be told.
  bool is_known() const { return fit_.has_value() ? fit_->is_known() : is_identity_ || !pieces_.empty(); }
  bool is_fitted() const { return fit_.has_value(); }
  // Whether those can of what comes now: not so for a while after a step of a clock that is fitted.
  bool is_settled() const { return fit_.has_value() ? fit_->is_settled() : is_known(); }

  // When the last readings were taken, on ours.
  Nanos last_pair() const { return last_pair_; }
  // Whether there is a line for that, where the clock is fitted.
  bool IsTold(uint64_t time) const { return !fit_.has_value() || fit_->At(time).has_value(); }

  // Of a buffer that was given back then: its records are not of later.
  void Saw(Nanos realtime, Nanos monotonic);
  // Whether a record may have that time, by all that was read of the clocks so far. True of all while that is nothing;
  // where the clock is fitted, of none while there is no line for it.
  bool IsPossible(uint64_t time) const;

  // Of what is possible.
  Nanos ToMonotonic(uint64_t time) const;
  uint64_t steps() const { return fit_.has_value() ? fit_->steps() : steps_; }
  // Of the time between the readings before and after each step: when something was then is not known. All of it, where
  // a clock that is to be fitted never was.
  Nanos unsure() const;

 private:
  struct Piece {
    Nanos from;    // first pair, on the library's clock
    Nanos offset;  // what to add
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
  Nanos last_pair_;  // on ours
  Nanos unsure_;
};

}  // namespace ptrace_prof
