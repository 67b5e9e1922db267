// x86-64: the raw system call, its numbers, and the clock. There is one such file per architecture; CMake chooses.
#ifndef PTRACE_PROF_ATTACH_TARGET_SHARED_ARCH_X86_64_H_
#define PTRACE_PROF_ATTACH_TARGET_SHARED_ARCH_X86_64_H_

#include <stdint.h>

enum { PP_ADDRESS_BITS = 47 };  // of addresses that a process may map without asking for more

enum {
  PP_SYS_close = 3,
  PP_SYS_fstat = 5,
  PP_SYS_mmap = 9,
  PP_SYS_munmap = 11,
  PP_SYS_rt_sigprocmask = 14,
  PP_SYS_mprotect = 10,
  PP_SYS_madvise = 28,
  PP_SYS_getpid = 39,
  PP_SYS_openat = 257,
  PP_SYS_dup3 = 292,
  PP_SYS_fcntl = 72,
  PP_SYS_ftruncate = 77,
  PP_SYS_prctl = 157,
  PP_SYS_gettid = 186,
  PP_SYS_futex = 202,
  PP_SYS_clock_gettime = 228,
  PP_SYS_tgkill = 234,
  PP_SYS_prlimit64 = 302,
  PP_SYS_process_vm_readv = 310,
  PP_SYS_memfd_create = 319,
};

// Returns -errno on failure. Does not change errno.
static inline int64_t pp_system_call(int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                     uint64_t f) {
  register uint64_t r10 __asm__("r10") = d;
  register uint64_t r8 __asm__("r8") = e;
  register uint64_t r9 __asm__("r9") = f;
  int64_t result = number;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static inline uint64_t pp_ticks(void) { return __builtin_ia32_rdtsc(); }

#endif  // PTRACE_PROF_ATTACH_TARGET_SHARED_ARCH_X86_64_H_
