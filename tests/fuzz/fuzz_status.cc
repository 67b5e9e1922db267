// Any bytes as the text files of /proc about a process and its threads.
#include <cstdint>
#include <cstdlib>

#include "attach/proc/proc_stat.h"
#include "attach/proc/procfs.h"
#include "attach/proc/wait_reason.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptrace_prof;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto status = ParseProcessStatus(text);
  if (status.has_value() && (status->name.size() > size || status->ns_pids.size() > size || status->tgid.value <= 0)) {
    std::abort();
  }
  const auto stat = ParseProcStat(text);
  if (stat.has_value() && stat->state != ParseProcState(text)) {
    std::abort();
  }
  const WaitReason reason = ParseSyscallFile(text);
  if (reason.futex_address != 0 && reason.kind != WaitKind::kFutex) {
    std::abort();
  }
  WaitKindOfRestart(text);
  return 0;
}
