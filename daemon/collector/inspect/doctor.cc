#include "daemon/collector/inspect/doctor.h"

#include "attach/proc/access_diagnosis.h"
#include "daemon/collector/inspect/node_checks.h"
#include "daemon/collector/inspect/process_checks.h"

namespace ptrace_prof {
namespace {

std::vector<Check> CheckProcess(Pid pid, const std::function<Result<void>()>& harden,
                                const FreeGpuMemory& free_gpu_memory) {
  if (const Result<void> target = CheckTarget(pid); target.has_error()) {
    return {CheckRefusal(pid, target.error())};
  }
  if (const Result<void> hardened = harden(); hardened.has_error()) {
    return {CheckRefusal(pid, hardened.error())};
  }
  return CheckReadable(pid, free_gpu_memory);
}

}  // namespace

void Diagnose(Pid pid, const std::function<Result<void>()>& harden, const FreeGpuMemory& free_gpu_memory,
              TraceWriter& writer) {
  for (const Check& check : JudgeNode(GatherNodeFacts())) {
    writer.AddCheck(check);
  }
  if (pid.value != 0) {
    for (const Check& check : CheckProcess(pid, harden, free_gpu_memory)) {
      writer.AddCheck(check);
    }
  }
}

}  // namespace ptrace_prof
