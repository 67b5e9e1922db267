// The dynamic symbols of an ELF image, read from memory through PT_DYNAMIC.
//
// The pointers in PT_DYNAMIC are addresses if the dynamic linker has relocated them in place (glibc), and still as
// linked if it has not (musl, the vdso). Only the hash tables contain the number of symbols.
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

// Null: none, unreadable, or more than is reasonable.
std::shared_ptr<const SymbolTable> ReadDynamicSymbols(RemoteMemory& memory, const ElfImage& image,
                                                      const DynamicSection& dynamic);

}  // namespace ptrace_prof
