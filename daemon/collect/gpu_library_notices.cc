#include "daemon/collect/gpu_library_notices.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "attach/inject/gpu_failure.h"
#include "daemon/collect/gpu_detail.h"
#include "daemon/collect/gpu_record.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kOwnName = "ptrace-prof";  // that of the shim to CUPTI

bool IsSecond(const GpuLibrary& library) { return library.backend == PP_GPU_BACKEND_CUPTI_SECOND; }

void AddGeneration(Pid pid, const GpuLibrary& library, std::vector<std::string>& notices) {
  if (!IsSecond(library)) {
    notices.push_back(fmt::format(
        "the second generation of CUPTI's calls needs CUDA 13.3 and driver r610 or later; process {} has "
        "the CUPTI of {} and a driver for CUDA {}.{}, so the first is used",
        pid.value, CuptiRelease(library.version), library.driver_version / 1000, library.driver_version % 1000 / 10));
    return;
  }
  notices.push_back(
      fmt::format("the GPU of process {} is recorded by the second generation of CUPTI's calls, which has never been "
                  "tried on a real library",
                  pid.value));
  if (!library.first_tool.empty() && library.first_tool.find(kOwnName) == std::string::npos) {
    notices.push_back(fmt::format("CUPTI of process {} is shared with \"{}\"", pid.value, library.first_tool));
  }
}

void AddUnrecorded(Pid pid, const GpuLibrary& library, std::vector<std::string>& notices) {
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
        fmt::format("CUPTI of process {} does not name threads as the kernel does: whose calls launched what is not "
                    "known",
                    pid.value));
  }
}

}  // namespace

bool AreGpuGraphsWhole(const GpuLibrary& library) {
  return IsSecond(library) && library.kind_results[static_cast<size_t>(GpuRecordKind::kGraph)] == 0;
}

std::vector<std::string> GpuLibraryNotices(Pid pid, const GpuLibrary& library, bool wants_second) {
  std::vector<std::string> notices;
  if (wants_second) {
    AddGeneration(pid, library, notices);
  }
  if (AreGpuGraphsWhole(library)) {
    notices.push_back(
        fmt::format("another tool has CUPTI of process {} record CUDA graphs as a whole, for all tools: their kernels "
                    "are not recorded one by one",
                    pid.value));
  }
  AddUnrecorded(pid, library, notices);
  return notices;
}

}  // namespace ptrace_prof
