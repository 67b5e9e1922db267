// The verdicts on one process: may it be read, is it a Python that we know, what limits that.
//
// CheckRefusal tells why the kernel said no, at any time. CheckReadable reads the target's memory, which is hostile: it
// comes after rights were given up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/check.h"

namespace ptrace_prof {

// Why the process cannot be profiled, from the error that said so.
Check CheckRefusal(Pid pid, const Error& error);

// Bytes that are free on its GPU, where that is known; may take a while.
using FreeGpuMemory = std::function<std::optional<int64_t>()>;

std::vector<Check> CheckReadable(Pid pid, const FreeGpuMemory& free_gpu_memory);

}  // namespace ptrace_prof
