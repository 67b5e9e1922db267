// The version of the interpreter in a process, with the search for it made once per file: later processes that map the
// same file are only asked whether their _PyRuntime is where the first one's was.
//
// For processes of one owner: what one process says about a file is believed of others that map it. Hostile input as in
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
  // "3.11.7"; errors as of PythonProcess::Open.
  Result<std::string> Version(Pid pid, RemoteMemory& memory, std::span<const MemoryRegion> regions);

 private:
  struct Known {
    uint64_t runtime_offset = 0;  // from where the ELF header is mapped; wraps around
    Layout layout;
    std::string version;
  };
  std::map<MappedFileId, Known> known_;
};

}  // namespace ptrace_prof
