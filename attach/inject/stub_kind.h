// What distinguishes the kinds of stubs, and what they have in common: the head of the boot block.
//
// All kinds may be resident in one target. Each has its own magic words, version, names and module, and the same
// injection path serves them all (delivery.h, resident_stub.h). Pure functions on bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attach/abi/boot.h"
#include "attach/abi/gpu_boot.h"
#include "attach/abi/torch_boot.h"
#include "attach/base/result.h"

namespace ptrace_prof {

struct StubKind {
  std::span<const uint8_t> (*image)();  // the bytes in our program
  uint64_t magic[2];
  uint32_t abi_version;
  size_t boot_size;
  std::string_view file_prefix;    // of the name of the memfd with the stub's bytes
  std::string_view memory_prefix;  // of the name of the memfd that the stub makes
  std::string_view module;         // for the spec given to _imp.create_dynamic: its init function is PyInit_<module>
};

extern const StubKind kTracerStub;
extern const StubKind kGpuShim;
extern const StubKind kTorchHook;

// The kind that uses this boot block.
template <typename Boot>
constexpr const StubKind& KindOf();
template <>
constexpr const StubKind& KindOf<pp_boot>() {
  return kTracerStub;
}
template <>
constexpr const StubKind& KindOf<pp_gpu_boot>() {
  return kGpuShim;
}
template <>
constexpr const StubKind& KindOf<pp_torch_boot>() {
  return kTorchHook;
}

// A stub to be loaded, with its boot block filled in.
struct StubPackage {
  const StubKind* kind;
  uint64_t nonce;
  std::span<const uint8_t> bytes;
};

// Makes the identifier of a capture: never 0, unless the kernel has no random numbers.
uint64_t MakeNonce();

// The names of the two memfds of a capture.
std::string StubFileName(const StubKind& kind, uint64_t nonce);
std::string StubMemoryName(const StubKind& kind, uint64_t nonce);

// The offset of this kind's boot block. kInvalidArgument: there is none, more than one, or one of another version.
Result<size_t> FindBootBlock(const StubKind& kind, std::span<const uint8_t> image);

// Copies the collector's fields into `block` and keeps the stub's fields. The memory gets the name that belongs to the
// nonce. Precondition: both have the size of the kind's boot block.
void ReportBootBlock(const StubKind& kind, std::span<const uint8_t> reported, std::span<uint8_t> block);

}  // namespace ptrace_prof
