#include "attach/inject/stub_image.h"

namespace ptrace_prof {
namespace {

alignas(16) constexpr uint8_t kTracerStub[] = {
#include "attach/inject/stub_image.inc"
};
alignas(16) constexpr uint8_t kGpuShim[] = {
#include "attach/inject/gpu_shim_image.inc"
};
alignas(16) constexpr uint8_t kTorchHook[] = {
#include "attach/inject/torch_hook_image.inc"
};

}  // namespace

std::span<const uint8_t> TracerStubImage() { return kTracerStub; }
std::span<const uint8_t> GpuShimImage() { return kGpuShim; }
std::span<const uint8_t> TorchHookImage() { return kTorchHook; }

}  // namespace ptrace_prof
