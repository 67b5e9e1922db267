// Access to memory that only kernel.yama.ptrace_scope denies us, if an administrator has waived that rule. It is
// requested, one process at a time, from a process that has the right to open it (daemon/launcher/memory_grantor.h).
//
// The answer is /proc/<pid>/mem, for reading, of the program that runs in the process at that time: a program that
// replaces it by exec is not visible through it. This process and children that it forks share the line to the grantor;
// without a line nothing is granted or requested. Call from one thread.
#pragma once

#include <cstdint>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

// The messages on the line, a SOCK_SEQPACKET socket: a question and its answer. There are three questions: for the
// memory of a process (tid 0; the answer has a descriptor if `refused` is 0), to stop a thread of a process whose
// memory was granted (it is stopped if the answer is 0), and to release that thread (pid 0).
struct MemoryQuestion {
  uint64_t number = 0;  // unique among the questions on one line
  int32_t pid = 0;
  int32_t tid = 0;
};
struct MemoryAnswer {
  uint64_t number = 0;  // of the question
  int32_t refused = 0;  // an errno
  uint32_t reserved = 0;
};
static_assert(sizeof(MemoryQuestion) == 16 && sizeof(MemoryAnswer) == 16, "no padding: sent as bytes");

// Uses that line from now on.
void UseMemoryGrants(UniqueFd line);
bool HasMemoryGrants();
// Returns 0 and the memory, or an errno: EPERM if nothing is granted, ESRCH if the process is gone.
int AskForMemory(Pid pid, UniqueFd& memory);

// Stops a thread of a process whose memory was granted. Returns 0, and the thread is stopped until LetGoOfStopped, or
// an errno (EAGAIN: it did not stop in time, and is released as soon as it does). One at a time.
int AskToStop(Pid pid, Tid tid);
void LetGoOfStopped();

// Whether we may read the process: 0, or the errno of the kernel's refusal; a grant counts. Probes an address that is
// never mapped.
int ProbeMemory(Pid pid);
// True if a grant lets us read it and the kernel would not. It cannot be written then, and only the grantor can stop
// it.
bool IsReadByGrant(Pid pid);
// The error for an attempt to do more with such a process than read it.
Error OnlyGrantedToRead(Pid pid);

}  // namespace ptrace_prof
