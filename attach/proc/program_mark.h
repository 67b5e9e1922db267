// Tells the program in a process from the one that replaces it by exec, be it the same file at the same addresses: the
// kernel puts 16 random bytes on the first stack of every program (AT_RANDOM, getauxval(3)), and nobody has a reason to
// write there. Plain value.
#pragma once

#include <cstdint>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

struct ProgramMark {
  // A mark that is not known where the process, or the kernel, does not say where its bytes are.
  static ProgramMark Read(Pid pid, RemoteMemory& memory);

  bool is_known() const { return !where.IsNull(); }

  RemoteAddr where;
  uint64_t word = 0;  // is there as long as the program is
};

}  // namespace ptrace_prof
