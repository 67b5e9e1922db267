// The dynamic symbols of an ELF image, read from memory through PT_DYNAMIC.
//
// Only the hash tables contain the number of symbols.
#pragma once

#include <cstdint>
#include <memory>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/elf/dynamic_section.h"
#include "symbolizer/elf/elf_image.h"
#include "symbolizer/elf/symbol_table.h"

namespace ptrace_prof {

// Null: none, unreadable, or more than is reasonable.
std::shared_ptr<const SymbolTable> ReadDynamicSymbols(RemoteMemory& memory, const ElfImage& image,
                                                      const DynamicSection& dynamic);

}  // namespace ptrace_prof
