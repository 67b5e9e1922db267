// What is to be told of a GPU's library once it records: what of its answers differs from what was asked. A
// pure function.
#pragma once

#include <string>
#include <vector>

#include "attach/base/types.h"
#include "attach/inject/gpu_arena.h"

namespace ptrace_prof {

std::vector<std::string> GpuLibraryNotices(Pid pid, const GpuLibrary& library);

}  // namespace ptrace_prof
