// The dynamic symbols of an ELF image, read from memory through PT_DYNAMIC.
//
// Knows that the pointers in PT_DYNAMIC are addresses where the dynamic linker has relocated them in place (glibc),
// and still as linked where it has not (musl, the vdso), and that only the hash tables tell how many symbols there are.
#pragma once

#include <cstdint>
#include <memory>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/elf/elf_image.h"
#include "symbolizer/elf/symbol_table.h"

namespace ptrace_prof {

struct DynamicSection {
  RemoteAddr address;
  uint64_t size = 0;
};

// null: none, unreadable, or more than is reasonable.
std::shared_ptr<const SymbolTable> ReadDynamicSymbols(RemoteMemory& memory, const ElfImage& image,
                                                      const DynamicSection& dynamic);

}  // namespace ptrace_prof
