#include "daemon/session/system_call_filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ptrace_prof {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

constexpr uint32_t kFree[] = {
    // what we are for
    SYS_process_vm_readv,
    SYS_pidfd_open,
    SYS_waitid,
    SYS_wait4,
    // files, of which RLIMIT_FSIZE lets none be written
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
    // about ourselves
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
    SYS_prlimit64,
    SYS_sched_getaffinity,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
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

// Its arguments lie in memory, where a filter cannot look: a kernel without it, so that whoever would like to use it
// takes openat(2).
constexpr uint32_t kNotThere[] = {SYS_openat2};

// What a stub is brought in by, and the memory that it shares taken over.
constexpr uint32_t kOfTracing[] = {SYS_process_vm_writev, SYS_pidfd_getfd, SYS_ftruncate};

struct Checked {
  uint32_t call;
  uint32_t argument;
  std::vector<uint32_t> allowed;  // one of these; where empty:
  uint32_t forbidden_bits = 0;    // none of these
};

std::vector<Checked> CheckedCalls(TargetAccess access) {
  std::vector<uint32_t> requests = {PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH};
  if (access == TargetAccess::kWrite) {
    requests.insert(requests.end(), {PTRACE_PEEKDATA, PTRACE_POKEDATA, PTRACE_GETREGSET});
  }
  return {
      {SYS_ptrace, 0, std::move(requests)},
      {SYS_kill, 1, {0}},  // the question whether a process is there
      {SYS_tgkill, 0, {static_cast<uint32_t>(::getpid())}},
      {SYS_prctl, 0, {PR_SET_TIMERSLACK, PR_SET_NAME}},
      {SYS_openat, 2, {}, O_ACCMODE | O_CREAT | O_TRUNC},
      {SYS_mmap, 2, {}, PROT_EXEC},
      {SYS_mprotect, 2, {}, PROT_EXEC},
  };
}

// Instructions of the filter, one call after the other; each block ends in a verdict.
class Program {
 public:
  Program() {
    Load(offsetof(seccomp_data, arch));
    Unless(kArchitecture, 1);
    Jump(1);
    Return(SECCOMP_RET_KILL_PROCESS);
    Load(offsetof(seccomp_data, nr));
  }

  void Allow(uint32_t call) {
    Unless(call, 1);
    Return(SECCOMP_RET_ALLOW);
  }

  void Deny(uint32_t call) {
    Unless(call, 1);
    Return(SECCOMP_RET_ERRNO | ENOSYS);
  }

  void Allow(const Checked& checked) {
    const size_t values = checked.allowed.size();
    Unless(checked.call, static_cast<uint8_t>(values == 0 ? 4 : 2 * values + 2));
    Load(static_cast<uint32_t>(offsetof(seccomp_data, args) + checked.argument * sizeof(uint64_t)));
    if (values == 0) {
      code_.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, checked.forbidden_bits, 1, 0));
      Return(SECCOMP_RET_ALLOW);
    }
    for (const uint32_t value : checked.allowed) {
      Allow(value);
    }
    Return(kRefuse);
  }

  void RefuseTheRest() { Return(kRefuse); }
  std::span<sock_filter> code() { return code_; }

 private:
  static constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

  void Load(uint32_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  // Skips so many instructions unless the loaded word is this value.
  void Unless(uint32_t value, uint8_t skip) { code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)); }
  void Jump(uint32_t skip) { code_.push_back(BPF_STMT(BPF_JMP | BPF_JA, skip)); }
  void Return(uint32_t verdict) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, verdict)); }

  std::vector<sock_filter> code_;
};

}  // namespace

bool InstallSystemCallFilter(TargetAccess access) {
  if (kSanitized) {
    return false;
  }
  Program program;
  for (const uint32_t call : kFree) {
    program.Allow(call);
  }
  if (access == TargetAccess::kWrite) {
    for (const uint32_t call : kOfTracing) {
      program.Allow(call);
    }
  }
  for (const Checked& checked : CheckedCalls(access)) {
    program.Allow(checked);
  }
  for (const uint32_t call : kNotThere) {
    program.Deny(call);
  }
  program.RefuseTheRest();
  const sock_fprog filter{static_cast<unsigned short>(program.code().size()), program.code().data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

}  // namespace ptrace_prof
