// The kernel's thread id for a PyThreadState, in versions that do not store it (3.10 and older).
//
// glibc and musl store it in struct pthread at an undocumented offset. The offset is found once per process, as the
// place in the main thread's struct that contains the process's own pid, and then used for every thread.
#pragma once

#include <cstdint>
#include <optional>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class NativeTidFinder {
 public:
  // `main_ident`: pthread_t of the main thread; `ns_pid`: the pid that the process itself sees.
  NativeTidFinder(RemoteMemory& memory, uint64_t main_ident, Pid ns_pid);

  // In the target's PID namespace; nullopt if unknown.
  std::optional<Tid> Find(uint64_t ident);
  // Whether the offset was found.
  bool is_able() const { return offset_.has_value(); }

 private:
  RemoteMemory& memory_;
  std::optional<uint32_t> offset_;
};

}  // namespace ptrace_prof
