// The GPU libraries among the mappings of a process, by short names ("libcuda", "libnccl"), each once. Pure function;
// the paths come from the target.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attach/proc/maps.h"

namespace ptrace_prof {

std::vector<std::string> GpuLibraries(std::span<const MemoryRegion> regions);

}  // namespace ptrace_prof
