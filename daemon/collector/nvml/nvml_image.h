// The helper program as a file: the bytes of the executable that nvml_helper.c is built into, which our program
// carries.
//
// Constant data; any thread. It knows nothing of how the helper is started: nvml_process.h.
#pragma once

#include <cstddef>
#include <span>

namespace ptrace_prof {

std::span<const std::byte> NvmlImage();

}  // namespace ptrace_prof
