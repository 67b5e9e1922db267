#include "attach/inject/stub_image.h"

namespace ptrace_prof {
namespace {

alignas(16) constexpr unsigned char kImage[] = {
#include "attach/inject/stub_image.inc"
};

}  // namespace

std::span<const std::byte> StubImage() { return std::as_bytes(std::span(kImage)); }

}  // namespace ptrace_prof
