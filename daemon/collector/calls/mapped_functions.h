// Finds functions by name in the libraries that a process has mapped. Reads the target without stopping it; stateless.
#pragma once

#include <string_view>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/maps.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// In images whose path in maps contains `path_part`; null: not found.
RemoteAddr FindInMapped(const std::vector<MemoryRegion>& regions, RemoteMemory& memory, std::string_view path_part,
                        std::string_view symbol);
// In libc, or in the libraries that were separate before glibc 2.34.
RemoteAddr FindInLibc(const std::vector<MemoryRegion>& regions, RemoteMemory& memory, std::string_view symbol);

}  // namespace ptrace_prof
