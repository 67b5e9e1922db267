// Memory that the kernel keeps from us for nothing but kernel.yama.ptrace_scope, where an administrator has waived
// that: asked for, one process at a time, of somebody who has the right to open it (daemon/launcher/memory_grantor.h).
//
// What comes back is /proc/<pid>/mem, for reading, of the program that was in the process then: a program that replaces
// it by exec is not seen through it. The line to that somebody is this process's, and of children that it forks;
// without one nothing is granted, and nothing is asked. Call from one thread.
#pragma once

#include <cstdint>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

// What goes over the line, a SOCK_SEQPACKET socket: a question, and its answer. Three are asked: for the memory of a
// process (tid 0; the answer has a descriptor where `refused` is 0), to stop a thread of a process whose memory was
// granted (it stands still when the answer is 0), and to let go of it (pid 0).
struct MemoryQuestion {
  uint64_t number = 0;  // no two questions on one line have the same
  int32_t pid = 0;
  int32_t tid = 0;
};
struct MemoryAnswer {
  uint64_t number = 0;  // of the question
  int32_t refused = 0;  // an errno
  uint32_t reserved = 0;
};
static_assert(sizeof(MemoryQuestion) == 16 && sizeof(MemoryAnswer) == 16, "no padding: sent as bytes");

// From now on that line is asked.
void UseMemoryGrants(UniqueFd line);
bool HasMemoryGrants();
// 0 and the memory, or an errno: EPERM where nothing is granted, ESRCH where the process is gone.
int AskForMemory(Pid pid, UniqueFd& memory);

// Stops the thread of a process whose memory was granted: 0, and it stands still until LetGoOfStopped, or an errno
// (EAGAIN: it did not stop in time, and is let go as soon as it does). One at a time.
int AskToStop(Pid pid, Tid tid);
void LetGoOfStopped();

// May we read the process? 0, or the errno of the kernel's refusal; a grant counts. The address that is asked for is
// nobody's.
int ProbeMemory(Pid pid);
// True where a grant lets us read it and the kernel would not: it cannot be written, and stopped only by who granted
// it.
bool IsReadByGrant(Pid pid);
// What to tell somebody who wants more of such a process than to have it read.
Error OnlyGrantedToRead(Pid pid);

}  // namespace ptrace_prof
