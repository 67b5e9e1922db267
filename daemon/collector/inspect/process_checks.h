// The verdicts on one process: whether it may be read, whether it is a known Python, and what limits profiling it.
//
// CheckRefusal explains the kernel's refusal, at any time. CheckReadable reads the target's memory, which is hostile,
// so call it after rights were given up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/check.h"

namespace ptrace_prof {

// Why the process cannot be profiled, from the error that refused it.
Check CheckRefusal(Pid pid, const Error& error);

// `free_gpu_memory` returns the free bytes of its GPU, if known; it may take a while.
using FreeGpuMemory = std::function<std::optional<int64_t>()>;

std::vector<Check> CheckReadable(Pid pid, const FreeGpuMemory& free_gpu_memory);

}  // namespace ptrace_prof
