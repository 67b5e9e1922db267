// The registers and the code of a thread that the calling thread traces and that is stopped.
//
// Free functions over a thread id, as in tracee.h. Code is written in words, through the protection of its pages: the
// process gets a page of its own where it shared one with a file.
#pragma once

#include <cstdint>
#include <span>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

// kGone; kFailedPrecondition: nothing is mapped there. A write that fails in the middle has written what came before.
Result<void> WriteCode(Tid tid, RemoteAddr to, std::span<const uint8_t> bytes);

// Whether some register of the thread holds an address from `begin` up to `end`, or may: true if that cannot be told.
bool RegistersPointInto(Tid tid, RemoteAddr begin, RemoteAddr end);

}  // namespace ptrace_prof
