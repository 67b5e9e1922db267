// Functions of the libraries that a process has mapped, by their names. Reads the target without stopping it;
// stateless.
#pragma once

#include <string_view>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/maps.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// Of an image with such a part in its path in maps; null: there is none.
RemoteAddr FindInMapped(const std::vector<MemoryRegion>& regions, RemoteMemory& memory, std::string_view path_part,
                        std::string_view symbol);
// Of libc, or of the libraries that were apart from it before glibc 2.34.
RemoteAddr FindInLibc(const std::vector<MemoryRegion>& regions, RemoteMemory& memory, std::string_view symbol);

}  // namespace ptrace_prof
