// What tells one kind of stub from another, and what all of them have in common: the head of the boot block.
//
// Two kinds may be resident in one target; each has its own magic words, version, names and module, and one way in
// serves both (delivery.h, resident_stub.h). Pure functions on bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attach/abi/boot_head.h"
#include "attach/base/result.h"

namespace ptrace_prof {

struct StubKind {
  uint64_t magic[2];
  uint32_t abi_version;
  size_t boot_size;
  std::string_view file_prefix;    // of the memfd with its bytes
  std::string_view memory_prefix;  // of the memfd that it makes
  std::string_view module;         // for the spec given to _imp.create_dynamic: its init function is PyInit_<module>
};

extern const StubKind kTracerStub;  // stub_file.cc
extern const StubKind kGpuShim;     // gpu_shim_file.cc

// A stub as it is to be loaded, told its part.
struct StubPackage {
  const StubKind* kind;
  uint64_t nonce;
  std::span<const uint8_t> bytes;
};

// Tells a capture from any other: never 0, unless the kernel has no random numbers.
uint64_t MakeNonce();

// The names of the two memfds of a capture.
std::string StubFileName(const StubKind& kind, uint64_t nonce);
std::string StubMemoryName(const StubKind& kind, uint64_t nonce);

// Where the boot block of this kind is. kInvalidArgument: there is none, more than one, or one of another version.
Result<size_t> FindBootBlock(const StubKind& kind, std::span<const uint8_t> image);

// Copies into `block` what the collector says, and leaves what the stub says. Precondition: both have the size of the
// kind's boot block.
void TellBootBlock(const StubKind& kind, std::span<const uint8_t> told, std::span<uint8_t> block);

}  // namespace ptrace_prof
