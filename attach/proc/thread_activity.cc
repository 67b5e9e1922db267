#include "attach/proc/thread_activity.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "attach/proc/proc_file.h"
#include "attach/proc/proc_line.h"
#include "attach/proc/proc_stat.h"
#include "attach/proc/wait_reason.h"

namespace ptrace_prof {
namespace {}  // namespace

UniqueFd ThreadActivity::OpenFile(std::string_view name) const {
  return UniqueFd(::open(ProcTaskPath(pid_, tid_, name).c_str(), O_RDONLY | O_CLOEXEC));
}

Result<ThreadActivity> ThreadActivity::Open(Pid pid, Tid tid) {
  ThreadActivity activity(pid, tid);
  activity.schedstat_ = activity.OpenFile("schedstat");
  if (!activity.schedstat_.is_open()) {
    return ProcError(errno, ProcTaskPath(pid, tid, "schedstat"));
  }
  return activity;
}

Result<ThreadActivity::Usage> ThreadActivity::Look() {
  LineBuffer buffer;
  const std::string_view text = ReadAgain(schedstat_, buffer);
  if (text.empty()) {
    return ProcError(errno != 0 ? errno : ESRCH, ProcTaskPath(pid_, tid_, "schedstat"));
  }
  int64_t fields[3] = {};  // CPU time, time on the run queue, slices
  size_t count = 0;
  ForEachNumber(text, [&](int64_t number) {
    if (count < 3) {
      fields[count++] = number;
    }
  });
  return Usage{Nanos(fields[0]), Nanos(fields[1]), static_cast<uint64_t>(fields[2])};
}

void ThreadActivity::OpenReasons() {
  if (!std::exchange(reason_opened_, true)) {
    stat_ = OpenFile("stat");
    syscall_ = OpenFile("syscall");  // may be refused: then only the state is known
  }
}

WaitReason ThreadActivity::Reason() {
  OpenReasons();
  // `syscall` is read first: it is cheaper, and sufficient for a thread that runs.
  const WaitReason reason = BlockedReason();
  if (reason.kind == WaitKind::kRunning) {
    return reason;
  }
  LineBuffer buffer;
  const std::string_view stat = ReadAgain(stat_, buffer);
  if (stat.empty()) {
    return WaitReason{.kind = errno == ESRCH || errno == ENOENT ? WaitKind::kDead : WaitKind::kUnknown};
  }
  const char state = ParseProcState(stat);
  if (const WaitKind kind = WaitKindOfState(state); kind != WaitKind::kUnknown) {
    return WaitReason{.kind = kind, .call = kind == WaitKind::kStopped ? StopperOfState(state) : ""};
  }
  WaitReason blocked = reason;
  if (blocked.kind == WaitKind::kUnknown && state != '?') {
    blocked.kind = WaitKind::kOther;  // `syscall` cannot be read, and the thread does not run
  }
  if (state == 'D' && blocked.kind != WaitKind::kStopped) {
    blocked.kind = WaitKind::kDisk;
  }
  return blocked;
}

WaitReason ThreadActivity::BlockedReason() {
  LineBuffer buffer;
  WaitReason reason = ParseSyscallFile(ReadAgain(syscall_, buffer));
  // A wait that a signal or a tracer interrupted continues as "restart_syscall": the kernel function says which wait it
  // is.
  if (reason.call == "restart_syscall") {
    reason.kind = WaitKindOfRestart(ReadAgain(OpenFile("wchan"), buffer));
  } else if (reason.kind == WaitKind::kOther && reason.call.empty() && IsFrozen(ReadAgain(OpenFile("wchan"), buffer))) {
    reason.kind = WaitKind::kStopped;
    reason.call = "a frozen cgroup";
  }
  return reason;
}

}  // namespace ptrace_prof
