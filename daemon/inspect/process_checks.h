// The verdicts on one process: may it be read, is it a Python that we know, what limits that.
//
// CheckRefusal tells why the kernel said no, at any time. CheckReadable reads the target's memory, which is hostile: it
// comes after rights were given up.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/check.h"

namespace ptrace_prof {

// Why the process cannot be profiled, from the error that said so.
Check CheckRefusal(Pid pid, const Error& error);

// `free_gpu_memory`: bytes on its GPU, where that is known.
std::vector<Check> CheckReadable(Pid pid, std::optional<int64_t> free_gpu_memory);

}  // namespace ptrace_prof
