// The current environment of a process in its C library. It has the changes by setenv(3), putenv(3) and so os.environ,
// which /proc/<pid>/environ does not have.
//
// Finds the variable `environ`, in the executable if the linker copied it there, otherwise in the libc (glibc, musl).
// Its place in a file is remembered per file. Everything read is hostile: at most 4096 variables are read, and at most
// 256 bytes of each. The target runs meanwhile, so a list that is being changed may be seen half-changed. One thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/proc/maps.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/inspect/mapped_file_id.h"

namespace ptrace_prof {

class LibcEnviron {
 public:
  // The variables as "NAME=value"; longer ones are left out. Nullopt: no list was found or it cannot be read.
  std::optional<std::vector<std::string>> Read(RemoteMemory& memory, std::span<const MemoryRegion> regions,
                                               const MappedFileId& executable);

 private:
  std::optional<uint64_t> OffsetIn(RemoteMemory& memory, const MemoryRegion& header);

  std::map<MappedFileId, std::optional<uint64_t>> offsets_;  // of the variable, from the mapping of the ELF header
};

}  // namespace ptrace_prof
