// Reads facts about a process and its threads from /proc. The text is the kernel's, but the target chooses names in it.
//
// Every function takes ids of the reader's PID namespace, and returns kGone if the process or thread has ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/proc/proc_stat.h"

namespace ptrace_prof {

struct ProcessStatus {
  std::string name;  // comm, as in status (escapes undone)
  char state = '?';  // R S D T t Z X I
  Pid tgid;
  Pid ppid;
  Pid tracer;  // 0: none
  uint32_t uid_real = 0, uid_effective = 0, uid_saved = 0, uid_fs = 0;
  uint32_t gid_real = 0, gid_effective = 0, gid_saved = 0, gid_fs = 0;
  std::vector<int32_t> ns_pids;  // outermost first; the last one is the pid that the process itself sees
  bool kernel_thread = false;
  uint64_t cap_effective = 0;
  uint64_t caught_signals = 0;  // bit N - 1: signal N has a handler
  int seccomp_mode = 0;
  std::optional<uint64_t> seccomp_filters;  // their number; nullopt: the kernel does not say (before 5.9)
  uint64_t memory_size = 0, memory_data = 0, memory_locked = 0;  // bytes: VmSize, VmData, VmLck
};

// /proc/<pid>/status; for a thread pass its tid as pid.
Result<ProcessStatus> ReadProcessStatus(Pid pid);
std::optional<ProcessStatus> ParseProcessStatus(std::string_view text);

Result<std::vector<std::string>> ReadCmdline(Pid pid);
Result<std::vector<Tid>> ListThreads(Pid pid);
// Direct children of all threads (task/*/children).
Result<std::vector<Pid>> ListChildren(Pid pid);
// One line for all threads together.
Result<ProcStat> ReadProcStat(Pid pid);
Nanos OfTicks(uint64_t ticks);
// Start time since boot: together with the pid it identifies a process uniquely.
Result<Nanos> ReadStartTime(Pid pid);
Result<uint64_t> ReadStartTicks(Pid pid);              // the same in clock ticks (sysconf(_SC_CLK_TCK) per second)
Result<std::string> ReadThreadName(Pid pid, Tid tid);  // comm
Result<std::string> ReadEnviron(Pid pid);              // as at the start of the program; at most 256 KiB
// The tid that the thread itself sees (innermost PID namespace).
Result<Tid> ReadNamespacedTid(Pid pid, Tid tid);
// Device and inode of the executable: changes on exec.
struct ExecutableId {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const ExecutableId&) const = default;
};
Result<ExecutableId> ReadExecutableId(Pid pid);

Result<UniqueFd> OpenPidfd(Pid pid);
// True once the process behind the pidfd has ended (zombie or gone), and also if the kernel does not say: rights depend
// on this, and another process of the same user may lower our limits so that poll(2) fails.
bool HasExited(const UniqueFd& pidfd);

}  // namespace ptrace_prof
