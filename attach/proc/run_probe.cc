#include "attach/proc/run_probe.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "attach/proc/proc_file.h"
#include "attach/proc/proc_line.h"
#include "attach/proc/proc_stat.h"

namespace ptrace_prof {
namespace {

UniqueFd Open(Pid pid, Tid tid, std::string_view name) {
  return UniqueFd(::open(ProcTaskPath(pid, tid, name).c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

RunProbe::RunProbe(Pid pid, Tid tid)
    : syscall_(Open(pid, tid, "syscall")), stat_(Open(pid, tid, "stat")), schedstat_(Open(pid, tid, "schedstat")) {}

RunProbe::State RunProbe::Look() {
  if (!is_there()) {
    return State::kGone;
  }
  LineBuffer buffer;
  if (const std::string_view text = ReadAgain(syscall_, buffer); !text.empty()) {
    return text.starts_with("running") ? State::kRuns : State::kWaits;
  }
  const std::string_view stat = ReadAgain(stat_, buffer);
  if (stat.empty()) {
    return errno == ESRCH || errno == ENOENT ? State::kGone : State::kUnknown;
  }
  switch (ParseProcState(stat)) {
    case 'R': return State::kRuns;
    case 'Z':
    case 'X': return State::kGone;
    default: return State::kWaits;
  }
}

bool RunProbe::WaitsForEvents() {
  static const std::string futex = std::to_string(SYS_futex) + " ";
  LineBuffer buffer;
  const std::string_view text = ReadAgain(syscall_, buffer);
  return !text.empty() && !text.starts_with("running") && !text.starts_with(futex);
}

std::optional<uint64_t> RunProbe::Slices() {
  LineBuffer buffer;
  const std::string_view text = ReadAgain(schedstat_, buffer);
  std::optional<uint64_t> slices;
  size_t count = 0;
  ForEachNumber(text, [&](int64_t number) {
    if (++count == 3) {
      slices = static_cast<uint64_t>(number);
    }
  });
  return slices;
}

}  // namespace ptrace_prof
