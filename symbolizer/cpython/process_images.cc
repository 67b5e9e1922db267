#include "symbolizer/cpython/process_images.h"

#include <sys/sysmacros.h>

#include <algorithm>

#include "attach/base/base_name.h"
#include "attach/proc/mapped_file.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

bool IsFile(const MemoryRegion& region, const ExecutableId& id) {
  return region.inode == id.inode && makedev(region.device_major, region.device_minor) == id.device;
}

}  // namespace

Result<ProcessImages> ProcessImages::Of(Pid pid, RemoteMemory& memory) {
  PP_ASSIGN_OR_RETURN(std::vector<MemoryRegion> regions, ReadMaps(pid));
  ProcessImages found(pid, memory);
  // Without the right to read /proc/<pid>/exe the executable is treated like any other image.
  const Result<ExecutableId> executable = ReadExecutableId(pid);
  for (MemoryRegion& region : regions) {
    if (region.file_offset != 0 || region.inode == 0 || !region.readable) {
      continue;
    }
    ProcessImage image;
    if (executable.has_value() && IsFile(region, executable.value())) {
      image.rank = ImageRank::kExecutable;
      found.executable_ = region.path;
    } else if (BaseName(region.path).find("python") != std::string_view::npos) {
      image.rank = ImageRank::kPythonByName;
    }
    image.region = std::move(region);
    found.images_.push_back(std::move(image));
  }
  std::ranges::stable_sort(found.images_, {}, &ProcessImage::rank);
  return found;
}

Result<const ElfImage*> ProcessImages::Elf(size_t i) {
  ProcessImage& image = images_[i];
  if (!image.read) {
    image.read = true;
    Result<ElfImage> elf = ElfImage::FromMemory(*memory_, image.region.start);
    if (elf.has_value()) {
      image.elf = std::move(elf).value();
    } else if (elf.error().code == Code::kGone || elf.error().code == Code::kPermissionDenied) {
      return std::move(elf).error();
    }
  }
  return image.elf ? &*image.elf : nullptr;
}

Result<const ElfImage*> ProcessImages::ElfWithFile(size_t i) {
  PP_ASSIGN_OR_RETURN(const ElfImage* elf, Elf(i));
  ProcessImage& image = images_[i];
  if (elf != nullptr && !image.file_added) {
    image.file_added = true;
    const Result<UniqueFd> file = OpenMappedFile(pid_, image.region);
    if (file.has_value()) {
      // A file that has been replaced adds nothing; the memory is sufficient.
      const Result<void> added = image.elf->AddFile(file.value().get());
      static_cast<void>(added.has_value());
    }
  }
  return elf;
}

}  // namespace ptrace_prof
