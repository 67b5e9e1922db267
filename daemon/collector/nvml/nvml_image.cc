#include "daemon/collector/nvml/nvml_image.h"

namespace ptrace_prof {
namespace {

alignas(16) constexpr unsigned char kImage[] = {
#include "daemon/collector/nvml/nvml_image.inc"
};

}  // namespace

std::span<const std::byte> NvmlImage() { return std::as_bytes(std::span(kImage)); }

}  // namespace ptrace_prof
