#include "daemon/collector/calls/mapped_functions.h"

#include <string>

#include "symbolizer/elf/elf_image.h"

namespace ptrace_prof {

RemoteAddr FindInMapped(const std::vector<MemoryRegion>& regions, RemoteMemory& memory, std::string_view path_part,
                        std::string_view symbol) {
  for (const MemoryRegion& region : regions) {
    if (region.file_offset != 0 || !region.readable || region.path.find(path_part) == std::string::npos) {
      continue;
    }
    const Result<ElfImage> elf = ElfImage::FromMemory(memory, region.start);
    const auto found = elf.has_value() ? elf.value().FindSymbol(symbol) : std::nullopt;
    if (found && found->value != 0) {  // zero: only an undefined reference
      return elf.value().Address(found->value);
    }
  }
  return {};
}

RemoteAddr FindInLibc(const std::vector<MemoryRegion>& regions, RemoteMemory& memory, std::string_view symbol) {
  for (const std::string_view part : {"/libc.so", "/libc-", "/libpthread", "/libdl", "/ld-musl-"}) {  // "libc-2.31.so"
    const RemoteAddr found = FindInMapped(regions, memory, part, symbol);
    if (!found.IsNull()) {
      return found;
    }
  }
  return {};
}

}  // namespace ptrace_prof
