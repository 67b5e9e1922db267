#include "attach/proc/quiet_wait.h"

#include <linux/sched.h>
#include <sys/syscall.h>

#include <cstdio>

#include "attach/proc/proc_file.h"
#include "attach/proc/process_memory.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

// Once the child exists, the parent waits for the child's exec or end.
bool IsVfork(uint64_t flags) { return (flags & CLONE_VFORK) != 0 && (flags & CLONE_THREAD) == 0; }

bool BecomesAnother(long call) {
#ifdef SYS_fork
  if (call == SYS_fork) {
    return true;
  }
#endif
  return call == SYS_execve || call == SYS_execveat;
}

}  // namespace

bool WaitsQuietly(Pid pid, Tid tid) {
  const Result<std::string> text = ReadProcFile(ProcTaskPath(pid, tid, "syscall"));
  long call = 0;
  unsigned long long argument = 0;
  const int read = text.has_value() ? std::sscanf(text.value().c_str(), "%ld 0x%llx", &call, &argument) : 0;
  if (read < 1 || BecomesAnother(call)) {
    return false;
  }
  if (call == SYS_clone3) {  // its argument is the address of the flags
    uint64_t flags = 0;
    ProcessMemory memory(pid);
    return read == 2 && memory.ReadValue(RemoteAddr(argument), &flags) == ReadStatus::kOk && IsVfork(flags);
  }
  return call != SYS_clone || (read == 2 && IsVfork(argument));
}

}  // namespace ptrace_prof
