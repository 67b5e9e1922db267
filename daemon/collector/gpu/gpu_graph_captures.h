// When streams were being captured into CUDA graphs: a launch there becomes a node of a graph and does not run.
//
// Follows the calls that begin and end captures, which come in any order. A call does not say which stream it is about,
// so captures are counted. An end without a begin belongs to a capture that began before the recording; launches up to
// it were captured too. Bounded, also in the cost of hostile records: the first events are forgotten, and so are
// out-of-order ones once there were many. One per target; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

class GpuGraphCaptures {
 public:
  void Begin(Nanos when) { Note(when, 1); }
  void End(Nanos when) { Note(when, -1); }
  // Whether any stream was being captured at that time, as far as is known now.
  bool Covers(Nanos when) const;

 private:
  struct Event {
    Nanos when;
    int64_t change;  // change of the number of open captures
    int64_t sum;     // sum of all changes up to this one
  };
  void Note(Nanos when, int64_t change);
  void Insert(Nanos when, int64_t change);
  void DropSome();

  std::vector<Event> events_;  // ordered by time
  int64_t start_ = 0;          // sum before the first event
  int64_t lowest_ = 0;         // lowest sum: its negative is the number of captures open before the recording
  int64_t lowest_dropped_ = 0;
  size_t late_ = 0;  // events that came out of order
};

}  // namespace ptrace_prof
