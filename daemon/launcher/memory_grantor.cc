#include "daemon/launcher/memory_grantor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "attach/base/capability_sets.h"
#include "attach/base/descriptor_packet.h"
#include "attach/base/sanitizers.h"
#include "attach/base/system_call_rules.h"
#include "attach/proc/memory_grants.h"
#include "attach/proc/proc_file.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr int kLine = 3;
constexpr uint32_t kCalls[] = {
    SYS_read,     SYS_sendmsg,    SYS_close,      SYS_readlinkat, SYS_capset,   SYS_futex,        SYS_mmap,
    SYS_munmap,   SYS_brk,        SYS_exit_group, SYS_capget,     SYS_mprotect, SYS_rt_sigreturn, SYS_restart_syscall,
    SYS_ppoll,    SYS_pidfd_open,
#if defined(__x86_64__)
    SYS_readlink, SYS_poll,
#endif
};

bool IsScopeOne() {
  const auto text = ReadProcFile("/proc/sys/kernel/yama/ptrace_scope", 8);
  return text.has_value() && text.value() == "1\n";
}

// 0, or an errno: whether the kernel lets the caller look at it, as one who may not trace it.
int AskToLook(Pid pid) {
  char link = 0;
  const int refused = ::readlink(ProcPath(pid, "exe").c_str(), &link, 1) >= 0 ? 0 : errno;
  return refused == ENOENT ? ESRCH : refused == EACCES ? EPERM : refused;
}

int Open(Pid pid, UniqueFd& memory) {
  memory.reset(::open(ProcPath(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC));
  return memory.is_open() ? 0 : errno == EACCES ? EPERM : errno;
}

// The caller may stop us anywhere in here, and make of that number another process meanwhile.
int Grant(Pid pid, UniqueFd& memory) {
  const auto pinned = OpenPidfd(pid);
  if (const int refused = pinned.has_error() ? ESRCH : AskToLook(pid); refused != 0) {
    return refused;
  }
  if (Open(pid, memory) != 0 && IsScopeOne()) {
    if (const int failed = SetCapabilities({kSysPtrace, kSysPtrace, 0}); failed != 0) {
      return EPERM;
    }
    const int refused = Open(pid, memory);
    if (SetCapabilities({kSysPtrace, 0, 0}) != 0) {
      ::_exit(1);  // never with it
    }
    if (refused != 0) {
      return refused;
    }
  }
  const int refused = memory.is_open() ? AskToLook(pid) : EPERM;
  return HasExited(pinned.value()) ? ESRCH : refused;
}

// The caller, for good, with one right in reserve; nothing of the launcher's is left.
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
  return rules.Install(SystemCallRules::Rest::kRefused) || kIsSanitized;
}

[[noreturn]] void Serve(const CallerIdentity& caller, const UniqueFd& line) {
  if (!BecomeGrantor(caller, line)) {
    ::_exit(1);
  }
  MemoryQuestion question;
  while (::read(kLine, &question, sizeof question) == sizeof question) {
    UniqueFd memory;
    MemoryAnswer answer{.number = question.number, .refused = ESRCH};
    if (question.pid > 0) {
      answer.refused = Grant(Pid(question.pid), memory);
    }
    const int granted = memory.get();
    const std::span<const int> descriptors(&granted, answer.refused == 0 ? 1 : 0);
    if (SendPacket(kLine, std::as_bytes(std::span(&answer, 1)), descriptors) != 0) {
      break;
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
