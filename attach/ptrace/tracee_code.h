// The registers and the code of a stopped thread that the calling thread traces.
//
// Free functions over a thread id, as in tracee.h. Code is written in words, regardless of page protection: a page
// shared with a file is copied for the process.
#pragma once

#include <cstdint>
#include <span>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

// kGone; kFailedPrecondition: nothing is mapped there. A write that fails in the middle has written the bytes before.
Result<void> WriteCode(Tid tid, RemoteAddr to, std::span<const uint8_t> bytes);

// Whether a register of the thread holds, or may hold, an address from `begin` up to `end`: true if that is unknown.
bool RegistersPointInto(Tid tid, RemoteAddr begin, RemoteAddr end);

}  // namespace ptrace_prof
