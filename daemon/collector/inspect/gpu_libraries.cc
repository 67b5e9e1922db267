#include "daemon/collector/inspect/gpu_libraries.h"

#include <algorithm>
#include <string_view>

#include "attach/base/base_name.h"

namespace ptrace_prof {
namespace {

struct Library {
  // Followed by ".so", or by "-VERSION.so" (wheels rename what they bundle: libcudart-1234.so).
  std::string_view file;
  std::string_view name;
};
constexpr Library kLibraries[] = {
    {"libcuda", "libcuda"},
    {"libcudart", "libcudart"},
    {"libcupti", "libcupti"},
    {"libnccl", "libnccl"},
    {"libcudnn", "libcudnn"},
    {"libcublas", "libcublas"},
    {"libtorch_cuda", "libtorch_cuda"},
    {"libtorch_hip", "libtorch_hip"},
    {"libamdhip64", "libhip"},
    {"librccl", "librccl"},
    {"librocprofiler-sdk", "librocprofiler"},
    {"libroctracer64", "libroctracer"},
    {"libze_loader", "libze"},
};

bool IsLibrary(std::string_view base, std::string_view file) {
  if (!base.starts_with(file)) {
    return false;
  }
  base.remove_prefix(file.size());
  return base.starts_with(".so") || (base.starts_with('-') && base.find(".so") != std::string_view::npos);
}

}  // namespace

std::vector<std::string> GpuLibraries(std::span<const MemoryRegion> regions) {
  std::vector<std::string> found;
  for (const Library& library : kLibraries) {
    const bool mapped = std::ranges::any_of(regions, [&](const MemoryRegion& region) {
      const std::string_view path = region.path;
      return IsLibrary(BaseName(path), library.file);
    });
    if (mapped) {
      found.emplace_back(library.name);
    }
  }
  return found;
}

}  // namespace ptrace_prof
