// AArch64: the raw system call, its numbers, and the clock. There is one such file per architecture; CMake chooses.
#ifndef PTRACE_PROF_ATTACH_TARGET_SHARED_ARCH_AARCH64_H_
#define PTRACE_PROF_ATTACH_TARGET_SHARED_ARCH_AARCH64_H_

#include <stdint.h>

enum { PP_ADDRESS_BITS = 48 };  // of addresses that a process may map without asking for more

enum {
  PP_SYS_openat = 56,
  PP_SYS_dup3 = 24,
  PP_SYS_fcntl = 25,
  PP_SYS_ftruncate = 46,
  PP_SYS_close = 57,
  PP_SYS_fstat = 80,
  PP_SYS_futex = 98,
  PP_SYS_clock_gettime = 113,
  PP_SYS_tgkill = 131,
  PP_SYS_rt_sigprocmask = 135,
  PP_SYS_prctl = 167,
  PP_SYS_getpid = 172,
  PP_SYS_gettid = 178,
  PP_SYS_munmap = 215,
  PP_SYS_mmap = 222,
  PP_SYS_mprotect = 226,
  PP_SYS_madvise = 233,
  PP_SYS_prlimit64 = 261,
  PP_SYS_process_vm_readv = 270,
  PP_SYS_memfd_create = 279,
};

// Returns -errno on failure. Does not change errno.
static inline int64_t pp_system_call(int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                     uint64_t f) {
  register uint64_t x8 __asm__("x8") = (uint64_t)number;
  register uint64_t x0 __asm__("x0") = a;
  register uint64_t x1 __asm__("x1") = b;
  register uint64_t x2 __asm__("x2") = c;
  register uint64_t x3 __asm__("x3") = d;
  register uint64_t x4 __asm__("x4") = e;
  register uint64_t x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return (int64_t)x0;
}

// The counter of the generic timer: the same on all cores, at a constant rate.
static inline uint64_t pp_ticks(void) {
  uint64_t value;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}

#endif  // PTRACE_PROF_ATTACH_TARGET_SHARED_ARCH_AARCH64_H_
