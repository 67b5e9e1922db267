// The GPU shim as a file: the bytes of the shared object that our program carries. As stub_image.h.
//
// Constant data; any thread.
#pragma once

#include <cstddef>
#include <span>

namespace ptrace_prof {

std::span<const std::byte> GpuShimImage();

}  // namespace ptrace_prof
