// The unused ends of the last pages of the objects that a process maps.
//
// A segment seldom ends at a page boundary; the rest of its last page is mapped and unused. Exceptions are the dynamic
// linker (glibc's uses it) and processes with musl, which gives such bytes to malloc. The user must check that the
// bytes are zero. Reads the target without stopping it; stateless.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/memory_tail.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

enum class TailKind { kData, kCode };  // in writable segments, or in executable ones

// The largest ones first. Stops once it has found an unused one of `enough` bytes. Empty with musl. kGone,
// kPermissionDenied.
Result<std::vector<MemoryTail>> FindSegmentTails(Pid pid, RemoteMemory& memory, TailKind kind, uint64_t enough);

}  // namespace ptrace_prof
