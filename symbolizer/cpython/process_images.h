// The ELF images that a process maps, the likeliest containers of an interpreter first: its executable, files with
// "python" in their name, the rest in the order of maps. A file that is mapped several times is listed several times.
//
// Each is read at its first use. Borrows the memory; one owner, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/maps.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/elf/elf_image.h"

namespace ptrace_prof {

enum class ImageRank : uint8_t { kExecutable, kPythonByName, kOther };

struct ProcessImage {
  MemoryRegion region;  // the one with the ELF header
  ImageRank rank = ImageRank::kOther;
  bool read = false;
  bool file_added = false;
  std::optional<ElfImage> elf;  // set once read, if there is an ELF header
};

class ProcessImages {
 public:
  // kGone, kPermissionDenied.
  static Result<ProcessImages> Of(Pid pid, RemoteMemory& memory);

  size_t count() const { return images_.size(); }
  const ProcessImage& image(size_t i) const { return images_[i]; }
  const std::string& executable() const { return executable_; }  // its path in maps

  // Null: no ELF there. kGone, kPermissionDenied.
  Result<const ElfImage*> Elf(size_t i);
  // The same, including what its file adds, if the file can be opened.
  Result<const ElfImage*> ElfWithFile(size_t i);

 private:
  ProcessImages(Pid pid, RemoteMemory& memory) : pid_(pid), memory_(&memory) {}

  Pid pid_;
  RemoteMemory* memory_;
  std::vector<ProcessImage> images_;
  std::string executable_;
};

}  // namespace ptrace_prof
