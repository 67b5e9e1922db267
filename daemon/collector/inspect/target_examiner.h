// The closer look at one process of a listing, which reads its memory: is there an interpreter, of which version, with
// which ranks and GPU libraries, and may we profile it?
//
// Everything that it reads is hostile, so it runs where nothing is to be gained: as the target's owner, confined. One
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
  kRefused,    // the kernel refuses: whoever has more rights may try again
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
