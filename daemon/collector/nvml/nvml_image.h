// The helper program as a file: the bytes of the executable built from nvml_helper.c, embedded in our program.
//
// Constant data; any thread. nvml_process.h starts the helper.
#pragma once

#include <cstddef>
#include <span>

namespace ptrace_prof {

std::span<const std::byte> NvmlImage();

}  // namespace ptrace_prof
