// The version of the interpreter in a process. The search is done once per file: for later processes that map the same
// file, only the presence of _PyRuntime at the same place is checked.
//
// For processes of one owner: what one process shows about a file is used for others that map it. Hostile input as in
// python_process.h. One thread.
#pragma once

#include <map>
#include <span>
#include <string>

#include "attach/base/result.h"
#include "attach/proc/maps.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/inspect/mapped_file_id.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

class InterpreterCache {
 public:
  // "3.11.7"; errors as PythonProcess::Open.
  Result<std::string> Version(Pid pid, RemoteMemory& memory, std::span<const MemoryRegion> regions);

 private:
  struct Known {
    uint64_t runtime_offset = 0;  // from the mapping of the ELF header; wraps around
    Layout layout;
    std::string version;
  };
  std::map<MappedFileId, Known> known_;
};

}  // namespace ptrace_prof
