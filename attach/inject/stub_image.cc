#include "attach/inject/stub_image.h"

#include <cstdint>
#include <cstring>

#include "attach/abi/boot.h"

namespace ptrace_prof {
namespace {

alignas(16) constexpr unsigned char kImage[] = {
#include "attach/inject/stub_image.inc"
};

size_t FindBoot() {
  const uint64_t magic[2] = {PP_BOOT_MAGIC_0, PP_BOOT_MAGIC_1};
  for (size_t at = 0; at + sizeof(pp_boot) <= sizeof(kImage); at += alignof(pp_boot)) {
    if (std::memcmp(kImage + at, magic, sizeof(magic)) == 0) return at;
  }
  return sizeof(kImage);  // never: a test holds that it is there
}

}  // namespace

std::span<const std::byte> StubImage() { return std::as_bytes(std::span(kImage)); }

size_t StubBootOffset() {
  static const size_t offset = FindBoot();
  return offset;
}

}  // namespace ptrace_prof
