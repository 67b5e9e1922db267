#include "attach/inject/stub_kind.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "attach/inject/stub_image.h"

namespace ptrace_prof {
namespace {

Error NoStub(std::string_view why) { return {Code::kInvalidArgument, fmt::format("this is not a stub: {}", why), ""}; }

}  // namespace

constinit const StubKind kTracerStub{
    .image = &TracerStubImage,
    .magic = {PP_BOOT_MAGIC_0, PP_BOOT_MAGIC_1},
    .abi_version = PP_ABI_VERSION,
    .boot_size = sizeof(pp_boot),
    .file_prefix = "ptrace-prof-stub.",
    .memory_prefix = "ptrace-prof-ring.",
    .module = "_ptrace_prof_stub",
};
constinit const StubKind kGpuShim{
    .image = &GpuShimImage,
    .magic = {PP_GPU_BOOT_MAGIC_0, PP_GPU_BOOT_MAGIC_1},
    .abi_version = PP_GPU_ABI_VERSION,
    .boot_size = sizeof(pp_gpu_boot),
    .file_prefix = "ptrace-prof-gpu.",
    .memory_prefix = "ptrace-prof-arena.",
    .module = "_ptrace_prof_gpu",
};
constinit const StubKind kTorchHook{
    .image = &TorchHookImage,
    .magic = {PP_TORCH_BOOT_MAGIC_0, PP_TORCH_BOOT_MAGIC_1},
    .abi_version = PP_TORCH_ABI_VERSION,
    .boot_size = sizeof(pp_torch_boot),
    .file_prefix = "ptrace-prof-torch.",
    .memory_prefix = "ptrace-prof-ops.",
    .module = "_ptrace_prof_torch",
};

uint64_t MakeNonce() {
  uint64_t nonce = 0;
  while (nonce == 0 && ::getrandom(&nonce, sizeof nonce, 0) == sizeof nonce) {
  }
  return nonce;
}

std::string StubFileName(const StubKind& kind, uint64_t nonce) {
  return fmt::format("{}{:016x}", kind.file_prefix, nonce);
}

std::string StubMemoryName(const StubKind& kind, uint64_t nonce) {
  return fmt::format("{}{:016x}", kind.memory_prefix, nonce);
}

Result<size_t> FindBootBlock(const StubKind& kind, std::span<const uint8_t> image) {
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  const std::string_view magic(reinterpret_cast<const char*>(kind.magic), sizeof kind.magic);
  const size_t at = text.find(magic);
  if (at == std::string_view::npos || text.size() - at < kind.boot_size) {
    return NoStub("it has no boot block");
  }
  if (text.find(magic, at + 1) != std::string_view::npos) {
    return NoStub("it has more than one boot block");
  }
  pp_boot_head head;
  std::memcpy(&head, image.data() + at, sizeof head);
  if (head.abi_version != kind.abi_version) {
    return NoStub("it has another version");
  }
  return at;
}

void ReportBootBlock(const StubKind& kind, std::span<const uint8_t> reported, std::span<uint8_t> block) {
  std::memcpy(block.data(), reported.data(), PP_BOOT_SAID_AT);
  std::memcpy(block.data() + PP_BOOT_SAID_END, reported.data() + PP_BOOT_SAID_END, kind.boot_size - PP_BOOT_SAID_END);
  pp_boot_head head;
  std::memcpy(&head, reported.data(), sizeof head);
  const std::string name = StubMemoryName(kind, head.nonce);
  std::memset(head.memory_name, 0, sizeof head.memory_name);
  std::memcpy(head.memory_name, name.data(), std::min(name.size(), sizeof head.memory_name - 1));
  std::memcpy(block.data() + offsetof(pp_boot_head, memory_name), head.memory_name, sizeof head.memory_name);
  std::memcpy(block.data(), kind.magic, sizeof kind.magic);
  std::memcpy(block.data() + offsetof(pp_boot_head, abi_version), &kind.abi_version, sizeof kind.abi_version);
}

}  // namespace ptrace_prof
