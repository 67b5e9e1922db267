// The environment of a process as its C library has it now: what setenv(3), putenv(3) and so os.environ changed after
// the start is here and not in /proc/<pid>/environ.
//
// Finds the variable `environ`, in the executable where the linker copied it there, else in the libc (glibc, musl).
// Where it is in a file is remembered per file. Everything read is hostile: at most 4096 variables are read, of each
// at most 256 bytes. The target runs meanwhile: a list that it is just changing may be seen half. One thread.
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
  // Its variables, "NAME=value"; longer ones are left out. Nothing: there is no such list to be found or read.
  std::optional<std::vector<std::string>> Read(RemoteMemory& memory, std::span<const MemoryRegion> regions,
                                               const MappedFileId& executable);

 private:
  std::optional<uint64_t> OffsetIn(RemoteMemory& memory, const MemoryRegion& header);

  std::map<MappedFileId, std::optional<uint64_t>> offsets_;  // of the variable, from where the ELF header is mapped
};

}  // namespace ptrace_prof
