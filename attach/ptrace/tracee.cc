#include "attach/ptrace/tracee.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr int kSignalMask = 0x7f;

TraceeStatus DecodeStop(int stop) {
  const int signal = stop & kSignalMask;
  switch (stop >> kEventShift) {
    case 0: return {TraceeState::kSignalStopped, signal};
    case PTRACE_EVENT_STOP: return {signal == SIGTRAP ? TraceeState::kInterrupted : TraceeState::kGroupStopped, 0};
    default: return {TraceeState::kEventStopped, 0};
  }
}

int Look(Tid tid, int what, siginfo_t* info) {
  info->si_pid = 0;
  return ::waitid(P_PID, static_cast<id_t>(tid.value), info, what | WNOHANG | __WALL);
}

}  // namespace

TraceeStatus DecodeWait(const siginfo_t& info) {
  if (info.si_pid == 0) {
    return {TraceeState::kRunning, 0};
  }
  switch (info.si_code) {
    case CLD_TRAPPED:
    case CLD_STOPPED: return DecodeStop(info.si_status);
    case CLD_EXITED:
    case CLD_KILLED:
    case CLD_DUMPED: return {TraceeState::kDead, 0};
    default: return {TraceeState::kRunning, 0};
  }
}

TraceeStatus LookAtTracee(Tid tid) {
  siginfo_t info{};
  if (Look(tid, WEXITED | WSTOPPED | WNOWAIT, &info) != 0) {
    return {errno == ECHILD ? TraceeState::kNotTraced : TraceeState::kRunning, 0};
  }
  return DecodeWait(info);
}

bool DetachTracee(Tid tid, int signal) {
  return ::ptrace(PTRACE_DETACH, tid.value, nullptr, reinterpret_cast<void*>(static_cast<intptr_t>(signal))) == 0;
}

void ReapTracee(Tid tid) {
  const Result<ProcessStatus> status = ReadProcessStatus(Pid(tid.value));
  const bool child_of_ours =
      status.has_value() && status.value().tgid.value == tid.value && status.value().ppid.value == ::getpid();
  siginfo_t info{};
  if (!child_of_ours) {
    Look(tid, WEXITED, &info);
  }
}

}  // namespace ptrace_prof
