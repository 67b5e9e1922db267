#include "daemon/collector/target/start_wait.h"

#include <fmt/format.h>
#include <time.h>

#include "attach/proc/procfs.h"
#include "attach/ptrace/held_start.h"
#include "daemon/collector/target/patient_open.h"
#include "symbolizer/cpython/interpreter_start.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kLongEnough = Nanos::FromSeconds(60);
constexpr Nanos kPause = Nanos::FromMillis(1);

Nanos SinceBoot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Nanos(int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
}

bool HasStartedNow(RemoteMemory& memory, const PythonProcess& python) {
  uint64_t interpreter = 0;
  const RemoteAddr main = python.runtime + python.layout.runtime_interpreters_main;
  return memory.ReadValue(main, &interpreter) == ReadStatus::kOk && interpreter != 0 &&
         HasStarted(memory, python.layout, RemoteAddr(interpreter));
}

}  // namespace

std::function<Result<bool>()> StartedStill(Pid pid, RemoteMemory& memory, const OpenedProcess& process) {
  const Result<Nanos> began = ReadStartTime(pid);
  const bool is_old = began.has_value() && SinceBoot() - began.value() > kLongEnough;
  const bool does_without = is_old && !HasStartedNow(memory, process.python);
  return [pid, &memory, &process, does_without]() -> Result<bool> {
    if (process.HasExeced(memory)) {
      return LostWhileOpened(pid);
    }
    return does_without || HasStartedNow(memory, process.python);
  };
}

Result<void> AwaitStart(Pid pid, const Patience& patience) {
  for (;;) {
    PP_ASSIGN_OR_RETURN(const bool may_begin, patience.may_begin());
    if (may_begin) {
      return {};
    }
    PP_RETURN_IF_ERROR(ReadStartTime(pid));
    if (patience.go_on && !patience.go_on()) {
      return Error{Code::kCancelled, "the capture ended before its target had started", ""};
    }
    if (MonotonicNow() > patience.deadline) {
      return Because(Reason::kPythonNotStarted,
                     fmt::format("the interpreter of process {} is still starting", pid.value),
                     "Try again when its program runs.", ThingOf(pid));
    }
    PauseOrStep(kPause);
  }
}

}  // namespace ptrace_prof
