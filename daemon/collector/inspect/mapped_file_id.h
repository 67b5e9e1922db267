// Identifies the file of a mapping: the key of results that are computed once per file. Plain value.
#pragma once

#include <compare>
#include <cstdint>

#include "attach/proc/maps.h"

namespace ptrace_prof {

struct MappedFileId {
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t inode = 0;
  auto operator<=>(const MappedFileId&) const = default;

  static MappedFileId Of(const MemoryRegion& region) {
    return {region.device_major, region.device_minor, region.inode};
  }
};

// Whether the mapping holds the beginning of a file, where an ELF image has its header.
inline bool BeginsFile(const MemoryRegion& region) {
  return region.file_offset == 0 && region.inode != 0 && region.readable;
}

}  // namespace ptrace_prof
