#include "daemon/collector/sandbox/system_call_filter.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "attach/base/sanitizers.h"
#include "attach/base/system_call_rules.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kFree[] = {
    // the main purpose
    SYS_process_vm_readv,
    SYS_pidfd_open,
    SYS_waitid,
    SYS_wait4,
    SYS_recvmsg,  // receives granted memory; no socket can be made
    // files; RLIMIT_FSIZE prevents writing to them (confinement.h)
    SYS_read,
    SYS_pread64,
    SYS_readv,
    SYS_preadv,
    SYS_write,
    SYS_writev,
    SYS_close,
    SYS_lseek,
    SYS_fstat,
    SYS_statx,
    SYS_newfstatat,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_getdents64,
    SYS_fcntl,
    SYS_dup,
    // memory
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    // time and waiting
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_ppoll,
    SYS_sched_yield,
    SYS_futex,
    SYS_restart_syscall,
    // about our own process
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getgroups,
    SYS_capget,
    SYS_uname,
    SYS_getrandom,
    SYS_getrusage,
    SYS_getrlimit,
    SYS_sched_getaffinity,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    SYS_exit,
    SYS_exit_group,
#if defined(__x86_64__)
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_poll,
    SYS_time,
#endif
};

// Their arguments lie in memory, where a filter cannot look. ENOSYS makes callers fall back to openat(2) and clone(2).
constexpr uint32_t kNotThere[] = {SYS_openat2, SYS_clone3};

// To load a stub, and to take over the memory that it shares.
constexpr uint32_t kOfTracing[] = {SYS_process_vm_writev, SYS_pidfd_getfd, SYS_ftruncate};

// To fork a child that becomes another user (owner_child.h), and what the child needs before it installs its own
// filter.
constexpr uint32_t kOfListing[] = {
    SYS_pipe2, SYS_set_robust_list, SYS_setgroups, SYS_setresgid, SYS_setresuid, SYS_capset, SYS_setitimer,
#if defined(__x86_64__)
    SYS_alarm,
#endif
};
constexpr uint32_t kNoPlainFork = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_THREAD | CLONE_PARENT | CLONE_NEWNS |
                                  CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                  CLONE_NEWNET;

struct Checked {
  uint32_t call;
  uint32_t argument;
  std::vector<uint32_t> allowed;  // one of these; if empty:
  uint32_t forbidden_bits = 0;    // none of these
};

std::vector<Checked> CheckedCalls(TargetAccess access) {
  std::vector<uint32_t> requests = {PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, PTRACE_GETREGSET};
  if (access == TargetAccess::kWrite) {
    requests.insert(requests.end(), {PTRACE_PEEKDATA, PTRACE_POKEDATA, PTRACE_SYSCALL, PTRACE_GET_SYSCALL_INFO});
  }
  std::vector<Checked> calls = {
      {SYS_ptrace, 0, std::move(requests)},
      {SYS_openat, 2, {}, O_ACCMODE | O_CREAT | O_TRUNC},
      {SYS_prlimit64, 0, {0}},   // only our own process
      {SYS_kcmp, 2, {KCMP_VM}},  // to find out whether a child has exec'ed
      {SYS_sched_setscheduler, 0, {0}},
      {SYS_mmap, 2, {}, PROT_EXEC},
      {SYS_mprotect, 2, {}, PROT_EXEC},
  };
  if (access == TargetAccess::kList) {
    calls.insert(calls.end(), {{SYS_kill, 1, {0, SIGKILL}},
                               {SYS_tgkill, 2, {SIGABRT}},
                               {SYS_clone, 0, {}, kNoPlainFork},
                               {SYS_prctl,
                                0,
                                {PR_SET_KEEPCAPS, PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_SET_NO_NEW_PRIVS,
                                 PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NAME}}});
  } else {
    calls.insert(calls.end(), {{SYS_kill, 1, {0}},  // checks whether a process exists
                               {SYS_tgkill, 0, {static_cast<uint32_t>(::getpid())}},
                               {SYS_prctl, 0, {PR_SET_TIMERSLACK, PR_SET_NAME}}});
  }
  return calls;
}

}  // namespace

bool InstallSystemCallFilter(TargetAccess access) {
  SystemCallRules rules;
  rules.Allow(kFree);
  if (access == TargetAccess::kWrite) {
    rules.Allow(kOfTracing);
  } else if (access == TargetAccess::kList) {
    rules.Allow(kOfListing);
  }
  for (const Checked& checked : CheckedCalls(access)) {
    if (checked.allowed.empty()) {
      rules.AllowWithout(checked.call, checked.argument, checked.forbidden_bits);
    } else {
      rules.AllowIfOneOf(checked.call, checked.argument, checked.allowed);
    }
  }
  rules.Refuse(kNotThere, ENOSYS);
  return rules.Install(SystemCallRules::Rest::kRefused);
}

Result<void> RequireSystemCallFilter(TargetAccess access) {
  if (InstallSystemCallFilter(access)) {
    return {};
  }
  const int why = errno;
  const int mode = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
  const bool is_behind_one = mode == SECCOMP_MODE_FILTER || (mode < 0 && errno == EPERM);  // EPERM comes from a filter
  return kIsSanitized || !is_behind_one
             ? Result<void>()
             : ErrnoError(why, "cannot install the seccomp filter", "free some memory, and try again");
}

}  // namespace ptrace_prof
