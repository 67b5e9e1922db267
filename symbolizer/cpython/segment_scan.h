// Scans the writable segments of an image in the target's memory, piece by piece.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/elf/elf_image.h"

namespace ptrace_prof {

// Pieces overlap by this much, so that anything shorter is complete in one of them.
inline constexpr size_t kScanOverlap = 512;

// Calls visit(address of the piece, its bytes) until it returns false. Pieces start at multiples of 8 bytes. Skips
// unreadable memory, and everything beyond 512 MiB in total.
void ScanWritableSegments(RemoteMemory& memory, const ElfImage& image,
                          const std::function<bool(RemoteAddr, std::span<const std::byte>)>& visit);

}  // namespace ptrace_prof
