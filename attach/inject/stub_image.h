// The stubs as files: the bytes of the shared objects that attach/target is built into, which our program carries.
//
// Constant data; any thread. It knows nothing of how a stub gets into a target: whoever does that copies the bytes,
// fills in the boot block that FindBootBlock finds, and writes them to a memfd there. In a target that holds the stub
// already, the same block is found in its writable mapping by the same magic words.
#pragma once

#include <cstdint>
#include <span>

namespace ptrace_prof {

std::span<const uint8_t> TracerStubImage();
std::span<const uint8_t> GpuShimImage();

}  // namespace ptrace_prof
