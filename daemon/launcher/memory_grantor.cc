#include "daemon/launcher/memory_grantor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "attach/base/capability_sets.h"
#include "attach/base/descriptor_packet.h"
#include "attach/base/sanitizers.h"
#include "attach/base/system_call_rules.h"
#include "attach/proc/memory_grants.h"
#include "attach/proc/proc_file.h"
#include "attach/proc/procfs.h"
#include "attach/ptrace/brief_stop.h"
#include "attach/ptrace/traced_threads.h"

namespace ptrace_prof {
namespace {

constexpr int kLine = 3;
constexpr uint32_t kCalls[] = {
#if defined(__x86_64__)
    SYS_readlink,       SYS_poll,
#endif
    SYS_read,           SYS_sendmsg,      SYS_close,           SYS_readlinkat,    SYS_capset,
    SYS_futex,          SYS_mmap,         SYS_munmap,          SYS_brk,           SYS_exit_group,
    SYS_capget,         SYS_mprotect,     SYS_rt_sigreturn,    SYS_ppoll,         SYS_pidfd_open,
    SYS_waitid,         SYS_nanosleep,    SYS_restart_syscall, SYS_clock_gettime, SYS_clock_nanosleep,
    SYS_rt_sigprocmask, SYS_rt_sigaction,
};

bool IsScopeOne() {
  const auto text = ReadProcFile("/proc/sys/kernel/yama/ptrace_scope", 8);
  return text.has_value() && text.value() == "1\n";
}

// Asks whether the kernel lets the caller read the process's state, with no right to trace it. Returns 0 or an errno.
int AskToLook(Pid pid) {
  char link = 0;
  const int refused = ::readlink(ProcPath(pid, "exe").c_str(), &link, 1) >= 0 ? 0 : errno;
  return refused == ENOENT ? ESRCH : refused == EACCES ? EPERM : refused;
}

int Open(Pid pid, UniqueFd& memory) {
  memory.reset(::open(ProcPath(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC));
  return memory.is_open() ? 0 : errno == EACCES ? EPERM : errno;
}

// Raises CAP_SYS_PTRACE for one call and drops it again; ends the process if it cannot be dropped.
template <typename Call>
bool WithRight(Call call) {
  if (SetCapabilities({kSysPtrace, kSysPtrace, 0}) != 0) {
    return false;
  }
  call();
  if (SetCapabilities({kSysPtrace, 0, 0}) != 0) {
    ::_exit(1);
  }
  return true;
}

// The caller may stop this process at any point here, and meanwhile `pid` may become another process.
int Grant(Pid pid, UniqueFd& memory) {
  const auto pinned = OpenPidfd(pid);
  if (const int refused = pinned.has_error() ? ESRCH : AskToLook(pid); refused != 0) {
    return refused;
  }
  if (Open(pid, memory) != 0 && IsScopeOne()) {
    int refused = EPERM;
    if (!WithRight([&] { refused = Open(pid, memory); }) || refused != 0) {
      return refused;
    }
  }
  const int refused = memory.is_open() ? AskToLook(pid) : EPERM;
  return HasExited(pinned.value()) ? ESRCH : refused;
}

// Becomes the caller for good, with one capability in reserve; no other descriptor of the launcher's stays open.
bool BecomeGrantor(const CallerIdentity& caller, const UniqueFd& line) {
  ::prctl(PR_SET_NAME, "ptrace-prof-mem");
  if (::dup2(line.get(), kLine) < 0 || ::syscall(SYS_close_range, kLine + 1, ~0U, 0) != 0) {
    return false;
  }
  DropBounds(0);
  ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
  if (BecomeCaller(caller) != 0 || SetCapabilities({kSysPtrace, 0, 0}) != 0) {
    return false;
  }
  ::prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  SystemCallRules rules;
  rules.Allow(kCalls);
  rules.AllowWithout(SYS_openat, 2, O_ACCMODE | O_CREAT | O_TRUNC);
  const uint32_t stops[] = {PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH};
  rules.AllowIfOneOf(SYS_ptrace, 0, stops);
  return rules.Install(SystemCallRules::Rest::kRefused) || kIsSanitized;
}

// The processes granted so far, and the thread of one that is stopped or about to stop.
class Granted {
 public:
  int Add(Pid pid, UniqueFd& memory) {
    const int refused = Grant(pid, memory);
    if (refused == 0 && Find(pid) == nullptr && processes_.size() < kMostProcesses) {
      if (auto pidfd = OpenPidfd(pid); pidfd.has_value()) {
        processes_.emplace_back(pid, std::move(pidfd).value());
      }
    }
    return refused;
  }

  // Returns 0 once the thread is stopped. The checks of Grant are repeated, since the process may have changed its user
  // meanwhile.
  int Stop(Pid pid, Tid tid) {
    const UniqueFd* pidfd = Find(pid);
    if (pidfd == nullptr || stop_.state() != BriefStop::State::kNone) {
      return pidfd == nullptr ? EPERM : EBUSY;
    }
    if (HasExited(*pidfd) || !IsThreadOf(pid, tid)) {
      return ESRCH;
    }
    if (const int refused = AskToLook(pid); refused != 0) {
      return refused;
    }
    stop_ = BriefStop(pid, tid, StopVia::kOwnRight);
    if (stop_.state() == BriefStop::State::kRefused && IsScopeOne() &&
        !WithRight([&] { stop_ = BriefStop(pid, tid, StopVia::kOwnRight); })) {
      return EPERM;
    }
    const BriefStop::State state = stop_.Await(kPatience);
    const int looked = AskToLook(pid);
    if (state == BriefStop::State::kStopped && looked == 0 && !HasExited(*pidfd)) {
      return 0;
    }
    const int refusal = stop_.refusal();
    if (state == BriefStop::State::kComing) {
      return EAGAIN;  // when the thread has stopped, LetGo is called
    }
    stop_.Release();
    return looked != 0 ? looked : refusal != 0 ? refusal : ESRCH;
  }

  void LetGo() {
    while (stop_.state() == BriefStop::State::kComing && stop_.Await(kPatience) == BriefStop::State::kComing) {
    }
    stop_.Release();
  }
  bool is_coming() const { return stop_.state() == BriefStop::State::kComing; }

 private:
  static constexpr size_t kMostProcesses = 1024;
  static constexpr Nanos kPatience = Nanos::FromMillis(20);

  const UniqueFd* Find(Pid pid) {
    std::erase_if(processes_, [](const auto& process) { return HasExited(process.second); });
    for (const auto& [granted, pidfd] : processes_) {
      if (granted == pid) {
        return &pidfd;
      }
    }
    return nullptr;
  }
  static bool IsThreadOf(Pid pid, Tid tid) {
    return UniqueFd(::open(ProcTaskPath(pid, tid, "stat").c_str(), O_RDONLY | O_CLOEXEC)).is_open();
  }

  std::vector<std::pair<Pid, UniqueFd>> processes_;
  BriefStop stop_;
};

[[noreturn]] void Serve(const CallerIdentity& caller, const UniqueFd& line) {
  if (!BecomeGrantor(caller, line)) {
    ::_exit(1);
  }
  const LettingGo letting_go(LetGoOf::kLate);  // the wait for the next question may be long
  MemoryQuestion question;
  Granted granted_so_far;
  while (::read(kLine, &question, sizeof question) == sizeof question) {
    UniqueFd memory;
    MemoryAnswer answer{.number = question.number, .refused = ESRCH};
    if (question.pid > 0 && question.tid > 0) {
      answer.refused = granted_so_far.Stop(Pid(question.pid), Tid(question.tid));
    } else if (question.pid > 0) {
      answer.refused = granted_so_far.Add(Pid(question.pid), memory);
    } else if (question.pid == 0) {
      granted_so_far.LetGo();
      answer.refused = 0;
    }
    const int granted = memory.get();
    const std::span<const int> descriptors(&granted, memory.is_open() && answer.refused == 0 ? 1 : 0);
    if (SendPacket(kLine, std::as_bytes(std::span(&answer, 1)), descriptors) != 0) {
      break;
    }
    if (granted_so_far.is_coming()) {
      granted_so_far.LetGo();  // as soon as it stops: the stop timed out for the collector
    }
  }
  ::_exit(0);
}

}  // namespace

MemoryGrantor StartMemoryGrantor(const CallerIdentity& caller) {
  MemoryGrantor grantor;
  int ends[2];
  if ((caller.capabilities & kSysPtrace) != 0 || !IsScopeOne() ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return grantor;
  }
  grantor.line.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  grantor.pid = ::fork();
  if (grantor.pid == 0) {
    Serve(caller, theirs);
  }
  grantor.pidfd.reset(grantor.pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, grantor.pid, 0)) : -1);
  return grantor;
}

}  // namespace ptrace_prof
