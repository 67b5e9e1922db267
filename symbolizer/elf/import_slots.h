// The slots of global offset tables through which an ELF image calls certain functions: of other images, or of its own
// that others may replace. Read from memory, through the relocations in PT_DYNAMIC. All data are hostile.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

struct ImportSlot {
  RemoteAddr at;        // of the word that holds the function's address
  size_t function = 0;  // index in what was asked for
};

// `header` is the address of the ELF header. Empty: there are none, or the image cannot be read.
std::vector<ImportSlot> FindImportSlots(RemoteMemory& memory, RemoteAddr header,
                                        std::span<const std::string_view> functions);

}  // namespace ptrace_prof
