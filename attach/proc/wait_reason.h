// Derives the reason why a thread does not run from the text of /proc/<pid>/task/<tid>/{stat,syscall,wchan}.
//
// Pure functions over kernel text; unknown calls and malformed text give kOther or kUnknown, never an error. System
// call numbers differ by architecture: they are in syscall_waits_<arch>.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "attach/proc/thread_activity.h"

namespace ptrace_prof {

// A system call in which a thread can wait for something other than a CPU.
struct SyscallWait {
  int32_t number = -1;
  const char* name = "";
  WaitKind kind = WaitKind::kOther;
  // The index of the argument that counts the descriptors waited for. If that count is 0, the call is a sleep
  // (time.sleep() of CPython before 3.11 is select(0, …)). -1: the call has no such argument.
  int8_t count_argument = -1;
};

// Sorted by number.
std::span<const SyscallWait> SyscallWaits();

// `text` is "running", "-1 0xSP 0xPC", or "NUMBER 0xA0 … 0xA5 0xSP 0xPC".
WaitReason ParseSyscallFile(std::string_view text);
// The kind of wait of a call that the kernel continues as restart_syscall, from the kernel function it waits in.
WaitKind WaitKindOfRestart(std::string_view wchan);
// What stopped a thread whose state is T or t.
std::string_view StopperOfState(char state);
// For a thread that does not run and is in no system call: from the kernel function that it waits in.
bool IsFrozen(std::string_view wchan);
// For a state letter that is sufficient on its own (R, T, t, Z, X); kUnknown for S, D and others.
WaitKind WaitKindOfState(char state);

}  // namespace ptrace_prof
