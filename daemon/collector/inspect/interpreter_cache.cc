#include "daemon/collector/inspect/interpreter_cache.h"

#include "symbolizer/cpython/python_process.h"
#include "symbolizer/cpython/runtime_check.h"

namespace ptrace_prof {

Result<std::string> InterpreterCache::Version(Pid pid, RemoteMemory& memory, std::span<const MemoryRegion> regions) {
  for (const MemoryRegion& region : regions) {
    const auto known = BeginsFile(region) ? known_.find(MappedFileId::Of(region)) : known_.end();
    if (known == known_.end()) {
      continue;
    }
    const RemoteAddr runtime = region.start + known->second.runtime_offset;
    if (CheckRuntime(memory, known->second.layout, runtime) == RuntimeState::kRunning) {
      return known->second.version;
    }
  }
  PP_ASSIGN_OR_RETURN(const PythonProcess python, PythonProcess::Open(pid, memory));
  for (const MemoryRegion& region : regions) {
    if (BeginsFile(region) && region.path == python.binary) {
      known_[MappedFileId::Of(region)] = {python.runtime - region.start, python.layout, python.version_text};
      break;
    }
  }
  return python.version_text;
}

}  // namespace ptrace_prof
