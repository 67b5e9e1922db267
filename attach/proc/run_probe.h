// Whether a thread runs at this moment, or waits. Uses descriptors that stay open: about 0.6 us per call.
//
// `syscall` of /proc says "running" for a thread that is on a CPU or runnable, and for any other what it waits in
// (sleep, job control, a tracer's stop, a frozen cgroup). If it may not be read (that needs the right to trace), the
// letter in `stat` says whether it runs. The slices count how often the thread was put on a CPU: a thread that waited
// before and after a read, and was put on no CPU in between, did nothing meanwhile. One object per thread of a target;
// one thread.
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

  // Whether it is a thread of that process. Threads of other processes are never stopped, whatever the target's memory
  // says.
  bool is_there() const { return stat_.is_open(); }
  State Look();  // also kGone if it is not a thread of that process
  // Whether it waits for something other than a lock (a futex, whose wait resumes after a stop): for input, a timer, a
  // signal. A stop may end such a wait early: epoll_wait(2) and similar calls then fail with EINTR, see signal(7).
  bool WaitsForEvents();
  std::optional<uint64_t> Slices();  // nullopt: unknown (a kernel without schedstat)

 private:
  UniqueFd syscall_;
  UniqueFd stat_;
  UniqueFd schedstat_;
};

}  // namespace ptrace_prof
