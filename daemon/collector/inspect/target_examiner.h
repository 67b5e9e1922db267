// The closer look at one process of a listing, which reads its memory: whether there is an interpreter, its version,
// ranks and GPU libraries, and whether we may profile it.
//
// Everything that it reads is hostile. So it runs confined, as the target's owner, where an attacker gains nothing. One
// examiner serves the processes of one owner: what it learns about a file is used for the next (interpreter_cache.h).
#pragma once

#include <cstdint>

#include "attach/base/result.h"
#include "daemon/collector/inspect/interpreter_cache.h"
#include "daemon/collector/inspect/libc_environ.h"
#include "daemon/collector/inspect/process_scan.h"

namespace ptrace_prof {

enum class Outcome : uint8_t {
  kListed,     // the entry is complete
  kNotPython,  // leave it out
  kRefused,    // the kernel refuses; a child with more rights may try again
};

class TargetExaminer {
 public:
  Outcome Examine(const Candidate& candidate, ProcessEntry& entry);

 private:
  void NoteEnvironment(RemoteMemory& memory, const std::vector<MemoryRegion>& regions, ProcessEntry& entry);
  bool HoldsPython(Pid pid, RemoteMemory& memory, const std::vector<MemoryRegion>& regions);

  InterpreterCache interpreters_;
  LibcEnviron environ_;
};

}  // namespace ptrace_prof
