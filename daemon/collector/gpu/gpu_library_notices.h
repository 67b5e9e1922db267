// The notices about a GPU library once it records: the differences between what was requested and what it does. A pure
// function.
#pragma once

#include <string>
#include <vector>

#include "attach/base/types.h"
#include "attach/inject/gpu_arena.h"

namespace ptrace_prof {

std::vector<std::string> GpuLibraryNotices(Pid pid, const GpuLibrary& library);

}  // namespace ptrace_prof
