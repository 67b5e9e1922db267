#include "attach/inject/job_limits.h"

#include <fmt/format.h>

#include "attach/proc/process_limits.h"

namespace ptrace_prof {

Result<void> CheckFileSizeLimit(Pid pid, uint64_t bytes) {
  const uint64_t limit = SoftLimitOf(pid, kFileSizeLimit).value_or(UINT64_MAX);
  if (limit >= bytes) {
    return {};
  }
  return Because(
      Reason::kTracerNotLoaded,
      fmt::format("process {} may make files of {} bytes (RLIMIT_FSIZE, ulimit -f), and the memory that it "
                  "would share with us has {}",
                  pid.value, limit, bytes),
      fmt::format("raise its limit (prlimit --pid {} --fsize=unlimited), or sample it, without --gpu", pid.value),
      ThingOf(pid));
}

}  // namespace ptrace_prof
