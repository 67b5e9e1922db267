// The ends of the last pages of the objects that a process maps: memory that belongs to nobody.
//
// A segment seldom ends where a page does; what is behind it in that page is mapped and unused. Not
// so for the dynamic linker (glibc's uses it up) and in a process of musl, which gives such bytes to malloc. Whether
// the bytes are zero must be looked at when they are to be used. Reads the target without stopping it; stateless.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/memory_tail.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

enum class TailKind { kData, kCode };  // of writable segments, or of executable ones

// The largest ones first. Looks no further once it has found one of `enough` bytes that is unused. Empty under musl.
// kGone, kPermissionDenied.
Result<std::vector<MemoryTail>> FindSegmentTails(Pid pid, RemoteMemory& memory, TailKind kind, uint64_t enough);

}  // namespace ptrace_prof
