// When streams were being captured into CUDA graphs: what is launched there becomes a node of a graph and does not run.
//
// By the calls that begin and end captures, which come in any order. A call does not say which stream it is about, so
// captures are counted: an end without a begin is of one that had begun before anything was recorded, and so is what
// was launched up to it. Bounded, also in what hostile records cost: the first ones are forgotten, and so are
// those that come after later ones once there were many of these. One per target; one thread.
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
  // Whether any stream was being captured then, after all that is known now.
  bool Covers(Nanos when) const;

 private:
  struct Event {
    Nanos when;
    int64_t change;  // of how many are open
    int64_t sum;     // of all changes up to this one
  };
  void Note(Nanos when, int64_t change);
  void Insert(Nanos when, int64_t change);
  void DropSome();

  std::vector<Event> events_;  // in the order of time
  int64_t start_ = 0;          // the sum before the first event
  int64_t lowest_ = 0;         // of all sums: so many were open before anything was recorded
  int64_t lowest_dropped_ = 0;
  size_t late_ = 0;  // events that came after later ones
};

}  // namespace ptrace_prof
