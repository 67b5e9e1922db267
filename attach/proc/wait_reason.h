// From the text of /proc/<pid>/task/<tid>/{stat,syscall,wchan} to the reason why a thread does not run.
//
// Pure functions over kernel text; unknown calls and malformed text give kOther or kUnknown, never an error.
// The numbers of system calls differ by architecture: syscall_waits_<arch>.cc holds them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "attach/proc/thread_activity.h"

namespace ptrace_prof {

// A system call in which a thread can wait for something else than a CPU.
struct SyscallWait {
  int32_t number = -1;
  const char* name = "";
  WaitKind kind = WaitKind::kOther;
  // The argument that counts the descriptors waited for: with none of them the call is a sleep (time.sleep() of
  // CPython before 3.11 is select(0, …)). -1: the call has no such argument.
  int8_t count_argument = -1;
};

// Sorted by number.
std::span<const SyscallWait> SyscallWaits();

// `text` is "running", "-1 0xSP 0xPC", or "NUMBER 0xA0 … 0xA5 0xSP 0xPC".
WaitReason ParseSyscallFile(std::string_view text);
// What a call waits in that the kernel goes on with as restart_syscall, from the kernel function it waits in.
WaitKind WaitKindOfRestart(std::string_view wchan);
// What stopped a thread whose state is T or t.
std::string_view StopperOfState(char state);
// Of a thread that does not run and is in no system call: from the kernel function that it waits in.
bool IsFrozen(std::string_view wchan);
// For a state letter that already says everything (R, T, t, Z, X); kUnknown for S, D and others.
WaitKind WaitKindOfState(char state);

}  // namespace ptrace_prof
