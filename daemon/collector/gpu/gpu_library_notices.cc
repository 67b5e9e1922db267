#include "daemon/collector/gpu/gpu_library_notices.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "daemon/collector/gpu/gpu_detail.h"

namespace ptrace_prof {

std::vector<std::string> GpuLibraryNotices(Pid pid, const GpuLibrary& library) {
  std::vector<std::string> notices;
  std::vector<std::string> refused;
  for (size_t kind = 0; kind < library.kind_results.size(); ++kind) {
    const uint16_t result = library.kind_results[kind];
    if (result != 0 && result != UINT16_MAX) {
      refused.push_back(fmt::format("{} (error {})", GpuKindName(kind), result));
    }
  }
  if (!refused.empty()) {
    notices.push_back(fmt::format("CUPTI of process {} does not record {}", pid.value, fmt::join(refused, ", ")));
  }
  if (!library.system_thread_ids) {
    notices.push_back(
        fmt::format("CUPTI of process {} does not report the kernel's thread IDs: GPU work cannot be assigned to the "
                    "threads that launched it",
                    pid.value));
  }
  return notices;
}

}  // namespace ptrace_prof
