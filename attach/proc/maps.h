// /proc/<pid>/maps as a list of regions. The text is the kernel's; the target chooses the paths in it (hostile).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct MemoryRegion {
  RemoteAddr start;
  RemoteAddr end;
  uint64_t file_offset = 0;
  uint64_t inode = 0;
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool deleted = false;  // " (deleted)" was removed from the path
  std::string path;      // "" for anonymous, "[stack]" and such for special ones

  uint64_t size() const { return end - start; }
};

// Lines that do not parse are skipped and counted in *malformed (may be null).
std::vector<MemoryRegion> ParseMaps(std::string_view text, size_t* malformed = nullptr);
// kGone, kPermissionDenied.
Result<std::vector<MemoryRegion>> ReadMaps(Pid pid);

}  // namespace ptrace_prof
