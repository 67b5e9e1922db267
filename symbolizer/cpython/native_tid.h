// The kernel's thread id behind a PyThreadState, where CPython does not keep it (3.10 and older).
//
// glibc and musl store it in struct pthread at an offset that no interface tells: it is found once per process, as
// the place in the main thread's struct where the process's own pid stands, and then read for every thread.
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

  // In the target's PID namespace; nullopt when unknown.
  std::optional<Tid> Find(uint64_t ident);
  // Whether it can find any.
  bool is_able() const { return offset_.has_value(); }

 private:
  RemoteMemory& memory_;
  std::optional<uint32_t> offset_;
};

}  // namespace ptrace_prof
