#include "attach/proc/check_threads.h"

#include <fmt/format.h>

#include "attach/base/reason.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr int kMostGenerations = 256;

bool Descends(Pid process, Pid ancestor) {
  for (int i = 0; i < kMostGenerations && process.value > 1; ++i) {
    if (process == ancestor) {
      return true;
    }
    const auto status = ReadProcessStatus(process);
    if (status.has_error()) {
      return false;
    }
    process = status.value().ppid;
  }
  return false;
}

bool IsThere(Pid pid, Tid thread, Descendants descendants) {
  const auto status = ReadProcessStatus(Pid(thread.value));
  if (status.has_error()) {
    return false;
  }
  const Pid process = status.value().tgid;
  return process == pid || (descendants == Descendants::kToo && Descends(process, pid));
}

}  // namespace

Result<void> CheckThreads(Pid pid, std::span<const Tid> threads, Descendants descendants) {
  std::string missing;
  size_t count = 0;
  for (const Tid thread : threads) {
    if (!IsThere(pid, thread, descendants) && ++count <= 8) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", thread.value);
    }
  }
  if (count == 0) {
    return {};
  }
  return Error{Code::kNotFound,
               fmt::format("process {} has no thread{} {}{}", pid.value, count > 1 ? "s" : "", missing,
                           count > 8 ? fmt::format(" and {} more", count - 8) : ""),
               fmt::format("`ptrace-prof dump --pid {}` shows its threads", pid.value)};
}

}  // namespace ptrace_prof
