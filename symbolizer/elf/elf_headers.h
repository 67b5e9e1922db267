// The checks and decoders shared by ELF images in memory and ELF files: header, program headers, build-id. Pure
// functions over hostile bytes.
#pragma once

#include <elf.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/base/result.h"

namespace ptrace_prof {

inline constexpr size_t kMaxProgramHeaders = 512;
inline constexpr size_t kMaxNoteBytes = 64 << 10;

// Checks that this is a 64-bit little-endian program or library with a bounded number of program headers. `where` names
// it in the error (kInvalidArgument).
Result<void> CheckElfHeader(const Elf64_Ehdr& header, const std::string& where);

std::vector<Elf64_Phdr> DecodeProgramHeaders(std::span<const uint8_t> raw);

// The NT_GNU_BUILD_ID among the notes of a PT_NOTE segment with this alignment; empty if there is none.
std::vector<uint8_t> FindBuildId(std::span<const uint8_t> notes, uint64_t alignment);

}  // namespace ptrace_prof
