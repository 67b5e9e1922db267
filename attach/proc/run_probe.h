// Does a thread run at this moment, or wait? From descriptors that stay open: about 0.6 us a look.
//
// `syscall` of /proc says "running" of a thread that is on a CPU or could be, and what it waits in of any other (sleep,
// job control, a tracer's stop, a frozen cgroup). Where it may not be read (that takes the right to trace), the letter
// of `stat` says as much. The slices are how often the thread was put on a CPU: a thread that waited before and after a
// read, and was put on none in between, did nothing meanwhile. One object per thread of a target; one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class RunProbe {
 public:
  enum class State : uint8_t { kRuns, kWaits, kUnknown, kGone };

  RunProbe(Pid pid, Tid tid);

  // Is it a thread of that process? Nobody else's is ever stopped, whatever the target says of its threads.
  bool is_there() const { return stat_.is_open(); }
  State Look();  // kGone too where it is none of that process
  // It waits for something else than a lock (a futex, which goes on waiting after a stop): for input, a timer, a
  // signal. A stop may end such a wait early: epoll_wait(2) and its like fail with EINTR then, see signal(7).
  bool WaitsForEvents();
  std::optional<uint64_t> Slices();  // nullopt: nobody says (a kernel without schedstat)

 private:
  UniqueFd syscall_;
  UniqueFd stat_;
  UniqueFd schedstat_;
};

}  // namespace ptrace_prof
