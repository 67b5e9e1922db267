// When streams were being captured into CUDA graphs: what is launched there becomes a node of a graph and does not run.
//
// By the calls that begin and end captures, which come in any order. A call does not say which stream it is about, so
// captures are counted: an end without a begin is of one that had begun before anything was recorded, and so is what
// was launched up to it. Bounded; the first ones are forgotten. One per target; one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

class GpuGraphCaptures {
 public:
  void Begin(Nanos when) { Note(when, 1); }
  void End(Nanos when) { Note(when, -1); }
  // Whether any stream was being captured then, after all that is known now.
  bool Covers(Nanos when) const;
  bool empty() const { return events_.empty(); }

 private:
  struct Event {
    Nanos when;
    int change;  // of how many are open
    int open;    // from then on
  };
  void Note(Nanos when, int change);

  std::vector<Event> events_;  // in the order of time
  int before_ = 0;             // open before the first event
  int forgotten_ = 0;          // the same, as far as it was seen: after the events that were forgotten
};

}  // namespace ptrace_prof
