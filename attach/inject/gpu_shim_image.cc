#include "attach/inject/gpu_shim_image.h"

namespace ptrace_prof {
namespace {

alignas(16) constexpr unsigned char kImage[] = {
#include "attach/inject/gpu_shim_image.inc"
};

}  // namespace

std::span<const std::byte> GpuShimImage() { return std::as_bytes(std::span(kImage)); }

}  // namespace ptrace_prof
