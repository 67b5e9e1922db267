#include "attach/inject/stub_kind.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstring>

namespace ptrace_prof {
namespace {

Error NoStub(std::string_view why) { return {Code::kInvalidArgument, fmt::format("this is no stub: {}", why), ""}; }

}  // namespace

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
    return NoStub("it is of another version");
  }
  return at;
}

void TellBootBlock(const StubKind& kind, std::span<const uint8_t> told, std::span<uint8_t> block) {
  std::memcpy(block.data(), told.data(), PP_BOOT_SAID_AT);
  std::memcpy(block.data() + PP_BOOT_SAID_END, told.data() + PP_BOOT_SAID_END, kind.boot_size - PP_BOOT_SAID_END);
  std::memcpy(block.data(), kind.magic, sizeof kind.magic);
  std::memcpy(block.data() + offsetof(pp_boot_head, abi_version), &kind.abi_version, sizeof kind.abi_version);
}

}  // namespace ptrace_prof
