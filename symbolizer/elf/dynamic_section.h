// The section of an ELF image that tells the dynamic linker where everything is, read from memory.
//
// The pointers in it are addresses if the dynamic linker has relocated them in place (glibc), and still as linked if it
// has not (musl, the vdso).
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/elf/elf_image.h"

namespace ptrace_prof {

// Values of the dynamic section; 0 = absent.
struct DynamicTags {
  uint64_t symbols = 0;
  uint64_t strings = 0;
  uint64_t string_bytes = 0;
  uint64_t symbol_size = sizeof(Elf64_Sym);
  uint64_t hash = 0;
  uint64_t gnu_hash = 0;
  uint64_t relocations = 0;
  uint64_t relocation_bytes = 0;
  uint64_t relocation_size = sizeof(Elf64_Rela);
  uint64_t relative_relocations = 0;  // how many there are; they come first
  uint64_t jumps = 0;                 // relocations of slots for calls
  uint64_t jump_bytes = 0;
};

// Nullopt: it cannot be read.
std::optional<DynamicTags> ReadDynamicTags(RemoteMemory& memory, const DynamicSection& dynamic);

// Where a pointer of that section points to: one inside a segment as linked has not been relocated yet.
inline RemoteAddr ResolveDynamic(const ElfImage& image, uint64_t pointer) {
  const bool as_linked = std::ranges::any_of(
      image.segments(), [pointer](const ElfSegment& s) { return pointer >= s.vaddr && pointer - s.vaddr < s.size; });
  return as_linked ? image.Address(pointer) : RemoteAddr(pointer);
}

template <typename T>
std::optional<std::vector<T>> ReadArray(RemoteMemory& memory, RemoteAddr from, uint64_t count) {
  std::vector<T> items(count);
  if (count != 0 && memory.Read(from, items.data(), count * sizeof(T)) != ReadStatus::kOk) {
    return std::nullopt;
  }
  return items;
}

}  // namespace ptrace_prof
