// What is to be told of a GPU's library once it records: what of its answers differs from what was asked. Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "attach/base/types.h"
#include "attach/inject/gpu_arena.h"

namespace ptrace_prof {

// Whether another tool of CUPTI's second generation has CUDA graphs recorded as a whole, not node by node.
bool AreGpuGraphsWhole(const GpuLibrary& library);

// `wants_second`: the second generation of CUPTI's calls was asked for.
std::vector<std::string> GpuLibraryNotices(Pid pid, const GpuLibrary& library, bool wants_second);

}  // namespace ptrace_prof
