// Distinguishes the program in a process from one that replaces it by exec, even the same file at the same addresses.
// The kernel puts 16 random bytes on the first stack of every program (AT_RANDOM, getauxval(3)), and programs have no
// reason to write there. Plain value.
#pragma once

#include <cstdint>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

struct ProgramMark {
  // Returns an unknown mark if the process or the kernel does not say where the bytes are.
  static ProgramMark Read(Pid pid, RemoteMemory& memory);

  bool is_known() const { return !where.IsNull(); }

  RemoteAddr where;
  uint64_t word = 0;  // stays there as long as the program runs
};

}  // namespace ptrace_prof
