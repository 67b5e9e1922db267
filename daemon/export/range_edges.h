// Ranges beside calls, so that all slices of a thread nest: `with record_function(…)` begins its range in the middle of
// a call of __enter__ and ends it in the middle of __exit__. In the JSON such a range begins where that call ends, and
// ends where this one begins: it is the body of the `with`. Viewers drop what does not nest (Perfetto the range, of
// torch.profiler's own JSON too).
//
// Memory: one entry for each call of such a method, up to a limit.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/base/types.h"
#include "daemon/export/operator_links.h"

namespace ptrace_prof {

class RangeEdges {
 public:
  // Whether calls of a function with that name matter.
  static bool Matters(std::string_view function);
  void AddCall(OperatorThread thread, Nanos begin, Nanos end);
  // Begin and end of a range of that thread. To be asked once all calls are there.
  std::pair<Nanos, Nanos> Fit(OperatorThread thread, Nanos begin, Nanos end);

 private:
  struct Call {
    Nanos begin;
    Nanos end;
  };
  struct Thread {
    std::vector<Call> calls;
    bool is_sorted = false;  // by begin
  };

  std::map<OperatorThread, Thread> threads_;
};

}  // namespace ptrace_prof
