// The bytes of the shared objects built from attach/target, which our program contains.
//
// Constant data; any thread. Independent of how a stub gets into a target: the injecting code copies the bytes, fills
// in the boot block that FindBootBlock finds, and writes them to a memfd there. In a target that has the stub already,
// the same magic words identify the block in its writable mapping.
#pragma once

#include <cstdint>
#include <span>

namespace ptrace_prof {

std::span<const uint8_t> TracerStubImage();
std::span<const uint8_t> GpuShimImage();
std::span<const uint8_t> TorchHookImage();

}  // namespace ptrace_prof
